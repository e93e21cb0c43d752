"""RQ-002: in which order does a quorum queue give out again what came by basic.get and was recovered?

    python recovered_gets.py amqp://guest:guest@localhost:5672/%2F ...

A channel gets all messages of a queue, one by one, and returns them by one basic.recover. Then it gets all of them
again. They should come in the order in which they came first, however many they are.
"""

from __future__ import annotations

import uuid

import wire

SIZES = (16, 32, 33, 48, 96)


def order(url: str, kind: str, size: int) -> list[int]:
    """The messages, by their numbers, as they come again."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    connection = wire.Connection(url)
    connection.open(1)
    connection.declare(1, queue, kind)
    connection.fill(1, queue, [str(number) for number in range(1, size + 1)])
    connection.open(2)
    for _ in range(size):
        connection.take(2, queue)
    connection.send(wire.recover(2))
    connection.wait(wire.RECOVER_OK)
    again = [int(connection.take(2, queue) or 0) for _ in range(size)]
    connection.delete(1, queue)
    connection.end()
    return again


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for kind in ("classic", "quorum"):
            for size in SIZES:
                again = order(url, kind, size)
                wrong = next((at for at, number in enumerate(again) if number != at + 1), None)
                kept = "in order" if wrong is None else f"from the {wrong + 1}th on {again[wrong : wrong + 6]}"
                print(f"  {kind}, {size}: {kept}")


if __name__ == "__main__":
    main()
