"""Verdicts, and how they are made of findings and coverage.

A *finding* is one contradiction between a history and a rule, with the events that show it. *Coverage* counts how
often a rule was exercised. A *doubt* is the reason why a history could not judge a rule: it lacks something that the
claim needs.

A rule's verdict is a pure function of these three and of what the broker offers. Nothing else in the project decides
what is right or wrong. Over several histories the worst certain result counts: one contradiction breaks a rule, and
no number of agreements mends it. Doubts count only if nothing else was seen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Verdict(StrEnum):
    """What can be said of one rule on one broker."""

    HELD = "held"
    BROKEN = "broken"
    DEVIATES = "deviates"
    UNSEEN = "unseen"
    NOT_OFFERED = "not-offered"
    UNDER_TESTED = "under-tested"
    INCONCLUSIVE = "inconclusive"
    HARNESS_ERROR = "harness-error"
    PLANNED = "planned"
    NOT_JUDGEABLE = "not-judgeable"


REASONS: Mapping[str, tuple[str, str]] = {
    "joined": ("began in the middle of a connection", "began in the middle of a connection"),
    "gap": ("has missing octets", "have missing octets"),
    "cut": ("is cut off", "are cut off"),
    "open world": (
        "shares its broker with clients you did not capture (--whole if that is not so)",
        "share their broker with clients you did not capture (--whole if that is not so)",
    ),
    "clocks": ("was recorded with clocks that differ", "were recorded with clocks that differ"),
    "namesakes": (
        "uses one name of a queue in two virtual hosts: capture one of them",
        "use one name of a queue in two virtual hosts: capture one of them",
    ),
}
"""Why a history may be incomplete, in words for one history and for several."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One contradiction: rule, where, what was allowed, what was observed, and the events that prove it.

    `certain=False` makes the verdict inconclusive instead of broken: the text or a race explains it, too. `unless` are
    rules that would explain it as well: see `explaining`.
    """

    rule: str
    history: str
    at: int
    allowed: str
    observed: str
    witness: tuple[int, ...] = ()
    certain: bool = True
    where: tuple[str, ...] = ()
    """The circumstances in which it happened (`rules.circumstances`), each with its place."""
    unless: tuple[str, ...] = field(default=(), compare=False)
    silent: bool = field(default=False, compare=False)
    """It was seen by a connection that ended without a word, which something between us and the broker may have done:
    it counts if it comes again."""


@dataclass(slots=True)
class Judgement:
    """The fold's result over one or many histories: findings, how often each rule was exercised, what was reported."""

    findings: list[Finding] = field(default_factory=list)
    exercised: Counter[str] = field(default_factory=Counter)
    reports: dict[str, Counter[str]] = field(default_factory=dict)
    doubts: dict[str, Counter[str]] = field(default_factory=dict)
    """By rule: the reasons why it could not be judged, each with the number of such histories."""
    met: Counter[str] = field(default_factory=Counter)
    """How often each circumstance arose in which brokers are known to fail."""

    def add(self, other: Judgement) -> None:
        self.findings += other.findings
        self.exercised.update(other.exercised)
        self.met.update(other.met)
        for rule, reasons in other.doubts.items():
            self.doubts.setdefault(rule, Counter()).update(reasons)
        for rule, seen in other.reports.items():
            self.reports.setdefault(rule, Counter()).update(seen)


def explaining(
    found: Mapping[str, Iterable[tuple[bool, Collection[str]]]], exercised: Mapping[str, int]
) -> frozenset[str]:
    """The rules whose breach explains what others seem to break.

    A rule is one of them if it is suspected and was not seen to be kept once, or if it is broken and nothing that was
    found explains that: what would explain it as well, and was never broken, explains nothing. So is what only seems
    broken because of one of them: what that explains has the same cause. `found`: by rule, whether a finding is
    certain, and its `unless`.
    """
    suspected = {
        rule for rule, kinds in found.items() if not exercised.get(rule) and not all(certain for certain, _ in kinds)
    }
    possible = suspected | {rule for rule, kinds in found.items() if any(certain for certain, _ in kinds)}
    proven = {
        rule
        for rule, kinds in found.items()
        if any(certain and possible.isdisjoint(unless) for certain, unless in kinds)
    }
    causes, more = set[str](), proven | suspected
    while more:
        causes |= more
        more = {
            rule
            for rule, kinds in found.items()
            if rule not in causes and any(certain and not causes.isdisjoint(unless) for certain, unless in kinds)
        }
    return frozenset(causes)


def stands(*, certain: bool, unless: Iterable[str], explained_by: Collection[str]) -> bool:
    """Is such a finding certain, where these rules explain what others seem to break?"""
    return certain and not any(rule in explained_by for rule in unless)


def verdict_of(
    findings: Iterable[Finding],
    exercised: int,
    *,
    needed: int = 1,
    offered: bool = True,
    doubtful: bool = False,
) -> Verdict:
    """The verdict on one rule, before deviations. `needed`: how often it must have been exercised at least;
    `doubtful`: incomplete histories would have exercised it more often."""
    doubt = False
    for finding in findings:
        if finding.certain:
            return Verdict.BROKEN
        doubt = True
    if not offered:
        return Verdict.NOT_OFFERED
    if doubt:
        return Verdict.INCONCLUSIVE
    if exercised >= needed:
        return Verdict.HELD
    return Verdict.INCONCLUSIVE if doubtful else Verdict.UNDER_TESTED


def verdict_table(judgement: Judgement, rules: Mapping[str, tuple[int, bool]]) -> dict[str, Verdict]:
    """Verdict by rule id; `rules` maps each judged id to (needed, offered)."""
    by_rule: dict[str, list[Finding]] = {}
    for finding in judgement.findings:
        by_rule.setdefault(finding.rule, []).append(finding)
    return {
        rule: verdict_of(
            by_rule.get(rule, ()),
            judgement.exercised[rule],
            needed=needed,
            offered=offered,
            doubtful=rule in judgement.doubts,
        )
        for rule, (needed, offered) in rules.items()
    }


def whatever_number(why: str) -> str:
    """The same words as for one history, however many there were."""
    for one, several in REASONS.values():
        why = why.replace(several, one)
    return re.sub(r"\d+ histor(?:y|ies) ", "", why)


def why_not(reasons: Mapping[str, int]) -> str:
    """Why a rule is inconclusive, in words; `reasons` counts histories by why they are incomplete."""
    said = []
    for reason, histories in sorted(reasons.items(), key=lambda one: (-one[1], one[0])):
        one, several = REASONS[reason]
        said.append(f"1 history {one}" if histories == 1 else f"{histories} histories {several}")
    return ", ".join(said) or "a lawful order of events also explains what was seen"
