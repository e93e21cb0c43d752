"""ACK-007 to ACK-010, ERR-001, ERR-002, TAG-009: which settlements are refused, and how?

    python settlement_errors.py amqp://guest:guest@localhost:5672/%2F ...

Each case has a channel of its own, with deliveries 1 to 3 of which 2 is acknowledged, unless it says: fresh channel.
"""

from __future__ import annotations

import struct
import uuid

import wire

CASES = {
    "fresh channel, ack 0 multiple": (False, wire.ack(1, 0, multiple=True)),
    "fresh channel, nack 0 multiple": (False, wire.nack(1, 0, multiple=True)),
    "fresh channel, ack 0": (False, wire.ack(1, 0)),
    "fresh channel, nack 0": (False, wire.nack(1, 0)),
    "fresh channel, reject 0": (False, wire.reject(1, 0)),
    "ack 2 again": (True, wire.ack(1, 2)),
    "nack 2 after its ack": (True, wire.nack(1, 2)),
    "reject 2 after its ack": (True, wire.reject(1, 2)),
    "ack 2 multiple, 1 is outstanding": (True, wire.ack(1, 2, multiple=True)),
    "nack 9 multiple, 1 and 3 are outstanding": (True, wire.nack(1, 9, multiple=True)),
    "ack 3 multiple over the gap": (True, wire.ack(1, 3, multiple=True)),
    "ack 2^63": (True, wire.ack(1, 2**63)),
    "ack 2^64-1 multiple": (True, wire.ack(1, 2**64 - 1, multiple=True)),
}


def answer(url: str, queue_type: str, prepared: bool, settlement: bytes) -> str:
    """How the broker takes the settlement, and what is in the queue when the channel has ended."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, connection = wire.Connection(url), wire.Connection(url)
    keeper.open(1)
    connection.open(1)
    keeper.declare(1, queue, queue_type)
    try:
        if prepared:
            keeper.fill(1, queue, ["1", "2", "3"])
            for _ in range(3):
                connection.take(1, queue)
            connection.send(wire.ack(1, 2))
        connection.send(settlement, wire.method(1, wire.FLOW, b"\x01"))
        found = connection.read()
        assert found is not None
        if found[1] == wire.FLOW_OK:
            return "accepted"
        scope = "channel" if found[1] == wire.CHANNEL_CLOSE else "connection"
        return f"{scope}.close {wire.reason(found[2])}, {struct.unpack('>HH', found[2][-4:])}"
    finally:
        connection.end()
        keeper.delete(1, queue)
        keeper.end()


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for name, (prepared, settlement) in CASES.items():
            classic = answer(url, "classic", prepared, settlement)
            quorum = answer(url, "quorum", prepared, settlement) if prepared else classic
            print(f"  {name}: {classic}" + ("" if quorum == classic else f"; quorum: {quorum}"))


if __name__ == "__main__":
    main()
