"""The settlement state machine: random histories of publishing, taking and settling, judged as they happen.

One alphabet, two schedulers. *Lockstep* lets the broker come to rest after every command: it finds wrong meanings and
shrinks well. *Pipelined* writes several commands at once and reads without waiting: it finds races, and the shapes
that only batching shows. Every example is one history with connections and queues of its own; it ends with a drain,
which shows that nothing was lost and nothing came twice. Hypothesis generates and shrinks; it never judges.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.stateful import RuleBasedStateMachine, get_state_machine_test, initialize, rule

from conformance.drivers.raw import Target
from conformance.machines.alphabet import COMMANDS, Command
from conformance.machines.campaign import (
    SCHEDULERS,
    Broken,
    Campaign,
    Enough,
    Example,
    MachineOutcome,
    OnJudgement,
    Scheduler,
)
from conformance.machines.failures import RuleBroken
from conformance.profiles import Profile
from conformance.recorder import Recorder

__all__ = ["SCHEDULERS", "Broken", "MachineOutcome", "Scheduler", "SettlementMachine", "run_settlement"]

BATCH = 6
"""At most so many commands leave in one write of the pipelined scheduler."""
MOST_BROKEN = 8
"""At most so many rules are looked for that are broken."""


class SettlementMachine(RuleBasedStateMachine):
    """Hypothesis' view of an example. Subclasses say how many commands make a step."""

    campaign: ClassVar[Campaign]

    def __init__(self) -> None:
        super().__init__()
        self.example: Example | None = None

    @initialize(queues=st.sampled_from((1, 2)))
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
    except (Enough, RuleBroken, Flaky):
        if campaign.first is None and campaign.trouble is None:
            raise
    finally:
        if campaign.trouble is not None:
            raise campaign.trouble
