"""ROUTE-005: may a key of a topic exchange have several words `#`?

    python many_hashes.py amqp://guest:guest@localhost:5672/%2F ...

A queue is bound to a topic exchange by keys with one to four words `#`, and each answer is printed. The queue and the
exchange are removed in the end.
"""

from __future__ import annotations

import uuid

import wire

KEYS = ("#", "#.a.#", "#.a.#.b.#", "#.#.#", "#.a.#.b.#.c.#")


def answer(url: str, key: str) -> str:
    """What the broker says to a binding by this key."""
    name = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, binder = wire.Connection(url), wire.Connection(url)
    keeper.open(1)
    binder.open(1)
    keeper.declare(1, name, "classic")
    keeper.exchange(1, name, "topic")
    try:
        binder.bind(1, name, name, key)
        return "queue.bind-ok"
    except ConnectionError as error:
        return str(error)
    finally:
        binder.end()
        keeper.delete(1, name)
        keeper.drop(1, name)
        keeper.end()


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for key in KEYS:
            print(f"  {key:16} {answer(url, key)}")


if __name__ == "__main__":
    main()
