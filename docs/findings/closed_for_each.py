"""ERR-006: how often is a channel closed whose consumers time out together?

    python closed_for_each.py amqp://guest:guest@localhost:5672/%2F ...

A client that cannot be notified of cancelled consumers has some consumers on one channel, each of a quorum queue of its
own with a timeout of one second, and each holds a message. All of them time out. Counts the channel.close that come
within four seconds: while the client does not answer, and when it answers each by close-ok at once.

In the last row the client can be notified. It cancels three consumers, settles nothing, and does not answer.
"""

from __future__ import annotations

import time
import uuid

import wire

TIMEOUT, ENOUGH = 1000, 4.0


def closes(url: str, consumers: int, *, answered: bool = True, cancelled: bool = False) -> int:
    """How many channel.close come for the one channel."""
    keeper, client = wire.Connection(url), wire.Connection(url, wire.NOTIFY if cancelled else bytes(4))
    keeper.open(1)
    client.open(1)
    queues = [f"finding-{uuid.uuid4().hex[:12]}" for _ in range(consumers)]
    for number, queue in enumerate(queues):
        keeper.declare(1, queue, "quorum", x_consumer_timeout=TIMEOUT)
        keeper.send(wire.publish(1, queue, "message"))
        client.send(wire.consume(1, queue, f"c{number}"))
        client.wait(wire.DELIVER)
    if cancelled:
        client.send(*(wire.cancel(1, f"c{number}") for number in range(consumers)))
    seen, until = 0, time.monotonic() + ENOUGH
    while (left := until - time.monotonic()) > 0:
        found = client.read(left)
        if found is not None and found[1] == wire.CHANNEL_CLOSE:
            seen += 1
            if answered:
                client.send(wire.method(1, wire.CHANNEL_CLOSE_OK))
    for queue in queues:
        keeper.delete(1, queue)
    keeper.end()
    return seen


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for consumers in (1, 2, 5):
            unanswered, answered = closes(url, consumers, answered=False), closes(url, consumers)
            print(f"  {consumers} consumers: {unanswered} closes unanswered, {answered} if each is answered at once")
        print(f"  3 cancelled consumers: {closes(url, 3, answered=False, cancelled=True)} closes unanswered")


if __name__ == "__main__":
    main()
