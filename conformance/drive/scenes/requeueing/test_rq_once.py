"""RQ: each message comes once, and is new when it comes first: in queues of all kinds, and where two have it."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import confirming, holding, large, restock, stocked
from conformance.drive.stage import Stage

OTHERWISE: Mapping[str, object] = {
    "x-max-priority": 5,
    "x-single-active-consumer": True,
    "x-message-ttl": 3_600_000,
    "x-max-length": 1000,
}
"""Arguments by which a queue is another, and its messages are none."""


@rule("RQ-009")
def test_redelivered_is_not_said_of_the_first_delivery(stage: Stage) -> None:
    """Fresh messages, behind and beside returned ones, to gets and to a consumer; and in queues of other kinds. And
    such that have come back in another queue, to which they were published as well."""
    channel, queue = holding(stage, 2, of=5)
    channel.nack(1)
    stage.fetch(channel, queue, 3)
    channel.nack(2)
    restock(stage, queue, 2)
    channel.consume(queue)
    stage.quiesce()
    for name, value in OTHERWISE.items() if stage.queue_type == "classic" else ():
        if stage.offers(name):
            other = stage.queue({name: value})
            restock(stage, other, 2)
            stage.fetch(stage.channel(), other, no_ack=True)
            stage.channel().consume(other, no_ack=True)
            stage.quiesce()
    _back_in_the_other(stage)


def _back_in_the_other(stage: Stage) -> None:
    """Three messages are in two queues; in one of them each comes back, by a nack, a reject, or the end of a
    channel."""
    queues = stage.queue(), stage.queue()
    exchange, publisher, holder = stage.exchange(*queues), confirming(stage), stage.channel()
    publisher.publish("", 3, exchange=exchange)
    stage.confirmed(publisher)
    first, second, _ = stage.fetch(holder, queues[0], 3)
    holder.nack(first)
    holder.reject(second)
    stage.barrier(holder)
    holder.close()
    stage.quiesce()
    stage.fetch(stage.channel(), queues[1], 2)
    stage.channel().consume(queues[1])
    stage.quiesce()


VERY_MANY = 1100
"""Messages: more than somebody may have thought of."""


@rule("RQ-011")
def test_nothing_is_lost_and_nothing_doubled(stage: Stage) -> None:
    """Three channels hold messages. Two settle some in every way, then one of them fails; the others close. Then
    a queue has a limit that is not reached. And some messages are in two queues, and are settled in one. Some tell of
    deaths, as dead letters do. And very many are in one."""
    queue = stocked(stage, 16)
    failing, closing, idle = stage.channel(), stage.channel(), stage.channel()
    for channel, count in ((failing, 6), (closing, 6), (idle, 2)):
        stage.fetch(channel, queue, count)
    stage.fetch(closing, queue, no_ack=True)
    for channel in (failing, closing):
        channel.ack(1)
        channel.nack(2, requeue=False)
        channel.reject(3)
        channel.nack(4)
        stage.barrier(channel)
    with stage.batch():
        failing.nack(4)
        closing.close()
        idle.close()
    stage.quiesce()
    if stage.offers("x-max-length"):
        _drop_nothing(stage)
    _in_two(stage)
    _of_old(stage)
    stocked(stage, VERY_MANY)


def _drop_nothing(stage: Stage) -> None:
    """A queue has room for a thousand messages and gets twelve; half of them are out for a while."""
    queue = stage.queue({"x-max-length": 1000})
    restock(stage, queue, 12)
    channel = stage.channel()
    stage.fetch(channel, queue, 6)
    channel.nack(0, multiple=True)
    stage.quiesce()


def _of_old(stage: Stage) -> None:
    """Its publisher tells of a death that it has died in this very queue, or of what is none."""
    queue, publisher = stage.queue(), confirming(stage)
    death = [("queue", "S", queue.encode()), ("reason", "S", b"expired"), ("count", "l", 1)]
    for told in (("x-death", "A", [("F", death)]), ("x-death", "S", b"of old")):
        publisher.publish(queue, properties={"headers": [told]})
        stage.confirmed(publisher)
    stage.fetch(stage.channel(), queue, 2)


def _in_two(stage: Stage) -> None:
    """In each way that a message can leave one of them; small ones, and one of several frames."""
    queues = stage.queue(), stage.queue()
    exchange, publisher, taker = stage.exchange(*queues), confirming(stage), stage.channel()
    for body in (None, None, None, large(publisher)):
        publisher.publish("", exchange=exchange, persistent=True, body=body)
        stage.confirmed(publisher)
    first, second, third = stage.fetch(taker, queues[0], 3)
    taker.ack(first)
    taker.reject(second, requeue=False)
    taker.ack(third)
    stage.barrier(taker)
    stage.fetch(taker, queues[1], 2, no_ack=True)
    taker.purge(queues[0])
    stage.quiesce()
    stage.fetch(taker, queues[1], 2, no_ack=True)
