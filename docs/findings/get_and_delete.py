"""What does a client hear that gets from a queue while somebody else deletes it?

    python get_and_delete.py amqp://guest:guest@localhost:5672/%2F ...

Gets leave one after the other, amid them the deletion on another connection, and one get when that is done. Each get
should be answered with a message or get-empty, or its channel should be closed with 404.
"""

from __future__ import annotations

import uuid
from collections import Counter

import wire

TRIES, GETS = 100, 20
ANSWERS = {wire.GET_OK: "get-ok", wire.GET_EMPTY: "get-empty"}


def outcome(url: str, deleter: wire.Connection, queue_type: str) -> str:
    """How the last get that came to an end was answered."""
    queue, connection = f"finding-{uuid.uuid4().hex[:12]}", wire.Connection(url)
    try:
        connection.open(1)
        connection.declare(1, queue, queue_type)
        connection.send(wire.get(1, queue, no_ack=True) * 3)
        deleter.send(wire.method(1, wire.DELETE, bytes(2) + wire.short(queue) + bytes(1)))
        for _ in range(GETS):
            connection.send(wire.get(1, queue, no_ack=True))
        deleter.wait(wire.DELETE_OK)
        connection.send(wire.get(1, queue, no_ack=True))
        last = "nothing"
        while (found := connection.read(2)) is not None:
            if found[1] in (wire.CONNECTION_CLOSE, wire.CHANNEL_CLOSE):
                who = "connection" if found[1] == wire.CONNECTION_CLOSE else "channel"
                return f"{who}.close {wire.reason(found[2]).split(' - ')[0]}"
            last = ANSWERS.get(found[1], last)
        return last
    finally:
        connection.end()


def main() -> None:
    for url in wire.urls():
        deleter = wire.Connection(url)
        deleter.open(1)
        print(deleter.broker)
        for queue_type in ("classic", "quorum"):
            seen = Counter(outcome(url, deleter, queue_type) for _ in range(TRIES))
            print(f"  {queue_type}: " + "; ".join(f"{n} x {what}" for what, n in seen.most_common()))


if __name__ == "__main__":
    main()
