"""QOS-015: does giving back what was got by basic.get widen a limit?

    python slots_of_gets.py amqp://guest:guest@localhost:5672/%2F ...

Deliveries of basic.get take no slots, so giving them back frees none. A channel gets three of ten messages and gives
them back in one of several ways; then a consumer is started under a limit of 2, its own or one for its channel. How
many deliveries come? The limit is set before the gets, or after they were given back.
"""

from __future__ import annotations

import uuid

import wire

WAYS = ("ack", "nack with requeue", "reject with requeue", "recover", "recover, with a consumer")
MESSAGES, GETS, LIMIT = 10, 3, 2


def deliveries(url: str, way: str, shared: bool, first: bool) -> str:
    """How many come under the limit."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, receiver = wire.Connection(url), wire.Connection(url)
    keeper.open(1)
    receiver.open(1)
    keeper.declare(1, queue, "classic")
    try:
        keeper.fill(1, queue, [str(number) for number in range(MESSAGES)])
        if first:
            _limit(receiver, shared)
        for _ in range(GETS):
            receiver.take(1, queue)
        if way.endswith("consumer"):
            receiver.send(wire.consume(1, queue, "early"))
            _come(receiver)
        _give_back(receiver, way)
        came = _come(receiver)
        if not first:
            _limit(receiver, shared)
        if not way.endswith("consumer"):
            receiver.send(wire.consume(1, queue, "late"))
            came = _come(receiver)
        return came
    finally:
        receiver.end()
        keeper.delete(1, queue)
        keeper.end()


def _limit(receiver: wire.Connection, shared: bool) -> None:
    receiver.send(wire.qos(1, LIMIT, shared))
    receiver.wait(wire.QOS_OK)


def _give_back(receiver: wire.Connection, way: str) -> None:
    settle = {"ack": wire.ack, "nack with requeue": wire.nack, "reject with requeue": wire.reject}.get(way)
    if settle is None:
        receiver.send(wire.recover(1))
    else:
        receiver.send(*(settle(1, tag) for tag in range(1, GETS + 1)))


def _come(receiver: wire.Connection) -> str:
    """How many deliveries come until nothing has come for a second."""
    seen = 0
    while (found := receiver.read(1.0)) is not None:
        if found[1] in (wire.CHANNEL_CLOSE, wire.CONNECTION_CLOSE):
            return wire.closing(found)
        seen += found[1] == wire.DELIVER
    return str(seen)


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for way in WAYS:
            for shared, first in ((False, True), (True, True), (True, False)):
                if way.endswith("consumer") and not first:
                    continue
                whose = "its channel" if shared else "the consumer"
                when = "before" if first else "after"
                print(f"  {GETS} got, {way}; limit of {whose} set {when}: {deliveries(url, way, shared, first)}")


if __name__ == "__main__":
    main()
