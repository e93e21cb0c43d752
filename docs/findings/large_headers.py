"""ERR-013: how large is the frame of a content header to which the broker adds its own?

    python large_headers.py amqp://guest:guest@localhost:5672/%2F ...

A message whose header makes a frame of just the size that was agreed, 131072 octets with the defaults of RabbitMQ and
LavinMQ, is published to a quorum queue and to a classic one. It is got, returned, and got again. What is printed is by
how many octets the frame with its header is larger than agreed.
"""

from __future__ import annotations

import struct
import time

import wire

AGREED = 131072
HEADERS = 1 << 13
BESIDE = 8 + 14 + 4 + 1 + 1 + 1 + 4
"""The frame, the head of the header, the size of the table, and a field with a name of one octet."""


def brimful(queue: str) -> bytes:
    """A publish with an empty body, and a header that fills its frame."""
    text = b"a" * (AGREED - BESIDE)
    field = b"\x01xS" + struct.pack(">I", len(text)) + text
    header = struct.pack(">HHQHI", 60, 0, 0, HEADERS, len(field)) + field
    publish = wire.method(1, wire.PUBLISH, bytes(2) + wire.short("") + wire.short(queue) + b"\x00")
    return publish + wire.frame(2, 1, header)


def excess(connection: wire.Connection, queue: str) -> int:
    """Gets the message and returns it; by how much its header's frame is too large."""
    connection.send(wire.get(1, queue))
    tag = wire.delivery_tag(connection.wait(wire.GET_OK))
    header = connection.read()
    assert header is not None
    connection.send(wire.reject(1, tag))
    time.sleep(0.5)  # a quorum queue has the message back a little later
    return len(header[2]) + 8 - AGREED


def main() -> None:
    for url in wire.urls():
        connection = wire.Connection(url)
        print(connection.broker)
        for kind in ("classic", "quorum"):
            queue = f"large headers {kind}"
            connection.open(1)
            connection.declare(1, queue, kind)
            connection.send(wire.method(1, wire.CONFIRM, bytes(1)))
            connection.wait(wire.CONFIRM_OK)
            connection.send(brimful(queue))
            connection.wait(wire.ACK)
            first, second = excess(connection, queue), excess(connection, queue)
            print(f"  {kind}: {first} octets too many at first, {second} when it comes again")
            connection.delete(1, queue)
            connection.send(wire.close(1))
            connection.wait(wire.CHANNEL_CLOSE_OK)
        connection.end()


if __name__ == "__main__":
    main()
