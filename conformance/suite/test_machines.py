"""The state machines: random histories, judged by the same monitors as the scenes.

A scene shows its rule in the one way its author thought of; a machine meets the rules in company. How much is
generated depends on `--depth`, unless `--examples` says; what, on `--seed` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import pytest

from conformance.events import Event
from conformance.machines.settlement import SCHEDULERS, Scheduler, run_settlement
from conformance.suite.marks import rule
from conformance.verdicts import Finding, Judgement

EXAMPLES = {"smoke": 5, "ci": 25, "deep": 250}
STEPS = {"smoke": 25, "ci": 40, "deep": 60}


class Campaign(Protocol):
    """What the plugin hands to a machine: the broker, the wishes of the user, and where to put what was found."""

    queue_type: str
    opened: Any
    options: Any

    def contribute(
        self, judgement: Judgement, history: Sequence[Event] = (), *, histories: int = 1, reproduced: str = "witnessed",
    ) -> None: ...

    def witness(self, finding: Finding, history: Sequence[Event] = (), reproduced: str = "witnessed") -> None: ...


@rule()
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_settlement(campaign: Campaign, scheduler: Scheduler) -> None:
    """Publish, take and settle at random on three channels, one command at a time or several in one write."""
    opened, options = campaign.opened, campaign.options
    outcome = run_settlement(
        opened.target, opened.profile, lambda: opened.recorder, campaign.queue_type, scheduler,
        options.examples or EXAMPLES[options.depth], STEPS[options.depth], options.seed, deadline=opened.deadline,
    )
    for broken in outcome.broken.values():
        campaign.witness(broken.finding, broken.events, broken.reproduced)
    campaign.contribute(outcome.judgement, histories=outcome.histories)
