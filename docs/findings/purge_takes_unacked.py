"""QUEUE-019: what becomes of a message that a client holds while its queue is purged?

    python purge_takes_unacked.py amqp://guest:guest@localhost:5672/%2F ...

A queue has two messages. A client gets the first and keeps it. The queue is purged, and then the client gives the
message back with basic.nack. What does the purge count, and is the message there?
"""

from __future__ import annotations

import uuid

import wire

PURGE_OK = (50, 31)


def outcome(url: str) -> tuple[int, str]:
    """How many the purge says it has removed; and what a get finds in the end."""
    connection, queue = wire.Connection(url), f"finding-{uuid.uuid4().hex[:12]}"
    connection.open(1)
    connection.open(2)
    connection.send(wire.method(1, wire.DECLARE, bytes(2) + wire.short(queue) + bytes(1) + wire.table()))
    connection.wait(wire.DECLARE_OK)
    connection.fill(1, queue, ["first", "second"])
    connection.take(2, queue)
    connection.send(wire.method(1, (50, 30), bytes(2) + wire.short(queue) + bytes(1)))
    removed = int.from_bytes(connection.wait(PURGE_OK)[2], "big")
    connection.send(wire.nack(2, 1))
    connection.open(3)
    connection.send(wire.get(2, queue, no_ack=True))
    found = connection.wait(wire.GET_OK, wire.GET_EMPTY)
    connection.delete(3, queue)
    connection.end()
    return removed, "it is there" if found[1] == wire.GET_OK else "it is gone"


def main() -> None:
    for url in wire.urls():
        connection = wire.Connection(url)
        print(connection.broker)
        connection.end()
        removed, found = outcome(url)
        print(f"  purge-ok says {removed}, and when it is given back {found}")


if __name__ == "__main__":
    main()
