"""A campaign: many examples of a machine, and what is kept of them.

The first finding on a rule ends its example, fails it with that rule's own exception, and is kept, whether or not it
happens again. While Hypothesis shrinks, histories are not recorded and get less patience; the shortest one that breaks
the same rule is recorded at the end. Then the search goes on and ignores this rule, so that one broken rule does not
hide another. A finding that a known deviation covers does not end an example: shrinking it in every run would cost
more than all examples. A failure of the suite itself stops everything.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from conformance.drive.budget import EACH, TimeBudget
from conformance.drive.drivers.errors import Unreachable
from conformance.drive.guard import Guard
from conformance.drive.machines.cutting import cut_batches
from conformance.drive.machines.failures import RuleBroken, fail
from conformance.drive.machines.shape import Shape
from conformance.drive.machines.world import Command, World
from conformance.drive.run.audience import Audience
from conformance.drive.run.bench import Bench
from conformance.drive.stage import Endless, NotOffered, SceneOver, Stage
from conformance.history.events import DEADLINE, Event
from conformance.history.recorder import Recorder
from conformance.oracle.verdicts import Finding, Judgement

Scheduler = Literal["lockstep", "pipelined"]
SCHEDULERS: tuple[Scheduler, ...] = ("lockstep", "pipelined")
SHRINK_SECONDS = 6.0
"""After so long shrinking ends, and what is shortest by then is it."""
REPLAYS = 5
STRAYS = 2
"""A machine is given up after this many histories that did not end, or were not let in."""


class Enough(BaseException):
    """Ends a search from within; no Exception, because Hypothesis would take that for a failure and shrink it."""


Ends = Callable[[Finding], bool]
"""Does this finding end the example in which it comes up?"""


@dataclass
class Broken:
    """A broken rule: the shortest history that shows it, and the first one that did."""

    finding: Finding
    events: Sequence[Event]
    first_finding: Finding
    first_events: Sequence[Event]
    reproduced: str


@dataclass
class MachineOutcome:
    """What a run of the machine found: the judgements of all recorded histories, and each broken rule's evidence."""

    judgements: list[Judgement] = field(default_factory=list)
    broken: dict[str, Broken] = field(default_factory=dict)
    histories: int = 0
    steps: int = 0

    @property
    def judgement(self) -> Judgement:
        """All judgements as one."""
        total = Judgement()
        for judgement in self.judgements:
            total.add(judgement)
        return total


class Example:
    """One history, from first command to drain."""

    def __init__(self, stage: Stage, shape: Shape, world: Callable[[Stage, Shape], World] = World) -> None:
        self.stage, self.shape, self._make = stage, shape, world
        self.commands: list[tuple[Command, ...]] = []
        self.finding: Finding | None = None
        self.over = False
        self._seen = 0
        self._world: World | None = None

    def perform(self, commands: Sequence[Command], ends: Ends, *, lockstep: bool) -> None:
        """These commands, in one write each or together; raises the failure of the first finding that ends it."""
        self.commands.append(tuple(commands))
        try:
            world = self._begin()
            with self.stage.batch():
                for command in commands:
                    self._perform(command, world, lockstep=lockstep)
            if lockstep:
                self.stage.quiesce()
            else:
                self.stage.waiter.pump()
        except SceneOver:
            self.over = True
        self.check(ends)

    def _perform(self, command: Command, world: World, *, lockstep: bool) -> None:
        """As often in a row as the history's shape says."""
        for number in range(world.often):
            if number and lockstep:
                self.stage.quiesce()
            with contextlib.suppress(NotOffered):
                command.perform(world)

    def finish(self, ends: Ends) -> None:
        """The drain and the end; raises like `perform`."""
        self.stage.finish(give_back=len(self.commands) % 2 == 1)
        self.over = True
        self.check(ends)

    def check(self, ends: Ends) -> None:
        findings = self.stage.judgement.findings
        new, self._seen = findings[self._seen :], len(findings)
        for finding in new:
            if ends(finding):
                self.finding, self.over = finding, True
                fail(finding)

    def breaks(self, rule: str) -> bool:
        return self.finding is not None and self.finding.rule == rule

    def impatient(self) -> bool:
        """Is its finding about something that did not come in time?"""
        return self.finding is not None and any(
            event.kind == DEADLINE and event.seq == self.finding.at for event in self.stage.events
        )

    def _begin(self) -> World:
        if self._world is None:
            self._world = self._make(self.stage, self.shape)
        return self._world


class Campaign:
    """All examples of one run of the machine."""

    def __init__(
        self,
        bench: Bench,
        queue_type: str,
        scheduler: Scheduler,
        name: str,
        world: type[World],
        audience: Audience,
    ) -> None:
        self._guard, self._audience, self._strayed = bench.guard or Guard(), audience, 0
        self.bench, self.recorder = replace(bench, guard=self._guard), bench.recording()
        self.queue_type, self.lockstep = queue_type, scheduler == "lockstep"
        self.world, self.name = world, name
        self.outcome = MachineOutcome()
        self.muted: frozenset[str] = frozenset()
        self.first: Example | None = None
        self.shortest: Example | None = None
        self.trouble: Exception | None = None
        self.over = False
        """No further history may begin."""
        self.budget = bench.budget or TimeBudget()
        self._silent = self.recorder.silent()
        self._impatience = max(0.3, bench.deadline / 10)
        self._until = 0.0

    def start(self, shape: Shape) -> Example:
        """A new history; unrecorded, and with less patience, while Hypothesis shrinks."""
        if self.trouble is not None or self._spent() or not self._fit():
            raise Enough
        if self.first is not None:
            return Example(self._stage(self._silent, self._impatience), shape, self.world)
        return Example(self._stage(self.recorder, self.bench.deadline), shape, self.world)

    def step(self, example: Example, commands: Sequence[Command]) -> None:
        if example.over:
            return
        self._guarded(example, lambda: example.perform(commands, self.ends, lockstep=self.lockstep))

    def end(self, example: Example) -> None:
        """Finishes the history where no rule was broken yet, and books it."""
        try:
            if example.finding is None and self.trouble is None:
                self._guarded(example, lambda: example.finish(self.ends))
        finally:
            self._book(example)

    def ends(self, finding: Finding) -> bool:
        """Is it certain, new, about a rule that is still looked for, and is there time to look into it?"""
        looked_for = finding.certain and finding.rule not in self.muted and not self.budget.empty
        return looked_for and not self._audience.settled(finding)

    def settle_round(self) -> None:
        """A round of generating and shrinking is over: keep its witness, mute its rule."""
        first = self.first
        if first is None or first.finding is None:
            return
        rule = first.finding.rule
        shortest = self._cut(self.shortest or first, rule)
        again, of = self._again(shortest, rule)
        if not again and shortest.impatient():
            shortest = first
        reproduced = f"{again} of {of}" if again else "witnessed"
        if shortest is not first:
            self.recorder.publish(shortest.stage.events)
            self._count(shortest, reproduced)
        self._count(first, reproduced)
        self.outcome.broken[rule] = Broken(
            shortest.finding or first.finding,
            shortest.stage.events,
            first.finding,
            first.stage.events,
            reproduced,
        )
        self.muted |= {rule}
        self.first = self.shortest = None
        self.budget.done()

    def _again(self, example: Example, rule: str) -> tuple[int, int]:
        """How often it breaks the rule again, of how many times; the last third of its time is for its reproducer."""
        again = of = 0
        while of < REPLAYS and (not of or self.budget.share > EACH / 3):
            of += 1
            again += self._replay(example, self.bench.deadline).breaks(rule)
        return again, of

    def _stage(self, recorder: Recorder, deadline: float) -> Stage:
        return self.bench.stage(Stage, self.name, queue_type=self.queue_type, recorder=recorder, deadline=deadline)

    def _fit(self) -> bool:
        self.over = self.over or self._guard.over or not self._audience.fit()
        return not self.over

    def _spent(self) -> bool:
        return self.first is not None and time.monotonic() > self._until

    def _guarded(self, example: Example, action: Callable[[], None]) -> None:
        try:
            action()
        except RuleBroken:
            raise
        except BaseException as trouble:
            example.over = True
            example.stage.cut()
            if isinstance(trouble, Unreachable | Endless | SceneOver) and self._strayed < STRAYS:
                self._strayed += not isinstance(trouble, SceneOver)
                return
            if isinstance(trouble, Exception):
                self.trouble = trouble
            raise

    def _book(self, example: Example) -> None:
        example.stage.cut()
        self._audience.after(example.stage)
        if example.finding is None:
            if self.first is None:
                self._count(example)
        elif self.first is None:
            self.first = self.shortest = example
            self.budget.begin()
            self._until = time.monotonic() + SHRINK_SECONDS / 2
        elif self._better(example):
            self.shortest = example

    def _better(self, example: Example) -> bool:
        """Does it break the same rule with fewer events?"""
        best = self.shortest
        if best is None or best.finding is None or not example.breaks(best.finding.rule):
            return False
        return len(example.stage.events) < len(best.stage.events)

    def _count(self, example: Example, reproduced: str = "witnessed") -> None:
        judgement = example.stage.judgement
        self.outcome.histories += 1
        self.outcome.steps += sum(map(len, example.commands))
        self.outcome.judgements.append(judgement)
        self._audience.contribute(judgement, example.stage.events, reproduced=reproduced)

    def _cut(self, example: Example, rule: str) -> Example:
        """The shortest history that parts of its commands make, within half of the time for shrinking."""
        until, best = time.monotonic() + SHRINK_SECONDS / 2, example

        def fails(batches: list[tuple[Command, ...]]) -> bool:
            nonlocal best
            if time.monotonic() > until:
                return False
            again = self._replay(example, self._impatience, batches)
            if again.breaks(rule):
                best = min(best, again, key=lambda one: len(one.stage.events))
            return again.breaks(rule)

        cut_batches(example.commands, fails)
        return best

    def _replay(
        self,
        example: Example,
        deadline: float,
        batches: Sequence[tuple[Command, ...]] | None = None,
    ) -> Example:
        """The same commands, or these, in a history of their own."""
        replay = Example(self._stage(self._silent, deadline), example.shape, self.world)
        if not self._fit():
            return replay
        try:
            with contextlib.suppress(RuleBroken):
                for commands in example.commands if batches is None else batches:
                    replay.perform(commands, self.ends, lockstep=self.lockstep)
                replay.finish(self.ends)
        finally:
            replay.stage.cut()
            self._audience.after(replay.stage)
        return replay
