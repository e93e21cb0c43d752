"""LEN-014 and DLX-003: what counts as octets of a queue with x-max-length-bytes, and of what do messages die there?

    python octets_of_a_queue.py amqp://guest:guest@localhost:5672/%2F ...

Eight messages with bodies of 20 octets come to a queue for 200, and are confirmed. Prints how many of them are there.
Then two with bodies of 200 octets come to such a queue with a dead letter exchange. Prints what x-death says of the
first.
"""

from __future__ import annotations

import re
import time
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


def reason(url: str) -> str:
    """What x-death says of a message that was pushed out."""
    grave, queue = (f"finding-{uuid.uuid4().hex[:12]}" for _ in "12")
    connection = wire.Connection(url)
    connection.open(1)
    connection.declare(1, grave, "classic")
    arguments = {"x_dead_letter_exchange": "", "x_dead_letter_routing_key": grave}
    connection.declare(1, queue, "classic", x_max_length_bytes=LIMIT, **arguments)
    try:
        connection.fill(1, queue, ["x" * LIMIT] * 2)
        time.sleep(0.5)
        connection.send(wire.get(1, grave, no_ack=True))
        connection.wait(wire.GET_OK)
        header = connection.wait(wire.CONTENT)[2]
        found = re.search(rb"\x06reasonS(.{4})(\w+)", header, re.DOTALL)
        return found[2][: int.from_bytes(found[1], "big")].decode() if found else "nothing"
    finally:
        connection.delete(1, queue)
        connection.delete(1, grave)
        connection.end()


def main() -> None:
    for url in wire.urls():
        print(f"{wire.Connection(url).broker}: {there(url)} of {COUNT} messages, {LIMIT} octets allowed")
        print(f"  x-death says {reason(url)}")


if __name__ == "__main__":
    main()
