"""The life machine: one message's life over everything that may become of it, at once.

Its queues expire, drop, refuse, rank and hand on what they hold; clients publish, take, settle and ask for replies as
in other machines. What a history is about, its lot says. Time passes in lockstep only, for there alone everything is at
rest meanwhile: on the broker's own clock a few hundred milliseconds at a time, on ours as much as dead letters need.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from hypothesis import strategies as st

from conformance.catalogue.profiles import Profile
from conformance.drive.around import wait
from conformance.drive.channel import Channel
from conformance.drive.machines import search
from conformance.drive.machines.alphabet import (
    Barrier,
    Cancel,
    Get,
    Recover,
    Reopen,
    Settle,
    SettleAll,
    SettleBadly,
    SettleEach,
)
from conformance.drive.machines.confirms import Begin, End, Purge
from conformance.drive.machines.messages.lifetimes import ADDRESSES, Lifetimes
from conformance.drive.machines.messages.lots import (
    ENDS,
    EXPIRATION,
    LONG,
    LOTS,
    PRIORITIES,
    RANKS,
    REPLIES,
    SERVED,
    SINGLE,
    SPREAD,
    TRANSACTIONS,
)
from conformance.drive.machines.swarm import Alphabet, Choice, weighted
from conformance.drive.machines.world import CONSUMERS, Command, World

Fate = Literal["ack", "return", "give up"]
Before = Literal["", "swept", "purged"]
RARELY = (*(False,) * 7, True)
REAL = 200
"""So many milliseconds at most pass at a time where the clock is not ours."""
SWEPT = 24
"""So many gets empty a queue, or leave it."""


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
        exchange = ""
        if self.special and SPREAD in lives.traits:
            exchange, key = world.prop("all", lambda: world.stage.exchange(*world.queues)), ""
        body, persistent = bytes([65 + self.octets]) * self.octets, self.persistent or None
        mandatory = self.mandatory and not lives.returns_refused
        channel.publish(key, self.count, mandatory, persistent, properties, exchange=exchange, body=body)


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
class Compete:
    """Two consumers come to a queue, on two channels, and then messages for them."""

    queue: int
    limits: tuple[int, int]
    ranks: tuple[int, int]
    send: Send

    def perform(self, world: World) -> None:
        for channel, (limit, rank) in enumerate(zip(self.limits, self.ranks, strict=True), 1):
            Serve(channel, self.queue, limit, rank, no_ack=False).perform(world)
        world.stage.quiesce()
        replace(self.send, queue=self.queue).perform(world)
        world.stage.quiesce()


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


@dataclass(frozen=True, slots=True)
class Elapse:
    """Time passes."""

    milliseconds: int

    def perform(self, world: World) -> None:
        ours = world.stage.around.advance is not None
        wait(world.stage, (self.milliseconds if ours else min(self.milliseconds, REAL)) / 1000)


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
class Follow:
    """Some messages are sent, to a queue that may have been emptied before. A few are taken, held for a while, and end
    in one way; then likewise in the next queue, where some may have come as dead letters. At last somebody looks what
    is left anywhere."""

    sends: tuple[Send, ...]
    channel: int
    queue: int
    before: Before
    depth: int
    taken: int
    held: int
    fate: Fate
    after: int

    def perform(self, world: World) -> None:
        stage = world.stage
        if self.before == "purged":
            world.channel(self.channel).purge(world.queue(self.queue))
        if self.before:
            Sweep(self.channel, self.queue, True).perform(world)
        for send in self.sends:
            replace(send, queue=self.queue).perform(world)
        stage.quiesce()
        for place in range(self.queue, self.queue + self.depth):
            channel, queue = world.channel(self.channel), world.queue(place)
            for tag in [tag for _ in range(self.taken) if (tag := stage.get(channel, queue)) is not None]:
                self._settle(world, channel, tag)
            Elapse(self.after).perform(world)
        for place in range(self.queue, self.queue + self.depth + 1):
            Sweep(self.channel, place, True).perform(world)

    def _settle(self, world: World, channel: Channel, tag: int) -> None:
        if self.held:
            Elapse(self.held).perform(world)
        if channel.state == "open" and tag in channel.unacked:
            requeue = self.fate == "return" and world.may_return(channel, [tag])
            channel.ack(tag) if self.fate == "ack" else channel.nack(tag, requeue=requeue)
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


def only(trait: str, weight: int, kind: type[Command], *arguments: st.SearchStrategy[Any]) -> Choice:
    return Choice(weight, st.builds(kind, *arguments).map(lambda command: Only(trait, command)), kind.__name__)


_channel, _queue, _publisher = st.sampled_from((1, 1, 2)), st.sampled_from((0, 0, 0, 1, 1, 2)), st.integers(0, 2)
_rarely = st.sampled_from((False, False, False, True))
_how = st.sampled_from(("ack", "nack", "reject"))
_life = st.sampled_from((None, 0, 50, 50, 150, 400, LONG))
_priority = st.sampled_from((None, 0, 1, 2, 3, 9, 200))
_octets = st.sampled_from((10, 10, 0, 1, 29, 50))


_limit, _rank = st.integers(1, 3), st.integers(-1, 2)
_send = (
    _publisher,
    _queue,
    st.sampled_from((1, 2, 3, 4, 7)),
    _life,
    _priority,
    _octets,
    st.booleans(),
    _rarely,
    _rarely,
)


def commands(profile: Profile, queue_type: str) -> Alphabet:
    return (
        weighted(9, Send, *_send),
        weighted(3, Serve, _channel, _queue, _limit, _rank, _rarely),
        weighted(3, Get, _channel, _queue, st.integers(1, 3), _rarely),
        weighted(5, Settle, _channel, _how, st.integers(0, 5), st.booleans(), st.booleans()),
        weighted(2, SettleAll, _channel, _how, st.booleans()),
        weighted(1, SettleEach, _channel, _how, _how, st.booleans()),
        weighted(2, Cancel, _channel, st.integers(0, 1)),
        weighted(1, Purge, _channel, _queue),
        weighted(1, Barrier, _channel),
        only(TRANSACTIONS, 2, Begin, _channel),
        only(TRANSACTIONS, 3, End, _channel, st.booleans(), st.just(False)),
        only(REPLIES, 3, Await, _publisher),
        only(REPLIES, 4, Answer, _publisher, st.integers(0, 2), st.booleans()),
        only(ENDS, 1, SettleBadly, _channel, _how, st.just("future"), st.integers(0, 2), st.just(False)),
        only(ENDS, 1, Mumble, _publisher, _queue, st.sampled_from(("soon", "", "5 s"))),
        only(ENDS, 1, Recover, _channel),
        only(ENDS, 1, Reopen, _publisher, st.just(True)),
        only(ENDS, 1, Leave, _channel),
    )


PATIENT: Alphabet = (
    weighted(5, Sweep, _channel, _queue, st.booleans()),
    weighted(3, Linger, st.sampled_from((100, 300, 1300)), _channel, _queue, st.booleans()),
    weighted(2, Elapse, st.sampled_from((30, 100, 300))),
    weighted(4, Decline, _channel, _queue, st.booleans(), _rarely),
    weighted(5, Compete, _queue, st.tuples(_limit, _limit), st.tuples(_rank, _rank), st.builds(Send, *_send)),
    weighted(3, Dismiss, _channel, st.booleans()),
    weighted(
        18,
        Follow,
        st.lists(st.builds(Send, *_send), min_size=1, max_size=3).map(tuple),
        _channel,
        st.sampled_from((0, 0, 0, 0, 1)),
        st.sampled_from(("", "swept", "swept", "purged")),
        st.sampled_from((1, 1, 2, 3)),
        st.sampled_from((0, 0, 1, 2)),
        st.sampled_from((0, 0, 300)),
        st.sampled_from(("ack", "return", "give up", "give up")),
        st.sampled_from((0, 100, 300, 1300, 1300, 1300)),
    ),
    weighted(1, Anew, _channel, _queue),
)
LIFE = search.Machine(
    "life", commands, (1,), Lifetimes, wide=(1,), apart=RARELY, small=True, patient=PATIENT, lots=LOTS
)
