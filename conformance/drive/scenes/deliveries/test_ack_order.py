"""ACK: settlements in any order and in silence, and when something ends: a consumer, a queue, the channel."""

from __future__ import annotations

import contextlib
from itertools import permutations

import pytest

from codec import methods as m
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import holding, outstanding, restock, stocked
from conformance.drive.scenes.topology.test_queue import elsewhere
from conformance.drive.stage import NotOffered, Stage


@rule("ACK-013")
def test_singles_in_any_order(stage: Stage) -> None:
    """Every order of four deliveries, settled by acks, rejects and nacks in turn."""
    orders = list(permutations(range(4)))
    queue = stocked(stage, 4 * len(orders))
    channel = stage.channel()
    channel.consume(queue)
    stage.quiesce()
    tags = channel.unacked
    for start, order in zip(range(0, len(tags), 4), orders, strict=False):
        group = tags[start : start + 4]
        if len(group) == len(order):
            channel.ack(group[order[0]])
            channel.reject(group[order[1]], requeue=False)
            channel.nack(group[order[2]], requeue=False)
            channel.ack(group[order[3]])
    stage.barrier(channel)


@rule("ACK-014")
def test_tag_0_and_deliveries_under_way(stage: Stage) -> None:
    """ack(0, multiple) while deliveries are coming may settle them before anybody has read them. Then one is acked."""
    queue = stage.queue()
    channel, publisher = stage.channel(), stage.channel()
    channel.consume(queue)
    stage.quiesce()
    with stage.batch():
        publisher.publish(queue, 20)
        channel.ack(0, multiple=True)
    stage.quiesce()
    for tag in channel.unacked[:1]:
        channel.ack(tag)
    stage.barrier(channel)


@rule("ACK-015")
def test_settling_is_silent(stage: Stage) -> None:
    """ack, nack and reject that succeed, each before a barrier; and an ack of several."""
    channel, _ = holding(stage, 9)
    for tag in (1, 4):
        channel.ack(tag)
        stage.barrier(channel)
        channel.nack(tag + 1, requeue=False)
        stage.barrier(channel)
        channel.reject(tag + 2, requeue=False)
        stage.barrier(channel)
    channel.ack(9, multiple=True)
    stage.barrier(channel)


@rule("ACK-016")
def test_settling_after_cancel(stage: Stage) -> None:
    """A cancelled consumer's deliveries still belong to the channel: one is acked, two by a multiple, one goes back. It
    had no more than its limit allows. And of others one is given up, and one is given back in each of the ways; and
    some are acked in a transaction."""
    queue = stocked(stage, 4)
    channel = _bereft(stage, queue, 4)
    channel.ack(2)
    channel.ack(3, multiple=True)
    stage.barrier(channel)
    channel.close()
    stage.quiesce()
    queue = stocked(stage, 5)
    channel, other = _bereft(stage, queue, 5), stage.channel()
    channel.reject(1, requeue=False)
    channel.reject(3)
    with contextlib.suppress(NotOffered):
        channel.nack(5, requeue=False)
    with contextlib.suppress(NotOffered):
        channel.nack(2)
    with contextlib.suppress(NotOffered):
        channel.nack(0, multiple=True)
    stage.barrier(channel)
    while stage.get(other, queue, no_ack=True) is not None:
        pass
    if stage.offers("tx.select"):
        _in_a_transaction(stage)


def _in_a_transaction(stage: Stage) -> None:
    """It is cancelled, all but the last are acked, and that is committed."""
    queue = stocked(stage, 3)
    channel = _bereft(stage, queue, 3)
    channel.tx_select()
    channel.ack(2, multiple=True)
    stage.barrier(channel)
    channel.tx_commit()
    stage.quiesce()
    channel.close()
    stage.quiesce()


def _bereft(stage: Stage, queue: str, count: int) -> Channel:
    """A channel that holds so many, all of a consumer that was cancelled."""
    channel = stage.channel()
    if stage.offers("basic.qos"):
        channel.qos(count)
    consumer = channel.consume(queue)
    stage.quiesce()
    channel.cancel(consumer)
    stage.quiesce()
    outstanding(channel, count)
    return channel


@rule("ACK-017", last=True)
def test_settling_after_the_queue_is_gone(stage: Stage) -> None:
    """Another connection deletes the queue under a consumer that holds its messages. And a queue that is auto-delete
    goes with the consumer that holds them."""
    queue = stocked(stage, 3)
    channel = stage.channel()
    channel.consume(queue)
    stage.quiesce()
    deleter = stage.channel(connection=stage.connect("deleter"))
    deleter.delete(queue)
    stage.quiesce()
    _settle_each_way(stage, channel)
    if stage.offers("auto-delete queues") and stage.queue_type == "classic":
        idle, holder = stage.queue(auto_delete=True), stage.channel()
        restock(stage, idle, 3)
        tag = holder.consume(idle)
        stage.quiesce()
        holder.cancel(tag)
        stage.quiesce()
        _settle_each_way(stage, holder)


def _settle_each_way(stage: Stage, channel: Channel) -> None:
    """The first three deliveries of the channel."""
    channel.ack(1)
    channel.nack(2, requeue=True)
    channel.reject(3, requeue=False)
    stage.barrier(channel)


@rule("ACK-018")
@pytest.mark.parametrize("closed", ["channel", "connection"])
@pytest.mark.parametrize("count", [1, 32, 33, 100])
def test_settling_and_closing_in_one_write(stage: Stage, count: int, closed: str) -> None:
    """Single acks of everything, and channel.close right behind them, or connection.close."""
    channel = stage.channel() if closed == "channel" else elsewhere(stage)
    channel.consume(stocked(stage, count))
    stage.quiesce()
    with stage.batch():
        for tag in channel.unacked:
            channel.ack(tag)
        if closed == "channel":
            channel.close()
        else:
            channel.send(m.ConnectionClose(0, 200, "normal shutdown"))
    stage.quiesce()


@rule("ACK-019")
def test_a_reject_settles_one(stage: Stage) -> None:
    """U = {1,2,3,4}: reject(3) takes only 3, and reject(0) is not a way to return all: another channel looks."""
    channel, queue = holding(stage, 4)
    channel.reject(3, requeue=False)
    looking = stage.channel()
    stage.barrier(channel)
    with stage.batch():
        channel.reject(0)
        looking.get(queue)
    stage.quiesce()
