"""TX: what acknowledgements and confirms lean on of transactions.

On a transactional channel publishes and settlements take effect with the commit and are undone by a rollback; a wrong
settlement fails at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import BAD_TAG, large, reopen, stocked
from conformance.drive.stage import Stage


def transactional(stage: Stage) -> Channel:
    channel = stage.channel()
    channel.tx_select()
    stage.quiesce()
    return channel


@rule("TX-001")
def test_a_wrong_acknowledgement_fails_at_once(stage: Stage) -> None:
    """An unknown tag, and one that is settled in the same transaction; neither waits for a commit."""
    queue = stocked(stage, 1)
    channel = transactional(stage)
    channel.ack(BAD_TAG)
    reopen(stage, channel)
    channel.tx_select()
    stage.fetch(channel, queue)
    channel.ack(1)
    stage.barrier(channel)
    channel.ack(1)
    stage.quiesce()


@rule("TX-002")
def test_a_rollback_makes_deliveries_outstanding_again(stage: Stage) -> None:
    """Acknowledged, returned and multiply settled, rolled back, and nothing comes to others; then settled again in the
    same ways, or each by itself, and committed. Then they had been got before the channel was transactional. And one is
    acknowledged and the rest recovered before the rollback, and the rest alone is there; the channel ends, and all come
    back. And several are given up together, rolled back twice, and committed then. And in the middle of a transaction
    something else is done that has no part in it."""
    for alike in (True, False):
        queue = stocked(stage, 6)
        channel, other = stage.channel(), stage.channel()
        if alike:
            channel.tx_select()
        stage.fetch(channel, queue, 6)
        if not alike:
            channel.tx_select()
        stage.quiesce()
        _in_all_ways(channel)
        channel.tx_rollback()
        stage.quiesce()
        other.get(queue)
        stage.quiesce()
        if alike:
            _in_all_ways(channel)
        for tag in () if alike else (4, 1, 3, 2):
            channel.ack(tag)
            stage.barrier(channel)
        channel.tx_commit()
        stage.quiesce()
    if stage.offers("basic.recover"):
        queue, channel = stocked(stage, 3), transactional(stage)
        stage.fetch(channel, queue, 3)
        channel.ack(2)
        stage.barrier(channel)
        channel.recover()
        stage.barrier(channel)
        channel.tx_rollback()
        stage.quiesce()
        stage.fetch(channel, queue, 2)
        channel.get(queue)
        stage.quiesce()
        channel.close()
        stage.quiesce()
    if stage.offers("basic.nack"):
        _given_up_together(stage)
    for act in BESIDE:
        _with_something_beside(stage, act)


BESIDE: Mapping[str, Callable[[Channel, str, str], object]] = {
    "basic.cancel": lambda channel, queue, tag: channel.cancel(tag),
    "nowait": lambda channel, queue, tag: channel.cancel(tag, no_wait=True),
    "basic.qos": lambda channel, queue, tag: channel.qos(5),
    "basic.consume": lambda channel, queue, tag: channel.consume(queue),
    "queue.purge": lambda channel, queue, tag: channel.purge(queue),
    "basic.get": lambda channel, queue, tag: channel.get(queue),
}
"""What is done between a settlement and the end of its transaction, by the feature that it takes."""


def _with_something_beside(stage: Stage, act: str) -> None:
    """A consumer holds three, of which two are settled, rolled back, and settled after all, with the third one."""
    if not (stage.offers(act) and stage.cancels):
        return
    queue, channel = stocked(stage, 3), transactional(stage)
    tag = channel.consume(queue)
    stage.quiesce()
    channel.ack(1)
    channel.reject(3, requeue=False)
    BESIDE[act](channel, queue, tag)
    stage.barrier(channel)
    channel.tx_rollback()
    stage.quiesce()
    for outstanding in channel.unacked:
        channel.ack(outstanding)
    channel.tx_commit()
    stage.quiesce()
    stage.channel().get(queue)
    stage.quiesce()


def _given_up_together(stage: Stage) -> None:
    """Of five that a consumer holds two are given up, and two given back, rolled back, and once more; then the same is
    committed. What was given back comes to it again, and its channel ends."""
    queue, channel = stocked(stage, 5), transactional(stage)
    channel.consume(queue)
    stage.quiesce()
    for end in (Channel.tx_rollback, Channel.tx_rollback, Channel.tx_commit):
        channel.nack(2, multiple=True, requeue=False)
        channel.nack(4, multiple=True)
        end(channel)
        stage.quiesce()
        stage.barrier(channel)
    channel.close()
    stage.quiesce()
    stage.channel().get(queue)
    stage.quiesce()


def _in_all_ways(channel: Channel) -> None:
    channel.ack(1)
    channel.nack(2)
    channel.ack(4, multiple=True)


@rule("TX-003")
def test_publishes_appear_with_the_commit(stage: Stage) -> None:
    """Before the commit another channel finds nothing; what cannot be routed is returned before commit-ok."""
    queue, nowhere = stage.queue(), stage.exchange()
    channel, other = transactional(stage), stage.channel()
    channel.publish(queue, 2)
    channel.publish("any", 2, mandatory=True, exchange=nowhere)
    stage.barrier(channel)
    other.get(queue, no_ack=True)
    stage.quiesce()
    channel.tx_commit()
    stage.quiesce()
    channel.publish(queue)
    channel.tx_rollback()
    stage.quiesce()


ENDS: dict[str, Callable[[Channel], None]] = {"commit": Channel.tx_commit, "rollback": Channel.tx_rollback}


@rule("TX-004")
@pytest.mark.parametrize("end", ENDS)
def test_the_end_of_no_transaction(stage: Stage, end: str) -> None:
    """On a fresh channel, and on one in confirm mode."""
    channel = stage.channel()
    ENDS[end](channel)
    reopen(stage, channel)
    channel.confirm()
    ENDS[end](channel)
    stage.quiesce()


def none_there(stage: Stage, queue: str) -> None:
    """Another channel looks for messages, and finds none."""
    stage.channel().get(queue, no_ack=True)
    stage.quiesce()


@rule("TX-005")
def test_a_rollback_undoes_publishes(stage: Stage) -> None:
    """Publishes are rolled back, alone and beside an acknowledgement; the commit after it brings only what is new. And
    a body of several frames is rolled back."""
    queue, other = stage.queue(), stocked(stage, 1)
    channel = transactional(stage)
    stage.fetch(channel, other)
    channel.publish(queue, 2)
    channel.publish(queue, body=large(channel))
    channel.tx_rollback()
    stage.quiesce()
    none_there(stage, queue)
    channel.publish(queue)
    channel.ack(1)
    channel.tx_rollback()
    stage.quiesce()
    channel.tx_commit()
    stage.quiesce()
    none_there(stage, queue)
    channel.publish(queue)
    channel.tx_commit()
    stage.quiesce()
    stage.fetch(channel, queue, stage.judge.ready(queue))


@rule("TX-006")
@pytest.mark.parametrize("end", ENDS)
def test_the_next_transaction(stage: Stage, end: str) -> None:
    """A transaction ends, with a publish and an acknowledgement in it, and nothing of it is left to the next one; what
    is published after it is not there before the next commit, and is there then. At last two come in one write."""
    queue, other = stage.queue(), stocked(stage, 2)
    channel = transactional(stage)
    for _ in range(2):
        channel.publish(queue, 1 if end == "commit" else 2)
        for tag in stage.fetch(channel, other):
            channel.ack(tag)
        ENDS[end](channel)
        stage.quiesce()
        if end == "commit":
            stage.channel().get(queue, no_ack=True)
        stage.quiesce()
        none_there(stage, queue)
        ENDS[end](channel)
        stage.quiesce()
        channel.publish(queue)
        stage.barrier(channel)
        none_there(stage, queue)
        channel.tx_commit()
        stage.quiesce()
        stage.channel().get(queue, no_ack=True)
        stage.quiesce()
    with stage.batch():
        channel.publish(queue)
        ENDS[end](channel)
        channel.publish(queue)
        channel.tx_commit()
    stage.quiesce()
    stage.fetch(stage.channel(), queue, stage.judge.ready(queue), no_ack=True)


@rule("TX-007", queue_types=("classic",))
def test_selecting_again(stage: Stage) -> None:
    """At once, and after a commit."""
    channel = transactional(stage)
    channel.tx_select()
    stage.quiesce()
    channel.tx_commit()
    stage.quiesce()
    channel.tx_select()
    stage.quiesce()


@rule("TX-008")
@pytest.mark.parametrize("how", ["channel.close", "a mistake", "connection.close"])
def test_the_end_of_a_channel_without_a_commit(stage: Stage, how: str) -> None:
    """What was published before it, in the first transaction and in the second, is in no queue. Where the connection
    goes on, the number of the channel is opened again, and a transaction committed that has nothing to do with it."""
    queue = stage.queue()
    for before in (False, True):
        connection = stage.connect(f"publishing {before}")
        channel = stage.channel(connection=connection)
        channel.tx_select()
        stage.quiesce()
        if before:
            channel.tx_commit()
            stage.quiesce()
        channel.publish(queue, 2)
        stage.barrier(channel)
        if how == "connection.close":
            connection.close(stage.deadline)
            stage.quiesce()
            none_there(stage, queue)
            continue
        channel.close() if how == "channel.close" else channel.ack(BAD_TAG)
        stage.quiesce()
        none_there(stage, queue)
        reopen(stage, channel)
        channel.tx_select()
        channel.publish(stage.queue())
        channel.tx_commit()
        stage.quiesce()
        none_there(stage, queue)
