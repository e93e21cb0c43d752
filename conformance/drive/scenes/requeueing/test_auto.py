"""AUTO: what a client leaves behind when it goes, in whatever manner.

The drain at the end of every scene looks for all of it, whoever had it. What a scene adds is who had what, how that
one went, and who was waiting.
"""

from __future__ import annotations

import time

import pytest

from codec import methods as m
from conformance.drive.around import elapse, wait
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import BAD_TAG, all_back, half_a_publish, mistakes, reopen, restock, stocked
from conformance.drive.stage import Stage

HEARTBEAT, FED = 2, 52
"""Seconds; brokers are lenient with shorter intervals."""
WIDE = (1 << 8) + 9
FAILURES = 3


def laden(stage: Stage, channel: Channel) -> str:
    """A queue of which the channel holds: gets, deliveries to a live consumer, and to a cancelled one."""
    queue = stocked(stage, 8)
    stage.fetch(channel, queue, 2)
    channel.qos(2)
    cancelled = channel.consume(queue)
    stage.quiesce()
    channel.cancel(cancelled)
    stage.quiesce()
    channel.consume(queue)
    stage.quiesce()
    return queue


def comes_back(stage: Stage, queue: str, count: int) -> None:
    """Somebody else takes this many messages, one after the other, as they come back; and then all of them. Then a
    consumer comes who was not there before, and gets what is left, and what comes later. It is cancelled before its
    channel is closed: what is on its way to a consumer may be lost with that."""
    for all_of_them in (False, True):
        other = stage.channel(connection=stage.connections.get("other") or stage.connect("other"))
        stage.fetch(other, queue, stage.judge.ready(queue) if all_of_them else count)
        other.close()
        stage.quiesce()
    later = stage.channel(connection=stage.connections["other"])
    tag = later.consume(queue, no_ack=True)
    stage.quiesce()
    for _ in "12":
        restock(stage, queue, 1)
    if stage.cancels and later.state == "open":
        later.cancel(tag)
        stage.quiesce()
    later.close()
    stage.quiesce()


@rule("AUTO-001")
def test_a_channel_is_closed(stage: Stage) -> None:
    """It holds gets, and deliveries of a live and of a cancelled consumer; then one that holds gets alone.

    So many of these that the order of their tags is another one than that of the tags' texts. And one that holds more
    deliveries than an octet can count.
    """
    channel, gets = stage.channel(), stage.channel()
    queue, fetched = laden(stage, channel), stocked(stage, 12)
    stage.fetch(gets, fetched, 11)
    for one, source, count in ((channel, queue, 4), (gets, fetched, 12)):
        one.close()
        stage.quiesce()
        comes_back(stage, source, count)
    many = stage.channel()
    many.consume(stocked(stage, WIDE))
    stage.quiesce()
    many.close()
    stage.quiesce()


@rule("AUTO-002")
def test_a_connection_is_closed(stage: Stage) -> None:
    """Three channels of it hold messages of two queues; on one of them a publish is under way."""
    leaving = stage.connect("leaving")
    queues = [laden(stage, stage.channel(connection=leaving)) for _ in range(2)]
    getting = stage.channel(connection=leaving)
    stage.fetch(getting, queues[0], 2)
    half_a_publish(stage, getting, queues[1])
    leaving.send(m.ConnectionClose(0, 200, "normal shutdown"))
    stage.quiesce()
    leaving.abort()
    for queue in queues:
        comes_back(stage, queue, 4)


@rule("AUTO-003")
@pytest.mark.parametrize("end", ["hang_up", "abort"])
def test_a_connection_is_lost(stage: Stage, end: str) -> None:
    """Without a word, by FIN and by RST, while two channels hold messages, one of them in the middle of a publish."""
    lost = stage.connect("lost")
    channels = stage.channels(2, lost)
    queues = [laden(stage, channel) for channel in channels]
    half_a_publish(stage, channels[0], queues[0])
    getattr(lost, end)()
    for queue in queues:
        comes_back(stage, queue, 4)


@rule("AUTO-004", last=True)
def test_a_channel_fails(stage: Stage) -> None:
    """A bad settlement; the client answers the close at once, and only after another consumer has waited in vain. And
    one connection has several channels that fail, one after the other, and one that fails again and again, by mistakes
    of other kinds."""
    for hold in (False, True):
        failing = stage.connect(f"failing{hold}")
        channel = stage.channel(connection=failing)
        queue = laden(stage, channel)
        waiting = stage.channel(connection=stage.connections.get("waiting") or stage.connect("waiting"))
        if hold:
            with stage.hold_close_ok(failing):
                channel.ack(BAD_TAG)
                waiting.consume(queue)
                stage.quiesce()
                for _ in range(2):
                    stage.barrier(waiting)
        else:
            waiting.consume(queue)
            channel.ack(BAD_TAG)
        stage.quiesce()
        waiting.close()
        stage.quiesce()
    hapless = stage.connect("hapless")
    for channel in stage.channels(FAILURES, hapless):
        laden(stage, channel)
        channel.ack(BAD_TAG)
        reopen(stage, channel)
    channel = stage.channel(connection=hapless)
    for mistake in mistakes(stage, channel).values():
        queue = laden(stage, channel)
        mistake()
        reopen(stage, channel)
        comes_back(stage, queue, 4)


@rule("AUTO-005")
def test_a_client_falls_silent(stage: Stage) -> None:
    """Heartbeats were agreed, and none come; a consumer elsewhere waits for what the silent one holds. Messages that
    need no acknowledgement are delivered to it all the time."""
    silent, other = stage.connect("silent", heartbeat=HEARTBEAT), stage.channel()
    channel, fed = stage.channel(connection=silent), stage.queue()
    queue = stocked(stage, 3)
    stage.fetch(channel, queue, 2)
    channel.qos(1)
    channel.consume(queue)
    channel.consume(fed, no_ack=True)
    elapse(stage, HEARTBEAT / 4)
    stage.barrier(channel)
    silent.mute = True
    for _ in range(FED):
        if not silent.alive:
            break
        wait(stage, HEARTBEAT / 8)
        other.publish(fed)
        stage.barrier(other)
    stage.waiter.ends(silent, HEARTBEAT)
    comes_back(stage, queue, 2)


@rule("AUTO-006")
def test_what_is_settled_stays_settled(stage: Stage) -> None:
    """Settled and proven so, before a close and a loss; in a transaction that is committed, and in one that is not."""
    for end in ("close", "abort"):
        connection = stage.connect(end)
        queue = stocked(stage, 6)
        channel = stage.channel(connection=connection)
        stage.fetch(channel, queue, 4)
        channel.ack(1)
        channel.nack(2, requeue=False)
        stage.barrier(channel)
        stage.fetch(channel, queue)
        channel.close() if end == "close" else connection.abort()
        stage.quiesce()
        comes_back(stage, queue, 3)
    if stage.queue_type == "classic":
        _provisional(stage)


def _provisional(stage: Stage) -> None:
    queue = stocked(stage, 6)
    channel = stage.channel()
    channel.tx_select()
    stage.quiesce()
    stage.fetch(channel, queue, 5)
    channel.ack(2, multiple=True)
    channel.tx_commit()
    stage.quiesce()
    channel.ack(3)
    channel.nack(4, requeue=False)
    stage.barrier(channel)
    channel.close()
    stage.quiesce()
    comes_back(stage, queue, 4)


@rule("AUTO-007", last=True)
def test_automatic_deliveries_are_final(stage: Stage) -> None:
    """No-ack deliveries to a get and a consumer; their channel is closed, fails, and loses its connection."""
    for end in ("close", "fail", "close the connection", "hang_up", "abort"):
        connection = stage.connect(end)
        queue = stocked(stage, 4)
        channel = stage.channel(connection=connection)
        stage.fetch(channel, queue, no_ack=True)
        channel.consume(queue, no_ack=True)
        stage.quiesce()
        if end == "close":
            channel.close()
        elif end == "fail":
            channel.ack(BAD_TAG)
        elif end == "close the connection":
            connection.close(stage.deadline)
        else:
            getattr(connection, end)()
        stage.quiesce()


@rule("AUTO-008")
def test_a_cancel_returns_nothing(stage: Stage) -> None:
    """A consumer is cancelled that holds everything; others ask, by get and by consume, also on its own channel and
    under its tag; then its channel closes."""
    queue = stocked(stage, 3)
    channel = stage.channel()
    tag = channel.consume(queue)
    stage.quiesce()
    channel.cancel(tag)
    stage.quiesce()
    other = stage.channel(connection=stage.connect("other"))
    other.get(queue)
    stage.quiesce()
    waiting = other.consume(queue)
    stage.barrier(other)
    other.cancel(waiting)
    stage.quiesce()
    channel.consume(queue, tag=tag)
    stage.quiesce()
    channel.cancel(tag)
    stage.quiesce()
    other.get(queue)
    stage.quiesce()
    channel.close()
    stage.quiesce()
    comes_back(stage, queue, 3)


@rule("AUTO-009")
@pytest.mark.parametrize("end", ["hang_up", "abort"])
def test_what_was_not_read_comes_back(stage: Stage, end: str) -> None:
    """A hundred large messages are sent ahead to a consumer that reads a few and is gone."""
    queue = stage.queue()
    publisher = stage.channel()
    publisher.confirm()
    publisher.publish(queue, 60, body=bytes(8192))
    stage.quiesce()
    lost = stage.connect("lost")
    channel = stage.channel(connection=lost)
    channel.qos(100)
    stage.quiesce()
    channel.consume(queue)
    until = time.monotonic() + stage.deadline
    while lost.alive and not channel.unacked and time.monotonic() < until:
        lost.receive(stage.deadline)
    getattr(lost, end)()


@rule("AUTO-010")
def test_all_of_it_comes_back_and_once(stage: Stage) -> None:
    """Four connections share a queue; one closes, one is lost, one cancels and closes in one write, one lives."""
    queue = stocked(stage, 24)
    channels = {name: stage.channel(connection=stage.connect(name)) for name in ("closes", "lost", "cancels", "lives")}
    for channel in channels.values():
        channel.qos(4)
        channel.consume(queue, tag="c")
    stage.quiesce()
    for channel in channels.values():
        for tag in channel.unacked[:2]:
            channel.ack(tag)
    stage.quiesce()
    channels["closes"].connection.close(stage.deadline)
    channels["lost"].connection.abort()
    with stage.batch():
        channels["cancels"].cancel("c")
        channels["cancels"].close()
    stage.quiesce()


@rule("AUTO-011")
def test_close_ok_follows_the_return(stage: Stage) -> None:
    """A live consumer's deliveries, a cancelled one's, and gets; another connection asks right after close-ok."""
    other = stage.channel(connection=stage.connect("other"))
    for how in ("live", "cancelled", "gets"):
        queue = stocked(stage, 2)
        channel = stage.channel()
        if how == "gets":
            stage.fetch(channel, queue, 2)
        else:
            tag = channel.consume(queue)
            stage.quiesce()
            if how == "cancelled":
                channel.cancel(tag)
        stage.quiesce()
        channel.close()
        stage.quiesce()
        other.get(queue)
        stage.quiesce()


@rule("AUTO-012", last=True)
def test_who_waits_is_served(stage: Stage) -> None:
    """A consumer waits while another holds all messages, and closes, fails, and is lost. Both may have one tag, and
    their connections others that have it as well. Of another queue all was got."""
    waiting = stage.channel(connection=stage.connect("waiting"))
    for end in ("close", "fail", "abort"):
        queue = stocked(stage, 2)
        holder = stage.channel(connection=stage.connect(end))
        holder.consume(queue, tag=end)
        stage.quiesce()
        waiting.consume(queue, tag=end)
        got = stocked(stage, 2)
        stage.fetch(holder, got, 2)
        waiting.consume(got, tag=f"{end} got")
        stage.quiesce()
        beside = stage.queue()
        stage.channel(connection=waiting.connection).consume(beside, tag=end)
        stage.quiesce()
        if end == "close":
            holder.close()
        elif end == "fail":
            holder.ack(BAD_TAG)
        else:
            holder.connection.abort()
        stage.quiesce()
        for one in (beside, queue):
            restock(stage, one, 1)


@rule("AUTO-013")
@pytest.mark.parametrize("end", ["hang_up", "abort", "close"])
def test_what_a_lost_connection_held_keeps_its_order(stage: Stage, end: str) -> None:
    """Of ten messages the first is out elsewhere, a consumer has the next five, and gets of another channel two more.
    The first is returned; then the connection is lost. All are counted and fetched."""
    lost, other = stage.connect("lost"), stage.channel()
    queue, consuming, getting = stocked(stage, 10), stage.channel(connection=lost), stage.channel(connection=lost)
    stage.fetch(other, queue, 1)
    consuming.qos(5)
    consuming.consume(queue)
    stage.quiesce()
    stage.fetch(getting, queue, 2)
    other.reject(1)
    stage.barrier(other)
    if end == "close":
        lost.close(stage.deadline)
    else:
        getattr(lost, end)()
    all_back(stage, other, queue, 10)
    stage.fetch(other, queue, 10)
