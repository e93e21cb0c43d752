"""DRT-002, DRT-004, DRT-007 and DRT-009: requesters, and the addresses to which replies go.

    python replies.py amqp://guest:guest@localhost:5672/%2F ...

A requester consumes from amq.rabbitmq.reply-to. Its requests name that in reply-to, and are delivered with an address
instead. What is published to the address comes to the requester.
"""

from __future__ import annotations

import struct

import wire

REPLIES = "amq.rabbitmq.reply-to"
ASKED, OTHER = "findings.replies", "findings.replies.other"


def request(channel: int, queue: str) -> bytes:
    """A publish without a body that asks for a reply."""
    start = wire.method(channel, wire.PUBLISH, bytes(2) + wire.short("") + wire.short(queue) + bytes(1))
    return start + wire.frame(2, channel, struct.pack(">HHQH", 60, 0, 0, 0x0200) + wire.short(REPLIES))


def address(connection: wire.Connection, queue: str) -> str:
    """Asks for a reply, and reads the address that the request carries."""
    connection.declare(1, queue, "classic")
    connection.send(request(1, queue), wire.get(1, queue, no_ack=True))
    connection.wait(wire.GET_OK)
    header = connection.read()
    connection.delete(1, queue)
    assert header is not None
    return header[2][15 : 15 + header[2][14]].decode()


def requester(url: str, tag: str) -> wire.Connection:
    """A connection that takes replies on its channel 1."""
    connection = wire.Connection(url)
    connection.open(1)
    connection.send(wire.consume(1, REPLIES, tag, no_ack=True))
    connection.wait(wire.CONSUME_OK)
    return connection


def second(url: str) -> str:
    """What comes of a second requester on the channel."""
    connection = requester(url, "a")
    connection.send(wire.consume(1, REPLIES, "b", no_ack=True))
    return outcome(connection)


def outcome(connection: wire.Connection) -> str:
    """The next method, in words."""
    found = connection.read()
    connection.end()
    if found is None:
        return "nothing"
    if found[1] in (wire.CHANNEL_CLOSE, wire.CONNECTION_CLOSE):
        return wire.closing(found)
    return {wire.CONSUME_OK: "consume-ok", wire.DECLARE_OK: "declare-ok"}.get(found[1], str(found[1]))


def same_tag(url: str) -> str:
    """Do two requesters with the same tag have two addresses?"""
    one, other = requester(url, "same"), requester(url, "same")
    addresses = address(one, ASKED), address(other, OTHER)
    one.end()
    other.end()
    return "two addresses" if addresses[0] != addresses[1] else f"both have {addresses[0]}"


def late(url: str) -> str:
    """Who gets a reply whose requester has gone, while another one has its tag?"""
    former = requester(url, "same")
    to = address(former, ASKED)
    former.end()
    latter = requester(url, "same")
    latter.open(2)
    latter.send(wire.publish(2, to, "late"))
    found = latter.read(1.0)
    latter.end()
    return "that one" if found is not None and found[1] == wire.DELIVER else "nobody"


def long_tag(url: str) -> str:
    """What comes of a request of a requester with a tag of 255 octets."""
    connection = requester(url, "t" * 255)
    try:
        return f"an address of {len(address(connection, ASKED))} octets"
    except ConnectionError as failed:
        return str(failed)
    finally:
        connection.end()


def made_up(url: str) -> str:
    """What comes of a passive declaration of a name that nobody has."""
    connection = wire.Connection(url)
    connection.open(1)
    name = wire.short(f"{REPLIES}.made up")
    connection.send(wire.method(1, wire.DECLARE, bytes(2) + name + b"\x01" + wire.table()))
    return outcome(connection)


def main() -> None:
    for url in wire.urls():
        connection = wire.Connection(url)
        print(connection.broker)
        connection.end()
        print(f"  a second requester on a channel: {second(url)}")
        print(f"  two requesters with one tag: {same_tag(url)}")
        print(f"  a reply for a requester that has gone, while another one has its tag: {late(url)}")
        print(f"  a request behind a tag of 255 octets: {long_tag(url)}")
        print(f"  a passive declaration of a made-up address: {made_up(url)}")


if __name__ == "__main__":
    main()
