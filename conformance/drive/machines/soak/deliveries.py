"""Courses about deliveries: they are settled in every way, returned, and settled wrongly."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.drive.channel import Channel
from conformance.drive.machines.soak import FEW, Course, Lap, ack_all, publisher, renew, take
from conformance.drive.stage import Stage


def get_and_ack(stage: Stage) -> Lap:
    channel, queue = stage.channel(), stage.queue()

    def lap(rounds: int) -> Iterator[None]:
        _fill(channel, queue, rounds)
        yield
        ack_all(channel)

    return lap


def get_and_ack_many(stage: Stage) -> Lap:
    """Every other settlement is of all before it."""
    channel, queue = stage.channel(), stage.queue()

    def lap(rounds: int) -> Iterator[None]:
        for _ in range(2):
            _fill(channel, queue, rounds)
        yield
        for tag in channel.unacked[1::2]:
            channel.ack(tag, multiple=True)

    return lap


def get_without_ack(stage: Stage) -> Lap:
    """Each message by one get, and another get finds nothing."""
    channel, queue = stage.channel(), stage.queue()

    def lap(rounds: int) -> Iterator[None]:
        for _ in range(rounds):
            channel.publish(queue)
            channel.get(queue, no_ack=True)
            channel.get(queue, no_ack=True)
        yield

    return lap


def get_and_return(stage: Stage) -> Lap:
    """What was returned is got again, and acknowledged."""
    channel, queue = stage.channel(), stage.queue()

    def lap(rounds: int) -> Iterator[None]:
        _fill(channel, queue, rounds)
        yield
        for tag in channel.unacked:
            channel.reject(tag)
        yield
        for _ in range(rounds):
            channel.get(queue)
        yield
        ack_all(channel)

    return lap


def get_and_discard(stage: Stage) -> Lap:
    channel, queue = stage.channel(), stage.queue()
    stage.require("basic.nack")

    def lap(rounds: int) -> Iterator[None]:
        _fill(channel, queue, rounds)
        yield
        for tag in channel.unacked:
            channel.nack(tag, requeue=False)
        channel.get(queue)
        yield

    return lap


def get_and_recover(stage: Stage) -> Lap:
    """The same message is got again and again."""
    channel, queue = stage.channel(), stage.queue()

    def lap(rounds: int) -> Iterator[None]:
        channel.publish(queue)
        for _ in range(rounds):
            channel.get(queue)
            yield
            channel.recover()
            yield
        channel.get(queue, no_ack=True)
        yield

    return lap


def return_in_place(stage: Stage) -> Lap:
    """Of three messages the second is given back, then the first, and all are got in their order."""
    channel, queue = publisher(stage), stage.queue()

    def lap(rounds: int) -> Iterator[None]:
        for _ in range(rounds):
            channel.publish(queue, 3)
            yield
            for _ in "12":
                channel.get(queue)
                yield
            for tag in reversed(channel.unacked):
                channel.reject(tag)
                yield
            for _ in "123":
                channel.get(queue)
                yield
            ack_all(channel)

    return lap


def settle_what_is_unknown(stage: Stage) -> Lap:
    """Each costs a channel."""
    channels = stage.channels(FEW)

    def lap(rounds: int) -> Iterator[None]:
        renew(stage, channels)
        yield
        for channel in channels[:rounds]:
            channel.ack(7)
        yield

    return lap


def close_with_unacked(stage: Stage) -> Lap:
    """What a channel holds when it is closed goes back."""
    channels, queue = stage.channels(FEW), stage.queue()
    other = stage.channel()

    def lap(rounds: int) -> Iterator[None]:
        renew(stage, channels)
        yield
        other.publish(queue, rounds)
        stage.go_round(other)
        yield
        for channel in channels[:rounds]:
            channel.get(queue)
            channel.close()
        yield
        take(other, queue, rounds)
        yield

    return lap


def _fill(channel: Channel, queue: str, rounds: int) -> None:
    """Publishes so many, and gets as many."""
    channel.publish(queue, rounds)
    for _ in range(rounds):
        channel.get(queue)


DELIVERIES = (
    Course(get_and_ack),
    Course(get_and_ack_many),
    Course(get_without_ack),
    Course(get_and_return, FEW),
    Course(get_and_discard),
    Course(get_and_recover),
    Course(return_in_place, FEW, 0.25),
    Course(settle_what_is_unknown, FEW),
    Course(close_with_unacked, FEW),
)
