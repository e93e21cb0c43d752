"""TAG-003: do delivery tags rise on a channel whose client is slow to read?

    python tags_under_pressure.py amqp://guest:guest@localhost:5672/%2F ...

One channel has two consumers, each of a queue of its own. Another connection publishes to both queues in turn, every
fourth message larger than 32 KiB, while the client reads nothing; then it reads all. Counted are deliveries whose tag
is below one that came before.
"""

from __future__ import annotations

import time
import uuid

import wire

ROUNDS, EACH, LARGE, EVERY = 8, 1000, 32769, 4
STOPS = 50
"""After so many messages the publisher waits a moment, so that consumers are served meanwhile."""


def examine(url: str) -> tuple[int, int]:
    """How many deliveries came, and how many of them after one with a higher tag."""
    queues = [f"finding-{uuid.uuid4().hex[:12]}" for _ in range(2)]
    client, other = wire.Connection(url), wire.Connection(url)
    client.open(1)
    other.open(1)
    for tag, queue in zip("ab", queues, strict=True):
        client.declare(1, queue, "classic")
        client.send(wire.consume(1, queue, tag))
        client.wait(wire.CONSUME_OK)
    for number in range(EACH):
        body = "m" * (LARGE if number % EVERY == 0 else 4)
        other.send(*(wire.publish(1, queue, body) for queue in queues))
        if number % STOPS == 0:
            time.sleep(0.02)
    came = late = highest = 0
    while came < 2 * EACH and (found := client.read()) is not None:
        if found[1] == wire.DELIVER:
            tag = wire.delivery_tag(found)
            came, late, highest = came + 1, late + (tag < highest), max(highest, tag)
    for queue in queues:
        client.delete(1, queue)
    client.end()
    other.end()
    return came, late


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        rounds = [examine(url) for _ in range(ROUNDS)]
        came, late = sum(came for came, _ in rounds), sum(late for _, late in rounds)
        often = sum(late > 0 for _, late in rounds)
        print(f"  of {came} deliveries {late} have a tag below one before; in {often} of {ROUNDS} rounds")


if __name__ == "__main__":
    main()
