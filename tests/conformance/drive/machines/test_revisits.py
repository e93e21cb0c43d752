"""A scene once more: with a past, twice on the same things, and nobody is blamed for it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from codec import methods as m
from conformance.catalogue import profiles
from conformance.drive.drivers.raw import Target
from conformance.drive.machines import before
from conformance.drive.machines.revisits import ALL_WORN, Circumstances, Veteran
from conformance.drive.stage import SceneOver, Stage
from conformance.history.recorder import Recorder


@pytest.fixture
def veteran(target: Target) -> Veteran:
    return Veteran(target, profiles.load("documented"), Recorder("run", "reference"), "scene")


def about(target: Target, rule: str) -> Veteran:
    return Veteran(target, profiles.load("documented"), Recorder("run", "reference"), "scene", (rule,))


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


def test_listeners_get_nothing_and_do_not_keep_a_channel_from_being_used_again(veteran: Veteran) -> None:
    seen: list[tuple[int, int]] = []

    def scene() -> None:
        channel = veteran.channel()
        view = channel.view
        seen.append((channel.number, len(view.consumers) if view else 0))
        veteran.fetch(channel, _stocked(veteran), no_ack=True)

    veteran.repeat(scene, replace(under(), listeners=2))
    assert veteran.finish().findings == []
    assert seen[0] == seen[1], "the same channel, with two consumers of an idle queue"
    assert seen[0][1] == 2
    assert "basic.deliver" not in [one.method for one in veteran.events]
    veteran.cleanup()


def _stocked(stage: Stage) -> str:
    queue = stage.queue()
    stage.backstage(queue).publish(queue)
    return queue


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


@pytest.mark.parametrize("what", before.WEAR)
def test_what_was_done_often_leaves_nothing_behind(veteran: Veteran, what: str) -> None:
    """So many channels are enough. Scenes count deliveries from where it ended."""

    def scene() -> None:
        channels, queue = veteran.channels(ALL_WORN // 70 + 2), veteran.queue()
        for channel in channels:
            channel.publish(queue)
            veteran.fetch(channel, queue)
            channel.ack(1)
            veteran.barrier(channel)
            assert (channel.state, channel.unacked) == ("open", [])

    veteran.repeat(scene, replace(under(), worn=70, wear=what))
    told = {"limit": "basic.qos", "settle": "basic.ack", "messages": "basic.get", "consumers": "basic.consume"}
    method = told.get(what, "channel.flow")
    often = Counter((event.connection, event.channel) for event in veteran.events if event.method == method)
    assert sum(count >= 70 for count in often.values()) == ALL_WORN // 70
    assert veteran.finish().findings == []
    veteran.cleanup()


@pytest.mark.parametrize(("rule", "wear"), [("QOS-005", "basic.qos"), ("TAG-003", "basic.get"), ("TTL-001", "")])
def test_what_a_scene_is_about_is_what_was_done_often(target: Target, rule: str, wear: str) -> None:
    """Else it is what was drawn."""
    stage = about(target, rule)
    stage.repeat(lambda: stage.barrier(stage.channel()), replace(under(), worn=30, wear="questions"))
    assert sum(event.method == (wear or "channel.flow") for event in stage.events) >= 30
    assert stage.finish().findings == []
    stage.cleanup()


@pytest.mark.parametrize(("rule", "opened"), [("CHAN-003", 130), ("TTL-001", 0)])
def test_connections_had_channels_where_a_scene_is_about_that(target: Target, rule: str, opened: int) -> None:
    """As many at once as there may be, one life after the other."""
    stage = about(target, rule)
    stage.repeat(
        lambda: stage.barrier(stage.channel(1, stage.connect("few", channel_max=3))), replace(under(), opened=130)
    )
    often = sum(event.method == "channel.open" for event in stage.events if event.connection == "few")
    assert opened < often < opened + 5
    assert stage.finish().findings == []
    stage.cleanup()


def test_a_queue_was_purged_of_what_had_come(veteran: Veteran) -> None:
    """Not one that would tell of it elsewhere, and none of the scene's own kind."""
    queues: list[str] = []

    def scene() -> None:
        queues.extend((veteran.queue(), veteran.queue({"x-max-length-bytes": 100})))
        veteran.queue({"x-dead-letter-exchange": ""})
        veteran.queue(auto_delete=True)

    veteran.repeat(scene, replace(under(), spent=True, passes=1))
    assert [event.queue for event in veteran.events if event.method == "queue.purge"] == queues
    assert [event.args["message_count"] for event in veteran.events if event.method == "queue.purge-ok"] == [1, 1]
    assert veteran.finish().findings == []
    veteran.cleanup()


@pytest.mark.parametrize("without", ["", "confirm.select"])
def test_a_stock_is_known_to_be_there(target: Target, without: str) -> None:
    """Where publishes are confirmed. There is no more than enough of it."""
    profile = replace(profiles.load("documented"), refused={without: "540"})
    stage = Veteran(target, profile, Recorder("run", "reference"), "scene")

    def scene() -> None:
        for _ in range(3):
            stage.queue()

    stage.repeat(scene, replace(under(), stock=130, passes=1))
    stage.quiesce()
    assert sum(event.method == "basic.publish" for event in stage.events) == 260
    assert any(event.method == "basic.ack" for event in stage.events) is not bool(without)
    assert stage.finish().findings == []
    stage.cleanup()


def test_a_consumer_of_the_past_is_answered_before_it_goes(veteran: Veteran) -> None:
    """RabbitMQ 4.3 leaves the start of one unanswered that is cancelled in the same write."""
    veteran.repeat(lambda: veteran.barrier(veteran.channel()), under("cancel", "nowait", "get"))
    said = [
        one.method for one in veteran.events if one.method and one.method.startswith(("basic.c", "channel.flow-ok"))
    ]
    assert said.index("basic.consume-ok") < said.index("channel.flow-ok") < said.index("basic.cancel")
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


def test_a_later_pass_takes_no_tag_that_a_listener_has(veteran: Veteran) -> None:
    """Not for a consumer of replies either, as channels are used again and tags are named again."""

    def scene() -> None:
        channel = veteran.channel()
        tag = channel.consume("amq.rabbitmq.reply-to", no_ack=True)
        veteran.quiesce()
        channel.cancel(tag)
        veteran.quiesce()

    veteran.repeat(scene, replace(under(), alike=True, listeners=2))
    assert veteran.finish(give_back=True).findings == []
    assert not [event for event in veteran.events if event.method == "connection.close" and event.direction == "<"]
    veteran.cleanup()
