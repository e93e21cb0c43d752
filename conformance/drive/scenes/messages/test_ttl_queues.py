"""TTL: queues that live for as long as somebody uses them."""

from __future__ import annotations

from conformance.drive.around import wait
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.messages.test_ttl import ask
from conformance.drive.scenes.props import confirming, patiently
from conformance.drive.stage import Stage

LEASE = 600
"""Milliseconds of an x-expires."""
UNUSED, PART, FED = 2.8, 0.3, 14
"""Seconds after which such a queue is certainly gone, or certainly not; so many messages may come to it meanwhile."""


@rule("TTL-010", queue_types=("classic",))
def test_nobody_uses_it(stage: Stage) -> None:
    """An empty one, one with a message, and one whose message is out; one whose consumer was cancelled, one whose
    consumer went with its channel, and one whose consumer went with its connection; one to which messages come all the
    time; and one whose namesake went before."""
    channel, again = confirming(stage), stage.queue({"x-expires": LEASE})
    wait(stage, UNUSED)
    ask(stage, again)
    stage.queue({"x-expires": LEASE}, name=again)
    for filled in (False, True):
        queue = stage.queue({"x-expires": LEASE})
        if filled:
            channel.publish(queue)
            stage.confirmed(channel)
    out = stage.queue({"x-expires": LEASE})
    channel.publish(out)
    stage.confirmed(channel)
    stage.get(stage.channel(), out)
    for way in ("cancel", "channel", "connection"):
        consumer = stage.channel(connection=stage.connect("leaving") if way == "connection" else None)
        tag = consumer.consume(stage.queue({"x-expires": LEASE}))
        stage.quiesce()
        if way == "connection":
            consumer.connection.close(stage.deadline)
        else:
            consumer.close() if way == "channel" else consumer.cancel(tag)
        stage.quiesce()
    fed = stage.queue({"x-expires": LEASE})
    queues = [fed, *(one for one in stage.belongings.queues if one != fed)]

    def feed() -> None:
        channel.publish(fed)
        stage.confirmed(channel)

    for _ in range(FED):
        feed()
        wait(stage, UNUSED / FED)
    patiently(stage, lambda: ask(stage, *queues), feed)


@rule("TTL-011")
def test_somebody_uses_it_again_and_again(stage: Stage) -> None:
    """By gets, of the connection that has declared it or of another, by a consumer that leaves, by itself or with its
    channel or connection, and by a declaration: also of one that has just been deleted."""
    got, theirs, consumed, declared, left, lost, anew = (stage.queue({"x-expires": LEASE}) for _ in "1234567")
    channel, stranger = stage.channel(), stage.channel(connection=stage.connect("stranger"))
    leaving, losing = (stage.channel(connection=stage.connect(name)) for name in ("leaving", "losing"))
    for queue, consumer in ((left, leaving), (lost, losing)):
        consumer.consume(queue)
        stage.quiesce()
    for turn in range(4):
        wait(stage, PART)
        stage.get(channel, got)
        stage.get(stranger, theirs)
        if turn == 0:
            stage.backstage(anew).delete(anew)
            stage.quiesce()
            for queue in (declared, anew):
                stage.queue({"x-expires": LEASE}, name=queue)
        tag = channel.consume(consumed)
        stage.quiesce()
        channel.cancel(tag)
        stage.quiesce()
        if turn == 2:
            leaving.close()
            losing.connection.close(stage.deadline)
            stage.quiesce()
        if turn == 3:
            for queue in (left, lost):
                stage.channel().declare(queue, passive=True)
                stage.quiesce()
        if turn == 1:
            wait(stage, PART / 2)
            for queue in (declared, anew):
                channel.declare(queue, passive=True)
                stage.quiesce()


@rule("TTL-012")
def test_a_consumer_keeps_it(stage: Stage) -> None:
    """One that gets nothing; the queue is asked for, and has a consumer a moment later. Of another queue it has two of
    three consumers left, then one. One more was started without an answer."""
    queue, other, channel = stage.queue({"x-expires": LEASE}), stage.queue({"x-expires": LEASE}), stage.channel()
    channel.consume(queue)
    stage.quiesce()
    tags = []
    for _ in "123":
        tags.append(channel.consume(other))
        stage.quiesce()
    if stage.offers("basic.cancel"):
        for tag in tags[:2]:
            channel.cancel(tag)
            stage.quiesce()
    quiet = stage.queue({"x-expires": LEASE})
    channel.consume(quiet, no_wait=True)
    stage.barrier(channel)
    wait(stage, 3 * LEASE / 1000)
    for one in (queue, other, quiet):
        stage.channel().declare(one, passive=True)
        stage.quiesce()
