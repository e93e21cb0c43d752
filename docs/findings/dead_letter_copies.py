"""DLX-010: does a dead letter keep its header CC when its queue gives it another routing key?

    python dead_letter_copies.py amqp://guest:guest@localhost:5672/%2F ...

A message names one more key in CC, is rejected, and goes to a second queue, under the key that the first queue gives.
"""

from __future__ import annotations

import struct
import time
import uuid

import wire

NOBODY = b"S" + struct.pack(">I", 6) + b"nobody"
CC = wire.short("CC") + b"A" + struct.pack(">I", len(NOBODY)) + NOBODY
WAITS = 3.0
"""Seconds for the dead letter to arrive."""


def copied(channel: int, queue: str) -> bytes:
    """A publish with the header CC and the body 1."""
    start = wire.method(channel, wire.PUBLISH, bytes(2) + wire.short("") + wire.short(queue) + b"\x00")
    header = struct.pack(">HHQHI", 60, 0, 1, 0x2000, len(CC)) + CC
    return start + wire.frame(2, channel, header) + wire.frame(3, channel, b"1")


def arrives(url: str, queue_type: str) -> str:
    """What the header of the dead letter has."""
    name = f"finding-{uuid.uuid4().hex[:12]}"
    grave, connection = f"{name}-dead", wire.Connection(url)
    connection.open(1)
    try:
        connection.declare(1, grave, queue_type)
        connection.declare(1, name, queue_type, x_dead_letter_exchange="", x_dead_letter_routing_key=grave)
        connection.send(copied(1, name))
        fetched(connection, name)
        connection.send(wire.reject(1, 1, requeue=False))
        header = fetched(connection, grave)
        connection.delete(1, name)
        connection.delete(1, grave)
        return "CC is kept" if CC in header else "CC is taken away"
    finally:
        connection.end()


def fetched(connection: wire.Connection, queue: str) -> bytes:
    """The header of the next message; it may still be under way."""
    until = time.monotonic() + WAITS
    while time.monotonic() < until:
        connection.send(wire.get(1, queue))
        if connection.wait(wire.GET_OK, wire.GET_EMPTY)[1] == wire.GET_OK:
            header = connection.read()
            connection.read()
            return header[2] if header else b""
        time.sleep(0.05)
    raise ConnectionError(f"nothing comes to {queue}")


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for queue_type in ("classic", "quorum"):
            print(f"  {queue_type}: {arrives(url, queue_type)}")


if __name__ == "__main__":
    main()
