"""Tables between plain values, the wire and JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import codec
from codec import methods as m
from codec import values
from tests.support.octets import strategies

quiet = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
PLAIN = {
    "none": None,
    "yes": True,
    "small": -(2**31),
    "large": 2**31,
    "float": 0.5,
    "text": "ключ",
    "octets": b"\xff",
    "table": {"a": 1},
    "list": ["x", 2, [None]],
    "decimal": Decimal("-1.5"),
}


def test_every_plain_value_has_its_letter() -> None:
    assert values.table(PLAIN) == [
        ("none", "V", None),
        ("yes", "t", True),
        ("small", "I", -(2**31)),
        ("large", "l", 2**31),
        ("float", "d", 0.5),
        ("text", "S", "ключ".encode()),
        ("octets", "x", b"\xff"),
        ("table", "F", [("a", "I", 1)]),
        ("list", "A", [("S", b"x"), ("I", 2), ("A", [("V", None)])]),
        ("decimal", "D", (1, -15)),
    ]


def test_plain_values_come_back() -> None:
    assert values.plain(values.table(PLAIN)) == PLAIN


def test_a_moment_is_its_second() -> None:
    assert values.typed(datetime(2023, 11, 14, 22, 13, 20, 999999, tzinfo=UTC)) == ("T", 1700000000)


@pytest.mark.parametrize("value", [object(), {1, 2}, Decimal("NaN")])
def test_what_has_no_letter_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="no field value for"):
        values.table({"a": value})


def test_tables_keep_order_duplicates_and_letters() -> None:
    table = [("b", "S", b"1"), ("a", "x", b"1"), ("b", "u", 1), ("b", "B", 1)]
    frame = codec.decode(m.QueueBind(1, arguments=table).encode())
    assert isinstance(frame, m.QueueBind)
    assert frame.arguments == table
    assert values.plain(frame.arguments) == {"b": 1, "a": b"1"}
    assert values.lookup(frame.arguments, "b") == "1"


def test_lookup_gives_the_default() -> None:
    assert values.lookup([], "a") is None
    assert values.lookup([("b", "V", None)], "a", 5) == 5


def test_octets_that_are_no_text_stay_octets() -> None:
    table = [("a", "S", b"\xff"), ("b", "S", b"ok"), ("c", "x", b"ok")]
    assert values.plain(table) == {"a": b"\xff", "b": "ok", "c": b"ok"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], {}),
        ([("a", "F", [])], {"a": {}}),
        ([("a", "A", [])], {"a": []}),
        (b"PLAIN", "PLAIN"),
        (b"\xff", {"hex": "ff"}),
        ([("a", "A", [("A", [("S", b"x"), ("I", 1)])])], {"a": [["x", 1]]}),
        ([("D", (1, -15))], ["-1.5"]),
        ([("a", "d", float("inf"))], {"a": "inf"}),
        ("text", "text"),
        (7, 7),
        (True, True),
        (None, None),
        ({"t": (1, b"\xff")}, {"t": [1, {"hex": "ff"}]}),
    ],
)
def test_json_form(value: Any, expected: Any) -> None:
    assert values.to_json(value) == expected


@quiet
@given(table=strategies.tables())
def test_any_table_has_a_json_form(table: values.FieldTable) -> None:
    text = json.dumps(values.to_json(table), allow_nan=False)
    assert set(json.loads(text)) == {name for name, _, _ in table}


@quiet
@given(
    table=st.dictionaries(
        st.text(max_size=10),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers(-(2**63), 2**63 - 1)
            | st.floats(allow_nan=False)
            | st.text()
            | st.binary(),
            lambda inner: st.lists(inner, max_size=3),
            max_leaves=5,
        ),
        max_size=5,
    )
)
def test_plain_tables_travel(table: dict[str, Any]) -> None:
    frame = codec.decode(m.QueueBind(1, arguments=values.table(table)).encode())
    assert isinstance(frame, m.QueueBind)
    assert values.plain(frame.arguments) == table
