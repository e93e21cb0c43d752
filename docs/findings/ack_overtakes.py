"""RQ-004: an ack that is sent after a return may make room before the return has taken effect.

    python ack_overtakes.py amqp://guest:guest@localhost:5672/%2F ...

A channel has got 1, its consumer with a limit of 1 has 2, and 3 waits. While another connection publishes to the
queue, the channel returns 1 and acknowledges 2, in one write. Prints for fifty tries what the consumer is sent next.
"""

from __future__ import annotations

import uuid
from collections import Counter

import wire

FLOOD = 2000


def following(url: str, queue_type: str) -> str:
    """What the consumer is sent after its acknowledgement."""
    queue, client, flood = f"finding-{uuid.uuid4().hex[:12]}", wire.Connection(url), wire.Connection(url)
    for connection in (client, flood):
        connection.open(1)
    client.declare(1, queue, queue_type)
    try:
        client.fill(1, queue, ["1", "2", "3"])
        client.take(1, queue)
        client.send(wire.qos(1, 1), wire.consume(1, queue))
        client.wait(wire.DELIVER)
        flood.send(*(wire.publish(1, queue, "more") for _ in range(FLOOD)))
        client.send(wire.nack(1, 1), wire.ack(1, 2))
        client.wait(wire.DELIVER)
        client.read()
        body = client.read()
        assert body is not None
        return body[2].decode()
    finally:
        client.delete(1, queue)
        for connection in (client, flood):
            connection.end()


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for queue_type in ("classic", "quorum"):
            seen = Counter(following(url, queue_type) for _ in range(50))
            print(f"  {queue_type}: {', '.join(f'{body} in {count}' for body, count in sorted(seen.items()))}")


if __name__ == "__main__":
    main()
