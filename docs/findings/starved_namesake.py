"""CAN-013: is a consumer served whose tag belonged to a cancelled one that still holds deliveries of the queue?

    python starved_namesake.py amqp://guest:guest@localhost:5672/%2F ...

A consumer without a limit takes two messages and keeps them. It is cancelled and started again, under its tag or
another. Then a message is published. It must be delivered to the new consumer, which has room. Once more with a limit
of two for each: the new consumer has room as well, and the first message is settled at last.
"""

from __future__ import annotations

import uuid

import wire

TAG, OTHER, MISSING = "worker", "another", "does not come"


def comes(url: str, kind: str, tag: str, limit: int) -> str:
    """Is the third message delivered? With a limit, the first is settled if not."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, receiver = wire.Connection(url), wire.Connection(url)
    keeper.open(1)
    keeper.open(2)
    receiver.open(1)
    keeper.declare(1, queue, kind)
    try:
        keeper.fill(1, queue, ["1", "2"])
        receiver.send(wire.qos(1, limit), wire.consume(1, queue, TAG))
        for _ in range(2):
            receiver.wait(wire.DELIVER)
        receiver.send(wire.cancel(1, TAG))
        receiver.wait(wire.CANCEL_OK)
        receiver.send(wire.consume(1, queue, tag))
        receiver.wait(wire.CONSUME_OK)
        keeper.fill(2, queue, ["3"])
        found = _outcome(receiver)
        if limit and found == MISSING:
            receiver.send(wire.ack(1, 1))
            found = f"{found}; after an ack: {_outcome(receiver)}"
        return found
    finally:
        receiver.end()
        keeper.delete(1, queue)
        keeper.end()


def _outcome(receiver: wire.Connection) -> str:
    while (found := receiver.read(2.0)) is not None:
        if found[1] in (wire.CHANNEL_CLOSE, wire.CONNECTION_CLOSE):
            return wire.closing(found)
        if found[1] == wire.DELIVER:
            return "comes"
    return MISSING


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for kind in ("classic", "quorum"):
            for tag, said in ((TAG, "its tag"), (OTHER, "another tag")):
                for limit in (0, 2):
                    found = comes(url, kind, tag, limit)
                    print(f"  {kind}, started again under {said}, limit {limit or 'none'}: {found}")


if __name__ == "__main__":
    main()
