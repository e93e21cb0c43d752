"""TMO-021: may an acknowledgement of a delivery that timed out settle another delivery?

    python stale_ack.py amqp://guest:guest@localhost:5672/%2F ...

A consumer of a quorum queue holds message 1 until it times out. Its client cancels it and starts another one, with the
same tag or with a new one; that gets message 2. Then the client acknowledges its first delivery, which is stale, and
closes the channel. Message 2 was never acknowledged, so it must be in the queue.
"""

from __future__ import annotations

import time
import uuid

import wire

NOTICE, CANCEL_OK = (60, 30), (60, 31)


def left(url: str, again: str) -> list[str]:
    """What is in the queue in the end."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, client = wire.Connection(url), wire.Connection(url, wire.NOTIFY)
    keeper.open(1)
    client.open(1)
    keeper.declare(1, queue, "quorum", x_consumer_timeout=1000)
    try:
        keeper.fill(1, queue, ["1", "2"])
        client.send(wire.qos(1, 1), wire.consume(1, queue, "a"))
        client.wait(wire.DELIVER)
        client.wait(NOTICE)
        client.send(wire.cancel(1, "a"))
        client.wait(CANCEL_OK)
        keeper.take(1, queue, no_ack=True)
        client.send(wire.consume(1, queue, again))
        client.wait(wire.DELIVER)
        client.send(wire.ack(1, 1), wire.close(1))
        client.wait(wire.CHANNEL_CLOSE_OK)
        time.sleep(1)
        return list(iter(lambda: keeper.take(1, queue, no_ack=True), None))
    finally:
        keeper.delete(1, queue)
        keeper.end()
        client.end()


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for again in ("a", "b"):
            found = [", ".join(left(url, again)) or "nothing" for _ in range(5)]
            print(f"  message 1 of consumer a is stale, message 2 is with consumer {again}; in the queue: {found}")


if __name__ == "__main__":
    main()
