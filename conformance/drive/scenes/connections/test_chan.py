"""CHAN: channels opened, closed and opened again, in every order and number."""

from __future__ import annotations

import contextlib

from codec import methods as m
from conformance.drive.channel import Channel
from conformance.drive.drivers.raw import Item
from conformance.drive.scenes.marks import QueueType, rule
from conformance.drive.scenes.props import BAD_TAG, confirming, reopen
from conformance.drive.stage import NotOffered, Stage

CLASSIC: tuple[QueueType, ...] = ("classic",)
FEW = 3
"""Channels that a connection may have, where that is the matter."""
ALIKE = 1, 257, 256, 255, 511


def strike(stage: Stage, *vectors: Item) -> None:
    """Each on a connection of its own; then one that did nothing wrong is asked for an answer."""
    bystander = stage.channel()
    for number, vector in enumerate(vectors, 2):
        connection = stage.connect(f"c{number}")
        stage.barrier(stage.channel(1, connection))
        connection.send(vector)
        stage.quiesce()
        stage.barrier(bystander)


def end(stage: Stage, channel: Channel, *, fails: bool = False) -> Channel:
    """The client closes it, or makes a mistake that costs it, and opens it again."""
    channel.ack(BAD_TAG) if fails else channel.close()
    reopen(stage, channel)
    return channel


@rule("CHAN-001", queue_types=CLASSIC)
def test_an_open_channel_is_opened(stage: Stage) -> None:
    """When it has answered something; and one that was closed and opened again."""
    strike(stage, m.ChannelOpen(1))
    connection = stage.connect("again")
    channel = end(stage, stage.channel(1, connection))
    stage.barrier(channel)
    channel.open()
    stage.quiesce()


@rule("CHAN-002", queue_types=CLASSIC)
def test_numbers_in_any_order(stage: Stage) -> None:
    """The highest first, and others downwards; all of them answer. The highest of all publishes and consumes, too;
    beside it are some whose numbers are alike in their last eight bits."""
    connection = stage.connect("few", channel_max=9)
    channels = [stage.channel(number, connection) for number in (9, 5, 2, 7)]
    for channel in channels:
        stage.barrier(channel)
    wide = stage.connect("many")
    for number in ALIKE:
        if number < wide.tuned.channel_max:
            stage.barrier(stage.channel(number, wide))
    highest, queue = stage.channel(wide.tuned.channel_max, wide), stage.queue()
    with contextlib.suppress(NotOffered):
        highest.confirm()
    highest.publish(queue)
    stage.barrier(highest)
    highest.consume(queue)
    stage.quiesce()


@rule("CHAN-003", queue_types=CLASSIC)
def test_closed_channels_do_not_count(stage: Stage) -> None:
    """All that may be open, opened and closed, five times; then the same, and the broker closes them, for they fail."""
    connection = stage.connect("few", channel_max=FEW)
    for turn in range(10):
        channels = [stage.channel(number, connection) for number in range(1, FEW + 1)]
        for channel in channels:
            channel.close() if turn < 5 else channel.ack(BAD_TAG)
        stage.quiesce()
    stage.barrier(stage.channel(1, connection))


@rule("CHAN-004", queue_types=CLASSIC)
def test_one_channel_too_many(stage: Stage) -> None:
    """All that may be open, and one more."""
    bystander, connection = stage.channel(), stage.connect("few", channel_max=FEW)
    for number in range(FEW, 0, -1):
        stage.channel(number, connection)
    connection.send(m.ChannelOpen(FEW + 1))
    stage.quiesce()
    stage.barrier(bystander)


@rule("CHAN-005")
def test_others_go_on(stage: Stage) -> None:
    """A channel below and one above are closed; one with a consumer is asked, in one write, and gets a message. The
    others have consumers of the same tag, with acknowledgements or without; then messages come for these, too."""
    queue, exchange, publisher = stage.queue(), stage.exchange(kind="direct"), confirming(stage)
    connection = stage.connect("beside")
    low, other, high = (stage.channel(number, connection) for number in (1, 2, 3))
    tag = other.consume(queue)
    theirs = stage.queue(), stage.queue()
    for one, its in zip((low, high), theirs, strict=True):
        one.consume(its, one is low, tag=tag)
    stage.quiesce()
    for closed, its in zip((low, high), theirs, strict=True):
        closed.close()
        stage.quiesce()
        with stage.batch():
            other.find_exchange(exchange)
            other.declare(queue, passive=True)
        stage.quiesce()
        publisher.publish(queue)
        publisher.publish(its)
        stage.quiesce()
        stage.barrier(other)


@rule("CHAN-006", queue_types=CLASSIC)
def test_flow_is_confirmed_as_asked(stage: Stage) -> None:
    """Twice active, on a channel in no mode, and in each; and inactive, on a connection that may not outlive it, then
    active again."""
    channels = stage.channels(3)
    for channel, mode in zip(channels, ("", "confirm.select", "tx.select"), strict=True):
        if mode and stage.offers(mode):
            channel.confirm() if mode == "confirm.select" else channel.tx_select()
            stage.quiesce()
        for _ in range(2):
            channel.flow()
            stage.quiesce()
    paused = stage.channel(connection=stage.connect("paused"))
    paused.flow(active=False)
    stage.quiesce()
    if paused.connection.alive and paused.state == "open":
        paused.flow()
        stage.quiesce()


@rule("CHAN-007", queue_types=CLASSIC)
def test_the_last_queue_is_forgotten(stage: Stage) -> None:
    """Each method with the empty name, each on a channel that was opened again after it had declared a queue. Every
    second of them had failed."""
    queue, exchange = stage.queue(), stage.exchange(kind="direct")
    channel = stage.channel()
    number = channel.number
    methods = (
        m.QueueBind(number, queue="", exchange=exchange, routing_key="key"),
        m.QueuePurge(number, queue=""),
        m.BasicConsume(number, queue="", consumer_tag="last"),
        m.BasicGet(number, queue="", no_ack=True),  # the last, as it costs some brokers the connection
    )
    for place, method in enumerate(methods):
        channel.declare(queue, passive=True)
        stage.quiesce()
        end(stage, channel, fails=place % 2 > 0).send(method)
        stage.quiesce()
        if channel.state != "open":
            stage.reopen(channel)


@rule("CHAN-008", queue_types=CLASSIC)
def test_modes_end_with_the_channel(stage: Stage) -> None:
    """A transaction, then confirm mode, then a transaction, each after the channel was closed; and a commit. Then the
    same, each after the channel has failed."""
    for fails in (False, True):
        channel = stage.channel()
        channel.tx_select()
        stage.quiesce()
        end(stage, channel, fails=fails).confirm()
        stage.quiesce()
        end(stage, channel, fails=fails).tx_select()
        stage.quiesce()
        end(stage, channel, fails=fails).tx_commit()
        stage.quiesce()


@rule("CHAN-009", queue_types=CLASSIC)
def test_methods_on_channel_0(stage: Stage) -> None:
    """Opened, closed, asked to flow, asked for a queue, an exchange and a message, and brought into modes."""
    strike(stage, m.ChannelOpen(0), m.ChannelFlow(0, True), m.QueueDeclare(0, queue="", exclusive=True))
    strike(stage, m.ChannelClose(0, 200, "normal shutdown", 0, 0), m.BasicGet(0, queue="q"), m.TxSelect(0))
    strike(stage, m.ExchangeDeclare(0, exchange="amq.direct", type="direct", passive=True), m.ConfirmSelect(0, False))
