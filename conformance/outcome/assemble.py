"""From the ledger to results: verdict by rule, cases by kind, and the gate. Pure: clock and command line are inputs.

Findings of one kind (same rule, queue type and words, numbers and names aside) are one case, shown by the shortest
exchange that any of them brought. Everything is ordered by content, so that the same findings give the same document
whatever the order in which checks ran.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from conformance import __version__
from conformance.catalogue import deviations, sets
from conformance.catalogue.profiles import CHOICES
from conformance.catalogue.rules import CATALOGUE, Rule, circumstances
from conformance.history.stopwatch import curves
from conformance.oracle.monitors.refusals import shown_by
from conformance.oracle.verdicts import Verdict, explaining, stands, verdict_of
from conformance.outcome import failing, gate, reach
from conformance.outcome.gate import Known
from conformance.outcome.incidents import merged
from conformance.outcome.ledger import Broker, CheckEntry, Ledger, Trouble, Witness, gist
from conformance.outcome.results import Case, Results, RuleResult, Selection
from conformance.outcome.short_timeout import ASK_FOR, NEEDED

CASES_SHOWN = 20
UNSEEN = "a known race breaks it now and then; this run did not see it"

Seen = tuple[CheckEntry, Witness]


@dataclass(frozen=True, slots=True)
class Frame:
    """What surrounds the findings: when, how and on what the run was made."""

    run: str
    started: str
    seconds: float
    command: str
    rerun: str
    seed: int
    depth: str
    selection: Selection
    known: Known
    complete: bool = True
    timeout: int | None = None
    """The broker's own consumer timeout in milliseconds, where we were told it, or can make it what we want (0)."""


NOTHING = Broker("nothing", "", "", "", {}, {}, ())


def build(ledger: Ledger, frame: Frame, catalogue: Mapping[str, Rule] = CATALOGUE) -> Results:
    """The results of a run."""
    entries = ledger.entries
    profile, queue_types = (entries[0].profile, entries[0].queue_types) if entries else ("documented", ())
    broker = _common([entry.broker for entry in entries])
    scope = _Scope(ledger, frame, broker, queue_types, entries[0].choices if entries else {})
    rules = [result for rule in catalogue.values() if (result := scope.result(rule)) is not None]
    habit = failing.ends_silently(entries)
    troubles = [one for one in ledger.troubles if not (habit and failing.explained(one, entries))]
    kinds = {entry.queue_type for entry in entries}
    by_type = {name: ledger.exercised([name]) for name in kinds}
    met = {name: dict(sorted(ledger.met([name]).items())) for name in sorted(kinds)}
    happened, unplayed = merged(ledger.incidents), Counter(ledger.unplayed.values())
    decision = gate.decide(
        rules,
        frame.known,
        by_type,
        strict=frame.selection.strict,
        min_coverage=frame.selection.min_coverage,
        complete=frame.complete,
        troubles=_names(troubles, "harness"),
        lost=_names(troubles, "lost"),
        late=_names(troubles, "time"),
        incidents=happened,
        unplayed=unplayed,
        met=met,
        unmet=[place for place, entry in enumerate(frame.known.entries) if entry.where and not ledger.arose(entry)],
    )
    return Results(
        suite=__version__,
        started=frame.started,
        seconds=round(frame.seconds, 1),
        command=frame.command,
        run=frame.run,
        seed=frame.seed,
        depth=frame.depth,
        complete=frame.complete and not unplayed,
        broker=broker,
        profile=profile,
        queue_types=queue_types,
        selection=frame.selection,
        rules=tuple(rules),
        gate=decision,
        totals={verdict.value: sum(rule.verdict == verdict for rule in rules) for verdict in Verdict},
        histories=sum(entry.histories for entry in entries),
        events=sum(entry.events for entry in entries),
        troubles=tuple(troubles),
        timings=curves(ledger.times()),
        incidents=happened,
        unplayed=dict(unplayed),
        met=met,
        reached=_reached(ledger),
    )


def _reached(ledger: Ledger) -> dict[str, int]:
    """Of which pairs, where anything was noted of that."""
    pairs = reach.count(reach.joined(reach.unpacked(entry.reached) for entry in ledger.entries if entry.reached))
    return {"pairs": pairs, "of": reach.TOTAL} if pairs else {}


def _common(brokers: Sequence[Broker]) -> Broker:
    """The broker of the run; where workers negotiated different limits, the least in order."""
    return min(brokers, key=repr, default=NOTHING)


def _names(troubles: Iterable[Trouble], kind: str) -> list[str]:
    return [trouble.name for trouble in troubles if trouble.kind == kind]


def _weighed(
    witnesses: Mapping[str, Sequence[Seen]], known: Known, exercised: Mapping[str, int]
) -> dict[str, list[Seen]]:
    """Findings that another broken rule explains as well are not certain. What is known to be broken explains what
    happens in the circumstances in which it is broken, and nothing else: other consequences of it are known, too."""
    unknown = {
        rule: [(one.finding.certain, one.finding.unless) for entry, one in seen if _excuse(known, entry, one) is None]
        for rule, seen in witnesses.items()
    }
    causes = explaining(unknown, exercised)

    def weigh(entry: CheckEntry, witness: Witness) -> Witness:
        finding = witness.finding
        listed = _excuse(known, entry, witness) is not None
        there = set() if listed else deviations.known_there(known.entries, entry.queue_type, finding.where)
        certain = stands(certain=finding.certain, unless=finding.unless, explained_by={*causes, *there})
        return replace(witness, finding=replace(finding, certain=certain)) if certain != finding.certain else witness

    return {rule: [(entry, weigh(entry, witness)) for entry, witness in seen] for rule, seen in witnesses.items()}


def _excuse(known: Known, entry: CheckEntry, witness: Witness) -> int | None:
    """The place of the deviation that covers this finding."""
    finding = witness.finding
    return deviations.excuse(known.entries, finding.rule, finding.observed, entry.queue_type, finding.where)


class _Scope:
    """The ledger, asked rule by rule."""

    def __init__(
        self,
        ledger: Ledger,
        frame: Frame,
        broker: Broker,
        queue_types: Sequence[str],
        choices: Mapping[str, str],
    ) -> None:
        self._frame, self._broker, self._queue_types, self._choices = frame, broker, queue_types, choices
        self._refused = {name: words for entry in ledger.entries for name, words in entry.refused.items()}
        self._exercised, self._reports = ledger.exercised(), ledger.reports()
        self._unreached = ledger.unreached()
        self._lacking = {rule: entry.lacking for entry in ledger.entries if entry.lacking for rule in entry.rules}
        self._witnesses = _weighed(failing.weakened(ledger.entries, ledger.witnesses()), frame.known, self._exercised)
        asked = frame.selection
        self._selected = {rule.id for rule in sets.select(asked.set, asked.rules, asked.level)}
        self._targets = ledger.targets() if frame.complete else None
        self._failed = {
            rule
            for entry in ledger.entries
            if entry.trouble and entry.trouble.kind == "harness"
            for rule in entry.rules
        }

    def result(self, rule: Rule) -> RuleResult | None:
        """The result of a rule; None where nobody asked for it and nothing is wrong with it."""
        seen = self._witnesses.get(rule.id, [])
        asked = rule.id in self._selected and self._reached(rule)
        if not asked and not seen:
            return None
        cases = self._cases(rule.id, seen)
        verdict, reason = self._verdict(rule, seen, cases)
        return RuleResult(
            id=rule.id,
            family=rule.family,
            title=rule.title,
            level=rule.level,
            source=rule.source,
            clause=rule.clause,
            status=rule.status,
            verdict=verdict.value,
            exercised=self._exercised[rule.id],
            needed=rule.needed,
            selected=asked,
            reason=reason,
            deviation=self._deviation(rule.id, verdict, cases),
            reports=dict(sorted(self._reports.get(rule.id, {}).items())),
            cases=cases,
        )

    def _reached(self, rule: Rule) -> bool:
        """Was a check of this rule part of the run? A rule without checks is not judged, and always listed."""
        return not rule.judged or self._targets is None or rule.id in self._targets

    def _verdict(self, rule: Rule, seen: Sequence[Seen], cases: Sequence[Case]) -> tuple[Verdict, str | None]:
        if not rule.judged and not seen:
            return Verdict(rule.status), rule.reason or None
        absent = self._absent(rule)
        verdict = verdict_of(
            [witness.finding for _, witness in seen],
            self._exercised[rule.id],
            needed=rule.needed,
            offered=not absent,
        )
        if verdict is Verdict.BROKEN and all(case.deviation is not None for case in cases if case.certain):
            return Verdict.DEVIATES, None
        if verdict is Verdict.HELD and rule.id in self._unreached:
            return Verdict.UNDER_TESTED, f"none of the checks of this rule was played: {self._unreached[rule.id]}"
        if verdict is Verdict.HELD and self._found_anyway(rule):
            return Verdict.UNDER_TESTED, f"what is looked for is found whether it is there or not: {shown_by(rule.id)}"
        if verdict is Verdict.HELD and self._frame.known.race(rule.id, self._queue_types):
            return Verdict.UNSEEN, UNSEEN
        if verdict in (Verdict.HELD, Verdict.UNDER_TESTED) and rule.id in self._failed:
            return Verdict.HARNESS_ERROR, "the suite itself failed in a check of this rule"
        if verdict is Verdict.UNDER_TESTED and rule.id in self._lacking:
            return Verdict.NOT_OFFERED, self._lacking[rule.id]
        if verdict is Verdict.UNDER_TESTED:
            return verdict, self._too_little(rule)
        return verdict, absent if verdict is Verdict.NOT_OFFERED else None

    def _found_anyway(self, rule: Rule) -> bool:
        """Is it about what is there, on a broker that finds whatever it is asked for?"""
        return any(witness.finding.certain for _, witness in self._witnesses.get(shown_by(rule.id), ()))

    def _too_little(self, rule: Rule) -> str:
        """Why it was not exercised, or not enough."""
        times, timed = self._exercised[rule.id], rule.takes_a_short_timeout(self._choices)
        if not times and timed and self._frame.timeout is None:
            return f"{NEEDED}: {ASK_FOR}"
        return f"exercised {times} times, and {rule.needed} are needed"

    def _absent(self, rule: Rule) -> str | None:
        """Why the broker cannot be asked for this rule, if so; where it does otherwise, what it does."""
        if rule.capability is not None and rule.capability not in self._broker.capabilities:
            return f"the broker does not offer {rule.capability}"
        for feature in rule.needs:
            if feature in self._refused:
                return f"the broker does not offer {feature}: {self._refused[feature]}"
        if not set(rule.queue_types) & set(self._queue_types):
            return f"the broker does not offer {' or '.join(rule.queue_types)} queues"
        name = rule.otherwise(self._choices)
        if name is None:
            return None
        does = CHOICES[name].alternatives[self._choices[name]]
        return f"{rule.ruled_out(self._choices)}: {does[:1].lower()}{does[1:]}"

    def _deviation(self, rule: str, verdict: Verdict, cases: Sequence[Case]) -> dict[str, str] | None:
        if verdict not in (Verdict.DEVIATES, Verdict.UNSEEN):
            return None
        known = self._frame.known
        met = next((case.deviation for case in cases if case.deviation is not None), None)
        entry = known.race(rule, self._queue_types) if met is None else known.entries[met]
        assert entry is not None
        expires = str(entry.expires) if entry.expires else ""
        return {
            "reason": entry.reason,
            "note": entry.note,
            "evidence": entry.evidence,
            "owner": entry.owner,
            "expires": expires,
            "source": self._frame.known.source,
        }

    def _cases(self, rule: str, seen: Sequence[Seen]) -> tuple[Case, ...]:
        kinds: dict[tuple[object, ...], list[Seen]] = {}
        for entry, witness in seen:
            finding = witness.finding
            excuse = _excuse(self._frame.known, entry, witness)
            key = (not finding.certain, excuse is not None, excuse or 0, entry.queue_type, gist(finding.observed))
            kinds.setdefault(key, []).append((entry, witness))
        cases = [self._case(kinds[key], excused=key[1], place=key[2]) for key in sorted(kinds)]
        return tuple(replace(case, id=f"{rule}-{n}") for n, case in enumerate(cases[:CASES_SHOWN], 1))

    def _case(self, seen: Sequence[Seen], *, excused: object, place: object) -> Case:
        entry, witness = min(seen, key=_clearest)
        finding = witness.finding
        return Case(
            id="",
            rule=finding.rule,
            history=finding.history,
            scene=entry.scene,
            queue_type=entry.queue_type,
            allowed=finding.allowed,
            observed=finding.observed,
            at=finding.at,
            certain=finding.certain,
            seen=sum(one.seen for _, one in seen),
            reproduced=witness.reproduced,
            deviation=place if excused and isinstance(place, int) else None,
            steps=witness.steps,
            rerun=self._again(witness),
            witness=finding.witness,
            story=witness.story,
            untold=witness.untold,
            absent=witness.absent,
            where=tuple(circumstances.named(finding.where)),
            times=sum(one.times for _, one in seen),
        )

    def _again(self, witness: Witness) -> str:
        """The command that may show it again."""
        if witness.round:
            hunt = self._frame.rerun.replace("amqp-conformance run", "amqp-conformance hunt", 1)
            return f"{hunt} --again {shlex.quote(witness.round)}"
        return f"{self._frame.rerun} --rules {witness.finding.rule} --seed {self._frame.seed}"


def _clearest(seen: Seen) -> tuple[object, ...]:
    """Shown exchanges before unshown ones, few frames of interest before many, then any fixed order."""
    entry, witness = seen
    return (
        not witness.steps,
        not witness.story,
        sum(step.interest for step in witness.steps),
        len(witness.steps),
        entry.scene,
        witness.finding.history,
        witness.finding.at,
        witness.finding.observed,
    )
