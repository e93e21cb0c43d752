"""CAN-003: does a consumer end with its queue, if another queue of that name is declared at once?

    python afterlife.py amqp://guest:guest@localhost:5672/%2F ...

A client consumes from a queue, and its channel is busy with publishes that lead nowhere. Another client deletes the
queue, declares it anew and publishes to it. Prints how often, in thirty tries, the consumer of the deleted queue was
sent the new queue's message, and how often it was told that it has ended.
"""

from __future__ import annotations

import uuid
from collections import Counter

import wire

BUSY = 3000


def fate(url: str, queue_type: str) -> str:
    """What the consumer of the deleted queue gets to see."""
    queue, client, other = f"finding-{uuid.uuid4().hex[:12]}", wire.Connection(url, wire.NOTIFY), wire.Connection(url)
    for connection in (client, other):
        connection.open(1)
    other.declare(1, queue, queue_type)
    try:
        client.send(wire.consume(1, queue))
        client.wait(wire.CONSUME_OK)
        client.send(*(wire.publish(1, "nowhere", "busy") for _ in range(BUSY)))
        other.delete(1, queue)
        other.declare(1, queue, queue_type)
        other.fill(1, queue, ["new"])
        client.send(wire.method(1, wire.FLOW, b"\x01"))
        seen = set()
        while (found := client.read(timeout=0.3)) is not None:
            seen |= {found[1]} & {wire.DELIVER, wire.CANCEL}
        said = {wire.DELIVER: "served by the new queue", wire.CANCEL: "told that it has ended"}
        return " and ".join(said[one] for one in sorted(seen)) or "neither"
    finally:
        other.delete(1, queue)
        for connection in (client, other):
            connection.end()


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for queue_type in ("classic", "quorum"):
            seen = Counter(fate(url, queue_type) for _ in range(30))
            print(f"  {queue_type}: {', '.join(f'{what} in {count}' for what, count in sorted(seen.items()))}")


if __name__ == "__main__":
    main()
