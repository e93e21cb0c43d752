"""TX: what becomes of a method that is sent before tx.commit-ok has come?

    python commit_then_more.py amqp://guest:guest@localhost:5672/%2F ...

On a transactional channel a publish, tx.commit, and one further method leave in one TCP write. Prints, for ten tries
each, how often all was answered and how often the connection was closed.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable

import wire

TX_SELECT, TX_SELECT_OK, TX_COMMIT, TX_COMMIT_OK = (90, 10), (90, 11), (90, 20), (90, 21)
MORE: dict[str, Callable[[str], bytes]] = {
    "channel.flow": lambda queue: wire.method(1, wire.FLOW, b"\x01"),
    "basic.publish": lambda queue: wire.publish(1, queue, "more") + wire.method(1, wire.FLOW, b"\x01"),
}


def outcome(url: str, queue: str, more: bytes) -> str:
    """What comes of it on a connection of its own."""
    connection = wire.Connection(url)
    try:
        connection.open(1)
        connection.send(wire.method(1, TX_SELECT))
        connection.wait(TX_SELECT_OK)
        connection.send(wire.publish(1, queue, "first"), wire.method(1, TX_COMMIT), more)
        connection.wait(TX_COMMIT_OK)
        connection.wait(wire.FLOW_OK)
        return "answered"
    except ConnectionError as closed:
        return str(closed)
    finally:
        connection.end()


def main() -> None:
    for url in wire.urls():
        keeper, queue = wire.Connection(url), f"finding-{uuid.uuid4().hex[:12]}"
        print(keeper.broker)
        keeper.open(1)
        for queue_type in ("classic", "quorum"):
            keeper.declare(1, queue, queue_type)
            for name, more in MORE.items():
                seen = Counter(outcome(url, queue, more(queue)) for _ in range(10))
                print(f"  {queue_type}, {name}: {', '.join(f'{what} in {count}' for what, count in seen.items())}")
            keeper.delete(1, queue)
        keeper.end()


if __name__ == "__main__":
    main()
