"""From counts of gold to the verdict table, and its comparison with the live verdicts.

Spark counts, or this process does. `conformance.oracle.verdicts` turns the few rows per rule that remain into
verdicts, so only one place knows what a verdict is. Which rules are broken in a known way is for others to say: these
deviate.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from conformance.catalogue import profiles, rules
from conformance.catalogue.rules import Rule
from conformance.oracle.verdicts import Finding, Verdict, explaining, stands, verdict_of, why_not
from reports.judging.gold import DOUBT, EXERCISED, FINDING


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """One line of the verdict table."""

    run: str
    broker: str
    profile: str
    rule: str
    level: str
    verdict: str
    exercised: int
    findings: int
    doubtful: int
    reason: str = ""
    """Why it could not be judged, where it could not: `3 histories began mid-way`."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a broker offers, as far as it decides whether a rule applies."""

    queue_types: frozenset[str]
    capabilities: frozenset[str]
    choices: Mapping[str, str] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()

    def includes(self, rule: Rule) -> bool:
        capable = rule.capability is None or rule.capability in self.capabilities
        capable = capable and self.refused.isdisjoint(rule.needs)
        return capable and bool(self.queue_types & set(rule.queue_types)) and rule.ruled_out(self.choices) is None


def offer(header: Mapping[str, Any]) -> Offer:
    """What the broker of a recording offered: what the header says, else what profile and server properties imply."""
    profile = profiles.load(profiles.spec(header))
    queue_types = header.get("queue_types") or profile.queue_types
    announced = (header.get("server_properties") or {}).get("capabilities") or {}
    capabilities = header.get("capabilities")
    if capabilities is None:
        capabilities = [name for name, value in announced.items() if value]
    refused = frozenset(header.get("refused") or ())
    return Offer(frozenset(queue_types), frozenset(capabilities), profile.choices, refused)


class Counted(NamedTuple):
    """What rows of gold on a rule have in common when they are counted. `unless`: as a finding has it, in order."""

    what: str
    certain: bool | None = None
    why: str | None = None
    unless: tuple[str, ...] = ()


Counts = Mapping[Counted, int]


def of_run(
    run: str, header: Mapping[str, Any], counts: Mapping[str, Counts], known: Collection[str] = ()
) -> list[VerdictRow]:
    """The verdicts on all rules. `known`: those that are broken as it is known of this broker. They deviate."""
    offered = offer(header)
    rows = []
    causes = _explaining(counts, known)
    for rule in rules.CATALOGUE.values():
        seen = counts.get(rule.id, {})
        exercised = seen.get(Counted(EXERCISED), 0)
        found = [(_is_proof(kind, causes), times) for kind, times in seen.items() if kind.what == FINDING]
        certain, doubtful = (sum(times for proof, times in found if proof is wanted) for wanted in (True, False))
        reasons = {str(kind.why): times for kind, times in seen.items() if kind.what == DOUBT}
        verdict = _verdict(rule, certain, doubtful, exercised, offered.includes(rule), bool(reasons))
        if verdict is Verdict.BROKEN and rule.id in known:
            verdict = Verdict.DEVIATES
        rows.append(
            VerdictRow(
                run,
                str(header.get("broker", "")),
                str(header.get("profile", "")),
                rule.id,
                rule.level,
                verdict.value,
                exercised,
                certain,
                doubtful,
                why_not(reasons) if verdict is Verdict.INCONCLUSIVE else "",
            )
        )
    return rows


def _explaining(counts: Mapping[str, Counts], known: Collection[str]) -> frozenset[str]:
    """The rules whose breach explains what others seem to break; what is known to be broken explains nothing."""
    found = {
        rule: [(bool(kind.certain), kind.unless) for kind in seen if kind.what == FINDING]
        for rule, seen in counts.items()
        if rule not in known
    }
    return explaining(found, {rule: seen.get(Counted(EXERCISED), 0) for rule, seen in counts.items()})


def _is_proof(kind: Counted, causes: Collection[str]) -> bool:
    """Are findings of this kind certain, though other rules are broken as well?"""
    return stands(certain=bool(kind.certain), unless=kind.unless, explained_by=causes)


def _verdict(rule: Rule, certain: int, doubtful: int, exercised: int, offered: bool, unknown: bool) -> Verdict:
    if not rule.judged and not certain and not doubtful:
        return Verdict(rule.status)
    kinds = [True] * bool(certain) + [False] * bool(doubtful)
    findings = [Finding(rule.id, "", 0, "", "", certain=kind) for kind in kinds]
    return verdict_of(findings, exercised, needed=rule.needed, offered=offered, doubtful=unknown)


def differences(rows: Sequence[VerdictRow], results: Mapping[str, Any]) -> list[str]:
    """What the recording and the live run disagree on, in words. Empty: they agree.

    A known race that the live run did not see is held by its recording. A rule that the live run had no reason to list
    must not be contradicted by it. Where the suite itself
    failed, the recording may only lack what the failure left out.
    """
    live = {str(rule["id"]): rule for rule in results["rules"]}
    offline = {row.rule: row for row in rows}
    found = [f"{rule}: judged live, unknown to the recording's catalogue" for rule in live if rule not in offline]
    for row in rows:
        expected = _expected(live.get(row.rule))
        if row.verdict not in expected:
            found.append(f"{row.rule}: {_or(expected)} live, {row.verdict} from the recording")
        elif row.rule in live and live[row.rule]["exercised"] != row.exercised:
            times = live[row.rule]["exercised"]
            found.append(f"{row.rule}: exercised {times} times live, {row.exercised} times in the recording")
    return found


def _expected(live: Mapping[str, Any] | None) -> tuple[str, ...]:
    clean = (Verdict.HELD, Verdict.UNDER_TESTED, Verdict.NOT_OFFERED)
    if live is None:
        return (*clean, Verdict.PLANNED, Verdict.NOT_JUDGEABLE)
    if live["verdict"] == Verdict.DEVIATES:
        return Verdict.BROKEN, Verdict.DEVIATES
    if live["verdict"] == Verdict.UNSEEN:
        return (Verdict.HELD,)
    return clean if live["verdict"] == Verdict.HARNESS_ERROR else (str(live["verdict"]),)


def _or(expected: Sequence[str]) -> str:
    return "not broken" if len(expected) > 1 and expected[0] == Verdict.HELD else str(expected[0])
