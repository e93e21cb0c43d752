"""CNF-019: how does a broker refuse a publish whose expiration is no number?

    python malformed_expiration.py amqp://guest:guest@localhost:5672/%2F ...

Twice a publish closes the channel: one to an exchange that does not exist, with 404, and one with the expiration
"soon", with 406. The close names what failed: class 60, method 40, in both.
"""

from __future__ import annotations

import struct
import uuid

import wire


def expiring(channel: int, queue: str, expiration: str) -> bytes:
    """A publish with this expiration and the body 1."""
    start = wire.method(channel, wire.PUBLISH, bytes(2) + wire.short("") + wire.short(queue) + b"\x00")
    header = struct.pack(">HHQH", 60, 0, 1, 0x0100) + wire.short(expiration)
    return start + wire.frame(2, channel, header) + wire.frame(3, channel, b"1")


def refused(url: str, sent: bytes) -> str:
    connection = wire.Connection(url)
    connection.open(1)
    try:
        connection.send(sent)
        found = connection.read(3.0)
        return wire.closing(found) if found else "nothing"
    finally:
        connection.end()


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        name = f"finding-{uuid.uuid4().hex[:12]}"
        print(f"  to an exchange that does not exist: {refused(url, wire.publish(1, '', '1', exchange=name))}")
        print(f"  with the expiration 'soon': {refused(url, expiring(1, name, 'soon'))}")


if __name__ == "__main__":
    main()
