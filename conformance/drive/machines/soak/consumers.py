"""Courses about consumers: they come and go, are sent messages under limits, and hand them over."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.drive.machines.soak import FEW, Course, Lap, ack_all
from conformance.drive.machines.soak.again import CONSUMED_AGAIN
from conformance.drive.stage import Stage

LIMIT = 10


def consume_and_ack(stage: Stage) -> Lap:
    """Under a limit, so each acknowledgement makes room for one more."""
    channel, queue = stage.channel(), stage.queue()
    if stage.offers("basic.qos"):
        channel.qos(LIMIT)
    channel.consume(queue)

    def lap(rounds: int) -> Iterator[None]:
        channel.publish(queue, rounds)
        for _ in range(0, rounds, LIMIT):
            yield
            ack_all(channel)
        yield

    return lap


def consume_without_acks(stage: Stage) -> Lap:
    """Two consumers take turns."""
    channel, queue = stage.channel(), stage.queue()
    channel.consume(queue, no_ack=True)
    channel.consume(queue, no_ack=True)

    def lap(rounds: int) -> Iterator[None]:
        channel.publish(queue, rounds)
        yield

    return lap


def consume_and_return(stage: Stage) -> Lap:
    """A consumer gives everything back once, and another one, or it again, acknowledges it."""
    channel, queue = stage.channel(), stage.queue()
    channel.consume(queue)

    def lap(rounds: int) -> Iterator[None]:
        channel.publish(queue, rounds)
        yield
        for tag in channel.unacked:
            channel.reject(tag)
        yield
        ack_all(channel)
        yield

    return lap


def consume_and_cancel(stage: Stage) -> Lap:
    channel, queue = stage.channel(), stage.queue()
    stage.require("basic.cancel")

    def lap(rounds: int) -> Iterator[None]:
        tags = [channel.consume(queue) for _ in range(rounds)]
        yield
        for tag in tags:
            channel.cancel(tag)
        yield

    return lap


def set_limits(stage: Stage) -> Lap:
    """Each is in force for the one message that comes to the consumer that was started under it."""
    channel, queue = stage.channel(), stage.queue()
    stage.require("basic.qos", "basic.cancel")

    def lap(rounds: int) -> Iterator[None]:
        tags = []
        for number in range(rounds):
            channel.qos(1 + number % 3)
            tags.append(channel.consume(queue))
        channel.publish(queue, rounds)
        yield
        ack_all(channel)
        yield
        for tag in tags:
            channel.cancel(tag)
        yield
        ack_all(channel)
        yield

    return lap


def lose_queues(stage: Stage) -> Lap:
    """Consumers end with their queues."""
    channel, other = stage.channels(2)

    def lap(rounds: int) -> Iterator[None]:
        queues = [stage.recorder.private_name() for _ in range(rounds)]
        for queue in queues:
            other.declare(queue, durable=False, exclusive=True)
        yield
        for queue in queues:
            channel.consume(queue)
        yield
        for queue in queues:
            other.delete(queue)
        yield

    return lap


def hand_over(stage: Stage) -> Lap:
    """The single active consumer is cancelled, and the next one gets what comes."""
    channel, queue = stage.channel(), stage.queue({"x-single-active-consumer": True})
    stage.require("basic.cancel")
    tags = [channel.consume(queue, no_ack=True) for _ in range(2)]

    def lap(rounds: int) -> Iterator[None]:
        for _ in range(rounds):
            channel.publish(queue)
            yield
            channel.cancel(tags.pop(0))
            yield
            tags.append(channel.consume(queue, no_ack=True))
        yield

    return lap


CONSUMERS = (
    Course(consume_and_ack),
    Course(consume_without_acks),
    Course(consume_and_return, FEW),
    Course(consume_and_cancel),
    Course(set_limits),
    *CONSUMED_AGAIN,
    Course(lose_queues),
    Course(hand_over, 10, 0.25),
)
