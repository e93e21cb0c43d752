"""ROUTE-012: does the alternate exchange get what bindings lead to another exchange, and from there to no queue?

    python alternate_after_exchange.py amqp://guest:guest@localhost:5672/%2F ...

`first` is a fanout with an alternate, which has a queue. It is bound to `second`, a direct exchange that has no
binding, or one with another key. A mandatory message is published to `first`. Is it in the queue, or is it returned?
"""

from __future__ import annotations

import uuid

import wire

EXCHANGE_BIND, EXCHANGE_BIND_OK = (40, 30), (40, 31)


def show(url: str) -> None:
    name = f"findings.{uuid.uuid4().hex[:8]}"
    line = wire.Connection(url)
    print(line.broker)
    line.open(1)
    first, second, spare, queue, other = (f"{name}.{part}" for part in ("first", "second", "spare", "queue", "other"))
    line.exchange(1, spare, "fanout")
    line.exchange(1, first, "fanout", alternate_exchange=spare)
    line.exchange(1, second, "direct")
    for one, exchange in ((queue, spare), (other, second)):
        line.declare(1, one, "classic")
        if one == queue:
            line.bind(1, one, exchange, "")
    line.send(wire.method(1, wire.CONFIRM, bytes(1)))
    line.wait(wire.CONFIRM_OK)
    for what in ("bound to nothing", "bound to an exchange without bindings", "bound to one with another key"):
        if what == "bound to an exchange without bindings":
            names = wire.short(second) + wire.short(first) + wire.short("")
            line.send(wire.method(1, EXCHANGE_BIND, bytes(2) + names + bytes(1) + bytes(4)))
            line.wait(EXCHANGE_BIND_OK)
        elif what == "bound to one with another key":
            line.bind(1, other, second, "another")
        line.send(wire.publish(1, "key", "m", mandatory=True, exchange=first))
        returned = line.wait(wire.RETURN, wire.ACK)[1] == wire.RETURN
        if returned:
            line.wait(wire.ACK)
        got = line.take(1, queue, no_ack=True) is not None
        print(f"  first is {what}: {'in the queue' if got else 'lost'}{', returned' if returned else ''}")
    for one in (queue, other):
        line.delete(1, one)
    line.drop(1, first, second, spare)
    line.end()


def main() -> None:
    for url in wire.urls():
        show(url)


if __name__ == "__main__":
    main()
