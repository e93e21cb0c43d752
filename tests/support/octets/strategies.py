"""Hypothesis strategies read off the declaration: valid frames, and frames broken in every way and at random.

`of` walks the construct tree as `lower` does, and gives values that the tree can build; `frames` builds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import construct as c
from hypothesis import strategies as st

from codec import wire
from codec.lower import Unsupported
from codec.values import FieldTable
from tests.support.octets import broken as defects

_INTEGERS = {
    "B": (0, 2**8),
    "H": (0, 2**16),
    "L": (0, 2**32),
    "Q": (0, 2**64),
    "b": (-(2**7), 2**7),
    "h": (-(2**15), 2**15),
    "l": (-(2**31), 2**31),
    "q": (-(2**63), 2**63),
}
_NUMBERS = {fmt: st.integers(low, high - 1) for fmt, (low, high) in _INTEGERS.items()} | {
    "f": st.floats(width=32, allow_nan=False),
    "d": st.floats(allow_nan=False),
}
_TEXT = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(["", "ключ", "x" * 255, "é" * 127])
_OCTETS = st.binary(max_size=40)
_METHOD_INDEXES = [class_id << 16 | method_id for class_id, method_id in wire.METHODS]


def of(con: Any, facts: Mapping[str, Any], depth: int = 2) -> st.SearchStrategy[Any]:
    """Values that `con` builds, with tables inside each other at most so deep."""
    match con:
        case c.Renamed(subcon=c.FormatField()) if con.name in facts:
            return st.just(facts[con.name])
        case c.Renamed():
            return of(con.subcon, facts, depth)
        case c.Rebuild():
            return st.none()
        case c.LazyBound():
            return of(con.subconfunc(), facts, depth)
        case wire.Nested():
            return of(con.subcon, facts, depth - 1)
        case c.Prefixed():
            return of(con.subcon, facts, depth)
        case c.FormatField():
            return _NUMBERS[con.fmtstr[-1]]
        case c.FlagsEnum():
            return st.fixed_dictionaries({str(name): st.booleans() for name in con.flags})
        case c.Const():
            return st.just(con.value)
        case c.StringEncoded():
            return _TEXT
        case c.GreedyRange():
            return st.lists(of(con.subcon, facts, depth), max_size=5)
        case c.FocusedSeq():
            return of(con.subcons[0], facts, depth)
        case c.Sequence():
            return _sequence(con, facts, depth)
        case c.IfThenElse():
            return st.none() | of(con.thensubcon, facts, depth)
        case c.Switch():
            return of(con.cases[con.keyfunc(c.Container(facts))], facts, depth)
        case c.Struct():
            return st.fixed_dictionaries({sub.name: of(sub, facts, depth) for sub in con.subcons})
    if con in _SINGLETONS:
        return _SINGLETONS[con]
    raise Unsupported(con)


_SINGLETONS: dict[Any, st.SearchStrategy[Any]] = {
    c.GreedyBytes: _OCTETS,
    c.Terminated: st.none(),
    c.Pass: st.none(),
    c.Flag: st.booleans(),
}


def _sequence(con: Any, facts: Mapping[str, Any], depth: int) -> st.SearchStrategy[Any]:
    """Where a letter announces the value, the letter is drawn first."""
    *before, letter, value = con.subcons
    if letter.name != "letter":
        return st.tuples(*(of(sub, facts, depth) for sub in con.subcons)).map(list)
    letters = [key for key in value.subcon.cases if depth > 0 or key not in b"FA"]
    names = st.tuples(*(of(sub, facts, depth) for sub in before))

    def announced(key: bytes) -> st.SearchStrategy[list[Any]]:
        return of(value.subcon.cases[key], facts, depth).map(lambda drawn: [key, drawn])

    return st.tuples(names, st.sampled_from(letters).flatmap(announced)).map(lambda both: [*both[0], *both[1]])


def _frames(facts: Mapping[str, Any]) -> st.SearchStrategy[bytes]:
    return of(wire.Frame, facts).map(lambda value: bytes(wire.Frame.build(value)))


def methods(index: int | None = None) -> st.SearchStrategy[bytes]:
    """Frames of this method, or of any."""
    if index is None:
        return st.sampled_from(_METHOD_INDEXES).flatmap(methods)
    return _frames({"type": wire.METHOD, "index": index})


def headers() -> st.SearchStrategy[bytes]:
    return _frames({"type": wire.HEADER})


def bodies() -> st.SearchStrategy[bytes]:
    return _frames({"type": wire.BODY})


def heartbeats() -> st.SearchStrategy[bytes]:
    return _frames({"type": wire.HEARTBEAT})


def frames() -> st.SearchStrategy[bytes]:
    """Good frames of every type."""
    return methods() | headers() | bodies() | heartbeats()


def broken(good: st.SearchStrategy[bytes] | None = None) -> st.SearchStrategy[tuple[str, bytes]]:
    """(what is wrong, octets): every defect that has a name."""
    return (frames() if good is None else good).flatmap(lambda raw: st.sampled_from(list(defects.variants(raw))))


@st.composite
def damaged(draw: st.DrawFn, good: st.SearchStrategy[bytes] | None = None) -> bytes:
    """A frame with octets changed, lost or added at random, its size set right again half of the time. Mostly broken,
    now and then still good: a codec and the declaration must agree on which."""
    raw = bytearray(draw(frames() if good is None else good))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(raw) - 1))
        match draw(st.sampled_from(["change", "lose", "add", "letter"])):
            case "change":
                raw[at] = draw(st.integers(0, 255))
            case "lose" if len(raw) > 1:
                del raw[at]
            case "add":
                raw[at:at] = draw(st.binary(min_size=1, max_size=3))
            case _:
                raw[at] = draw(st.sampled_from(b"".join(wire.LETTERS) + b"Z\0"))
    if len(raw) > 7 and draw(st.booleans()):
        raw[3:7] = (len(raw) - 8).to_bytes(4, "big")
    return bytes(raw)


def tables() -> st.SearchStrategy[FieldTable]:
    """Field tables as `codec.values` has them."""
    return of(wire.FieldTable, {}).map(_table)


def _table(items: list[list[Any]]) -> FieldTable:
    return [(name, letter.decode(), _value(letter, value)) for name, letter, value in items]


def _value(letter: bytes, value: Any) -> Any:
    match letter:
        case b"F":
            return _table(value)
        case b"A":
            return [(inner.decode(), _value(inner, item)) for inner, item in value]
        case b"D":
            return tuple(value)
    return value
