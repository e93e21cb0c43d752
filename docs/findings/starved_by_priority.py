"""QOS-002 and CPRIO-001: who gets messages when the consumer of the highest priority has no room?

    python starved_by_priority.py amqp://guest:guest@localhost:5672/%2F ...

Two consumers of a queue, on channels of their own, have the priorities 2 and 1. Each may hold two messages: by its own
limit, or by that of its channel (global). Four messages are published, and nothing is acknowledged.
"""

from __future__ import annotations

import sys
import uuid

import wire

QOS_OK, CONSUME_OK = (60, 11), (60, 21)


def consume(channel: int, queue: str, tag: str, priority: int) -> bytes:
    arguments = wire.table(x_priority=priority)
    return wire.method(channel, wire.CONSUME, bytes(2) + wire.short(queue) + wire.short(tag) + bytes(1) + arguments)


def deliveries(line: wire.Connection) -> list[int]:
    """How many messages came on the channels 1 and 2, until nothing comes for a while."""
    came = [0, 0]
    while (found := line.read(timeout=2.0)) is not None:
        if found[1] == wire.DELIVER:
            came[found[0] - 1] += 1
    return came


def show(line: wire.Connection, shared: bool) -> None:
    queue = f"findings.{uuid.uuid4().hex[:8]}"
    line.open(3)
    line.declare(3, queue, "classic")
    for channel, priority in ((1, 2), (2, 1)):
        line.open(channel)
        line.send(wire.qos(channel, 2, shared=shared))
        line.wait(QOS_OK)
        line.send(consume(channel, queue, f"c{channel}", priority))
        line.wait(CONSUME_OK)
    line.send(*(wire.publish(3, queue, f"m{number}") for number in range(4)))
    high, low = deliveries(line)
    print(f"  limits of {'channels' if shared else 'consumers'}: priority 2 gets {high}, priority 1 gets {low}")
    line.delete(3, queue)


def main() -> None:
    for url in sys.argv[1:]:
        for shared in (False, True):
            line = wire.Connection(url)
            if not shared:
                print(line.broker)
            show(line, shared)
            line.end()


if __name__ == "__main__":
    main()
