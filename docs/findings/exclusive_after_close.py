"""QUEUE-008: is an exclusive queue gone when the close of its connection is answered?

    python exclusive_after_close.py amqp://guest:guest@localhost:5672/%2F ...

One connection declares an exclusive queue and closes. When connection.close-ok is there, another connection looks for
the queue by a passive declaration, again and again for half a second. Then the client hangs up, and the other looks
again.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter

import wire

ROUNDS, PATIENCE, PAUSE = 20, 0.5, 0.01
CLOSE_OK, DECLARE, DECLARE_OK, CHANNEL_CLOSE_OK = (10, 51), (50, 10), (50, 11), (20, 41)
PASSIVE, EXCLUSIVE = 1, 4


def declaration(queue: str, flags: int) -> bytes:
    """queue.declare with these flags, and no arguments."""
    return wire.method(1, DECLARE, bytes(2) + wire.short(queue) + bytes([flags]) + bytes(4))


def gone(other: wire.Connection, queue: str) -> bool:
    """Is the queue gone before patience ends?"""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        other.open(1)
        other.send(declaration(queue, PASSIVE))
        answer = other.wait(DECLARE_OK, wire.CHANNEL_CLOSE)
        other.send(wire.method(1, CHANNEL_CLOSE_OK) if answer[1] == wire.CHANNEL_CLOSE else wire.close(1))
        if answer[1] == wire.CHANNEL_CLOSE and wire.reason(answer[2]).startswith("404"):
            return True
        if answer[1] == DECLARE_OK:
            other.wait(CHANNEL_CLOSE_OK)
        time.sleep(PAUSE)
    return False


def examine(url: str, other: wire.Connection) -> str:
    """When the queue was gone."""
    owner, queue = wire.Connection(url), f"finding-{uuid.uuid4().hex[:12]}"
    owner.open(1)
    owner.send(declaration(queue, EXCLUSIVE))
    owner.wait(DECLARE_OK)
    owner.send(wire.close(0))
    owner.wait(CLOSE_OK)
    if gone(other, queue):
        return "gone after close-ok"
    owner.end()
    return "gone when the client had hung up" if gone(other, queue) else "never gone"


def main() -> None:
    for url in wire.urls():
        other = wire.Connection(url)
        print(other.broker)
        for what, often in Counter(examine(url, other) for _ in range(ROUNDS)).most_common():
            print(f"  {what}: {often} of {ROUNDS}")
        other.end()


if __name__ == "__main__":
    main()
