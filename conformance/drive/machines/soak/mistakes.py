"""Courses about what the broker refuses. Each mistake costs a channel, which is opened again, or a connection, which
another one follows. The courses go through their mistakes in turn, so that each is made some hundred times.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from codec import methods as m
from conformance.drive.channel import Channel
from conformance.drive.drivers.octets import BODY, FLOW, HEADER, METHOD, frame, header
from conformance.drive.machines.soak import FEW, Course, Lap, renew
from conformance.drive.stage import Stage

UNKNOWN_TAG = 1 << 20
TIMES = 3
"""Times the rounds of other courses: there are many mistakes to go through."""


@dataclass(frozen=True, slots=True)
class Props:
    """What the mistakes are about: a queue with a message, a queue with a consumer that is alone, an exchange that
    leads to the first queue, and a name that nothing has."""

    stocked: str
    consumed: str
    exchange: str
    missing: str


Mistake = Callable[[Channel, Props], object]
OF_TOPOLOGY: tuple[Mistake, ...] = (
    lambda channel, props: channel.declare(props.stocked, durable=False, auto_delete=True),
    lambda channel, props: channel.declare_exchange(props.exchange, "topic"),
    lambda channel, props: channel.declare_exchange(props.missing, "fanout", passive=True),
    lambda channel, props: channel.declare("amq.mine"),
    lambda channel, props: channel.declare_exchange("amq.mine", "fanout"),
    lambda channel, props: channel.bind(props.missing, props.exchange),
    lambda channel, props: channel.bind(props.stocked, props.missing),
    lambda channel, props: channel.purge(props.missing),
    lambda channel, props: channel.send(m.QueueDelete(channel.number, queue=props.stocked, if_empty=True)),
    lambda channel, props: channel.send(m.QueueDelete(channel.number, queue=props.consumed, if_unused=True)),
    lambda channel, props: channel.send(m.ExchangeDelete(channel.number, exchange=props.exchange, if_unused=True)),
)
OF_MESSAGES: tuple[Mistake, ...] = (
    lambda channel, props: channel.ack(UNKNOWN_TAG),
    lambda channel, props: channel.reject(UNKNOWN_TAG),
    lambda channel, props: channel.get(props.missing),
    lambda channel, props: channel.consume(props.missing),
    lambda channel, props: channel.consume(props.consumed),
    lambda channel, props: channel.publish("key", exchange=props.missing),
    lambda channel, props: channel.publish(props.stocked, properties={"user_id": "somebody else"}),
    lambda channel, props: channel.tx_commit(),
)
OF_CONNECTIONS: tuple[Mistake, ...] = (
    lambda channel, props: channel.declare_exchange(props.missing, "no such type"),
    lambda channel, props: channel.send(m.BasicQos(channel.number, prefetch_size=1)),
    lambda channel, props: channel.send(m.ChannelOpen(channel.number)),
    lambda channel, props: channel.send(m.BasicQos(channel.number + 1, prefetch_count=1)),
    lambda channel, props: channel.send(m.ConnectionOpen(0, virtual_host="/")),
    lambda channel, props: channel.send(frame(METHOD, channel.number, b"\0\x3c\x03\xe7")),
    lambda channel, props: channel.send(frame(METHOD, channel.number, FLOW, b"\0")),
    lambda channel, props: channel.send(frame(HEADER, channel.number, header())),
    lambda channel, props: channel.send(frame(BODY, channel.number, b"x")),
    lambda channel, props: channel.send(frame(5, channel.number, b"")),
)


def fail_by_topology(stage: Stage) -> Lap:
    return _on_channels(stage, OF_TOPOLOGY)


def fail_by_messages(stage: Stage) -> Lap:
    return _on_channels(stage, OF_MESSAGES)


def fail_connections(stage: Stage) -> Lap:
    """Each is another one, with a channel."""
    props, mistakes = _props(stage), itertools.cycle(OF_CONNECTIONS)
    names = map("c{}".format, itertools.count(2))

    def lap(rounds: int) -> Iterator[None]:
        channels = [stage.channel(connection=stage.connect(next(names))) for _ in range(rounds)]
        yield
        for channel, mistake in zip(channels, mistakes, strict=False):
            mistake(channel, props)
        yield
        for channel in channels:
            del stage.connections[channel.connection.name]

    return lap


def _on_channels(stage: Stage, mistakes: Sequence[Mistake]) -> Lap:
    props, channels, turns = _props(stage), stage.channels(FEW), itertools.cycle(mistakes)

    def lap(rounds: int) -> Iterator[None]:
        renew(stage, channels)
        yield
        for channel, mistake in zip(channels[:rounds], turns, strict=False):
            mistake(channel, props)
        yield

    return lap


def _props(stage: Stage) -> Props:
    channel, stocked, consumed = stage.channel(), stage.queue(), stage.queue()
    if stage.offers("confirm.select"):
        channel.confirm()
    channel.publish(stocked)
    channel.consume(consumed, exclusive=True)
    stage.confirmed(channel)
    missing = stage.queue()
    channel.delete(missing)
    stage.quiesce()
    channel.declare_exchange(missing)
    channel.delete_exchange(missing)
    stage.quiesce()
    return Props(stocked, consumed, stage.exchange(stocked), missing)


MISTAKES = (
    Course(fail_by_topology, FEW, TIMES),
    Course(fail_by_messages, FEW, TIMES),
    Course(fail_connections, 4),
)
