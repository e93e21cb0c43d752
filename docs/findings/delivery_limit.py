"""RQ-012, RQ-013: which returns count towards a quorum queue's delivery limit, and in which headers?

    python delivery_limit.py amqp://guest:guest@localhost:5672/%2F ...

A message in a queue with x-delivery-limit 3 is got and returned in one way until it comes no more, eight times at
most. Printed are the deliveries and the counts in the headers of the first three.
"""

from __future__ import annotations

import struct
import uuid

import wire

RECOVER, RECOVER_OK = (60, 110), (60, 111)
HEADERS = (b"x-delivery-count", b"x-acquired-count")


def counts(header: bytes) -> str:
    found = []
    for name in HEADERS:
        at = header.find(bytes([len(name)]) + name + b"l")
        if at >= 0:
            begin = at + len(name) + 2
            found.append(f"{name.decode()[2:-6]} {int.from_bytes(header[begin : begin + 8], 'big')}")
    return " ".join(found) or "none"


def take(connection: wire.Connection, channel: int, queue: str) -> tuple[int, str] | None:
    """Tag and counts of the next message."""
    connection.send(wire.get(channel, queue))
    _, name, arguments = connection.wait(wire.GET_OK, wire.GET_EMPTY)
    if name == wire.GET_EMPTY:
        return None
    header = connection.read()
    connection.read()
    assert header is not None
    return struct.unpack_from(">Q", arguments)[0], counts(header[2])


def give_back(connection: wire.Connection, channel: int, tag: int, how: str) -> int:
    """Returns the message; the channel to go on with."""
    if how == "close":
        connection.send(wire.close(channel))
        connection.wait(wire.CHANNEL_CLOSE_OK)
        connection.open(channel + 1)
        return channel + 1
    if how == "recover":
        connection.send(wire.method(channel, RECOVER, b"\x01"))
        connection.wait(RECOVER_OK)
    else:
        connection.send(wire.nack(channel, tag) if how == "nack" else wire.reject(channel, tag))
    return channel


def deliveries(url: str, how: str) -> str:
    queue, connection, channel = f"finding-{uuid.uuid4().hex[:12]}", wire.Connection(url), 2
    connection.open(1)
    connection.open(channel)
    connection.declare(1, queue, "quorum", x_delivery_limit=3)
    try:
        connection.fill(1, queue, ["m"])
        seen: list[str] = []
        looks = 0
        while len(seen) < 8 and looks < 50:  # what a closed channel held takes a moment to come back
            delivery = take(connection, channel, queue)
            looks += 1
            if delivery is not None:
                looks = 0
                seen.append(delivery[1])
                channel = give_back(connection, channel, delivery[0], how)
        return f"{len(seen)} deliveries{'' if len(seen) < 8 else ', and more'}; {', '.join(seen[:3])}"
    finally:
        connection.delete(1, queue)
        connection.end()


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for how in ("nack", "reject", "recover", "close"):
            print(f"  {how}: {deliveries(url, how)}")


if __name__ == "__main__":
    main()
