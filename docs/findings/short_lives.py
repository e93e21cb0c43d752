"""TTL-004: messages that live for a moment, and are gone before it has passed.

    python short_lives.py amqp://guest:guest@localhost:5672/%2F ...

A queue gets a message with this expiration, in milliseconds, and is asked for it as soon as it is confirmed; 100 times
each, with pauses that let the clock of a broker stand elsewhere each time. What was asked for too late is not counted.
"""

from __future__ import annotations

import struct
import time

import wire

QUEUE = "findings.short-lives"
EXPIRATION, TIMES = 0x0100, 100


def mortal(channel: int, body: str, expiration: int) -> bytes:
    """A publish that lives for so many milliseconds."""
    raw = body.encode()
    start = wire.method(channel, wire.PUBLISH, bytes(2) + wire.short("") + wire.short(QUEUE) + bytes(1))
    header = struct.pack(">HHQH", 60, 0, len(raw), EXPIRATION) + wire.short(str(expiration))
    return start + wire.frame(2, channel, header) + wire.frame(3, channel, raw)


def ready(url: str) -> wire.Connection:
    """A connection that confirms, and an empty queue."""
    connection = wire.Connection(url)
    connection.open(1)
    connection.declare(1, QUEUE, "classic")
    connection.send(wire.method(1, wire.CONFIRM, bytes(1)))
    connection.wait(wire.CONFIRM_OK)
    return connection


def sent(connection: wire.Connection, expiration: int) -> float:
    """When it was sent; it is confirmed by now."""
    began = time.monotonic()
    connection.send(mortal(1, "m", expiration))
    connection.wait(wire.ACK)
    return began


def early(url: str, expiration: int) -> str:
    """How many were gone before their time, of those that were asked for in time."""
    connection, gone, asked, least = ready(url), 0, 0, float(expiration)
    for _ in range(TIMES):
        began = sent(connection, expiration)
        found = connection.take(1, QUEUE, no_ack=True)
        took = (time.monotonic() - began) * 1000
        if took < expiration:
            asked += 1
            gone += found is None
            least = took if found is None and took < least else least
        time.sleep(0.013)
    connection.delete(1, QUEUE)
    connection.end()
    return f"{gone} of {asked} are gone" + (f", one of them after {least:.0f} ms" if gone else "")


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for expiration in (20, 50, 90, 120, 200):
            print(f"  expiration {expiration}: {early(url, expiration)}")


if __name__ == "__main__":
    main()
