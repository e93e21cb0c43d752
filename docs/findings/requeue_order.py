"""RQ-001, RQ-003, RQ-004: where does a returned message go?

    python requeue_order.py amqp://guest:guest@localhost:5672/%2F ...

Publishes 1 to 8, gets 1 to 5, acknowledges 1 and 3, returns 4 by nack, then 2 by nack, then 5 by reject, waits for a
sentinel's confirm, and gets what is ready, in order.
"""

from __future__ import annotations

import uuid

import wire


def order(url: str, queue_type: str, **arguments: int) -> str:
    """What comes out, in order, until the queue is empty."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    connection = wire.Connection(url)
    connection.open(1)
    connection.declare(1, queue, queue_type, **arguments)
    try:
        connection.fill(1, queue, [str(number) for number in range(1, 9)])
        for _ in range(5):
            connection.take(1, queue)
        connection.send(wire.ack(1, 1), wire.ack(1, 3), wire.nack(1, 4), wire.nack(1, 2), wire.reject(1, 5))
        connection.send(wire.publish(1, queue, "sentinel"))
        connection.wait(wire.ACK)
        seen = []
        while (body := connection.take(1, queue, no_ack=True)) is not None:
            seen.append(body)
        return " ".join(seen)
    finally:
        connection.delete(1, queue)
        connection.end()


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        print(f"  classic: {order(url, 'classic')}")
        print(f"  quorum: {order(url, 'quorum')}")
        print(f"  quorum, limit 10: {order(url, 'quorum', x_delivery_limit=10)}")
        print(f"  quorum, limit -1: {order(url, 'quorum', x_delivery_limit=-1)}")


if __name__ == "__main__":
    main()
