"""Tables and arrays: the readers and writers of lists of items.

A reader takes each letter together with the four octets after it, which for most letters is all there is to unpack.
Names that are written are kept with their length before them, at most MOST_NAMES of them.
"""

from __future__ import annotations

import struct
from typing import Any

from codec import emit, wire
from codec.emit import Function, items_name
from codec.errors import Unencodable
from codec.lower import Op, Unsupported, item_parts, lower
from codec.shapes import Shapes

MOST_NAMES = 4096
SHAPES: dict[str, Shapes] = {}
FUNCTIONS: dict[str, Any] = {}  # what the readers and writers of frames call
_names: dict[str, bytes] = {}


def keep_name(name: str) -> bytes:
    """A short string with its length, from now on in `names`."""
    raw = name.encode()
    if len(raw) > 255:
        raise Unencodable(f"a name of {len(raw)} octets; a short string holds 255")
    if len(_names) >= MOST_NAMES:
        _names.clear()
    prefixed = _names[name] = bytes((len(raw),)) + raw
    return prefixed


def _define() -> None:
    """Emit and compile for tables, and for arrays, which are asked for while tables are emitted."""
    (table,) = lower(wire.FieldTable, {})
    items_name("decode", table)
    functions: list[Function] = []
    for op in emit.item_kinds:
        functions += _items_decoder(op), _items_encoder(op)
    made = emit.define(functions, "<codec items>")
    for op in emit.item_kinds:
        name = items_name("decode", op)
        shapes = SHAPES[name] = Shapes(op, made[name], wire.MAX_DEPTH - 1)
        FUNCTIONS.update({f"known_{name}": shapes.known.get, f"read_{name}": shapes.read})
    FUNCTIONS.update(made)


def _items_decoder(op: Op) -> Function:
    named, letters = item_parts(op.extra)
    f = Function(items_name("decode", op), "b, t, p, end, depth")
    f.add("items = []; add = items.append", "while p < end:")
    if named:
        f.add("s = p + 1; q = s + b[p]; k = t[s:q]", "if not k.isascii(): k = b[s:q].decode()", indent=2)
    else:
        f.add("q = p", indent=2)
    f.add(f"g, n = {f.unpacker('BI')}(b, q)", "q += 5", indent=2)
    for i, (letter, ops) in enumerate(letters.items()):
        f.add(f"{'elif' if i else 'if'} g == {letter[0]}:", indent=2)
        f.add(*_item_read(f, ops, f"add(({'k, ' if named else ''}{letter.decode()!r}, %s))"), indent=3)
    f.add("else: raise Refused", indent=2)
    f.add("if p != end: raise Refused", "return items")
    return f


def _item_read(f: Function, ops: list[Op], add: str) -> list[str]:
    """The statements that read one value: n is what its first four octets say, q is where they end."""
    fmt = "".join(o.fmt for o in ops)
    match [(o.kind, o.fmt) for o in ops]:
        case []:
            return ["p = q - 4", add % "None"]
        case [("flag", "B")]:
            return ["p = q - 3", add % "n > 0xFFFFFF"]
        case [("octets", "I")]:
            return ["p = q + n", add % "b[q:p]"]
        case [("items", "I")]:
            return [
                "if not depth: raise Refused",
                "p = q + n",
                add % f"{items_name('decode', ops[0])}(b, t, q, p, depth - 1)",
            ]
        case [("number", "I")]:
            return ["p = q", add % "n"]
        case [("number", "i")]:
            return ["p = q", add % "n if n < 0x80000000 else n - 0x100000000"]
        case [("number", _)]:
            return [f"p = q + {struct.calcsize('>' + fmt) - 4}", f"v, = {f.unpacker(fmt)}(b, q - 4)", add % "v"]
        case [("number", _), ("number", _)]:
            return [f"p = q + {struct.calcsize('>' + fmt) - 4}", add % f"{f.unpacker(fmt)}(b, q - 4)"]
    raise Unsupported(ops)


def _items_encoder(op: Op) -> Function:
    named, letters = item_parts(op.extra)
    f = Function(items_name("encode", op), "items, depth")
    f.add("r = []; add = r.append", f"for {'k, ' if named else ''}g, v in items:")
    if named:
        f.add(f"add({f.need('names', _names)}.get(k) or {f.need('keep_name', keep_name)}(k))", indent=2)
    for i, (letter, ops) in enumerate(letters.items()):
        f.add(f"{'elif' if i else 'if'} g == {letter.decode()!r}:", indent=2)
        f.add(_item_write(f, letter, ops), indent=3)
    f.add("else: raise Unencodable(f'no value has the letter {g!r}')", indent=2)
    f.add("raw = b''.join(r)", f"return {f.packer(op.fmt)}(len(raw)) + raw")
    return f


def _item_write(f: Function, letter: bytes, ops: list[Op]) -> str:
    """The statement that writes one value with its letter."""
    match [o.kind for o in ops]:
        case []:
            return f"add({letter!r})"
        case ["flag"]:
            return f"add({letter + bytes([1])!r} if v else {letter + bytes([0])!r})"
        case ["octets"]:
            return f"add({f.packer('c' + ops[0].fmt)}({letter!r}, len(v))); add(v)"
        case ["items"]:
            deeper = f"add({letter!r}); add({items_name('encode', ops[0])}(v, depth - 1))"
            return f"if not depth: raise Unencodable('nested too deep')\n            {deeper}"
        case ["number"]:
            return f"add({f.packer('c' + ops[0].fmt)}({letter!r}, v))"
        case ["number", "number"]:
            return f"add({f.packer('c' + ''.join(o.fmt for o in ops))}({letter!r}, *v))"
    raise Unsupported(ops)


_define()
