"""QOS-014: does basic.get find a message while every limit of its channel is reached?

    python get_under_a_limit.py amqp://guest:guest@localhost:5672/%2F ...

A consumer holds as many of ten messages as it may, by a limit of its own or by one for its channel. Then the channel
gets from the same queue twice, which should bring two messages more.
"""

from __future__ import annotations

import uuid

import wire

MESSAGES = 10
QUIET = 1.0


def found(url: str, queue_type: str, shared: bool) -> str:
    """What the consumer has, and what each get brings."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, receiver = wire.Connection(url), wire.Connection(url)
    keeper.open(1)
    receiver.open(1)
    keeper.declare(1, queue, queue_type)
    try:
        keeper.fill(1, queue, [str(number) for number in range(MESSAGES)])
        receiver.send(wire.qos(1, 2, shared))
        receiver.wait(wire.QOS_OK)
        receiver.send(wire.consume(1, queue))
        held = 0
        while (frame := receiver.read(QUIET)) is not None:
            held += frame[1] == wire.DELIVER
            if frame[1] in (wire.CHANNEL_CLOSE, wire.CONNECTION_CLOSE):
                return wire.closing(frame)
        gets = [receiver.take(1, queue) for _ in range(2)]
        return f"{held} delivered, then " + ", ".join("get-empty" if one is None else f"get-ok {one}" for one in gets)
    finally:
        receiver.send(wire.close(0))
        while receiver.read() is not None:
            pass
        receiver.end()
        keeper.delete(1, queue)
        keeper.end()


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for queue_type in ("classic", "quorum"):
            for shared in (False, True):
                whose = "its channel" if shared else "the consumer"
                print(f"  {queue_type} queue, limit of {whose}: {found(url, queue_type, shared)}")


if __name__ == "__main__":
    main()
