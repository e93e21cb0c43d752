"""The cancellation machine: clean on a broker that is right, and able to see one that is not."""

from __future__ import annotations

import pytest

from conformance.catalogue import profiles
from conformance.drive.drivers.raw import Target
from conformance.drive.machines import search
from conformance.drive.machines.campaign import SCHEDULERS, MachineOutcome, Scheduler
from conformance.drive.machines.cancellation import CANCELLATION
from conformance.drive.run.bench import Bench
from reference_broker import ReferenceBroker

EXAMPLES = 12


def play(scheduler: Scheduler, *mutants: str, deadline: float = 0.5) -> MachineOutcome:
    with ReferenceBroker(mutants=mutants) as broker:
        return search.run(
            CANCELLATION,
            Bench(Target.parse(broker.url), profiles.load("documented"), deadline=deadline),
            "classic",
            scheduler,
            EXAMPLES,
            40,
            seed=1,
        )


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_nothing_is_wrong_with_the_reference_broker(scheduler: Scheduler) -> None:
    outcome = play(scheduler, deadline=10.0)
    assert outcome.broken == {}
    assert outcome.histories >= EXAMPLES
    if scheduler == "lockstep":  # pipelined, what can be proved hangs on the interleaving
        exercised = outcome.judgement.exercised
        assert all(exercised[rule] for rule in ("CAN-001", "CAN-003", "CAN-005", "CAN-006", "CAN-008", "CAN-013"))


@pytest.mark.parametrize(
    ("mutant", "rule"),
    [
        ("cancel.notifies-everybody", "CAN-001"),
        ("cancel.notifies-twice", "CAN-003"),
        ("cancel.unknown-tag-refused", "CAN-007"),
        ("cancel.answered-only", "CAN-009"),
        ("cancel.tag-stays-taken", "CAN-013"),
        ("cancel.nowait-answered", "CAN-014"),
    ],
)
def test_it_sees_a_wrong_broker(mutant: str, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.drive.machines.campaign.SHRINK_SECONDS", 0.2)
    assert rule in {finding.rule for finding in play("lockstep", mutant).judgement.findings}
