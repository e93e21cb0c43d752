"""From operations to straight-line Python: the decoders and encoders that run.

A decoder reads a frame's arguments from `b` (the buffer), and texts from `t` (the same octets as latin-1 text:
slicing it gives a str at once, right as long as it is ASCII), starting at `p`. Neighbouring numbers, with the length of
the string that follows them, are one `unpack_from`. It checks little as it goes, because positions only ever grow: a
length that leads outside the frame makes the position miss `end`, and that one comparison refuses it. Whatever a
decoder raises means "malformed" (REFUSALS); saying where and why is the business of `explain`, off the fast path.
Callers put PAD behind the last octet, so that a read of more than there is left needs no question.

An encoder packs everything between two long fields at once. The format depends on nothing but the lengths of the short
strings, so the packers are kept by those lengths.

Every emitted function has its text in `.source`; functions that are compiled together share a namespace of their own.
"""

from __future__ import annotations

import linecache
import struct
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from codec import wire
from codec.errors import Unencodable
from codec.lower import Op

PAD = bytes(8)
BEGINNING = 6  # this many octets of a table tell whether it may look like one seen before
MOST_PACKERS = 4096


class Refused(Exception):
    """Not what the declaration says. Never leaves this package."""


REFUSALS = (Refused, LookupError, struct.error, UnicodeDecodeError)


def keep_packer(kept: dict[int, Any], key: int, pattern: str, *lengths: int) -> Any:
    """The packer for these lengths of strings, from now on in `kept`."""
    if len(kept) >= MOST_PACKERS:
        kept.clear()
    packer = kept[key] = struct.Struct(pattern % lengths).pack
    return packer


def refuse_value(owner: Any, problem: Exception) -> Unencodable:
    """What encoding `owner` failed with, in one sentence."""
    return problem if isinstance(problem, Unencodable) else Unencodable(f"cannot encode {owner!r}: {problem}")


SHARED: dict[str, Any] = {  # what emitted functions name
    "new": object.__new__,
    "Refused": Refused,
    "Unencodable": Unencodable,
    "refuse_value": refuse_value,
    "keep_packer": keep_packer,
    "UNENCODABLE": (struct.error, TypeError, ValueError, AttributeError, LookupError),
}


NOTHING: Mapping[str, Any] = MappingProxyType({})


class Function:
    """The text of a function as it grows, and the objects that it names."""

    def __init__(self, name: str, parameters: str) -> None:
        self.name, self.lines, self._count = name, [f"def {name}({parameters}):"], 0
        self.needs: dict[str, Any] = {}

    def add(self, *lines: str, indent: int = 1) -> None:
        self.lines += ["    " * indent + line for line in lines]

    def temporary(self) -> str:
        self._count += 1
        return f"_{self._count}"

    def need(self, name: str, thing: Any) -> str:
        self.needs[name] = thing
        return name

    def unpacker(self, fmt: str) -> str:
        return self.need(f"U_{fmt}", struct.Struct(">" + fmt).unpack_from)

    def packer(self, fmt: str) -> str:
        return self.need(f"P_{fmt}", struct.Struct(">" + fmt).pack)

    @property
    def source(self) -> str:
        return "\n".join(self.lines) + "\n"


def define(functions: Sequence[Function], where: str, given: Mapping[str, Any] = NOTHING) -> dict[str, Any]:
    """Compile them together; the functions by name. `where` names their text in tracebacks, `given` is what else they
    call."""
    text = "\n".join(f.source for f in functions)
    linecache.cache[where] = (len(text), None, text.splitlines(keepends=True), where)
    namespace = {**SHARED, **given}
    for function in functions:
        namespace |= function.needs
    exec(compile(text, where, "exec"), namespace)
    for function in functions:
        namespace[function.name].source = function.source
    return {function.name: namespace[function.name] for function in functions}


def forget(where: str) -> None:
    """Tracebacks will not need that text any more."""
    linecache.cache.pop(where, None)


def flags_table(count: int) -> Any:
    """Octet -> its bits as bools; an octet with other bits set has no row, and looking it up is the refusal."""
    if count == 1:
        return False, True
    return tuple(tuple(bool(octet >> i & 1) for i in range(count)) for octet in range(1 << count))


item_kinds: list[Op] = []


def items_name(verb: str, op: Op) -> str:
    """The function that reads or writes a list of such items; `items` emits those that have been asked for."""
    number = next((i for i, known in enumerate(item_kinds) if known.extra is op.extra), len(item_kinds))
    if number == len(item_kinds):
        item_kinds.append(op)
    return f"{verb}_items_{number}"


class Reads:
    """Emits the reads of a run of operations; `values` collects (attribute, expression)."""

    def __init__(self, function: Function) -> None:
        self.f, self.values = function, list[tuple[str, str]]()
        self._base, self._offset = "p", 0
        self._run: list[tuple[str, str]] = []

    def read(self, ops: Iterable[Op]) -> list[tuple[str, str]]:
        for op in ops:
            getattr(self, f"_{op.kind}")(op)
        self._flush()
        return self.values

    @property
    def _at(self) -> str:
        return f"{self._base} + {self._offset}" if self._offset else self._base

    def _fixed(self, fmt: str) -> str:
        value = self.f.temporary()
        self._run.append((fmt, value))
        return value

    def _flush(self) -> None:
        """What has been collected becomes one unpack."""
        if not self._run:
            return
        fmt = "".join(f for f, _ in self._run)
        if fmt == "B":
            self.f.add(f"{self._run[0][1]} = b[{self._at}]")
        else:
            self.f.add(f"{', '.join(v for _, v in self._run)}, = {self.f.unpacker(fmt)}(b, {self._at})")
        self._offset += struct.calcsize(">" + fmt)
        self._run = []

    def _number(self, op: Op) -> None:
        self.values.append((op.name, self._fixed(op.fmt)))

    def _bits(self, op: Op) -> None:
        raw, count = self._fixed(op.fmt), len(op.extra)
        table = self.f.need(f"FLAGS{count}", flags_table(count))
        if len(op.extra) == 1:
            self.values.append((op.extra[0], f"{table}[{raw}]"))
            return
        self._flush()
        names = [self.f.temporary() for _ in op.extra]
        self.f.add(f"{', '.join(names)} = {table}[{raw}]")
        self.values += zip(op.extra, names, strict=True)

    def _span(self, op: Op) -> tuple[str, str]:
        """Where the octets after a length begin and end."""
        length, begin, end = self._fixed(op.fmt), self.f.temporary(), self.f.temporary()
        self._flush()
        self.f.add(f"{begin} = {self._at}; {end} = {begin} + {length}")
        self._base, self._offset = end, 0
        return begin, end

    def _text(self, op: Op) -> None:
        begin, end = self._span(op)
        value = self.f.temporary()
        self.f.add(f"{value} = t[{begin}:{end}]", f"if not {value}.isascii(): {value} = b[{begin}:{end}].decode()")
        self.values.append((op.name, value))

    def _octets(self, op: Op) -> None:
        begin, end = self._span(op)
        self.values.append((op.name, f"b[{begin}:{end}]"))

    def _items(self, op: Op) -> None:
        begin, end = self._span(op)
        value, kind = self.f.temporary(), items_name("decode", op)
        self.f.add(f"{value} = (known_{kind}(b[{begin}:{begin} + {BEGINNING}]) or read_{kind})(b, t, {begin}, {end})")
        self.values.append((op.name, value))

    def _end(self, op: Op) -> None:
        self._flush()
        self.f.add(f"if {self._at} != end: raise Refused")


class Writes:
    """Emits the packing of a run of operations, read from attributes of `o`."""

    def __init__(self, function: Function) -> None:
        self.f = function
        self._segments: list[list[tuple[str, str, bool]] | str] = [[]]  # runs of (format, value, of that length?)
        self._fixed, self._variable = 0, list[str]()

    def write(self, ops: Iterable[Op]) -> None:
        for op in ops:
            getattr(self, f"_{op.kind}")(op)
        self.f.add(f"return {' + '.join(self._part(i, s) for i, s in enumerate(self._segments) if s)}")

    def _put(self, fmt: str, value: str) -> None:
        run = self._segments[-1]
        assert isinstance(run, list)
        run.append((fmt, value, False))
        self._fixed += struct.calcsize(">" + fmt)

    def _splice(self, value: str) -> None:
        self._variable.append(f"len({value})")
        self._segments += [value, []]

    def _number(self, op: Op) -> None:
        self._put(op.fmt, f"o.{op.name}")

    def _const(self, op: Op) -> None:
        self._put(op.fmt, str(op.extra))

    def _size(self, op: Op) -> None:
        self._put(op.fmt, "SIZE")
        self._fixed = 0

    def _end(self, op: Op) -> None:
        self._size_text = " + ".join([str(self._fixed), *self._variable])

    def _bits(self, op: Op) -> None:
        self._put(op.fmt, " | ".join(f"({1 << i} if o.{name} else 0)" for i, name in enumerate(op.extra)))

    def _text(self, op: Op) -> None:
        value, length = self.f.temporary(), self.f.temporary()
        self.f.add(f"{value} = o.{op.name}.encode(); {length} = len({value})")
        self._put(op.fmt, length)
        run = self._segments[-1]
        assert isinstance(run, list)
        run.append((length, value, True))
        self._variable.append(length)

    def _octets(self, op: Op) -> None:
        value = self.f.temporary()
        self.f.add(f"{value} = o.{op.name}")
        self._put(op.fmt, f"len({value})")
        self._splice(value)

    def _rest(self, op: Op) -> None:
        value = self.f.temporary()
        self.f.add(f"{value} = o.{op.name}")
        self._splice(value)
        self._end(op)

    def _items(self, op: Op) -> None:
        value = self.f.temporary()
        self.f.add(f"{value} = {items_name('encode', op)}(o.{op.name}, {wire.MAX_DEPTH - 1})")
        self._splice(value)

    def _part(self, number: int, segment: list[tuple[str, str, bool]] | str) -> str:
        if isinstance(segment, str):
            return segment
        values = ", ".join(v.replace("SIZE", self._size_text) for _, v, _ in segment)
        lengths = [f for f, _, sized in segment if sized]
        if lengths:
            return f"{self._sized_packer(number, segment, lengths)}({values})"
        if all(v.isdigit() for _, v, _ in segment):
            fmt = ">" + "".join(f for f, _, _ in segment)
            return repr(struct.pack(fmt, *(int(v) for _, v, _ in segment)))
        return f"{self.f.packer(''.join(f for f, _, _ in segment))}({values})"

    def _sized_packer(self, number: int, segment: list[tuple[str, str, bool]], lengths: list[str]) -> str:
        """A variable that holds the packer for these lengths. A length is below 256, or packing it fails."""
        kept = self.f.need(f"KEPT_{self.f.name}_{number}", {})
        pattern = ">" + "".join("%ds" if sized else f for f, _, sized in segment)
        key, pack = self.f.temporary(), self.f.temporary()
        self.f.add(
            f"{key} = " + " | ".join(f"{n} << {8 * i}" if i else n for i, n in enumerate(lengths)),
            f"{pack} = {kept}.get({key}) or keep_packer({kept}, {key}, {pattern!r}, {', '.join(lengths)})",
        )
        return pack


def decoder(name: str, cls: type, ops: Sequence[Op], given: Sequence[str]) -> Function:
    """A function that makes a `cls` from `ops`; `given` are attributes that the caller has read already."""
    f = Function(name, ", ".join(["b", "t", "p", "end", *given]))
    values = [(g, g) for g in given] + Reads(f).read(ops)
    f.add(f"o = new({f.need(f'C_{name}', cls)})")
    f.add(*(f"o.{attribute} = {value}" for attribute, value in values), "return o")
    return f


def encoder(name: str, ops: Sequence[Op]) -> Function:
    """A function (used as a method) that gives the octets of a whole frame."""
    f, inner = Function(name, "o"), Function(name, "o")
    Writes(inner).write(ops)
    f.add("try:")
    f.lines += ["    " + line for line in inner.lines[1:]]
    f.needs = inner.needs
    f.add("except UNENCODABLE as problem:", "    raise refuse_value(o, problem) from problem")
    return f
