"""The life machine blames nobody who is right, finds what is wrong where features meet, and reaches what it is for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from random import Random

import pytest
from hypothesis import Phase, find, settings

from conformance.catalogue import profiles
from conformance.catalogue.profiles import CIRCLES
from conformance.drive.around import Around
from conformance.drive.drivers.admin import Admin
from conformance.drive.drivers.raw import Target
from conformance.drive.machines import campaign, search
from conformance.drive.machines.campaign import SCHEDULERS, MachineOutcome, Scheduler
from conformance.drive.machines.chance import BACKEND
from conformance.drive.machines.messages.life import LIFE, PATIENT, RESTARTING
from conformance.drive.machines.messages.lifetimes import Lifetimes
from conformance.drive.machines.messages.lots import (
    DEAD,
    DEATHS,
    LIMITS,
    LOTS,
    OF_ANYTHING,
    OF_THEMES,
    PRIORITIES,
    QUEUES,
    RULED,
    SINGLE,
    TRAITS,
    UNREST,
)
from conformance.drive.machines.shape import Lot, Shape
from conformance.drive.run.bench import Bench
from conformance.drive.stage import Stage
from conformance.history.recorder import Recorder
from reference_broker import ReferenceBroker
from reference_broker.core.queues.queue import Queue
from tests.support.worlds import Until

DRAWN = 2000
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


ANYTHING = "anything"
THEMES = {
    LIMITS: {
        "LEN-001",
        "LEN-002",
        "LEN-003",
        "LEN-004",
        "LEN-005",
        "LEN-006",
        "LEN-007",
        "LEN-009",
        "LEN-010",
        "LEN-014",
    },
    DEATHS: {"DLX-001", "DLX-002", "DLX-003", "DLX-005", "DLX-006", "DLX-008", "DLX-010", "DLX-012", "DLX-013"},
    RULED: {"POLICY-007", "POLICY-008", "POLICY-009", "POLICY-010", "POLICY-011"},
}
"""What histories about one thing see to be right."""


def run(
    queue_type: str = "classic",
    scheduler: Scheduler = "lockstep",
    examples: int = 30,
    *,
    mutants: tuple[str, ...] = (),
    dialect: str = "documented",
    seed: int = 0,
    deadline: float = 10.0,
    theme: str = "",
    managed: bool = False,
    restarts: bool = False,
) -> MachineOutcome:
    """The machine, or the one that draws what one theme says; or one that restarts the broker in most histories."""
    machine = replace(LIFE, lots={ANYTHING: OF_ANYTHING, **OF_THEMES}[theme]) if theme else LIFE
    if restarts:
        machine = replace(machine, restarting=tuple(replace(one, weight=12) for one in RESTARTING))
    with ReferenceBroker(clock="elastic", http_port=0, mutants=mutants, dialect=dialect) as broker:
        around = Around(Admin(broker.admin_url) if managed else None, broker.leap)
        around.restart = broker.restart if restarts else None
        bench = Bench(Target.parse(broker.url), profiles.load(dialect), around, deadline)
        return search.run(machine, bench, queue_type, scheduler, examples, 40, seed)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_right_broker_is_not_blamed(scheduler: Scheduler) -> None:
    exercised: set[str] = set()
    for queue_type in ("classic", "quorum"):
        judgement = run(queue_type, scheduler, seed=1).judgement
        assert judgement.findings == []
        exercised |= {rule for rule, count in judgement.exercised.items() if count}
    if scheduler == "lockstep":
        assert exercised >= REACHED


@pytest.mark.parametrize("dialect", ["rabbitmq-3.8", "rabbitmq-4.3"])
@pytest.mark.sampled(3)
def test_nor_is_one_that_speaks_a_dialect(dialect: str) -> None:
    bench = Bench(Target.parse("amqp://127.0.0.1"), profiles.load(dialect), Around(None, None), 1.0)
    assert [*bench.damning(run(examples=12, dialect=dialect).judgement, "classic")] == []


@pytest.mark.parametrize(("theme", "rules"), THEMES.items())
@pytest.mark.sampled(3)
def test_a_history_about_one_thing_shows_much_of_it(theme: str, rules: set[str]) -> None:
    judgement = run(examples=16, theme=theme, managed=True).judgement
    assert judgement.findings == []
    assert {rule for rule, count in judgement.exercised.items() if count} >= rules


def test_without_the_management_api_no_policy_is_set() -> None:
    judgement = run(examples=4, theme=RULED).judgement
    assert judgement.findings == []
    assert not [rule for rule in judgement.exercised if rule.startswith("POLICY-")]


@pytest.mark.parametrize(
    ("mutant", "rule", "theme"),
    [
        ("lengths.octets-unlimited", "LEN-005", LIMITS),
        ("lengths.newest-go", "LEN-002", LIMITS),
        ("deadletters.count-ends-at-two", "DLX-006", DEATHS),
        ("deadletters.never-back", "DLX-012", DEATHS),
        ("policies.no-ttl", "POLICY-011", RULED),
        ("policies.untrimmed", "POLICY-008", RULED),
    ],
)
@pytest.mark.sampled(3)
def test_a_wrong_one_is_found_by_what_a_history_is_about(
    mutant: str, rule: str, theme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign, "SHRINK_SECONDS", 0.2)
    monkeypatch.setattr(search, "MOST_BROKEN", 1)
    broken = run(mutants=(mutant,), deadline=1.0, theme=theme, managed=True).broken
    assert [one.partition("-")[0] for one in broken] == [rule.partition("-")[0]]


@pytest.mark.parametrize(
    ("mutant", "rule"),
    [
        ("pairs.single-outlive", "TTL-002"),
        ("pairs.limited-outlive", "TTL-001"),
        ("deadletters.rejected-lost", "DLX-001"),
        ("aging.immortal-once-seen", "TTL-007"),
    ],
)
@pytest.mark.sampled(3)
def test_a_wrong_one_is_found(mutant: str, rule: str, until: Until, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "SHRINK_SECONDS", 0.2)
    monkeypatch.setattr(search, "MOST_BROKEN", 3)
    until(rule.partition("-")[0])
    broken = run(mutants=(mutant,), deadline=1.0, theme=ANYTHING).broken
    assert rule.partition("-")[0] in {one.partition("-")[0] for one in broken}


def deaths_forgotten(queue: Queue) -> None:
    """A restart leaves no x-death."""
    for entry in queue.ready.entries():
        told = entry.message
        headers = [one for one in told.headers if one[0] != "x-death"]
        if len(headers) < len(told.headers):
            entry.message = told.copy(told.exchange, told.routing_key, headers=headers)


def never_expires(queue: Queue) -> None:
    """What has waited over a restart has no time to live."""
    for entry in queue.ready.entries():
        entry.expires = None


@pytest.mark.parametrize(("spoil", "family"), [(None, ""), (deaths_forgotten, "DLX"), (never_expires, "TTL")])
@pytest.mark.sampled(3)
def test_what_a_restart_meets(
    spoil: Callable[[Queue], None] | None, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right restarts are not blamed; wrong ones, that err where something else is at work, are."""
    restart = Queue.restart

    def wrongly(self: Queue) -> None:
        restart(self)
        if spoil is not None:
            spoil(self)

    monkeypatch.setattr(Queue, "restart", wrongly)
    monkeypatch.setattr(campaign, "SHRINK_SECONDS", 0.2)
    outcome = run(examples=40, seed=1 if family == "TTL" else 2, deadline=1.0 if spoil else 10.0, restarts=True)
    assert {one.partition("-")[0] for one in outcome.broken} >= ({family} if family else set())
    if spoil is None:
        assert outcome.judgement.findings == []
        assert outcome.judgement.exercised["DUR-014"] > 0, "there were restarts"


def test_without_a_command_nothing_restarts() -> None:
    assert not [rule for rule in run(examples=4).judgement.exercised if rule.startswith("DUR-")]


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
@pytest.mark.sampled(3)
def test_what_a_version_does_not_survive_is_left_out(profile: str, there: bool) -> None:
    lot = Lot(frozenset({SINGLE}), ((("x-single-active-consumer", True),), (), ()))
    with ReferenceBroker() as broker:
        stage = Stage(Target.parse(broker.url), profiles.load(profile), Recorder("run", "reference"), "machine")
        Lifetimes(stage, Shape(lot=lot))
        declared = [event.arguments for event in stage.events if event.method == "queue.declare"]
        stage.cut()
    assert any("x-single-active-consumer" in arguments for arguments in declared) is there


@pytest.mark.parametrize(("heirs", "kept"), [((1, 2, 0), 2), ((1, 1, None), 1), ((1, 2, None), 2)])
@pytest.mark.parametrize("spares", [(), (CIRCLES,)], ids=["any broker", "one that falls"])
def test_dead_letters_that_would_go_round_are_spared(
    spares: tuple[str, ...], heirs: tuple[int | None, ...], kept: int
) -> None:
    """LavinMQ answers nobody any more when one message goes round for two reasons."""
    to = (("x-dead-letter-exchange", ""), ("x-message-ttl", 60_000))
    terms = tuple((*to, ("x-dead-letter-routing-key", heir)) if heir is not None else () for heir in heirs)
    profile = replace(profiles.load("documented"), spares=spares)
    with ReferenceBroker() as broker:
        stage = Stage(Target.parse(broker.url), profile, Recorder("run", "reference"), "machine")
        Lifetimes(stage, Shape(lot=Lot(frozenset({DEAD}), terms)))
        declared = [event.arguments for event in stage.events if event.method == "queue.declare"]
        stage.cut()
    asked = sum(heir is not None for heir in heirs)
    assert sum("x-dead-letter-routing-key" in arguments for arguments in declared) == (kept if spares else asked)
