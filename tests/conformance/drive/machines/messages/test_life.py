"""The life machine blames nobody who is right, finds what is wrong where features meet, and reaches what it is for."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest
from hypothesis import Phase, find, settings

from conformance.catalogue import profiles
from conformance.drive.around import Around
from conformance.drive.drivers.raw import Target
from conformance.drive.machines import campaign, search
from conformance.drive.machines.campaign import SCHEDULERS, MachineOutcome, Scheduler
from conformance.drive.machines.chance import BACKEND
from conformance.drive.machines.messages.life import LIFE, PATIENT
from conformance.drive.machines.messages.lifetimes import Lifetimes
from conformance.drive.machines.messages.lots import DEAD, LOTS, PRIORITIES, QUEUES, SINGLE, TRAITS, UNREST
from conformance.drive.machines.shape import Lot, Shape
from conformance.drive.run.bench import Bench
from conformance.drive.stage import Stage
from conformance.history.recorder import Recorder
from reference_broker import ReferenceBroker
from tests.support.worlds import Until

DRAWN = 500
BY_CHANCE = settings(max_examples=DRAWN, phases=(Phase.generate,), database=None, deadline=None, backend=BACKEND)
REACHED = {
    "CNF-011",
    "DLX-001",
    "DLX-002",
    "DLX-005",
    "DLX-013",
    "LEN-011",
    "PRIO-001",
    "PRIO-002",
    "TTL-001",
    "TTL-004",
}


def run(
    queue_type: str = "classic",
    scheduler: Scheduler = "lockstep",
    examples: int = 30,
    *,
    mutants: tuple[str, ...] = (),
    dialect: str = "documented",
    seed: int = 0,
    deadline: float = 10.0,
) -> MachineOutcome:
    with ReferenceBroker(clock="elastic", mutants=mutants, dialect=dialect) as broker:
        bench = Bench(Target.parse(broker.url), profiles.load(dialect), Around(None, broker.leap), deadline)
        return search.run(LIFE, bench, queue_type, scheduler, examples, 40, seed)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_right_broker_is_not_blamed(scheduler: Scheduler) -> None:
    exercised: set[str] = set()
    for queue_type in ("classic", "quorum"):
        judgement = run(queue_type, scheduler).judgement
        assert judgement.findings == []
        exercised |= {rule for rule, count in judgement.exercised.items() if count}
    if scheduler == "lockstep":
        assert exercised >= REACHED


@pytest.mark.parametrize("dialect", ["rabbitmq-3.8", "rabbitmq-4.3"])
def test_nor_is_one_that_speaks_a_dialect(dialect: str) -> None:
    assert run(examples=12, dialect=dialect).judgement.findings == []


@pytest.mark.parametrize(
    ("mutant", "rule"),
    [
        ("pairs.single-outlive", "TTL-002"),
        ("pairs.limited-outlive", "TTL-001"),
        ("deadletters.rejected-lost", "DLX-001"),
        ("aging.immortal-once-seen", "TTL-007"),
    ],
)
def test_a_wrong_one_is_found(mutant: str, rule: str, until: Until, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "SHRINK_SECONDS", 0.2)
    monkeypatch.setattr(search, "MOST_BROKEN", 3)
    until(rule.partition("-")[0])
    assert rule.partition("-")[0] in {one.partition("-")[0] for one in run(mutants=(mutant,), deadline=1.0).broken}


@cache
def lots() -> list[Lot]:
    """As machines draw them."""
    found: list[Lot] = []
    find(LOTS, lambda lot: found.append(lot) or len(found) >= DRAWN, settings=BY_CHANCE, random=Random(1))
    return found


@pytest.mark.parametrize("one", [DEAD, PRIORITIES, SINGLE])
def test_any_two_features_meet(one: str) -> None:
    assert {other for lot in lots() if one in lot.traits for other in lot.traits} >= {*TRAITS}


def test_what_makes_queues_uncertain_comes_alone() -> None:
    assert all(len(lot.traits & set(UNREST)) <= 1 for lot in lots())
    assert all(len(lot.terms) == QUEUES for lot in lots())


def test_time_passes_in_lockstep_alone() -> None:
    names = {choice.name for choice in LIFE.alphabet(profiles.load("documented"), "classic", "pipelined")}
    assert not names & {choice.name for choice in PATIENT}
    assert {"Send", "Settle"} <= names


@pytest.mark.parametrize(("profile", "there"), [("documented", True), ("rabbitmq-3.10", False), ("rabbitmq-4.3", True)])
def test_what_a_version_does_not_survive_is_left_out(profile: str, there: bool) -> None:
    lot = Lot(frozenset({SINGLE}), ((("x-single-active-consumer", True),), (), ()))
    with ReferenceBroker() as broker:
        stage = Stage(Target.parse(broker.url), profiles.load(profile), Recorder("run", "reference"), "machine")
        Lifetimes(stage, Shape(lot=lot))
        declared = [event.arguments for event in stage.events if event.method == "queue.declare"]
        stage.cut()
    assert any("x-single-active-consumer" in arguments for arguments in declared) is there
