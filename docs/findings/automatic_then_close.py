"""AUTO-007: do deliveries without acknowledgements come back when their channel closes right after them?

    python automatic_then_close.py amqp://guest:guest@localhost:5672/%2F ...

In each of 60 rounds two consumers without acknowledgements share a queue, whose messages their own channel publishes
fifty at a time. The channel closes as soon as the last one has arrived. Counts the rounds after which something is
back in the queue. It is a race, which other work on the machine makes more likely.
"""

from __future__ import annotations

import uuid

import wire

ROUNDS, BURSTS, BURST = 60, 2, 50


def returned(url: str, queue_type: str) -> list[str]:
    """What a get finds when the channel has closed."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, receiver = wire.Connection(url), wire.Connection(url)
    keeper.open(1)
    receiver.open(1)
    keeper.declare(1, queue, queue_type)
    try:
        for tag in ("c1", "c2"):
            receiver.send(wire.consume(1, queue, tag, no_ack=True))
            receiver.wait(wire.CONSUME_OK)
        for _ in range(BURSTS):
            receiver.send(*(wire.publish(1, queue, str(number)) for number in range(BURST)))
            for _ in range(BURST):
                receiver.wait(wire.DELIVER)
        receiver.send(wire.close(1))
        receiver.wait(wire.CHANNEL_CLOSE_OK)
        back: list[str] = []
        while (body := keeper.take(1, queue, no_ack=True)) is not None:
            back.append(body)
        return back
    finally:
        keeper.delete(1, queue)
        keeper.end()
        receiver.end()


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for queue_type in ("classic", "quorum"):
            rounds = [len(returned(url, queue_type)) for _ in range(ROUNDS)]
            print(f"  {queue_type}: something came back in {sum(map(bool, rounds))} of {ROUNDS}, {max(rounds)} at most")


if __name__ == "__main__":
    main()
