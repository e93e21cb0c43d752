"""The settlement state machine: random histories of publishing, taking and settling, judged as they happen.

One alphabet, two schedulers. *Lockstep* lets the broker come to rest after every command: it finds wrong meanings and
shrinks well. *Pipelined* writes several commands at once and reads without waiting: it finds races, and the shapes
that only batching shows. Every example is one history with connections and queues of its own; it ends with a drain,
which shows that nothing was lost and nothing came twice.

Hypothesis is used to generate and to shrink, never to judge. The first finding on a rule ends its example, fails it
with that rule's own exception, and is kept, whether or not it happens again; while Hypothesis shrinks, histories are
kept from the recording, and the shortest that breaks the same rule is recorded at the end. Then the search goes on
with this rule muted, so that one broken rule does not hide another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol

from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.stateful import RuleBasedStateMachine, get_state_machine_test, initialize, rule

from conformance.drivers.raw import Target
from conformance.events import Event
from conformance.machines.alphabet import COMMANDS, Command
from conformance.machines.failures import RuleBroken, fail
from conformance.machines.world import World
from conformance.profiles import Profile
from conformance.recorder import Recorder
from conformance.stage import SceneOver, Stage
from conformance.verdicts import Finding, Judgement


class OnJudgement(Protocol):
    """Told of every recorded history, of a failing one only when it is known how often it fails."""

    def __call__(self, judgement: Judgement, history: Sequence[Event], *, reproduced: str = "witnessed") -> None: ...


Scheduler = Literal["lockstep", "pipelined"]
SCHEDULERS: tuple[Scheduler, ...] = ("lockstep", "pipelined")
BATCH = 6
"""At most so many commands leave in one write of the pipelined scheduler."""
SHRINK_SECONDS = 20.0
"""After so long Hypothesis gets no more answers, and what is shortest by then is it."""
REPLAYS = 5
MOST_BROKEN = 12


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

    def __init__(self, stage: Stage, queues: int) -> None:
        self.stage, self.queues = stage, queues
        self.commands: list[tuple[Command, ...]] = []
        self.finding: Finding | None = None
        self.over = False
        self._seen = 0
        self._world: World | None = None

    def perform(self, commands: Sequence[Command], muted: frozenset[str], *, lockstep: bool) -> None:
        """These commands, in one write each or together; raises the failure of the first rule they break."""
        self.commands.append(tuple(commands))
        try:
            world = self._begin()
            with self.stage.batch():
                for command in commands:
                    command.perform(world)
            if lockstep:
                self.stage.quiesce()
            else:
                self.stage.pump()
        except SceneOver:
            self.over = True
        self.check(muted)

    def finish(self, muted: frozenset[str]) -> None:
        """The drain and the end; raises like `perform`."""
        self.stage.finish(give_back=len(self.commands) % 2 == 1)
        self.over = True
        self.check(muted)

    def check(self, muted: frozenset[str]) -> None:
        findings = self.stage.judgement.findings
        new, self._seen = findings[self._seen:], len(findings)
        for finding in new:
            if finding.certain and finding.rule not in muted:
                self.finding, self.over = finding, True
                fail(finding)

    def _begin(self) -> World:
        if self._world is None:
            self._world = World(self.stage, self.queues)
        return self._world


class Campaign:
    """All examples of one run of the machine."""

    def __init__(
        self, target: Target, profile: Profile, recorder: Recorder, queue_type: str, scheduler: Scheduler,
        on_judgement: OnJudgement | None, deadline: float,
    ) -> None:
        self.target, self.profile, self.recorder = target, profile, recorder
        self.queue_type, self.lockstep, self.deadline = queue_type, scheduler == "lockstep", deadline
        self.name = f"settlement-{queue_type}-{scheduler}"
        self.outcome = MachineOutcome()
        self.muted: frozenset[str] = frozenset()
        self.first: Example | None = None
        self.shortest: Example | None = None
        self._on_judgement = on_judgement
        self._silent = recorder.silent()
        self._until = 0.0

    def start(self, queues: int) -> Example:
        """A new history; unrecorded, and with less patience, while Hypothesis shrinks."""
        shrinking = self.first is not None
        deadline = max(0.3, self.deadline / 10) if shrinking else self.deadline
        return Example(self._stage(self._silent if shrinking else self.recorder, deadline), queues)

    def step(self, example: Example, commands: Sequence[Command]) -> None:
        if example.over or (self.first is not None and time.monotonic() > self._until):
            return
        self.outcome.steps += len(commands)
        self._guarded(example, lambda: example.perform(commands, self.muted, lockstep=self.lockstep))

    def end(self, example: Example) -> None:
        """Finishes the history where no rule was broken yet, and books it."""
        try:
            if example.finding is None and not self._spent():
                self._guarded(example, lambda: example.finish(self.muted))
        finally:
            self._book(example)

    def settle_round(self) -> None:
        """A round of generating and shrinking is over: keep its witness, mute its rule."""
        first, shortest = self.first, self.shortest
        if first is None or shortest is None or first.finding is None or shortest.finding is None:
            return
        again = self._replay(shortest, first.finding.rule)
        reproduced = f"{again} of {REPLAYS}" if again else "witnessed"
        if shortest is not first:
            self.recorder.publish(shortest.stage.events)
            self._count(shortest, reproduced)
        self._count(first, reproduced)
        self.outcome.broken[first.finding.rule] = Broken(
            shortest.finding, shortest.stage.events, first.finding, first.stage.events, reproduced,
        )
        self.muted |= {first.finding.rule}
        self.first = self.shortest = None

    def _stage(self, recorder: Recorder, deadline: float) -> Stage:
        return Stage(
            self.target, self.profile, recorder, self.name, queue_type=self.queue_type, deadline=deadline,
        )

    def _spent(self) -> bool:
        return self.first is not None and time.monotonic() > self._until

    def _guarded(self, example: Example, action: Callable[[], None]) -> None:
        try:
            action()
        except RuleBroken:
            raise
        except BaseException:
            example.over = True
            example.stage.cut()
            raise

    def _book(self, example: Example) -> None:
        example.stage.cut()
        if example.finding is None:
            if self.first is None:
                self._count(example)
        elif self.first is None:
            self.first = self.shortest = example
            self._until = time.monotonic() + SHRINK_SECONDS
        elif self._better(example):
            self.shortest = example

    def _better(self, example: Example) -> bool:
        """Does it break the same rule with fewer events?"""
        best = self.shortest
        if best is None or best.finding is None or example.finding is None:
            return False
        return example.finding.rule == best.finding.rule and len(example.stage.events) < len(best.stage.events)

    def _count(self, example: Example, reproduced: str = "witnessed") -> None:
        judgement = example.stage.judgement
        self.outcome.histories += 1
        self.outcome.judgements.append(judgement)
        if self._on_judgement is not None:
            self._on_judgement(judgement, example.stage.events, reproduced=reproduced)

    def _replay(self, example: Example, rule: str) -> int:
        """How often the same commands break the same rule again."""
        return sum(self._again(example, rule) for _ in range(REPLAYS))

    def _again(self, example: Example, rule: str) -> bool:
        replay = Example(self._stage(self._silent, self.deadline), example.queues)
        try:
            for commands in example.commands:
                replay.perform(commands, self.muted, lockstep=self.lockstep)
            replay.finish(self.muted)
        except RuleBroken as broken:
            return broken.finding.rule == rule
        finally:
            replay.stage.cut()
        return False


class SettlementMachine(RuleBasedStateMachine):
    """Hypothesis' view of an example. Subclasses say how many commands make a step."""

    campaign: ClassVar[Campaign]

    def __init__(self) -> None:
        super().__init__()
        self.example: Example | None = None

    @initialize(queues=st.sampled_from((1, 1, 2)))
    def begin(self, queues: int) -> None:
        self.example = self.campaign.start(queues)

    def teardown(self) -> None:
        if self.example is not None:
            self.campaign.end(self.example)


class LockstepMachine(SettlementMachine):
    """One command at a time."""

    @rule(command=COMMANDS)
    def step(self, command: Command) -> None:
        assert self.example is not None
        self.campaign.step(self.example, (command,))


class PipelinedMachine(SettlementMachine):
    """Several commands in one write."""

    @rule(commands=st.lists(COMMANDS, min_size=1, max_size=BATCH))
    def step(self, commands: list[Command]) -> None:
        assert self.example is not None
        self.campaign.step(self.example, commands)


def run_settlement(
    target: Target, profile: Profile, recorder_factory: Callable[[], Recorder], queue_type: str,
    scheduler: Scheduler, examples: int, steps: int, seed: int = 0,
    on_judgement: OnJudgement | None = None, deadline: float = 5.0,
) -> MachineOutcome:
    """Runs so many examples of so many commands each, and as many rounds of shrinking as rules are broken."""
    campaign = Campaign(target, profile, recorder_factory(), queue_type, scheduler, on_judgement, deadline)
    for round_ in range(MOST_BROKEN):
        left = examples - campaign.outcome.histories
        if left <= 0:
            break
        _search(campaign, scheduler, left, steps, seed + round_)
        if campaign.first is None:
            break
        campaign.settle_round()
    return campaign.outcome


def _search(campaign: Campaign, scheduler: Scheduler, examples: int, steps: int, seed: int) -> None:
    """One round of Hypothesis: until a rule that is not muted breaks, and is shrunk, or all examples are done."""
    base = LockstepMachine if scheduler == "lockstep" else PipelinedMachine
    machine = type(base.__name__, (base,), {"campaign": campaign})
    length = steps if scheduler == "lockstep" else max(2 * steps // BATCH, 1)
    config = settings(
        max_examples=examples, stateful_step_count=length, deadline=None, database=None, print_blob=False,
        report_multiple_bugs=False, verbosity=Verbosity.quiet, suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    try:
        seeded(seed)(get_state_machine_test(machine, settings=config))()
    except (RuleBroken, Flaky):
        if campaign.first is None:
            raise
