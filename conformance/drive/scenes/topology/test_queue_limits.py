"""QUEUE: many queues and a long one, limits of nought, and conditions that hold."""

from __future__ import annotations

from conformance.drive.around import wait
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import reopen, restock, stocked
from conformance.drive.scenes.topology.test_exch import CLASSIC
from conformance.drive.scenes.topology.test_queue import GONE, LENGTH, delete_if, elsewhere, typed
from conformance.drive.stage import Stage

QUEUES, MESSAGES = 240, 300


def chosen(stage: Stage, channel: Channel, **arguments: object) -> None:
    """An exclusive queue whose name the broker chooses, on a channel that is open afterwards."""
    channel.declare("", durable=False, exclusive=True, arguments=typed(stage, **arguments) if arguments else None)
    stage.quiesce()
    if channel.state != "open":
        reopen(stage, channel)


@rule("QUEUE-026", queue_types=CLASSIC)
def test_queues_that_expire_at_once(stage: Stage) -> None:
    """Twice; then with a time that is as short as can be."""
    channel = stage.channel()
    for milliseconds in (0, 0, 1):
        chosen(stage, channel, **{"x-expires": milliseconds})


@rule("QUEUE-027", queue_types=CLASSIC)
def test_limits_of_nought(stage: Stage) -> None:
    """Each by itself, and two together."""
    channel = stage.channel()
    for names in ((LENGTH,), ("x-max-length-bytes",), ("x-message-ttl",), (LENGTH, "x-message-ttl")):
        chosen(stage, channel, **dict.fromkeys(names, 0))


@rule("QUEUE-029", queue_types=CLASSIC)
def test_many_queues(stage: Stage) -> None:
    """One after the other, on a connection that takes them along."""
    channel = elsewhere(stage)
    for _ in range(QUEUES):
        channel.declare("", durable=False, exclusive=True)
        stage.quiesce()
        if channel.state != "open":
            return


@rule("QUEUE-030", queue_types=CLASSIC)
def test_unused_and_empty_queues_are_deleted(stage: Stage) -> None:
    """Never used; consumed from until a while ago; emptied by a get; emptied by a purge; and emptied by two clients,
    who have settled what they got a while ago."""
    fresh, left, taken, purged, acked = stage.queue(), stage.queue(), *(stocked(stage, count) for count in (1, 2, 2))
    consumer, channel = elsewhere(stage), stage.channel()
    tag = consumer.consume(left)
    stage.quiesce()
    consumer.cancel(tag)
    stage.quiesce()
    stage.fetch(channel, taken, no_ack=True)
    channel.purge(purged)
    stage.quiesce()
    for holder in (channel, elsewhere(stage)):
        for number in stage.fetch(holder, acked):
            holder.ack(number)
    stage.quiesce()
    wait(stage, GONE)
    for queue in (fresh, left, taken, purged, acked):
        delete_if(channel, queue, unused=queue in (fresh, left), empty=queue in (fresh, taken, purged, acked))
        stage.quiesce()
        if channel.state != "open":
            reopen(stage, channel)


@rule("QUEUE-036", queue_types=CLASSIC)
def test_large_limits_and_times(stage: Stage) -> None:
    """Such as need 32 bits, and one more."""
    channel = stage.channel()
    for name in (LENGTH, "x-max-length-bytes", "x-message-ttl", "x-expires"):
        for value in (1 << 31, 1 << 32):
            chosen(stage, channel, **{name: value})
    chosen(stage, channel, **{LENGTH: 1 << 40})


@rule("QUEUE-033", queue_types=CLASSIC)
def test_what_is_switched_off(stage: Stage) -> None:
    """Twice, on two channels. Then it serves two consumers at once, of which each has room for one message."""
    stage.require("x-single-active-consumer")
    for _ in range(2):
        chosen(stage, stage.channel(), **{"x-single-active-consumer": False})
    queue = stage.queue({"x-single-active-consumer": False})
    for channel in stage.channels(2):
        channel.qos(1)
        channel.consume(queue)
        stage.quiesce()
    restock(stage, queue, 2)


@rule("QUEUE-034")
def test_purging_a_long_queue(stage: Stage) -> None:
    """The queue is looked at before and afterwards, and one message is taken in between."""
    queue, channel = stocked(stage, MESSAGES), stage.channel()
    channel.declare(queue, passive=True)
    stage.quiesce()
    stage.get(channel, queue, no_ack=True)
    channel.purge(queue)
    stage.quiesce()
    channel.declare(queue, passive=True)
    stage.quiesce()
