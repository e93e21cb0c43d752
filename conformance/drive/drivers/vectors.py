"""Octets that are no lawful frame, by the rules that say what a broker does about them.

Each is sent on channel 1 of a connection whose client has opened it. Where a publish begins one, it goes to a queue
that nobody has.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from codec import methods as m
from conformance.drive.drivers.octets import BODY, FLOW, HEADER, HEARTBEAT, METHOD, NOBODY, QUEUE, frame, header

PUBLISH = m.BasicPublish(1, routing_key=NOBODY).encode()
"""The method alone."""
CONTENT_TYPE, HEADERS = 1 << 15, 1 << 13
_FIRST, _BODY = frame(HEADER, 1, header()), frame(BODY, 1, b"x")
_WHOLE, _EMPTY = PUBLISH + _FIRST + _BODY, PUBLISH + frame(HEADER, 1, header(size=0))
_HALF = frame(HEADER, 1, header(size=2)) + _BODY
_DECLARE = struct.pack(">HHH", QUEUE, 10, 0)
_UNREADABLE = (
    header()[:12],
    header(flags=CONTENT_TYPE),
    header() + b"\3odd",
    header(flags=HEADERS) + struct.pack(">I", 100) + b"\1xS",
)
VECTORS: Mapping[str, tuple[bytes, ...]] = {
    "FRAME-001": (
        frame(METHOD, 1, FLOW, b"\xcd"),
        frame(HEARTBEAT, 0, b"", b"\0"),
        PUBLISH + frame(HEADER, 1, header(), b"\0"),
        PUBLISH + _FIRST + frame(BODY, 1, b"x", b"\0"),
    ),
    "FRAME-002": (frame(5, 1, FLOW), frame(255, 0, b"")),
    "FRAME-004": (_FIRST, _BODY, _WHOLE + frame(BODY, 1, b"y"), _EMPTY + frame(BODY, 1, b"y")),
    "FRAME-005": (
        *(PUBLISH + amid + one for one in (frame(METHOD, 1, FLOW), PUBLISH) for amid in (b"", _FIRST, _HALF)),
        PUBLISH + _FIRST + _FIRST,
        PUBLISH + _HALF + _FIRST,
        PUBLISH + _BODY,
    ),
    "FRAME-006": (
        PUBLISH + _FIRST + frame(BODY, 1, b"xy"),
        PUBLISH + _HALF + frame(BODY, 1, b"yz"),
    ),
    "FRAME-007": (PUBLISH + frame(HEADER, 1, header(class_id=QUEUE)),),
    "FRAME-008": (frame(HEADER, 0, header()), frame(BODY, 0, b"x")),
    "FRAME-009": (frame(HEARTBEAT, 1, b""), frame(HEARTBEAT, 2, b"")),
    "FRAME-010": (frame(METHOD, 1, struct.pack(">HH", 99, 10)), frame(METHOD, 1, struct.pack(">HH", 60, 999))),
    "FRAME-011": (
        frame(METHOD, 1, _DECLARE + b"\xffq\0"),
        frame(METHOD, 1, _DECLARE + b"\1q\0" + struct.pack(">I", 1000)),
        frame(METHOD, 1, _DECLARE),
    ),
    "FRAME-012": (
        m.ConnectionOpen(1, "/").encode(),
        m.ConnectionTuneOk(1, 10, 4096, 0).encode(),
        m.ConnectionClose(1, 200, "normal shutdown", 0, 0).encode(),
    ),
    "FRAME-013": (frame(HEARTBEAT, 0, b"x"), frame(HEARTBEAT, 0, frame(HEARTBEAT, 0, b""))),
    "FRAME-014": (
        frame(METHOD, 1, FLOW[:2]),
        frame(METHOD, 1, b""),
        PUBLISH + frame(HEADER, 1, header()[:10]),
    ),
    "FRAME-015": tuple(PUBLISH + frame(HEADER, 1, content) + _BODY for content in _UNREADABLE),
    "FRAME-016": tuple(PUBLISH + frame(HEADER, 1, header(weight=weight)) for weight in (1, 0xFFFF)),
}
