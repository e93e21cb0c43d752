"""The hunt for one wrong broker, with one seed: which of the rules that it names gives it away, and after how much.

First the scenes of those rules are played, then the machines of their families, until a named rule breaks for certain.
What else breaks on the way is noted and counts for nothing. The same plays on the honest broker are the control.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from conformance.catalogue import profiles, rules
from conformance.drive.around import Around
from conformance.drive.drivers.admin import Admin
from conformance.drive.drivers.target import Target
from conformance.drive.run.bench import Bench
from conformance.drive.run.plays import Play, plays_for
from conformance.drive.run.runner import observe
from conformance.history.events import Event
from conformance.oracle.verdicts import Judgement
from reference_broker import ReferenceBroker

DIALECTS = ("documented", "rabbitmq-4.3", "rabbitmq-4.0", "rabbitmq-3.10", "rabbitmq-3.8")
"""In which a wrong broker is made: the first to which one of its rules applies."""
DEADLINE, PATIENCE = 2.0, 10.0
"""Seconds that the embedded broker gets for what it owes; and where a crowded machine may be to blame."""


class Unhuntable(ValueError):
    """Its rules apply to no broker that we can make."""


def held_to(named: Sequence[str]) -> str:
    """The dialect in which these rules, or some of them, apply. Raises Unhuntable."""
    for dialect in DIALECTS:
        choices = profiles.load(dialect).choices
        if any(rules.get(name).ruled_out(choices) is None for name in named):
            return dialect
    raise Unhuntable(f"{', '.join(named)}: none of these rules applies to any dialect of the reference broker")


@contextmanager
def embedded(
    dialect: str,
    seed: int,
    depth: str,
    mutants: Sequence[str] = (),
    deadline: float = DEADLINE,
) -> Iterator[Bench]:
    """A bench with a reference broker of its own."""
    with ReferenceBroker(clock="elastic", http_port=0, mutants=mutants, dialect=dialect, seed=seed) as broker:
        around = Around(Admin(broker.admin_url), broker.leap, broker.crash, broker.restart, broker.alarm)
        yield Bench(Target.parse(broker.url), profiles.load(dialect), around, deadline, seed, depth)


@dataclass(slots=True)
class Trail:
    """What a hunt came to. `rule` is the named rule that broke, in the last of this many histories of `play`."""

    rule: str | None = None
    play: str = ""
    observed: str = ""
    histories: int = 0
    seconds: float = 0.0
    others: list[str] = field(default_factory=list)
    """Rules that broke before, and are not named."""

    def plain(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


class _Caught(BaseException):
    """Ends a play at once; no Exception, because Hypothesis would shrink it."""


def hunt(named: Sequence[str], bench: Bench, *, by: Sequence[str] = ()) -> Trail:
    """Plays what is there for them, or for the rules in `by`, until a named rule breaks, or all is played."""
    trail, begin = Trail(), time.monotonic()
    try:
        for play in plays_for(by or named, bench.profile, bench.depth):
            _track(play, named, bench, trail)
    except _Caught:
        pass
    trail.seconds = round(time.monotonic() - begin, 3)
    return trail


def _track(play: Play, named: Sequence[str], bench: Bench, trail: Trail) -> None:
    def watch(judgement: Judgement, history: Sequence[Event]) -> None:
        trail.histories += 1
        for finding in bench.damning(judgement, play.queue_type):
            if finding.rule in named:
                trail.rule, trail.play, trail.observed = finding.rule, play.key, finding.observed
                raise _Caught
            if finding.rule not in trail.others:
                trail.others.append(finding.rule)

    try:
        observe(play, bench, watch)
    except Exception as trouble:  # a wrong broker may do anything to a machine
        trail.others.append(f"{type(trouble).__name__} in {play.key}")


@dataclass(slots=True)
class Control:
    """What a play on the honest broker came to: it must break nothing, and should exercise its rules."""

    broken: list[str] = field(default_factory=list)
    impatient: bool = False
    """Something broke, and did not when the broker got more time: no alarm, but no control for a kill either."""
    trouble: str = ""
    exercised: Counter[str] = field(default_factory=Counter)
    histories: int = 0
    seconds: float = 0.0

    def plain(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def control(play: Play, bench: Bench) -> Control:
    """One play on a broker that is right."""
    seen, begin = Control(), time.monotonic()

    def watch(judgement: Judgement, history: Sequence[Event]) -> None:
        seen.histories += 1
        seen.exercised.update(judgement.exercised)
        seen.broken += [
            f"{finding.rule} in {play.key}: {finding.observed}" for finding in bench.damning(judgement, play.queue_type)
        ]

    try:
        trouble = observe(play, bench, watch)
    except Exception as fault:
        trouble = fault
    seen.trouble = f"{type(trouble).__name__} in {play.key}: {trouble}" if trouble else ""
    seen.seconds = round(time.monotonic() - begin, 3)
    return seen
