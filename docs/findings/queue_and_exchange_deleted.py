"""ERR-012: what happens when one client deletes a queue while another one deletes exchanges that are bound to it?

    python queue_and_exchange_deleted.py amqp://guest:guest@localhost:5672/%2F ...

A queue is bound to three topic exchanges. One connection deletes the exchanges, another one deletes the queue at about
the same time: each waits a random part of a millisecond. All of this is lawful in any order. Prints how often the
connection that deletes the queue hears what. The same follows on one connection, one channel: there it never fails.
"""

from __future__ import annotations

import random
import time
import uuid
from collections import Counter

import wire

EXCHANGES, PAUSE = 3, 0.001
CASES = (("classic", True, 1500), ("quorum", True, 500), ("classic", False, 1500))
EXCHANGE_DECLARE, EXCHANGE_DECLARE_OK = (40, 10), (40, 11)
EXCHANGE_DELETE, EXCHANGE_DELETE_OK = (40, 20), (40, 21)
BIND, BIND_OK = (50, 20), (50, 21)


def bound(connection: wire.Connection, queue: str, exchange: str) -> None:
    """Declares the exchange and binds the queue to it."""
    kind = bytes(2) + wire.short(exchange) + wire.short("topic") + bytes(1) + wire.table()
    connection.send(wire.method(1, EXCHANGE_DECLARE, kind))
    connection.wait(EXCHANGE_DECLARE_OK)
    binding = bytes(2) + wire.short(queue) + wire.short(exchange) + wire.short("#") + bytes(1) + wire.table()
    connection.send(wire.method(1, BIND, binding))
    connection.wait(BIND_OK)


def outcome(one: wire.Connection, other: wire.Connection, queue_type: str) -> str:
    """What is heard by `one`, which deletes the queue."""
    queue, *exchanges = (f"finding-{uuid.uuid4().hex[:12]}" for _ in range(1 + EXCHANGES))
    one.declare(1, queue, queue_type)
    for exchange in exchanges:
        bound(other, queue, exchange)
    other.send(b"".join(wire.method(1, EXCHANGE_DELETE, bytes(2) + wire.short(x) + bytes(1)) for x in exchanges))
    time.sleep(random.uniform(0, PAUSE))
    one.send(wire.method(1, wire.DELETE, bytes(2) + wire.short(queue) + bytes(1)))
    if one is not other:
        for _ in exchanges:
            other.wait(EXCHANGE_DELETE_OK)
    heard = one.read()
    while heard is not None and heard[1] == EXCHANGE_DELETE_OK:
        heard = one.read()
    if heard is None:
        return "nothing"
    return "delete-ok" if heard[1] == wire.DELETE_OK else wire.closing(heard)


def opened(url: str) -> wire.Connection:
    """A connection with a channel."""
    connection = wire.Connection(url)
    connection.open(1)
    return connection


def heard_in(url: str, queue_type: str, apart: bool, tries: int) -> str:
    """How often what was heard, on two connections or on one channel."""
    seen: Counter[str] = Counter()
    one = opened(url)
    other = opened(url) if apart else one
    for _ in range(tries):
        heard = outcome(one, other, queue_type)
        seen[heard] += 1
        if heard != "delete-ok":
            one = opened(url)
            other = other if apart else one
    return "; ".join(f"{n} x {what}" for what, n in seen.most_common())


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for queue_type, apart, tries in CASES:
            where = "two connections" if apart else "one channel"
            print(f"  {queue_type}, on {where}: {heard_in(url, queue_type, apart, tries)}")


if __name__ == "__main__":
    main()
