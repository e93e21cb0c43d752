"""TTL-008: messages that have no time to live at all, in a queue whose consumer has no room.

    python no_time_at_all.py amqp://guest:guest@localhost:5672/%2F ...

A consumer with a prefetch count of 1 holds one message. Five more come with expiration 0, and are confirmed; half a
second later somebody gets what is there.
"""

from __future__ import annotations

import struct
import time

import wire

QUEUE = "findings.no-time-at-all"
EXPIRATION, COUNT = 0x0100, 5


def publish(channel: int, body: str) -> bytes:
    """A publish that expires at once."""
    raw = body.encode()
    start = wire.method(channel, wire.PUBLISH, bytes(2) + wire.short("") + wire.short(QUEUE) + bytes(1))
    header = struct.pack(">HHQH", 60, 0, len(raw), EXPIRATION) + wire.short("0")
    return start + wire.frame(2, channel, header) + wire.frame(3, channel, raw)


def there(url: str, consumers: int) -> int:
    """How many of them somebody can get, with and without that consumer."""
    connection, taker = wire.Connection(url), wire.Connection(url)
    connection.open(1)
    taker.open(1)
    connection.declare(1, QUEUE, "classic")
    connection.send(wire.method(1, wire.CONFIRM, bytes(1)))
    connection.wait(wire.CONFIRM_OK)
    for _ in range(consumers):
        taker.send(wire.qos(1, 1), wire.consume(1, QUEUE))
        taker.wait(wire.CONSUME_OK)
        connection.send(wire.publish(1, QUEUE, "held"))
        taker.wait(wire.DELIVER)
        connection.wait(wire.ACK)
    for number in range(COUNT):
        connection.send(publish(1, str(number)))
        connection.wait(wire.ACK)
    time.sleep(0.5)
    found = 0
    while connection.take(1, QUEUE, no_ack=True) is not None:
        found += 1
    connection.delete(1, QUEUE)
    taker.end()
    connection.end()
    return found


def main() -> None:
    for url in wire.urls():
        alone, held = there(url, 0), there(url, 1)
        print(f"{wire.Connection(url).broker}: {alone} of {COUNT} without a consumer, {held} with one that has no room")


if __name__ == "__main__":
    main()
