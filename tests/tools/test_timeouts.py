"""The page about the precedence of consumer timeouts: every combination, and what was measured is what was expected."""

from __future__ import annotations

import pytest

from conformance.drive.scenes.precedence import GENERAL, combinations_of
from conformance.oracle.model.consumers.clocks import Levels
from tools.pages import timeouts

EARLY, LATE = 150, 400
"""Milliseconds: a client that is busy with other rows reads a delivery late, or a notification."""


def cells(line: str) -> list[int | None]:
    return [int(cell) if cell.strip() else None for cell in line.strip().strip("|").split("|")]


def rows() -> list[list[int | None]]:
    page = timeouts.PAGE.read_text(encoding="utf-8")
    return [cells(line) for line in page.splitlines() if line.startswith("|") and line[2:3] in " 0123456789"]


def test_the_page_has_every_combination_in_order() -> None:
    expected = [[one.consumer, one.argument, one.policy, one.general, one.effective()] for one in combinations_of()]
    assert [row[:5] for row in rows()] == expected


@pytest.mark.parametrize("column", [5, 6], ids=["reference", "real"])
def test_what_was_measured_is_what_was_expected(column: int) -> None:
    for row in rows():
        expected, measured = row[4], row[column]
        assert expected is not None
        assert measured is not None, row
        assert expected - EARLY < measured < expected + LATE, row


def test_a_table_has_a_gap_where_nothing_was_measured() -> None:
    only = Levels(general=GENERAL)
    lines = timeouts.table({"mine": {only: 5003}}).splitlines()
    assert lines[0] == "| consumer | queue argument | policy | broker | expected | mine |"
    assert f"|  |  |  | {GENERAL} | {GENERAL} | 5003 |" in lines
    assert "| 500 |  |  |  | 500 |  |" in lines
