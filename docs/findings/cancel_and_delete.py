"""What happens when a client cancels a consumer while somebody deletes its queue?

    python cancel_and_delete.py amqp://guest:guest@localhost:5672/%2F ...

The guide lets the two cross: one cancel-ok, and at most one notification. Once another connection deletes the queue,
once the consumer's own channel does, just before it cancels. Then a client answers a notification with cancel-ok.
"""

from __future__ import annotations

import uuid
from collections import Counter

import wire

TRIES = 20
NAMES = {wire.CANCEL_OK: "cancel-ok", wire.CANCEL: "notification"}


def outcome(url: str, deleter: wire.Connection, queue_type: str, own: bool) -> str:
    """What the consumer's connection hears of the end of its consumer."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    connection = wire.Connection(url, wire.NOTIFY)
    try:
        connection.open(1)
        connection.declare(1, queue, queue_type)
        connection.send(wire.consume(1, queue), wire.method(1, wire.FLOW, b"\x01"))
        connection.wait(wire.FLOW_OK)
        delete = wire.method(1, wire.DELETE, bytes(2) + wire.short(queue) + bytes(1))
        if own:
            connection.send(delete, wire.cancel(1))
        else:
            connection.send(wire.cancel(1))
            deleter.send(delete)
            deleter.wait(wire.DELETE_OK)
        return " ".join(answers(connection)) or "nothing"
    finally:
        connection.end()


def answers(connection: wire.Connection) -> list[str]:
    seen: list[str] = []
    while (found := connection.read(0.2)) is not None:
        if found[1] in (wire.CONNECTION_CLOSE, wire.CHANNEL_CLOSE):
            return [*seen, wire.reason(found[2]).split(" - ")[0]]
        if found[1] in NAMES:
            seen.append(NAMES[found[1]])
    return seen


def answered(url: str, queue_type: str) -> str:
    """What becomes of a client that sends cancel-ok for the notification."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    connection, deleter = wire.Connection(url, wire.NOTIFY), wire.Connection(url)
    try:
        connection.open(1)
        deleter.open(1)
        connection.declare(1, queue, queue_type)
        connection.send(wire.consume(1, queue), wire.method(1, wire.FLOW, b"\x01"))
        connection.wait(wire.FLOW_OK)
        deleter.delete(1, queue)
        connection.wait(wire.CANCEL)
        connection.send(wire.method(1, wire.CANCEL_OK, wire.short("c")))
        return " ".join(answers(connection)) or "nothing"
    finally:
        connection.end()
        deleter.end()


def main() -> None:
    for url in wire.urls():
        deleter = wire.Connection(url)
        deleter.open(1)
        print(deleter.broker)
        for queue_type in ("classic", "quorum"):
            for own in (False, True):
                seen = Counter(outcome(url, deleter, queue_type, own) for _ in range(TRIES))
                who = "deleted by its own channel" if own else "deleted by another connection"
                print(f"  {queue_type}, {who}: " + "; ".join(f"{n} x {what}" for what, n in seen.most_common()))
            print(f"  {queue_type}, a notification answered: {answered(url, queue_type)}")


if __name__ == "__main__":
    main()
