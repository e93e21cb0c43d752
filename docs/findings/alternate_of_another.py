"""ROUTE-012 and DLX-014: is the alternate of an exchange used that another exchange passes messages on to?

    python alternate_of_another.py amqp://guest:guest@localhost:5672/%2F ...

`first`, a fanout, passes everything on to `second`, a direct exchange where nothing matches; the alternate of `second`
is `last`, a fanout with one queue. A message is published to `first`, and another one becomes a dead letter of a queue
whose dead letter exchange is `first`. Then the queue of `last` is asked. This is done when `first` leads nowhere else,
when a queue was bound to it before `second` was, and when one is bound to it after that.
"""

from __future__ import annotations

import sys
import time
import uuid

import wire

PASS_ON, PASS_ON_OK = (40, 30), (40, 31)
"""exchange.bind, and its answer."""
ARRIVES = 3.0
"""Seconds within which a dead letter is there, or does not come."""


def pass_on(line: wire.Connection, source: str, destination: str) -> None:
    nothing = bytes(6)  # no routing key, no flags, no arguments
    line.send(wire.method(1, PASS_ON, bytes(2) + wire.short(destination) + wire.short(source) + nothing))
    line.wait(PASS_ON_OK)


def bound(line: wire.Connection, queue: str, exchange: str) -> None:
    line.declare(1, queue, "classic")
    line.bind(1, queue, exchange)


def arrives(line: wire.Connection, queue: str) -> str:
    until = time.monotonic() + ARRIVES
    while time.monotonic() < until:
        if line.take(1, queue, no_ack=True) is not None:
            return "comes"
    return "does not come"


def die(line: wire.Connection, channel: int, queue: str) -> None:
    """A message of this queue becomes a dead letter."""
    line.open(channel)
    line.fill(channel, queue, ["m"])
    line.take(channel, queue)
    line.send(wire.reject(channel, 1, requeue=False))


def show(line: wire.Connection, channel: int, queue: str) -> None:
    name = f"findings.{uuid.uuid4().hex[:8]}"
    first, second, last = exchanges = [f"{name}.{part}" for part in ("first", "second", "last")]
    end, beside, dying = queues = [f"{name}.{part}" for part in ("end", "beside", "dying")]
    line.exchange(1, last, "fanout")
    line.exchange(1, second, "direct", alternate_exchange=last)
    line.exchange(1, first, "fanout")
    bound(line, end, last)
    for step in ("before", "passed on", "after"):
        if step == "passed on":
            pass_on(line, first, second)
        elif step == queue:
            bound(line, beside, first)
    line.declare(1, dying, "classic", x_dead_letter_exchange=first)
    line.send(wire.publish(1, "m", "m", exchange=first))
    published = arrives(line, end)
    die(line, channel, dying)
    print(f"  {queue:7} published: {published:15} a dead letter: {arrives(line, end)}")
    for one in queues:
        line.delete(1, one)
    line.drop(1, *exchanges)


def main() -> None:
    for url in sys.argv[1:]:
        line = wire.Connection(url)
        print(line.broker)
        line.open(1)
        for channel, queue in enumerate(("none", "before", "after"), 2):
            show(line, channel, queue)
        line.end()


if __name__ == "__main__":
    main()
