"""CONTENT-011: does a broker take floats that are infinite, or no number, among the headers of a publish?

    python floats.py amqp://guest:guest@localhost:5672/%2F ...

Each is published on a connection of its own, to a queue that nobody has, followed by channel.flow: flow-ok shows that
the publish was taken.
"""

from __future__ import annotations

import math
import struct

import wire

PUBLISH = wire.method(1, wire.PUBLISH, bytes(2) + wire.short("amq.fanout") + wire.short("") + b"\x00")
FLOW = wire.method(1, wire.FLOW, b"\x01")
HEADERS = 1 << 13
VALUES = {"one half": 0.5, "infinity": math.inf, "minus infinity": -math.inf, "no number": math.nan}


def header(form: str, value: float) -> bytes:
    """A content header for an empty body, with one float among its headers."""
    field = b"\x01x" + form.encode() + struct.pack(f">{form}", value)
    properties = struct.pack(">I", len(field)) + field
    return wire.frame(2, 1, struct.pack(">HHQH", 60, 0, 0, HEADERS) + properties)


def said(url: str, sent: bytes) -> str:
    """What comes of it."""
    connection = wire.Connection(url)
    connection.open(1)
    try:
        connection.send(sent)
        found = connection.read(2.0)
        if found is None:
            return "nothing"
        if found[1] in (wire.CONNECTION_CLOSE, wire.CHANNEL_CLOSE):
            return wire.closing(found)
        return "taken"
    except (ConnectionError, EOFError, OSError):
        return "the end of the connection"
    finally:
        connection.end(reset=True)


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for what, value in VALUES.items():
            for form, size in (("f", 32), ("d", 64)):
                print(f"  {what}, {size} bits: {said(url, PUBLISH + header(form, value) + FLOW)}")


if __name__ == "__main__":
    main()
