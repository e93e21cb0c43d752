"""ERR-012: a consumer for a quorum queue that another channel of the connection is declaring.

    python consume_while_declared.py amqp://guest:guest@localhost:5672/%2F ...

One write holds a queue.declare on channel 2, and a basic.consume of that queue on channel 1. The broker may find the
queue or not: consume-ok and channel.close 404 are both right. Twenty tries, for classic and for quorum queues.
"""

from __future__ import annotations

import uuid
from collections import Counter

import wire

TRIES = 20
RIGHT = {wire.CONSUME_OK: "consume-ok", wire.CHANNEL_CLOSE: "channel.close"}


def tried(url: str, queue_type: str) -> str:
    """What the consumer comes to."""
    line, queue = wire.Connection(url), f"findings.{uuid.uuid4().hex[:8]}"
    for channel in (1, 2):
        line.open(channel)
    arguments = wire.table(x_queue_type=queue_type)
    declare = wire.method(2, wire.DECLARE, bytes(2) + wire.short(queue) + b"\x02" + arguments)
    line.send(declare, wire.consume(1, queue))
    found = line.read()
    while found is not None and found[1] == wire.DECLARE_OK:
        found = line.read()
    said = "nothing" if found is None else RIGHT.get(found[1]) or wire.closing(found)
    line.end()
    remove(url, queue)
    return said


def remove(url: str, queue: str) -> None:
    line = wire.Connection(url)
    line.open(1)
    line.delete(1, queue)
    line.end()


def main() -> None:
    for url in wire.urls():
        line = wire.Connection(url)
        print(line.broker)
        line.end()
        for queue_type in ("classic", "quorum"):
            seen = Counter(tried(url, queue_type) for _ in range(TRIES))
            print(f"  {queue_type}: " + ", ".join(f"{said} in {times}" for said, times in sorted(seen.items())))


if __name__ == "__main__":
    main()
