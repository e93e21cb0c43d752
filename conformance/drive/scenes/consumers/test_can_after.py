"""CAN: what a client does when a consumer has ended: it settles, uses the tag again, and is answered."""

from __future__ import annotations

from codec import methods as m
from conformance.drive.scenes.consumers.test_can import NOTICE, bereave, twice
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import REPLIES, restock, stocked
from conformance.drive.stage import Stage

TERMS = 4
"""So often in turn a queue has a consumer of one tag."""


@rule("CAN-012", last=True)
def test_settling_what_has_no_queue_any_more(stage: Stage) -> None:
    """Deliveries of a consumer that was notified: ack, nack, reject, multiple; and beside a queue of the same name."""
    queue = stocked(stage, 5)
    channel = stage.channel()
    channel.consume(queue)
    stage.quiesce()
    bereave(stage, queue)
    twice(stage, channel)
    for tag, settle in zip(channel.unacked, ("ack", "nack", "reject"), strict=False):
        getattr(channel, settle)(tag)
        stage.barrier(channel)
    channel.ack(0, multiple=True)
    stage.barrier(channel)
    for settle in ("ack", "nack"):
        _beside_namesake(stage, settle)


def _beside_namesake(stage: Stage, settle: str) -> None:
    """A queue is deleted and declared again while its message is out; settling that must not touch the new one's, of
    which one is out and one is ready."""
    queue = stocked(stage, 1)
    channel, other = stage.channel(), stage.channel()
    stage.fetch(channel, queue)
    bereave(stage, queue)
    stage.queue(name=queue)
    restock(stage, queue, 2)
    stage.fetch(channel, queue)
    getattr(channel, settle)(1)
    for _ in range(2):
        stage.barrier(channel)
    for _ in range(2):
        other.get(queue)
        stage.quiesce()
    channel.close()
    stage.quiesce()


def _in_one_write(stage: Stage) -> None:
    for no_wait in (False, True):
        queue, channel = stage.queue(), stage.channel()
        tag = channel.consume(queue)
        stage.quiesce()
        with stage.batch():
            channel.cancel(tag, no_wait=no_wait)
            channel.consume(queue, tag=tag)
        stage.quiesce()
        restock(stage, queue, 2)
        stage.barrier(channel)


@rule("CAN-013", last=True)
def test_a_tag_is_used_again(stage: Stage) -> None:
    """After cancel-ok on the same queue and on another, after a notification, and after a cancel without answer; and
    while consumers before it still hold deliveries of the queue, again and again. And in one write with the cancel,
    with an answer and without."""
    first, second = stocked(stage, 2), stocked(stage, 2)
    channel = stage.channel()
    tag = channel.consume(first)
    stage.quiesce()
    for queue in (first, second):
        channel.cancel(tag)
        stage.quiesce()
        channel.consume(queue, tag=tag)
        stage.quiesce()
    twice(stage, channel)
    bereave(stage, second)
    channel.consume(first, tag=tag)
    stage.quiesce()
    channel.cancel(tag, no_wait=True)
    twice(stage, channel)
    channel.consume(first, tag=tag)
    stage.quiesce()
    last, channel = stocked(stage, 2), stage.channel()
    tag = channel.consume(last)
    stage.quiesce()
    for _ in range(TERMS):
        channel.cancel(tag)
        stage.quiesce()
        channel.consume(last, tag=tag)
        stage.quiesce()
        restock(stage, last, 1)
    _in_one_write(stage)


@rule("CAN-014", last=True)
def test_a_cancel_without_answer(stage: Stage) -> None:
    """Cancelled with nowait; what is published later goes to the other consumer, or stays."""
    queue = stage.queue()
    channel, other = stage.channel(), stage.channel()
    tag = channel.consume(queue)
    stage.quiesce()
    for _ in "12":
        channel.cancel(tag, no_wait=True)
        twice(stage, channel)
    restock(stage, queue, 3)
    twice(stage, channel)
    stage.fetch(other, queue)
    other.consume(queue)
    stage.quiesce()


@rule("CAN-015", last=True)
def test_consume_ok_comes_first(stage: Stage) -> None:
    """Consumers of queues that have messages, with a tag of their own and of the broker's; several in one write."""
    queue, busy = stocked(stage, 3), stocked(stage, 30)
    for tag in ("", "mine"):
        channel = stage.channel()
        channel.consume(queue, tag=tag)
        stage.quiesce()
        channel.close()
        stage.quiesce()
    channel = stage.channel()
    channel.qos(10)
    with stage.batch():
        for _ in range(3):
            channel.consume(busy)
    stage.quiesce()


@rule("CAN-017", last=True)
def test_a_notification_is_answered(stage: Stage) -> None:
    """The client sends cancel-ok for the notification that wanted none."""
    queue = stage.queue()
    channel = stage.channel(connection=stage.connect("polite"))
    tag = channel.consume(queue)
    stage.barrier(channel)
    bereave(stage, queue)
    twice(stage, channel)
    channel.send(m.BasicCancelOk(channel.number, tag))
    channel.flow()
    stage.quiesce()


@rule("CAN-018", last=True)
def test_a_tag_in_use_is_refused(stage: Stage) -> None:
    """The same tag on two channels is fine, and when one of them is cancelled the other goes on. On one channel it
    costs the connection, on the same queue and another, and for replies."""
    first, second = stocked(stage, 1), stage.queue()
    channel, other = stage.channel(), stage.channel()
    tag = channel.consume(first)
    stage.quiesce()
    other.consume(second, tag=tag)
    stage.quiesce()
    if stage.cancels:
        channel.cancel(tag)
        stage.quiesce()
        restock(stage, second, 2)
        channel.consume(first, tag=tag)
        stage.quiesce()
    wanted = {"greedy": first, "greedier": second}
    if stage.offers("direct reply-to"):
        wanted["greediest"] = REPLIES
    for name, queue in wanted.items():
        doomed = stage.channel(connection=stage.connect(name))
        doomed.consume(first, tag="same")
        stage.quiesce()
        doomed.consume(queue, tag="same", no_ack=queue == REPLIES)
        stage.quiesce()


@rule("CAN-019", last=True)
def test_a_consumer_ends_with_its_right(stage: Stage) -> None:
    """The right to read the queue is withdrawn, the client refreshes its credentials, and a message is published."""
    around = stage.around
    if around.admin is None:
        return
    user, password = around.user(stage)
    queue = stocked(stage, 1)
    reader = stage.connect("reader", {NOTICE: True}, login=(user, password))
    channel = stage.channel(connection=reader)
    channel.consume(queue, no_ack=True)
    stage.quiesce()
    around.forbid(stage, user, reader.name, queue)
    reader.send(m.ConnectionUpdateSecret(0, password.encode(), "refreshed"))
    twice(stage, channel)
    restock(stage, queue, 1)
    twice(stage, channel)
