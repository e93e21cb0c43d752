"""RQ-001: does a sole consumer get what it rejects before the next message, if its channel has the limit?

    python order_under_a_channel_limit.py amqp://guest:guest@localhost:5672/%2F ...

A classic queue has 30 messages, and one consumer with a limit of 1: its own, or that of its channel (global). Each
message is rejected with requeue three times, at once, and then acknowledged. Printed is how many of the 120 deliveries
came in another order than m0 four times, m1 four times, and so on.
"""

from __future__ import annotations

import struct
import uuid
from collections import Counter

import wire

MESSAGES, TIMES = 30, 4


def declared(line: wire.Connection, name: str, single: bool) -> None:
    entries = wire.short("x-queue-type") + b"S" + struct.pack(">I", 7) + b"classic"
    if single:
        entries += wire.short("x-single-active-consumer") + b"t\x01"
    table = struct.pack(">I", len(entries)) + entries
    line.send(wire.method(1, wire.DECLARE, bytes(2) + wire.short(name) + b"\x02" + table))
    line.wait(wire.DECLARE_OK)


def deliveries(line: wire.Connection, shared: bool, single: bool) -> list[str]:
    """What comes, in order."""
    name = f"findings.{uuid.uuid4().hex[:8]}"
    declared(line, name, single)
    line.fill(1, name, [f"m{number}" for number in range(MESSAGES)])
    line.open(2)
    line.send(wire.qos(2, 1, shared))
    line.wait(wire.QOS_OK)
    line.send(wire.consume(2, name))
    line.wait(wire.CONSUME_OK)
    came: list[str] = []
    times = Counter[str]()
    while len(came) < MESSAGES * TIMES:
        found = line.wait(wire.DELIVER)
        line.read()
        body = line.read()
        assert body is not None
        text = body[2].decode()
        came.append(text)
        times[text] += 1
        tag = wire.delivery_tag(found)
        line.send(wire.ack(2, tag) if times[text] == TIMES else wire.reject(2, tag))
    line.delete(1, name)
    return came


def show(url: str) -> None:
    expected = [f"m{number}" for number in range(MESSAGES) for _ in range(TIMES)]
    for shared in (False, True):
        for single in (False, True):
            line = wire.Connection(url)
            line.open(1)
            came = deliveries(line, shared, single)
            line.end()
            wrong = sum(one != other for one, other in zip(came, expected, strict=True))
            limit, kind = "of the channel" if shared else "of the consumer", "single active" if single else "plain"
            print(f"  {line.broker}, limit {limit}, {kind}: {wrong} of {len(came)} elsewhere")


if __name__ == "__main__":
    for address in wire.urls():
        show(address)
