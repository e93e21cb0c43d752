"""QOS-018: does a message that is returned once too often, and therefore dropped, free more than its own slot?

    python dropped_returns.py amqp://guest:guest@localhost:5672/%2F ...

A consumer with a limit of 1 has the only message of a quorum queue whose delivery limit is 1, and rejects it until it
does not come back. Then five messages are published. No more than one of them may be outstanding.
"""

from __future__ import annotations

import uuid

import wire

QUIET = 0.5


def outstanding(url: str, returns: int) -> int:
    """How many deliveries the consumer holds, after so many messages were returned until they were dropped."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, receiver = wire.Connection(url), wire.Connection(url)
    keeper.open(1)
    receiver.open(1)
    keeper.declare(1, queue, "quorum", x_delivery_limit=1)
    try:
        keeper.send(wire.method(1, wire.CONFIRM, bytes(1)))
        keeper.wait(wire.CONFIRM_OK)
        receiver.send(wire.qos(1, 1), wire.consume(1, queue))
        receiver.wait(wire.CONSUME_OK)
        tag = 0
        for _ in range(returns):
            keeper.send(wire.publish(1, queue, "doomed"))
            while deliveries(receiver):
                tag += 1
                receiver.send(wire.reject(1, tag))
        keeper.send(*(wire.publish(1, queue, "fresh") for _ in range(5)))
        return deliveries(receiver)
    finally:
        receiver.end()
        keeper.delete(1, queue)
        keeper.end()


def deliveries(connection: wire.Connection) -> int:
    """How many come until nothing does for a while."""
    seen = 0
    while (found := connection.read(QUIET)) is not None:
        seen += found[1] == wire.DELIVER
    return seen


def main() -> None:
    for url in wire.urls():
        shown = ", ".join(f"{outstanding(url, returns)} after {returns} dropped" for returns in (0, 1, 3))
        print(f"{wire.Connection(url).broker}: {shown}")


if __name__ == "__main__":
    main()
