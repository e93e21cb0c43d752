"""From the construct declaration to a flat list of operations, by partial evaluation.

`lower(con, facts)` walks a declaration with the facts that are already known (frame type, method index, property flags)
and calls the declaration's own conditions on them, so that what is left has no choice in it: one method's frame becomes
the list of its fields. What it does not understand it refuses; it never guesses.

| kind    | the octets                                    | name, fmt (a letter of `struct`), extra            |
|---------|-----------------------------------------------|----------------------------------------------------|
| number  | one number                                    | extra: nothing                                     |
| flag    | one octet, zero or not                        |                                                    |
| const   | a number that must have this value            | extra: the value                                   |
| bits    | flags packed in one number                    | extra: the names, lowest bit first                 |
| size    | how many octets follow until `end`            |                                                    |
| text    | length, UTF-8                                 | fmt: of the length                                 |
| octets  | length, octets                                | fmt: of the length                                 |
| rest    | all octets up to `end`                        |                                                    |
| items   | length, a list of items                       | extra: the Sequence that one item is               |
| end     | here the octets announced by `size` must end  |                                                    |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import construct as c

from codec import wire


class Unsupported(Exception):
    """A construct that has no operation."""


class Op(NamedTuple):
    """One step along a frame."""

    kind: str
    name: str
    fmt: str = ""
    extra: Any = None


_FORMATS = str.maketrans("Ll", "Ii")  # construct says L where struct's standard size letter is I


def lower(con: Any, facts: Mapping[str, Any], name: str = "") -> list[Op]:
    """The operations of `con`, once `facts` are known."""
    match con:
        case c.Renamed() | c.Rebuild() | wire.Nested():
            return lower(con.subcon, facts, con.name if isinstance(con, c.Renamed) else name)
        case c.LazyBound():
            return lower(con.subconfunc(), facts, name)
        case c.FormatField():
            return [_known(Op("number", name, _fmt(con)), facts)]
        case c.FlagsEnum():
            return [_known(Op("bits", name, _fmt(con.subcon), _flag_names(con)), facts)]
        case c.Const():
            return [Op("const", name, _fmt(con.subcon), con.value)]
        case c.StringEncoded(encoding="utf8"):
            (octets,) = lower(con.subcon, facts, name)
            return [octets._replace(kind="text")]
        case c.Prefixed():
            return _prefixed(con, facts, name)
        case c.Struct() | c.Sequence() | c.FocusedSeq():
            return [op for sub in con.subcons for op in lower(sub, facts, name)]
        case c.Switch():
            return lower(con.cases[con.keyfunc(_context(facts))], facts, name)
        case c.IfThenElse():
            return lower(con.thensubcon if con.condfunc(_context(facts)) else con.elsesubcon, facts, name)
    if con in _SINGLETONS:
        kind = _SINGLETONS[con]
        return [Op(kind, name, "B" if kind == "flag" else "")] if kind else []
    raise Unsupported(con)


_SINGLETONS = {c.GreedyBytes: "rest", c.Terminated: "end", c.Flag: "flag", c.Pass: ""}


def _context(facts: Mapping[str, Any]) -> Any:
    return c.Container(facts)


def _known(op: Op, facts: Mapping[str, Any]) -> Op:
    """A field whose value is a fact is a constant."""
    if op.name not in facts:
        return op
    value = facts[op.name]
    if op.kind == "bits":
        value = sum(1 << i for i, name in enumerate(op.extra) if name and value[name])
    return Op("const", op.name, op.fmt, value)


def _fmt(con: Any) -> str:
    """The format letter of a number."""
    if isinstance(con, wire.Defined):
        con = con.subcon
    if not isinstance(con, c.FormatField) or con.fmtstr[0] != ">":
        raise Unsupported(con)
    return str(con.fmtstr[1:].translate(_FORMATS))


def _flag_names(con: Any) -> tuple[str, ...]:
    """Names by bit, lowest first; a bit without a name is ''. All bits with a name, and no other, must be defined."""
    by_bit = {int(value): name for name, value in con.flags.items()}
    if not isinstance(con.subcon, wire.Defined) or con.subcon.mask != sum(by_bit):
        raise Unsupported(con)
    return tuple(by_bit.get(1 << i, "") for i in range(con.subcon.mask.bit_length()))


def _prefixed(con: Any, facts: Mapping[str, Any], name: str) -> list[Op]:
    """Octets, a list of items, or a payload, each with its length before it."""
    (length,) = lower(con.lengthfield, facts)
    sub = con.subcon
    if sub is c.GreedyBytes:
        return [Op("octets", name, length.fmt)]
    if isinstance(sub, c.FocusedSeq) and isinstance(sub.subcons[0].subcon, c.GreedyRange):
        if sub.subcons[1:] != [c.Terminated]:
            raise Unsupported(con)
        return [Op("items", name, length.fmt, sub.subcons[0].subcon.subcon)]
    return [Op("size", "size", length.fmt), *lower(sub, facts, name)]


def item_parts(item: Any) -> tuple[bool, dict[bytes, list[Op]]]:
    """Has an item a name; and what each letter announces."""
    *name, letter, value = item.subcons
    if [s.name for s in (letter, value)] != ["letter", "value"] or len(name) > 1:
        raise Unsupported(item)
    if [op.kind for n in name for op in lower(n, {})] not in ([], ["text"]):
        raise Unsupported(item)
    return bool(name), {key: lower(con, {}) for key, con in value.subcon.cases.items()}
