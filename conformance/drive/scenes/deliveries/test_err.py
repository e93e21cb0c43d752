"""ERR: what a bad settlement does to its channel, and to nothing else.

A settlement of a tag that is not outstanding on this channel closes it with 406, before anything later on it is
answered. The connection lives, other channels live, what the channel held goes back, what it says meanwhile is
ignored, and its number can be opened again. A few mistakes cost the whole connection.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import cycle, product

import pytest

from codec import Method
from codec import methods as m
from conformance.drive.around import wait
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import (
    BAD_TAG,
    holding,
    large,
    limited,
    mistakes,
    outstanding,
    reopen,
    restock,
    shares,
    stocked,
)
from conformance.drive.scenes.timing import by_queue, time_out_together
from conformance.drive.stage import NotOffered, Stage

Settle = Callable[[Channel, int], object]
LONGEST, LIVES = 255, 4
"""Octets of a short string."""
LOOKED = 1.3
"""Seconds after which a broker has looked at its channels for their statistics."""

SETTLES: dict[str, Settle] = {
    "ack": lambda channel, tag: channel.ack(tag),
    "nack": lambda channel, tag: channel.nack(tag, requeue=True),
    "reject": lambda channel, tag: channel.reject(tag, requeue=True),
}


@rule("ERR-001")
def test_settling_twice(stage: Stage) -> None:
    """Each of ack, nack and reject after each of them, on the same tag, while a later one is out, and another channel
    holds that tag; and one that came after recover-ok."""
    queue = stocked(stage, len(SETTLES) ** 2 + 1)
    channel, other = stage.channel(), stage.channel()
    stage.fetch(other, stocked(stage, 1), 1)
    for first, second in product(SETTLES.values(), repeat=2):
        tag, _ = stage.fetch(channel, queue, 2)
        first(channel, tag)
        stage.barrier(channel)
        second(channel, tag)
        reopen(stage, channel)
    if stage.offers("basic.recover"):
        _twice_after_recover(stage, stage.queue())


def _twice_after_recover(stage: Stage, queue: str) -> None:
    """No other answer of the channel tells that the recover was carried out."""
    channel = stage.channel()
    channel.consume(queue)
    stage.quiesce()
    channel.recover()
    stage.quiesce()
    restock(stage, queue, 1)
    tag = outstanding(channel)[0]
    for _ in range(2):
        channel.ack(tag)
    stage.quiesce()


@rule("ERR-002")
def test_settling_an_unknown_tag(stage: Stage) -> None:
    """Tags that were never delivered: near, far, and on a channel that holds others."""
    channel = stage.channel()
    for settle, tag in product(SETTLES.values(), (1, 1000, 2**40)):
        settle(channel, tag)
        reopen(stage, channel)
    channel, _ = holding(stage, 2)
    channel.ack(3)
    stage.quiesce()


@rule("ERR-003")
def test_settling_on_another_channel(stage: Stage) -> None:
    """One channel holds {1,2,3}; another acks 3 and fails; the first still acks 3."""
    holder, _ = holding(stage, 3)
    stranger = stage.channel()
    stranger.ack(3)
    stage.quiesce()
    stage.barrier(holder)
    holder.ack(3)
    stage.barrier(holder)


@rule("ERR-004")
def test_the_rest_of_the_connection_survives(stage: Stage) -> None:
    """While one channel fails, another of the connection has a consumer, and goes on."""
    queue = stocked(stage, 1)
    bystander, failing = stage.channel(), stage.channel()
    bystander.consume(queue)
    stage.quiesce()
    failing.ack(BAD_TAG)
    stage.quiesce()
    stage.barrier(bystander)
    restock(stage, queue, 2)
    bystander.ack(outstanding(bystander)[-1], multiple=True)
    stage.barrier(bystander)


@rule("ERR-005")
def test_a_failing_multiple_settles_nothing(stage: Stage) -> None:
    """U = {1,2,3}: a multiple that has no target fails, and all three go back; ack and nack."""
    channel, queue = holding(stage, 3)
    channel.ack(9, multiple=True)
    reopen(stage, channel)
    stage.fetch(channel, queue, 3)
    channel.nack(9, multiple=True, requeue=False)
    stage.quiesce()


@rule("ERR-006")
def test_what_follows_the_error_is_ignored(stage: Stage) -> None:
    """Good settlements, publishes with bodies of one frame and of several, a get and a consume: behind a bad ack in one
    write, and before close-ok.

    The channel has a consumer: what is published after the close, elsewhere, is not for it any more. Where queues have
    timeouts, several consumers of another channel time out before its close is answered. And one channel is sent two
    methods that leave out the queue, of which it has declared none.
    """
    if stage.offers("queue.purge"):
        nameless = stage.channel()
        with stage.batch():
            for _ in "12":
                nameless.purge("")
        stage.quiesce()
    channel, queue = holding(stage, 2, of=3)
    channel.consume(queue)
    stage.quiesce()
    with stage.hold_close_ok():
        with stage.batch():
            channel.ack(BAD_TAG)
            keep_talking(channel, queue)
        stage.quiesce()
        keep_talking(channel, queue)
        restock(stage, queue, 1)
    reopen(stage, channel)
    stage.barrier(channel)
    if stage.queue_type == "quorum" and by_queue(stage):
        time_out_together(stage)


def keep_talking(channel: Channel, queue: str) -> None:
    channel.ack(1)
    channel.publish(queue, 3)
    channel.publish(queue, body=large(channel))
    channel.get(queue)
    channel.consume(queue)
    channel.declare(queue, passive=True)


@rule("ERR-007", last=True)
def test_a_channel_number_can_be_used_again(stage: Stage) -> None:
    """Confirms, prefetch and a consumer die with the channel; the reopened one has none of them. Nor has one that its
    client closed, where that had a limit for the channel. One that was transactional has no transaction any more. And
    one number has several lives, of which each takes all that there is before it sets a limit."""
    if stage.offers("tx.select"):
        channel, queue = stage.channel(), stage.queue()
        channel.tx_select()
        stage.quiesce()
        channel.close()
        reopen(stage, channel)
        channel.publish(queue)
        stage.barrier(channel)
        stage.get(stage.channel(), queue, no_ack=True)
        channel.tx_commit()
        stage.quiesce()
    if shares(stage):
        queue = stocked(stage, 4)
        channel = limited(stage, queue, 1, shared=True)
        channel.close()
        reopen(stage, channel)
        channel.consume(queue)
        stage.quiesce()
    queue, channel = stocked(stage, 3), stage.channel()
    for life in range(LIVES):
        channel.consume(queue)
        stage.quiesce()
        channel.qos(1, global_=life % 2 == 1 and shares(stage))
        stage.quiesce()
        channel.close()
        reopen(stage, channel)
    queue = stocked(stage, 4)
    channel = stage.channel()
    channel.confirm()
    channel.qos(1)
    consumer = channel.consume(queue)
    stage.quiesce()
    channel.ack(BAD_TAG)
    reopen(stage, channel)
    channel.publish(queue)
    stage.barrier(channel)
    channel.consume(queue, tag=consumer)
    stage.quiesce()
    stage.barrier(channel)
    for name, mistake in mistakes(stage, channel).items():
        asked = mistake()
        reopen(stage, channel)
        again = stage.queue()
        channel.consume(again, tag=str(asked) if name == "consume" else None)
        stage.quiesce()
        restock(stage, again, 1)
        stage.barrier(channel)


@rule("ERR-008")
def test_closes_that_cross(stage: Stage) -> None:
    """A bad ack and our own close in one write: both sides close. Then the number is opened again."""
    channel = stage.channel()
    for _ in range(3):
        with stage.batch():
            channel.ack(BAD_TAG)
            channel.close()
        reopen(stage, channel)
        stage.barrier(channel)


@rule("ERR-009", last=True)
@pytest.mark.parametrize(
    "mistake",
    [
        "consumer tag in use",
        "recover without requeue",
        "recover without requeue, consuming",
        "prefetch size",
        "immediate",
    ],
)
def test_hard_errors(stage: Stage, mistake: str) -> None:
    """Mistakes that cost the connection, each on a connection of its own."""
    queue = stocked(stage, 1)
    channel = stage.channel(connection=stage.connect("mistaken"))
    if mistake == "consumer tag in use":
        consumer = channel.consume(queue)
        stage.quiesce()
        channel.consume(queue, tag=consumer)
    elif mistake.startswith("recover without requeue"):
        if "consuming" in mistake:
            channel.consume(queue)
            stage.quiesce()
        channel.recover(requeue=False)
    elif mistake == "prefetch size":
        channel.send(m.BasicQos(channel.number, prefetch_size=1))
    else:
        channel.send((m.BasicPublish(channel.number, routing_key=queue, immediate=True), b"now", {}))
    stage.quiesce()


MANY = 40
WHYS = 200, 0, 320, 404, 541
"""Reply codes with which a client closes a channel."""
"""Twice this many channels are opened and closed on one connection."""
UNOPENED: dict[str, Callable[[int], Method]] = {
    "ack": lambda number: m.BasicAck(number, delivery_tag=1),
    "get": lambda number: m.BasicGet(number, queue="none"),
    "declare": lambda number: m.QueueDeclare(number, queue="none", passive=True),
    "close": lambda number: m.ChannelClose(number, reply_code=200),
}


@rule("ERR-010")
@pytest.mark.parametrize("method", UNOPENED)
def test_methods_on_a_channel_that_is_not_open(stage: Stage, method: str) -> None:
    """A method on a channel number that was never opened, on a connection of its own."""
    mistaken = stage.connect("mistaken")
    mistaken.send(UNOPENED[method](7))
    stage.quiesce()


@rule("ERR-011")
@pytest.mark.parametrize("settle", SETTLES)
def test_the_error_comes_before_later_replies(stage: Stage, settle: str) -> None:
    """A bad settlement and a synchronous method in one write, with a good delivery outstanding."""
    channel, queue = holding(stage, 1)
    with stage.batch():
        SETTLES[settle](channel, BAD_TAG)
        channel.flow()
        channel.declare(queue, passive=True)
    stage.quiesce()


@rule("ERR-012")
def test_the_edges_of_what_is_lawful(stage: Stage) -> None:
    """Purging, getting, recovering, limiting and settling where there is nothing; the longest key; another limit beside
    a consumer; two consumers at once; settling what a cancelled one holds; gets where one consumer is served at a time;
    a dead letter for a queue that was deleted; and recovering what came from such a queue. Each on a connection of its
    own."""
    queue = stage.queue()
    edges: tuple[Callable[[Channel], object], ...] = (
        lambda channel: channel.purge(queue),
        lambda channel: channel.get(queue),
        lambda channel: channel.recover(),
        lambda channel: channel.qos(0),
        lambda channel: channel.ack(0, multiple=True),
        lambda channel: channel.publish(queue, body=b""),
        lambda channel: channel.publish("k" * LONGEST),
        lambda channel: _limited_anew(stage, channel),
        lambda channel: _two_at_once(stage, channel),
        lambda channel: _got_one_by_one(stage, channel),
        lambda channel: _heir_is_gone(stage, channel),
        lambda channel: _recovered_to_nowhere(stage, channel),
    )
    for number, edge in enumerate(edges):
        channel = stage.channel(connection=stage.connect(f"edge {number}"))
        with contextlib.suppress(NotOffered):
            edge(channel)
        stage.barrier(channel)
        if channel.state == "open":
            channel.close()
        stage.quiesce()


def _recovered_to_nowhere(stage: Stage, channel: Channel) -> None:
    stage.require("basic.recover")
    queue = stage.queue()
    channel.publish(queue)
    stage.fetch(channel, queue)
    stage.channel().delete(queue)
    stage.quiesce()
    channel.recover()
    stage.barrier(channel)
    wait(stage, LOOKED)


def _two_at_once(stage: Stage, channel: Channel) -> None:
    queue = stage.queue()
    with stage.batch():
        for _ in "12":
            channel.consume(queue)


def _got_one_by_one(stage: Stage, channel: Channel) -> None:
    stage.require("x-single-active-consumer")
    queue = stage.queue({"x-single-active-consumer": True})
    restock(stage, queue, 2)
    for _ in "12":
        channel.get(queue)
        stage.quiesce()


def _heir_is_gone(stage: Stage, channel: Channel) -> None:
    stage.require("x-dead-letter-exchange", "x-dead-letter-routing-key")
    heir = stage.queue()
    queue = stage.queue({"x-dead-letter-exchange": "", "x-dead-letter-routing-key": heir})
    restock(stage, queue, 1)
    stage.backstage(heir).delete(heir)
    stage.quiesce()
    for tag in stage.fetch(channel, queue, 1):
        channel.reject(tag, requeue=False)


def _limited_anew(stage: Stage, channel: Channel) -> None:
    channel.qos(1)
    tag = channel.consume(stocked(stage, 2))
    stage.quiesce()
    for count in (2, 1):
        channel.qos(count)
        stage.barrier(channel)
    channel.cancel(tag)
    stage.barrier(channel)
    for held in list(channel.unacked):
        channel.ack(held)


@rule("ERR-013")
def test_frames_of_all_kinds(stage: Stage) -> None:
    """Contents of none, one and several frames, got, delivered and returned; gets in vain, and answers of all sorts.
    One publish comes to two consumers of a channel; then the connection ends in order."""
    queue, connection = stage.queue(), stage.connect("frames")
    channel, other = stage.channels(2, connection)
    with contextlib.suppress(NotOffered):
        other.confirm()
    room = connection.tuned.frame_max - 8
    for body in (b"", b"x", bytes(room), bytes(room + 1), large(channel)):
        other.publish(queue, 2, body=body)
        other.publish("nowhere " + queue, mandatory=True, body=body)
    stage.barrier(other)
    stage.fetch(channel, queue, 6)
    channel.consume(queue)
    stage.quiesce()
    for tag in list(channel.unacked):
        channel.reject(tag)
    stage.quiesce()
    channel.ack(0, multiple=True)
    channel.declare(queue, passive=True)
    channel.get(queue)
    stage.go_round(channel)
    stage.barrier(channel)
    twins = stage.queue(), stage.queue()
    for twin in twins:
        channel.consume(twin, no_ack=True)
    stage.quiesce()
    stage.channel().publish("", exchange=stage.exchange(*twins))
    stage.quiesce()
    connection.close()


@rule("ERR-015")
def test_closes_name_what_failed(stage: Stage) -> None:
    """Methods of three classes fail over what is not there, with one number in two of the classes."""
    channel = stage.channel()
    for mistake in mistakes(stage, channel).values():
        mistake()
        stage.quiesce()
        if channel.state == "open":
            channel.close()
        reopen(stage, channel)


@rule("ERR-014", last=True)
def test_questions_of_all_kinds(stage: Stage) -> None:
    """All synchronous methods that need no feature of their own, a deletion under a consumer, and more channels than
    one opens by hand, which are closed for many reasons; then the connection ends in order."""
    connection = stage.connect("asking")
    channel = stage.channel(connection=connection)
    queue, doomed, exchange = stage.queue(), stage.queue(), stage.exchange()
    questions: tuple[Callable[[], object], ...] = (
        lambda: channel.declare(queue, passive=True),
        lambda: channel.bind(queue, exchange, "key"),
        lambda: channel.bind(queue, exchange, "key"),
        lambda: channel.purge(queue),
        channel.flow,
        lambda: channel.qos(1),
        lambda: channel.get(queue),
        lambda: channel.consume(doomed),
        lambda: stage.backstage(doomed).delete(doomed),
    )
    for question in questions:
        with contextlib.suppress(NotOffered):
            question()
        stage.quiesce()
    for crowd in (stage.channels(MANY, connection), stage.channels(MANY, connection)):
        for one, why in zip(crowd, cycle(WHYS), strict=False):
            one.send(m.ChannelClose(one.number, why, "a client's own reason", 60, 40))
        stage.quiesce()
    connection.send(m.ConnectionClose(0, 200, "normal shutdown", 0, 0))
    stage.quiesce()
