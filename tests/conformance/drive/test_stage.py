from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

import codec
from codec import Method
from codec import methods as m
from conformance.catalogue import profiles
from conformance.catalogue.rules.features import CROWD, DEFAULT, DURABLE, GETS, RESERVED
from conformance.drive.drivers.raw import Target
from conformance.drive.drivers.sweep import unrecorded
from conformance.drive.stage import NotOffered, SceneOver, Stage
from conformance.history import events
from conformance.history.recorder import Recorder
from reference_broker import ReferenceBroker


@pytest.fixture(scope="module")
def broker() -> Iterator[ReferenceBroker]:
    with ReferenceBroker() as running:
        yield running


@pytest.fixture
def target(broker: ReferenceBroker) -> Target:
    return Target.parse(broker.url)


@pytest.fixture
def stage(target: Target) -> Iterator[Stage]:
    made = Stage(target, profiles.load("documented"), Recorder("run", "reference"), "scene", ("ACK-001",))
    yield made
    made.cleanup()


def describe_events(stage: Stage) -> list[str]:
    return [f"{event.direction}{event.method or event.kind}" for event in stage.events]


def exists(target: Target, queue: str) -> bool:
    return there(target, m.QueueDeclare(1, queue=queue, passive=True))


def there(target: Target, passive: Method) -> bool:
    connection = unrecorded(target)
    connection.send(m.ChannelOpen(1), passive)
    while True:
        for event in connection.receive(5):
            if event.method in (f"{passive.NAME}-ok", "channel.close"):
                connection.close()
                return event.method != "channel.close"


def test_a_scene_is_announced_and_lawful_play_is_not_blamed(stage: Stage, target: Target) -> None:
    queue = stage.queue()
    channel = stage.channel()
    messages = channel.publish(queue, 3)
    tags = stage.fetch(channel, queue, 2)
    channel.ack(tags[0])
    judgement = stage.finish()
    assert (stage.events[0].kind, stage.events[0].args["rules"]) == (events.SCENE, ["ACK-001"])
    assert messages == ["m1", "m2", "m3"]
    assert tags == [1, 2]
    assert judgement.findings == []
    assert stage.events[-1].args["cause"] == "closed"
    assert not exists(target, queue)


def test_a_batch_leaves_in_one_write(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = stage.queue()
    channel = stage.channel()
    writes: list[bytes] = []
    write = channel.connection.wire.write
    monkeypatch.setattr(channel.connection.wire, "write", lambda data: (writes.append(data), write(data)))
    with stage.batch():
        channel.confirm()
        with stage.batch():
            channel.publish(queue, 2)
        channel.flow()
        assert writes == []
    assert len(writes) == 1
    stage.confirmed(channel)
    assert channel.view is not None
    assert not channel.view.unconfirmed


def test_channels_are_opened_together(stage: Stage) -> None:
    channels = stage.channels(3)
    assert [(channel.number, channel.state) for channel in channels] == [(1, "open"), (2, "open"), (3, "open")]
    assert describe_events(stage)[-6:] == 3 * [">channel.open"] + 3 * ["<channel.open-ok"]


def test_an_exchange_leads_to_its_queues_and_is_gone_afterwards(stage: Stage, target: Target) -> None:
    queues = [stage.queue(), stage.queue()]
    exchange, direct = stage.exchange(*queues), stage.exchange(queues[0], kind="direct", key="key")
    channel = stage.channel()
    channel.confirm()
    channel.publish("any", exchange=exchange)
    channel.publish("key", exchange=direct)
    channel.publish("other", exchange=direct, mandatory=True)
    stage.confirmed(channel)
    assert [stage.judge.ready(queue) for queue in queues] == [2, 1]
    assert describe_events(stage).count("<basic.return") == 1
    assert stage.finish().findings == []
    assert describe_events(stage).count("<exchange.delete-ok") == 2


def test_an_exchange_is_removed_whatever_happens(stage: Stage, target: Target) -> None:
    exchange = stage.exchange()
    assert there(target, m.ExchangeDeclare(1, exchange=exchange, passive=True))
    stage.cut()
    assert not there(target, m.ExchangeDeclare(1, exchange=exchange, passive=True))


def test_a_queue_that_is_refused_is_not_waited_for(stage: Stage) -> None:
    with pytest.raises(SceneOver, match="is not declared"):
        stage.queue({"x-max-length": -1})
    assert stage.finish().findings == []
    assert events.DEADLINE not in [event.kind for event in stage.events]


def test_a_close_is_answered_unless_it_is_held(stage: Stage) -> None:
    channel = stage.channel()
    with stage.hold_close_ok():
        channel.ack(7)
        stage.quiesce()
        assert describe_events(stage)[-1] == "<channel.close"
    assert describe_events(stage)[-1] == ">channel.close-ok"
    stage.reopen(channel)
    assert channel.state == "open"


def test_a_fetch_that_gets_nothing_ends_the_scene(stage: Stage) -> None:
    queue = stage.queue()
    with pytest.raises(SceneOver, match="only 0 of 1"):
        stage.fetch(stage.channel(), queue)
    assert stage.finish().findings == []


def test_a_lost_connection_ends_the_scene_and_still_is_judged(stage: Stage, target: Target) -> None:
    queue = stage.queue()
    channel = stage.channel()
    channel.confirm()
    channel.publish(queue, 2)
    stage.quiesce()
    stage.fetch(channel, queue)
    channel.connection.abort()
    with pytest.raises(SceneOver):
        channel.ack(1)
    assert stage.finish().findings == []
    assert [event.message for event in stage.events if event.connection == "c2" and event.message] == ["m1", "m2"]
    assert not exists(target, queue)


def test_nothing_is_left_behind_by_a_scene_that_is_broken_off(stage: Stage, target: Target) -> None:
    queue = stage.queue()
    assert exists(target, queue)
    seen = len(stage.events)
    stage.cut()
    assert not exists(target, queue)
    assert [event.kind for event in stage.events[seen:]] == [events.END], "cleaning up is no part of the history"
    stage.cleanup()


def test_a_queue_that_the_scene_deletes_is_forgotten(stage: Stage) -> None:
    queue = stage.queue()
    channel = stage.channel()
    channel.delete(queue)
    stage.quiesce()
    stage.finish()
    assert describe_events(stage).count(">queue.delete") == 1


def test_a_broker_that_is_gone_does_not_keep_cleaning_up() -> None:
    with ReferenceBroker() as gone:
        stage = Stage(
            Target.parse(gone.url),
            profiles.load("documented"),
            Recorder("run", "reference"),
            "scene",
            deadline=0.5,
        )
        stage.queue()
    stage.waiter.pump(1)
    assert not stage.connection.alive
    stage.cleanup()


# -- brokers that have little


@contextlib.contextmanager
def poor(
    trait: str,
    refused: Mapping[str, str] | None = None,
    crowd: int | None = None,
    shunned: Mapping[str, str] | None = None,
) -> Iterator[Stage]:
    """A stage before a broker with this trait."""
    with ReferenceBroker(personality=trait) as broker:
        target = Target.parse(broker.url)
        profile = replace(profiles.load("documented"), refused=refused or {}, shunned=shunned or {}, crowd=crowd)
        made = Stage(target, profile, Recorder("run", "reference"), "scene", ("ACK-001",))
        yield made
        made.cleanup()


def test_where_a_connection_has_one_channel_each_has_a_connection() -> None:
    with poor("poor.one-channel") as stage:
        queue, channels = stage.queue(), [stage.channel() for _ in range(3)]
        assert len({channel.connection.name for channel in channels}) == 3
        channels[0].publish(queue, 3)
        stage.fetch(channels[1], queue, 2)
        assert stage.finish().findings == []


def test_who_needs_another_channel_of_a_certain_connection_goes_without() -> None:
    with poor("poor.one-channel") as stage:
        other = stage.connect("other", {"basic.nack": True})
        stage.channel(connection=other)
        with pytest.raises(NotOffered, match="no more channels of a connection than 1") as lacking:
            stage.channel(connection=other)
        assert lacking.value.refused


def test_no_more_connections_are_opened_than_are_let_in() -> None:
    with poor("poor.three-connections", crowd=2, refused={CROWD: "not more than 3"}) as stage:
        stage.channels(1, stage.connect("c2" if stage.connection else ""))
        with pytest.raises(NotOffered, match="not more than 3"):
            stage.connect("c3")


@pytest.mark.parametrize(("refused", "durable"), [({}, True), ({DURABLE: "406"}, False)])
def test_queues_are_durable_where_the_broker_has_such(refused: dict[str, str], durable: bool) -> None:
    with poor("redelivered.always" if durable else "poor.durable-softly", refused=refused) as stage:
        stage.channel().declare(stage.queue())
        assert stage.quiesce()
        asked = [event.has("durable") for event in stage.events if event.method == "queue.declare"]
        assert asked == [durable, durable]
        assert stage.finish().findings == []
        if not durable:
            with pytest.raises(NotOffered, match="durable queues: 406"):
                stage.queue(durable=True)


@pytest.mark.parametrize("method", [m.ExchangeBind, m.ExchangeUnbind])
def test_who_binds_no_exchanges_is_not_asked_to_unbind_one(method: type[m.ExchangeBind | m.ExchangeUnbind]) -> None:
    with poor("refused.exchange.bind-by-connection", refused={"exchange.bind": "540"}) as stage:
        channel = stage.channel()
        with pytest.raises(NotOffered, match=r"exchange\.bind: 540"):
            channel.send(method(channel.number, destination="x", source="y", no_wait=True))


@pytest.mark.parametrize(
    "method",
    [
        m.ExchangeDeclare(1, exchange="amq.direct", type="direct", passive=True),
        m.QueueBind(1, queue="q", exchange="amq.fanout"),
        m.ExchangeBind(1, destination="x", source="amq.topic"),
        m.QueuePurge(1, queue="amq.rabbitmq.reply-to"),
    ],
)
def test_names_of_the_broker_are_left_alone_where_they_are_refused(method: Method) -> None:
    with poor("overlooked.flags", refused={RESERVED: "channel.close 403"}) as limited:
        with pytest.raises(NotOffered, match=r"amq\.\* names: channel\.close 403"):
            limited.channel().send(method)
        limited.channel().declare_exchange(limited.exchange(), "fanout")


def test_what_gets_one_queue_a_channel_is_asked_for_no_other() -> None:
    """Scenes that do so go without; the queues are drained on a channel for each."""
    with poor("poor.gets-of-one-queue", shunned={GETS: "nothing comes"}) as stage:
        first, second = stage.queue(), stage.queue()
        channel = stage.channel()
        channel.publish(first)
        channel.publish(second)
        stage.fetch(channel, first)
        with pytest.raises(NotOffered, match="gets of several queues"):
            channel.get(second)
        assert stage.finish().findings == []
        assert len([event for event in stage.events if event.method == "basic.get-ok"]) == 3


def test_where_is_no_default_exchange_another_one_stands_in() -> None:
    """For methods, and for octets that ask for its name; and for round trips where there is no channel.flow."""
    lacking = {DEFAULT: "404", "channel.flow": "lost"}
    with poor("poor.no-default-exchange", shunned=lacking) as stage:
        channel, queue = stage.channel(), stage.queue()
        channel.publish(queue)
        channel.send(m.BasicPublish(channel.number, exchange=channel.by_name, routing_key=queue).encode())
        channel.send(codec.header(channel.number, 0, message_id="m2").encode())
        stage.barrier(channel)
        stage.fetch(channel, queue, 2, no_ack=True)
        assert stage.finish().findings == []
        assert "amq." not in "".join(event.exchange or "" for event in stage.events)
