"""BLOCK: a publisher, one that did not ask to be told, and a consumer, while the broker is short of something."""

from __future__ import annotations

from conformance.drive.channel import Channel
from conformance.drive.doors import HEADER, dial, enter, log_in, say
from conformance.drive.scenes.marks import QueueType, rule
from conformance.drive.scenes.props import confirming, large, stocked
from conformance.drive.stage import Stage
from conformance.oracle.model.connections.alarms import BLOCKED, ENOUGH

CLASSIC: tuple[QueueType, ...] = ("classic",)
UNBLOCKED = "connection.unblocked"
MOMENT = 0.2
"""Seconds between two publishes of one who waits to be told."""


def publisher(stage: Stage, name: str = "publisher", *, asks: bool | None = True) -> Channel:
    """A channel in confirm mode on a connection of its own, by a client that asks to be told, or does not, or says that
    it does not."""
    said = {} if asks is None else {"connection.blocked": asks}
    connection = stage.connect(name, {"publisher_confirms": True, **said})
    channel = stage.channel(connection=connection)
    if stage.offers("confirm.select"):
        channel.confirm()
    stage.quiesce()
    return channel


def told(stage: Stage, channel: Channel) -> bool:
    """Does the client know that it is blocked?"""
    found = [one.method for one in stage.events if one.connection == channel.connection.name]
    return next((one == BLOCKED for one in reversed(found) if one in (BLOCKED, UNBLOCKED)), False)


def press(stage: Stage, channel: Channel, queue: str, body: bytes | None = None) -> None:
    """Publishes until the client is told that it is blocked, or should have been."""
    for _ in range(ENOUGH):
        channel.publish(queue, body=body)
        if stage.waiter.settles(lambda: told(stage, channel), MOMENT):
            break
    stage.quiesce()


def shortage(
    stage: Stage, *, asks: tuple[bool | None, ...] = (True,), meanwhile: int = 0, queue: str = "", times: int = 1
) -> None:
    """A publisher is blocked; others publish as well, and another channel of it where it goes on; then the alarm is
    over, and all are answered."""
    if stage.around.alarm is None:
        return
    queue, channel = queue or stage.queue(), publisher(stage)
    others = [publisher(stage, f"other{number}", asks=one) for number, one in enumerate(asks)]
    if meanwhile:
        others.append(confirming(stage, channel.connection))
    for _ in range(times):
        with stage.around.shortage(stage):
            press(stage, channel, queue)
            if meanwhile:
                channel.publish(queue, meanwhile)
            for one in others:
                one.publish(queue)
            stage.quiesce()
        stage.quiesce()
        for one in (channel, *others):
            stage.barrier(one)


@rule("BLOCK-001", queue_types=CLASSIC, last=True)
def test_who_did_not_ask_is_not_told(stage: Stage) -> None:
    """One publisher has asked, one has not, and one has said that it does not."""
    shortage(stage, asks=(None, False))


@rule("BLOCK-002", queue_types=CLASSIC, last=True)
def test_blocked_and_unblocked_in_turn(stage: Stage) -> None:
    """A publisher goes on publishing while it is blocked."""
    shortage(stage, meanwhile=3)


@rule("BLOCK-003", "BLOCK-004", queue_types=CLASSIC, last=True)
def test_a_publisher_is_told_and_when_it_is_over(stage: Stage) -> None:
    """It publishes until it is told; so does another one. Then there is another alarm. And one has large bodies."""
    shortage(stage, times=2)
    if stage.around.alarm is not None:
        queue, channel = stage.queue(), publisher(stage, "heavy")
        with stage.around.shortage(stage):
            press(stage, channel, queue, large(channel))
        stage.quiesce()
        stage.barrier(channel)


@rule("BLOCK-005", queue_types=CLASSIC, last=True)
def test_publishes_are_kept(stage: Stage) -> None:
    """Ten publishes while the client is blocked, and one on another channel; and methods after them. Others come on a
    transaction that is committed meanwhile, and what was delivered before is acknowledged."""
    shortage(stage, meanwhile=10)
    if stage.around.alarm is not None:
        _settles_and_commits(stage)


def _settles_and_commits(stage: Stage) -> None:
    queue, other, channel = stocked(stage, 3), stage.queue(), publisher(stage, "busy")
    taker, committing, asking = stage.channels(3, channel.connection)
    empty = stage.queue()
    tags = stage.fetch(taker, queue, 2)
    if stage.offers("tx.select"):
        committing.tx_select()
        stage.quiesce()
    with stage.around.shortage(stage):
        press(stage, channel, stage.queue())
        taker.ack(tags[-1], multiple=True)
        committing.publish(other, 2)
        if stage.offers("tx.select"):
            committing.tx_commit()
        asking.declare(queue, passive=True)
        asking.get(empty)
        stage.quiesce()
    stage.quiesce()
    for one in (taker, committing):
        stage.barrier(one)
    taker.close()
    stage.quiesce()
    for name in (queue, other):
        stage.fetch(stage.channel(), name, 3)


@rule("BLOCK-006", queue_types=CLASSIC, last=True)
def test_consumers_go_on(stage: Stage) -> None:
    """A connection that has published nothing asks, and consumes what was there before. Another one begins."""
    if stage.around.alarm is None:
        return
    queue, channel = stocked(stage, 3), publisher(stage)
    reader = stage.channel(connection=stage.connect("reader"))
    with stage.around.shortage(stage):
        press(stage, channel, stage.queue())
        stage.barrier(reader)
        reader.consume(queue)
        stage.quiesce()
        for tag in reader.unacked:
            reader.ack(tag)
        stage.barrier(reader)
        link = dial(stage, "late")
        say(stage, (link, HEADER))
        log_in(stage, link)
        if enter(stage, link):
            stage.barrier(stage.channel(connection=link))
    stage.quiesce()
    stage.barrier(channel)
