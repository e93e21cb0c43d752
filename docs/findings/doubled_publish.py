"""RQ-011: is a message that was published once in its queue once, when its channel ends right after?

    python doubled_publish.py amqp://guest:guest@localhost:5672/%2F ...

A consumer holds eight messages. In one TCP write: a publish, four acknowledgements, a publish, another acknowledgement,
and tx.select on a channel in confirm mode, for which the broker closes the channel. Then another connection takes all
that is ready. How often a message comes twice is a race inside the broker: keep its machine busy to see more of them.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter

import wire

SECONDS = 20
HELD = 8
PUBLISHED = "first", "second"
TX_SELECT = (90, 10)


def doubled(url: str, queue_type: str) -> tuple[int, int]:
    """Rounds, and messages that came twice."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, connection = wire.Connection(url), wire.Connection(url)
    keeper.open(1)
    keeper.declare(1, queue, queue_type)
    rounds = found = 0
    deadline = time.monotonic() + SECONDS
    try:
        while time.monotonic() < deadline:
            rounds += 1
            keeper.open(2)
            keeper.fill(2, queue, [f"held {number}" for number in range(HELD)])
            keeper.send(wire.close(2))
            keeper.wait(wire.CHANNEL_CLOSE_OK)
            _end_a_channel(connection, queue)
            came = Counter(_all(keeper, queue))
            found += sum(came[body] > 1 for body in PUBLISHED)
    finally:
        keeper.delete(1, queue)
        keeper.end()
        connection.end()
    return rounds, found


def _end_a_channel(connection: wire.Connection, queue: str) -> None:
    connection.open(1)
    connection.send(wire.method(1, wire.CONFIRM, bytes(1)))
    connection.wait(wire.CONFIRM_OK)
    connection.send(wire.consume(1, queue))
    for _ in range(HELD):
        connection.wait(wire.DELIVER)
    acks = [wire.ack(1, tag) for tag in range(1, 6)]
    connection.send(
        wire.publish(1, queue, PUBLISHED[0]),
        *acks[:4],
        wire.publish(1, queue, PUBLISHED[1]),
        acks[4],
        wire.method(1, TX_SELECT),
    )
    while (frame := connection.read()) is not None and frame[1] != wire.CHANNEL_CLOSE:
        pass
    connection.send(wire.method(1, wire.CHANNEL_CLOSE_OK))
    while connection.read(0.01) is not None:
        pass


def _all(keeper: wire.Connection, queue: str) -> list[str]:
    """The bodies of all that is ready, until nothing has come for a while."""
    bodies, empty = [], 0
    while empty < 4:
        body = keeper.take(1, queue, no_ack=True)
        if body is None:
            empty += 1
            time.sleep(0.003)
        else:
            bodies.append(body)
            empty = 0
    return bodies


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for queue_type in ("classic", "quorum"):
            rounds, found = doubled(url, queue_type)
            print(f"  {queue_type}: {found} messages came twice in {rounds} rounds")


if __name__ == "__main__":
    main()
