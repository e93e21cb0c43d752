"""What a suite said of a stranger, laid beside the truth: rule by rule, values in, values out.

A rule is *accused* where it is called broken (or known to be so), and *cleared* where it is called held. It is wrong to
accuse a rule that the stranger keeps, hidden or not, and wrong to clear one that it breaks. Any other word says that
nothing was seen: never wrong, and never counted as found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from reference_broker.personalities.kinds import Truth

ACCUSED, CLEARED = ("broken", "deviates"), "held"
How = Literal["judged", "hung", "aborted"]


@dataclass(frozen=True, slots=True)
class Said:
    """The verdict on one rule, and what was observed where it accuses."""

    verdict: str
    observed: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """How the suite fared on one stranger. `said` is empty where it did not end with results."""

    personality: str
    traits: tuple[str, ...]
    how: How
    exit: int | None
    seconds: float
    said: Mapping[str, Said]
    last_words: str = ""


@dataclass(frozen=True, slots=True)
class Wrong:
    """One verdict that the truth contradicts."""

    personality: str
    rule: str
    what: Literal["accused", "held"]
    observed: str


@dataclass(frozen=True, slots=True)
class Compared:
    """One run beside the truth; rules by what became of them."""

    wrong: tuple[Wrong, ...]
    judged: int
    found: tuple[str, ...]
    missed: tuple[str, ...]
    """Broken, and neither accused nor cleared."""


def answers_of(results: Mapping[str, Any]) -> dict[str, Said]:
    """What a results document says of each rule."""
    return {
        rule["id"]: Said(rule["verdict"], next((case["observed"] for case in rule["cases"]), "") or "")
        for rule in results["rules"]
    }


def compare(run: Run, truth: Truth) -> Compared:
    wrong, found, missed, judged = list[Wrong](), list[str](), list[str](), 0
    for rule, one in run.said.items():
        word = truth.of(rule)
        accused, cleared = one.verdict in ACCUSED, one.verdict == CLEARED
        judged += accused or cleared
        if accused and word in ("keeps", "hides"):
            wrong.append(Wrong(run.personality, rule, "accused", one.observed))
        elif cleared and word == "breaks":
            wrong.append(Wrong(run.personality, rule, "held", one.observed))
        elif word == "breaks":
            (found if accused else missed).append(rule)
    return Compared(tuple(wrong), judged, tuple(found), tuple(missed))


ACCUSED_AT_MOST, HELD_AT_MOST = 0.005, 0.02
"""Goals: shares of the rules judged."""


def sound(figures: Mapping[str, Any]) -> bool:
    """Are the goals met: none hung, none given up, few verdicts wrong?"""
    judged = figures["rules_judged"]
    few = figures["wrongly_accused"] <= ACCUSED_AT_MOST * judged and figures["wrongly_held"] <= HELD_AT_MOST * judged
    return few and not figures["hung"] and not figures["aborted"]


def tally(runs: Sequence[Run], compared: Iterable[Compared]) -> dict[str, Any]:
    """The figures of a campaign, and everything that was wrong."""
    compared = list(compared)
    wrong = [one for each in compared for one in each.wrong]
    seconds = sorted(run.seconds for run in runs)
    return {
        "personalities": len(runs),
        "rules_judged": sum(each.judged for each in compared),
        "wrongly_accused": sum(one.what == "accused" for one in wrong),
        "wrongly_held": sum(one.what == "held" for one in wrong),
        "found": sum(len(each.found) for each in compared),
        "missed": sum(len(each.missed) for each in compared),
        "hung": sum(run.how == "hung" for run in runs),
        "aborted": sum(run.how == "aborted" for run in runs),
        "worst_seconds": round(seconds[-1], 1) if seconds else 0.0,
        "median_seconds": round(seconds[len(seconds) // 2], 1) if seconds else 0.0,
        "wrong": [
            {"personality": one.personality, "rule": one.rule, "what": one.what, "observed": one.observed}
            for one in wrong
        ],
        "without_results": [
            {"personality": run.personality, "how": run.how, "exit": run.exit, "last_words": run.last_words}
            for run in runs
            if run.how != "judged"
        ],
    }
