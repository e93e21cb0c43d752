"""Frames as octets, lawful or not, written so that nothing of ours can mend them on the way."""

from __future__ import annotations

import struct

METHOD, HEADER, BODY, HEARTBEAT = 1, 2, 3, 8
END = b"\xce"
FLOW = bytes((0, 20, 0, 20, 1))
"""channel.flow, without its frame."""
BASIC, QUEUE = 60, 50
NOBODY = "amqpconf.nobody"
"""A name of ours that nobody has."""


def frame(kind: int, channel: int, payload: bytes, end: bytes = END) -> bytes:
    """One frame, whatever it holds."""
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + end


def header(class_id: int = BASIC, size: int = 1, *, weight: int = 0, flags: int = 0) -> bytes:
    """A content header without properties, without its frame."""
    return struct.pack(">HHQH", class_id, weight, size, flags)


def method(class_id: int, method_id: int, arguments: bytes = b"") -> bytes:
    """A method, without its frame."""
    return struct.pack(">HH", class_id, method_id) + arguments
