"""TX: what acknowledgements and confirms lean on of transactions.

On a transactional channel publishes and settlements take effect with the commit and are undone by a rollback; a wrong
settlement fails at once.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import BAD_TAG, reopen, stocked
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
    """Acknowledged, returned and multiply settled, rolled back, and nothing comes to others; then settled again."""
    queue = stocked(stage, 4)
    channel, other = transactional(stage), stage.channel()
    stage.fetch(channel, queue, 4)
    channel.ack(1)
    channel.nack(2)
    channel.ack(4, multiple=True)
    channel.tx_rollback()
    stage.quiesce()
    other.get(queue)
    stage.quiesce()
    channel.ack(1)
    channel.nack(2)
    channel.tx_commit()
    stage.quiesce()


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
    """Publishes are rolled back, alone and beside an acknowledgement; the commit after it brings only what is new."""
    queue, other = stage.queue(), stocked(stage, 1)
    channel = transactional(stage)
    stage.fetch(channel, other)
    channel.publish(queue, 2)
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
    """A transaction ends; what is published after it is not there before the next commit, and is there then."""
    queue = stage.queue()
    channel = transactional(stage)
    for _ in range(2):
        ENDS[end](channel)
        stage.quiesce()
        channel.publish(queue)
        stage.barrier(channel)
        none_there(stage, queue)
        channel.tx_commit()
        stage.quiesce()
        stage.channel().get(queue, no_ack=True)
        stage.quiesce()


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
    """What was published before it, in the first transaction and in the second, is in no queue."""
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
        else:
            channel.close() if how == "channel.close" else channel.ack(BAD_TAG)
        stage.quiesce()
        none_there(stage, queue)
