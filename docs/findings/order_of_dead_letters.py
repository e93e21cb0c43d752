"""MODE-009: in which order do dead letters come into their queue?

    python order_of_dead_letters.py amqp://guest:guest@localhost:5672/%2F ...

Twelve messages are discarded from a queue with a dead letter exchange: by one nack with multiple, by single rejects in
another order than theirs, by x-message-ttl, or by x-max-length. Prints the orders in which they come out of the other
queue, in 20 rounds each, and how often.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter

import wire

ROUNDS, MANY = 20, 12
TURNS = (4, 2, 9, 1, 12, 5, 3, 8, 6, 11, 7, 10)
"""Tags in the order in which they are rejected one by one."""
ARGUMENTS: dict[str, dict[str, int | str]] = {
    "nack multiple": {},
    "rejects": {},
    "expiry": {"x_message_ttl": 100},
    "max-length": {"x_max_length": 1},
}


def order(url: str, queue_type: str, how: str) -> str:
    name, connection = f"finding-{uuid.uuid4().hex[:12]}", wire.Connection(url)
    source, grave = f"{name}-a", f"{name}-b"
    connection.open(1)
    if how == "expiry" and queue_type == "quorum" and "RabbitMQ 3.8" in connection.broker:
        return "refused"
    connection.declare(1, grave, "classic")
    dead: dict[str, int | str] = {"x_dead_letter_exchange": "", "x_dead_letter_routing_key": grave}
    connection.declare(1, source, queue_type, **dead, **ARGUMENTS[how])
    try:
        extra = 1 if how == "max-length" else 0
        connection.fill(1, source, [str(number) for number in range(1, MANY + 1 + extra)])
        if how in ("nack multiple", "rejects"):
            for _ in range(MANY):
                connection.take(1, source)
            tags = [wire.reject(1, tag, requeue=False) for tag in TURNS]
            connection.send(*(tags if how == "rejects" else [wire.nack(1, MANY, multiple=True, requeue=False)]))
        until = time.monotonic() + 5
        while connection.declare(1, grave, "classic") < MANY and time.monotonic() < until:
            pass
        seen = []
        while (body := connection.take(1, grave, no_ack=True)) is not None:
            seen.append(body)
        return " ".join(seen)
    finally:
        connection.delete(1, source)
        connection.delete(1, grave)
        connection.end()


def main() -> None:
    print(f"rejected one by one: {' '.join(map(str, TURNS))}")
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for queue_type in ("classic", "quorum"):
            for how in ARGUMENTS:
                seen = Counter(order(url, queue_type, how) for _ in range(ROUNDS))
                told = "; ".join(f"{orders} ({times})" for orders, times in seen.most_common())
                print(f"  {queue_type}, {how}: {told}")


if __name__ == "__main__":
    main()
