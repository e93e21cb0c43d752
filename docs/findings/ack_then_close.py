"""ACK-018: are acknowledgements honoured that are followed at once by a close?

    python ack_then_close.py amqp://guest:guest@localhost:5672/%2F ...

Takes n messages with a consumer, sends n single acknowledgements and the close in one TCP write, waits for close-ok,
and counts what is back in the queue two seconds later.
"""

from __future__ import annotations

import time
import uuid

import wire


def back(url: str, queue_type: str, n: int, closing: int, multiple: bool = False) -> int:
    """How many of n acknowledged messages come back when channel `closing` (0: the connection) is closed."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, receiver = wire.Connection(url), wire.Connection(url)
    keeper.open(1)
    receiver.open(1)
    keeper.declare(1, queue, queue_type)
    try:
        keeper.fill(1, queue, [str(number) for number in range(n)])
        receiver.send(wire.consume(1, queue))
        for _ in range(n):
            receiver.wait(wire.DELIVER)
        acks = [wire.ack(1, n, multiple=True)] if multiple else [wire.ack(1, tag) for tag in range(1, n + 1)]
        receiver.send(*acks, wire.close(closing))
        receiver.wait(wire.CHANNEL_CLOSE_OK, wire.CONNECTION_CLOSE_OK)
        time.sleep(2)
        return keeper.declare(1, queue, queue_type)
    finally:
        keeper.delete(1, queue)
        keeper.end()
        receiver.end()


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for queue_type in ("classic", "quorum"):
            for closing, name in ((1, "channel"), (0, "connection")):
                seen = [f"{back(url, queue_type, n, closing)} of {n}" for n in (1, 32, 33, 100)]
                once = back(url, queue_type, 100, closing, multiple=True)
                print(f"  {queue_type}, {name}.close: {', '.join(seen)}; one multiple ack: {once} of 100")


if __name__ == "__main__":
    main()
