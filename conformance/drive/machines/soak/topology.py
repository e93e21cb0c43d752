"""Courses about queues, exchanges, bindings and channels: they are made, asked for, and removed."""

from __future__ import annotations

from collections.abc import Iterator

from codec import values
from conformance.drive.machines.soak import FEW, Course, Lap, publisher, renew, take
from conformance.drive.machines.soak.again import MADE_AGAIN
from conformance.drive.stage import Stage

KINDS = "direct", "topic", "headers"


def declare_and_delete(stage: Stage) -> Lap:
    """Queues are declared, asked for, and deleted."""
    channel = stage.channel()

    def lap(rounds: int) -> Iterator[None]:
        queues = [stage.recorder.private_name() for _ in range(rounds)]
        for queue in queues:
            channel.declare(queue, durable=False, exclusive=True)
            if stage.offers("passive queue.declare"):
                channel.declare(queue, passive=True)
            channel.delete(queue)
        yield

    return lap


def declare_without_answers(stage: Stage) -> Lap:
    channel = stage.channel()
    stage.require("nowait")

    def lap(rounds: int) -> Iterator[None]:
        queues = [stage.recorder.private_name() for _ in range(rounds)]
        for queue in queues:
            channel.declare(queue, durable=False, exclusive=True, no_wait=True)
            channel.publish(queue)
            channel.get(queue, no_ack=True)
            channel.delete(queue, no_wait=True)
        stage.go_round(channel)
        yield

    return lap


def look_for_what_is_missing(stage: Stage) -> Lap:
    """Queues that were deleted. Each costs a channel."""
    channels, queues = stage.channels(FEW), [stage.queue() for _ in range(FEW)]
    stage.require("passive queue.declare")
    for queue in queues:
        channels[0].delete(queue)
    stage.quiesce()

    def lap(rounds: int) -> Iterator[None]:
        renew(stage, channels)
        yield
        for channel, queue in zip(channels[:rounds], queues, strict=False):
            channel.declare(queue, passive=True)
        yield

    return lap


def purge(stage: Stage) -> Lap:
    """Each queue tells how many messages it had."""
    channel, queues = publisher(stage), [stage.queue() for _ in range(FEW)]
    stage.require("queue.purge")

    def lap(rounds: int) -> Iterator[None]:
        for number, queue in zip(range(rounds), queues, strict=False):
            channel.publish(queue, number % 3)
        yield
        for queue in queues:
            channel.purge(queue)
        yield

    return lap


def declare_exchanges(stage: Stage) -> Lap:
    """Each leads to a queue while it is there."""
    channel, queue = stage.channel(), stage.queue()
    reader = stage.channel()

    def lap(rounds: int) -> Iterator[None]:
        exchanges = [stage.recorder.private_name() for _ in range(rounds)]
        for exchange in exchanges:
            stage.belongings.exchanges[exchange] = None
            channel.declare_exchange(exchange)
        yield
        for exchange in exchanges:
            channel.bind(queue, exchange)
        yield
        for exchange in exchanges:
            channel.publish("", exchange=exchange)
        stage.go_round(channel)
        yield
        for exchange in exchanges:
            channel.delete_exchange(exchange)
        yield
        take(reader, queue, rounds)
        yield

    return lap


def bind_and_unbind(stage: Stage) -> Lap:
    """To exchanges of several types; what is published after the binding is gone leads nowhere."""
    channel, queue = stage.channel(), stage.queue()
    exchanges = [stage.exchange(kind=kind) for kind in KINDS if kind == "direct" or stage.offers(f"{kind} exchange")]
    reader = stage.channel()

    def lap(rounds: int) -> Iterator[None]:
        ways = [(f"key.{number}", exchanges[number % len(exchanges)], {"number": number}) for number in range(rounds)]
        for key, exchange, terms in ways:
            channel.bind(queue, exchange, key, terms)
        yield
        for key, exchange, terms in ways:
            channel.publish(key, exchange=exchange, properties={"headers": values.table(terms)})
        stage.go_round(channel)
        yield
        for key, exchange, terms in ways:
            channel.unbind(queue, exchange, key, terms)
        yield
        for key, exchange, terms in ways:
            channel.publish(key, exchange=exchange, properties={"headers": values.table(terms)})
        stage.go_round(channel)
        yield
        take(reader, queue, rounds + 1)
        yield

    return lap


def route(stage: Stage) -> Lap:
    """One of two queues gets what is published, by its key."""
    channel, queues = stage.channel(), [stage.queue(), stage.queue()]
    exchange = stage.exchange(kind="direct")
    for key, queue in zip("ab", queues, strict=True):
        stage.bind(queue, exchange, key)
    readers = stage.channels(2)

    def lap(rounds: int) -> Iterator[None]:
        for number in range(rounds):
            channel.publish("abc"[number % 3], exchange=exchange)
        stage.go_round(channel)
        yield
        for reader, queue in zip(readers, queues, strict=True):
            take(reader, queue, rounds // 2)
        yield

    return lap


def open_and_close(stage: Stage) -> Lap:
    channels = stage.channels(FEW)

    def lap(rounds: int) -> Iterator[None]:
        renew(stage, channels)
        yield
        for channel in channels[:rounds]:
            channel.close()
        yield

    return lap


TOPOLOGY = (
    Course(declare_and_delete),
    Course(declare_without_answers),
    Course(look_for_what_is_missing, FEW),
    Course(purge, FEW),
    Course(declare_exchanges),
    Course(bind_and_unbind),
    Course(route),
    Course(open_and_close, FEW),
    *MADE_AGAIN,
)
