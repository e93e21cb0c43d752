"""What a client may send that is no lawful frame, by the rule that speaks of it."""

from __future__ import annotations

import struct

import codec
from codec import methods as m

FLOW = bytes((0, 20, 0, 20, 1))


def frame(kind: int, channel: int, payload: bytes, end: bytes = b"\xce") -> bytes:
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + end


def header(class_id: int = 60, weight: int = 0, flags: int = 0) -> bytes:
    return struct.pack(">HHQH", class_id, weight, 1, flags)


PUBLISH = m.BasicPublish(1, exchange="x").encode()
OCTETS = {
    "FRAME-001": frame(1, 1, FLOW, b"\xcd"),
    "FRAME-002": frame(5, 1, FLOW),
    "FRAME-003": frame(3, 1, bytes(codec.FRAME_MAX + 1)),
    "FRAME-004": frame(2, 1, header()),
    "FRAME-005": PUBLISH + frame(1, 1, FLOW),
    "FRAME-006": PUBLISH + frame(2, 1, header()) + frame(3, 1, b"xy"),
    "FRAME-007": PUBLISH + frame(2, 1, header(50)),
    "FRAME-008": frame(2, 0, header()),
    "FRAME-009": frame(8, 1, b""),
    "FRAME-010": frame(1, 1, struct.pack(">HH", 99, 10)),
    "FRAME-011": frame(1, 1, struct.pack(">HHH", 50, 10, 0) + b"\xffq\0"),
    "FRAME-013": frame(8, 0, b"x"),
    "FRAME-014": frame(1, 1, FLOW[:2]),
    "FRAME-015": PUBLISH + frame(2, 1, header(flags=0x8000)),
    "FRAME-016": PUBLISH + frame(2, 1, header(weight=1)),
}
