"""ERR-006: does anything arrive on a channel after the broker has closed it?

    python frames_after_close.py amqp://guest:guest@localhost:5672/%2F ...

Twenty messages are ready. A consume and an acknowledgement of an unknown tag leave in one TCP write, so that the
broker's deliveries meet its own channel.close. close-ok is sent as soon as the close is read.
"""

from __future__ import annotations

import uuid

import wire

ROUNDS = 30


def late(url: str, queue_type: str) -> int:
    """In how many rounds deliveries came after channel.close."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper = wire.Connection(url)
    keeper.open(1)
    keeper.declare(1, queue, queue_type)
    try:
        keeper.fill(1, queue, [str(number) for number in range(20)])
        return sum(_round(url, queue) for _ in range(ROUNDS))
    finally:
        keeper.delete(1, queue)
        keeper.end()


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


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for queue_type in ("classic", "quorum"):
            print(f"  {queue_type}: deliveries after channel.close in {late(url, queue_type)} of {ROUNDS} rounds")


if __name__ == "__main__":
    main()
