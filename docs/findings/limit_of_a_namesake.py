"""QOS-010: does a delivery of a cancelled consumer count for a new consumer that has its tag?

    python limit_of_a_namesake.py amqp://guest:guest@localhost:5672/%2F ...

A consumer with a limit of one holds a delivery, and is cancelled. A new consumer is started with a limit of one, under
the same tag or under another. Then the first delivery is settled, and six messages are published. Prints how many of
them the new consumer is sent at once, which should be one. It acknowledges these, and that twice more.
"""

from __future__ import annotations

import uuid

import wire

SETTLEMENTS = {
    "ack": lambda tag: wire.ack(1, tag),
    "reject without requeue": lambda tag: wire.reject(1, tag, requeue=False),
}
ROUNDS, MESSAGES, SILENCE = 3, 6, 0.5


def held(connection: wire.Connection) -> list[int]:
    """The tags of what is delivered, until nothing comes any more."""
    tags: list[int] = []
    while (found := connection.read(SILENCE)) is not None:
        if found[1] == wire.DELIVER:
            tags.append(wire.delivery_tag(found))
    return tags


def rounds(url: str, again: str, settlement: str) -> str:
    """How many deliveries the new consumer holds, round by round."""
    connection, queue = wire.Connection(url), f"finding-{uuid.uuid4().hex[:12]}"
    connection.open(1)
    connection.declare(1, queue, "classic")
    connection.send(wire.qos(1, 1), wire.consume(1, queue, "first"), wire.publish(1, queue, "m0"))
    tag = wire.delivery_tag(connection.wait(wire.DELIVER))
    connection.send(wire.cancel(1, "first"))
    connection.wait(wire.CANCEL_OK)
    connection.send(wire.consume(1, queue, again))
    connection.wait(wire.CONSUME_OK)
    connection.send(SETTLEMENTS[settlement](tag))
    connection.send(*(wire.publish(1, queue, f"m{n}") for n in range(1, 1 + MESSAGES)))
    counts = []
    for _ in range(ROUNDS):
        tags = held(connection)
        counts.append(str(len(tags)))
        connection.send(*(wire.ack(1, one) for one in tags))
    connection.delete(1, queue)
    connection.end()
    return ", ".join(counts)


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for again in ("another", "first"):
            for settlement in SETTLEMENTS:
                under = "the same tag" if again == "first" else "another tag"
                print(f"  {under}, {settlement}: {rounds(url, again, settlement)}")


if __name__ == "__main__":
    main()
