"""Where there is no basic.get, a consumer takes what a get would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from conformance.catalogue import profiles
from conformance.catalogue.rules.features import GET
from conformance.drive import ending
from conformance.drive.drivers.raw import Target
from conformance.drive.stage import NotOffered, Stage
from conformance.history import events
from conformance.history.recorder import Recorder
from reference_broker import ReferenceBroker

WORDS = "channel.close 540 'NOT_IMPLEMENTED - not here'"
Make = Callable[..., Stage]


@pytest.fixture
def make() -> Iterator[Make]:
    """A stage on a broker that does not offer gets, nor these, for a scene of these rules."""
    made: list[Stage] = []
    with ReferenceBroker() as broker:

        def stage(*lacking: str, rules: tuple[str, ...] = (), shunned: bool = False) -> Stage:
            absent = dict.fromkeys([GET, *lacking], WORDS)
            known = profiles.load("documented")
            profile = replace(known, shunned=absent) if shunned else replace(known, refused=absent)
            made.append(Stage(Target.parse(broker.url), profile, Recorder("run", "b"), "scene", rules, deadline=0.3))
            return made[-1]

        yield stage
        for one in made:
            one.cleanup()


def sent(stage: Stage, *methods: str) -> list[str]:
    return [event.method for event in stage.events if event.direction == ">" and event.method in methods]


def test_a_consumer_takes_as_many_as_are_wanted_and_is_cancelled(make: Make) -> None:
    stage = make()
    queue, channel = stage.queue(), stage.channel()
    channel.publish(queue, 5)
    assert stage.fetch(channel, queue, 2) == [1, 2]
    assert sent(stage, "basic.qos", "basic.consume", "basic.cancel", GET) == [
        "basic.qos",
        "basic.consume",
        "basic.cancel",
        "basic.qos",
    ]
    assert stage.judge.ready(queue) == 3
    assert stage.fetch(channel, queue, 3) == [3, 4, 5], "what is held takes no slots of the next consumer"
    assert stage.get(channel, queue) is None
    assert stage.finish().findings == []


def test_what_comes_beyond_is_held_and_handed_out_first(make: Make) -> None:
    stage = make("basic.qos")
    queue, channel = stage.queue(), stage.channel()
    channel.publish(queue, 4)
    assert stage.fetch(channel, queue, 1) == [1]
    channel.ack(3)
    assert stage.fetch(channel, queue, 2) == [2, 4]
    assert sent(stage, "basic.consume") == ["basic.consume"]
    channel.close()
    stage.quiesce()
    stage.reopen(channel)
    assert stage.fetch(channel, queue, 3) == [1, 2, 3], "a channel that is opened anew holds nothing"
    assert stage.finish().findings == []


def test_a_limit_of_the_scene_stays(make: Make) -> None:
    stage = make()
    queue, channel = stage.queue(), stage.channel()
    channel.publish(queue, 4)
    channel.qos(2)
    stage.quiesce()
    assert stage.get(channel, queue) == 1
    assert channel.unacked == [1, 2]
    assert sent(stage, "basic.qos") == ["basic.qos"]


def test_who_cannot_cancel_consumers_has_nobody_to_take_single_messages(make: Make) -> None:
    stage = make("basic.cancel")
    queue, channel = stage.queue(), stage.channel()
    with pytest.raises(NotOffered, match=r"does not offer basic\.get: channel\.close 540") as ended:
        stage.get(channel, queue)
    assert ended.value.refused


@pytest.mark.parametrize(("lacking", "end"), [((), "basic.cancel"), (("basic.cancel",), "channel.close")])
def test_a_queue_is_drained_by_a_consumer(make: Make, lacking: tuple[str, ...], end: str) -> None:
    stage = make(*lacking)
    queue, channel = stage.queue(), stage.channel()
    channel.publish(queue, 3)
    stage.quiesce()
    ending.drain(stage, queue, give_back=True)
    drained = [event.message for event in stage.events if event.method == "basic.deliver"]
    assert drained == ["m1", "m2", "m3"]
    assert stage.judge.missing(queue) == 0
    assert sent(stage, "basic.cancel", "channel.close", GET) == ["channel.close", end]
    assert stage.finish().findings == []


def test_what_does_not_come_back_to_a_consumer_becomes_an_event(make: Make) -> None:
    stage = make()
    queue, channel = stage.queue(), stage.channel()
    channel.publish(queue, 2)
    stage.quiesce()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(stage.judge), "missing", lambda judge, queue: 1)
        ending.drain(stage, queue)
    given_up = stage.events[-1]
    assert (given_up.kind, given_up.args["for"], given_up.args["queue"]) == (events.DEADLINE, "drain", queue)
    assert stage.events[-2].method == "basic.cancel-ok", "nobody takes anything by then"


def test_only_the_rules_about_gets_ask_for_one_and_they_are_drained_by_a_consumer_too(make: Make) -> None:
    stage = make(rules=("GET-005",), shunned=True)
    queue, channel = stage.queue(), stage.channel()
    assert stage.get(channel, queue) is None
    assert sent(stage, GET) == [GET]
    ending.drain(stage, queue)
    assert sent(stage, GET, "basic.consume") == [GET, "basic.consume"]
