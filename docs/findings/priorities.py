"""PRIO-003: a message with a higher priority than its queue has.

    python priorities.py amqp://guest:guest@localhost:5672/%2F ...

A classic queue with x-max-priority 3 gets messages with the priorities 3, 4, 3, 255 and 3, in this order. By the guide
all are served alike.
"""

from __future__ import annotations

import struct

import wire

QUEUE = "findings.priorities"


def ranked(channel: int, body: str, priority: int) -> bytes:
    """A publish with this priority."""
    raw = body.encode()
    start = wire.method(channel, wire.PUBLISH, bytes(2) + wire.short("") + wire.short(QUEUE) + bytes(1))
    header = struct.pack(">HHQHBB", 60, 0, len(raw), 0x1800, 1, priority)
    return start + wire.frame(2, channel, header) + wire.frame(3, channel, raw)


def opened(url: str) -> wire.Connection:
    connection = wire.Connection(url)
    connection.open(1)
    return connection


def taken(connection: wire.Connection) -> str:
    """The next message; or how that ends."""
    try:
        return connection.take(1, QUEUE, no_ack=True) or "nothing"
    except ConnectionError as failed:
        return str(failed)


def main() -> None:
    for url in wire.urls():
        connection = opened(url)
        print(connection.broker)
        connection.declare(1, QUEUE, "classic", x_max_priority=3)
        connection.send(wire.method(1, wire.CONFIRM, bytes(1)))
        connection.wait(wire.CONFIRM_OK)
        for number, priority in enumerate((3, 4, 3, 255, 3), 1):
            connection.send(ranked(1, str(number), priority))
            connection.wait(wire.ACK)
        taker = opened(url)
        print(f"  gets bring {', '.join(taken(taker) for _ in range(6))}")
        taker.end()
        connection.delete(1, QUEUE)
        connection.end()


if __name__ == "__main__":
    main()
