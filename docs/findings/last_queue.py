"""QUEUE-015, QUEUE-028, BIND-010: for which queue does the empty name stand?

    python last_queue.py amqp://guest:guest@localhost:5672/%2F ...

Channel 1 declares a queue, which then holds one message. A method with an empty queue name follows: on channel 1, on
channel 2, which has declared none, on a channel of another connection, or on channel 1 when it was closed and opened
again (CHAN-007), or when channel 2 has declared another queue.
"""

from __future__ import annotations

import uuid

import wire

DELETE = wire.method(2, wire.DELETE, bytes(2) + wire.short("") + bytes(1))
UNBIND = wire.method(2, (50, 50), bytes(2) + wire.short("") + wire.short("amq.direct") + wire.short("k") + wire.table())
PURGE = wire.method(2, (50, 30), bytes(2) + wire.short("") + bytes(1))
SENT = {
    "get on the same channel": (False, wire.get(1, "")),
    "get on another channel": (False, wire.get(2, "")),
    "purge on another channel": (False, PURGE),
    "delete on another channel": (False, DELETE),
    "unbind on another channel": (False, UNBIND),
    "get on another connection": (True, wire.get(2, "")),
    "get on the same channel, opened again": (False, wire.get(1, "")),
    "get on the same channel, after another one's declaration": (False, wire.get(1, "")),
}


NAMES = {
    wire.GET_OK: "the message",
    wire.GET_EMPTY: "get-empty",
    wire.DELETE_OK: "delete-ok",
    (50, 31): "purge-ok",
    (50, 51): "unbind-ok",
}


def outcome(url: str, name: str, apart: bool, sent: bytes) -> str:
    """What comes first in answer."""
    first = wire.Connection(url)
    user, queue = wire.Connection(url) if apart else first, f"finding-{uuid.uuid4().hex[:12]}"
    first.open(1)
    user.open(2)
    first.declare(1, queue, "classic")
    first.fill(1, queue, ["1"])
    if name.endswith("again"):
        first.send(wire.close(1))
        first.wait(wire.CHANNEL_CLOSE_OK)
        first.open(1)
    if name.endswith("declaration"):
        first.declare(2, f"{queue}-other", "classic")
    user.send(sent)
    found = user.read(2)
    first.open(3)
    first.delete(3, queue)
    first.delete(3, f"{queue}-other")
    for one in {first, user}:
        one.end()
    if found is None:
        return "nothing"
    if found[1] == wire.CHANNEL_CLOSE:
        return f"channel.close {wire.reason(found[2]).split(' - ')[0]}"
    return NAMES.get(found[1], str(found[1]))


def main() -> None:
    for url in wire.urls():
        connection = wire.Connection(url)
        print(connection.broker)
        connection.end()
        for name, (apart, sent) in SENT.items():
            print(f"  {name}: {outcome(url, name, apart, sent)}")


if __name__ == "__main__":
    main()
