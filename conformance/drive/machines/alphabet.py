"""The alphabet of the settlement machine: plain data, each with what it does to a world.

Commands that only together reach the interesting states are one command: a limit with the consumer it is for. The
weights lean to publishing and settling, since everything else needs messages to work on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hypothesis import strategies as st

from conformance.drive.channel import Channel
from conformance.drive.machines.swarm import Alphabet, weighted
from conformance.drive.machines.topology import amid
from conformance.drive.machines.world import CONSUMERS, World

TAGS = (2**8, 2**16, 2**31, 2**32, 2**32 + 1, 2**63, 2**64 - 1)
"""Numbers that a broker may take for smaller ones."""

How = Literal["ack", "nack", "reject"]
Kind = Literal["double", "auto", "future", "foreign", "stale", "zero"]


@dataclass(frozen=True, slots=True)
class Publish:
    """Publishes some messages in one write."""

    channel: int
    queue: int
    count: int

    def perform(self, world: World) -> None:
        world.channel(self.channel).publish(world.queue(self.queue), world.many(self.count))


@dataclass(frozen=True, slots=True)
class Get:
    """Asks for some messages in one write."""

    channel: int
    queue: int
    count: int
    no_ack: bool

    def perform(self, world: World) -> None:
        channel = world.channel(self.channel)
        with world.stage.batch():
            for _ in range(world.many(self.count)):
                channel.get(world.queue(self.queue), self.no_ack)


@dataclass(frozen=True, slots=True)
class Consume:
    """Starts a consumer; the first of its channel may set a limit before, 0 for none."""

    channel: int
    queue: int
    prefetch: int | None
    no_ack: bool

    def perform(self, world: World) -> None:
        channel = world.channel(self.channel)
        running = world.consumers(channel)
        if not running and self.prefetch is not None:
            channel.qos(world.slots(self.prefetch))
        if running < CONSUMERS:
            channel.consume(world.queue(self.queue), self.no_ack, no_wait=world.shape.quiet)


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancels a consumer that has been confirmed, on the first channel from this one on that has any."""

    channel: int
    index: int

    def perform(self, world: World) -> None:
        channel = world.first(self.channel, world.live_consumers)
        if channel and world.stage.cancels:
            live = world.live_consumers(channel)
            channel.cancel(live[self.index % len(live)], no_wait=world.shape.quiet)


@dataclass(frozen=True, slots=True)
class Settle:
    """Settles a delivery, or all up to it, on the first channel from this one on that holds any."""

    channel: int
    how: How
    index: int
    multiple: bool
    requeue: bool

    def perform(self, world: World) -> None:
        channel = world.first(self.channel, lambda channel: channel.unacked)
        if channel:
            tags = channel.unacked
            chosen = world.scaled(self.index) % len(tags)
            covered = tags[: chosen + 1] if self.multiple else tags[chosen : chosen + 1]
            settle(channel, self.how, tags[chosen], self.multiple, self.requeue and world.may_return(channel, covered))


@dataclass(frozen=True, slots=True)
class SettleAll:
    """Tag 0 with multiple: everything that is outstanding, even where that is nothing."""

    channel: int
    how: How
    requeue: bool

    def perform(self, world: World) -> None:
        channel = world.channel(self.channel)
        if world.foreseeable(channel):
            how: How = "nack" if self.how == "reject" else self.how
            settle(channel, how, 0, True, self.requeue and world.may_return(channel, channel.unacked))


@dataclass(frozen=True, slots=True)
class SettleBadly:
    """Settles a tag that is not outstanding, on the first channel from this one on that can offer such a tag."""

    channel: int
    how: How
    kind: Kind
    index: int
    multiple: bool

    def perform(self, world: World) -> None:
        channel = world.first(self.channel, lambda channel: self._tags(world, channel))
        if channel:
            tags = self._tags(world, channel)
            multiple = self.multiple and self.kind != "zero"
            settle(channel, self.how, tags[self.index % len(tags)], multiple, requeue=True)

    def _tags(self, world: World, channel: Channel) -> list[int]:
        if self.kind == "double":
            return world.settled(channel)
        if self.kind == "auto":
            return world.automatic(channel)
        if self.kind == "zero":
            return [0]
        last = world.last_tag(channel)
        if not world.foreseeable(channel):
            return []
        if self.kind == "foreign":
            return [tag for other in world.others(channel) for tag in other.unacked if tag > last]
        if self.kind == "stale":
            return list(range(last + 1, world.highest_tag(channel) + 1))
        return [last + 1, last + 2, last + 7, *(tag for tag in TAGS if tag > last)]


@dataclass(frozen=True, slots=True)
class Recover:
    """Gives everything back at once, on the first channel from this one on that holds any."""

    channel: int

    def perform(self, world: World) -> None:
        channel = world.first(self.channel, lambda channel: world.foreseeable(channel) and channel.unacked)
        if channel and world.may_return(channel, channel.unacked):
            channel.recover()


@dataclass(frozen=True, slots=True)
class SettleEach:
    """Settles each delivery by itself, in two ways by turns, all in one write."""

    channel: int
    how: How
    other: How
    requeue: bool

    def perform(self, world: World) -> None:
        channel = world.first(self.channel, lambda channel: channel.unacked)
        if channel:
            for place, tag in enumerate(channel.unacked[: world.at_once]):
                how = self.other if place % 2 else self.how
                settle(channel, how, tag, multiple=False, requeue=self.requeue and world.may_return(channel, [tag]))


@dataclass(frozen=True, slots=True)
class SettleAndClose:
    """Settles each delivery by itself and closes the channel, all in one write."""

    channel: int
    how: How

    def perform(self, world: World) -> None:
        channel = world.first(self.channel, lambda channel: channel.unacked)
        if channel:
            for tag in channel.unacked:
                settle(channel, self.how, tag, multiple=False, requeue=False)
            channel.close()


@dataclass(frozen=True, slots=True)
class Reopen:
    """Closes the channel and opens it again."""

    channel: int
    confirm: bool

    def perform(self, world: World) -> None:
        channel = world.channel(self.channel)
        channel.close()
        world.stage.quiesce()
        channel = world.channel(self.channel)
        if self.confirm:
            channel.confirm()


@dataclass(frozen=True, slots=True)
class Confirm:
    """Confirm mode, or once more."""

    channel: int

    def perform(self, world: World) -> None:
        world.channel(self.channel).confirm()


@dataclass(frozen=True, slots=True)
class Barrier:
    """A round trip on the channel."""

    channel: int

    def perform(self, world: World) -> None:
        world.channel(self.channel).flow()


def settle(channel: Channel, how: How, tag: int, multiple: bool, requeue: bool) -> None:
    """One settlement; reject knows no multiple, ack no requeue."""
    if how == "ack":
        channel.ack(tag, multiple)
    elif how == "nack":
        channel.nack(tag, multiple, requeue)
    else:
        channel.reject(tag, requeue)


_channel = st.sampled_from((0, 0, 0, 1, 1, 2))
_queue = st.integers(0, 1)
_rarely = st.sampled_from((False, False, False, True))
_kind = st.sampled_from(("double", "double", "auto", "future", "foreign", "stale", "zero"))
_how = st.sampled_from(("ack", "nack", "reject"))


COMMANDS: Alphabet = (
    weighted(6, Publish, _channel, _queue, st.integers(1, 4)),
    weighted(9, Settle, _channel, _how, st.integers(0, 5), st.booleans(), st.booleans()),
    weighted(4, Get, _channel, _queue, st.integers(1, 3), _rarely),
    weighted(5, Consume, _channel, _queue, st.integers(0, 3) | st.none(), _rarely),
    weighted(3, SettleBadly, _channel, _how, _kind, st.integers(0, 9), st.booleans()),
    weighted(1, SettleAll, _channel, _how, st.booleans()),
    weighted(2, Cancel, _channel, st.integers(0, 1)),
    weighted(1, Recover, _channel),
    weighted(1, SettleEach, _channel, _how, _how, st.booleans()),
    weighted(1, SettleAndClose, _channel, _how),
    weighted(1, Reopen, _channel, st.booleans()),
    weighted(1, Confirm, _channel),
    weighted(1, Barrier, _channel),
    *amid(_channel, _queue),
)
