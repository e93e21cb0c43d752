"""RQ-002: in which order does a quorum queue deliver again what was returned together?

    python returned_batch.py amqp://guest:guest@localhost:5672/%2F ...

A consumer of a quorum queue holds all its messages, and returns them: by one basic.nack, by basic.recover, or by
closing its channel. They should come again in the order in which they came first, however many they are.
"""

from __future__ import annotations

import wire

QUEUE = "findings.returned_batch"
SIZES = (16, 32, 33, 48)


def order(url: str, size: int, how: str) -> list[int]:
    """The messages, by their numbers, as they come again."""
    connection = wire.Connection(url)
    connection.open(1)
    connection.declare(1, QUEUE, "quorum")
    connection.fill(1, QUEUE, [str(number) for number in range(1, size + 1)])
    connection.open(2)
    connection.send(wire.consume(2, QUEUE))
    for _ in range(size):
        last = wire.delivery_tag(connection.wait(wire.DELIVER))
    if how == "nack":
        connection.send(wire.nack(2, last, multiple=True))
    elif how == "recover":
        connection.send(wire.recover(2))
    else:
        connection.send(wire.close(2))
        connection.wait(wire.CHANNEL_CLOSE_OK)
        connection.open(2)
        connection.send(wire.consume(2, QUEUE))
    again = [_next(connection) for _ in range(size)]
    connection.delete(1, QUEUE)
    connection.end()
    return again


def _next(connection: wire.Connection) -> int:
    """The number of the message that is delivered next."""
    connection.wait(wire.DELIVER)
    connection.read()
    body = connection.read()
    assert body is not None
    return int(body[2])


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for how in ("nack", "recover", "close"):
            for size in SIZES:
                again = order(url, size, how)
                kept = "in order" if again == sorted(again) else "begins " + ", ".join(map(str, again[:6]))
                print(f"  {how} of {size}: {kept}")


if __name__ == "__main__":
    main()
