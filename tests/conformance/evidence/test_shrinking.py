"""Stories are made shorter part by part, and never by more than still holds."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.evidence.reproducer import Row
from conformance.evidence.shrinking import renumbered, shortest


def row(n: int, who: str, method: str, on: str = "c1", channel: int = 1, **more: object) -> Row:
    return {"n": n, "who": who, "on": on, "channel": channel, "method": method, **more}


STORY = [
    row(1, "-", "connect"),
    row(2, ">", "channel.open"),
    row(3, "<", "channel.open-ok"),
    row(4, ">", "confirm.select"),
    row(5, "<", "confirm.select-ok"),
    row(6, ">", "basic.publish", body="m1"),
    row(7, ">", "basic.publish", properties={"message_id": "m2"}),
    row(8, "<", "basic.ack", delivery_tag=2, multiple=True),
    row(9, "-", "connect", "c2"),
    row(10, ">", "channel.open", "c2"),
    row(11, "<", "channel.open-ok", "c2"),
    row(12, ">", "basic.get"),
    row(13, "<", "basic.get-ok", message="m1"),
    row(14, ">", "basic.get"),
    row(15, "<", "basic.get-ok", message="m2"),
    row(16, ">", "basic.ack", delivery_tag="@13"),
    row(17, ">", "basic.nack", delivery_tag="@15", requeue=True),
    row(18, "-", "pause", seconds=1.0),
    row(19, ">", "basic.get"),
    row(20, "<", "basic.get-ok", message="m2"),
]


def needs(*numbers: int) -> list[Row]:
    wanted = {(STORY[number - 1]["method"], STORY[number - 1].get("message")) for number in numbers}

    def holds(rows: Sequence[Row]) -> bool:
        return wanted <= {(one["method"], one.get("message")) for one in rows} and rows[-1] is STORY[-1]

    return shortest(STORY, holds, 10)


def test_what_is_not_missed_goes_and_the_last_row_stays() -> None:
    methods = [one["method"] for one in needs(7, 17)]
    assert methods == ["connect", "basic.publish", "basic.nack", "basic.get-ok"]


def test_confirm_mode_goes_with_its_confirms_and_leaves_settlements() -> None:
    kept = needs(2, 16)
    assert [one["method"] for one in kept if one["method"] in ("confirm.select", "basic.nack")] == []
    assert any(one["method"] == "basic.ack" and one["who"] == ">" for one in kept)


def test_rows_are_numbered_from_1_and_settlements_follow() -> None:
    kept = renumbered([STORY[0], STORY[12], STORY[15]])
    assert [one["n"] for one in kept] == [1, 2, 3]
    assert kept[-1]["delivery_tag"] == "@2"


def test_a_story_of_which_nothing_may_go_is_kept_whole() -> None:
    assert shortest(STORY, lambda rows: False, 10) == STORY


def test_when_the_time_is_over_what_has_been_tried_counts() -> None:
    assert shortest(STORY, lambda rows: True, 0) == STORY
