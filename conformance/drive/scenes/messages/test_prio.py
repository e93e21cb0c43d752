"""PRIO: messages of several priorities in one queue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from conformance.drive.around import wait
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import all_back, confirming, outstanding
from conformance.drive.stage import Stage

LEVELS = "x-max-priority"
ARRIVED = 1.3
"""Seconds after which a dead letter has certainly come."""
MANY = 35
HIGHEST, HIGH = 255, (9, 10, 127, 15, 255, 128, 16, 254)


def ranked(stage: Stage, queue: str, priorities: Iterable[int | None], exchange: str = "") -> None:
    """Publishes a message of each priority, and waits until all are in the queue."""
    publisher = confirming(stage)
    for priority in priorities:
        properties = {} if priority is None else {"priority": priority}
        publisher.publish(queue, properties=properties, exchange=exchange)
    stage.confirmed(publisher)
    stage.barrier(publisher)


def drained(stage: Stage, queue: str, count: int, by: Channel | None = None) -> None:
    """Asks how many there are, gets them one by one, and once more."""
    channel = by or stage.channel()
    channel.declare(queue, passive=True)
    stage.quiesce()
    stage.fetch(channel, queue, count, no_ack=True)
    stage.get(channel, queue, no_ack=True)


@rule("PRIO-001", queue_types=("classic",))
@pytest.mark.parametrize("how", ["get", "consume", "commit", "dead letters", "exchange", "purge"])
def test_the_highest_first(stage: Stage, how: str) -> None:
    """Eight messages of six priorities, of the highest ones that can be said, or of two alone, got one by one, or by a
    consumer that starts later. They may come in a transaction, as dead letters, by an exchange that leads to two, or
    when the queue was purged."""
    if how == "commit":
        stage.require("tx.select")
    elif how == "dead letters":
        stage.require("x-dead-letter-exchange", "x-dead-letter-routing-key")
    for levels, priorities in ((5, (1, 3, None, 5, 0, 4, 3, 2)), (HIGHEST, HIGH), (1, (0, 1, None, 1, 0))):
        queue = stage.queue({LEVELS: levels})
        publisher = _ranked_by(stage, how, queue, priorities)
        if how != "consume":
            drained(stage, queue, len(priorities), publisher)
        else:
            stage.channel().consume(queue, no_ack=True)
            stage.quiesce()


def _ranked_by(stage: Stage, how: str, queue: str, priorities: Sequence[int | None]) -> Channel | None:
    """They come to the queue in this way; the channel that is to get them, if it is to be that of their publisher."""
    if how == "commit":
        publisher = stage.channel()
        publisher.tx_select()
        for priority in priorities:
            publisher.publish(queue, properties={} if priority is None else {"priority": priority})
        publisher.tx_commit()
        stage.quiesce()
        return publisher
    if how == "dead letters":
        dying, holder = stage.queue({"x-dead-letter-exchange": "", "x-dead-letter-routing-key": queue}), stage.channel()
        ranked(stage, dying, priorities)
        for tag in stage.fetch(holder, dying, len(priorities)):
            holder.reject(tag, requeue=False)
        stage.barrier(holder)
        wait(stage, ARRIVED)
    elif how == "exchange":
        other = stage.queue({LEVELS: HIGHEST})
        ranked(stage, "", priorities, stage.exchange(queue, other))
        drained(stage, other, len(priorities))
    else:
        if how == "purge":
            ranked(stage, queue, priorities[:4])
            stage.backstage(queue).purge(queue)
            stage.quiesce()
        ranked(stage, queue, priorities)
    return None


@rule("PRIO-002", queue_types=("classic",))
def test_equal_priorities(stage: Stage) -> None:
    """Three of one priority, and two of another between them; then many of both."""
    queue = stage.queue({LEVELS: 5})
    for priorities in ((2, 4, 2, 4, 2), (2, 4) * MANY):
        ranked(stage, queue, priorities)
        drained(stage, queue, len(priorities))


@rule("PRIO-003", queue_types=("classic",))
def test_priorities_above_the_maximum(stage: Stage) -> None:
    """Between two that have just the maximum; and before a lower one, when it was given back."""
    queue, holder = stage.queue({LEVELS: 3}), stage.channel()
    ranked(stage, queue, (3, 4, 3, 255, 3))
    drained(stage, queue, 5)
    ranked(stage, queue, (2, 9))
    for tag in stage.fetch(holder, queue):
        holder.reject(tag)
    stage.barrier(holder)
    drained(stage, queue, 2, by=holder)


@rule("PRIO-004", queue_types=("classic",))
def test_messages_without_priority(stage: Stage) -> None:
    """Between two of priority 0."""
    queue = stage.queue({LEVELS: 5})
    ranked(stage, queue, (0, None, 0, None, 0))
    drained(stage, queue, 5)


@rule("PRIO-005", queue_types=("classic",))
@pytest.mark.parametrize("how", ["nack", "reject", "recover", "close", "lost"])
def test_priorities_of_what_comes_back(stage: Stage, how: str) -> None:
    """Four are got and given back, one by one, beside two that are ready; then all are, several times; at last the same
    channel takes them. Or all four come back at once, by basic.recover or because their holder leaves."""
    if how != "nack":
        _all_come_back(stage, how)
        return
    stage.require("basic.nack")
    queue, channel = stage.queue({LEVELS: 9}), stage.channel()
    ranked(stage, queue, (1, 5, 3, 7))
    stage.fetch(channel, queue, 4)
    ranked(stage, queue, (6, 2))
    for count in (4, 6, 6, 6):
        if count == 6:
            stage.fetch(channel, queue, count)
        for tag in reversed(outstanding(channel, count)):
            channel.nack(tag)
        stage.barrier(channel)
    stage.fetch(channel, queue, 6, no_ack=True)


def _all_come_back(stage: Stage, how: str) -> None:
    queue, leaving, looking = stage.queue({LEVELS: 9}), stage.connect(how), stage.channel()
    ranked(stage, queue, (1, 5, 3, 7))
    holder = stage.channel(connection=leaving)
    tags = stage.fetch(holder, queue, 4)
    stage.get(holder, queue)
    ranked(stage, queue, (6, 2))
    if how == "reject":
        for tag in tags:
            holder.reject(tag)
    elif how == "recover":
        stage.require("basic.recover")
        holder.recover()
    elif how == "close":
        holder.close()
    else:
        leaving.abort()
    stage.quiesce()
    if how == "reject":
        stage.barrier(holder)
    all_back(stage, looking, queue, 6)
    drained(stage, queue, 6, looking)


@rule("PRIO-006", queue_types=("classic",))
@pytest.mark.parametrize("value", [-1, 256, "many"])
def test_what_is_no_maximum(stage: Stage, value: object) -> None:
    """A number that is too small or too large, and a text; where a queue with a maximum can be had. And the least."""
    stage.queue({LEVELS: 1})
    least = stage.recorder.private_name()
    stage.belongings.queues[least] = stage.connection
    stage.channel().declare(least, durable=stage.durable, arguments={LEVELS: 0})
    stage.channel().declare(stage.recorder.private_name(), arguments={LEVELS: value})
    stage.quiesce()


@rule("PRIO-007", queue_types=("classic",))
@pytest.mark.parametrize("before", [False, True])
def test_all_priorities_are_served(stage: Stage, before: bool) -> None:
    """To a consumer that acknowledges each, and is there before the messages, or starts later. Then the queue is purged
    while it waits for more, and while it has no room."""
    queue, channel = stage.queue({LEVELS: 5}), stage.channel()
    channel.qos(3)
    if before:
        channel.consume(queue)
        stage.quiesce()
    ranked(stage, queue, (1, None, 5, 0, 200, 3))
    if not before:
        channel.consume(queue)
        stage.quiesce()
    for _ in range(6):
        channel.ack(outstanding(channel)[0])
        stage.quiesce()
    stage.get(stage.channel(), queue, no_ack=True)
    for _ in range(2):
        stage.backstage(queue).purge(queue)
        stage.quiesce()
        ranked(stage, queue, (1, 5, 0, 3))
        channel.ack(outstanding(channel)[0])
        stage.quiesce()
