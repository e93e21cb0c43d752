"""MODE: what manual and automatic acknowledgement mean for a message.

A delivery to a consumer or getter with no_ack is settled by being sent; any other belongs to its channel until it is
settled or the channel ends. An ack deletes, a reject without requeue removes, and nothing brings the message back.
"""

from __future__ import annotations

from collections.abc import Iterable

from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import holding, limited, outstanding, restock, stocked
from conformance.drive.stage import Stage

DEATH = [
    ("count", "l", 1),
    ("reason", "S", b"rejected"),
    ("queue", "S", b"amqpconf.elsewhere"),
    ("time", "T", 1_700_000_000),
    ("exchange", "S", b""),
    ("routing-keys", "A", [("S", b"amqpconf.elsewhere")]),
]
WIDE = (1 << 8) + 2
RECEIVED = ("x-death", "A", [("F", DEATH)])
"""What a client publishes that sends a dead letter once more, with all its headers."""


@rule("MODE-001")
def test_an_unacked_message_is_nobody_elses(stage: Stage) -> None:
    """While one channel holds the only message, another connection asks for it in three ways."""
    queue = stocked(stage, 1)
    holder = stage.channel()
    stage.fetch(holder, queue)
    other = stage.channel(connection=stage.connect("other"))
    other.declare(queue, passive=True)
    stage.quiesce()
    other.get(queue)
    stage.quiesce()
    other.consume(queue)
    stage.barrier(other)
    holder.ack(1)
    stage.quiesce()


@rule("MODE-002")
def test_an_auto_acked_message_never_comes_back(stage: Stage) -> None:
    """Auto-ack deliveries to a channel that closes, and to a connection that dies while more are under way."""
    closing, dying, got = stocked(stage, 5), stocked(stage, 5), stocked(stage, 1)
    channel = stage.channel()
    channel.consume(closing, no_ack=True)
    stage.quiesce()
    channel.close()
    stage.quiesce()
    doomed = stage.connect("doomed")
    channel = stage.channel(connection=doomed)
    stage.fetch(channel, got, no_ack=True)
    channel.consume(dying, no_ack=True)
    stage.quiesce()
    stage.channel().publish(dying, 5)
    doomed.abort()


@rule("MODE-003")
def test_the_mode_belongs_to_the_consumer(stage: Stage) -> None:
    """Two consumers on one channel, one automatic and one manual, in both orders; then the channel closes, after all
    that can be acknowledged has been, together, or has been returned. And several consumers of either mode that have
    one tag in turn."""
    for modes, how in (((True, False), "ack"), ((False, True), ""), ((False, True), "nack")):
        channel = stage.channel()
        queues = [stocked(stage, 1) for _ in modes]
        for queue, no_ack in zip(queues, modes, strict=True):
            channel.consume(queue, no_ack=no_ack)
        stage.quiesce()
        for _ in "12":
            for queue in queues:
                restock(stage, queue, 1)
        if how and (how == "ack" or stage.offers("basic.nack")):
            getattr(channel, how)(outstanding(channel)[-1], multiple=True)
            stage.barrier(channel)
        channel.close()
        stage.quiesce()
        if stage.cancels and how != "nack":
            _under_one_tag(stage, (*modes, *reversed(modes), *modes))


def _under_one_tag(stage: Stage, modes: Iterable[bool]) -> None:
    """One after the other, each of a queue of its own, of which it gets a message; that is settled where it can be."""
    channel, tag = stage.channel(), None
    for no_ack in modes:
        queue = stocked(stage, 1)
        tag = channel.consume(queue, no_ack=no_ack, tag=tag)
        stage.quiesce()
        if not no_ack:
            channel.ack(outstanding(channel)[-1])
            stage.barrier(channel)
        channel.cancel(tag)
        stage.quiesce()
    channel.close()
    stage.quiesce()


@rule("MODE-004")
def test_an_ack_deletes(stage: Stage) -> None:
    """Ack, wait until the queue has surely seen it, and kill the connection. And more acks than an octet can count, one
    by one; then the channel is closed."""
    queue = stocked(stage, 3)
    doomed = stage.connect("doomed")
    channel = stage.channel(connection=doomed)
    channel.confirm()
    for tag in stage.fetch(channel, queue, 3)[:2]:
        channel.ack(tag)
    channel.publish(queue)
    stage.quiesce()
    doomed.abort()
    many = limited(stage, stocked(stage, WIDE), 0)
    for tag in many.unacked:
        many.ack(tag)
    stage.barrier(many)
    many.close()
    stage.quiesce()


@rule("MODE-005")
def test_reject_and_nack_without_requeue_remove(stage: Stage) -> None:
    """Three removals, one of them of two messages, and one message left alone; without a dead letter queue and with;
    and where the exchange for dead letters is not there. And of what its publisher had got as a dead letter, and of
    what a consumer holds that was cancelled."""
    heir, nowhere = stage.queue(), stage.recorder.private_name()
    queues = stage.queue(), stage.queue({"x-dead-letter-exchange": "", "x-dead-letter-routing-key": heir})
    for queue in (*queues, stage.queue({"x-dead-letter-exchange": nowhere})):
        restock(stage, queue, 5)
        channel = stage.channel()
        stage.fetch(channel, queue, 5)
        channel.reject(2, requeue=False)
        channel.nack(1, requeue=False)
        channel.nack(4, multiple=True, requeue=False)
        stage.barrier(channel)
        channel.close()
        stage.quiesce()
    _from_two_queues(stage, heir)
    _reject_again(stage, queues[1])
    if stage.cancels:
        _of_a_cancelled_consumer(stage, heir)


def _of_a_cancelled_consumer(stage: Stage, heir: str) -> None:
    queue, channel = stage.queue({"x-dead-letter-exchange": "", "x-dead-letter-routing-key": heir}), stage.channel()
    restock(stage, queue, 2)
    tag = channel.consume(queue)
    stage.quiesce()
    channel.cancel(tag)
    stage.quiesce()
    for held in channel.unacked:
        channel.reject(held, requeue=False)
    stage.barrier(channel)


def _from_two_queues(stage: Stage, heir: str) -> None:
    """One nack removes what a channel holds of two queues, each with dead letters."""
    channel = stage.channel()
    for _ in range(2):
        queue = stage.queue({"x-dead-letter-exchange": "", "x-dead-letter-routing-key": heir})
        restock(stage, queue, 2)
        stage.fetch(channel, queue, 2)
    channel.nack(0, multiple=True, requeue=False)
    stage.barrier(channel)


def _reject_again(stage: Stage, queue: str) -> None:
    """A message with all the headers of a dead letter."""
    channel = stage.channel()
    channel.publish(queue, properties={"headers": [RECEIVED]})
    stage.barrier(channel)
    stage.fetch(channel, queue)
    channel.reject(stage.fetch(channel, queue)[0], requeue=False)
    stage.barrier(channel)


@rule("MODE-006")
def test_an_auto_acked_tag_is_unknown(stage: Stage) -> None:
    """Settling a delivery that was never outstanding, next to one that is; got and consumed."""
    queue = stocked(stage, 6)
    for settle in ("ack", "nack", "reject"):
        channel = stage.channel()
        stage.fetch(channel, queue)
        tag = stage.fetch(channel, queue, no_ack=True)[0]
        getattr(channel, settle)(tag)
        stage.quiesce()
    channel = stage.channel()
    channel.consume(queue, no_ack=True)
    restock(stage, queue, 1)
    channel.ack(1)
    stage.quiesce()


@rule("MODE-007")
def test_what_is_counted_is_ready(stage: Stage) -> None:
    """Nine messages, some taken for good and some held: asked for in every way until none is left. And some that were
    given back, of which one is taken for good; and new ones, after a purge where others were taken."""
    queue = stocked(stage, 9)
    channel = stage.channel()
    for no_ack in (False, True, False):
        channel.declare(queue, passive=True)
        stage.quiesce()
        for _ in range(3):
            stage.get(channel, queue, no_ack=no_ack)
    stage.get(channel, queue)
    channel.declare(queue, passive=True)
    stage.quiesce()
    channel, queue = holding(stage, 3, of=5)
    channel.nack(0, multiple=True)
    stage.barrier(channel)
    for no_ack in (False, True):
        channel.declare(queue, passive=True)
        stage.quiesce()
        stage.get(channel, queue, no_ack=no_ack)
    channel.declare(queue, passive=True)
    stage.quiesce()
    if stage.offers("queue.purge"):
        _counted_anew(stage)


def _counted_anew(stage: Stage) -> None:
    """All messages are acknowledged, and a purge finds none; then three more come. And two of four are out while a
    purge removes the others; they come back, and are taken; then three more come."""
    for there, out in ((3, 3), (4, 2)):
        queue, channel = stocked(stage, there), stage.channel()
        tags = stage.fetch(channel, queue, out)
        for tag in tags if out == there else ():
            channel.ack(tag)
        stage.barrier(channel)
        channel.purge(queue)
        stage.quiesce()
        if out < there:
            for tag in tags:
                channel.reject(tag)
            stage.barrier(channel)
            for _ in range(out + 1):
                stage.get(channel, queue, no_ack=True)
        restock(stage, queue, 3)
        for _ in range(2):
            channel.declare(queue, passive=True)
            stage.quiesce()
            stage.get(channel, queue)


@rule("MODE-008")
def test_what_is_removed_is_counted(stage: Stage) -> None:
    """A purge and a deletion of queues with two messages held and some ready, one of which was given back, and a purge
    of nothing."""
    for remove in ("purge", "delete"):
        queue = stocked(stage, 5)
        channel = stage.channel()
        for tag in stage.fetch(channel, queue, 3)[:2]:
            channel.reject(tag, requeue=True)
        stage.get(channel, queue)
        channel.declare(queue, passive=True)
        stage.quiesce()
        getattr(channel, remove)(queue)
        stage.quiesce()
        if remove == "purge":
            channel.declare(queue, passive=True)
            stage.quiesce()
            channel.purge(queue)
            stage.quiesce()
            _purged_after_a_return(stage)


def _purged_after_a_return(stage: Stage) -> None:
    """Two messages are given back together, and one has never been out."""
    queue, channel = stocked(stage, 3), stage.channel()
    for tag in stage.fetch(channel, queue, 2):
        channel.reject(tag, requeue=True)
    stage.barrier(channel)
    channel.declare(queue, passive=True)
    stage.quiesce()
    channel.purge(queue)
    stage.quiesce()
    channel.declare(queue, passive=True)
    stage.quiesce()


@rule("MODE-009", queue_types=("classic",))
def test_dead_letters_keep_their_order(stage: Stage) -> None:
    """One nack of three messages, then rejects in another order than that of the deliveries; what died is fetched."""
    heir = stage.queue()
    queue = stage.queue({"x-dead-letter-exchange": "", "x-dead-letter-routing-key": heir})
    restock(stage, queue, 7)
    channel = stage.channel()
    stage.fetch(channel, queue, 7)
    channel.nack(3, multiple=True, requeue=False)
    for tag in (6, 4, 7, 5):
        channel.reject(tag, requeue=False)
    stage.barrier(channel)
    stage.fetch(channel, heir, 7)
