"""CNF-004: what becomes of a publish to a quorum queue that another client is deleting?

    python publish_and_delete.py amqp://guest:guest@localhost:5672/%2F ...

One connection deletes a queue, and another one, in confirm mode, publishes to it some milliseconds later. Prints, for
twenty tries each, how often the publish was confirmed, was not within two seconds, and cost the connection.
"""

from __future__ import annotations

import struct
import time
import uuid
from collections import Counter

import wire

NACK = (60, 120)
STEP = 0.0005
"""Each try publishes so many seconds later than the one before."""


def outcome(url: str, queue_type: str, pause: float) -> str:
    """What comes of it on connections of its own."""
    deleting, publishing = wire.Connection(url), wire.Connection(url)
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    for connection in (deleting, publishing):
        connection.open(1)
    try:
        deleting.declare(1, queue, queue_type)
        publishing.send(wire.method(1, wire.CONFIRM, bytes(1)))
        publishing.wait(wire.CONFIRM_OK)
        deleting.send(wire.method(1, wire.DELETE, struct.pack(">H", 0) + wire.short(queue) + bytes(1)))
        time.sleep(pause)
        publishing.send(wire.publish(1, queue, "late"))
        found = publishing.read(timeout=2.0)
        if found is None:
            return "never confirmed"
        if found[1] == wire.CONNECTION_CLOSE:
            return f"connection.close {wire.reason(found[2])}"
        return "confirmed" if found[1] == wire.ACK else "refused" if found[1] == NACK else str(found[1])
    finally:
        deleting.wait(wire.DELETE_OK)
        for connection in (deleting, publishing):
            connection.end()


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for queue_type in ("classic", "quorum"):
            seen = Counter(outcome(url, queue_type, number * STEP) for number in range(20))
            print(f"  {queue_type}: {', '.join(f'{what} in {count}' for what, count in sorted(seen.items()))}")


if __name__ == "__main__":
    main()
