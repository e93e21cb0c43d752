"""DLX-002: messages whose time passes in a queue whose consumer has no room.

    python aging_beside_a_consumer.py amqp://guest:guest@localhost:5672/%2F ...

A consumer with a prefetch count of 1 holds one message. Five more come that are to live for a tenth of a second; twelve
seconds later somebody gets what has come to the queue for the dead letters.
"""

from __future__ import annotations

import struct
import time

import wire

QUEUE, GRAVE = "findings.aging", "findings.aging.dead"
EXPIRATION, COUNT, PATIENCE = 0x0100, 5, 12.0


def publish(channel: int, body: str) -> bytes:
    """A publish that expires after a tenth of a second."""
    raw = body.encode()
    start = wire.method(channel, wire.PUBLISH, bytes(2) + wire.short("") + wire.short(QUEUE) + bytes(1))
    header = struct.pack(">HHQH", 60, 0, len(raw), EXPIRATION) + wire.short("100")
    return start + wire.frame(2, channel, header) + wire.frame(3, channel, raw)


def dead(url: str, consumers: int) -> int:
    """How many of them have become dead letters, with and without that consumer."""
    connection, taker = wire.Connection(url), wire.Connection(url)
    connection.open(1)
    taker.open(1)
    connection.declare(1, GRAVE, "classic")
    connection.declare(1, QUEUE, "classic", x_dead_letter_exchange="", x_dead_letter_routing_key=GRAVE)
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
    time.sleep(PATIENCE)
    found = 0
    while connection.take(1, GRAVE, no_ack=True) is not None:
        found += 1
    for queue in (QUEUE, GRAVE):
        connection.delete(1, queue)
    taker.end()
    connection.end()
    return found


def main() -> None:
    for url in wire.urls():
        alone, held = dead(url, 0), dead(url, 1)
        print(f"{wire.Connection(url).broker}: {alone} of {COUNT} without a consumer, {held} with one that has no room")


if __name__ == "__main__":
    main()
