"""The routes machine: what it exercises, where words are empty, and brokers that lead messages wrongly."""

from __future__ import annotations

import pytest

from conformance.catalogue import profiles
from conformance.drive.drivers.raw import Target
from conformance.drive.machines import campaign, search
from conformance.drive.machines.campaign import MachineOutcome
from conformance.drive.machines.messages.binding import Bind, Post
from conformance.drive.machines.messages.network import EMPTY_WORDS, Network
from conformance.drive.machines.messages.routes import ROUTES, Spend, Wear
from conformance.drive.machines.shape import Lot, Shape
from conformance.drive.run.bench import Bench
from conformance.drive.stage import Stage
from conformance.history.recorder import Recorder
from reference_broker import ReferenceBroker

DOCUMENTED = profiles.load("documented")
BIND = Bind(0, 0, 0, False, ("*", "", "#"), 1, (), "")
POST = Post(0, 0, 0, 0, ("",), "", 0)


def run(target: Target, examples: int = 10) -> MachineOutcome:
    return search.run(ROUTES, Bench(target, DOCUMENTED, deadline=10.0), "classic", "lockstep", examples, 30, 1)


def test_a_right_broker_leads_all_as_it_should(target: Target) -> None:
    outcome = run(target)
    assert outcome.judgement.findings == []
    assert {
        "ROUTE-001",
        "ROUTE-004",
        "ROUTE-006",
        "ROUTE-010",
        "CNF-009",
        "CNF-025",
    } <= outcome.judgement.exercised.keys()


def test_a_broker_that_leads_wrongly_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which rule of routes is nearest hangs on the way that the message took."""
    monkeypatch.setattr(campaign, "SHRINK_SECONDS", 1.0)
    with ReferenceBroker(mutants=("exchanges.star-may-be-missing",)) as broker:
        broken = run(Target.parse(broker.url), 15).broken
    assert broken
    assert all(rule.startswith("ROUTE-") for rule in broken)


@pytest.mark.parametrize(("traits", "key"), [(frozenset(), "*.c.#"), (frozenset({EMPTY_WORDS}), "*..#")])
def test_words_are_empty_in_some_histories(target: Target, traits: frozenset[str], key: str) -> None:
    stage = Stage(target, DOCUMENTED, Recorder("run", "reference"), "machine", queue_type="classic")
    world = Network(stage, Shape(1, lot=Lot(traits)))
    while world.node(0).kind != "topic":
        world.nodes.append(world.nodes.pop(0))
    BIND.perform(world)
    assert [one.key for one in world.ties] == [key]
    assert POST.key_for(world, world.ties[0]).count(".") == 2
    POST.perform(world)
    stage.quiesce()
    assert stage.finish().findings == []
    stage.cleanup()


@pytest.mark.parametrize("onward", [False, True])
@pytest.mark.parametrize("gone", [False, True])
def test_a_binding_goes_and_comes_back_often(target: Target, onward: bool, gone: bool) -> None:
    stage = Stage(target, DOCUMENTED, Recorder("run", "reference"), "machine", queue_type="classic")
    world = Network(stage, Shape(1))
    Wear(Bind(0, 0, 1, onward, ("a",), 1, (("ink", "red"),), ""), 7, gone, POST).perform(world)
    method = "exchange.unbind" if onward else "queue.unbind"
    assert sum(event.method == method for event in stage.events) == 7 + gone
    assert len(world.ties) == 1 + onward - gone
    assert stage.finish().findings == []
    stage.cleanup()


def test_an_exchange_is_unbound_and_deleted_in_one_write(target: Target) -> None:
    stage = Stage(target, DOCUMENTED, Recorder("run", "reference"), "machine", queue_type="classic")
    world = Network(stage, Shape(1))
    Bind(0, 0, 1, False, ("a",), 1, (("ink", "red"),), "").perform(world)
    Spend(0, 0).perform(world)
    methods = [event.method for event in stage.events if event.direction == ">"]
    assert methods[methods.index("queue.unbind") + 1] == "exchange.delete"
    assert world.ties == []
    judgement = stage.finish()
    assert judgement.findings == []
    assert "EXCH-022" in judgement.exercised
    stage.cleanup()
