"""CAN-001, CAN-004: who is told that a consumer ends with its queue?

    python notice_for_all.py amqp://guest:guest@localhost:5672/%2F ...

Only a client whose capabilities hold consumer_cancel_notify as boolean true should get basic.cancel. Each client below
says something else of it; its queue is deleted by another connection, then its channel is used.
"""

from __future__ import annotations

import struct
import uuid

import wire


def announced(value: bytes) -> bytes:
    """Client properties with the capability set to this."""
    entry = wire.short("consumer_cancel_notify") + value
    entry = wire.short("capabilities") + b"F" + struct.pack(">I", len(entry)) + entry
    return struct.pack(">I", len(entry)) + entry


CLIENTS = {
    "true": announced(b"t\x01"),
    "false": announced(b"t\x00"),
    "the number 1": announced(b"I" + struct.pack(">i", 1)),
    "the word true": announced(b"S" + struct.pack(">I", 4) + b"true"),
    "nothing": bytes(4),
}


def told(url: str, properties: bytes) -> str:
    """What the client hears, and whether its channel goes on."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, client = wire.Connection(url), wire.Connection(url, properties)
    keeper.open(1)
    client.open(1)
    keeper.declare(1, queue, "classic")
    try:
        client.send(wire.consume(1, queue))
        client.wait(wire.CONSUME_OK)
        keeper.delete(1, queue)
        notices = 0
        while (found := client.read(1.0)) is not None:
            if found[1] != wire.CANCEL:
                return wire.closing(found)
            notices += 1
        client.send(wire.method(1, wire.FLOW, b"\x01"))
        client.wait(wire.FLOW_OK)
        return f"{notices} x basic.cancel, the channel goes on" if notices else "nothing, the channel goes on"
    finally:
        keeper.end()
        client.end()


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for name, properties in CLIENTS.items():
            print(f"  a client that announces {name} hears: {told(url, properties)}")


if __name__ == "__main__":
    main()
