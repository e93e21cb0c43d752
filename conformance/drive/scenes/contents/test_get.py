"""GET: gets of queues that are not there, that go away, and of several queues at once."""

from __future__ import annotations

from itertools import cycle

from codec import methods as m
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import reopen, restock, stocked
from conformance.drive.stage import Stage

ROUNDS = 8
"""So often a get meets a deletion, on this side of it or that."""


@rule("GET-001")
def test_getting_from_a_queue_that_is_deleted(stage: Stage) -> None:
    """The queue is deleted by another channel, then by the channel itself, which has got from it before; with and
    without acknowledgements."""
    for no_ack in (False, True):
        queue, channel = stage.queue(), stage.channel()
        if no_ack:
            channel.declare(queue, passive=True)
            channel.get(queue, no_ack)
            stage.quiesce()
        (channel if no_ack else stage.backstage(queue)).delete(queue)
        stage.quiesce()
        channel.get(queue, no_ack)
        stage.quiesce()


@rule("GET-002")
def test_getting_while_the_queue_is_deleted(stage: Stage) -> None:
    """Gets on one connection, and the deletion on another, sent at once; sometimes the queue is declared anew."""
    getter = stage.channel(connection=stage.connect("getting"))
    deleter = stage.channel(connection=stage.connect("deleting"))
    for number in range(ROUNDS):
        queue = stage.queue()
        restock(stage, queue, 2)
        if getter.state != "open":
            reopen(stage, getter)
        with stage.batch():
            _gets(getter, queue)
            deleter.delete(queue)
            if number % 2:
                deleter.declare(queue, arguments={"x-queue-type": stage.queue_type} if stage.profile.typed else {})
        _gets(getter, queue) if getter.state == "open" else None
        stage.quiesce()


def _gets(channel: Channel, queue: str) -> None:
    for _ in range(3):
        channel.get(queue, no_ack=True)


@rule("GET-003")
def test_gets_of_several_queues_at_once(stage: Stage) -> None:
    """Gets in one write: of a queue that has messages, of an empty one, and of a third one, in turn. Then some of them
    are to be acknowledged."""
    for modes in ((True,), (False, True, True)):
        full, other, empty = stocked(stage, 3), stocked(stage, 3), stage.queue()
        channel = stage.channel()
        with stage.batch():
            for queue, no_ack in zip((full, empty, other, other, full, empty, full, other), cycle(modes), strict=False):
                channel.get(queue, no_ack=no_ack)
        stage.quiesce()


@rule("GET-004", queue_types=("classic",))
def test_a_queue_is_deleted_while_a_get_holds_a_message(stage: Stage) -> None:
    """By the channel that got it, and by another one; the queue has messages left, or none."""
    for count, own in ((1, True), (3, False)):
        queue, channel = stocked(stage, count), stage.channel()
        stage.fetch(channel, queue)
        deleting = channel if own else stage.channel()
        deleting.send(m.QueueDelete(deleting.number, queue=queue, if_unused=True))
        stage.quiesce()


@rule("GET-005")
def test_gets_of_empty_queues(stage: Stage) -> None:
    """Nothing was ever in the queue; all was taken; and the only message is out with another channel."""
    queue, channel, other = stage.queue(), stage.channel(), stage.channel()
    channel.get(queue)
    stage.quiesce()
    restock(stage, queue, 2)
    stage.fetch(channel, queue, no_ack=True)
    stage.fetch(channel, queue)
    for one in (other, channel):
        one.get(queue)
        stage.quiesce()
