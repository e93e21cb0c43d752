"""Learned shapes change nothing but the speed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import codec
from codec import methods as m
from codec import shapes, values
from codec.values import FieldTable
from tests.support.octets import strategies

quiet = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


def frame(table: FieldTable) -> bytes:
    return m.QueueBind(1, arguments=table).encode()


def read(raw: bytes) -> FieldTable:
    method = codec.decode(raw)
    assert isinstance(method, m.QueueBind)
    return method.arguments


def teach(raw: bytes) -> None:
    for _ in range(shapes.LEARN_AT):
        codec.decode(raw)


def known(fresh: Any) -> dict[bytes, Any]:
    found: dict[bytes, Any] = fresh["decode_items_0"].known
    return found


@quiet
@given(table=strategies.tables(), data=st.data())
def test_a_table_like_the_last_ones(table: FieldTable, data: st.DataObject, fresh_shapes: Any) -> None:
    fresh_shapes["decode_items_0"].forget()
    teach(frame(table))
    assert read(frame(table)) == table
    other = data.draw(st.just(table).map(_changed) | strategies.tables())
    assert read(frame(other)) == other


def _changed(table: FieldTable) -> FieldTable:
    """The same names and letters, other lengths."""
    return [(name, letter, value + b"more" if letter in "Sx" else value) for name, letter, value in table]


@quiet
@given(raw=strategies.methods(m.QueueBind.INDEX), data=st.data())
def test_a_broken_table_like_good_ones_is_refused(
    raw: bytes, data: st.DataObject, fresh_shapes: Any, verdicts_on: Any
) -> None:
    fresh_shapes["decode_items_0"].forget()
    teach(raw)
    damaged = data.draw(strategies.damaged(st.just(raw)))
    declared, ours = verdicts_on(damaged)
    assert declared == ours


def test_a_shape_is_learned_and_used(fresh_shapes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = frame(values.table({"x-max-length": 5, "x-queue-type": "quorum", "x-nested": {"a": [True, None]}}))
    teach(raw)
    (shape,) = known(fresh_shapes).values()
    monkeypatch.setattr(fresh_shapes["decode_items_0"], "_general", None)  # no longer needed
    assert values.plain(read(raw)) == {"x-max-length": 5, "x-queue-type": "quorum", "x-nested": {"a": [True, None]}}
    assert "x-max-lengthI" in shape.source


def test_a_shape_that_would_read_past_the_buffer_leaves_the_table_to_the_general_reader(fresh_shapes: Any) -> None:
    teach(frame([("number", "l", 1), ("number", "l", 2), ("number", "l", 3)]))
    short: FieldTable = [("number", "l", 1)]
    assert read(frame(short)) == short


def test_a_shape_out_of_use_is_replaced(fresh_shapes: Any) -> None:
    teach(frame([("number", "l", 1)]))
    before = known(fresh_shapes)[b"\6numbe"]
    teach(frame([("number", "S", b"one")]))
    assert known(fresh_shapes)[b"\6numbe"] is not before


def test_what_is_followed_is_bounded(fresh_shapes: Any) -> None:
    for i in range(2 * shapes.MOST_BEGINNINGS):
        codec.decode(frame([(f"{i:05}x", "I", i)]))
    assert len(fresh_shapes["decode_items_0"]._unfamiliar) == shapes.MOST_BEGINNINGS


@pytest.mark.parametrize(
    "table",
    [
        [(f"name{i}", "V", None) for i in range(shapes.MOST_ITEMS + 1)],
        [("nested", "A", [("F", [("n", "V", None)])] * shapes.MOST_ITEMS)],
    ],
    ids=["many items", "many items inside"],
)
def test_large_tables_are_not_learned(table: FieldTable, fresh_shapes: Any) -> None:
    teach(frame(table))
    assert read(frame(table)) == table
    assert not known(fresh_shapes)


def test_tables_shorter_than_a_beginning_are_not_followed(fresh_shapes: Any) -> None:
    teach(frame([]))
    teach(frame([("a", "V", None)]))
    assert not fresh_shapes["decode_items_0"]._unfamiliar
