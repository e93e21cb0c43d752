"""Tables that look alike: straight-line readers for tables whose shape has been seen before.

Applications send the same table over and over: same names, same letters, other values. Once LEARN_AT tables have begun
with the same octets, the shape of the last one becomes a function that expects just this shape: neighbouring values of
fixed size are one unpack, and instead of being read, names and letters are compared with what they were. Where all of
them are equal and all ends fit, the general reader would have taken the same path, so the result is the same; anything
else goes to the general reader. Lengths are free.

A shape that goes out of use is replaced when its beginning has been unfamiliar twice as often as at the last time, so
learning costs little however tables vary. Beginnings come from a peer: at most MOST_BEGINNINGS are followed, and tables
of more than MOST_ITEMS items are always read the general way.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from codec import emit
from codec.lower import Op, item_parts

LEARN_AT = 16
MOST_BEGINNINGS = 256
MOST_ITEMS = 64

Read = Callable[[bytes, str, int, int], list[Any]]


class Shapes:
    """The shapes learned for one kind of item."""

    def __init__(self, op: Op, general: Callable[..., list[Any]], depth: int) -> None:
        self.known: dict[bytes, Read] = {}
        self._op, self._general, self._depth = op, general, depth
        self._unfamiliar: dict[bytes, int] = {}

    def read(self, b: bytes, t: str, p: int, end: int) -> list[Any]:
        """The general way; now and then, what it read teaches a shape."""
        items = self._general(b, t, p, end, self._depth)
        beginning = b[p : p + emit.BEGINNING]
        count = self._unfamiliar.get(beginning)
        if count is not None:
            self._unfamiliar[beginning] = count = count + 1
            if count >= LEARN_AT and not count & (count - 1):
                self._learn(beginning, items)
        elif end - p >= emit.BEGINNING and len(self._unfamiliar) < MOST_BEGINNINGS:
            self._unfamiliar[beginning] = 1
        return items

    def forget(self) -> None:
        """As if nothing had been seen."""
        self.known.clear()
        self._unfamiliar.clear()

    def _learn(self, beginning: bytes, items: list[Any]) -> None:
        if _count(items) > MOST_ITEMS:
            return
        shape = Shape(self._op, items)
        namespace: dict[str, Any] = {**shape.unpackers, "read": self.read, "Short": struct.error}
        exec(compile(shape.source, "<codec shape>", "exec"), namespace)
        self.known[beginning] = namespace["shape"]
        namespace["shape"].source = shape.source


def _count(items: list[Any]) -> int:
    """Items, with those inside."""
    return len(items) + sum(_count(item[-1]) for item in items if item[-2] in "FA")


class Shape:
    """Emits the reader for tables that look like `items`. Positions are `base + offset`; `run` is what the next unpack
    takes, each part with the octets it must equal, if it must."""

    def __init__(self, op: Op, items: list[Any]) -> None:
        self.unpackers: dict[str, Any] = {}
        self._base, self._offset, self._temporaries = "p", 0, 0
        self._run: list[tuple[str, str, bytes]] = []
        self._lines: list[str] = []
        made = self._items(op.extra, items)
        self._flush()
        lines = [*self._lines, f"if {self._at} == end: return {made}"]
        self.source = "\n".join(
            [
                "def shape(b, t, p, end):",
                "    try:",
                *(f"        {line}" for line in lines),
                "    except Short: pass",
                "    return read(b, t, p, end)",
                "",
            ]
        )

    @property
    def _at(self) -> str:
        return f"{self._base} + {self._offset}" if self._offset else self._base

    def _temporary(self) -> str:
        self._temporaries += 1
        return f"_{self._temporaries}"

    def _items(self, kind: Any, items: list[Any]) -> str:
        """The expression that makes these items."""
        named, letters = item_parts(kind)
        made = []
        for *name, letter, value in items:
            raw = name[0].encode() if named else b""
            self._constant((bytes([len(raw)]) if named else b"") + raw + letter.encode())
            fields = "".join(f"{field!r}, " for field in (*name, letter))
            made.append(f"({fields}{self._value(letters[letter.encode()], value)})")
        return f"[{', '.join(made)}]"

    def _value(self, ops: list[Op], value: Any) -> str:
        match ops:
            case []:
                return "None"
            case [Op(kind="flag")]:
                return self._fixed("?")
            case [Op(kind="octets", fmt=fmt)]:
                return self._octets(fmt)
            case [Op(kind="items", fmt=fmt, extra=kind)]:
                return self._nested(fmt, kind, value)
            case [Op(kind="number", fmt=fmt)]:
                return self._fixed(fmt)
            case numbers:
                return f"({', '.join(self._fixed(op.fmt) for op in numbers)})"

    def _nested(self, fmt: str, kind: Any, items: list[Any]) -> str:
        """These items, and a check that they end where their length says."""
        length = self._fixed(fmt)
        begin = self._at
        made = self._items(kind, items)
        self._flush()
        self._lines.append(f"if {begin} + {length} != {self._at}: return read(b, t, p, end)")
        return made

    def _octets(self, fmt: str) -> str:
        length, value, begin, end = self._fixed(fmt), *(self._temporary() for _ in "123")
        self._flush()
        self._lines.append(f"{begin} = {self._at}; {end} = {begin} + {length}; {value} = b[{begin}:{end}]")
        self._base, self._offset = end, 0
        return value

    def _fixed(self, fmt: str, expected: bytes = b"") -> str:
        self._offset += struct.calcsize(">" + fmt)
        self._run.append((fmt, self._temporary(), expected))
        return self._run[-1][1]

    def _constant(self, octets: bytes) -> None:
        """Joins a constant that is its neighbour."""
        if self._run and self._run[-1][2]:
            before = self._run.pop()[2]
            self._offset -= len(before)
            octets = before + octets
        self._fixed(f"{len(octets)}s", octets)

    def _flush(self) -> None:
        if not self._run:
            return
        fmt = ">" + "".join(f for f, _, _ in self._run)
        unpack = f"u{len(self.unpackers)}"
        self.unpackers[unpack] = struct.Struct(fmt).unpack_from
        start = self._offset - struct.calcsize(fmt)
        at = f"{self._base} + {start}" if start else self._base
        self._lines.append(f"{', '.join(v for _, v, _ in self._run)}, = {unpack}(b, {at})")
        tests = " or ".join(f"{v} != {expected!r}" for _, v, expected in self._run if expected)
        if tests:
            self._lines.append(f"if {tests}: return read(b, t, p, end)")
        self._run = []
