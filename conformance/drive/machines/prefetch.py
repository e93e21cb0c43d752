"""The prefetch machine: limits of consumers and of channels, and everything that fills and frees their slots.

A limit and the consumer that it is for are one command, because they mean something only together. Consumers with
different limits run side by side on one channel. A channel's limit is set, changed and removed while deliveries are
out.

Known faults are left to the directed checks, because a machine that always meets them sees nothing else. If a limit
for consumers clears the channel's limit, the two are not set in that order. No channel limit is set while gets are
out. Quorum queues refuse a channel's limit, so it is not used with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from hypothesis import strategies as st

from conformance.catalogue.profiles import Profile
from conformance.drive.channel import Channel
from conformance.drive.machines.alphabet import (
    Barrier,
    Cancel,
    Confirm,
    Get,
    Publish,
    Recover,
    Reopen,
    Settle,
    SettleAll,
    SettleEach,
)
from conformance.drive.machines.search import Machine
from conformance.drive.machines.shape import APART, Shape
from conformance.drive.machines.swarm import Alphabet, weighted
from conformance.drive.machines.topology import amid
from conformance.drive.machines.world import World
from conformance.drive.stage import Stage

CONSUMERS = 3
"""This many consumers run on one channel at most."""


class LimitedWorld(World):
    """Remembers which channels have, or had, a limit for all their consumers."""

    def __init__(self, stage: Stage, shape: Shape) -> None:
        super().__init__(stage, shape)
        choices = stage.profile.choices
        self.clears = choices["consumer_limit_clears_channel_limit"] == "yes" and choices["channel_limit"] == "channel"
        self._shared: set[tuple[str, int, int]] = set()

    def share(self, channel: Channel, limit: int) -> None:
        """Sets a limit for the channel, unless what is out there is known to spoil it."""
        if not self.clears or not self._getting(channel):
            self._shared.add(self._life(channel))
            channel.qos(self.slots(limit), global_=True)

    def limit(self, channel: Channel, limit: int) -> None:
        """Sets a limit for the consumers to come."""
        if not self.clears or self._life(channel) not in self._shared:
            channel.qos(self.slots(limit))

    @staticmethod
    def _life(channel: Channel) -> tuple[str, int, int]:
        view = channel.view
        return channel.connection.name, channel.number, view.incarnation if view else 0

    def _getting(self, channel: Channel) -> bool:
        view = channel.view
        if view is None or view.getting:
            return True
        return any(one.consumer_tag is None for one in view.unacked.values())


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit for consumers to come; those that run keep theirs."""

    channel: int
    limit: int

    def perform(self, world: World) -> None:
        cast(LimitedWorld, world).limit(world.channel(self.channel), self.limit)


@dataclass(frozen=True, slots=True)
class Share:
    """A limit for all consumers of a channel, present and to come; 0 removes it."""

    channel: int
    limit: int

    def perform(self, world: World) -> None:
        cast(LimitedWorld, world).share(world.channel(self.channel), self.limit)


@dataclass(frozen=True, slots=True)
class ConsumeWithin:
    """Starts a consumer under a limit of its own, beside others that may have another."""

    channel: int
    queue: int
    limit: int
    no_ack: bool

    def perform(self, world: World) -> None:
        channel = world.channel(self.channel)
        if world.consumers(channel) < CONSUMERS:
            cast(LimitedWorld, world).limit(channel, self.limit)
            channel.consume(world.queue(self.queue), self.no_ack, no_wait=world.shape.quiet)


_channel = st.sampled_from((0, 0, 0, 1, 2))
_queue = st.sampled_from((0, 0, 1))
_rarely = st.sampled_from((False, False, False, False, True))
_how = st.sampled_from(("ack", "ack", "nack", "reject"))


def commands(profile: Profile, queue_type: str) -> Alphabet:
    """The alphabet, with limits for channels where they mean something."""
    found = [
        weighted(5, Publish, _channel, _queue, st.integers(1, 6)),
        weighted(9, Settle, _channel, _how, st.integers(0, 5), st.booleans(), _rarely),
        weighted(5, ConsumeWithin, _channel, _queue, st.integers(0, 4), _rarely),
        weighted(2, SettleAll, _channel, _how, _rarely),
        weighted(1, SettleEach, _channel, _how, _how, _rarely),
        weighted(2, Get, _channel, _queue, st.just(1), _rarely),
        weighted(2, Cancel, _channel, st.integers(0, 2)),
        weighted(1, Limit, _channel, st.integers(0, 4)),
        weighted(1, Recover, _channel),
        weighted(1, Reopen, _channel, st.booleans()),
        weighted(1, Confirm, _channel),
        weighted(1, Barrier, _channel),
        *amid(_channel, _queue),
    ]
    if queue_type == "classic" or profile.choices["channel_limit"] != "channel":
        found.append(weighted(4, Share, _channel, st.integers(0, 5)))
    return found


PREFETCH = Machine("prefetch", commands, world=LimitedWorld, apart=APART)
