"""Folding: like frames become one, nothing that differs is lost, and the words of a run tell each of its steps."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from conformance.evidence.folding import SHORTEST, describe_group, runs


def step(text: str, **more: Any) -> dict[str, Any]:
    return {"text": text, "direction": ">", "connection": "c1", "channel": 1, "interest": True, **more}


def acks(*tags: int) -> list[dict[str, Any]]:
    return [step(f"basic.ack {tag}") for tag in tags]


def words(steps: list[dict[str, Any]], apart: frozenset[int] = frozenset()) -> list[str]:
    return [describe_group(group) for group in runs(steps, apart)]


def test_a_run_of_growing_numbers_is_one_line() -> None:
    assert words(acks(*range(34, 91))) == ["basic.ack 34..90, 57 frames"]


def test_numbers_that_stay_are_said_once() -> None:
    steps = [step(f"basic.publish m{n} to q.7.x") for n in range(9, 13)]
    assert words(steps) == ["basic.publish m9..12 to q.7.x, 4 frames"]
    assert words([step("basic.get q7")] * 5) == ["basic.get q7, 5 frames"]


def test_a_jump_ends_a_run() -> None:
    assert words(acks(1, 5, 6, 7, 8, 12)) == ["basic.ack 1", "basic.ack 5..8, 4 frames", "basic.ack 12"]


def test_a_repetition_is_no_growth() -> None:
    assert words(acks(1, 1, 2, 3, 4)) == ["basic.ack 1", "basic.ack 1..4, 4 frames"]


def test_few_steps_stay_steps() -> None:
    assert words(acks(1, 2, 3)) == ["basic.ack 1", "basic.ack 2", "basic.ack 3"]


def test_other_channels_directions_and_words_end_a_run() -> None:
    for other in (
        {"channel": 2},
        {"direction": "<"},
        {"connection": "c2"},
        {"interest": False},
        {"text": "basic.ack 5 multiple"},
    ):
        assert len(runs([*acks(1, 2, 3, 4), {**step("basic.ack 5"), **other}])) == 2


def test_what_is_to_stand_apart_does() -> None:
    assert words(acks(*range(1, 10)), frozenset({4})) == [
        "basic.ack 1..4, 4 frames",
        "basic.ack 5",
        "basic.ack 6..9, 4 frames",
    ]


def test_the_largest_tag_and_odd_digits_are_text() -> None:
    largest = [step(f"basic.ack {2**64 - 4 + n}") for n in range(4)]
    assert len(runs(largest)) == 4
    assert len(runs([step(f"basic.ack 0{n}") for n in range(5)])) == 5
    assert len(runs([step(f"basic.ack {digit}") for digit in "١٢٣٤"])) == 4


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from(["basic.ack", "basic.nack", "open"])), max_size=40))
def test_nothing_is_lost_and_nothing_moves(drawn: list[tuple[int, str]]) -> None:
    steps = [step(f"{name} {number}") for number, name in drawn]
    groups = runs(steps)
    assert [one for group in groups for one in group] == steps
    assert all(len(group) == 1 or len(group) >= SHORTEST for group in groups)
