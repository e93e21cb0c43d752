"""TTL-001: a message that expires in a queue with priorities, before one that does not.

    python expired_among_priorities.py amqp://guest:guest@localhost:5672/%2F ...

A classic queue with x-max-priority 5 gets a message without priority that lives on, and then one with the expiration
50, of a higher priority, of the same, or in a queue without priorities. 600 milliseconds later gets take what is there.
"""

from __future__ import annotations

import struct
import time

import wire

QUEUE = "findings.expired-among-priorities"
PRIORITY, EXPIRATION = 0x0800, 0x0100


def mortal(channel: int, body: str, priority: int) -> bytes:
    """A publish with this priority that lives for 50 milliseconds."""
    raw = body.encode()
    start = wire.method(channel, wire.PUBLISH, bytes(2) + wire.short("") + wire.short(QUEUE) + bytes(1))
    header = struct.pack(">HHQHB", 60, 0, len(raw), PRIORITY | EXPIRATION, priority) + wire.short("50")
    return start + wire.frame(2, channel, header) + wire.frame(3, channel, raw)


def left(url: str, priority: int, arguments: dict[str, int | str]) -> str:
    connection = wire.Connection(url)
    connection.open(1)
    connection.declare(1, QUEUE, "classic", **arguments)
    connection.send(wire.method(1, wire.CONFIRM, bytes(1)))
    connection.wait(wire.CONFIRM_OK)
    for sent in (wire.publish(1, QUEUE, "lives on"), mortal(1, "expired", priority)):
        connection.send(sent)
        connection.wait(wire.ACK)
    time.sleep(0.6)
    found = [body for _ in range(3) if (body := connection.take(1, QUEUE, no_ack=True)) is not None]
    connection.delete(1, QUEUE)
    connection.end()
    return ", ".join(found)


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        print(f"  a higher priority: {left(url, 5, {'x_max_priority': 5})}")
        print(f"  the same: {left(url, 0, {'x_max_priority': 5})}")
        print(f"  no priorities: {left(url, 5, {})}")


if __name__ == "__main__":
    main()
