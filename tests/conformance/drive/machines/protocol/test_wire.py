"""The wire machine: what it says is lawful or not as it claims, it is bounded, and it finds what it is made for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.catalogue import profiles
from conformance.drive.drivers.raw import Target
from conformance.drive.machines import campaign, search
from conformance.drive.machines.campaign import MachineOutcome
from conformance.drive.machines.protocol.wire import (
    CASES,
    EARLY,
    LAWFUL,
    UNLAWFUL,
    WIRE,
    Case,
    Place,
    Said,
    Strike,
    Switchboard,
)
from conformance.drive.machines.shape import Shape
from conformance.drive.run.bench import Bench
from conformance.drive.stage import Stage
from conformance.history.recorder import Recorder
from reference_broker import ReferenceBroker
from reference_broker.dialects import DIALECTS
from tests.support.worlds import Until

FORMS = 2
DISCARDED: tuple[Place, ...] = ("refused", "left", "over")
"""Where a broker may not look at what is said."""
REACHED = ("FRAME-001", "FRAME-002", "CONN-001", "CONN-014", "CONN-017", "CONN-018")


@pytest.fixture
def board(target: Target) -> Iterator[Switchboard]:
    stage = Stage(target, profiles.load("documented"), Recorder("run", "reference"), "machine")
    yield Switchboard(stage, Shape())
    assert stage.finish().findings == []
    stage.cleanup()


def ends(board: Switchboard, place: Place, said: Said) -> str:
    """Who ends the connection of such a case: the broker, the client in good order, or the client who gives it up."""
    seen = len(board.stage.events)
    board.cases = board.waits = 9
    Strike((Case(place, (said,)),)).perform(board)
    events = board.stage.events[seen:]
    (cause,) = [str(event.args["cause"]) for event in events if event.kind == "end"]
    if cause in ("fin", "reset") or any((one.direction, one.method) == ("<", "connection.close") for one in events):
        return "broker"
    return "client" if cause == "closed" else "nobody"


@pytest.mark.parametrize("place", LAWFUL)
def test_what_is_lawful_costs_nothing(board: Switchboard, place: Place) -> None:
    """Where the handshake was not gone through to its end, the case gives the connection up."""
    for index in range(len(LAWFUL[place])):
        for form in range(FORMS):
            early = place in EARLY and place != "tuned"
            assert ends(board, place, Said(True, index, form)) == ("nobody" if early else "client")


@pytest.mark.parametrize("place", [place for place in UNLAWFUL if place not in DISCARDED])
def test_what_is_not_costs_the_connection(board: Switchboard, place: Place) -> None:
    for index in range(len(UNLAWFUL[place])):
        for form in range(FORMS):
            assert ends(board, place, Said(False, index, form)) == "broker"


@pytest.mark.parametrize("place", DISCARDED)
def test_what_comes_too_late_may_be_discarded(board: Switchboard, place: Place) -> None:
    for index in range(len(UNLAWFUL[place])):
        assert ends(board, place, Said(False, index, 0)) in ("broker", "client")


def test_a_history_has_no_more_cases_than_a_broker_bears(board: Switchboard) -> None:
    one = Case("open", (Said(True, 0, 0),))
    for _ in range(CASES):
        Strike((one, one)).perform(board)
    assert len(board.stage.connections) == 1 + CASES
    early = Case("greeted", (Said(False, 0, 0),))
    board.cases, board.waits = 9, 1
    for _ in range(3):
        Strike((early,)).perform(board)
    assert len(board.stage.connections) == 2 + CASES


def run(broker: ReferenceBroker, examples: int, profile: str = "documented", deadline: float = 10.0) -> MachineOutcome:
    bench = Bench(Target.parse(broker.url), profiles.load(profile), deadline=deadline)
    return search.run(WIRE, bench, "classic", "lockstep", examples, 40, 1)


def test_a_right_broker_is_not_blamed() -> None:
    with ReferenceBroker() as broker:
        outcome = run(broker, 10)
    assert outcome.judgement.findings == []
    assert [rule for rule in REACHED if not outcome.judgement.exercised[rule]] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nor_is_one_that_speaks_a_dialect(dialect: str) -> None:
    with ReferenceBroker(dialect=dialect) as broker:
        outcome = run(broker, 3, dialect, deadline=1.0)
        bench = Bench(Target.parse(broker.url), profiles.load(dialect))
    assert bench.damning(outcome.judgement, "classic") == []


@pytest.mark.parametrize("seed", range(3))
def test_nor_is_lawful_chaos(seed: int) -> None:
    with ReferenceBroker(nondeterminism=seed) as broker:
        assert run(broker, 3).judgement.findings == []


@pytest.mark.parametrize(
    ("mutant", "rule"),
    [
        ("octets.end-unseen", "FRAME-001"),
        ("octets.types-skipped", "FRAME-002"),
        ("octets.class-unseen", "FRAME-007"),
        ("octets.heartbeats-anywhere", "FRAME-009"),
        ("connections.any-header", "CONN-001"),
        ("connections.opened-again", "CONN-018"),
        ("connections.all-of-a-user", "CONN-014"),
    ],
)
def test_a_wrong_ear_is_found(monkeypatch: pytest.MonkeyPatch, until: Until, mutant: str, rule: str) -> None:
    monkeypatch.setattr(campaign, "SHRINK_SECONDS", 0.2)
    monkeypatch.setattr(search, "MOST_BROKEN", 2)
    until(rule)
    with ReferenceBroker(mutants=(mutant,)) as broker:
        outcome = run(broker, 8, deadline=0.5)
    assert rule in outcome.broken
