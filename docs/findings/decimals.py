"""ERR-012, MODE-005: can a message become a dead letter whose headers hold a decimal with many places?

    python decimals.py amqp://guest:guest@localhost:5672/%2F ...

A decimal is sent as the number of its places and an integer. Each message has one among its headers, and is rejected
without requeue in a queue whose dead letters go to another one.
"""

from __future__ import annotations

import struct
import time

import wire

QUEUE, DEAD = "findings.decimals", "findings.decimals.dead"
HEADERS = 1 << 13


def publish(places: int) -> bytes:
    """A message with the header x: 5, shifted to the right by so many places."""
    field = b"\x01xD" + struct.pack(">BI", places, 5)
    start = wire.method(1, wire.PUBLISH, bytes(2) + wire.short("") + wire.short(QUEUE) + bytes(1))
    header = struct.pack(">HHQH", 60, 0, 1, HEADERS) + struct.pack(">I", len(field)) + field
    return start + wire.frame(2, 1, header) + wire.frame(3, 1, b"m")


def becomes(url: str, places: int) -> str:
    """What the rejection of such a message leads to."""
    connection = wire.Connection(url)
    connection.open(1)
    connection.send(wire.method(1, wire.CONFIRM, bytes(1)))
    connection.wait(wire.CONFIRM_OK)
    connection.send(publish(places))
    connection.wait(wire.ACK)
    connection.take(1, QUEUE)
    connection.send(wire.reject(1, 1, requeue=False))
    try:
        until = time.monotonic() + 5.0
        while time.monotonic() < until:
            if connection.take(1, DEAD, no_ack=True):
                return "a dead letter"
        return "nothing"
    except ConnectionError as failed:
        return str(failed)
    finally:
        connection.end(reset=True)


def left(keeper: wire.Connection) -> str:
    """The queue that has the message after that."""
    until = time.monotonic() + 2.0
    while time.monotonic() < until:
        for queue in (QUEUE, DEAD):
            if keeper.take(1, queue, no_ack=True):
                return queue
    return "no queue"


def main() -> None:
    for url in wire.urls():
        keeper = wire.Connection(url)
        print(keeper.broker)
        keeper.open(1)
        keeper.declare(1, DEAD, "classic")
        keeper.declare(1, QUEUE, "classic", x_dead_letter_exchange="", x_dead_letter_routing_key=DEAD)
        for places in (0, 9, 10, 18):
            found = becomes(url, places)
            print(f"  {places} places: {found}; left in {left(keeper)}")
        for queue in (QUEUE, DEAD):
            keeper.delete(1, queue)
        keeper.end()


if __name__ == "__main__":
    main()
