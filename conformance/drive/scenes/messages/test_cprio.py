"""CPRIO: consumers of several priorities at one queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from codec import methods as m
from conformance.drive.around import wait
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import confirming, outstanding, shares
from conformance.drive.stage import Stage

RANK = "x-priority"
WIDE = (-200, 1, 256)
WIDTHS = ("b", -3), ("s", 2), ("I", 300), ("l", 301)
"""Integers of all sizes, each greater than the one before."""
NO_INTEGERS: Mapping[str, object] = {"S": b"high", "V": None, "t": True, "d": 1.5, "A": [("b", 1)]}
"""By their types in a table."""
ARRIVED = 1.3
"""Seconds after which a dead letter has certainly come."""


def consumers(
    stage: Stage, queue: str, ranks: Sequence[int | None], limit: int = 0, *, shared: bool = False, no_ack: bool = False
) -> list[Channel]:
    """A channel with one consumer for each priority, the lowest first; whose limit it is, or its channel's."""
    stage.require(RANK)
    channels = []
    for rank in ranks:
        channel = stage.channel()
        if limit:
            channel.qos(limit, shared)
        channel.consume(queue, no_ack, arguments={} if rank is None else {RANK: rank})
        stage.quiesce()
        channels.append(channel)
    return channels


def spread(stage: Stage, queue: str, count: int, among: Sequence[Channel]) -> None:
    """Publishes so many messages at once, and waits until each has come to somebody."""
    publisher = confirming(stage)
    publisher.publish(queue, count)
    stage.confirmed(publisher)
    for channel in among:
        stage.barrier(channel)


@rule("CPRIO-001", queue_types=("classic",))
@pytest.mark.parametrize(
    "ranks", [(-5, -1, 7), (-5, None), (-5, -1), WIDE], ids=["three", "negative", "all negative", "wide"]
)
def test_the_highest_is_served(stage: Stage, ranks: Sequence[int | None]) -> None:
    """All have room for everything. The consumer without a priority starts last. Others become full, and have room
    again, also by giving back what they hold. Or the highest was full before the others came. And one more comes
    and leaves, by a cancel or with its channel. Or none acknowledges anything. The priorities are integers of any
    width, and a tag may have another one than before. The messages may be dead letters, or come in a transaction or
    over an exchange, to consumers of several connections."""
    queue = stage.queue()
    among = consumers(stage, queue, ranks)
    for count in (1, 5):
        spread(stage, queue, count, among)
    queue = stage.queue()
    among = consumers(stage, queue, ranks, limit=2)
    spread(stage, queue, 2 * len(among), among)
    for channel in among:
        channel.ack(outstanding(channel)[-1], multiple=True)
        stage.barrier(channel)
    for _ in (*among, 1):
        spread(stage, queue, 1, among)
    _was_full_before(stage, ranks)
    queue = stage.queue()
    among = consumers(stage, queue, ranks)
    for cancels in (True, False):
        (leaving,) = consumers(stage, queue, (300,))
        spread(stage, queue, 2, [*among, leaving])
        _leaves(stage, leaving, cancels=cancels and stage.cancels)
        spread(stage, queue, 2, among)
    queue = stage.queue()
    among = consumers(stage, queue, ranks, no_ack=True)
    for count in (1, 5):
        spread(stage, queue, count, among)
    if ranks == WIDE:
        _of_any_width(stage)
        _another_than_before(stage)
    _otherwise(stage, ranks)


def _otherwise(stage: Stage, ranks: Sequence[int | None]) -> None:
    """They come over an exchange, in a transaction, and as dead letters, to consumers of two connections."""
    queue, among, publisher = stage.queue(), list[Channel](), confirming(stage)
    for number, rank in enumerate(ranks):
        channel = stage.channel(connection=stage.connect(f"ranked {number}") if number % 2 == 0 else None)
        channel.consume(queue, True, arguments={} if rank is None else {RANK: rank})
        stage.quiesce()
        among.append(channel)
    publisher.publish("", 3, exchange=stage.exchange(queue))
    stage.confirmed(publisher)
    if stage.offers("tx.select"):
        committing = stage.channel()
        committing.tx_select()
        committing.publish(queue, 3)
        committing.tx_commit()
        stage.quiesce()
    if stage.offers("x-dead-letter-exchange"):
        dying, holder = stage.queue({"x-dead-letter-exchange": "", "x-dead-letter-routing-key": queue}), stage.channel()
        publisher.publish(dying, 3)
        stage.confirmed(publisher)
        for tag in stage.fetch(holder, dying, 3):
            holder.reject(tag, requeue=False)
        stage.barrier(holder)
        wait(stage, ARRIVED)
    for channel in among:
        stage.barrier(channel)


def _was_full_before(stage: Stage, ranks: Sequence[int | None]) -> None:
    """Alone, so that a message waited for it; the others come when it has room."""
    queue = stage.queue()
    among = consumers(stage, queue, (300,), limit=3)
    spread(stage, queue, 4, among)
    among[0].ack(outstanding(among[0], 3)[1], multiple=True)
    stage.barrier(among[0])
    among += consumers(stage, queue, ranks)
    spread(stage, queue, 1, among)


def _of_any_width(stage: Stage) -> None:
    queue, among = stage.queue(), stage.channels(4)
    for channel, (letter, rank) in zip(among, WIDTHS, strict=True):
        tag, arguments = stage.payloads.next_consumer(), [(RANK, letter, rank)]
        channel.send(m.BasicConsume(channel.number, queue=queue, consumer_tag=tag, no_ack=True, arguments=arguments))
        stage.quiesce()
        spread(stage, queue, 3, among)


def _another_than_before(stage: Stage) -> None:
    """One has a high priority, and then, by the same tag, a low one."""
    if not stage.cancels:
        return
    queue = stage.queue()
    (beside,), channel = consumers(stage, queue, (5,), no_ack=True), stage.channel()
    for rank in (9, 1):
        tag = channel.consume(queue, True, "again", {RANK: rank})
        stage.quiesce()
        spread(stage, queue, 3, [beside, channel])
        channel.cancel(tag)
        stage.quiesce()


def _leaves(stage: Stage, channel: Channel, *, cancels: bool) -> None:
    """With what it holds, which it gives back first if it is only cancelled."""
    view, held = stage.view_of(channel), channel.unacked
    if not cancels or view is None:
        channel.close()
        stage.quiesce()
        return
    for tag in list(view.consumers):
        channel.cancel(tag)
    stage.quiesce()
    for one in held:
        channel.reject(one)
    stage.barrier(channel)


@rule("CPRIO-002", queue_types=("classic",))
@pytest.mark.parametrize("whose", ["consumer", "channel"])
def test_the_lower_are_served_as_well(stage: Stage, whose: str) -> None:
    """Each takes two of six. Then the lowest acknowledges one, and gets the next. Then all have room again, and the
    highest is served first. At last that is cancelled while it holds all that it may, and the others are served. The
    limits are theirs, or those of their channels."""
    if whose == "channel" and not shares(stage):
        return
    queue = stage.queue()
    among = consumers(stage, queue, (1, 2, 7), limit=2, shared=whose == "channel")
    for count in (2, 2, 2):
        spread(stage, queue, count, among)
    among[0].ack(outstanding(among[0])[0])
    spread(stage, queue, 1, among)
    for channel in among:
        channel.ack(outstanding(channel)[-1], multiple=True)
        stage.barrier(channel)
    for _ in range(5):
        spread(stage, queue, 1, among)
    if stage.cancels and (view := stage.view_of(among[-1])) is not None:
        for tag in list(view.consumers):
            among[-1].cancel(tag)
        stage.quiesce()
        spread(stage, queue, 1, among)


@rule("CPRIO-003", queue_types=("classic",))
def test_equals_share(stage: Stage) -> None:
    """Thirty messages for two with the same priority, beside one with a lower one; then as many for three. And for one
    that says 0, and one that says nothing, whoever comes first, beside a lower one."""
    for ranks in ((1, 5, 5), (5, 5, 5), (-1, None, 0), (-1, 0, None)):
        queue = stage.queue()
        among = consumers(stage, queue, ranks)
        for _ in range(3):
            spread(stage, queue, 10, among)


@rule("CPRIO-004", queue_types=("classic",))
@pytest.mark.parametrize("letter", NO_INTEGERS)
def test_a_priority_that_is_no_integer(stage: Stage, letter: str) -> None:
    """Of a consumer at a queue that is there: a text, nothing, a truth, a fraction, a list."""
    stage.require(RANK)
    queue, channel = stage.queue(), stage.channel()
    tag, arguments = stage.payloads.next_consumer(), [(RANK, letter, NO_INTEGERS[letter])]
    channel.send(m.BasicConsume(channel.number, queue=queue, consumer_tag=tag, arguments=arguments))
    stage.quiesce()
