"""SAC: consumers of which one is served, and others wait."""

from __future__ import annotations

import pytest

from conformance.drive.channel import Channel
from conformance.drive.scenes.consumers.test_consume import QUIET_TRIPS
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import BAD_TAG, confirming, outstanding, reopen
from conformance.drive.scenes.topology.test_queue import leave
from conformance.drive.stage import Stage

SINGLE = {"x-single-active-consumer": True}


def waiting(stage: Stage, queue: str, count: int, limit: int = 0) -> list[tuple[Channel, str]]:
    """So many channels of two connections, each with a consumer of the queue, and this limit."""
    other = stage.connect("other")
    apart = stage.connect("apart")
    found = []
    for number in range(count):
        channel = stage.channel(connection=other if number % 2 else apart)
        if limit:
            channel.qos(limit)
        found.append((channel, channel.consume(queue)))
        stage.quiesce()
    return found


def restock(stage: Stage, queue: str, count: int) -> None:
    """Publishes so many messages that outlast a queue that fails."""
    confirming(stage).publish(queue, count, persistent=True)
    stage.quiesce()
    stage.rounds()


def active(stage: Stage, consumers: list[tuple[Channel, str]]) -> tuple[Channel, str]:
    """The one that is served; which of the first that is, is open."""
    stage.quiesce()
    return next((one for one in consumers if one[0].unacked), consumers[0])


@rule("SAC-001")
@pytest.mark.parametrize("rank", [0, 5])
def test_one_of_three_is_served(stage: Stage, rank: int) -> None:
    """Messages come one after the other, and are acknowledged, one of them after it was given back in each way. Then
    the queue is declared again, and one of the three joins, and may outrank the others. One that waits leaves before
    the last. Then all acknowledge nothing, of a queue that may have priorities; and of another queue one comes back
    that had left. At last a queue is purged, and something that was got from it is given back, by reject or with its
    channel."""
    ranked = {"x-priority": rank} if rank and stage.offers("x-priority") else None
    queue = stage.queue(SINGLE)
    consumers = waiting(stage, queue, 2)
    served = consumers[0][0]
    for count in (1, 1, 1, 3, 0, 2):
        if not count:
            leaves, tag = next(one for one in consumers if one[0] is not served)
            leaves.cancel(tag) if stage.cancels else leaves.close()
            stage.quiesce()
            continue
        restock(stage, queue, count)
        if len(consumers) < 3:
            served, _ = active(stage, consumers)
            served.reject(outstanding(served)[-1], requeue=True)
            stage.quiesce()
            stage.rounds()
            if served.unacked and stage.offers("basic.nack"):
                served.nack(served.unacked[-1])
                stage.quiesce()
            if served.unacked and stage.offers("basic.recover"):
                served.recover()
                stage.quiesce()
                stage.rounds()
            stage.queue(SINGLE, name=queue)
            late = stage.channel()
            consumers.append((late, late.consume(queue, arguments=ranked)))
        served, _ = active(stage, consumers)
        served.ack(outstanding(served)[-1], multiple=True)
        stage.barrier(served)
    levels = {"x-max-priority": 5} if stage.queue_type == "classic" and stage.offers("x-max-priority") else {}
    queue = stage.queue({**SINGLE, **levels})
    for _ in "123":
        stage.channel().consume(queue, no_ack=True)
        stage.quiesce()
    for count in (1, 3):
        restock(stage, queue, count)
    for alike in (False, stage.queue_type == "classic") if stage.cancels else ():
        _comes_back(stage, alike=alike)
    if stage.queue_type == "classic":
        _got_and_purged(stage)


def _got_and_purged(stage: Stage) -> None:
    """Of two consumers the one that is served is full, and the next message is got. That comes back when the first one
    has room again. More come after a purge."""
    queue, getter = stage.queue(SINGLE), stage.channel()
    consumers = waiting(stage, queue, 2, limit=1)
    for closes in (False, True):
        restock(stage, queue, 2)
        served, _ = active(stage, consumers)
        tag = stage.get(getter, queue)
        served.ack(outstanding(served)[-1])
        stage.barrier(served)
        if closes:
            getter.close()
        elif tag is not None:
            getter.reject(tag)
        stage.quiesce()
        served.ack(outstanding(served)[-1])
        stage.barrier(served)
    stage.backstage(queue).purge(queue)
    stage.quiesce()
    restock(stage, queue, 3)


def _comes_back(stage: Stage, *, alike: bool) -> None:
    """It is cancelled while it holds a message, of three, and waits behind the one that is served now; perhaps with the
    same tag."""
    queue = stage.queue(SINGLE)
    consumers = waiting(stage, queue, 3)
    restock(stage, queue, 1)
    former, tag = active(stage, consumers)
    former.cancel(tag)
    stage.quiesce()
    restock(stage, queue, 1)
    former.consume(queue, tag=tag if alike else None)
    stage.quiesce()
    restock(stage, queue, 2)


@rule("SAC-002")
@pytest.mark.parametrize(
    "how", ["cancel", "quiet cancel", "close", "failure", "connection", "all but one", "after others", "transaction"]
)
@pytest.mark.parametrize("holding", [False, True])
def test_another_takes_over(stage: Stage, how: str, holding: bool) -> None:
    """It is cancelled, with an answer or without, where that does no other harm, or its channel closed, by its client
    or over a mistake, or its connection: with all acknowledged, or while it holds two of five messages. Or all but one
    leave, one after the other; or the last that waits has taken over when others had left that waited before it. Or its
    channel is closed in a transaction that has acknowledged all, or some, and is not committed."""
    if how == "after others":
        _others_have_left(stage)
        return
    if how == "all but one":
        _one_after_the_other(stage)
        return
    if "cancel" in how:
        stage.require("basic.cancel")
    queue = stage.queue(SINGLE)
    consumers = waiting(stage, queue, 2, limit=2)
    restock(stage, queue, 5 if holding else 2)
    channel, tag = active(stage, consumers)
    if how == "transaction":
        stage.require("tx.select")
        channel.tx_select()
        stage.quiesce()
    if not holding or how == "transaction":
        channel.ack(outstanding(channel)[-1], multiple=True)
        stage.barrier(channel)
    if "cancel" in how and stage.cancels:
        channel.cancel(tag, no_wait=how == "quiet cancel")
        for _ in range(QUIET_TRIPS):
            stage.barrier(channel)
    elif how == "failure":
        channel.ack(BAD_TAG)
        reopen(stage, channel)
    elif how == "connection":
        leave(stage, channel.connection)
    else:
        channel.close()
    stage.quiesce()
    restock(stage, queue, 2)
    stage.quiesce()
    _all_asked(stage)


def _all_asked(stage: Stage) -> None:
    """Every channel answers once more: then it is known who is still there."""
    for one in stage.used():
        if one.state == "open":
            stage.barrier(one)


def _one_after_the_other(stage: Stage) -> None:
    """Of four each that is served gets two, and leaves with its channel, until one is left."""
    queue = stage.queue(SINGLE)
    consumers = waiting(stage, queue, 4, limit=2)
    restock(stage, queue, 2)
    while len(consumers) > 1:
        served, _ = active(stage, consumers)
        served.close()
        consumers = [one for one in consumers if one[0] is not served]
        stage.quiesce()
        restock(stage, queue, 2)
        _all_asked(stage)


def _others_have_left(stage: Stage) -> None:
    """Of four that wait in line two leave, by a cancel where that is possible and with their channels; then the one
    that is served."""
    queue = stage.queue(SINGLE)
    consumers = waiting(stage, queue, 4, limit=2)
    restock(stage, queue, 2)
    served, _ = active(stage, consumers)
    line = [one for one in consumers if one[0] is not served]
    for (channel, tag), cancels in zip(line[:-1], (stage.cancels, False), strict=True):
        channel.cancel(tag) if cancels else channel.close()
        stage.quiesce()
    served.ack(outstanding(served)[-1], multiple=True)
    stage.barrier(served)
    served.close()
    stage.quiesce()
    restock(stage, queue, 2)
    _all_asked(stage)


@rule("SAC-003")
@pytest.mark.parametrize("how", ["channel", "connection", "again"])
def test_what_the_former_held(stage: Stage, how: str) -> None:
    """All three messages of the queue; its channel is closed, or its socket. Or it was cancelled before, and has come
    back with its tag, where that may be done."""
    if how == "again" and (stage.queue_type != "classic" or not stage.cancels):
        return
    queue = stage.queue(SINGLE)
    consumers = waiting(stage, queue, 2)
    restock(stage, queue, 3)
    channel, tag = active(stage, consumers)
    if how == "again":
        channel.cancel(tag)
        stage.quiesce()
        channel.consume(queue, tag=tag)
        stage.quiesce()
    if how != "connection":
        channel.close()
    else:
        channel.connection.abort()
    stage.quiesce()
    active(stage, [one for one in consumers if one[0] is not channel])


@rule("SAC-004", queue_types=("classic",))
@pytest.mark.parametrize("beside", [False, True])
def test_exclusive_where_one_is_served(stage: Stage, beside: bool) -> None:
    """The queue has no consumer, or has one."""
    queue = stage.queue(SINGLE)
    if beside:
        stage.channel().consume(queue)
        stage.quiesce()
    stage.channel().consume(queue, exclusive=True)
    stage.quiesce()


@rule("SAC-005")
def test_a_full_one_is_waited_for(stage: Stage) -> None:
    """It holds two, its limit, while four more are ready; then it acknowledges them one by one."""
    queue = stage.queue(SINGLE)
    consumers = waiting(stage, queue, 3, limit=2)
    restock(stage, queue, 6)
    for _ in range(6):
        channel, _ = active(stage, consumers)
        for one, _ in consumers:
            stage.barrier(one)
        channel.ack(outstanding(channel)[0])
        stage.quiesce()


@rule("SAC-006", queue_types=("classic",))
def test_order_over_a_change(stage: Stage) -> None:
    """The first holds three of six; the next gets them before the others."""
    queue = stage.queue(SINGLE)
    consumers = waiting(stage, queue, 2, limit=3)
    restock(stage, queue, 6)
    channel, _ = active(stage, consumers)
    channel.close()
    stage.quiesce()
    rest = [one for one in consumers if one[0] is not channel]
    for _ in range(2):
        heir, _ = active(stage, rest)
        heir.ack(outstanding(heir)[-1], multiple=True)
        stage.quiesce()
