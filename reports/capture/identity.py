"""What makes the header of one message differ from that of the next: its message-id, cut out.

The properties of a header have a fixed order, and each is there only if its flag is set. So the message-id is found by
skipping those before it. Only ids of plain ASCII that JSON does not escape are cut out. Other headers stay whole, and
so do headers that cannot be read; the decoder judges these.
"""

from __future__ import annotations

import re
from functools import cache

CUT = b"\xff\xff\xff\xff"
"""Before the words of a header that something was cut out of. Others begin with their class and a weight of zero."""

plain = re.compile(rb"[ !#-\[\]-~]+").fullmatch
"""Is this an id that JSON writes as it is?"""
_MESSAGE_ID, _MORE_FLAGS = 0x0080, 0x0001
_TEXT, _OCTET, _TABLE = 0, 1, 4
_BEFORE = (
    (0x8000, _TEXT),
    (0x4000, _TEXT),
    (0x2000, _TABLE),
    (0x1000, _OCTET),
    (0x0800, _OCTET),
    (0x0400, _TEXT),
    (0x0200, _TEXT),
    (0x0100, _TEXT),
)


def cut(raw: bytes) -> tuple[bytes, str | None]:
    """The words of a header frame, without the size of the body, and the message-id where it was cut out of them."""
    found = place(raw)
    if found is None:
        return raw[7:11] + raw[19:], None
    begin, end = found
    return CUT + raw[7:11] + raw[19:begin] + raw[end:], raw[begin + 1 : end].decode("ascii")


def place(raw: bytes) -> tuple[int, int] | None:
    """Where the message-id lies in a header frame, with the octet of its length, if it can be cut out."""
    try:
        steps, at = _steps(raw[19] << 8 | raw[20]), 21
        if steps is None:
            return None
        for step in steps:
            if step == _TEXT:
                at += 1 + raw[at]
            elif step == _OCTET:
                at += 1
            else:
                at += 4 + int.from_bytes(raw[at : at + 4], "big")
        end = at + 1 + raw[at]
    except IndexError:
        return None
    return (at, end) if end < len(raw) and plain(raw, at + 1, end) else None


@cache
def _steps(flags: int) -> tuple[int, ...] | None:
    """What is to be passed over before the message-id, if there is one."""
    if not flags & _MESSAGE_ID or flags & _MORE_FLAGS:
        return None
    return tuple(kind for flag, kind in _BEFORE if flags & flag)
