"""What two runs disagree on, in sentences for somebody who moves from the one broker to the other. Pure.

A rule is contradicted where its verdict is broken or deviates: whether a deviations file excuses it matters to a gate,
not to an operator. Of each rule that differs there is one change, of one kind:

    broken            kept before, contradicted after         new rule          the later run alone judged it, or it
    fixed             the other way round                                       applies to the later broker alone, which
    changed reason    contradicted by both, in other words                      contradicts it
    gone rule         the earlier run alone judged it         now offered, no longer offered
    seen otherwise    kept by both, and what the texts leave open was seen to be done in other ways
    unclear           one of the two runs cannot say

What the texts leave open, and the profiles of the two read in different ways, is a *choice* that differs; rules that
apply under one reading alone stand with it, unless they are contradicted. Kinds in `TELLING`, and choices, make two
runs differ; the others are worth reading, and may be luck.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from conformance.catalogue import rules
from conformance.catalogue.profiles import CHOICES
from conformance.oracle.verdicts import Verdict
from conformance.outcome.ledger import gist
from conformance.outcome.readings import ChoiceDifference, Readings
from conformance.outcome.results import Case, Results, RuleResult

SCHEMA = "amqp-conformance/diff/1"
BROKEN, FIXED, CHANGED, NEW, GONE = "broken", "fixed", "changed reason", "new rule", "gone rule"
OFFERED, WITHDRAWN, SEEN, UNCLEAR = "now offered", "no longer offered", "seen otherwise", "unclear"
KINDS = (BROKEN, FIXED, CHANGED, NEW, GONE, OFFERED, WITHDRAWN, SEEN, UNCLEAR)
TELLING = frozenset(KINDS[:7])
_CONTRADICTED = (Verdict.BROKEN, Verdict.DEVIATES)
_LEVELS = ("must", "should", "may", "observed")
_SHOWN = 3
_PRIVATE = re.compile(r"amqpconf\.[\w.-]*\w")


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """One rule on which the runs disagree: verdicts (None: not judged there), sentences, the exchanges that show it
    as cases of results.json, each with the name of its broker."""

    kind: str
    rule: str
    level: str
    title: str
    clause: str
    before: str | None
    after: str | None
    sentences: tuple[str, ...]
    shown: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """All of it. `before`, `after`: name, version, profile, run, depth, seed, suite."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    headline: str
    warnings: tuple[str, ...]
    changes: tuple[VerdictChange, ...]
    choices: tuple[ChoiceDifference, ...]
    same: bool
    unchanged: int
    schema: str = field(default=SCHEMA)

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def compare(before: Results, after: Results) -> Comparison:
    """What the second run says otherwise than the first."""
    names = _names(before, after)
    readings = Readings(before, after)
    earlier, later = ({rule.id: rule for rule in run.rules if rule.selected} for run in (before, after))
    changes = []
    for name in _order([*earlier, *later]):
        change = _Pair(earlier.get(name), later.get(name), names, readings).change()
        if change is not None and not _follows(change, readings):
            changes.append(change)
    changes.sort(key=lambda change: (KINDS.index(change.kind), _LEVELS.index(change.level), change.rule))
    same = not readings.choices and not any(change.kind in TELLING for change in changes)
    differing = {change.rule for change in changes} | readings.rules
    return Comparison(
        _side(before, names[0]),
        _side(after, names[1]),
        _headline(names, changes, readings.choices, same),
        tuple(_warnings(before, after, names, readings)),
        tuple(changes),
        readings.choices,
        same,
        sum(name not in differing for name in {**earlier, **later}),
    )


def _follows(change: VerdictChange, readings: Readings) -> bool:
    """Does the change follow from a choice that differs, and say no more than that?"""
    quiet = change.kind in (OFFERED, WITHDRAWN, UNCLEAR) and not change.shown
    return quiet and change.rule in readings.rules and Verdict.NOT_OFFERED in (change.before, change.after)


def _names(before: Results, after: Results) -> tuple[str, str]:
    """What the two are called; two of one name are told apart by their profiles, then by their runs."""
    for told in (
        lambda run: run.broker.name,
        lambda run: f"{run.broker.name} ({run.profile})",
        lambda run: f"{run.broker.name} (run {run.run})",
    ):
        if told(before) != told(after):
            return told(before), told(after)
    return f"{before.broker.name}, before", f"{after.broker.name}, after"


def _order(names: Sequence[str]) -> list[str]:
    """In the order of the catalogue, what that does not know behind it."""
    known = {name: place for place, name in enumerate(rules.CATALOGUE)}
    return sorted(dict.fromkeys(names), key=lambda name: (known.get(name, len(known)), name))


def _side(run: Results, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "version": run.broker.version,
        "profile": run.profile,
        "run": run.run,
        "depth": run.depth,
        "seed": run.seed,
        "suite": run.suite,
        "started": run.started,
    }


class _Pair:
    """One rule in both runs."""

    def __init__(
        self,
        before: RuleResult | None,
        after: RuleResult | None,
        names: tuple[str, str],
        readings: Readings,
    ) -> None:
        self._before, self._after = before, after
        self._old, self._new = names
        self._choices = readings.profiles

    def change(self) -> VerdictChange | None:
        before, after = self._before, self._after
        if before is None or after is None:
            return self._alone(NEW, after, self._old) if after else self._alone(GONE, before, self._new)
        if _contradicted(before) or _contradicted(after):
            return self._contradiction(before, after)
        if {before.verdict, after.verdict} == {Verdict.HELD, Verdict.UNSEEN}:
            return None
        if before.verdict == after.verdict:
            return self._seen(before, after) if set(before.reports) != set(after.reports) else None
        if Verdict.NOT_OFFERED in (before.verdict, after.verdict):
            return self._offer(before, after)
        return self._made(UNCLEAR, self._doubt(before, self._old), self._doubt(after, self._new))

    def _alone(self, kind: str, rule: RuleResult | None, other: str) -> VerdictChange | None:
        """A rule that one run alone came to a verdict on."""
        if rule is None or rule.verdict in (Verdict.PLANNED, Verdict.NOT_JUDGEABLE):
            return None
        name = self._new if kind == NEW else self._old
        said = self._observed(rule, name) if _contradicted(rule) else [f"{name}: {_word(rule)}."]
        return self._made(kind, [f"The run on {other} did not include this rule."], said)

    def _contradiction(self, before: RuleResult, after: RuleResult) -> VerdictChange | None:
        if {before.verdict, after.verdict} == {Verdict.DEVIATES, Verdict.UNSEEN}:
            return None
        if not _contradicted(after):
            kept = [f"{self._new} keeps this rule (exercised {_times(after.exercised)})."]
            if after.verdict == Verdict.HELD:
                return self._made(FIXED, kept, self._observed(before, self._old, past=True))
            if after.verdict == Verdict.NOT_OFFERED:
                return self._made(WITHDRAWN, [self._withdrawn(after)], self._observed(before, self._old))
            return self._made(UNCLEAR, self._observed(before, self._old), self._doubt(after, self._new))
        if not _contradicted(before):
            kind = NEW if before.verdict == Verdict.NOT_OFFERED else BROKEN
            return self._made(kind, self._observed(after, self._new), self._kept(before))
        if _same_words(before, after):
            return None
        return self._made(CHANGED, self._observed(before, self._old), self._observed(after, self._new))

    def _kept(self, before: RuleResult) -> list[str]:
        if before.verdict == Verdict.HELD:
            return [f"{self._old} keeps this rule (exercised {_times(before.exercised)})."]
        if before.verdict == Verdict.NOT_OFFERED:
            return [f"The rule does not apply to {self._old}{self._reason(before, self._old)}."]
        return self._doubt(before, self._old)

    def _reason(self, rule: RuleResult, name: str) -> str:
        """Why a rule does not apply to a broker: by the answer to an open question, or what it does not offer."""
        known = rules.CATALOGUE.get(rule.id)
        chosen = self._choices[name == self._new]
        for choice, readings in known.where if known else ():
            if choice in chosen and chosen[choice] not in readings:
                said = CHOICES[choice]
                return f". {said.question} {said.alternatives[chosen[choice]].rstrip('.')}"
        return f": {rule.reason}" if rule.reason else ""

    def _offer(self, before: RuleResult, after: RuleResult) -> VerdictChange:
        if after.verdict == Verdict.NOT_OFFERED:
            return self._made(WITHDRAWN, [self._withdrawn(after), f"{self._old}: {_word(before)}."])
        return self._made(
            OFFERED,
            [f"{self._new} offers what this rule is about, and {self._old} does not.", f"{self._new}: {_word(after)}."],
        )

    def _withdrawn(self, after: RuleResult) -> str:
        return f"The rule does not apply to {self._new} any more{self._reason(after, self._new)}."

    def _seen(self, before: RuleResult, after: RuleResult) -> VerdictChange:
        only = [
            f"Only {name} was seen to do this: {_listed(rule.reports, other.reports)}."
            for name, rule, other in ((self._old, before, after), (self._new, after, before))
            if set(rule.reports) - set(other.reports)
        ]
        return self._made(SEEN, only)

    def _doubt(self, rule: RuleResult, name: str) -> list[str]:
        if rule.verdict in (Verdict.HELD, Verdict.NOT_OFFERED):
            return [f"{name}: {_word(rule)}."]
        if rule.verdict == Verdict.UNSEEN:
            return [f"{name} is known to break it now and then; this run did not see it."]
        return [f"The run on {name} says nothing about it: {_word(rule)}{f' ({rule.reason})' if rule.reason else ''}."]

    def _observed(self, rule: RuleResult, name: str, *, past: bool = False) -> list[str]:
        """What the broker does instead of what the rule asks for, and what is known of that."""
        verb = "broke" if past else "breaks"
        cases = [case for case in rule.cases if case.certain]
        kinds = {gist(case.observed): case for case in reversed(cases)}
        said = [_describe_case(name, verb, case) for case in list(kinds.values())[::-1][:_SHOWN]]
        if rule.deviation is not None:
            known = f"{' '.join(rule.deviation['note'].split())} ({rule.deviation['evidence']})"
            said.insert(0, f"Until now: {known}" if past else known)
        return said

    def _made(self, kind: str, *sentences: Sequence[str]) -> VerdictChange:
        rule = self._after or self._before
        assert rule is not None
        before, after = (side.verdict if side else None for side in (self._before, self._after))
        return VerdictChange(
            kind,
            rule.id,
            rule.level,
            rule.title,
            rule.clause,
            before,
            after,
            tuple(one for part in sentences for one in part),
            tuple(self._exchanges(kind)),
        )

    def _exchanges(self, kind: str) -> Iterator[Mapping[str, Any]]:
        """The first exchange of each side that contradicts the rule."""
        if kind in (SEEN, UNCLEAR):
            return
        for rule, name in ((self._before, self._old), (self._after, self._new)):
            if rule is not None and _contradicted(rule):
                case = next((case for case in rule.cases if case.certain and case.steps), None)
                if case is not None:
                    yield {"broker": name, **renamed(asdict(case))}


def _contradicted(rule: RuleResult) -> bool:
    return rule.verdict in _CONTRADICTED


def _same_words(before: RuleResult, after: RuleResult) -> bool:
    """Contradicted in the same way? What one known deviation covers is one way, whatever a run met of it."""
    if before.deviation and after.deviation and before.deviation["reason"] == after.deviation["reason"]:
        return True
    old, new = ({gist(case.observed) for case in rule.cases if case.certain} for rule in (before, after))
    return old == new or not old or not new


def renamed(value: Any, names: dict[str, str] | None = None) -> Any:
    """A case with names that are read easily, q1 and so on, in place of the run's own."""
    known = {} if names is None else names
    if isinstance(value, str):
        return _PRIVATE.sub(lambda found: known.setdefault(found[0], f"q{len(known) + 1}"), value)
    if isinstance(value, Mapping):
        return {name: renamed(inner, known) for name, inner in value.items()}
    return [renamed(inner, known) for inner in value] if isinstance(value, list | tuple) else value


def _describe_case(name: str, verb: str, case: Case) -> str:
    observed, allowed = renamed([case.observed, case.allowed])
    queue = f" on {case.queue_type} queues" if case.queue_type else ""
    return f"{name} {verb} it{queue}: {observed}. Allowed: {allowed}."


def _word(rule: RuleResult) -> str:
    times = f", exercised {_times(rule.exercised)}" if rule.verdict == Verdict.HELD else ""
    return f"{rule.verdict}{times}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _listed(seen: Mapping[str, int], other: Mapping[str, int]) -> str:
    return "; ".join(f"{what} ({_times(times)})" for what, times in sorted(seen.items()) if what not in other)


_COUNTED = (
    (BROKEN, "{} broken"),
    (CHANGED, "{} broken in another way"),
    (NEW, "{} that apply only to the second broker"),
    (WITHDRAWN, "{} no longer offered"),
    (FIXED, "{} fixed"),
    (OFFERED, "{} now offered"),
    (GONE, "{} not judged any more"),
)


def _headline(
    names: tuple[str, str], changes: Sequence[VerdictChange], choices: Sequence[ChoiceDifference], same: bool
) -> str:
    old, new = names
    if same:
        return f"From {old} to {new}: no rule changes."
    counts = {kind: sum(change.kind == kind for change in changes) for kind in KINDS}
    parts = [
        words.format(_rules(counts[kind], first=not place))
        for place, (kind, words) in enumerate((kind, words) for kind, words in _COUNTED if counts[kind])
    ]
    if choices:
        parts.append(f"{len(choices)} open question{'s' * (len(choices) != 1)} answered differently")
    return f"From {old} to {new}: {', '.join(parts)}."


def _rules(number: int, *, first: bool) -> str:
    return f"{number} rule{'s' * (number != 1)}" if first else str(number)


def _asked(run: Results) -> str:
    """Which rules the run asked for."""
    of = f" of {run.selection.set}" if run.selection.set else ""
    return f"{run.selection.rules}{of} from {run.selection.level}"


def _warnings(before: Results, after: Results, names: tuple[str, str], readings: Readings) -> Iterator[str]:
    """Why the comparison may say less, or more, than the brokers deserve."""
    for run, name in zip((before, after), names, strict=True):
        if not run.complete:
            yield f"The run on {name} was interrupted: the missing part may hide a change."
    for what in ("suite", "depth", "seed"):
        old, new = getattr(before, what), getattr(after, what)
        if old != new:
            yield f"The runs differ in {what}: {old} and {new}. Run both alike before you rely on this."
    if before.selection != after.selection:
        yield (
            "The runs asked for different rules "
            f"({_asked(before)}, {_asked(after)}): a rule that one run left out is listed as new or gone."
        )
    for name in dict.fromkeys(readings.missing):
        yield f"The suite does not know the profile {name}, so its answers to open questions are not compared."
