"""The cancellation machine: consumers that end in every way, while others go on, and queues that go and come back.

Two clients share the queues: one wants to be notified, the other does not. Each consumes, cancels with and without
answer, cancels what has ended or never was, and uses tags again as soon as they are certainly free; both delete the
queues under each other's consumers, and leave by close, error and reset.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

from conformance.drive.channel import Channel
from conformance.drive.machines import search
from conformance.drive.machines.alphabet import Barrier, Get, Publish, Settle, SettleBadly
from conformance.drive.machines.shape import Shape
from conformance.drive.machines.swarm import Alphabet, weighted
from conformance.drive.machines.topology import amid
from conformance.drive.machines.world import CONSUMERS, World
from conformance.drive.stage import Stage
from conformance.history.events import TO_BROKER, TO_CLIENT, Event

DEAF = 2
"""This many of the channels belong to the client that is not notified; the others to the one that is."""
NEVER = "never"
"""A tag that no consumer ever has."""

Life = tuple[str, int, int]


class Wards(World):
    """Two clients, and queues that may be gone for a while."""

    def __init__(self, stage: Stage, shape: Shape) -> None:
        self._gone: dict[str, bool] = {}
        self._spare: defaultdict[Life, dict[str, None]] = defaultdict(dict)
        self._asked: set[tuple[Life, str]] = set()
        self._bereft: set[tuple[Life, str]] = set()
        self._deleting: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
        super().__init__(stage, shape)
        stage.recorder.subscribe(self._watch)
        self.channels += self._join(deaf=True)

    # -- queues

    def queue(self, index: int) -> str:
        """This queue, declared anew where it was deleted.

        It has another name while somebody holds deliveries of the deleted one: classic queues take settlements of a
        namesake's deliveries for their own, as a directed check shows. And it comes when all channels with consumers of
        the deleted one have answered since: up to RabbitMQ 3.13 they may take the new one for it.
        """
        name = super().queue(index)
        if name not in self._gone:
            return name
        self.stage.quiesce()
        for channel in self.channels:
            if channel.connection.alive and channel.state == "open" and self._consumes(channel, name):
                self.stage.barrier(channel)
        held = {delivery.queue for one in self.channels if one.view for delivery in one.view.unacked.values()}
        fresh = self.stage.queue(name=None if name in held else name)
        self._queues[self._queues.index(name)] = fresh
        del self._gone[name]
        return fresh

    @staticmethod
    def _consumes(channel: Channel, name: str) -> bool:
        return channel.view is not None and any(one.queue == name for one in channel.view.consumers.values())

    def delete(self, channel: Channel, index: int) -> None:
        """Deletes a queue, unless that is under way or done. Nobody may be asking for it: that would cost a channel."""
        name = super().queue(index)
        if name not in self._gone:
            self.stage.quiesce()
            self.settle_publishes()
            self._gone[name] = True
            self._bereft |= {
                (_life(one), tag)
                for one in self.channels
                if one.view
                for tag, consumer in one.view.consumers.items()
                if consumer.queue == name
            }
            channel.delete(name)

    @property
    def fragile(self) -> bool:
        """Quorum queues do not stand a cancel that meets a deletion; a directed check shows that, and we keep clear."""
        return self.stage.queue_type == "quorum"

    def settle_publishes(self) -> None:
        """Nor do they stand a publish that meets one, and without confirms none is waited for."""
        for channel in self.channels if self.fragile else ():
            if channel.view is not None and channel.state == "open" and channel.view.publishing:
                self.stage.barrier(channel)

    def settle_deletions(self) -> None:
        """And a client may delete and leave without an answer."""
        if self.fragile and self._gone:
            self.stage.quiesce()

    def cancellable(self, channel: Channel) -> list[str]:
        """Consumers that have been confirmed, and that may be cancelled now."""
        live = self.live_consumers(channel) if self.stage.cancels else []
        return [tag for tag in live if not self.fragile or (_life(channel), tag) not in self._bereft]

    # -- channels

    def channel(self, index: int) -> Channel:
        place = index % len(self.channels)
        if not self.channels[place].connection.alive:
            self._rejoin(self.channels[place].connection.name)
        channel = self.channels[place]
        if channel.state not in ("open", "opening"):
            self.stage.quiesce()
        if not channel.connection.alive:
            return self.channel(index)
        if channel.state == "closed":
            self.stage.reopen(channel)
        return channel

    def first(self, index: int, has: Callable[[Channel], object]) -> Channel | None:
        for offset in range(len(self.channels)):
            channel = self.channels[(index + offset) % len(self.channels)]
            if channel.connection.alive and channel.state == "open" and has(channel):
                return channel
        return None

    def _rejoin(self, name: str) -> None:
        """Other channels for those whose connection has ended."""
        deaf = name.startswith("deaf")
        others = [channel for channel in self.channels if channel.connection.name != name]
        fresh = self._join(deaf=deaf)
        self.channels = [*others, *fresh] if deaf else [*fresh, *others]

    def _join(self, *, deaf: bool) -> list[Channel]:
        kind = "deaf" if deaf else "keen"
        connection = self.stage.connect(f"{kind}{len(self.stage.connections)}", {} if deaf else None)
        return [self.stage.channel(connection=connection) for _ in range(DEAF if deaf else 3)]

    # -- tags

    def spare(self, channel: Channel) -> list[str]:
        """Tags of consumers of this channel that have ended, hold nothing, and that nothing under way can speak of.

        The last because quorum queues take the new owner of a tag for the old one: a directed check shows that.
        """
        view = channel.view
        if view is None:
            return []
        taken = {*view.consumers, *(delivery.consumer_tag for delivery in view.unacked.values())}
        return [tag for tag in self._spare[_life(channel)] if tag not in taken]

    def take(self, channel: Channel, tag: str) -> None:
        self._spare[_life(channel)].pop(tag, None)

    def _watch(self, event: Event) -> None:
        if event.method not in ("basic.cancel", "basic.cancel-ok") or not event.consumer_tag:
            return
        channel = next((one for one in self.channels if _at(one) == (event.connection, event.channel)), None)
        if channel is None:
            return
        life, tag = _life(channel), event.consumer_tag
        if event.direction == TO_BROKER and event.method == "basic.cancel":
            self._asked.add((life, tag))
            self._spare[life].pop(tag, None)
        elif event.direction == TO_CLIENT and tag != NEVER:
            if event.method == "basic.cancel-ok":
                self._asked.discard((life, tag))
            if (life, tag) not in self._asked:
                self._spare[life][tag] = None


def _at(channel: Channel) -> tuple[str, int]:
    return channel.connection.name, channel.number


def _life(channel: Channel) -> Life:
    view = channel.view
    return (*_at(channel), view.incarnation if view else 0)


@dataclass(frozen=True, slots=True)
class Start:
    """Starts a consumer; with a tag that has been used before, where there is one to spare."""

    channel: int
    queue: int
    prefetch: int | None
    no_ack: bool
    again: bool

    def perform(self, world: World) -> None:
        assert isinstance(world, Wards)
        queue = world.queue(self.queue)
        channel = world.channel(self.channel)
        running, spare = world.consumers(channel), world.spare(channel) if self.again else []
        if not running and self.prefetch is not None:
            channel.qos(world.slots(self.prefetch))
        if running < CONSUMERS:
            tag = spare[0] if spare else None
            if tag is not None:
                world.take(channel, tag)
            channel.consume(queue, self.no_ack, tag=tag)


@dataclass(frozen=True, slots=True)
class Stop:
    """Cancels a consumer that has been confirmed, with or without answer."""

    channel: int
    index: int
    silent: bool

    def perform(self, world: World) -> None:
        assert isinstance(world, Wards)
        channel = world.first(self.channel, world.cancellable)
        if channel:
            live = world.cancellable(channel)
            channel.cancel(live[self.index % len(live)], no_wait=self.silent)


@dataclass(frozen=True, slots=True)
class StopAgain:
    """Cancels a consumer that has ended, or one that never was."""

    channel: int
    never: bool

    def perform(self, world: World) -> None:
        assert isinstance(world, Wards)
        channel = world.channel(self.channel)
        spare = world.spare(channel)
        channel.cancel(NEVER if self.never or not spare else spare[0])


@dataclass(frozen=True, slots=True)
class Restart:
    """Cancels a consumer and starts another under its tag, in one write."""

    channel: int
    index: int
    queue: int
    silent: bool

    def perform(self, world: World) -> None:
        assert isinstance(world, Wards)
        queue = world.queue(self.queue)
        channel = world.first(self.channel, world.cancellable)
        if channel and not world.fragile:
            live = world.cancellable(channel)
            tag = live[self.index % len(live)]
            with world.stage.batch():
                channel.cancel(tag, no_wait=self.silent)
                channel.consume(queue, tag=tag)


@dataclass(frozen=True, slots=True)
class Delete:
    """Deletes a queue."""

    channel: int
    queue: int

    def perform(self, world: World) -> None:
        assert isinstance(world, Wards)
        world.delete(world.channel(self.channel), self.queue)


@dataclass(frozen=True, slots=True)
class StopAndDelete:
    """One cancels a consumer while the other deletes its queue."""

    channel: int
    index: int
    queue: int
    first: bool

    def perform(self, world: World) -> None:
        assert isinstance(world, Wards)
        stop, delete = Stop(self.channel, self.index, silent=False), Delete(self.channel + 3, self.queue)
        if world.fragile:
            stop.perform(world)
            return
        for step in (delete, stop) if self.first else (stop, delete):
            step.perform(world)


@dataclass(frozen=True, slots=True)
class Leave:
    """Ends a channel by close, or its connection by a reset."""

    channel: int
    rude: bool

    def perform(self, world: World) -> None:
        assert isinstance(world, Wards)
        channel = world.channel(self.channel)
        if self.rude:
            world.settle_deletions()
            channel.connection.abort()
        else:
            channel.close()


_channel, _queue, _index = st.integers(0, 4), st.integers(0, 1), st.integers(0, 1)
_prefetch = st.sampled_from((None, None, 0, 1, 3))
_rarely = st.sampled_from((False, False, False, True))
_how = st.sampled_from(("ack", "nack", "reject"))

COMMANDS: Alphabet = (
    weighted(5, Publish, _channel, _queue, st.integers(1, 3)),
    weighted(8, Start, _channel, _queue, _prefetch, _rarely, st.booleans()),
    weighted(4, Stop, _channel, _index, _rarely),
    weighted(1, Restart, _channel, _index, _queue, _rarely),
    weighted(2, StopAgain, _channel, st.booleans()),
    weighted(3, Delete, _channel, _queue),
    weighted(2, StopAndDelete, _channel, _index, _queue, st.booleans()),
    weighted(5, Settle, _channel, _how, st.integers(0, 4), st.booleans(), st.booleans()),
    weighted(1, SettleBadly, _channel, _how, st.just("future"), st.integers(0, 2), st.just(False)),
    weighted(1, Get, _channel, _queue, _rarely),
    weighted(2, Leave, _channel, _rarely),
    weighted(2, Barrier, _channel),
    *amid(_channel, _queue),
)

CANCELLATION = search.Machine("cancellation", lambda profile, queue_type: COMMANDS, (2,), Wards)
