"""ERR-006: does anything arrive on a channel after the broker has closed it?

    python frames_after_close.py amqp://guest:guest@localhost:5672/%2F ...

Twenty messages are ready. A consume and an acknowledgement of an unknown tag leave in one TCP write, so that the
broker's deliveries meet its own channel.close. close-ok is sent as soon as the close is read; with it, in the second
measurement, channel.open for the same number: is anything delivered after open-ok?
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import wire

ROUNDS, LIVES = 30, 400


@contextmanager
def stocked(url: str, queue_type: str) -> Iterator[str]:
    """A queue with twenty messages."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper = wire.Connection(url)
    keeper.open(1)
    keeper.declare(1, queue, queue_type)
    try:
        keeper.fill(1, queue, [str(number) for number in range(20)])
        yield queue
    finally:
        keeper.delete(1, queue)
        keeper.end()


def late(url: str, queue_type: str) -> int:
    """In how many rounds deliveries came after channel.close."""
    with stocked(url, queue_type) as queue:
        return sum(_round(url, queue) for _ in range(ROUNDS))


def in_the_next_life(url: str, queue_type: str) -> int:
    """After how many of the channel's lives its deliveries came to the next."""
    with stocked(url, queue_type) as queue:
        connection = wire.Connection(url)
        connection.open(1)
        found = sum(_life(connection, queue) for _ in range(LIVES))
        connection.end()
        return found


def _round(url: str, queue: str) -> bool:
    connection = wire.Connection(url)
    connection.open(1)
    connection.send(wire.consume(1, queue), wire.ack(1, 999))
    closed = after = False
    while (found := connection.read(2.0 if not closed else 0.1)) is not None:
        if found[1] == wire.CHANNEL_CLOSE:
            closed = True
            connection.send(wire.method(1, wire.CHANNEL_CLOSE_OK))
        elif closed and found[1] == wire.DELIVER:
            after = True
    connection.end()
    return after


def _life(connection: wire.Connection, queue: str) -> bool:
    connection.send(wire.consume(1, queue), wire.ack(1, 999))
    again = after = False
    while (found := connection.read(0.02 if again else 15.0)) is not None:
        if found[1] == wire.CHANNEL_CLOSE:
            connection.send(wire.method(1, wire.CHANNEL_CLOSE_OK), wire.method(1, wire.CHANNEL_OPEN, wire.short("")))
        again = again or found[1] == wire.CHANNEL_OPEN_OK
        after = after or (again and found[1] == wire.DELIVER)
    return after


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for queue_type in ("classic", "quorum"):
            print(
                f"  {queue_type}: deliveries after channel.close in {late(url, queue_type)} of {ROUNDS} rounds, "
                f"after open-ok of the next life in {in_the_next_life(url, queue_type)} of {LIVES}"
            )


if __name__ == "__main__":
    main()
