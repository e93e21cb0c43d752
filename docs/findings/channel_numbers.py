"""CHAN-004, CHAN-009: channel 0, and one channel more than agreed.

    python channel_numbers.py amqp://guest:guest@localhost:5672/%2F ...

Each method on channel 0 is sent on a connection of its own. Then a client agrees to four channels and opens five.
"""

from __future__ import annotations

import struct

import wire

TUNE_OK = struct.pack(">HH", 10, 31)
FEW = 4
ON_CHANNEL_0 = {
    "channel.open": wire.method(0, wire.CHANNEL_OPEN, wire.short("")),
    "channel.flow": wire.method(0, wire.FLOW, b"\1"),
    "channel.close": wire.method(0, wire.CHANNEL_CLOSE, struct.pack(">H", 200) + wire.short("done") + bytes(4)),
    "queue.declare": wire.method(0, wire.DECLARE, bytes(2) + wire.short("") + b"\4" + wire.table()),
    "exchange.declare": wire.method(
        0, wire.EXCHANGE_DECLARE, bytes(2) + wire.short("amq.direct") + wire.short("direct") + b"\1" + wire.table()
    ),
}
ANSWERS = {
    wire.CHANNEL_OPEN_OK: "open-ok",
    wire.CHANNEL_CLOSE_OK: "close-ok",
    wire.FLOW_OK: "flow-ok",
    wire.DECLARE_OK: "declare-ok",
    wire.EXCHANGE_DECLARE_OK: "declare-ok",
}


class Modest(wire.Connection):
    """One that wants few channels."""

    def send(self, *frames: bytes) -> None:
        for raw in frames:
            modest = raw[:11] + struct.pack(">H", FEW) + raw[13:]
            super().send(modest if raw[7:11] == TUNE_OK else raw)


def outcome(connection: wire.Connection) -> str:
    """What comes in answer."""
    found = connection.read(2)
    if found is None:
        return "nothing"
    if found[1] in (wire.CONNECTION_CLOSE, wire.CHANNEL_CLOSE):
        return wire.closing(found)
    return ANSWERS[found[1]]


def main() -> None:
    for url in wire.urls():
        connection = wire.Connection(url)
        print(connection.broker)
        connection.end()
        for name, raw in ON_CHANNEL_0.items():
            connection = wire.Connection(url)
            connection.send(raw)
            print(f"  {name} on channel 0: {outcome(connection)}")
        connection = Modest(url)
        for number in range(1, FEW + 1):
            connection.open(number)
        connection.send(wire.method(FEW + 1, wire.CHANNEL_OPEN, wire.short("")))
        print(f"  channel {FEW + 1} of {FEW}: {outcome(connection)}")


if __name__ == "__main__":
    main()
