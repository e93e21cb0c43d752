"""How much of the evidence fits on one page.

A page about one broker shows everything. A page about many brokers must stay small enough to send. There each case
shows what was required and what was seen. Its steps in words, their picture, and the interesting octets are added case
by case, worst first, as long as there is room. The first broker that breaks a rule comes before all others that break
it, because their exchange is mostly the same. What has no room is in the results of its broker, and the page says so.
Equal input gives equal pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.evidence.words import gravity
from reports.html.exchange import CaseView, case_view, scripted
from reports.html.runs import RunColumn

ROOM = 430_000
"""Characters of steps, pictures and octets on a page about many brokers."""

KEPT = (ROOM // 2, ROOM // 6, 0)
"""What steps, then pictures leave to the parts that come after them, where a rule is shown for the first time."""

SCRIPTS = 12
"""Scripts on a page about one broker; the others are in its folder."""

PARTS = ("steps", "ladder", "frames")


def fitted(sides: Sequence[tuple[RunColumn, Mapping[str, Any]]], brokers: int) -> list[list[CaseView]]:
    """The cases of each side."""
    made = [[case_view(case, run.key) for case in data.get("cases") or ()] for run, data in sides]
    if brokers < 2:
        return _with_scripts(sides, made)
    made = [[case.without("quiet") for case in cases] for cases in made]
    left = ROOM
    for again, part, *_, place, number in sorted(_wishes(sides, made)):
        case = made[place][number]
        size = case.size(PARTS[part])
        if size <= left - (0 if again else KEPT[part]):
            left -= size
        else:
            made[place][number] = case.without(PARTS[part])
    return made


def _with_scripts(
    sides: Sequence[tuple[RunColumn, Mapping[str, Any]]],
    made: Sequence[Sequence[CaseView]],
) -> list[list[CaseView]]:
    """The first case of the worst rules with its script, which is long."""
    found = [list(cases) for cases in made]
    told = [place for place, (_, data) in enumerate(sides) if found[place] and found[place][0].data.get("story")]
    for place in sorted(told, key=lambda place: gravity(sides[place][1]))[:SCRIPTS]:
        found[place][0] = scripted(found[place][0], sides[place][1])
    return found


def _wishes(
    sides: Sequence[tuple[RunColumn, Mapping[str, Any]]],
    made: Sequence[Sequence[CaseView]],
) -> Iterator[tuple[int, ...]]:
    """(was the rule shown before, part, how often it was shown, how bad it is, where the case stands)"""
    before: dict[str, int] = {}
    for place, (_, data) in enumerate(sides):
        for number in range(len(made[place])):
            times = before.get(data["id"], 0)
            before[data["id"]] = times + 1
            for part in range(len(PARTS)):
                yield min(times, 1), part, times, *gravity(data), place, number
