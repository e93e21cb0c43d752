"""TAG-003: do delivery tags rise on a channel whose client is slow to read?

    python tags_under_pressure.py amqp://guest:guest@localhost:5672/%2F ...

One channel has two consumers, each of a queue of its own. Another connection publishes to both queues in turn, every
fourth message larger than 32 KiB, while the client reads nothing; then it reads all. Then the same with one consumer,
while the client gets from the other queue. Counted are deliveries, and answers to gets, whose tag is below one that
came before.
"""

from __future__ import annotations

import time
import uuid

import wire

ROUNDS, EACH, LARGE, EVERY = 8, 1000, 32769, 4
STOPS = 50
"""After so many messages the publisher waits a moment, so that consumers are served meanwhile."""


def examine(url: str, gets: bool) -> tuple[int, int, int]:
    """How much came, and how many deliveries and answers to gets of it after something with a higher tag."""
    queues = [f"finding-{uuid.uuid4().hex[:12]}" for _ in range(2)]
    client, other = wire.Connection(url), wire.Connection(url)
    client.open(1)
    other.open(1)
    for tag, queue in zip("ab", queues, strict=True):
        client.declare(1, queue, "classic")
        if not (gets and tag == "b"):
            client.send(wire.consume(1, queue, tag))
            client.wait(wire.CONSUME_OK)
    for number in range(EACH):
        body = "m" * (LARGE if number % EVERY == 0 else 4)
        other.send(*(wire.publish(1, queue, body) for queue in queues))
        if gets:
            client.send(wire.get(1, queues[1]))
        if number % STOPS == 0:
            time.sleep(0.02)
    came = highest = 0
    late = {wire.DELIVER: 0, wire.GET_OK: 0}
    while came < 2 * EACH and (found := client.read()) is not None:
        if found[1] in (wire.DELIVER, wire.GET_OK):
            tag = wire.delivery_tag(found)
            late[found[1]] += tag < highest
            came, highest = came + 1, max(highest, tag)
        came += found[1] == wire.GET_EMPTY
    for queue in queues:
        client.delete(1, queue)
    client.end()
    other.end()
    return came, late[wire.DELIVER], late[wire.GET_OK]


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for gets in (False, True):
            rounds = [examine(url, gets) for _ in range(ROUNDS)]
            came, late, got = (sum(column) for column in zip(*rounds, strict=True))
            often = sum(late + got > 0 for _, late, got in rounds)
            print(
                f"  {'one consumer and gets' if gets else 'two consumers'}: of {came}, {late} deliveries and {got} "
                f"get-ok have a tag below one before; in {often} of {ROUNDS} rounds"
            )


if __name__ == "__main__":
    main()
