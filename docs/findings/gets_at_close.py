"""AUTO-001: in which order does a queue get back what a channel had fetched by basic.get?

    python gets_at_close.py amqp://guest:guest@localhost:5672/%2F ...

Gets 1 to 12, closes the channel, and gets what is ready on another one.
"""

from __future__ import annotations

import uuid

import wire


def order(url: str, queue_type: str) -> str:
    queue, connection = f"finding-{uuid.uuid4().hex[:12]}", wire.Connection(url)
    connection.open(1)
    connection.open(2)
    connection.declare(1, queue, queue_type)
    try:
        bodies = [str(number) for number in range(1, 13)]
        connection.fill(1, queue, bodies)
        for _ in bodies:
            connection.take(2, queue)
        connection.send(wire.close(2))
        connection.wait(wire.CHANNEL_CLOSE_OK)
        connection.open(3)
        seen: list[str] = []
        for _ in range(2000):  # they take a moment to come back
            body = connection.take(3, queue, no_ack=True)
            seen += [body] if body is not None else []
            if len(seen) == len(bodies):
                break
        return " ".join(seen)
    finally:
        connection.delete(1, queue)
        connection.end()


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for queue_type in ("classic", "quorum"):
            print(f"  {queue_type}: {order(url, queue_type)}")


if __name__ == "__main__":
    main()
