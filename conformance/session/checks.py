"""One check from its first frame to its entry in the ledger.

A check provokes and asserts nothing; whatever it leaves behind is judged. So a check ends in one of three ways: it ran
through, it could not go on (that is no verdict: its history tells), or something failed that no rule explains. Only
the last is trouble, and it is blamed on the broker only where the connection is gone without a word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pytest

from conformance import evidence
from conformance.campaigns import trial
from conformance.catalogue import rules
from conformance.catalogue.deviations import excuse
from conformance.drive.drivers.errors import ConnectionLost, Unreachable
from conformance.drive.run.bench import Bench
from conformance.drive.run.check import Check
from conformance.drive.run.runner import attempted, conclude
from conformance.drive.stage import Endless, SceneOver, Stage
from conformance.drive.watchdog import TimeIsOver, alarm
from conformance.history import events
from conformance.history.events import Event
from conformance.oracle.verdicts import Finding, Judgement
from conformance.outcome import incidents, terminal
from conformance.outcome.exchanges import cut, steps_of
from conformance.outcome.ledger import (
    PROPERTY,
    WITNESSED,
    CheckEntry,
    Incident,
    Trouble,
    Witness,
    encode,
    gist,
)
from conformance.outcome.reach import Rows, packed
from conformance.session.options import Options
from conformance.session.selection import selected_by
from conformance.session.session import OpenedBroker, again

Scene = Callable[[Stage | None], object]
Kind = tuple[str, bool, str, int | None, tuple[str, ...]]
LONG = 3.0
"""Seconds of silence that a reproducer is given at most."""
TWICE = "2 of 2"
SPENT = "the run had no time left to shorten this exchange. Run this rule alone:"
LOST, TIME, HARNESS = "lost", "time", "harness"


@dataclass
class Attempt:
    """A check on one queue type while it runs. A machine contributes as many judgements as it likes."""

    name: str
    check: Check
    queue_type: str
    opened: OpenedBroker
    options: Options
    total: Judgement = field(default_factory=Judgement)
    histories: int = 0
    trouble: Trouble | None = None
    incidents: list[Incident] = field(default_factory=list)
    unplayed: str = ""
    lacking: str = ""
    """What the broker refuses, without which it could not go on."""
    round: str = ""
    """Of a hunt: the one that is played."""
    _kinds: dict[Kind, Witness] = field(default_factory=dict)
    _led: set[tuple[Kind, str, str]] = field(default_factory=set)
    _events: int = 0
    _times: Counter[tuple[str, int]] = field(default_factory=Counter)
    _rows: Rows = field(default_factory=list)

    def __post_init__(self) -> None:
        self._events, self._times = self.opened.tally.count, Counter(self.opened.tally.times)
        self._rows = list(self.opened.tally.reach.rows)

    @property
    def bench(self) -> Bench:
        """Where its histories are made."""
        opened, options = self.opened, self.options
        return Bench(
            opened.target,
            opened.profile,
            opened.around,
            opened.deadline,
            options.seed,
            options.depth,
            guard=opened.guard,
            recorder=opened.recorder,
            budget=opened.budget,
            examples=options.examples,
        )

    @property
    def witnesses(self) -> list[Witness]:
        return list(self._kinds.values())

    def contribute(
        self,
        judgement: Judgement,
        history: Sequence[Event] = (),
        *,
        reproduced: str = WITNESSED,
    ) -> None:
        """Add the judgement of one history. The history, if at hand, gives each kind of finding its exchange."""
        for finding in judgement.findings:
            kind = self._kind(finding)
            known = self._kinds.get(kind)
            if known is not None:
                again = self._another(kind, finding)
                self._kinds[kind] = replace(known, seen=known.seen + 1, times=known.times + again)
            else:
                self._another(kind, finding)
                self._kinds[kind] = self._witness(history, finding, reproduced)
        self.total.add(judgement)
        self.histories += 1

    def contribute_again(self, judgement: Judgement, history: Sequence[Event]) -> None:
        """Add the judgement of the same scene, played a second time."""
        again = {self._kind(one): one for one in judgement.findings if one.silent and self._kind(one) in self._kinds}
        self.contribute(judgement, history)
        for finding in again.values():
            self.show(finding, history, TWICE)

    def _another(self, kind: Kind, finding: Finding) -> bool:
        """Is it the first of its kind that these circumstances have led to?"""
        place = kind[3]
        name = self.opened.known.entries[place].where if place is not None else ""
        arose = next((one for one in finding.where if one.partition(" ")[0] == name), "")
        led = kind, finding.history, arose
        before = len(self._led)
        self._led.add(led)
        return len(self._led) > before

    def show(self, finding: Finding, history: Sequence[Event], reproduced: str) -> None:
        """Show a kind of finding by this one, whichever was shown before; by the reproducer of that one, where this
        one's does not pass."""
        kind = self._kind(finding)
        known = self._kinds.get(kind)
        if (
            known is not None
            and known.story
            and (known.finding.history, known.finding.at) == (finding.history, finding.at)
        ):
            self._kinds[kind] = replace(known, reproduced=reproduced if reproduced != WITNESSED else known.reproduced)
            return
        self.opened.told.pop(self._key_of(finding), None)
        self.opened.sliced.discard(self._key_of(finding))
        witness = self._witness(history, finding, reproduced)
        if known is not None:
            witness = replace(witness, seen=known.seen, times=known.times)
            if known.story and not witness.story:
                witness = replace(witness, story=known.story, untold=known.untold, absent=known.absent)
        self._kinds[kind] = witness

    def _witness(self, history: Sequence[Event], finding: Finding, reproduced: str) -> Witness:
        """The finding with its exchange, and where a report is asked for, with the reproducer that shows it again."""
        opened = self.opened
        if not history:
            return Witness(finding, (), reproduced)
        kind = self._key_of(finding)
        kept = cut(history, finding, opened.profile, evidence.AGAIN if kind in opened.sliced else evidence.BUDGET)
        opened.sliced.add(kind)
        witness = Witness(finding, steps_of(kept, opened.profile), reproduced, round=self.round)
        if self.options.report is None or not finding.certain or self.known(finding) or kind in opened.told:
            return witness
        if finding.silent and reproduced == WITNESSED:
            return witness
        if opened.budget.empty or (opened.budget.scarce and self._has_reproducer(finding.rule)):
            return replace(witness, untold=f"{SPENT} {again(self.options)} --rules {finding.rule} --report DIR")
        with opened.budget.spending() as seconds:
            told = trial.tell(
                [event for event in history if event.history == finding.history],
                kept,
                finding,
                opened.profile,
                opened.guard.at(opened.target),
                opened.guard.patience.silence(min(opened.deadline, LONG)),
                seconds,
            )
        opened.told[kind] = bool(told.story)
        return replace(
            witness,
            story=told.story,
            untold=told.untold,
            absent=told.absent,
            reproduced=reproduced if reproduced != WITNESSED else told.reproduced or reproduced,
        )

    def known(self, finding: Finding) -> bool:
        """Does a known deviation cover it?"""
        return self._excuse(finding) is not None

    def settled(self, finding: Finding) -> bool:
        """Need nobody look into it any more: is it known, or its reproducer told, or another of its rule and time
        short? Or did the hunt show its like before?"""
        told = self.opened.told.get(self._key_of(finding), False) or self.known(finding)
        told = told or self.opened.hunt.seen(finding, self.queue_type)
        return told or (self.opened.budget.scarce and self._has_reproducer(finding.rule))

    def _has_reproducer(self, rule: str) -> bool:
        """Has any finding on this rule a reproducer?"""
        return any(shown for (about, _, _), shown in self.opened.told.items() if about == rule)

    def _key_of(self, finding: Finding) -> tuple[str, str, str]:
        return finding.rule, gist(finding.observed), self.queue_type

    def _kind(self, finding: Finding) -> Kind:
        """What makes two findings one: rule, certainty, words without numbers, the deviation that covers them, and the
        rules that explain them as well."""
        return finding.rule, finding.certain, gist(finding.observed), self._excuse(finding), finding.unless

    def _excuse(self, finding: Finding) -> int | None:
        return excuse(self.opened.known.entries, finding.rule, finding.observed, self.queue_type, finding.where)

    def fail(self, kind: str, message: str) -> None:
        self.trouble = Trouble(self.name, self.queue_type, kind, message)

    def fit(self) -> bool:
        """Is there a broker, and time, for one more history?"""
        self.incidents += self.opened.vitals.fit()
        return not self.opened.vitals.tired()

    def after(self, stage: Stage) -> None:
        """A history is over: what happened to the broker in it is kept."""
        self.incidents += self.opened.vitals.after(
            self.name, self.queue_type, stage.events, stage.waiter.down, stage.spared
        )

    def entry(self) -> CheckEntry:
        return CheckEntry(
            scene=self.name,
            queue_type=self.queue_type,
            rules=self.check.rules,
            broker=self.opened.broker,
            profile=self.opened.profile.name,
            queue_types=self.opened.profile.queue_types,
            witnesses=tuple(self.witnesses),
            exercised=dict(sorted(self.total.exercised.items())),
            reports={rule: dict(sorted(seen.items())) for rule, seen in sorted(self.total.reports.items())},
            histories=self.histories,
            events=self.opened.tally.count - self._events,
            trouble=self.trouble,
            choices=dict(self.opened.profile.choices),
            times=self._timed(),
            refused=dict(self.opened.profile.refused),
            incidents=incidents.merged(self.incidents),
            unplayed=self.unplayed,
            lacking=self.lacking,
            met=dict(sorted(self.total.met.items())),
            reached=self._reached(),
        )

    def _reached(self) -> str:
        """What this check was the first to reach in its process."""
        return packed(now & ~before for now, before in zip(self.opened.tally.reach.rows, self._rows, strict=True))

    def _timed(self) -> dict[str, dict[str, int]]:
        """The histograms of what was timed in this check."""
        found: dict[str, dict[str, int]] = {}
        for (what, bucket), n in sorted((self.opened.tally.times - self._times).items()):
            found.setdefault(what, {})[str(bucket)] = n
        return found

    def signed(self) -> tuple[str, object]:
        """The entry, as it travels on a test report."""
        return PROPERTY, encode(self.entry())

    def complaint(self) -> str | None:
        """Why the check fails as a test: a rule of its own is broken in a way that closes the gate. None: it passes."""
        closing = [witness for witness in self.witnesses if self._closes(witness)]
        if closing:
            first = min(closing, key=lambda witness: (not witness.steps, witness.finding.rule))
            return describe_finding(first, self.queue_type, again(self.options), self.options.seed)
        if self.trouble:
            return f"{self.trouble.kind}: {self.trouble.message}"
        return None

    def _closes(self, witness: Witness) -> bool:
        finding = witness.finding
        if not self.stands(witness) or not self._mine(finding.rule):
            return False
        rule = rules.get(finding.rule)
        if not rule.judged or (rule.level != "must" and not (rule.level == "should" and self.options.strict)):
            return False
        return not self.known(finding)

    def stands(self, witness: Witness) -> bool:
        """Is it certain, also if nothing like it is found in other scenes?"""
        return witness.finding.certain and (witness.came_again or not witness.finding.silent)

    def _mine(self, rule: str) -> bool:
        return rule in selected_by(self.options) and rule in (self.check.rules or (rule,))


def play(attempt: Attempt, scene: Scene, stage: Stage | None) -> None:
    """The body of a check, the end of its history, and the judgement: all in the time that a check has. A machine has
    no stage of its own."""
    try:
        failure = _act(attempt, partial(scene, stage))
        if stage is None:
            account(attempt, failure)
            return
        failure = _conclude(attempt, stage, failure, attempt.contribute)
        attempt.lacking = stage.lacking
        if any(one.finding.silent and not attempt.known(one.finding) for one in attempt.witnesses) and attempt.fit():
            _play_again(attempt, scene)
        account(attempt, failure, "" if stage.waiter.down else vanished(stage.events))
    except TimeIsOver as overdue:
        account(attempt, overdue)
    except KeyboardInterrupt:
        attempt.opened.guard.hasty = True
        raise


def _act(attempt: Attempt, action: Callable[[], object]) -> BaseException | None:
    """Do it in the time that a check has. What went wrong is returned."""
    guard, check = attempt.opened.guard, attempt.check

    def timed() -> None:
        with alarm(guard.begin_check(machine=not check.rules, parts=check.parts) + guard.GRACE):
            action()

    return attempted(timed, (Exception, pytest.fail.Exception, TimeIsOver))


def _conclude(
    attempt: Attempt, stage: Stage, failure: BaseException | None, contribute: Callable[[Judgement, list[Event]], None]
) -> BaseException | None:
    """Bring the history of a scene to its end, and judge it. What went wrong is returned."""
    with alarm(attempt.opened.guard.CONCLUDES):
        failure = conclude(stage, failure)
        attempt.after(stage)
        contribute(stage.judgement, stage.events)
    return failure


def _play_again(attempt: Attempt, scene: Scene) -> None:
    """What stands between us and the broker may end a connection, but hardly a second one over the same."""
    with attempt.bench.staged(Stage, attempt.name, attempt.check.rules, attempt.queue_type) as stage:
        _conclude(attempt, stage, _act(attempt, partial(scene, stage)), attempt.contribute_again)


def account(attempt: Attempt, failure: BaseException | None, cause: str | None = None) -> None:
    """Name the trouble of a check that failed without a finding. A finding says more than how its check ended."""
    if isinstance(failure, Unreachable) and attempt.fit():
        if not attempt.incidents:
            attempt.incidents.append(incidents.refusal(failure.message, attempt.name, attempt.queue_type))
    elif any(one.came_again or not one.finding.silent for one in attempt.witnesses) or isinstance(failure, Unreachable):
        return
    elif isinstance(failure, Endless | TimeIsOver):
        attempt.fail(TIME, str(failure) or "it did not finish in time, and was stopped")
    elif cause:
        attempt.fail(
            LOST,
            f"The broker ended a connection in the middle of this check ({cause}), without "
            "connection.close and with no rule that explains it. Look into the broker's log.",
        )
    elif failure is not None and not isinstance(failure, SceneOver | ConnectionLost):
        attempt.fail(HARNESS, f"{type(failure).__name__}: {failure} ({where(failure)})")


def vanished(history: Iterable[Event]) -> str | None:
    """How a connection ended without a word from either side, if one did. With heartbeats that is a lawful end, and so
    it may be where a scene makes its way through the handshake by itself."""
    said: set[str] = set()
    for event in history:
        beating = event.method == "connection.tune-ok" and event.args.get("heartbeat")
        if event.method == "connection.close" or event.kind == events.MALFORMED or beating:
            said.add(event.connection)
        elif event.kind == events.KNOWN:
            said.add(str(event.args.get("of")))
        elif event.kind == events.END and event.connection not in said and event.args.get("cause") in events.UNEXPECTED:
            return str(event.args["cause"])
    return None


def describe_finding(witness: Witness, queue_type: str, command: str, seed: int) -> str:
    """A finding as the message of a failed test."""
    rule, finding = rules.get(witness.finding.rule), witness.finding
    lines = [
        f"{rule.id} [{rule.level.upper()}] {rule.title} ({queue_type} queue)",
        f"  clause    {rule.clause}",
        f"  allowed   {finding.allowed}",
        f"  observed  {finding.observed}",
        *terminal.frames(witness.steps, finding.at),
        f"  again     {command} --rules {rule.id} --seed {seed}",
    ]
    return "\n".join(lines)


def where(failure: BaseException) -> str:
    """The innermost line of ours."""
    at = failure.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return f"{at.tb_frame.f_code.co_filename}:{at.tb_lineno}" if at else "nowhere"
