"""QOS-006 and QOS-011: the limit of a channel, when several of its consumers may go on at once.

    python channel_limit_at_once.py amqp://guest:guest@localhost:5672/%2F ...

Three consumers of one channel, each of a queue of its own with 20 messages, share a limit of 2 deliveries. It is raised
to 5, and nothing is acknowledged. How many deliveries come in all, in each of 20 tries? With and without x-priority.
"""

from __future__ import annotations

import uuid
from collections import Counter

import wire

QOS_OK = (60, 11)
TRIES, CONSUMERS, STOCK, BEFORE, AFTER = 20, 3, 20, 2, 5


def consume(queue: str, tag: str, priority: int | None) -> bytes:
    arguments = wire.table() if priority is None else wire.table(x_priority=priority)
    return wire.method(1, wire.CONSUME, bytes(2) + wire.short(queue) + wire.short(tag) + bytes(1) + arguments)


def held(url: str, priority: int | None) -> int:
    """How many deliveries the channel has in the end."""
    line = wire.Connection(url)
    for channel in (1, 2):
        line.open(channel)
    queues = [f"findings.{uuid.uuid4().hex[:8]}" for _ in range(CONSUMERS)]
    for queue in queues:
        line.declare(2, queue, "classic")
        line.send(*(wire.publish(2, queue, "m") for _ in range(STOCK)))
    while line.declare(2, queues[-1], "classic") < STOCK:
        pass
    line.send(wire.qos(1, BEFORE, shared=True), *(consume(one, one, priority) for one in queues))
    came = 0
    while (found := line.read(timeout=0.5)) is not None:
        came += found[1] == wire.DELIVER
    line.send(wire.qos(1, AFTER, shared=True))
    while (found := line.read(timeout=0.5)) is not None:
        came += found[1] == wire.DELIVER
    line.send(wire.close(1))
    line.wait(wire.CHANNEL_CLOSE_OK)
    for queue in queues:
        line.delete(2, queue)
    line.end()
    return came


def main() -> None:
    for url in wire.urls():
        line = wire.Connection(url)
        print(line.broker)
        line.end()
        for priority in (None, 3):
            seen = Counter(held(url, priority) for _ in range(TRIES))
            said = "no priority" if priority is None else f"x-priority {priority}"
            print(
                f"  {said}: " + ", ".join(f"{count} deliveries {times} times" for count, times in sorted(seen.items()))
            )


if __name__ == "__main__":
    main()
