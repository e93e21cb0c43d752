"""Courses about what the broker refuses. Each mistake costs a channel, which is opened again, or a connection, which
another one follows. The courses go through their mistakes in turn, so that each is made some hundred times.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from codec import methods as m
from conformance.catalogue import deviations
from conformance.drive.channel import Channel
from conformance.drive.drivers.octets import NOBODY
from conformance.drive.drivers.vectors import PUBLISH, VECTORS
from conformance.drive.machines.soak import FEW, Course, Lap, ack_all, publisher, renew
from conformance.drive.stage import Stage
from conformance.oracle.model.consumers.delivering import REPLIES

UNKNOWN_TAG, HELD = 1 << 20, 3
TIMES = 4
"""Times the rounds of other courses: there are many mistakes to go through."""


@dataclass(frozen=True, slots=True)
class Props:
    """What the mistakes are about: a queue with a message, of which another one is out on another channel, with the
    first tag; a queue with a consumer that is alone; one that another connection owns; an exchange that
    leads to the first queue, an internal one; and a name that nothing has any more."""

    stocked: str
    consumed: str
    locked: str
    exchange: str
    internal: str
    missing: str


Mistake = Callable[[Channel, Props], object]
OF_TOPOLOGY: tuple[Mistake, ...] = (
    lambda channel, props: channel.declare(props.stocked, durable=False, auto_delete=True),
    lambda channel, props: channel.declare(props.stocked, exclusive=True),
    lambda channel, props: channel.declare(props.stocked, arguments={"x-max-length": 5}),
    lambda channel, props: channel.declare(props.locked, passive=True),
    lambda channel, props: channel.declare_exchange(props.exchange, "topic"),
    lambda channel, props: channel.declare_exchange(props.missing, "fanout", passive=True),
    lambda channel, props: channel.declare("amq.mine"),
    lambda channel, props: channel.declare_exchange("amq.mine", "fanout"),
    lambda channel, props: channel.delete_exchange("amq.direct"),
    lambda channel, props: channel.bind(props.missing, props.exchange),
    lambda channel, props: channel.bind(props.stocked, props.missing),
    lambda channel, props: channel.bind(props.stocked, ""),
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
    lambda channel, props: channel.publish("key", exchange=props.internal),
    lambda channel, props: channel.publish(props.stocked, properties={"user_id": "somebody else"}),
    lambda channel, props: channel.tx_commit(),
)
IN_TRANSACTIONS: tuple[Mistake, ...] = (
    lambda channel, props: channel.ack(UNKNOWN_TAG),
    lambda channel, props: channel.confirm(),
    lambda channel, props: channel.publish("key", exchange=props.missing),
)
ABOUT_REPLIES: tuple[Mistake, ...] = (
    lambda channel, props: channel.consume(REPLIES),
    lambda channel, props: channel.get(REPLIES),
    lambda channel, props: channel.bind(REPLIES, "amq.direct"),
    lambda channel, props: channel.publish(props.stocked, properties={"reply_to": REPLIES}),
)
OF_CONNECTIONS: tuple[Mistake, ...] = (
    lambda channel, props: channel.declare_exchange(props.missing, "no such type"),
    lambda channel, props: channel.send(m.BasicQos(channel.number, prefetch_size=1)),
    lambda channel, props: channel.send(m.ChannelOpen(channel.number)),
    lambda channel, props: channel.send(m.BasicQos(channel.number + 1, prefetch_count=1)),
    lambda channel, props: channel.send(m.ConnectionOpen(0, virtual_host="/")),
)


def fail_by_topology(stage: Stage) -> Lap:
    return _on_channels(stage, OF_TOPOLOGY)


def fail_by_messages(stage: Stage) -> Lap:
    return _on_channels(stage, OF_MESSAGES)


def fail_in_transactions(stage: Stage) -> Lap:
    stage.require("tx.select", "confirm.select")
    return _on_channels(stage, IN_TRANSACTIONS, Channel.tx_select)


def settle_again(stage: Stage) -> Lap:
    """Each channel gets a message, and settles it. Then it settles that once more, or one that is out elsewhere."""
    channels, queue, held = stage.channels(FEW), stage.queue(), stage.queue()
    keeper, turns = publisher(stage), itertools.cycle(((1, False), (1, True), (HELD, False)))
    keeper.publish(held, HELD)
    stage.confirmed(keeper)
    for _ in range(HELD):
        keeper.get(held)
    stage.quiesce()

    def lap(rounds: int) -> Iterator[None]:
        renew(stage, channels)
        yield
        ways = list(zip(channels[:rounds], turns, strict=False))
        for channel, (_, no_ack) in ways:
            channel.publish(queue)
            channel.get(queue, no_ack)
        yield
        for channel in channels:
            ack_all(channel)
            stage.go_round(channel)
        yield
        for channel, (tag, _) in ways:
            channel.ack(tag)
        yield

    return lap


def fail_by_replies(stage: Stage) -> Lap:
    stage.require("direct reply-to")
    return _on_channels(stage, ABOUT_REPLIES)


def fail_connections(stage: Stage) -> Lap:
    return _on_connections(stage, OF_CONNECTIONS)


def fail_by_frames(stage: Stage) -> Lap:
    """Octets that are no lawful frame, but those of which it is known that this broker lets them pass."""
    passed = deviations.known_to_break(stage.profile, stage.queue_type)
    vectors = [one for rule, some in VECTORS.items() if rule not in passed for one in some]
    return _on_connections(stage, [partial(_say, vector=vector) for vector in vectors])


def _say(channel: Channel, props: Props, *, vector: bytes) -> None:
    publish = m.BasicPublish(channel.number, exchange=channel.by_name, routing_key=NOBODY).encode()
    channel.send(vector.replace(PUBLISH, publish))


def _on_connections(stage: Stage, mistakes: Sequence[Mistake]) -> Lap:
    """Each on another one, with a channel. What did not cost it its connection is not waited for again."""
    props, turns = _props(stage), deque(mistakes)
    names = map("c{}".format, itertools.count(2))

    def lap(rounds: int) -> Iterator[None]:
        channels = [stage.channel(1, stage.connect(next(names))) for _ in range(rounds)]
        yield
        made = {channel: turns[number % len(turns)] for number, channel in enumerate(channels)}
        for channel, mistake in made.items():
            mistake(channel, props)
        turns.rotate(-rounds)
        seen = len(stage.events)
        yield
        over = {event.connection for event in stage.events[seen:] if event.method == "connection.close"}
        for channel, mistake in made.items():
            link = stage.connections.pop(channel.connection.name)
            if link.alive and link.name not in over and mistake in turns and len(turns) > 1:
                turns.remove(mistake)

    return lap


def _on_channels(stage: Stage, mistakes: Sequence[Mistake], *before: Callable[[Channel], object]) -> Lap:
    """Each on a channel that was just opened, and has done something before."""
    props, channels, turns = _props(stage), stage.channels(FEW), itertools.cycle(mistakes)

    def lap(rounds: int) -> Iterator[None]:
        renew(stage, channels)
        yield
        for channel, act in itertools.product(channels, before):
            act(channel)
        yield
        for channel, mistake in zip(channels[:rounds], turns, strict=False):
            mistake(channel, props)
        yield

    return lap


def _props(stage: Stage) -> Props:
    channel, owner = publisher(stage), stage.channel(connection=stage.connect("owner"))
    stocked, consumed, missing = (stage.queue() for _ in range(3))
    locked, internal = stage.recorder.private_name(), stage.recorder.private_name()
    channel.publish(stocked, 2)
    channel.consume(consumed, exclusive=True)
    owner.declare(locked, durable=False, exclusive=True)
    stage.confirmed(channel)
    channel.get(stocked)
    channel.delete(missing)
    stage.quiesce()
    channel.declare_exchange(missing)
    channel.delete_exchange(missing)
    channel.declare_exchange(internal, internal=True)
    stage.belongings.exchanges[internal] = None
    stage.quiesce()
    return Props(stocked, consumed, locked, stage.exchange(stocked), internal, missing)


MISTAKES = (
    Course(fail_by_topology, FEW, TIMES),
    Course(fail_by_messages, FEW, TIMES),
    Course(fail_in_transactions, FEW),
    Course(settle_again, FEW),
    Course(fail_by_replies, FEW),
    Course(fail_connections, 4, 0.5),
    Course(fail_by_frames, 4),
)
