"""How much of the evidence fits on one page.

One broker shows everything. Pages about many brokers stay sendable: each case shows its two sides and its steps in
words; pictures, and then octets, set-up aside, are given to the cases in order, worst first, as long as there is
room. The first broker that shows a rule broken comes before all others that do, because theirs is mostly the same
exchange again. What had no room is in the results of its broker, and the page says so. Equal input gives equal pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reports.html.exchange import CaseView, case_view
from reports.html.runs import Run
from reports.html.words import gravity

ROOM = 420_000
"""Characters of pictures and octets on a page about many brokers."""


def fitted(sides: Sequence[tuple[Run, Mapping[str, Any]]], brokers: int) -> list[list[CaseView]]:
    """The cases of each side."""
    made = [[case_view(case, run.key) for case in data.get("cases") or ()] for run, data in sides]
    if brokers < 2:
        return made
    made = [[case.without("quiet") for case in cases] for cases in made]
    wanted = sorted(_ranked(sides, made))
    left = ROOM
    for part in ("ladder", "frames"):
        for *_, place, number in wanted:
            case = made[place][number]
            size = case.size(part)
            if size <= left:
                left -= size
            else:
                made[place][number] = case.without(part)
    return made


def _ranked(
    sides: Sequence[tuple[Run, Mapping[str, Any]]], made: Sequence[Sequence[CaseView]],
) -> list[tuple[int, int, int, int, int, int]]:
    """(how often the rule was shown before, how bad it is, where the case stands)"""
    before: dict[str, int] = {}
    ranked = []
    for place, (_, data) in enumerate(sides):
        for number, _ in enumerate(made[place]):
            times = before.get(data["id"], 0)
            before[data["id"]] = times + 1
            ranked.append((times, *gravity(data), place, number))
    return ranked
