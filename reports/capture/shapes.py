"""The shape of a message: where in its frames the octets are that differ from one message to the next.

A program sends similar messages again and again. They have the same method, the same properties and the same lengths,
and differ in delivery tag, size of the body, message-id and body. So once a message was decoded strictly, others of
its *shape* are read at fixed places in one step. What lies between those places is *words*. If all words are known,
octet by octet, everything but the values is known too. Lengths and end octets are words. Unknown words, or another
shape, are for the decoder.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Any, NamedTuple

from reports.capture.identity import place

TAGGED = {
    b"\x00\x3c\x00\x50": 11,
    b"\x00\x3c\x00\x5a": 11,
    b"\x00\x3c\x00\x78": 11,
    b"\x00\x3c\x00\x47": 11,
    b"\x00\x3c\x00\x3c": 12,
}
"""By class and method, octets of the frame before the delivery tag; that of basic.deliver comes after a string."""
DELIVER = 12
PREFIX = 11
"""Octets that tell which shapes come into question: those up to class and method."""
MOST_SHAPES = 4

Words = tuple[bytes, ...]


class Shape(NamedTuple):
    """`unpack(data, at)` gives words before the tag, the tag (empty where there is none) and the words after it; of
    content these end before the size of the body, and then come the size, words, message-id (empty where it is among
    the words), words, and the length of the body's frame (empty where there is none). `size` octets in all, which is
    up to the first of the body."""

    unpack: Any
    size: int
    tagged: bool
    content: bool
    body: bool

    def words(self, raw: bytes) -> Words:
        """Those of a message of this shape."""
        parts = self.unpack(raw)
        return (parts[0], parts[2], parts[4], parts[6]) if self.content else (parts[0], parts[2])


def tag_of(method: bytes) -> int:
    """Where in this frame the delivery tag is; 0 if it has none."""
    at = TAGGED.get(method[7:11], 0)
    return at + method[11] if at == DELIVER else at


def plain(raw: bytes) -> Shape:
    """Of a method without content."""
    return _plain(tag_of(raw), len(raw))


def content(method: bytes, header: bytes, named: bool, *, body: bool) -> Shape:
    """Of a message, `named` if its message-id may differ."""
    found = place(header) if named else None
    begin, end = (found[0] + 1, found[1]) if found else (len(header), len(header))
    return _content(tag_of(method), len(method), len(header), begin, end, body)


@cache
def _plain(tag: int, size: int) -> Shape:
    return Shape(struct.Struct(f">{_tagged(tag, size)}").unpack_from, size, bool(tag), False, False)


@cache
def _content(tag: int, method: int, header: int, begin: int, end: int, body: bool) -> Shape:
    words = f"Q{begin - 19}s{end - begin}s{header - end + 3 * body}s{'I' if body else '0s'}"
    form = struct.Struct(f">{_tagged(tag, method + 11)}{words}")
    return Shape(form.unpack_from, form.size, bool(tag), True, body)


def _tagged(tag: int, size: int) -> str:
    return f"{tag}sQ{size - tag - 8}s" if tag else f"{size}s0s0s"
