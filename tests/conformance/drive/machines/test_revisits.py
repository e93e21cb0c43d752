"""A scene once more: with a past, twice on the same things, and nobody is blamed for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from codec import methods as m
from conformance.catalogue import profiles
from conformance.drive.drivers.raw import Target
from conformance.drive.machines.revisits import AS_OFTEN, Circumstances, Veteran
from conformance.drive.stage import SceneOver
from conformance.history.recorder import Recorder


@pytest.fixture
def veteran(target: Target) -> Veteran:
    return Veteran(target, profiles.load("documented"), Recorder("run", "reference"), "scene")


def under(*used: str, length: int = 0) -> Circumstances:
    return Circumstances(frozenset(used), length, 0, give_back=True, stock=0)


@pytest.mark.parametrize("passes", [2, 3])
def test_each_pass_comes_upon_what_the_one_before_used(veteran: Veteran, passes: int) -> None:
    seen: list[tuple[object, str]] = []

    def scene() -> None:
        channel, queue = veteran.channel(), veteran.queue()
        channel.publish(queue)
        veteran.barrier(channel)
        seen.append((channel, queue))

    veteran.repeat(scene, replace(under("reopen", "dead-letter exchange", length=65), passes=passes))
    assert veteran.finish(give_back=True).findings == []
    assert len(seen) == passes
    assert len(set(seen)) == 1
    assert len(seen[0][1]) == 65
    assert next(iter(veteran.connections)) == "older"
    veteran.cleanup()


def test_a_channel_that_still_holds_something_is_not_used_again(veteran: Veteran) -> None:
    seen: list[object] = []

    def scene() -> None:
        channel = veteran.channel()
        channel.consume(veteran.queue())
        veteran.quiesce()
        seen.append(channel)

    veteran.repeat(scene, under("nowait"))
    assert veteran.finish().findings == []
    assert seen[0] is not seen[1]
    veteran.cleanup()


def test_circumstances_are_a_matter_of_the_seed() -> None:
    drawn = [Circumstances.drawn(seed, "scene") for seed in range(20)]
    assert drawn == [Circumstances.drawn(seed, "scene") for seed in range(20)]
    assert len(set(drawn)) > 10


def test_tags_may_be_the_same_on_all_channels(veteran: Veteran) -> None:
    """On each channel they are still all different."""
    seen: list[str] = []

    def scene() -> None:
        seen.extend(channel.consume(veteran.queue()) for channel in veteran.channels(2) for _ in range(2))
        veteran.quiesce()

    veteran.repeat(scene, replace(under(), alike=True))
    assert veteran.finish().findings == []
    assert seen[:4] == ["c1", "c2", "c1", "c2"]
    veteran.cleanup()


def test_the_channel_that_declares_has_a_past_too(veteran: Veteran) -> None:
    seen: list[int] = []

    def scene() -> None:
        own = veteran.backstage(veteran.queue())
        seen.append(sum(one.method == "channel.open" and one.channel == own.number for one in veteran.events))

    veteran.repeat(scene, under("reopen"))
    assert veteran.finish().findings == []
    assert seen == [2, 2]
    veteran.cleanup()


def test_idle_bindings_lead_nothing_anywhere(veteran: Veteran) -> None:
    def scene() -> None:
        queue = veteran.queue()
        veteran.channel().publish("key", exchange=veteran.exchange(queue, kind="topic", key="#"))
        veteran.quiesce()

    veteran.repeat(scene, replace(under(), crowd=70))
    assert veteran.finish().findings == []
    assert sum(one.method == "queue.bind-ok" for one in veteran.events) == 2 * 71
    veteran.cleanup()


def test_a_pass_whose_connection_ended_leaves_the_next_one_another(veteran: Veteran) -> None:
    seen: list[str] = []

    def scene() -> None:
        veteran.channel()
        seen.append(veteran.connection.name)
        veteran.connection.close()
        veteran.quiesce()

    veteran.repeat(scene, replace(under(), passes=3))
    assert veteran.finish().findings == []
    assert seen == ["c1", "c1 again", "c1 again again"]
    veteran.cleanup()


def test_the_second_pass_uses_the_names_of_what_is_gone(veteran: Veteran) -> None:
    """Tags of consumers that are cancelled, and names of queues and exchanges that are deleted."""
    seen: list[tuple[str, str, str]] = []

    def scene() -> None:
        channel, queue, exchange = veteran.channel(), veteran.queue({"x-max-length": 9}), veteran.exchange()
        seen.append((channel.consume(queue), queue, exchange))
        veteran.quiesce()
        channel.cancel(seen[-1][0])
        channel.delete(queue)
        channel.delete_exchange(exchange)
        veteran.quiesce()

    veteran.repeat(scene, replace(under(), alike=True))
    assert veteran.finish().findings == []
    assert seen[0] == seen[1]
    veteran.cleanup()


def test_names_are_fresh_without_that(veteran: Veteran) -> None:
    seen: list[tuple[str, str]] = []

    def scene() -> None:
        channel, queue = veteran.channel(), veteran.queue()
        seen.append((channel.consume(queue), queue))
        veteran.quiesce()
        channel.delete(queue)
        veteran.quiesce()

    veteran.repeat(scene, under())
    assert veteran.finish().findings == []
    assert len({*seen[0], *seen[1]}) == 4
    veteran.cleanup()


def test_a_scene_that_means_a_tag_below_0_is_over(veteran: Veteran) -> None:
    def scene() -> None:
        channel = veteran.channel()
        channel.ack(len(channel.unacked) - 1)

    with pytest.raises(SceneOver, match="it means tag -1"):
        veteran.repeat(scene, under())
    assert veteran.finish().findings == []
    veteran.cleanup()


def test_a_queue_that_still_has_consumers_is_not_used_again(veteran: Veteran) -> None:
    seen: list[str] = []

    def scene() -> None:
        seen.append(veteran.queue())
        veteran.channel().consume(seen[-1])
        veteran.quiesce()

    veteran.repeat(scene, under("nowait"))
    assert veteran.finish().findings == []
    assert seen[0] != seen[1]
    veteran.cleanup()


def test_who_loses_its_connection_in_the_first_pass_has_another_one_in_the_second(veteran: Veteran) -> None:
    seen: list[str] = []

    def scene() -> None:
        channel = veteran.channel()
        channel.send(m.ConnectionClose(0, 200, "", 0, 0))
        veteran.quiesce()
        seen.append(channel.connection.name)
        assert veteran.connection is channel.connection, "for the rest of the pass, too"

    veteran.repeat(scene, under("nowait"))
    assert veteran.finish().findings == []
    assert seen == ["c1", "c1 again"]
    veteran.cleanup()


def test_the_queue_that_channels_were_used_for_has_what_the_past_is_about(veteran: Veteran) -> None:
    """So a connection on which the scene declares nothing such has met it, too."""

    def scene() -> None:
        veteran.channel(connection=veteran.connect("apart"))

    veteran.repeat(scene, under("get", "dead-letter exchange", "limit"))
    (used,) = {event.queue for event in veteran.events if event.method == "basic.get"}
    (told,) = (event.args for event in veteran.events if event.method == "queue.declare" and event.queue == used)
    assert {"x-max-length", "x-dead-letter-exchange"} <= told["arguments"].keys()
    assert veteran.finish().findings == []
    veteran.cleanup()


def test_scenes_count_deliveries_from_where_the_first_pass_ended(veteran: Veteran) -> None:
    """What they name and is not there is not there in the second pass either."""

    def scene() -> None:
        channel, queue = veteran.channel(), veteran.queue()
        channel.publish(queue, 3)
        veteran.fetch(channel, queue, 3)
        channel.ack(2)
        channel.nack(1, requeue=False)
        channel.reject(3, requeue=False)
        veteran.barrier(channel)
        assert (channel.state, channel.unacked) == ("open", [])

    veteran.repeat(scene, under("nowait"))
    tags = [
        event.delivery_tag for event in veteran.events if event.method in ("basic.ack", "basic.nack", "basic.reject")
    ]
    assert tags == [2, 1, 3, 5, 4, 6]
    assert veteran.finish().findings == []
    veteran.cleanup()


def test_what_was_done_often_leaves_nothing_behind(veteran: Veteran) -> None:
    """So many channels are enough."""

    def scene() -> None:
        channels, queue = veteran.channels(AS_OFTEN + 2), veteran.queue()
        for channel in channels:
            channel.publish(queue)
            veteran.fetch(channel, queue)
            channel.ack(1)
            veteran.barrier(channel)
            assert (channel.state, channel.unacked) == ("open", [])

    veteran.repeat(scene, replace(under(), worn=7))
    many = [event for event in veteran.events if event.method == "basic.ack" and event.has("multiple")]
    assert len(many) == sum(event.method == "basic.qos-ok" for event in veteran.events) == 7 * AS_OFTEN
    assert {event.delivery_tag for event in many} == {0}
    assert veteran.finish().findings == []
    veteran.cleanup()


def test_another_virtual_host_has_no_past(veteran: Veteran) -> None:
    """The queue that channels were used for is not there."""
    other = replace(veteran.target, vhost="elsewhere")

    def scene() -> None:
        connection = veteran.connect("apart")
        connection.target = other
        assert veteran.channel(connection=connection).state == "open"

    veteran.repeat(scene, under("get"))
    asked = [event.connection for event in veteran.events if event.method == "basic.get"]
    assert not [name for name in asked if name.startswith("apart")]
    assert veteran.finish().findings == []
    veteran.cleanup()
