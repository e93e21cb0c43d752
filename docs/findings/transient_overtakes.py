"""RQ-006: do messages keep their order in a queue, if some are persistent and some are not?

    python transient_overtakes.py amqp://guest:guest@localhost:5672/%2F ...

One channel publishes six messages to one queue in one write: persistent, transient, persistent, transient, and so on.
Then the queue is emptied by basic.get. In 20 tries, in which orders do they come?
"""

from __future__ import annotations

import uuid
from collections import Counter

import wire

TRIES, BODIES = 20, "123456"


def published(channel: int, queue: str, body: str, mode: int) -> bytes:
    """A publish of this delivery mode: 2 is persistent, 1 is not."""
    persistent = wire.publish(channel, queue, body)
    header = bytes((0x10, 0x00, 2))
    at = persistent.index(header)
    return persistent[:at] + header[:2] + bytes([mode]) + persistent[at + 3 :]


def order(url: str) -> str:
    """The bodies, as they come."""
    connection, queue = wire.Connection(url), f"finding-{uuid.uuid4().hex[:12]}"
    connection.open(1)
    connection.send(wire.method(1, wire.DECLARE, bytes(2) + wire.short(queue) + b"\x02" + wire.table()))
    connection.wait(wire.DECLARE_OK)
    connection.send(b"".join(published(1, queue, body, 2 - at % 2) for at, body in enumerate(BODIES)))
    found = "".join(connection.take(1, queue, no_ack=True) or "-" for _ in BODIES)
    connection.delete(1, queue)
    connection.end()
    return found


def main() -> None:
    for url in wire.urls():
        connection = wire.Connection(url)
        print(connection.broker)
        connection.end()
        for found, times in Counter(order(url) for _ in range(TRIES)).most_common():
            print(f"  {found}: {times} times")


if __name__ == "__main__":
    main()
