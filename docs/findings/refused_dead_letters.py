"""LEN-013: what does a full queue with x-overflow reject-publish-dlx do with the next message?

    python refused_dead_letters.py amqp://guest:guest@localhost:5672/%2F ...

Five messages, 1 to 5, come to a queue for two, in confirm mode. Prints how each is answered, what is in the queue then,
and what has become a dead letter.
"""

from __future__ import annotations

import time
import uuid

import wire

ARRIVED = 0.5
"""Seconds after which dead letters have come."""


def fates(url: str) -> str:
    """How five publishes are answered, and where they are then."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    grave, connection = f"{queue}-dead", wire.Connection(url)
    connection.open(1)
    connection.open(2)
    to: dict[str, str | int] = {"x_dead_letter_exchange": "", "x_dead_letter_routing_key": grave}
    try:
        connection.declare(2, grave, "classic")
        connection.declare(2, queue, "classic", x_max_length=2, x_overflow="reject-publish-dlx", **to)
        connection.send(wire.method(1, wire.CONFIRM, bytes(1)))
        connection.wait(wire.CONFIRM_OK)
        answers = []
        for number in range(1, 6):
            connection.send(wire.publish(1, queue, str(number)))
            answers.append("ack" if connection.wait(wire.ACK, wire.NACK)[1] == wire.ACK else "nack")
        time.sleep(ARRIVED)
        return f"{' '.join(answers)}; in the queue: {_all(connection, queue)}; dead: {_all(connection, grave)}"
    finally:
        connection.delete(2, queue)
        connection.delete(2, grave)
        connection.end()


def _all(connection: wire.Connection, queue: str) -> str:
    found: list[str] = []
    while (body := connection.take(2, queue, no_ack=True)) is not None:
        found.append(str(body))
    return " ".join(found) or "none"


def main() -> None:
    for url in wire.urls():
        print(f"{wire.Connection(url).broker}: {fates(url)}")


if __name__ == "__main__":
    main()
