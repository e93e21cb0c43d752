"""Why a frame is malformed: the same operations as the fast decoders, walked one by one, with positions.

Slow and thorough; runs only once the fast path has refused a frame, and finds the first octet that is not as declared.
The same walk over a good frame is its anatomy: which octets are which field.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from codec import wire
from codec.errors import MalformedFrame
from codec.lower import Op, lower

_KINDS = {wire.METHOD: "method", wire.HEADER: "header", wire.BODY: "body", wire.HEARTBEAT: "heartbeat"}
_CALLED = {"text": "a short string", "octets": "a long string", "items": "a table", "size": "a size"}
UNEXPLAINED = "a frame that decoders refuse and this walk does not: a bug of this codec"
_OVERHEAD = 8  # type, channel, size, end


class Part(NamedTuple):
    """One field of a frame: its octets from `begin` to `end`, with its length in front where it has one."""

    op: Op
    begin: int
    end: int


def anatomy(raw: bytes) -> list[Part]:
    """The fields of one good frame in order; the items of a table follow the table. Raises MalformedFrame."""
    walk = _Walk(raw)
    walk.frame()
    return walk.parts


def envelope(raw: bytes, start: int, limit: int) -> MalformedFrame | None:
    """What is wrong with the first octets of a frame that is not all there yet; None if nothing is."""
    head = raw[start : start + 7]
    if head and head[0] not in _KINDS:
        found = "a protocol header" if b"AMQP".startswith(head[:4]) else f"{head[0]} in {raw[start : start + 16]!r}"
        return MalformedFrame(0, "a frame type: 1, 2, 3 or 8", found, bytes(raw[start:]))
    if len(head) == 7 and limit and int.from_bytes(head[3:], "big") > limit - _OVERHEAD:
        size = int.from_bytes(head[3:], "big")
        return MalformedFrame(
            3,
            f"a payload of at most {limit - _OVERHEAD} octets (frame_max {limit})",
            f"a payload of {size}",
            bytes(raw[start:]),
        )
    return None


def explain(buffer: bytes, start: int, limit: int) -> MalformedFrame:
    """The finding for the refused frame that begins at `start`."""
    problem = envelope(buffer, start, limit)
    if problem is not None:
        return problem
    size = 0 if len(buffer) < start + 7 else int.from_bytes(buffer[start + 3 : start + 7], "big")
    raw = bytes(buffer[start : start + size + _OVERHEAD])
    try:
        _Walk(raw).frame()
    except MalformedFrame as found:
        return found
    return MalformedFrame(0, "a frame as declared", UNEXPLAINED, raw)


class _Walk:
    """A position in one frame, and where the part of it that is being read ends."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.at, self.end = raw, 0, len(raw)
        self.parts: list[Part] = []

    def refuse(self, at: int, expected: str, found: str) -> NoReturn:
        raise MalformedFrame(at, expected, found, self.raw)

    def frame(self) -> None:
        raw, size = self.raw, int.from_bytes(self.raw[3:7], "big")
        if len(raw) < size + _OVERHEAD:
            self.refuse(len(raw), f"a frame of {size + _OVERHEAD} octets", f"its first {len(raw)}")
        if raw[-1] != wire.FRAME_END:
            self.refuse(len(raw) - 1, f"the frame end {wire.FRAME_END:#x}", f"{raw[-1]:#x}")
        self.run(lower(wire.Frame, self._facts()))

    def _facts(self) -> Mapping[str, Any]:
        """What the type, the method and the flags say about the rest."""
        kind = self.raw[0]
        if kind == wire.METHOD:
            return {"type": kind, "index": self._index()}
        if kind == wire.HEADER:
            return {"type": kind, "flags": self._flags()}
        return {"type": kind}

    def _index(self) -> int:
        self.at, self.end = 7, len(self.raw) - 1
        class_id, method_id = struct.unpack(">HH", self.take(4, "a class and a method"))
        if (class_id, method_id) not in wire.METHODS:
            self.refuse(7, "a method of AMQP 0-9-1", f"class {class_id}, method {method_id}")
        self.at, self.end = 0, len(self.raw)
        return int(class_id << 16 | method_id)

    def _flags(self) -> dict[str, bool]:
        self.at, self.end = 7, len(self.raw) - 1
        class_id, weight = struct.unpack(">HH", self.take(4, "a class and a weight"))
        if class_id != wire.BASIC:
            self.refuse(7, f"class {wire.BASIC}, the only one with content", f"class {class_id}")
        if weight:
            self.refuse(9, "weight 0", str(weight))
        self.take(8, "a body size")
        (flags,) = struct.unpack(">H", self.take(2, "property flags"))
        undefined = flags & ~sum(wire.FLAGS.values())
        if undefined:
            self.refuse(19, "flags of the 14 properties only", f"flags {flags:#06x}, {undefined:#x} undefined")
        self.at, self.end = 0, len(self.raw)
        return {name: bool(flags & bit) for name, bit in wire.FLAGS.items()}

    def take(self, count: int, what: str) -> bytes:
        if self.at + count > self.end:
            self.refuse(self.at, what, f"the end after {self.end - self.at} of {count} octets")
        self.at += count
        return self.raw[self.at - count : self.at]

    def number(self, op: Op) -> int:
        (value,) = struct.unpack(">" + op.fmt, self.take(struct.calcsize(">" + op.fmt), _called(op)))
        return int(value) if op.fmt not in "fd" else 0

    def run(self, ops: list[Op], depth: int = 1) -> None:
        for op in ops:
            begin, place = self.at, len(self.parts)
            getattr(self, f"_{op.kind}")(op, depth)
            self.parts.insert(place, Part(op, begin, self.at))

    def _number(self, op: Op, depth: int) -> None:
        self.number(op)

    _flag = _number

    def _size(self, op: Op, depth: int) -> None:
        size = self.number(op)
        self.end = self.at + size

    def _rest(self, op: Op, depth: int) -> None:
        self.at, self.end = self.end, len(self.raw)

    def _octets(self, op: Op, depth: int) -> None:
        self.span(op)

    def _end(self, op: Op, depth: int) -> None:
        if self.at != self.end:
            self.refuse(self.at, "the end of the payload", f"{self.end - self.at} more octets")
        self.end = len(self.raw)

    def _const(self, op: Op, depth: int) -> None:
        begin, value = self.at, self.number(op)
        if value != op.extra:
            self.refuse(begin, f"{op.name} {op.extra}", str(value))

    def _bits(self, op: Op, depth: int) -> None:
        begin, value = self.at, self.number(op)
        if value >> len(op.extra):
            self.refuse(begin, f"bits {', '.join(op.extra)} and zeros", f"{value:#04x}")

    def span(self, op: Op) -> bytes:
        begin, length = self.at, self.number(op)
        if self.at + length > self.end:
            self.refuse(
                begin, f"{_called(op)} that ends within the {self.end - self.at} octets left", f"a length of {length}"
            )
        return self.take(length, _called(op))

    def _text(self, op: Op, depth: int) -> None:
        octets = self.span(op)
        try:
            octets.decode()
        except UnicodeDecodeError as problem:
            self.refuse(self.at - len(octets) + problem.start, f"UTF-8 in {_called(op)}", problem.reason)

    def _items(self, op: Op, depth: int) -> None:
        if depth > wire.MAX_DEPTH:
            self.refuse(self.at, f"at most {wire.MAX_DEPTH} tables inside each other", "one more")
        begin, outer = self.at, self.end
        self.span(op)
        self.at, self.end = begin + struct.calcsize(">" + op.fmt), self.at
        *name, _, value = op.extra.subcons
        while self.at < self.end:
            self.run([o for n in name for o in lower(n, {})])
            letter = self.take(1, "the letter of a value")
            if letter not in value.subcon.cases:
                self.refuse(self.at - 1, "a letter that announces a value", repr(letter))
            self.parts.append(Part(Op("letter", letter.decode()), self.at - 1, self.at))
            self.run(lower(value.subcon.cases[letter], {}), depth + 1)
        self.end = outer


def _called(op: Op) -> str:
    """How a sentence calls this field."""
    kind = _CALLED.get(op.kind, "a number")
    return f"{kind} {op.name}" if op.name not in ("", "size") else kind
