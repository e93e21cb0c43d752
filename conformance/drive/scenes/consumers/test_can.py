"""CAN: consumers that end while their channel lives.

The client's own cancel is answered by cancel-ok and by nothing else. A consumer whose queue is deleted is notified, if
its client announced that it wants to know, and its channel goes on. The two may cross.
"""

from __future__ import annotations

import pytest

from conformance.drive.channel import Channel
from conformance.drive.drivers.raw import RawConnection
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import neighbours, restock, stocked
from conformance.drive.stage import Stage

LONGEST = 255
"""Octets of a short string."""

NOTICE = "consumer_cancel_notify"
RACES = 12
"""This many crossings of a cancel and a deletion; brokers that get it wrong do so in some of them only."""


def bereave(stage: Stage, queue: str) -> None:
    """Another connection deletes the queue."""
    deleter = stage.channel(connection=stage.connections.get("deleter") or stage.connect("deleter"))
    deleter.delete(queue)
    stage.quiesce()


def twice(stage: Stage, *channels: Channel) -> None:
    """Two round trips on each channel, one after the other: what was waiting behind the first is there."""
    for _ in range(2):
        for channel in channels:
            stage.barrier(channel)


@rule("CAN-001", last=True)
@pytest.mark.parametrize("announced", ["absent", False, "true", 1, True, "elsewhere"])
def test_who_is_notified(stage: Stage, announced: object) -> None:
    """The capability in five forms, and in the wrong place; the queue is deleted, and the channel used on."""
    elsewhere = announced == "elsewhere"
    capabilities = {} if announced in ("absent", "elsewhere") else {NOTICE: announced}
    client = stage.connect("client", capabilities, properties={NOTICE: True} if elsewhere else None)
    queue = stocked(stage, 1)
    channel = stage.channel(connection=client)
    for _ in range(3):
        channel.consume(queue)
    stage.quiesce()
    bereave(stage, queue)
    twice(stage, channel)


@rule("CAN-002", last=True)
def test_the_broker_says_that_it_notifies(stage: Stage) -> None:
    """A client that announced the capability loses its queue."""
    queue = stage.queue()
    channel = stage.channel()
    channel.consume(queue)
    stage.barrier(channel)
    bereave(stage, queue)
    twice(stage, channel)


@rule("CAN-003", last=True)
def test_each_consumer_is_notified_once(stage: Stage) -> None:
    """Two connections, two channels each, three consumers each, one of them of the same tag everywhere, and the
    deleting channel's own; then once more beside another one, without an answer to the deletion; and an exclusive
    queue, with consumers on both channels of its connection. One of the channels confirms, and one is transactional.
    Each has one consumer that was started without an answer. At last the queue is declared anew, has a message out with
    its consumer, and is deleted again."""
    queue, own = stage.queue(), stage.queue()
    other = stage.connect("other")
    channels = [stage.channel(connection=connection) for connection in (stage.connection, other) for _ in range(2)]
    if stage.offers("confirm.select"):
        channels[1].confirm()
    if stage.offers("tx.select"):
        channels[2].tx_select()
    stage.quiesce()
    for channel in channels:
        channel.consume(queue)
        channel.consume(queue, no_ack=True)
    for tag in ("t" * LONGEST, "ü" * (LONGEST // 2)):
        channels[0].consume(queue, tag=tag)
    for channel in channels:
        channel.consume(queue, tag="of each channel")
        channel.consume(queue, no_wait=True)
    deleter = stage.channel()
    for mine in (queue, own):
        deleter.consume(mine)
    for channel in channels[1:3]:
        channel.consume(own)
    twice(stage, *channels, deleter)
    private = [stage.queue(durable=False, exclusive=True)] if stage.queue_type == "classic" else []
    for one in (deleter, channels[0]) if private else ():
        one.consume(private[0])
        stage.quiesce()
    for mine in (queue, own, *private):
        deleter.delete(mine, no_wait=mine is own)
        stage.barrier(deleter)
    twice(stage, *channels, deleter)
    stage.queue(name=queue)
    restock(stage, queue, 1)
    channels[0].consume(queue)
    stage.quiesce()
    deleter.delete(queue)
    twice(stage, channels[0], deleter)


@rule("CAN-004", last=True)
def test_without_the_capability_the_channel_goes_on(stage: Stage) -> None:
    """Its queue is deleted, by the channel itself and by another; it publishes, gets, settles and consumes on."""
    channel = stage.channel(connection=stage.connect("deaf", {}))
    mine, theirs, kept = stocked(stage, 1), stocked(stage, 1), stocked(stage, 2)
    for queue in (mine, theirs):
        channel.consume(queue)
    stage.quiesce()
    channel.delete(mine)
    stage.quiesce()
    bereave(stage, theirs)
    twice(stage, channel)
    channel.publish(kept)
    channel.ack(stage.fetch(channel, kept)[0])
    channel.consume(kept)
    stage.quiesce()


@rule("CAN-005", last=True)
def test_a_client_s_own_cancel(stage: Stage) -> None:
    """One consumer is cancelled, of two; the queue goes on, and is deleted later."""
    queue = stocked(stage, 1)
    channel = stage.channel()
    gone, stays = channel.consume(queue), channel.consume(queue)
    stage.quiesce()
    channel.cancel(gone)
    stage.quiesce()
    twice(stage, channel)
    bereave(stage, queue)
    twice(stage, channel)
    channel.cancel(stays)
    stage.quiesce()


@rule("CAN-006", last=True)
def test_cancelling_what_has_ended(stage: Stage) -> None:
    """After a notification; after one's own cancel; and without the capability, after the deletion."""
    for connection in (stage.connection, stage.connect("deaf", {})):
        queue, kept = stage.queue(), stage.queue()
        channel = stage.channel(connection=connection)
        bereft, cancelled = channel.consume(queue), channel.consume(kept)
        twice(stage, channel)
        bereave(stage, queue)
        twice(stage, channel)
        for tag in (bereft, cancelled, cancelled):
            channel.cancel(tag)
            stage.quiesce()
        twice(stage, channel)


@rule("CAN-007", last=True)
def test_cancelling_a_tag_that_never_was(stage: Stage) -> None:
    """On a channel without consumers, and beside one; a tag that another channel has counts as none. And tags that are
    almost that of a consumer, and the empty one."""
    queue = stage.queue()
    channel, other = stage.channel(), stage.channel()
    channel.cancel("nobody")
    stage.quiesce()
    mine, theirs = channel.consume(queue), other.consume(stage.queue())
    stage.quiesce()
    channel.cancel(theirs)
    channel.cancel("nobody")
    for tag in ("", *neighbours(mine)):
        channel.cancel(tag)
        stage.quiesce()
    restock(stage, queue, 2)
    channel.cancel(mine)
    stage.quiesce()


@rule("CAN-008", last=True)
def test_a_cancel_crosses_a_deletion(stage: Stage) -> None:
    """The client cancels while its queue is deleted, by another connection, before or after, and by its own channel."""
    for turn in range(RACES):
        queue = stage.queue()
        clients = [one for name, one in stage.connections.items() if name.startswith("client") and one.alive]
        channel = stage.channel(1, connection=clients[0] if clients else _another(stage))
        deleter = stage.connections.get("deleter") or stage.connect("deleter")
        hand = stage.channel(1, connection=deleter)
        tag = channel.consume(queue)
        stage.barrier(channel)
        with stage.batch():
            if turn % 3 == 1:
                hand.delete(queue)
                hand.connection.flush()
            elif turn % 3 == 2:
                channel.delete(queue)
            channel.cancel(tag)
        if turn % 3 == 0:
            hand.delete(queue)
        stage.quiesce()
        for one in (channel, hand):
            if one.connection.alive:
                twice(stage, one)
                one.close()
        stage.quiesce()


def _another(stage: Stage) -> RawConnection:
    return stage.connect(f"client{len(stage.connections)}")


@rule("CAN-009", last=True)
def test_nothing_after_cancel_ok(stage: Stage) -> None:
    """A consumer that drinks from a stream is cancelled; what comes later is another's, or stays. And one that is full,
    which settles then."""
    queue = stocked(stage, 20)
    channel, other = stage.channel(), stage.channel()
    publisher = stage.channel(connection=stage.connect("publisher"))
    publisher.confirm()
    tag = channel.consume(queue, no_ack=True)
    stage.quiesce()
    with stage.batch():
        publisher.publish(queue, 50)
        channel.cancel(tag)
    stage.quiesce()
    publisher.publish(queue, 3)
    stage.quiesce()
    twice(stage, channel)
    other.consume(queue)
    stage.quiesce()
    if stage.offers("basic.qos"):
        queue, full = stocked(stage, 3), stage.channel()
        full.qos(1)
        tag = full.consume(queue)
        stage.quiesce()
        full.cancel(tag)
        stage.quiesce()
        for held in full.unacked:
            full.ack(held)
        twice(stage, full)


@rule("CAN-010", last=True)
def test_nothing_after_a_notification(stage: Stage) -> None:
    """A queue is deleted while its consumer is being served, and declared anew; its messages are nobody's."""
    queue = stocked(stage, 20)
    channel = stage.channel()
    channel.qos(5)
    channel.consume(queue)
    stage.quiesce()
    bereave(stage, queue)
    for tag in channel.unacked[:3]:
        channel.ack(tag)
    twice(stage, channel)


@rule("CAN-011", last=True)
def test_the_others_go_on(stage: Stage) -> None:
    """Of three consumers on a channel one loses its queue; the others settle, and are served. They have no limit, or
    are full."""
    for limit in (0, 1):
        doomed, kept = stocked(stage, 1), stocked(stage, 4)
        channel = stage.channel()
        channel.qos(limit)
        for queue in (kept, doomed, kept):
            channel.consume(queue)
        stage.quiesce()
        bereave(stage, doomed)
        twice(stage, channel)
        restock(stage, kept, 4)
        for _ in range(2):
            for tag, delivery in list((channel.view.unacked if channel.view else {}).items()):
                if delivery.queue == kept:
                    channel.ack(tag)
            stage.quiesce()
