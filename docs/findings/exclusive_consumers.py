"""Does a queue keep an exclusive consumer apart from others?

    python exclusive_consumers.py amqp://guest:guest@localhost:5672/%2F ...

A consumer is there, and a second one is asked for on another connection; one of the two is exclusive, or both are. The
specification wants the second refused with 403 (access-refused).
"""

from __future__ import annotations

import uuid

import wire

EXCLUSIVE = 4
CASES = (("plain", "exclusive"), ("exclusive", "plain"), ("exclusive", "exclusive"))


def consume(queue: str, kind: str) -> bytes:
    flags = bytes([EXCLUSIVE if kind == "exclusive" else 0])
    return wire.method(1, wire.CONSUME, bytes(2) + wire.short(queue) + wire.short(kind) + flags + wire.table())


def second(url: str, queue_type: str, first: str, then: str) -> str:
    """What the second consumer is told."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    holder, other = wire.Connection(url), wire.Connection(url)
    try:
        holder.open(1)
        other.open(1)
        holder.declare(1, queue, queue_type)
        holder.send(consume(queue, first))
        holder.wait(wire.CONSUME_OK)
        other.send(consume(queue, then))
        while (found := other.read(2)) is not None:
            if found[1] == wire.CONSUME_OK:
                return "consume-ok"
            if found[1] in (wire.CHANNEL_CLOSE, wire.CONNECTION_CLOSE):
                return wire.reason(found[2]).split(" - ")[0]
        return "nothing"
    finally:
        other.end()
        holder.delete(1, queue)
        holder.end()


def main() -> None:
    for url in wire.urls():
        probe = wire.Connection(url)
        print(probe.broker)
        probe.end()
        for queue_type in ("classic", "quorum"):
            for first, then in CASES:
                print(f"  {queue_type}, {first}, then {then}: {second(url, queue_type, first, then)}")


if __name__ == "__main__":
    main()
