"""What rewritten code is answered, and what is counted."""

from __future__ import annotations

import pytest

from tools.mutation.live import Live, same
from tools.mutation.triggers import ALWAYS, Trigger

SECOND = Trigger("from", k=2)


def test_where_both_sides_are_the_same_it_was_no_occasion() -> None:
    live = Live(ALWAYS)
    assert [live.differ(lambda: 1, lambda: 1), live.differ(lambda: 1, lambda: 2)] == [1, 2]
    assert (live.occasions, live.fired) == (1, 1)


def test_a_wrong_side_that_cannot_be_had_fails_when_it_fires() -> None:
    live = Live(SECOND)
    assert live.differ(lambda: "right", lambda: 1 // 0) == "right"
    with pytest.raises(ZeroDivisionError):
        live.differ(lambda: "right", lambda: 1 // 0)
    assert (live.occasions, live.fired) == (2, 1)


def test_another_end_needs_more_things() -> None:
    live = Live(ALWAYS)
    assert [live.fires_among("a", 1), live.fires_among("ab", 1)] == [False, True]
    assert live.occasions == 1


def test_while_it_is_silenced_it_is_honest_and_counts_nothing() -> None:
    live = Live(ALWAYS)
    with live.silenced():
        assert not live.fires()
    assert live.occasions == 0
    assert live.fires()


def test_of_conditions_only_the_truth_counts() -> None:
    assert same("anything", True)
    assert not same("", True)
    assert same([1], [1])
    assert not same([1], [2])
