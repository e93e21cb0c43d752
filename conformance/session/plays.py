"""The checks of the suite as plain functions, for campaigns that play them on brokers of their own.

The suite's modules are imported as they are. What their marks say decides where a check is played, as it does under
pytest; there is a play for each case and each queue type. A play asserts nothing either: its judgement says all.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any

from conformance.catalogue import deviations, rules
from conformance.catalogue.profiles import Profile
from conformance.drive import scenes as suite
from conformance.drive.around import Around
from conformance.drive.drivers.target import Target
from conformance.drive.guard import Guard
from conformance.drive.machines import search
from conformance.drive.machines.campaign import Scheduler
from conformance.drive.machines.revisits import Circumstances, Veteran
from conformance.drive.stage import SceneOver, Stage
from conformance.history.events import Event
from conformance.history.recorder import Recorder
from conformance.oracle.verdicts import Finding, Judgement
from conformance.outcome.gate import excuse
from conformance.session.options import DEPTHS
from conformance.session.selection import Check
from conformance.session.size import REVISITS, STEPS, examples

Watch = Callable[[Judgement], None]
"""Is told of every judged history; what it raises ends the play."""
Witness = Callable[[Judgement, Sequence[Event]], None]
"""The same, with the history."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where plays are played: a broker, what it is held to, what is around it. `deadline` in seconds."""

    target: Target
    profile: Profile
    around: Around = field(default_factory=Around)
    deadline: float = 1.0
    seed: int = 0
    depth: str = "ci"
    run: str = "campaign"
    """Goes into the names of queues; another one in each history, where the broker is not ours alone."""
    guard: Guard | None = None
    """What tells a slow broker from a silent one."""

    def damning(self, judgement: Judgement, queue_type: str) -> list[Finding]:
        """What is certain and no known deviation of the profile."""
        known = _known(self.profile.deviations)
        return [
            finding
            for finding in judgement.findings
            if finding.certain and excuse(known, finding.rule, finding.observed, queue_type, finding.where) is None
        ]


@cache
def _known(name: str | None) -> Sequence[deviations.Deviation]:
    return deviations.load(name) if name else ()


@dataclass(frozen=True, slots=True)
class Play:
    """A check with one set of its arguments, on one queue type."""

    name: str
    function: Callable[..., None]
    check: Check
    arguments: tuple[tuple[str, Any], ...]
    queue_type: str

    @property
    def machine(self) -> bool:
        return not self.check.rules

    @property
    def scenic(self) -> bool:
        """Does it play scenes?"""
        return not self.machine or self.name == "revisits"

    @property
    def timed(self) -> bool:
        """Is it about something that takes time?"""
        return any(rules.get(rule).family == "TMO" for rule in self.check.rules)

    @property
    def key(self) -> str:
        return f"{self.name}-{self.queue_type}"

    def suits(self, profile: Profile, depth: str) -> bool:
        """Is it played on such a broker at this depth?"""
        deep = DEPTHS.index(self.check.depth) > DEPTHS.index(depth)
        return not deep and self.queue_type in profile.queue_types and self.check.ruled_out(profile.choices) is None

    def play(self, bench: Bench, watch: Watch = lambda judgement: None) -> Exception | None:
        """Plays it. What went wrong and is no finding is returned; ConnectionLost among it, where the broker hung up.

        `watch` is told of each history as soon as that is judged.
        """
        return self.observe(bench, lambda judgement, _: watch(judgement))

    def observe(self, bench: Bench, witness: Witness) -> Exception | None:
        """The same, for who wants to see the histories."""
        if self.machine:
            self.function(_Machines(bench, self.queue_type, witness), **dict(self.arguments))
            return None
        stage, trouble = self.perform(bench)
        witness(stage.judgement, stage.events)
        return trouble

    def perform(self, bench: Bench) -> tuple[Stage, Exception | None]:
        """A scene from its first frame to its judgement, and what went wrong and is no finding. What it declared is
        gone again."""
        stage = Stage(
            bench.target,
            bench.profile,
            Recorder(bench.run, bench.target.address),
            self.name,
            self.check.rules,
            self.queue_type,
            bench.deadline,
            bench.guard,
        )
        bench.around.enter(stage)
        return stage, self._act(stage, lambda: self.function(stage, **dict(self.arguments)), give_back=False)

    def again(
        self,
        target: Target,
        profile: Profile,
        recorder: Recorder,
        deadline: float,
        around: Around,
        seed: int,
        guard: Guard | None = None,
    ) -> tuple[Stage, Exception | None]:
        """The same under circumstances that the seed draws."""
        stage = Veteran(target, profile, recorder, self.name, self.check.rules, self.queue_type, deadline, guard)
        around.enter(stage)
        drawn = Circumstances.drawn(seed, self.key)

        def scene() -> None:
            self.function(stage, **dict(self.arguments))

        return stage, self._act(stage, lambda: stage.twice(scene, drawn), give_back=drawn.give_back and not self.timed)

    @staticmethod
    def _act(stage: Stage, action: Callable[[], None], *, give_back: bool) -> Exception | None:
        try:
            trouble = _attempted(action)
            if trouble is None:
                trouble = _attempted(lambda: stage.finish(give_back=give_back))
            if trouble is not None:
                _attempted(stage.cut)
        finally:
            stage.cleanup()
        return trouble


def _attempted(action: Callable[[], object]) -> Exception | None:
    """What the action raised; a scene that cannot go on is no trouble."""
    try:
        action()
    except SceneOver:
        return None
    except Exception as trouble:
        return trouble
    return None


@dataclass(frozen=True, slots=True)
class _Machines:
    """What a machine of the suite asks for: here it is played without shrinking, history by history."""

    bench: Bench
    queue_type: str
    witness: Witness

    def run(self, machine: search.Machine, scheduler: Scheduler) -> None:
        bench = self.bench

        def judged(judgement: Judgement, history: Sequence[Event], *, reproduced: str = "") -> None:
            self.witness(judgement, history)

        search.run(
            machine,
            bench.target,
            bench.profile,
            lambda: Recorder(bench.run, bench.target.address),
            self.queue_type,
            scheduler,
            examples(bench.depth, timed=machine.clock),
            STEPS[bench.depth],
            bench.seed,
            on_judgement=judged,
            deadline=bench.deadline,
            around=bench.around,
            known=lambda finding: True,
            guard=bench.guard,
        )

    def revisit(self) -> None:
        bench = self.bench
        for number, play in revisited(bench.profile, self.queue_type, bench.depth, bench.around):
            stage, trouble = play.again(
                bench.target,
                bench.profile,
                Recorder(bench.run, bench.target.address),
                bench.deadline,
                bench.around,
                bench.seed + number,
            )
            self.witness(stage.judgement, stage.events)
            if trouble is not None:
                raise trouble


def revisited(profile: Profile, queue_type: str, depth: str, around: Around) -> Iterator[tuple[int, Play]]:
    """All scenes, so many times: those that wait for time to pass only where none is lost by that."""
    scenes = [
        play
        for play in plays()
        if not play.machine
        and play.queue_type == queue_type
        and play.suits(profile, depth)
        and (around.advance is not None or not play.timed)
    ]
    for number in range(REVISITS[depth]):
        yield from ((number, play) for play in scenes)


@cache
def plays() -> tuple[Play, ...]:
    """All of them, scenes and machines."""
    names = [module.name for module in pkgutil.iter_modules(suite.__path__, f"{suite.__name__}.")]
    modules = [importlib.import_module(name) for name in names if ".test_" in name]
    return tuple(play for module in modules for play in _of(module))


def _of(module: ModuleType) -> Iterator[Play]:
    for name, function in inspect.getmembers(module, inspect.isfunction):
        marks = [mark for mark in getattr(function, "pytestmark", ()) if mark.name == "rule"]
        if not marks:
            continue
        check = Check.of(marks[0].args, marks[0].kwargs)
        for case, queue_type in itertools.product(_cases(function), check.queue_types):
            told = "".join(f"[{_called(value)}]" for _, value in case)
            yield Play(name.removeprefix("test_") + told, function, check, case, queue_type)


def _called(value: Any) -> str:
    """The same in every process."""
    return str(getattr(value, "name", None) or getattr(value, "__name__", None) or value)


def _cases(function: Any) -> list[tuple[tuple[str, Any], ...]]:
    """The arguments of each case that `parametrize` makes of it."""
    marks = [mark for mark in function.pytestmark if mark.name == "parametrize"]
    each = [[_named(mark.args[0], value) for value in mark.args[1]] for mark in marks]
    return [tuple(itertools.chain.from_iterable(case)) for case in itertools.product(*each)]


def _named(names: str | Sequence[str], value: Any) -> list[tuple[str, Any]]:
    """One set of values under its names."""
    value = getattr(value, "values", value)
    listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    return list(zip(listed, value if len(listed) > 1 else (value,), strict=True))


def plays_for(wanted: Sequence[str], profile: Profile, depth: str) -> list[Play]:
    """The scenes of these rules, in this order, then the machines that are there for their families."""
    scenes = [play for rule in wanted for play in plays() if rule in play.check.rules]
    machines = [play for play in plays() if play.machine and _serves(play, wanted)]
    return [play for play in dict.fromkeys((*scenes, *machines)) if play.suits(profile, depth)]


def _serves(play: Play, wanted: Collection[str]) -> bool:
    return bool({rules.get(rule).family for rule in wanted} & set(play.check.for_families))
