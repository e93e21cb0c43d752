"""Courses about messages that wait: they expire, are dropped, become dead letters, and go by priority."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.drive.channel import Channel
from conformance.drive.machines.soak import FEW, Course, Lap, publisher, take, take_one_by_one
from conformance.drive.stage import NotOffered, Stage


def expire(stage: Stage) -> Lap:
    """What may live for no time at all is a dead letter at once."""
    stage.require("expiration")
    channel, queue, grave = _with_grave(stage)
    reader = stage.channel()

    def lap(rounds: int) -> Iterator[None]:
        channel.publish(queue, rounds, properties={"expiration": "0"})
        stage.go_round(channel)
        yield
        yield from _take(reader, grave, rounds)

    return lap


def reject(stage: Stage) -> Lap:
    """What is rejected becomes a dead letter."""
    channel, queue, grave = _with_grave(stage)
    reader = stage.channel()

    def lap(rounds: int) -> Iterator[None]:
        channel.publish(queue, rounds)
        for _ in range(rounds):
            channel.get(queue)
        yield
        for tag in channel.unacked:
            channel.reject(tag, requeue=False)
        stage.go_round(channel)
        yield
        yield from _take(reader, grave, rounds)

    return lap


def die_everywhere(stage: Stage) -> Lap:
    """Messages go round through many queues, in each of which they are rejected, and tell of all of them."""
    stage.require("x-dead-letter-exchange", "x-dead-letter-routing-key")
    channel, first = stage.channel(), stage.recorder.private_name()
    queues, following = list[str](), first
    for number in range(FEW):
        heir = {"x-dead-letter-exchange": stage.by_name, "x-dead-letter-routing-key": following}
        following = stage.queue(heir, name=first if number == FEW - 1 else None)
        queues.insert(0, following)

    def lap(rounds: int) -> Iterator[None]:
        channel.publish(first, rounds)
        yield
        for queue in (*queues, *queues):
            for _ in range(rounds):
                channel.get(queue)
            yield
            for tag in channel.unacked:
                channel.reject(tag, requeue=False)
            stage.go_round(channel)
            yield
        yield from _take(channel, first, rounds)

    return lap


def drop_the_oldest(stage: Stage) -> Lap:
    """A queue for two messages drops one for each that comes, and it becomes a dead letter."""
    channel, queue, grave = _with_grave(stage, **{"x-max-length": 2})
    reader = stage.channel()

    def lap(rounds: int) -> Iterator[None]:
        channel.publish(queue, rounds)
        yield
        yield from take_one_by_one(channel, queue, 3)
        yield from _take(reader, grave, rounds)

    return lap


def die_in_circles(stage: Stage) -> Lap:
    """One message is rejected in turn in two queues, each of which is there for the dead letters of the other."""
    channel, exchange = stage.channel(), stage.exchange(kind="direct")
    circle = [
        stage.queue({"x-dead-letter-exchange": exchange, "x-dead-letter-routing-key": key}) for key in ("one", "other")
    ]
    for key, queue in zip(("other", "one"), circle, strict=True):
        stage.bind(queue, exchange, key)
    channel.publish(circle[0])
    stage.barrier(channel)

    def lap(rounds: int) -> Iterator[None]:
        for number in range(rounds):
            stage.fetch(channel, circle[number % 2])
            for tag in channel.unacked:
                channel.reject(tag, requeue=False)
            stage.go_round(channel)
            yield

    return lap


def return_in_vain(stage: Stage) -> Lap:
    """A quorum queue takes each message back twice, then it is a dead letter."""
    if stage.queue_type != "quorum":
        raise NotOffered("classic queues have no limit of returns")
    channel, queue, grave = _with_grave(stage, **{"x-delivery-limit": 2})
    reader = stage.channel()

    def lap(rounds: int) -> Iterator[None]:
        channel.publish(queue, rounds)
        stage.go_round(channel)
        for _ in range(3):
            yield
            take(channel, queue, rounds, no_ack=False)
            yield
            for tag in channel.unacked:
                channel.nack(tag)
            stage.go_round(channel)
        yield
        yield from _take(reader, grave, rounds)

    return lap


def drop_by_octets(stage: Stage) -> Lap:
    """A queue for so many octets keeps the newest messages."""
    channel, queue, grave = _with_grave(stage, **{"x-max-length-bytes": 100})
    reader = stage.channel()

    def lap(rounds: int) -> Iterator[None]:
        for number in range(rounds):
            channel.publish(queue, body=bytes(10 + 10 * (number % 5)))
        yield
        yield from take_one_by_one(channel, queue, 10)
        yield from _take(reader, grave, rounds)

    return lap


def turn_away(stage: Stage) -> Lap:
    """A full queue has two messages out of three refused."""
    stage.require("confirm.select")
    channel, queue = stage.channel(), stage.queue({"x-max-length": 1, "x-overflow": "reject-publish"})
    channel.confirm()

    def lap(rounds: int) -> Iterator[None]:
        for _ in range(0, rounds, 3):
            channel.publish(queue, 3)
            yield
            channel.get(queue, no_ack=True)
            yield

    return lap


def rank(stage: Stage) -> Lap:
    """Messages of three priorities come by priority, to a consumer that was not there before."""
    channel, queue, reader = publisher(stage), stage.queue({"x-max-priority": 3}), stage.channel()
    stage.require("basic.cancel")

    def lap(rounds: int) -> Iterator[None]:
        for number in range(rounds):
            channel.publish(queue, properties={"priority": number % 3})
        yield
        tag = reader.consume(queue, no_ack=True)
        yield
        reader.cancel(tag)
        yield
        reader.get(queue, no_ack=True)
        yield

    return lap


def find_the_alternate(stage: Stage) -> Lap:
    """What no binding takes goes to the alternate exchange."""
    channel, queues = stage.channel(), [stage.queue(), stage.queue()]
    other = stage.exchange(queues[1])
    exchange = stage.exchange(kind="direct", arguments={"alternate-exchange": other})
    stage.bind(queues[0], exchange, "key")
    readers = stage.channels(2)

    def lap(rounds: int) -> Iterator[None]:
        for number in range(rounds):
            channel.publish(("key", "other")[number % 2], exchange=exchange)
        stage.go_round(channel)
        yield
        for reader, queue in zip(readers, queues, strict=True):
            yield from _take(reader, queue, rounds // 2)

    return lap


def _with_grave(stage: Stage, **arguments: Any) -> tuple[Channel, str, str]:
    """A channel, a queue with such arguments, and the one for its dead letters."""
    grave = stage.queue()
    named = {"x-dead-letter-exchange": stage.by_name, "x-dead-letter-routing-key": grave}
    return publisher(stage), stage.queue({**named, **arguments}), grave


def _take(reader: Channel, queue: str, rounds: int) -> Iterator[None]:
    take(reader, queue, rounds + 1)
    yield


MESSAGES = (
    Course(expire),
    Course(reject),
    Course(die_in_circles),
    Course(return_in_vain, FEW),
    Course(die_everywhere, 5, 0.015),
    Course(drop_the_oldest),
    Course(drop_by_octets),
    Course(turn_away),
    Course(rank),
    Course(find_the_alternate),
)
