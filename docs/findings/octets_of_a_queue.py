"""LEN-014: what counts as octets of a queue with x-max-length-bytes?

    python octets_of_a_queue.py amqp://guest:guest@localhost:5672/%2F ...

Eight messages with bodies of 20 octets come to a queue for 200, and are confirmed. Prints how many of them are there.
"""

from __future__ import annotations

import uuid

import wire

LIMIT, BODY, COUNT = 200, "x" * 20, 8


def there(url: str) -> int:
    """How many can be fetched."""
    queue, connection = f"finding-{uuid.uuid4().hex[:12]}", wire.Connection(url)
    connection.open(1)
    connection.declare(1, queue, "classic", x_max_length_bytes=LIMIT)
    try:
        connection.fill(1, queue, [BODY] * COUNT)
        found = 0
        while connection.take(1, queue, no_ack=True) is not None:
            found += 1
        return found
    finally:
        connection.delete(1, queue)
        connection.end()


def main() -> None:
    for url in wire.urls():
        print(f"{wire.Connection(url).broker}: {there(url)} of {COUNT} messages, {LIMIT} octets allowed")


if __name__ == "__main__":
    main()
