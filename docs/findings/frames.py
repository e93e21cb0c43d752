"""FRAME: what does a broker say to frames that may not be where they are?

    python frames.py amqp://guest:guest@localhost:5672/%2F ...

Each is sent on a connection of its own, with channel 1 open. By the texts each costs the connection, with one of the
codes 501, 503, 504 and 505; what is printed is what comes within two seconds. Then one octet more is sent than a
content header announced, followed by a channel.flow: a broker that waits for more body answers nothing any more.
"""

from __future__ import annotations

import struct

import wire

PUBLISH = wire.method(1, wire.PUBLISH, bytes(2) + wire.short("amq.fanout") + wire.short("") + b"\x00")
FLOW = wire.method(1, wire.FLOW, b"\x01")


def header(channel: int = 1, class_id: int = 60, weight: int = 0, flags: int = 0, more: bytes = b"") -> bytes:
    """A content header for one octet, without properties unless these are in `flags` and `more`."""
    return wire.frame(2, channel, struct.pack(">HHQH", class_id, weight, 1, flags) + more)


VECTORS = {
    "a header where no content is due": header(),
    "a body where no content is due": wire.frame(3, 1, b"x"),
    "a method instead of the header": PUBLISH + FLOW,
    "a method instead of the body": PUBLISH + header() + FLOW,
    "a publish instead of the header": PUBLISH + PUBLISH,
    "a publish instead of the body": PUBLISH + header() + PUBLISH,
    "a second header instead of the body": PUBLISH + header() + header(),
    "a body instead of the header": PUBLISH + wire.frame(3, 1, b"x"),
    "two octets of body where one was announced": PUBLISH + header() + wire.frame(3, 1, b"xy"),
    "the same, and then channel.flow": PUBLISH + header() + wire.frame(3, 1, b"xy") + FLOW,
    "a connection.close on channel 1": wire.method(1, wire.CONNECTION_CLOSE, bytes(2) + wire.short("done") + bytes(4)),
    "a method of class 99": wire.frame(1, 1, struct.pack(">HH", 99, 10)),
    "a method 199 of class 60": wire.frame(1, 1, struct.pack(">HH", 60, 199)),
    "a header of class 50 after basic.publish": PUBLISH + header(class_id=50),
    "a header on channel 0": header(channel=0),
    "a body on channel 0": wire.frame(3, 0, b"x"),
    "a header of weight 1": PUBLISH + header(weight=1),
    "a property that is not there, and the body": PUBLISH + header(flags=0x8000) + wire.frame(3, 1, b"x"),
    "octets that are no property, and the body": PUBLISH + header(more=b"\x03odd") + wire.frame(3, 1, b"x"),
}


def said(url: str, sent: bytes) -> str:
    """What comes of it, frame by frame, to the first close or to the end of the patience."""
    connection = wire.Connection(url)
    connection.open(1)
    try:
        connection.send(sent)
        found = connection.read(2.0)
        if found is None:
            return "nothing"
        if found[1] in (wire.CONNECTION_CLOSE, wire.CHANNEL_CLOSE):
            return wire.closing(found)
        return f"method {found[1]} on channel {found[0]}"
    except (ConnectionError, EOFError, OSError):
        return "the end of the connection"
    finally:
        connection.end(reset=True)


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for what, sent in VECTORS.items():
            print(f"  {what}: {said(url, sent)}")


if __name__ == "__main__":
    main()
