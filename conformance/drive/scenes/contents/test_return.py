"""RETURN: mandatory publishes to an exchange that leads nowhere."""

from __future__ import annotations

import contextlib

from codec import values
from conformance.drive.channel import Channel
from conformance.drive.scenes.contents.test_content import every_property
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import large
from conformance.drive.stage import NotOffered, Stage

OCTET = 256


@rule("RETURN-001", queue_types=("classic",))
def test_returns_without_confirms(stage: Stage) -> None:
    """Bodies of all sizes, some with headers, on a channel without confirms, by exchanges of every type and by the one
    without a name; then it is closed. Some went well before: then their queue was unbound, or deleted. Some come in one
    write with the close."""
    exchange, channel = stage.exchange(), stage.channel()
    for kind in ("direct", "topic", "headers"):
        if kind == "direct" or stage.offers(f"{kind} exchange"):
            channel.publish("key", exchange=stage.exchange(kind=kind), mandatory=True)
    channel.publish(stage.recorder.private_name(), mandatory=True)
    for body in (b"", b"one", bytes(5000)):
        channel.publish("key", exchange=exchange, mandatory=True, body=body)
        channel.publish("key", exchange=exchange, mandatory=True, body=body, properties={"headers": []})
    _no_longer(stage, channel)
    stage.barrier(channel)
    with stage.batch():
        channel.publish("key", 3, exchange=exchange, mandatory=True)
        channel.close()
    stage.quiesce()


def _no_longer(stage: Stage, channel: Channel) -> None:
    queue = stage.queue()
    exchange = stage.exchange(queue, kind="direct", key="key")
    for turn in ("found", "unbound", "deleted"):
        if turn == "unbound":
            stage.unbind(queue, exchange, "key")
        elif turn == "deleted":
            stage.backstage(queue).delete(queue)
            stage.quiesce()
        channel.publish("key", exchange=exchange, mandatory=True)
        channel.publish(queue, mandatory=True)
        stage.barrier(channel)


@rule("RETURN-002", queue_types=("classic",))
def test_each_publish_comes_back_once(stage: Stage) -> None:
    """To an exchange without bindings, and to one whose only binding has another key; once with more keys, none of
    which finds a way either."""
    nowhere, other = stage.exchange(), stage.exchange(stage.queue(), kind="direct", key="another key")
    channel = stage.channel()
    for exchange in (nowhere, other):
        channel.publish("key", 2, exchange=exchange, mandatory=True)
    stage.barrier(channel)
    if stage.offers("sender-selected distribution"):
        headers = values.table({"CC": ["one", "two"], "BCC": ["three"]})
        for exchange in (nowhere, other):
            channel.publish("key", exchange=exchange, mandatory=True, properties={"headers": headers})
        stage.barrier(channel)
    channel.close()
    stage.quiesce()


@rule("RETURN-003", queue_types=("classic",))
def test_each_channel_gets_its_own_returns(stage: Stage) -> None:
    """Three channels of a connection publish in turn, in one write, and three more whose numbers end in the same octets
    as theirs, where there may be so many. And one rejects what becomes a dead letter, for which there is no way."""
    exchange, channels = stage.exchange(), stage.channels(3)
    with contextlib.suppress(NotOffered):
        channels += [stage.channel(channel.number + OCTET, channel.connection) for channel in channels]
    with stage.batch():
        for channel in (*channels, *reversed(channels)):
            channel.publish("key", exchange=exchange, mandatory=True)
    for channel in channels:
        stage.barrier(channel)
    if stage.offers("x-dead-letter-exchange"):
        queue, rejecting = stage.queue({"x-dead-letter-exchange": exchange}), stage.channel()
        channels[0].publish(queue, mandatory=True)
        stage.barrier(channels[0])
        for tag in stage.fetch(rejecting, queue):
            rejecting.reject(tag, requeue=False)
        stage.barrier(rejecting)


@rule("RETURN-004", queue_types=("classic",))
def test_returns_in_order(stage: Stage) -> None:
    """Many mandatory publishes in one write, large and small, some of them routed; and the same in a transaction."""
    queue = stage.queue()
    exchange, channel = stage.exchange(queue, kind="direct", key="known"), stage.channel()
    _some_unroutable(stage, channel, exchange)
    stage.barrier(channel)
    if stage.offers("tx.select"):
        later = stage.channel()
        later.tx_select()
        stage.quiesce()
        _some_unroutable(stage, later, exchange)
        later.tx_commit()
        stage.quiesce()


def _some_unroutable(stage: Stage, channel: Channel, exchange: str) -> None:
    with stage.batch():
        for size in (0, 5000, 1, 3000):
            channel.publish("unknown", exchange=exchange, mandatory=True, body=bytes(size))
            channel.publish("known", exchange=exchange, mandatory=True)
            channel.publish("unknown", 2, exchange=exchange, mandatory=True)


@rule("RETURN-005", queue_types=("classic",))
def test_returns_say_why(stage: Stage) -> None:
    """By exchanges of two types, with keys short and long, without confirms; and by the default exchange. Once there
    are more keys, and once an alternate exchange that leads nowhere either."""
    fanout, direct = stage.exchange(), stage.exchange(stage.queue(), kind="direct", key="known")
    channel = stage.channel()
    if stage.offers("alternate-exchange"):
        spare = stage.exchange(kind="direct", arguments={"alternate-exchange": fanout})
        channel.publish("key", exchange=spare, mandatory=True)
    if stage.offers("sender-selected distribution"):
        headers = values.table({"CC": ["one", "two"]})
        channel.publish("key", exchange=direct, mandatory=True, properties={"headers": headers})
    for exchange, key in ((fanout, "key"), (direct, "a.key"), (direct, "k" * 255), (fanout, "ä"), ("", "no queue")):
        channel.publish(key, exchange=exchange, mandatory=True)
    stage.barrier(channel)


@rule("RETURN-006", queue_types=("classic",))
def test_returns_bring_the_content_back(stage: Stage) -> None:
    """A body of several frames, an empty one, and some with many properties or with all of them, on a channel without
    confirms."""
    exchange, channel = stage.exchange(), stage.channel()
    words = {"content_type": "text/plain", "correlation_id": "c", "priority": 3, "app_id": "a", "timestamp": 1}
    many = {**words, "headers": values.table({"number": 3, "text": "t", "list": [1, {"deep": True}], "none": None})}
    every = every_property(stage.target.user)
    for properties in (many, every):
        channel.publish("key", exchange=exchange, mandatory=True, body=b"body", properties=properties)
    for body, properties in ((large(channel), many), (b"", many), (large(channel), {})):
        channel.publish("key", exchange=exchange, mandatory=True, body=body, properties=properties)
    stage.barrier(channel)
