"""The requeueing machine: what several connections take from a queue and return to it, and in which order they see it.

Each channel has a connection of its own, so only cause and effect order what they do. All channels are in confirm
mode, so a publish proves what was returned before it. The machine mostly gets and returns, because a consumer takes
messages unseen; there is one consumer at a time. With quorum queues, the second queue has a small delivery limit.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from conformance.catalogue.profiles import Profile
from conformance.drive.channel import Channel
from conformance.drive.machines import search
from conformance.drive.machines.alphabet import (
    Barrier,
    Cancel,
    Get,
    How,
    Publish,
    Recover,
    Reopen,
    SettleAll,
    SettleEach,
    settle,
)
from conformance.drive.machines.shape import Shape
from conformance.drive.machines.swarm import Alphabet, weighted
from conformance.drive.machines.topology import amid
from conformance.drive.machines.world import World
from conformance.drive.stage import Stage

LIMIT = 3


class Rivals(World):
    """Channels on connections of their own, all in confirm mode."""

    def __init__(self, stage: Stage, shape: Shape) -> None:
        super().__init__(stage, shape)
        if stage.queue_type == "quorum" and shape.queues > 1:
            self._queues[1] = stage.queue({"x-delivery-limit": LIMIT})

    def _alone(self) -> Channel:
        channel = super()._alone()
        channel.confirm()
        self.stage.quiesce()
        return channel


@dataclass(frozen=True, slots=True)
class Watch:
    """Starts a consumer of the first queue, with room for so many, unless one is there.

    Not of the limited one: up to RabbitMQ 3.10 a message that the limit ends gives its slot back twice.
    """

    channel: int
    prefetch: int

    def perform(self, world: World) -> None:
        channel = world.channel(self.channel)
        if not any(world.consumers(one) for one in world.channels):
            channel.qos(world.slots(self.prefetch))
            channel.consume(world.queue(0))


@dataclass(frozen=True, slots=True)
class Return:
    """Returns a delivery, or all up to it, on the first channel from this one on that holds any."""

    channel: int
    how: How
    index: int
    multiple: bool

    def perform(self, world: World) -> None:
        channel = world.first(self.channel, lambda channel: channel.unacked)
        if channel:
            tags = channel.unacked
            chosen = world.scaled(self.index) % len(tags)
            multiple = self.multiple and self.how == "nack"
            covered = tags[: chosen + 1] if multiple else tags[chosen : chosen + 1]
            how = self.how if world.may_return(channel, covered) else "ack"
            settle(channel, how, tags[chosen], multiple, requeue=True)


_channel, _queue, _index = st.integers(0, 2), st.sampled_from((0, 0, 1)), st.integers(0, 4)


def commands(profile: Profile, queue_type: str) -> Alphabet:
    return (
        weighted(4, Publish, _channel, _queue, st.integers(1, 3)),
        weighted(8, Get, _channel, _queue, st.integers(1, 3), st.just(False)),
        weighted(9, Return, _channel, st.sampled_from(("nack", "nack", "reject")), _index, st.booleans()),
        weighted(1, Return, _channel, st.just("ack"), _index, st.just(False)),
        weighted(2, Watch, _channel, st.integers(1, 3)),
        weighted(1, Cancel, _channel, st.integers(0, 1)),
        weighted(1, SettleAll, _channel, st.just("nack"), st.just(True)),
        weighted(1, SettleEach, _channel, st.just("nack"), st.sampled_from(("ack", "reject")), st.just(True)),
        weighted(1, Recover, _channel),
        weighted(1, Reopen, _channel, st.just(True)),
        weighted(1, Barrier, _channel),
        *amid(_channel, _queue),
    )


REQUEUEING = search.Machine("requeueing", commands, world=Rivals, apart=(True,))
