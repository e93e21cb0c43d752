"""The search: Hypothesis plays a machine, round by round, until no further rule is found broken.

A machine is an alphabet under a name. One alphabet, two schedulers. *Lockstep* lets the broker come to rest after
every command: it finds wrong meanings and shrinks well. *Pipelined* writes several commands at once and reads without
waiting: it finds races, and the shapes that only batching shows. Every example is one history with connections and
queues of its own; it ends with a drain, which shows that nothing was lost and nothing came twice. Hypothesis generates
and shrinks; it never judges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.stateful import RuleBasedStateMachine, get_state_machine_test, initialize, rule

from conformance.catalogue.profiles import Profile
from conformance.drive.around import Around
from conformance.drive.machines.campaign import Campaign, Enough, Example, MachineOutcome, Scheduler
from conformance.drive.machines.chance import BACKEND
from conformance.drive.machines.failures import RuleBroken
from conformance.drive.machines.lean import LARGE, PLAIN, Lean
from conformance.drive.machines.shape import WIDE, Lot, Shape, shapes
from conformance.drive.machines.swarm import Alphabet, factors, mixed
from conformance.drive.machines.world import Command, World
from conformance.drive.run.audience import CURIOUS, Audience
from conformance.drive.run.bench import Bench

BATCH = 6
"""At most this many commands leave in one write of the pipelined scheduler."""
MOST_BROKEN = 8
"""At most this many rules are looked for that are broken."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A name, the commands that make sense for a profile and a queue type, where, and of what shapes histories are."""

    name: str
    commands: Callable[[Profile, str], Alphabet]
    queues: tuple[int, ...] = (1, 2)
    world: type[World] = World
    wide: tuple[int, ...] = WIDE
    apart: tuple[bool, ...] = (False,)
    clock: bool = False
    """Only where the broker's clock is ours, and its queues watch it."""
    managed: bool = False
    """Only where users can be made."""
    small: bool = False
    """Nothing is done by the dozen: each command is large by itself."""
    times: float = 1.0
    """So many times as many histories as of other machines."""
    patient: Alphabet = ()
    """Commands beside, which wait for something, and so are for lockstep alone."""
    restarting: Alphabet = ()
    """More of them, where the broker can be restarted."""
    lots: st.SearchStrategy[Lot] | None = None
    """What histories are about, where they draw that."""

    def shapes(self, queue_type: str, scheduler: Scheduler) -> st.SearchStrategy[Shape]:
        """One is drawn for each history.

        Nothing is wide on quorum queues: those of RabbitMQ return more than 32 messages at once in any order, and lose
        what is settled behind 32 commands with the channel. A machine that meets that all the time sees nothing else.
        Where nobody waits, channels are apart only in a machine that is made for it: what two connections say is read
        in any order, and RQ-008 was once told of a right broker by that.
        """
        wide = self.wide if queue_type != "quorum" else (1,)
        apart = self.apart if scheduler == "lockstep" else self.apart[:1]
        drawn = shapes(self.queues, wide, apart, small=self.small or queue_type == "quorum", only=self.clock)
        if self.lots is None:
            return drawn
        return st.builds(lambda shape, lot: replace(shape, lot=lot), drawn, self.lots)

    def alphabet(self, profile: Profile, queue_type: str, scheduler: Scheduler) -> Alphabet:
        """All commands that make sense there."""
        return (*self.commands(profile, queue_type), *(self.patient if scheduler == "lockstep" else ()))

    def allowed(self, lean: Lean, queue_type: str, scheduler: Scheduler) -> Lean:
        """What of this lean goes with what is said there."""
        kept = lean.without(*LARGE) if queue_type == "quorum" else lean
        if scheduler == "pipelined" or True not in self.apart:
            kept = kept.without("apart")
        if self.clock or False not in self.apart:
            kept = kept.without("behind", "apart")
        return kept

    def suits(self, profile: Profile, around: Around) -> bool:
        """Can it be played here?"""
        if self.managed and around.admin is None:
            return False
        return not self.clock or (around.advance is not None and profile.choices["consumer_timeout"] == "queue")


class Play(RuleBasedStateMachine):
    """Hypothesis' view of an example. Subclasses say how many commands make a step."""

    campaign: ClassVar[Campaign]
    shapes: ClassVar[st.SearchStrategy[Shape]]
    alphabet: ClassVar[Alphabet]
    lean: ClassVar[Lean]
    most: ClassVar[int]
    simplest: ClassVar[bool]

    def __init__(self) -> None:
        super().__init__()
        self.example: Example | None = None
        self.shape = Shape()
        self.commands: st.SearchStrategy[list[Command]] = st.nothing()
        self.idle = self.simplest
        type(self).simplest = False

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        if not self.idle:
            self.shape = data.draw(self.shapes)
            one = mixed(self.alphabet, self.lean.weighed(self.alphabet, data.draw(factors(len(self.alphabet)))))
            self.commands = st.lists(one, min_size=1, max_size=self.most)

    def perform(self, commands: Sequence[Command]) -> None:
        if self.example is None:
            self.example = self.campaign.start(self.shape)
        self.campaign.step(self.example, commands)

    def teardown(self) -> None:
        if self.example is not None:
            self.campaign.end(self.example)


def run(
    machine: Machine,
    bench: Bench,
    queue_type: str,
    scheduler: Scheduler,
    examples: int,
    steps: int,
    seed: int = 0,
    audience: Audience = CURIOUS,
    lean: Lean = PLAIN,
) -> MachineOutcome:
    """Runs this many examples of this many commands each; a broken rule is shrunk, muted, and the search goes on.

    A finding that is settled for the audience is judged like any other, and not looked into; nor is any when the budget
    is empty. The histories may `lean` to something.
    """
    if bench.around.restart is not None:
        machine = replace(machine, patient=(*machine.patient, *machine.restarting))
    name = f"{machine.name}-{queue_type}-{scheduler}"
    campaign = Campaign(bench, queue_type, scheduler, name, machine.world, audience)
    if not machine.suits(bench.profile, bench.around):
        return campaign.outcome
    try:
        for round_ in range(2 * examples):
            left = examples - campaign.outcome.histories
            if left <= 0 or campaign.over or len(campaign.outcome.broken) == MOST_BROKEN:
                break
            _search(campaign, _played(machine, campaign, lean), left, steps, seed * 1_000_003 + round_)
            campaign.settle_round()
    finally:
        campaign.budget.done()
    return campaign.outcome


def _played(machine: Machine, campaign: Campaign, lean: Lean) -> type[Play]:
    """The machine as Hypothesis wants it: one command a step, or several in one write."""
    scheduler: Scheduler = "lockstep" if campaign.lockstep else "pipelined"
    alphabet = machine.alphabet(campaign.bench.profile, campaign.queue_type, scheduler)
    lean = machine.allowed(lean, campaign.queue_type, scheduler)
    shapes = machine.shapes(campaign.queue_type, scheduler).map(lean.applied)

    def step(self: Play, data: st.DataObject) -> None:
        if not self.idle:
            self.perform(data.draw(self.commands))

    members = {
        "campaign": campaign,
        "shapes": shapes,
        "alphabet": alphabet,
        "lean": lean,
        "most": 1 if campaign.lockstep else BATCH,
        "simplest": True,
        "step": rule(data=st.data())(step),
    }
    return type(machine.name.title(), (Play,), members)


def _as_test(played: type[Play], config: settings) -> Callable[[], None]:
    """What Hypothesis runs. It keeps no examples, so it need not read our source to know them by."""
    made: Any = partial(played)
    test: Any = get_state_machine_test(made, settings=config)
    test._hypothesis_internal_database_key = None
    return test  # type: ignore[no-any-return]


def _search(campaign: Campaign, played: type[Play], examples: int, steps: int, seed: int) -> None:
    """One round of Hypothesis: until a rule that is not muted breaks, and is shrunk, or all examples are done.

    Its first example is the simplest there is, one command again and again, and is not played.
    """
    length = steps if campaign.lockstep else max(2 * steps // BATCH, 1)
    config = settings(
        max_examples=examples + 1,
        backend=BACKEND,
        stateful_step_count=length,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        phases=(Phase.generate, Phase.shrink),
    )
    try:
        seeded(seed)(_as_test(played, config))()
    except (Enough, RuleBroken, Flaky):
        if campaign.first is None and campaign.trouble is None and not campaign.over:
            raise
    finally:
        if campaign.trouble is not None:
            raise campaign.trouble
