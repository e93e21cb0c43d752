"""CONSUME: exclusive consumers and others, tags, and many consumers."""

from __future__ import annotations

import pytest

from conformance.catalogue.rules.features import EXCLUSIVE
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import BAD_TAG, confirming, patiently, reopen, restock, stocked
from conformance.drive.scenes.topology.test_queue import elsewhere, leave
from conformance.drive.stage import Stage

QUIET_TRIPS, TERMS = 2, 3
"""So many round trips behind a cancel without an answer show that it is done; and so many are exclusive in turn."""


@rule("CONSUME-001")
def test_exclusive_beside_another(stage: Stage) -> None:
    """The other consumer is on the same connection, then on another one. Then the exclusive one has a priority, wants
    no answer, or needs no acknowledgements; and so has the other."""
    ranked = {"x-priority": 5} if stage.offers("x-priority") else {}
    other = stage.connect("other")
    for connection, about, terms in (
        (None, {}, {}),
        (other, {}, {}),
        (other, {}, {"arguments": ranked}),
        (None, {"arguments": ranked}, {"no_wait": True}),
        (None, {"no_wait": True}, {"no_ack": True}),
        (other, {"no_ack": True}, {"arguments": ranked, "no_ack": True}),
    ):
        queue = stage.queue()
        present, channel = stage.channel(), stage.channel(connection=connection)
        present.consume(queue, **about)
        stage.quiesce()
        stage.barrier(present)
        channel.consume(queue, exclusive=True, **terms)
        stage.quiesce()
        stage.barrier(present)


@rule("CONSUME-002")
@pytest.mark.parametrize("exclusive", [False, True])
def test_another_beside_an_exclusive_one(stage: Stage, exclusive: bool) -> None:
    """On the same connection, and on another one, exclusive or not. The one that is not stands beside one that was
    started with nowait. And on a queue that belongs to its connection."""
    queue = stocked(stage, 1)
    present = stage.channel()
    present.consume(queue, exclusive=True, no_wait=not exclusive)
    stage.quiesce()
    stage.barrier(present)
    for connection in (None, stage.connect("other")):
        channel = stage.channel(connection=connection)
        channel.consume(queue, exclusive=exclusive)
        stage.quiesce()
    stage.barrier(present)
    if stage.queue_type == "classic" and stage.offers(EXCLUSIVE):
        private = stage.queue(durable=False, exclusive=True)
        present.consume(private, exclusive=True)
        stage.quiesce()
        stage.channel().consume(private, exclusive=exclusive)
        stage.quiesce()
        stage.barrier(present)


@rule("CONSUME-003", queue_types=("classic",))
def test_consuming_from_a_queue_that_is_deleted(stage: Stage) -> None:
    """With a tag of the client's, and without. One channel has consumed from it before."""
    for tag in (None, "", "again"):
        queue, channel = stage.queue(), stage.channel()
        if tag == "again":
            channel.consume(queue, tag="before")
            stage.quiesce()
        stage.backstage(queue).delete(queue)
        stage.quiesce()
        channel.consume(queue, tag=tag)
        stage.quiesce()


@rule("CONSUME-004", queue_types=("classic",))
def test_tags_that_the_broker_chooses(stage: Stage) -> None:
    """Several on each of two channels; some of them are cancelled before the next ones begin. Then a client takes the
    tags for itself that another channel was given, and leaves the choice of more to the broker."""
    queue = stage.queue()
    for channel in stage.channels(2):
        for turn in range(7):
            channel.consume(queue, tag="")
            stage.quiesce()
            if turn in (2, 4) and channel.state == "open" and stage.offers("basic.cancel"):
                channel.cancel(_chosen(stage, channel)[turn // 2 - 1])
                stage.quiesce()
    for connection in (stage.connection, stage.connect("other")):
        taught, taking = stage.channels(2, connection)
        for _ in "12":
            taught.consume(queue, tag="")
            stage.quiesce()
        for tag in [*_chosen(stage, taught), "", ""]:
            taking.consume(queue, tag=tag)
            stage.quiesce()


def _chosen(stage: Stage, channel: Channel) -> list[str]:
    """The tags that the broker has given to the consumers of this channel."""
    where = channel.connection.name, channel.number, "basic.consume-ok"
    told = [one for one in stage.events if (one.connection, one.channel, one.method) == where]
    return [one.consumer_tag or "" for one in told]


@rule("CONSUME-005")
def test_sixteen_consumers(stage: Stage) -> None:
    """On four channels; one more than that is asked for as well. Each has room for one message, and as many come."""
    queue, channels = stage.queue(), stage.channels(4)
    for channel in channels:
        channel.qos(1)
    for number in range(17):
        channels[number % 4].consume(queue)
        stage.quiesce()
    restock(stage, queue, 17)


@rule("CONSUME-006")
@pytest.mark.parametrize("how", ["cancel", "quiet cancel", "close", "failure", "connection", "deletion", "refusal"])
def test_an_exclusive_consumer_ends(stage: Stage, how: str) -> None:
    """It is cancelled, with an answer or without, or its channel closed, by the client or over a mistake, or its
    connection, or its queue is deleted and declared anew; then others are exclusive, in turn, and at last there are
    two. Each holds what has come to it meanwhile. Or it was refused, beside another one, which leaves; there are others
    before and after that."""
    if how == "refusal":
        _is_refused(stage)
        return
    if "cancel" in how:
        stage.require("basic.cancel")
    queue = stocked(stage, 1)
    for exclusive in (*(True,) * TERMS, False):
        channel, tag = _in_turn(stage, queue, exclusive=exclusive, apart=how == "connection")
        if exclusive and "cancel" in how:
            channel.cancel(tag, no_wait=how == "quiet cancel")
            for _ in range(QUIET_TRIPS if channel.state == "open" else 0):
                stage.barrier(channel)
        elif exclusive and how == "connection":
            leave(stage, channel.connection)
        elif exclusive and how == "deletion":
            stage.backstage(queue).delete(queue)
            stage.quiesce()
            stage.queue(name=queue)
        elif exclusive and how == "failure":
            if channel.state == "open":
                channel.ack(BAD_TAG)
            stage.quiesce()
            stage.reopen(channel)
        elif exclusive:
            channel.close()
        stage.quiesce()
        restock(stage, queue, 1)
    stage.channel().consume(queue)
    stage.quiesce()


def _is_refused(stage: Stage) -> None:
    queue, present, channel = stage.queue(), stage.channel(), stage.channel()
    present.consume(queue)
    stage.quiesce()
    channel.consume(queue, exclusive=True)
    stage.quiesce()
    beside = stage.channel()
    beside.consume(queue)
    stage.quiesce()
    for one in (beside, present):
        if one.state == "open":
            one.close()
        stage.quiesce()

    def once() -> None:
        if channel.state != "open":
            reopen(stage, channel)
        channel.consume(queue)
        stage.quiesce()

    patiently(stage, once)


def _in_turn(stage: Stage, queue: str, *, exclusive: bool, apart: bool) -> tuple[Channel, str]:
    """A consumer on a channel of its own. Where it is refused, the queue may not know yet that the last one has ended:
    then there is another one a while later."""
    tried: list[tuple[Channel, str]] = []

    def once() -> None:
        channel = elsewhere(stage) if apart else stage.channel()
        tried.append((channel, channel.consume(queue, exclusive=exclusive)))
        stage.quiesce()

    patiently(stage, once)
    return tried[-1]


@rule("CONSUME-007", queue_types=("classic",))
def test_tags_that_the_client_chooses(stage: Stage) -> None:
    """Short and long ones, of mixed case, beyond ASCII, and such as a broker might choose; some are cancelled, and all
    get a message before. And some that begin alike, and stay."""
    queue, channel, publisher = stage.queue(), stage.channel(), confirming(stage)
    for tag in ("c", "A Tag", "ä€𝄞", "amq.ctag-mine", "t" * 255):
        channel.consume(queue, tag=tag)
        stage.quiesce()
        publisher.publish(queue)
        stage.quiesce()
        if stage.offers("basic.cancel"):
            channel.cancel(tag)
            stage.quiesce()
    for tag in (f"{'t' * length}{end}" for length in (1, 31, 127, 254) for end in "aAb"):
        channel.consume(queue, tag=tag)
        stage.quiesce()
