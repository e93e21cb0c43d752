"""Topology amid work: each command is whole in one write, and leaves the channel with what it holds and owes."""

from __future__ import annotations

import pytest

from conformance.drive.machines import alphabet as a
from conformance.drive.machines import topology as t
from conformance.drive.machines.world import World
from tests.support.worlds import last

BUSY = (a.Publish(0, 0, 3), a.Get(0, 0, 2, False))
"""Channel 0 is in confirm mode, and holds two deliveries then."""


def sent(world: World, command: a.Command) -> list[str]:
    return [event.method for event in last(world, *BUSY, command) if event.direction == ">"]


def test_a_queue_comes_is_used_and_goes(world: World) -> None:
    methods = sent(world, t.Interlude(0, 1, quiet=True, terms=2))
    assert methods == ["queue.declare", "basic.publish", "basic.get", "queue.purge", "queue.delete"]
    assert world.channels[0].unacked == [1, 2]


@pytest.mark.parametrize("terms", range(len(t.TERMS["classic"])))
def test_no_term_of_a_queue_that_comes_and_goes_ever_matters(world: World, terms: int) -> None:
    events = last(world, t.Interlude(1, 2, quiet=False, terms=terms))
    declared = next(event for event in events if event.method == "queue.declare")
    assert t.TERMS["classic"][terms].items() <= declared.args["arguments"].items()
    assert next(event for event in events if event.method == "queue.purge-ok").args["message_count"] == 1


@pytest.mark.parametrize("kind", [0, 1])
def test_a_detour_leads_to_the_queue_and_is_gone(world: World, kind: int) -> None:
    methods = sent(world, t.Detour(0, 1, 2, kind, quiet=kind == 1))
    assert methods == ["exchange.declare", "queue.bind", *["basic.publish"] * 2, "queue.unbind", "exchange.delete"]
    assert not world.stage.belongings.exchanges
    world.channels[1].get(world.queue(1))
    world.stage.quiesce()
    assert world.channels[1].unacked == [1]


def test_a_detour_leads_to_all_queues(world: World) -> None:
    methods = sent(world, t.Detour(0, 1, 2, t.SPREAD, quiet=False))
    assert methods == [
        *("exchange.declare", *["queue.bind"] * 2),
        *("basic.publish", "basic.publish", *["queue.unbind"] * 2, "exchange.delete"),
    ]
    for queue in (0, 1):
        world.channels[1].get(world.queue(queue))
    world.stage.quiesce()
    assert world.channels[1].unacked == [1, 2]


def test_there_is_no_detour_within_a_transaction(world: World) -> None:
    channel = world.channels[1]
    channel.tx_select()
    assert [event.method for event in last(world, t.Detour(1, 0, 1, 0, quiet=False))] == []
    channel.tx_rollback()


@pytest.mark.parametrize(("exchange", "asks"), [(True, "exchange.declare"), (False, "queue.declare")])
def test_a_look_finds_what_is_there(world: World, exchange: bool, asks: str) -> None:
    first, answer = last(world, *BUSY, t.Look(0, 0, exchange))
    assert (first.method, first.has("passive"), answer.method) == (asks, True, f"{asks}-ok")


def test_what_cannot_be_read_costs_the_channel(world: World) -> None:
    """And returns what it held."""
    methods = [event.method for event in last(world, *BUSY, t.Garble(0, 0, 1)) if event.direction == "<"]
    assert "channel.close" in methods
    assert world.channel(0).unacked == []
