"""CAN-013: is a consumer served whose tag belonged to a cancelled one that still holds deliveries of the queue?

    python starved_namesake.py amqp://guest:guest@localhost:5672/%2F ...

A consumer without a limit takes two messages and keeps them. It is cancelled and started again, under its tag or
another. Then a message is published. It must be delivered to the new consumer, which has room.
"""

from __future__ import annotations

import uuid

import wire

TAG, OTHER = "worker", "another"


def comes(url: str, kind: str, tag: str) -> str:
    """Is the third message delivered?"""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, receiver = wire.Connection(url), wire.Connection(url)
    keeper.open(1)
    keeper.open(2)
    receiver.open(1)
    keeper.declare(1, queue, kind)
    try:
        keeper.fill(1, queue, ["1", "2"])
        receiver.send(wire.consume(1, queue, TAG))
        for _ in range(2):
            receiver.wait(wire.DELIVER)
        receiver.send(wire.cancel(1, TAG))
        receiver.wait(wire.CANCEL_OK)
        receiver.send(wire.consume(1, queue, tag))
        receiver.wait(wire.CONSUME_OK)
        keeper.fill(2, queue, ["3"])
        return _outcome(receiver)
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
    return "does not come"


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for kind in ("classic", "quorum"):
            for tag, said in ((TAG, "its tag"), (OTHER, "another tag")):
                print(f"  {kind}, started again under {said}: {comes(url, kind, tag)}")


if __name__ == "__main__":
    main()
