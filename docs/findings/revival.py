"""TMO-012: does settling what timed out revive the consumer, however it is settled?

    python revival.py amqp://guest:guest@localhost:5672/%2F ...

A consumer of a quorum queue with a window of one holds the first of three messages until it times out, or the only one.
Its client then settles that delivery, in one of five ways, and waits three seconds for the next one. That there is one
is read from the queue afterwards.
"""

from __future__ import annotations

import uuid

import wire

NOTICE = (60, 30)
WAYS = {
    "ack": wire.ack(1, 1),
    "nack, requeue": wire.nack(1, 1),
    "nack": wire.nack(1, 1, requeue=False),
    "reject, requeue": wire.reject(1, 1),
    "reject": wire.reject(1, 1, requeue=False),
}


def served(url: str, settlement: bytes, messages: int) -> tuple[bool, int]:
    """Does the consumer get another message? And how many are ready in the queue then?"""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, client = wire.Connection(url), wire.Connection(url, wire.NOTIFY)
    keeper.open(1)
    client.open(1)
    keeper.declare(1, queue, "quorum", x_consumer_timeout=1000)
    try:
        keeper.fill(1, queue, [str(number) for number in range(messages)])
        client.send(wire.qos(1, 1), wire.consume(1, queue))
        client.wait(wire.DELIVER)
        client.wait(NOTICE)
        client.send(settlement)
        while (frame := client.read(3)) is not None:
            if frame[1] == wire.DELIVER:
                return True, keeper.declare(1, queue, "quorum", x_consumer_timeout=1000)
        return False, keeper.declare(1, queue, "quorum", x_consumer_timeout=1000)
    finally:
        keeper.delete(1, queue)
        keeper.end()
        client.end()


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for name, settlement in WAYS.items():
            for messages in (3, 1):
                seen = [served(url, settlement, messages) for _ in range(3)]
                print(
                    f"  after {name}, of {messages}: served again in {sum(again for again, _ in seen)} of 3, "
                    f"ready then: {' '.join(str(ready) for _, ready in seen)}"
                )


if __name__ == "__main__":
    main()
