"""ROUTE-006: what does a header without a value ask for in a binding of a headers exchange?

    python header_without_value.py amqp://guest:guest@localhost:5672/%2F ...

A queue is bound to amq.headers with x-match all and two headers: one without a value, and one that names the queue. A
message with both headers is published and confirmed; then the queue is looked into. The value of the first header in
the message differs: a text, a number, none.
"""

from __future__ import annotations

import struct
import uuid

import wire

BIND, BIND_OK = (50, 20), (50, 21)
EXCHANGE, VOID = "amq.headers", b"V"
VALUES = {
    "a text": b"S\0\0\0\3red",
    "a number": b"I\0\0\0\3",
    "no value": VOID,
}


def headers(ink: bytes, queue: str, **more: str) -> bytes:
    """A table with this value, and the name of the queue."""
    named = {**more, "queue": queue}
    fields = wire.short("ink") + ink
    for name, text in named.items():
        fields += wire.short(name) + b"S" + struct.pack(">I", len(text)) + text.encode()
    return struct.pack(">I", len(fields)) + fields


def publish(ink: bytes, queue: str) -> bytes:
    """An empty message with these headers."""
    told = headers(ink, queue)
    content = struct.pack(">HHQH", 60, 0, 0, 0x2000) + told
    named = bytes(2) + wire.short(EXCHANGE) + wire.short("") + b"\0"
    return wire.method(1, wire.PUBLISH, named) + wire.frame(2, 1, content)


def outcome(connection: wire.Connection, ink: bytes) -> str:
    """Does the message come to the queue?"""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    connection.declare(1, queue, "classic")
    binding = headers(VOID, queue, **{"x-match": "all"})
    named = bytes(2) + wire.short(queue) + wire.short(EXCHANGE) + wire.short("") + b"\0"
    connection.send(wire.method(1, BIND, named + binding))
    connection.wait(BIND_OK)
    connection.send(publish(ink, queue))
    connection.wait(wire.ACK)
    connection.send(wire.get(1, queue, no_ack=True))
    found = connection.wait(wire.GET_OK, wire.GET_EMPTY)
    connection.delete(1, queue)
    return "comes" if found[1] == wire.GET_OK else "does not come"


def main() -> None:
    for url in wire.urls():
        connection = wire.Connection(url)
        print(connection.broker)
        connection.open(1)
        connection.send(wire.method(1, wire.CONFIRM, b"\0"))
        connection.wait(wire.CONFIRM_OK)
        for name, ink in VALUES.items():
            print(f"  a message whose header has {name}: {outcome(connection, ink)}")
        connection.end()


if __name__ == "__main__":
    main()
