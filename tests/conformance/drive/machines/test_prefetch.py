"""The prefetch machine blames nobody who is right, finds wrong limits, and reaches what it is for."""

from __future__ import annotations

import pytest

from conformance.catalogue import profiles
from conformance.drive.drivers.raw import Target
from conformance.drive.machines import campaign, search
from conformance.drive.machines.campaign import SCHEDULERS, MachineOutcome, Scheduler
from conformance.drive.machines.prefetch import PREFETCH
from conformance.drive.run.bench import Bench
from reference_broker import ReferenceBroker

REACHED = ("QOS-001", "QOS-003", "QOS-004", "QOS-010", "QOS-012", "QOS-016", "QOS-021", "QOS-027")


def run(
    broker: ReferenceBroker,
    queue_type: str,
    scheduler: Scheduler,
    examples: int,
    profile: str,
    deadline: float = 10.0,
) -> MachineOutcome:
    return search.run(
        PREFETCH,
        Bench(Target.parse(broker.url), profiles.load(profile), deadline=deadline),
        queue_type,
        scheduler,
        examples,
        40,
        3,
    )


@pytest.mark.parametrize("queue_type", ["classic", "quorum"])
@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.sampled(2)
def test_a_right_broker_is_not_blamed(scheduler: Scheduler, queue_type: str) -> None:
    with ReferenceBroker() as broker:
        outcome = run(broker, queue_type, scheduler, 40, "documented")
    assert outcome.judgement.findings == []
    if scheduler == "lockstep":
        assert [rule for rule in REACHED if not outcome.judgement.exercised[rule]] == []


@pytest.mark.parametrize("dialect", ["rabbitmq-4.0", "rabbitmq-4.3"])
@pytest.mark.sampled(2)
def test_nor_is_one_that_speaks_a_dialect(dialect: str) -> None:
    with ReferenceBroker(dialect=dialect) as broker:
        assert run(broker, "classic", "lockstep", 20, dialect).judgement.findings == []


@pytest.mark.parametrize(
    "mutant", ["prefetch.channel-limit-for-each", "prefetch.and-ends-another", "slots.gap-counts-twice"]
)
@pytest.mark.sampled(2)
def test_a_wrong_limit_is_found(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "SHRINK_SECONDS", 0.2)
    monkeypatch.setattr(search, "MOST_BROKEN", 2)
    with ReferenceBroker(mutants=(mutant,)) as broker:
        outcome = run(broker, "classic", "lockstep", 40, "documented", deadline=2.0)
    assert {rule.split("-")[0] for rule in outcome.broken} == {"QOS"}
