"""The timeouts machines blame nobody who is right, find wrong ends of deliveries, and stay away from real clocks."""

from __future__ import annotations

import pytest

from conformance.catalogue import profiles
from conformance.drive.around import Around
from conformance.drive.drivers.admin import Admin
from conformance.drive.drivers.raw import Target
from conformance.drive.machines import campaign, search
from conformance.drive.machines.campaign import MachineOutcome
from conformance.drive.machines.timeouts import TIMED_OUT
from conformance.drive.run.bench import Bench
from reference_broker import ReferenceBroker
from tests.support.worlds import Until

HEARD, UNHEARD = TIMED_OUT
REACHED = {
    "TMO-002",
    "TMO-003",
    "TMO-006",
    "TMO-007",
    "TMO-009",
    "TMO-010",
    "TMO-011",
    "TMO-012",
    "TMO-013",
    "TMO-015",
    "TMO-017",
    "TMO-018",
}


def run(
    machine: search.Machine,
    examples: int,
    *mutants: str,
    ours: bool = True,
    deadline: float = 10.0,
) -> MachineOutcome:
    with ReferenceBroker(clock="elastic", http_port=0, mutants=mutants) as broker:
        around = Around(Admin(broker.admin_url), broker.leap if ours else None)
        return search.run(
            machine,
            Bench(Target.parse(broker.url), profiles.load("documented"), around, deadline),
            "quorum",
            "lockstep",
            examples,
            40,
            1,
        )


def test_a_right_broker_is_not_blamed() -> None:
    exercised: set[str] = set()
    for machine in TIMED_OUT:
        judgement = run(machine, 60).judgement
        assert judgement.findings == []
        exercised |= {rule for rule, count in judgement.exercised.items() if count}
    assert exercised >= REACHED | {"TMO-008"}


@pytest.mark.parametrize(
    ("machine", "mutant", "rule"),
    [
        (HEARD, "timeouts.whole-consumer", "TMO-010"),
        (HEARD, "timeouts.first-revives", "TMO-012"),
        (HEARD, "timeouts.longer-wins", "TMO-003"),
        (UNHEARD, "timeouts.closes-connection", "TMO-008"),
    ],
)
@pytest.mark.sampled(2)
def test_a_wrong_one_is_found(
    machine: search.Machine,
    mutant: str,
    rule: str,
    monkeypatch: pytest.MonkeyPatch,
    until: Until,
) -> None:
    monkeypatch.setattr(campaign, "SHRINK_SECONDS", 0.2)
    monkeypatch.setattr(search, "MOST_BROKEN", 2)
    until(rule)
    assert rule in run(machine, 160, mutant, deadline=0.5).broken


def test_where_time_is_not_ours_it_is_not_played() -> None:
    assert run(HEARD, 10, ours=False).histories == 0
