"""CNF-002: does the first publish after confirm.select have the number 1?

    python confirm_numbers.py amqp://guest:guest@localhost:5672/%2F ...

Publishes three messages, none of them mandatory or all, then sends confirm.select and publishes one more, on a fresh
channel each time. Prints the number with which that one is confirmed.
"""

from __future__ import annotations

import struct
import uuid

import wire


def number(connection: wire.Connection, channel: int, queue: str, mandatory: bool) -> int:
    """The number of the first confirm."""
    connection.open(channel)
    publishes = [wire.publish(channel, queue, "before", mandatory=mandatory) for _ in range(3)]
    connection.send(*publishes, wire.method(channel, wire.CONFIRM, bytes(1)))
    connection.wait(wire.CONFIRM_OK)
    connection.send(wire.publish(channel, queue, "after"))
    _, _, arguments = connection.wait(wire.ACK)
    return int(struct.unpack_from(">Q", arguments)[0])


def main() -> None:
    for url in wire.urls():
        connection, queue = wire.Connection(url), f"finding-{uuid.uuid4().hex[:12]}"
        print(connection.broker)
        connection.open(1)
        for queue_type in ("classic", "quorum"):
            connection.declare(1, queue, queue_type)
            try:
                seen = [number(connection, 2 + at + 2 * (queue_type == "quorum"), queue, bool(at)) for at in (0, 1)]
                print(f"  {queue_type}: after three plain publishes {seen[0]}, after three mandatory ones {seen[1]}")
            finally:
                connection.delete(1, queue)
        connection.end()


if __name__ == "__main__":
    main()
