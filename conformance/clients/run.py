"""One library plays the suite's scenes on one broker: what came of each, and the sum of it.

A scene that a library cannot say ends there, and counts as such; nothing is judged of it. One that ended early for
another reason has a history all the same. What the wire holds against the broker is kept apart from what the library
did; known deviations excuse the same there as at the gate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from conformance.catalogue import rules
from conformance.clients.compare import LibraryComparison, came, sent
from conformance.clients.libraries.process import BadAdapter, Library, NotExpressible, Stuck
from conformance.clients.rules import CANNOT, CHANGED, HIDDEN, NOT_MET, PARTLY, Seen, seen
from conformance.clients.stage import CREW, LibraryStage, unique
from conformance.drive.drivers.errors import Unreachable
from conformance.drive.run import runner
from conformance.drive.run.bench import Bench
from conformance.drive.run.plays import Play
from conformance.history.events import Event
from conformance.oracle.verdicts import Finding


@dataclass(slots=True)
class Method:
    """What an application saw of one method of the broker, all scenes together."""

    came: int = 0
    shown: int = 0
    absent: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    hidden: Counter[str] = field(default_factory=Counter)
    """By rule, in whose scenes it was not shown."""


@dataclass(slots=True)
class Account:
    """A library's account. `statuses`: by rule, what each of its scenes came to."""

    statuses: dict[str, list[Seen]] = field(default_factory=dict)
    methods: dict[str, Method] = field(default_factory=dict)
    invented: Counter[str] = field(default_factory=Counter)
    disorder: Counter[str] = field(default_factory=Counter)
    itself: Counter[str] = field(default_factory=Counter)
    """Methods that the library sent unasked."""
    unsent: Counter[str] = field(default_factory=Counter)
    altered: Counter[str] = field(default_factory=Counter)
    """Fields that it sent with another value than asked."""
    refused: Counter[str] = field(default_factory=Counter)
    cannot: dict[str, str] = field(default_factory=dict)
    stuck: list[str] = field(default_factory=list)
    broken_off: list[str] = field(default_factory=list)
    findings: list[tuple[str, Finding]] = field(default_factory=list)
    """What the wire holds against the broker, and in which scene: rules that it ought to keep, no known deviations."""
    scenes: int = 0

    def rule(self, rule: str) -> Seen:
        """The sum of a rule's scenes."""
        seen = self.statuses.get(rule, [])
        told = [one for one in seen if one.status not in (CANNOT, NOT_MET)]
        why = tuple(dict.fromkeys(word for one in (told or seen) for word in one.why))
        statuses = {one.status for one in told}
        if CHANGED in statuses:
            return Seen(CHANGED, why)
        if not statuses:
            return Seen(CANNOT if any(one.status == CANNOT for one in seen) else NOT_MET, why)
        return Seen(statuses.pop() if len(statuses) == 1 else PARTLY, why)


def perform(plays: Sequence[Play], bench: Bench, library: Library, tell: Callable[[Play], None]) -> Account:
    """All these scenes by this library. Raises BadAdapter, or Unreachable where the broker is gone."""
    account = Account()
    for play in plays:
        tell(play)
        library.start()
        _play(play, bench, library, account)
        account.scenes += 1
    return account


def _play(play: Play, bench: Bench, library: Library, account: Account) -> None:
    """A scene knows brokers, not libraries: what one does may leave it no way to go on."""
    with unique(bench).staged(partial(LibraryStage, library), play.name, play.check.rules, play.queue_type) as stage:
        failure = runner.run(stage, play.on(stage))
        if isinstance(failure, BadAdapter | Unreachable):
            raise failure
        if isinstance(failure, NotExpressible):
            account.cannot.setdefault(failure.method, failure.why)
            _note(account, play, dict.fromkeys(play.check.rules, Seen(CANNOT, (f"the library {failure.why}",))))
        elif isinstance(failure, Stuck):
            account.stuck.append(f"{play.key}: {failure}")
            _note(account, play, dict.fromkeys(play.check.rules, Seen(HIDDEN, (str(failure),))))
        else:
            if failure is not None:
                account.broken_off.append(f"{play.key}: {type(failure).__name__}: {failure}")
            _settle(stage, play, bench, account)


def _settle(stage: LibraryStage, play: Play, bench: Bench, account: Account) -> None:
    """The two accounts of the history, beside each other."""
    history = list(stage.events)
    said = sent(history, [one for link in stage.links.values() for one in link.asked], CREW)
    compared = came(history, stage.client.shown, said.hidden, CREW)
    _count(account, compared, play.check.rules)
    _own(account, said)
    refused = [
        f"{method} ({error.partition(':')[0]})" for link in stage.links.values() for method, error in link.refused
    ]
    account.refused.update(refused)
    account.findings += [
        (play.key, finding)
        for finding in bench.damning(stage.judgement, play.queue_type)
        if rules.get(finding.rule).level in ("must", "should")
    ]
    found = seen(history, compared, bench.profile, play.check.rules)
    missed = [rule for rule in found if found[rule].status == NOT_MET]
    why = tuple(
        dict.fromkeys(
            [
                *(f"the library refuses {one}" for one in refused),
                *(f"the library does not send {shown.method} as asked" for shown in said.invented),
                *(f"the library sends {event.method} by itself" for event in said.hidden),
            ]
        )
    )
    for rule in _within_reach(play, bench, missed):
        found[rule] = Seen(CANNOT, why or ("the library does not reach the step that the rule is about",))
    _note(account, play, found)


def _within_reach(play: Play, bench: Bench, missed: Sequence[str]) -> list[str]:
    """Those of the rules to which the scene comes when no library is between."""
    if not missed:
        return []
    stage, failure = runner.perform(play, unique(bench))
    if failure is not None:
        raise failure
    return [rule for rule in missed if stage.judgement.exercised[rule]]


def _note(account: Account, play: Play, found: dict[str, Seen]) -> None:
    for rule, one in found.items():
        account.statuses.setdefault(rule, []).append(one)


def _count(account: Account, compared: LibraryComparison, scene: Sequence[str]) -> None:
    for match in compared.matches:
        method = _of(account, match.event)
        method.came += 1
        method.shown += 1
        method.absent.update(match.absent)
        method.changed.update(match.changed.keys())
    for event in compared.hidden:
        method = _of(account, event)
        method.came += 1
        method.hidden.update(scene)
    account.invented.update(shown.method for shown in compared.invented)
    account.disorder.update(f"{a.event.method} before {b.event.method}" for a, b in compared.disorder())


def _of(account: Account, event: Event) -> Method:
    return account.methods.setdefault(event.method or "end", Method())


def _own(account: Account, compared: LibraryComparison) -> None:
    """What the library said unasked, did not say, and said otherwise."""
    account.itself.update(event.method for event in compared.hidden)
    account.unsent.update(shown.method for shown in compared.invented)
    for match in compared.matches:
        account.altered.update(f"{match.event.method} {name}" for name in match.changed)
