from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.catalogue import profiles
from conformance.drive import ending
from conformance.drive.drivers.raw import Target
from conformance.drive.stage import Stage
from conformance.history import events
from conformance.history.recorder import Recorder
from reference_broker import ReferenceBroker


@pytest.fixture
def stage() -> Iterator[Stage]:
    with ReferenceBroker() as broker:
        made = Stage(
            Target.parse(broker.url),
            profiles.load("documented"),
            Recorder("run", "b"),
            "scene",
            deadline=0.2,
        )
        yield made
        made.cleanup()


def sent(stage: Stage, *methods: str) -> list[str]:
    return [event.method for event in stage.events if event.direction == ">" and event.method in methods]


def test_a_drain_fetches_what_was_held_and_what_was_ready(stage: Stage) -> None:
    queue = stage.queue()
    channel = stage.channel()
    channel.publish(queue, 3)
    stage.fetch(channel, queue, 2)
    assert stage.judge.missing(queue) == len(stage.judge.wanted(queue)) == 3
    ending.drain(stage, queue)
    drained = [event.message for event in stage.events if event.method == "basic.get-ok"][2:]
    assert sorted(filter(None, drained)) == ["m1", "m2", "m3"]
    assert stage.judge.wanted(queue) == frozenset()
    assert stage.judge.missing(queue) == 0
    assert stage.events[-1].method == "basic.get-empty"


def test_a_drain_can_give_back_before_it_closes(stage: Stage) -> None:
    queue = stage.queue()
    channel = stage.channel()
    channel.consume(queue)
    channel.publish(queue, 2)
    stage.quiesce()
    ending.drain(stage, queue, give_back=True)
    asked = [event.method for event in stage.events if event.direction == ">" and event.channel == channel.number]
    assert asked[-4:] == ["basic.cancel", "basic.nack", "basic.get", "channel.close"]


def test_where_a_cancel_does_harm_channels_are_closed_under_their_consumers(stage: Stage) -> None:
    stage.profile, stage.queue_type = profiles.load("rabbitmq-3.8"), "quorum"
    queue, channel = stage.queue(), stage.channel()
    channel.consume(queue)
    channel.publish(queue, 2)
    stage.quiesce()
    ending.drain(stage, queue)
    assert not stage.cancels
    assert sent(stage, "basic.cancel", "channel.close") == ["channel.close"]
    stage.queue_type = "classic"
    assert stage.cancels


def test_what_does_not_come_back_becomes_an_event(stage: Stage) -> None:
    queue = stage.queue()
    channel = stage.channel()
    channel.publish(queue, 2)
    stage.quiesce()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(stage.judge), "missing", lambda judge, queue: 1)
        ending.drain(stage, queue)
    given_up = stage.events[-1]
    assert (given_up.kind, given_up.args["for"], given_up.args["queue"]) == (events.DEADLINE, "drain", queue)
    assert sent(stage, "basic.get").count("basic.get") > 3, "it looked more than once"


def test_a_queue_that_never_empties_is_left(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "SURPLUS", 3)
    queue = stage.queue()
    channel = stage.channel()
    channel.publish(queue, 9)
    stage.quiesce()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(stage.judge), "missing", lambda judge, queue: 0)
        ending.drain(stage, queue)
    assert len(sent(stage, "basic.get")) == 3


def test_the_end_deletes_all_and_closes_every_connection(stage: Stage) -> None:
    queues = [stage.queue(), stage.queue()]
    stage.exchange(*queues)
    stage.channel(connection=stage.connect("c2")).publish(queues[0])
    assert stage.finish().findings == []
    assert sent(stage, "exchange.delete", "queue.delete") == ["exchange.delete", "queue.delete", "queue.delete"]
    assert {event.args["cause"] for event in stage.events if event.kind == events.END} == {"closed"}
    assert not stage.belongings.queues
    assert not stage.belongings.exchanges
    before = len(stage.events)
    stage.finish()
    assert len(stage.events) == before, "a history ends once"
