"""The gate: may this broker pass? A pure function of verdicts, known deviations, and the day.

Closed by
  - a broken MUST outside the deviations, and with `strict` a broken SHOULD;
  - a deviation that is stale (the rule holds now), drifted (the rule breaks, but not in the way that is written down),
    expired, over-broad (its pattern fits anything), or seen more often than the race that is written down can be;
  - a check that failed through a fault of ours, or a connection that got lost without an explanation;
  - a broker that answers nobody any more, or has ended, and checks that were not played;
  - a run that was cut short, or that came to no verdict at all, or exercised less than `min_coverage` per cent of the
    MUST rules that the broker offers: silence is no pass.
Only judged rules close it: what a monitor says of a rule that is still planned is shown, and said as a warning. So is a
single MUST that was too little exercised: nothing was seen to be wrong. OBSERVED rules report, and are never asked.
What may be typed to live with it is told once, behind all reasons (`advice`). Entries that name no rule, or fit even no
words, are refused before anything runs.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from conformance.catalogue.deviations import Deviation
from conformance.oracle.verdicts import Verdict
from conformance.outcome.ledger import Incident
from conformance.outcome.results import Gate, RuleResult

_SETTLED = (Verdict.HELD, Verdict.BROKEN, Verdict.DEVIATES, Verdict.UNSEEN, Verdict.INCONCLUSIVE)
_ANYTHING = ("0", "the quick brown fox", "?!", "~ zebra_4711", "É")
_NAMED = 12
IMPLAUSIBLE = 1e-6
"""What is less likely than this is no chance: a run asks some ten times, and runs are many."""
_GRAVE = ("wedged", "gone")
"""Kinds of incidents after which nothing can be examined."""
OUT_OF_TIME = "the run reached its time limit"
"""Why a check was not played."""
MORE_TIME = (
    "To play all checks, give --time-limit MINUTES. Where the broker is far away, most of a run is waiting: "
    "-n 8 plays eight checks at a time"
)


@dataclass(frozen=True, slots=True)
class Known:
    """The deviations of a run, the file or name they were read from, the day on which they are looked at, and where the
    results of the run will lie, as one types it; empty: nowhere."""

    entries: Sequence[Deviation] = ()
    source: str = ""
    today: datetime.date = datetime.date.min
    sought: bool = True
    """The run went looking for them. Where the traffic is somebody else's, what it did not meet says nothing."""
    results: str = "results.json"

    def race(self, rule: str, queue_types: Collection[str]) -> Deviation | None:
        """The first entry by which this rule breaks now and then, on one of these queue types."""
        fitting = (
            entry
            for entry in self.entries
            if entry.rule == rule and entry.intermittent and entry.measured and self.sought
        )
        return next((entry for entry in fitting if set(entry.queue_types) & set(queue_types)), None)


def decide(
    rules: Sequence[RuleResult],
    known: Known,
    exercised: Mapping[str, Mapping[str, int]],
    *,
    strict: bool = False,
    min_coverage: int = 0,
    complete: bool = True,
    troubles: Collection[str] = (),
    lost: Collection[str] = (),
    late: Collection[str] = (),
    incidents: Sequence[Incident] = (),
    unplayed: Mapping[str, int] = MappingProxyType({}),
    met: Mapping[str, Mapping[str, int]] = MappingProxyType({}),
    unmet: Collection[int] = (),
) -> Gate:
    """Open or closed, and why. `exercised`: queue type to rule to count; `troubles`, `lost`, `late`: names of checks;
    `incidents`: what happened to the broker; `unplayed`: how many checks were not played, by the reason; `met`: queue
    type to circumstance to how often it arose; `unmet`: places of the deviations whose circumstances never arose where
    their rule was exercised."""
    asked = {rule.id: rule for rule in rules if rule.selected}
    grave = [incident for incident in incidents if incident.kind in _GRAVE]
    broken = _broken(asked, strict)
    entries = _entries(asked, known, exercised, complete=complete, unmet=unmet)
    reasons = [
        *(f"{incident.what}{_times(incident)}" for incident in grave),
        *(f"{count} checks were not played: {why}" for why, count in sorted(unplayed.items())),
        *broken,
        *entries,
        *_too_often(asked, known, met),
        *_listed("harness error: the suite itself failed in these checks", troubles),
        *_listed("the broker ended the connection in the middle of these checks, and no rule explains it", lost),
        *_listed("these checks did not finish in time, and were stopped", late),
    ]
    if not complete:
        reasons.append("the run was interrupted; the missing checks may hide a broken rule")
    elif not any(rule.verdict in (*_SETTLED, Verdict.HARNESS_ERROR) for rule in asked.values()):
        reasons.append("nothing was judged: no selected rule has a verdict")
    else:
        reasons += _thin(asked.values(), min_coverage)
    aside = [f"{one.what}{_times(one)} (scene {one.scene})" for one in incidents if one.kind not in _GRAVE]
    warnings = (*aside[:_NAMED], *_warnings(rules))
    advice = *_advice(broken, entries, known), *([MORE_TIME] if OUT_OF_TIME in unplayed else [])
    return Gate(not reasons, tuple(reasons), warnings, advice)


def _thin(asked: Iterable[RuleResult], least: int) -> list[str]:
    """Was too little of what the broker offers exercised? Nobody may pass for what was not looked at."""
    offered = [
        rule
        for rule in asked
        if rule.level == "must" and rule.status == "judged" and rule.verdict != Verdict.NOT_OFFERED
    ]
    bare = [rule.id for rule in offered if rule.verdict == Verdict.UNDER_TESTED]
    seen, many = len(offered) - len(bare), len(offered)
    if 100 * seen >= least * many:
        return []
    return [
        f"only {seen} of {many} MUST rules ({100 * seen // many} %) were exercised, and {least} % are needed "
        f"(--min-coverage). Try amqp-conformance doctor URL, or a greater --depth: {_some(bare)}"
    ]


def _times(incident: Incident) -> str:
    return f", {incident.times} times" if incident.times > 1 else ""


def _broken(asked: Mapping[str, RuleResult], strict: bool) -> list[str]:
    closing = ("must", "should") if strict else ("must",)
    return [
        f"{rule.id} ({rule.level.upper()}) is broken: {rule.title}"
        for rule in asked.values()
        if rule.verdict == Verdict.BROKEN and rule.level in closing and rule.status == "judged"
    ]


def _advice(broken: Collection[str], entries: Collection[str], known: Known) -> tuple[str, ...]:
    """How the list of deviations is made to fit, in one line; where nobody broke anything, there is none."""
    if not broken and not entries:
        return ()
    what = "To accept what is broken as known" if broken else "To correct the list of deviations"
    renewed = [" --expires DATE"] if any(" expired on " in one for one in entries) else []
    return (f"{what}: {_baseline(known, *renewed)}",)


def _baseline(known: Known, more: str = "") -> str:
    """What writes entries for what is broken, and mends those that do not fit any more."""
    own = known.source.endswith(".toml")
    file = known.source if own else "known.toml"
    before = "" if known.results else ", after a run with --report DIR"
    after = "" if own else f", and run with --deviations {file}"
    return f"amqp-conformance baseline {known.results or 'DIR'} --deviations {file}{more}{before}{after}"


def pattern(observed: str) -> str:
    """A pattern that fits what was observed, numbers and names aside, reply codes not; it has no quotes, so that TOML
    takes it as it is."""
    words = re.sub(r"(?<!\S)(?<!close )(?<!return )\S*\d\S*", "\0", observed).strip("\0 ").split("\0")
    fitting = ".*".join(_escaped(part) for part in words)
    return fitting if fitting and not over_broad(fitting) else _escaped(observed)


def _escaped(text: str) -> str:
    return re.escape(text).replace("\\ ", " ").replace("'", ".")


def _entries(
    asked: Mapping[str, RuleResult],
    known: Known,
    exercised: Mapping[str, Mapping[str, int]],
    *,
    complete: bool,
    unmet: Collection[int],
) -> list[str]:
    """What is wrong with the list of deviations. Only a run to the end can tell that one has gone stale."""
    reasons = []
    for place, entry in enumerate(known.entries):
        rule = asked.get(entry.rule)
        name = f"deviation {place + 1} of {known.source} ({entry.rule}, reason {entry.reason!r})"
        if entry.expired(known.today):
            reasons.append(f"{name} expired on {entry.expires}: delete it, or check it again and set a later 'expires'")
        if over_broad(entry.reason):
            reasons.append(f"{name} fits anything: write the observed text into 'reason'")
        elif rule is not None:
            reasons += _fit(rule, place, entry, name, exercised, complete=complete and place not in unmet)
    return reasons


def _fit(
    rule: RuleResult,
    place: int,
    entry: Deviation,
    name: str,
    exercised: Mapping[str, Mapping[str, int]],
    *,
    complete: bool,
) -> list[str]:
    """Does what is written down still happen? Nobody knows that of an entry that was measured on another version."""
    if not entry.measured or any(case.deviation == place for case in rule.cases):
        return []
    here = [case for case in rule.cases if case.certain and case.queue_type in entry.queue_types]
    if other := [case for case in here if case.deviation is None]:
        return [
            f"{name} has drifted: {rule.id} is broken in another way, {other[0].observed!r}. "
            f"Look at it, then correct 'reason', or delete the entry"
        ]
    if entry.intermittent or not complete:
        return []
    seen = sum(exercised.get(queue_type, {}).get(rule.id, 0) for queue_type in entry.queue_types)
    if here or seen < rule.needed or rule.verdict not in _SETTLED:
        return []
    return [f"{name} is stale: the rule holds now ({seen} times exercised). Delete the entry"]


def _too_often(
    asked: Mapping[str, RuleResult],
    known: Known,
    met: Mapping[str, Mapping[str, int]],
) -> Iterator[str]:
    """Is what is known to happen now and then seen more often than chance explains?"""
    for place, entry in enumerate(known.entries):
        rule = asked.get(entry.rule)
        if rule is None or entry.at_most is None:
            continue
        seen, could = often(rule, place, entry, met)
        if chance(seen, could, entry.at_most) < IMPLAUSIBLE:
            yield (
                f"deviation {place + 1} of {known.source} ({entry.rule}, {entry.reason!r}) happens too often: "
                f"{seen} of {could} times with {entry.where}, and a share of {entry.at_most:g} is known. Check it;"
                " if it is the race that the note describes, measure it again and set 'at_most'"
            )


def often(
    rule: RuleResult,
    place: int,
    entry: Deviation,
    met: Mapping[str, Mapping[str, int]],
) -> tuple[int, int]:
    """How often the entry was met, and how often its circumstances arose."""
    seen = sum(case.times for case in rule.cases if case.deviation == place)
    return seen, max(seen, sum(met.get(name, {}).get(entry.where, 0) for name in entry.queue_types))


def chance(seen: int, could: int, share: float) -> float:
    """How likely it is to see at least so many, where each could be one with this probability."""
    if seen == 0 or share >= 1:
        return 1.0
    return math.fsum(
        math.exp(
            math.lgamma(could + 1)
            - math.lgamma(n + 1)
            - math.lgamma(could - n + 1)
            + n * math.log(share)
            + (could - n) * math.log1p(-share)
        )
        for n in range(seen, could + 1)
    )


def over_broad(pattern: str) -> bool:
    """Does the pattern fit texts that have nothing in common?"""
    return all(re.search(pattern, text) for text in _ANYTHING)


def _warnings(rules: Sequence[RuleResult]) -> list[str]:
    asked = [rule for rule in rules if rule.selected]
    bare = [rule.id for rule in asked if rule.level == "must" and rule.verdict == Verdict.UNDER_TESTED]
    doubt = [rule.id for rule in asked if rule.verdict == Verdict.INCONCLUSIVE]
    aside = [rule.id for rule in rules if not rule.selected and rule.verdict == Verdict.BROKEN]
    early = [rule.id for rule in asked if rule.status != "judged" and rule.verdict == Verdict.BROKEN]
    many = f"{len(bare)} MUST rules, which were" if len(bare) > 1 else "one MUST rule, which was"
    return [
        *_listed(f"UNDER-TESTED: the run says nothing about {many} not exercised enough", bare),
        *_listed("inconclusive: the broker may be wrong, but the text or a race also explains what was seen", doubt),
        *_listed("seen broken, but not counted yet: these rules are planned, and their monitors are not proven", early),
        *_listed("also broken, though not selected for this run", aside),
    ]


def _listed(what: str, names: Collection[str]) -> list[str]:
    if not names:
        return []
    return [f"{what}: {_some(names)}"]


def _some(names: Collection[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(sorted(names)[:_NAMED])}{more}"
