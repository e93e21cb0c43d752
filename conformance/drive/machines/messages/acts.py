"""The commands of the life machine that do one thing: publish, take, settle, wait, ask for replies, come and go."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, cast

from codec import values
from conformance.drive.around import SECOND, wait
from conformance.drive.drivers.octets import NOBODY
from conformance.drive.machines.confirms import transactional
from conformance.drive.machines.messages.lifetimes import ADDRESSES, Lifetimes
from conformance.drive.machines.messages.lots import (
    COMMITS,
    COPIES,
    EXPIRATION,
    PRIORITIES,
    RANKS,
    REPLIES,
    SERVED,
    SINGLE,
    SPREAD,
)
from conformance.drive.machines.world import CONSUMERS, Command, World
from conformance.drive.stage import Stage

SWEPT = 24
"""So many gets empty a queue, or leave it."""
LATEST, TO_BE_SURE = 12, 0.1
"""Seconds: a dead letter that is late is waited for, a queue that lingers is not; and more than is needed."""


def lifetimes(world: World) -> Lifetimes:
    return cast(Lifetimes, world)


@dataclass(frozen=True, slots=True)
class Send:
    """Publishes some messages in one write; with a time to live or a priority, or as requests, where that is so."""

    channel: int
    queue: int
    count: int
    life: int | None
    priority: int | None
    octets: int
    persistent: bool
    mandatory: bool
    special: bool
    """To all queues."""

    def perform(self, world: World) -> None:
        lives = lifetimes(world)
        channel, properties, key = lives.publisher(self.channel), dict[str, Any](), world.queue(self.queue)
        if self.life is not None and EXPIRATION in lives.traits and world.stage.offers("expiration"):
            properties["expiration"] = str(self.life)
        if self.priority is not None and PRIORITIES in lives.traits:
            properties["priority"] = lives.priority(self.priority)
        if REPLIES in lives.traits and self.octets and lives.asks(channel):
            properties["reply_to"] = ADDRESSES
        if COPIES in lives.traits:
            properties["headers"] = values.table({name: [f"{NOBODY}.{name}"] for name in ("CC", "BCC")})
        exchange = ""
        if self.special and SPREAD in lives.traits:
            exchange, key = world.prop(f"all {world.queue(0)}", lambda: world.stage.exchange(*world.queues)), ""
        body, persistent = bytes([65 + self.octets]) * self.octets, self.persistent or None
        mandatory = self.mandatory and not lives.returns_refused
        channel.publish(key, self.count, mandatory, persistent, properties, exchange=exchange, body=body)
        if COMMITS in lives.traits and transactional(channel):
            channel.tx_commit()
            world.stage.quiesce()


@dataclass(frozen=True, slots=True)
class Serve:
    """Starts a consumer with a limit, and a priority, where consumers are the lot."""

    channel: int
    queue: int
    limit: int
    rank: int
    no_ack: bool

    def perform(self, world: World) -> None:
        channel, traits = world.channel(self.channel), lifetimes(world).traits
        if world.consumers(channel) < CONSUMERS and not traits.isdisjoint((SERVED, SINGLE, RANKS)):
            ranked = RANKS in traits and world.stage.offers("x-priority")
            channel.qos(world.slots(self.limit))
            channel.consume(world.queue(self.queue), self.no_ack, arguments={"x-priority": self.rank} if ranked else {})


@dataclass(frozen=True, slots=True)
class Dismiss:
    """The consumers of a channel are cancelled, and what they hold is given back, or done with."""

    channel: int
    ack: bool

    def perform(self, world: World) -> None:
        channel = world.channel(self.channel)
        for consumer in world.live_consumers(channel) if world.stage.cancels else ():
            channel.cancel(consumer)
        world.stage.quiesce()
        for tag in channel.unacked:
            if self.ack or not world.may_return(channel, [tag]):
                channel.ack(tag)
            else:
                channel.nack(tag)
        world.stage.barrier(channel)


@dataclass(frozen=True, slots=True)
class Await:
    """Waits for replies."""

    channel: int

    def perform(self, world: World) -> None:
        channel = lifetimes(world).publisher(self.channel)
        view = channel.view
        free = view is not None and not any(one.queue == ADDRESSES for one in view.consumers.values())
        if free and world.stage.offers("direct reply-to"):
            channel.consume(ADDRESSES, no_ack=True)


@dataclass(frozen=True, slots=True)
class Answer:
    """Replies to a request that has been seen, whoever waits for it by now."""

    channel: int
    index: int
    mandatory: bool

    def perform(self, world: World) -> None:
        lives = lifetimes(world)
        if lives.answers:
            address = lives.answers[-1 - self.index % len(lives.answers)]
            lives.publisher(self.channel).publish(address, mandatory=self.mandatory)


@dataclass(frozen=True, slots=True)
class Sweep:
    """Takes all that is in a queue, one after the other."""

    channel: int
    queue: int
    no_ack: bool

    def perform(self, world: World) -> None:
        channel, queue = world.channel(self.channel), world.queue(self.queue)
        for _ in range(SWEPT):
            if channel.state != "open" or world.stage.get(channel, queue, no_ack=self.no_ack) is None:
                break


def patiently(stage: Stage, look: Callable[[], None]) -> None:
    """Looks; and once more where something is late, if the clock is ours: what no text says how soon it comes is missed
    only after a while."""
    look()
    ahead = (stage.judge.late() - stage.recorder.now()) / SECOND
    if stage.around.advance is not None and 0 < ahead <= LATEST:
        wait(stage, ahead + TO_BE_SURE)
        look()


def empty_all(world: World, channel: int, places: Iterable[int]) -> None:
    """Takes all that is in these queues."""
    sweeps = [Sweep(channel, place, True) for place in places]

    def look() -> None:
        for sweep in sweeps:
            sweep.perform(world)

    patiently(world.stage, look)


@dataclass(frozen=True, slots=True)
class Elapse:
    """Time passes."""

    milliseconds: int

    def perform(self, world: World) -> None:
        wait(world.stage, lifetimes(world).spend(self.milliseconds) / 1000)


@dataclass(frozen=True, slots=True)
class Linger:
    """Time passes, and somebody looks what is left."""

    milliseconds: int
    channel: int
    queue: int
    no_ack: bool

    def perform(self, world: World) -> None:
        Elapse(self.milliseconds).perform(world)
        Sweep(self.channel, self.queue, self.no_ack).perform(world)


@dataclass(frozen=True, slots=True)
class Decline:
    """Gets one and gives it up, or back."""

    channel: int
    queue: int
    nack: bool
    requeue: bool

    def perform(self, world: World) -> None:
        channel = world.channel(self.channel)
        tag = world.stage.get(channel, world.queue(self.queue))
        if tag is not None and (not self.requeue or world.may_return(channel, [tag])):
            (channel.nack if self.nack else channel.reject)(tag, requeue=self.requeue)
            world.stage.barrier(channel)


@dataclass(frozen=True, slots=True)
class Anew:
    """A queue that nobody uses is deleted, and declared again."""

    channel: int
    queue: int

    def perform(self, world: World) -> None:
        lifetimes(world).replace(world.channel(self.channel), self.queue)


@dataclass(frozen=True, slots=True)
class Mumble:
    """A publish with an expiration that is no number, which costs its channel."""

    channel: int
    queue: int
    text: str

    def perform(self, world: World) -> None:
        if world.stage.offers("expiration"):
            world.channel(self.channel).publish(world.queue(self.queue), properties={"expiration": self.text})


@dataclass(frozen=True, slots=True)
class Leave:
    """A connection is reset."""

    channel: int

    def perform(self, world: World) -> None:
        world.channel(self.channel).connection.abort()


@dataclass(frozen=True, slots=True)
class Only:
    """A command where this is the lot."""

    trait: str
    command: Command

    def perform(self, world: World) -> None:
        if self.trait in lifetimes(world).traits:
            self.command.perform(world)
