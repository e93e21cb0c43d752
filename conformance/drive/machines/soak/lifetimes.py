"""Courses about what comes and goes with something else: queues and exchanges that are deleted by themselves, those
whose names the broker chooses, connections, and the rights of an exclusive consumer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from codec import methods as m
from conformance.drive.machines.soak import FEW, Course, Lap, take
from conformance.drive.stage import Stage


def name_queues(stage: Stage) -> Lap:
    """The broker chooses their names."""
    channel = stage.channel()
    stage.require("server-named queues")

    def lap(rounds: int) -> Iterator[None]:
        for _ in range(rounds):
            channel.declare("", durable=False, exclusive=True)
            channel.publish("")
            channel.get("", no_ack=True)
            channel.delete("")
        yield

    return lap


def lose_last_consumers(stage: Stage) -> Lap:
    """A queue goes with its last consumer, so it may be declared anew, and otherwise."""
    channel, other = stage.channels(2)
    stage.require("auto-delete queues", "basic.cancel")

    def lap(rounds: int) -> Iterator[None]:
        queues = [stage.recorder.private_name() for _ in range(rounds)]
        for queue in queues:
            channel.declare(queue, durable=False, auto_delete=True, exclusive=True)
        yield
        tags = [channel.consume(queue) for queue in queues]
        yield
        for tag in tags:
            channel.cancel(tag)
        yield
        for queue in queues:
            other.declare(queue, durable=False, exclusive=True)
            other.delete(queue)
        yield

    return lap


def lose_last_bindings(stage: Stage) -> Lap:
    """An exchange goes with its last binding."""
    channel, queue = stage.channel(), stage.queue()

    def lap(rounds: int) -> Iterator[None]:
        exchanges = [stage.recorder.private_name() for _ in range(rounds)]
        for exchange in exchanges:
            stage.belongings.exchanges[exchange] = None
            channel.declare_exchange(exchange, "fanout", auto_delete=True)
        yield
        for exchange in exchanges:
            channel.bind(queue, exchange)
        yield
        for exchange in exchanges:
            channel.unbind(queue, exchange)
        yield
        for exchange in exchanges:
            channel.declare_exchange(exchange, "direct")
            channel.delete_exchange(exchange)
        yield

    return lap


def chain_exchanges(stage: Stage) -> Lap:
    """What the first exchange is sent comes to a queue of the second, while they are bound, once."""
    stage.require("exchange.bind")
    channel, queue = stage.channel(), stage.queue()
    second, first = stage.exchange(queue), stage.exchange(kind="topic")
    reader = stage.channel()

    def lap(rounds: int) -> Iterator[None]:
        words = [f"a.{number}" for number in range(rounds)]
        for word in words:
            channel.bind_exchange(second, first, f"*.{word}.#")
        yield
        for word in words:
            channel.publish(f"b.{word}.c", exchange=first)
        stage.go_round(channel)
        yield
        for word in words:
            channel.unbind_exchange(second, first, f"*.{word}.#")
        yield
        for word in words:
            channel.publish(f"b.{word}", exchange=first)
        stage.go_round(channel)
        yield
        take(reader, queue, rounds + 1)
        yield

    return lap


def take_turns(stage: Stage) -> Lap:
    """One exclusive consumer after the other, each with a rank."""
    channel, queue = stage.channel(), stage.queue()
    stage.require("basic.cancel", "x-priority")

    def lap(rounds: int) -> Iterator[None]:
        for number in range(rounds):
            tag = channel.consume(queue, exclusive=number % 2 == 1, arguments={"x-priority": number % 3})
            channel.publish(queue)
            yield
            for delivery in channel.unacked:
                channel.ack(delivery)
            channel.cancel(tag)
            yield

    return lap


def come_and_go(stage: Stage) -> Lap:
    """Connections, each with a channel and an exclusive queue. Another one looks whether the queue has gone, too."""
    bystander, names = stage.channel(), map("c{}".format, itertools.count(2))
    stage.require("exclusive queues")

    def lap(rounds: int) -> Iterator[None]:
        channels = [stage.channel(connection=stage.connect(next(names))) for _ in range(rounds)]
        queues = [stage.recorder.private_name() for _ in range(rounds)]
        yield
        for channel, queue in zip(channels, queues, strict=True):
            channel.declare(queue, durable=False, exclusive=True)
            channel.publish(queue)
        yield
        for channel in channels:
            channel.connection.queue(m.ConnectionClose(0, 200, "normal shutdown"))
        stage.go_round(bystander)
        yield
        for channel in channels:
            del stage.connections[channel.connection.name]

    return lap


LIFETIMES = (
    Course(name_queues),
    Course(lose_last_consumers),
    Course(lose_last_bindings),
    Course(chain_exchanges),
    Course(take_turns, FEW, 0.5),
    Course(come_and_go, 4),
)
