"""POLICY: policies that are removed, and what limits queues then."""

from __future__ import annotations

from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.messages.test_policy import (
    CLASSIC,
    LARGE,
    MOST,
    OCTETS,
    PolicyTrial,
    fresh,
    heeded,
    only,
    put,
    so_large,
)
from conformance.drive.stage import Stage


@rule("POLICY-009", queue_types=CLASSIC)
def test_it_is_removed(stage: Stage) -> None:
    """While messages wait, and what was dropped is gone. Or it is there, and for other queues from now on. A queue that
    has a limit of its own is held to that again."""
    trial, name = PolicyTrial(stage, stage.queue()), fresh(stage)
    for removed in (True, False):
        put(stage, only(trial.queue), {MOST: 3}, name)
        heeded(stage)
        trial.fill(5)
        if removed:
            stage.around.unrule(stage, name)
        else:
            put(stage, only(fresh(stage)), {MOST: 3}, name)
        heeded(stage)
        trial.fill(5)
        trial.empty()
        trial.keeps(8)
    if stage.offers(f"x-{OCTETS}"):
        _own(stage)


def _own(stage: Stage) -> None:
    """Octets for five, of which the policy allowed two."""
    trial, name = PolicyTrial(stage, stage.queue({f"x-{OCTETS}": so_large(5)})), fresh(stage)
    put(stage, only(trial.queue), {OCTETS: so_large(2)}, name)
    heeded(stage)
    trial.octets(LARGE, 4)
    stage.around.unrule(stage, name)
    heeded(stage)
    trial.octets(LARGE, 8)
