"""TTL: messages that live for a while only.

Times are short, since whoever waits for them really waits; several messages wait side by side. On the reference broker
time passes as we say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from codec import values
from conformance.drive.around import wait
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import confirming, patiently, reopen
from conformance.drive.stage import Stage

SHORT, LONGER, LONG, HALF, OVER = 250, 500, 60_000, 0.15, 0.4
"""Milliseconds; and the seconds after which what lives for a short time has lived for half of it, or has expired."""
MOMENTS = 60, 80, 90
"""Milliseconds that are over before a clock that is read ten times a second has gone on."""
LIVES = 1_000, 1_000
"""Milliseconds, both together much longer than the scene lasts."""
AGES = (1 << 16) + 9, (1 << 31) + 9, (1 << 32) + 9
"""Milliseconds: a minute and more, four weeks and more, and seven."""
SHORTLY = 1.2
"""Seconds after which a queue does not count what has expired."""
TTL, LEVELS = "x-message-ttl", "x-max-priority"


def expires(stage: Stage) -> bool:
    return stage.profile.queue(stage.queue_type).messages_expire


def mortal(channel: Channel, queue: str, *times: int) -> None:
    """A message to the queue for each of these times to live."""
    for time in times:
        channel.publish(queue, properties={"expiration": str(time)})


def look(stage: Stage, *queues: str, gets: int = 2) -> None:
    """Somebody asks each of these for messages."""
    reader = stage.channel()
    for queue in queues:
        for _ in range(gets):
            stage.get(reader, queue, no_ack=True)


def ask(stage: Stage, *queues: str) -> None:
    """For each of these, whether it is there."""
    for queue in queues:
        stage.channel().declare(queue, passive=True)
        stage.quiesce()


@rule("TTL-001")
@pytest.mark.parametrize("beside", [None, "x-max-priority", "x-max-length", "x-single-active-consumer"])
def test_the_time_of_a_message(stage: Stage, beside: str | None) -> None:
    """To gets, and to a consumer that comes too late, or has room too late; beside one that lives on. Or it comes
    behind one that does, or before it, in a queue that has other arguments, too. It may come over an exchange, by CC or
    in a transaction, and have no body."""
    if beside is not None and stage.queue_type == "classic":
        _behind_one(stage, beside)
    if beside is not None or not expires(stage):
        return
    channel, queues = confirming(stage), [stage.queue() for _ in "123"]
    for queue in queues:
        mortal(channel, queue, SHORT, SHORT)
    mortal(channel, queues[2], LONG)
    queues += _otherwise(channel, stage, expiration=str(SHORT))
    stage.confirmed(channel)
    queues += _in_a_transaction(stage, stage.queue(), expiration=str(SHORT))
    full = _full(stage, expiration=str(SHORT))
    wait(stage, OVER)
    late = stage.channel()
    late.consume(queues[0])
    stage.barrier(late)
    look(stage, *queues)
    _room_again(stage, full)


def _full(stage: Stage, life: Mapping[str, Any] | None = None, **properties: str) -> Channel:
    """Its consumer holds one message, and has no room for those behind it, which are to expire."""
    queue, channel, publisher = stage.queue(life), stage.channel(), confirming(stage)
    channel.qos(1)
    channel.consume(queue)
    publisher.publish(queue)
    stage.quiesce()
    publisher.publish(queue, 2, properties=properties)
    stage.confirmed(publisher)
    return channel


def _room_again(stage: Stage, channel: Channel) -> None:
    """It settles what it holds, and gets what comes then."""
    for tag in channel.unacked:
        channel.ack(tag)
    stage.barrier(channel)


def _otherwise(channel: Channel, stage: Stage, life: Mapping[str, Any] | None = None, **properties: str) -> list[str]:
    """A message without a body, one over an exchange, and one that only its CC leads somewhere: each to a queue."""
    bare, bound, copied = (stage.queue(life) for _ in "123")
    channel.publish(bare, body=b"", properties=properties)
    channel.publish("", exchange=stage.exchange(bound), properties=properties)
    if stage.offers("sender-selected distribution"):
        headers = values.table({"CC": [copied]})
        channel.publish(f"{copied}.nobody", properties={**properties, "headers": headers})
    return [bare, bound, copied]


def _in_a_transaction(stage: Stage, queue: str, **properties: str) -> list[str]:
    """Two messages to the queue that one commit publishes, where that is offered."""
    if not stage.offers("tx.select"):
        return []
    channel = stage.channel()
    channel.tx_select()
    stage.quiesce()
    channel.publish(queue, 2, properties=properties)
    channel.tx_commit()
    stage.quiesce()
    return [queue]


def _behind_one(stage: Stage, beside: str) -> None:
    channel, queue = confirming(stage), stage.queue({beside: True if beside.endswith("consumer") else 5})
    channel.publish(queue)
    stage.confirmed(channel)
    channel.publish(queue, properties={"expiration": str(SHORT), "priority": 5})
    stage.confirmed(channel)
    if "priority" not in beside:
        stage.fetch(stage.channel(), queue)
    else:
        mortal(channel, queue, SHORT)
        stage.confirmed(channel)
        ranked = stage.queue({beside: 5})
        channel.publish(ranked, properties={"priority": 5})
        channel.publish(ranked, properties={"expiration": str(SHORT), "priority": 1})
        stage.confirmed(channel)
    wait(stage, OVER)
    look(stage, queue, gets=3)
    if "priority" in beside:
        look(stage, ranked, gets=3)


@rule("TTL-002")
def test_the_time_of_a_queue(stage: Stage) -> None:
    """The queue is older than its messages, and they come one after the other; or over an exchange, by CC, without
    body, or in a transaction; or to a consumer that has room too late. It is declared again while they wait."""
    if not expires(stage):
        return
    channel, queues = confirming(stage), [stage.queue({TTL: SHORT}) for _ in "12"]
    channel.publish(queues[0])
    stage.confirmed(channel)
    wait(stage, HALF)
    channel.publish(queues[0])
    channel.publish(queues[1], 2)
    queues += _otherwise(channel, stage, {TTL: SHORT})
    again, full = stage.queue({TTL: LONGER}), _full(stage, {TTL: SHORT})
    channel.publish(again)
    stage.confirmed(channel)
    queues += _in_a_transaction(stage, stage.queue({TTL: SHORT}))
    wait(stage, OVER)
    look(stage, *queues)
    _room_again(stage, full)
    stage.queue({TTL: LONGER}, name=again)
    wait(stage, LONGER / 1000 - HALF)
    look(stage, again)


@rule("TTL-003")
def test_the_smaller_time(stage: Stage) -> None:
    """Either is smaller."""
    if not expires(stage):
        return
    channel, short, long = confirming(stage), stage.queue({TTL: SHORT}), stage.queue({TTL: LONG})
    mortal(channel, short, LONG, LONG)
    mortal(channel, long, SHORT, SHORT)
    stage.confirmed(channel)
    wait(stage, OVER)
    look(stage, short, long)


@rule("TTL-004")
def test_until_then_it_is_there(stage: Stage) -> None:
    """By either time, and both; after more than half of it, and behind one that has expired. The queue is older.

    What lives for a moment is there for that moment, and what lives for longer than a number of two octets can say, or
    of four, is there as well. What dies of age in one queue, and goes to another, begins anew there. What a transaction
    publishes begins with its commit.
    """
    if not expires(stage):
        return
    last = _twice(stage)
    channel, plain = confirming(stage), [stage.queue() for _ in "12"]
    timed, lasting, ages = stage.queue({TTL: 2 * SHORT}), stage.queue(), [stage.queue({TTL: age}) for age in AGES]
    mortal(channel, lasting, *AGES)
    for queue in ages:
        channel.publish(queue)
    wait(stage, 2 * HALF)
    mortal(channel, plain[0], 2 * SHORT)
    channel.publish(timed)
    mortal(channel, timed, LONG)
    mortal(channel, plain[1], 10, 2 * SHORT, LONG)
    stage.confirmed(channel)
    wait(stage, 2 * HALF)
    look(stage, *plain, timed, lasting, *ages, gets=len(AGES))
    for life in MOMENTS:
        mortal(channel, plain[0], life)
        stage.confirmed(channel)
        look(stage, plain[0])
    if stage.offers("tx.select"):
        _committed(stage, plain[0], timed)
    if last:
        wait(stage, 3 * HALF)
        look(stage, last, gets=1)


def _committed(stage: Stage, plain: str, timed: str) -> None:
    """After more than their time to live."""
    channel = stage.channel()
    channel.tx_select()
    mortal(channel, plain, 2 * SHORT)
    channel.publish(timed)
    stage.quiesce()
    wait(stage, 4 * HALF)
    channel.tx_commit()
    stage.quiesce()
    look(stage, plain, timed, gets=1)


def _twice(stage: Stage) -> str:
    """A message that is to live in two queues, one after the other, and that is too old for the second if its age goes
    on; the queue in which it comes then."""
    if not stage.offers("x-dead-letter-exchange"):
        return ""
    last = heir = stage.queue()
    for life in reversed(LIVES):
        heir = stage.queue({TTL: life, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": heir})
    channel = confirming(stage)
    channel.publish(heir)
    stage.confirmed(channel)
    return last


@rule("TTL-005")
def test_nobody_asks_for_it(stage: Stage) -> None:
    """Neither a consumer nor a get; then the queue is asked how many messages it has. Another one gets some again, when
    its first ones have gone, and was purged between."""
    if not expires(stage):
        return
    channel, queue, again = confirming(stage), stage.queue({TTL: SHORT}), stage.queue({TTL: SHORT})
    channel.publish(queue, 3)
    for _ in "123":
        channel.publish(again)
        stage.confirmed(channel)
        wait(stage, SHORTLY + SHORT / 1000)
        patiently(stage, lambda: ask(stage, queue, again))
        channel.publish(again)
        channel.purge(again)
        stage.quiesce()


@rule("TTL-006")
def test_behind_one_that_lives(stage: Stage) -> None:
    """It is fetched after the other, and consumed after it."""
    if not expires(stage):
        return
    channel, first, second = confirming(stage), stage.queue(), stage.queue()
    for queue in (first, second):
        mortal(channel, queue, LONG, SHORT)
    stage.confirmed(channel)
    wait(stage, OVER)
    consumer = stage.channel()
    consumer.consume(first, no_ack=True)
    stage.barrier(consumer)
    look(stage, first, second, gets=3)


@rule("TTL-008")
def test_no_time_at_all(stage: Stage) -> None:
    """Where a consumer waits, between messages that live; where one has no room; and where there is none. A queue may
    say so of all its messages."""
    if not expires(stage):
        return
    channel, waited, alone, timed = confirming(stage), stage.queue(), stage.queue(), stage.queue({TTL: 0})
    consumer = stage.channel()
    for queue in (waited, timed):
        consumer.consume(queue, no_ack=True)
        stage.quiesce()
    for _ in "12":
        channel.publish(timed)
        stage.confirmed(channel)
    for times in ((), (0,), (), (0,), ()):
        if times:
            mortal(channel, waited, *times)
        else:
            channel.publish(waited)
        stage.confirmed(channel)
    busy, holder = stage.queue(), stage.channel()
    holder.qos(1)
    holder.consume(busy)
    channel.publish(busy)
    stage.quiesce()
    mortal(channel, busy, 0, 0)
    mortal(channel, alone, 0, 0)
    stage.confirmed(channel)
    wait(stage, HALF)
    look(stage, busy, alone)
    patiently(stage, lambda: look(stage, timed, gets=1))


@rule("TTL-009")
@pytest.mark.parametrize("text", ["soon", "", "1.5", "-1", "1e3", "0x10", "5 s"])
def test_an_expiration_that_is_none(stage: Stage, text: str) -> None:
    """After a good one; then the channel is opened again."""
    channel, queue = stage.channel(), stage.queue()
    mortal(channel, queue, LONG)
    stage.barrier(channel)
    channel.publish(queue, properties={"expiration": text})
    reopen(stage, channel)
    stage.barrier(channel)
