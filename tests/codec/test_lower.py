"""Partial evaluation: what is known disappears, what is not understood is refused."""

from __future__ import annotations

import construct as c
import pytest

from codec import wire
from codec.lower import Op, Unsupported, item_parts, lower


def test_a_method_frame_has_no_choice_left() -> None:
    assert lower(wire.Frame, {"type": 1, "index": 60 << 16 | 80}) == [
        Op("const", "type", "B", 1),
        Op("number", "channel", "H"),
        Op("size", "size", "I"),
        Op("const", "index", "I", 0x3C0050),
        Op("number", "delivery_tag", "Q"),
        Op("bits", "bits", "B", ("multiple",)),
        Op("end", "payload"),
        Op("const", "end", "B", 0xCE),
    ]


def test_a_header_has_the_properties_of_its_flags() -> None:
    flags = {name: name in ("priority", "app_id") for name in wire.FLAGS}
    ops = lower(wire.Frame, {"type": 2, "flags": flags})
    assert [(op.kind, op.name, op.extra) for op in ops[3:-2]] == [
        ("const", "class_id", 60),
        ("const", "weight", 0),
        ("number", "body_size", None),
        ("const", "flags", 0x0808),
        ("number", "priority", None),
        ("text", "app_id", None),
    ]


def test_a_number_is_four_octets_whatever_construct_calls_it() -> None:
    assert lower(c.Int32ub, {}) == [Op("number", "", "I")]
    assert lower(c.Int32sb, {}) == [Op("number", "", "i")]


@pytest.mark.parametrize(
    "con",
    [
        c.Int16ul,
        c.CString("utf8"),
        c.PascalString(c.Int8ub, "ascii"),
        c.BitStruct("a" / c.Flag, c.Padding(7)),
        c.FlagsEnum(c.Int8ub, a=1),
        c.FlagsEnum(wire.Defined(c.Int8ub, 3), a=1),
        c.Const(b"x"),
        c.VarInt,
        c.Prefixed(c.Int32ub, c.FocusedSeq("it", "it" / c.GreedyRange(c.Int8ub))),
    ],
    ids=[
        "little endian",
        "zero terminated",
        "not UTF-8",
        "bits highest first",
        "flags that ignore bits",
        "a bit without a name",
        "constant octets",
        "varint",
        "items without an end",
    ],
)
def test_what_is_not_understood_is_refused(con: c.Construct) -> None:
    with pytest.raises(Unsupported):
        lower(con, {})


@pytest.mark.parametrize(
    "item",
    [
        c.Sequence("key" / wire.ShortStr, "value" / c.Switch(c.this.key, {})),
        c.Sequence("name" / wire.LongStr, wire.Letter, wire.Value),
        c.Sequence("a" / wire.ShortStr, "b" / wire.ShortStr, wire.Letter, wire.Value),
    ],
    ids=["no letter", "a long name", "two names"],
)
def test_items_of_another_form_are_refused(item: c.Construct) -> None:
    with pytest.raises(Unsupported):
        item_parts(item)
