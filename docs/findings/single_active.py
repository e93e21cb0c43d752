"""SAC-002 and SAC-004: a queue that serves one consumer at a time.

    python single_active.py amqp://guest:guest@localhost:5672/%2F ...

Two consumers of a classic queue with x-single-active-consumer, each with a limit of two. Five messages are published,
first such that are not persistent, then such that are. The consumer that is served holds two of them, and is cancelled.
Two more are published.
"""

from __future__ import annotations

import struct

import wire

QUEUE = "findings.single-active"
ACTIVE = wire.short("x-single-active-consumer") + b"t\x01"
NACKED, SILENCE = "refused", 1.5


def message(channel: int, queue: str, persistent: bool) -> bytes:
    """A publish with a body of one octet."""
    start = wire.method(channel, wire.PUBLISH, bytes(2) + wire.short("") + wire.short(queue) + bytes(1))
    mode = b"\2" if persistent else b"\1"
    return start + wire.frame(2, channel, struct.pack(">HHQH", 60, 0, 1, 0x1000) + mode) + wire.frame(3, channel, b"m")


def declare(connection: wire.Connection) -> None:
    arguments = struct.pack(">I", len(ACTIVE)) + ACTIVE
    connection.send(wire.method(1, wire.DECLARE, bytes(2) + wire.short(QUEUE) + b"\x02" + arguments))
    connection.wait(wire.DECLARE_OK)


def publish(connection: wire.Connection, count: int, persistent: bool) -> list[str]:
    """What is said of each."""
    said = []
    for _ in range(count):
        connection.send(message(1, QUEUE, persistent))
        said.append("confirmed" if connection.wait(wire.ACK, wire.NACK)[1] == wire.ACK else NACKED)
    return said


def consumer(url: str) -> wire.Connection:
    connection = wire.Connection(url)
    connection.open(1)
    connection.send(wire.qos(1, 2), wire.consume(1, QUEUE))
    connection.wait(wire.CONSUME_OK)
    return connection


def deliveries(connection: wire.Connection) -> int:
    """How many come, until none does for a while."""
    count = 0
    while (found := connection.read(SILENCE)) is not None:
        count += found[1] == wire.DELIVER
    return count


def left(connection: wire.Connection) -> list[str]:
    """What is got then: marked as redelivered or not."""
    found = []
    while True:
        connection.send(wire.get(1, QUEUE, True))
        got = connection.wait(wire.GET_OK, wire.GET_EMPTY)
        if got[1] == wire.GET_EMPTY:
            return found
        connection.read()
        connection.read()
        found.append("redelivered" if got[2][8] else "new")


def cancelled(url: str, persistent: bool) -> str:
    """What becomes of the messages."""
    connection = wire.Connection(url)
    connection.open(1)
    declare(connection)
    connection.send(wire.method(1, wire.CONFIRM, bytes(1)))
    connection.wait(wire.CONFIRM_OK)
    first, second = consumer(url), consumer(url)
    publish(connection, 5, persistent)
    held = deliveries(first)
    first.send(wire.cancel(1))
    taken = deliveries(second)
    said = publish(connection, 2, persistent)
    first.end()
    second.end()
    found = left(connection)
    connection.delete(1, QUEUE)
    connection.end()
    rest = f"{len(found)} of 7 are left, {found.count('redelivered')} marked as redelivered"
    return f"it held {held}; the next gets {taken}; then {', '.join(said)}; {rest}"


def exclusive(url: str) -> str:
    """What is said to an exclusive consumer."""
    connection = wire.Connection(url)
    connection.open(1)
    declare(connection)
    ask = bytes(2) + wire.short(QUEUE) + wire.short("c") + b"\x04" + wire.table()
    connection.send(wire.method(1, wire.CONSUME, ask))
    found = connection.read()
    said = "nothing" if found is None else "consume-ok" if found[1] == wire.CONSUME_OK else wire.closing(found)
    connection.end()
    other = wire.Connection(url)
    other.open(1)
    other.delete(1, QUEUE)
    other.end()
    return said


def main() -> None:
    for url in wire.urls():
        connection = wire.Connection(url)
        print(connection.broker)
        connection.end()
        print(f"  the consumer that is served is cancelled: {cancelled(url, False)}")
        print(f"  the same with persistent messages: {cancelled(url, True)}")
        print(f"  an exclusive consumer: {exclusive(url)}")


if __name__ == "__main__":
    main()
