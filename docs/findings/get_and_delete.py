"""What does a client hear that gets from a queue while somebody else deletes it?

    python get_and_delete.py amqp://guest:guest@localhost:5672/%2F ...

Gets leave one after the other, amid them the deletion on another connection, and one get when that is done. In the last
case the queue is declared again together with its deletion. Each get should be answered with a message or get-empty, or
its channel should be closed with 404.
"""

from __future__ import annotations

import uuid
from collections import Counter

import wire

TRIES, EARLY, GETS = 100, 3, 20
CASES = (("classic", False), ("quorum", False), ("quorum", True))
ANSWERS = {wire.GET_OK: "get-ok", wire.GET_EMPTY: "get-empty"}


def deletion(queue: str, queue_type: str, anew: bool) -> bytes:
    """queue.delete, and the same queue once more."""
    declared = bytes(2) + wire.short(queue) + b"\2" + wire.table(**{"x-queue-type": queue_type})
    deleted = wire.method(1, wire.DELETE, bytes(2) + wire.short(queue) + bytes(1))
    return deleted + wire.method(1, wire.DECLARE, declared) if anew else deleted


def outcome(url: str, deleter: wire.Connection, queue_type: str, anew: bool) -> str:
    """What ended the gets, or how the last one was answered."""
    queue, connection = f"finding-{uuid.uuid4().hex[:12]}", wire.Connection(url)
    try:
        connection.open(1)
        connection.declare(1, queue, queue_type)
        connection.send(wire.get(1, queue, no_ack=True) * EARLY)
        deleter.send(deletion(queue, queue_type, anew))
        for _ in range(GETS):
            connection.send(wire.get(1, queue, no_ack=True))
        deleter.wait(wire.DELETE_OK)
        if anew:
            deleter.wait(wire.DECLARE_OK)
        connection.send(wire.get(1, queue, no_ack=True))
        return ending(connection)
    finally:
        connection.end()
        if anew:
            deleter.delete(1, queue)


def ending(connection: wire.Connection) -> str:
    """How the gets ended."""
    last = "nothing"
    for _ in range(EARLY + GETS + 1):
        found = connection.read(2)
        if found is not None and found[1] in (wire.CONNECTION_CLOSE, wire.CHANNEL_CLOSE):
            who = "connection" if found[1] == wire.CONNECTION_CLOSE else "channel"
            return f"{who}.close {wire.reason(found[2]).split(' - ')[0]}"
        last = ANSWERS.get(found[1], last) if found is not None else "no answer"
    return last


def main() -> None:
    for url in wire.urls():
        deleter = wire.Connection(url)
        deleter.open(1)
        print(deleter.broker)
        for queue_type, anew in CASES:
            seen = Counter(outcome(url, deleter, queue_type, anew) for _ in range(TRIES))
            name = f"{queue_type}, declared again at once" if anew else queue_type
            print(f"  {name}: " + "; ".join(f"{n} x {what}" for what, n in seen.most_common()))


if __name__ == "__main__":
    main()
