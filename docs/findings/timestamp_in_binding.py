"""ROUTE-006: is a timestamp among the headers of a message the same as that of a binding?

    python timestamp_in_binding.py amqp://guest:guest@localhost:5672/%2F ...

A queue is bound to amq.headers with two headers: `value`, and one that names the queue. A message with both headers is
published and confirmed; then the queue is looked into. The value of the binding, and that of the message, differ.
"""

from __future__ import annotations

import struct
import uuid

import wire

BIND, BIND_OK = (50, 20), (50, 21)
EXCHANGE = "amq.headers"
NOON = 1_577_880_000
"""Seconds: 12:00 on 1 January 2020."""
TEXT, NUMBER = b"S\0\0\0\3red", b"I" + struct.pack(">i", NOON)
TIME, MILLISECONDS = b"T" + struct.pack(">Q", NOON), b"T" + struct.pack(">Q", NOON * 1000)
PAIRS = {
    "the same text": (TEXT, TEXT),
    "the same number": (NUMBER, NUMBER),
    "the same timestamp": (TIME, TIME),
    "a timestamp, where the binding has a thousand times that": (MILLISECONDS, TIME),
}


def headers(value: bytes, queue: str) -> bytes:
    """A table with this value, and the name of the queue."""
    text = queue.encode()
    fields = wire.short("value") + value + wire.short("queue") + b"S" + struct.pack(">I", len(text)) + text
    return struct.pack(">I", len(fields)) + fields


def publish(value: bytes, queue: str) -> bytes:
    """An empty message with these headers."""
    content = struct.pack(">HHQH", 60, 0, 0, 0x2000) + headers(value, queue)
    named = bytes(2) + wire.short(EXCHANGE) + wire.short("") + b"\0"
    return wire.method(1, wire.PUBLISH, named) + wire.frame(2, 1, content)


def outcome(url: str, bound: bytes, sent: bytes) -> str:
    """What comes of the binding and the message, on a connection of their own."""
    connection = wire.Connection(url)
    try:
        return delivered(connection, bound, sent)
    except ConnectionError as ended:
        return f"the connection ends, {ended}"


def delivered(connection: wire.Connection, bound: bytes, sent: bytes) -> str:
    """Does the message come to the queue?"""
    connection.open(1)
    connection.send(wire.method(1, wire.CONFIRM, b"\0"))
    connection.wait(wire.CONFIRM_OK)
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    connection.declare(1, queue, "classic")
    named = bytes(2) + wire.short(queue) + wire.short(EXCHANGE) + wire.short("") + b"\0"
    connection.send(wire.method(1, BIND, named + headers(bound, queue)))
    connection.wait(BIND_OK)
    connection.send(publish(sent, queue))
    connection.wait(wire.ACK)
    connection.send(wire.get(1, queue, no_ack=True))
    found = connection.wait(wire.GET_OK, wire.GET_EMPTY)
    connection.delete(1, queue)
    connection.end()
    return "comes" if found[1] == wire.GET_OK else "does not come"


def main() -> None:
    for url in wire.urls():
        connection = wire.Connection(url)
        print(connection.broker)
        connection.end()
        for name, (bound, sent) in PAIRS.items():
            print(f"  a message with {name}: {outcome(url, bound, sent)}")


if __name__ == "__main__":
    main()
