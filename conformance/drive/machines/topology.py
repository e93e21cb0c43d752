"""Topology amid work: exchanges, bindings and queues that come and go on a channel that does something else.

Each command is complete and done in one write, so what it declares is gone again at its end. The channel may hold
deliveries, owe settlements and wait for confirms; topology has no effect on any of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from conformance.catalogue.rules.features import RESERVED
from conformance.drive.channel import Channel
from conformance.drive.machines.before import AMPLE
from conformance.drive.machines.swarm import Choice, weighted
from conformance.drive.machines.world import World

TERMS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "classic": (
        {},
        {},
        {"x-max-length": AMPLE},
        {"x-dead-letter-exchange": ""},
        {"x-max-length": AMPLE, "x-overflow": "reject-publish"},
    ),
    "quorum": ({}, {}, {"x-max-length": AMPLE}, {"x-dead-letter-exchange": ""}),
}
"""Arguments of a queue that never come to matter, by its type. Each was probed: a broker that refuses one closes the
channel, and what that returns nobody here could tell."""
KINDS = ("fanout", "direct")
SPREAD = 2
UNREADABLE = "soon"
"""No number of milliseconds."""


@dataclass(frozen=True, slots=True)
class Interlude:
    """A queue of its own that comes, is used and goes. Another of its name may come right behind it, with other
    arguments, while a message of the former is still held."""

    channel: int
    count: int
    quiet: bool
    terms: int
    again: bool = False

    def perform(self, world: World) -> None:
        stage, channel = world.stage, world.channel(self.channel)
        name = stage.recorder.private_name()
        stage.belongings.queues[name] = channel.connection
        with stage.batch():
            self._live(world, channel, name, self.terms, held=self.again)
            if self.again:
                self._live(world, channel, name, self.terms + 1, held=False)

    def _live(self, world: World, channel: Channel, name: str, terms: int, *, held: bool) -> None:
        stage = world.stage
        known = [one for one in TERMS.get(stage.queue_type, ({},)) if all(map(stage.offers, one))]
        typed = {"x-queue-type": stage.queue_type} if stage.profile.typed else {}
        channel.declare(name, no_wait=self.quiet, arguments={**typed, **known[terms % len(known)]})
        channel.publish(name, self.count)
        channel.get(name, no_ack=not held)
        if not held:
            channel.purge(name)
        channel.delete(name)


@dataclass(frozen=True, slots=True)
class Detour:
    """Some messages reach a queue by an exchange that is declared, bound, used, unbound and deleted; or all queues at
    once, in each of which they go their own ways."""

    channel: int
    queue: int
    count: int
    kind: int
    quiet: bool

    def perform(self, world: World) -> None:
        stage, everywhere = world.stage, self.kind == SPREAD
        queues = dict.fromkeys(map(world.queue, range(len(world.queues)) if everywhere else (self.queue,)))
        channel = world.channel(self.channel)
        if channel.view is None or channel.view.transactional:
            return  # what is published in a transaction finds its way when that ends
        name, key = stage.recorder.private_name(), f"key {self.kind}"
        stage.belongings.exchanges[name] = None
        with stage.batch():
            channel.declare_exchange(name, KINDS[self.kind % len(KINDS)], no_wait=self.quiet)
            for queue in queues:
                channel.bind(queue, name, key)
            channel.publish(key, self.count, exchange=name)
            for queue in queues:
                channel.unbind(queue, name, key)
            channel.delete_exchange(name)


@dataclass(frozen=True, slots=True)
class Look:
    """Asks whether a queue is there, or an exchange that always is."""

    channel: int
    queue: int
    exchange: bool

    def perform(self, world: World) -> None:
        queue, channel = world.queue(self.queue), world.channel(self.channel)
        if self.exchange and world.stage.offers(RESERVED):
            channel.find_exchange("amq.direct")
        else:
            channel.declare(queue, passive=True)


@dataclass(frozen=True, slots=True)
class Garble:
    """A publish that no broker can accept, which costs the channel and all that it holds; alone, or behind others. Only
    for machines about publishing: one that is about what channels hold finds less where they are lost all the time."""

    channel: int
    queue: int
    count: int

    def perform(self, world: World) -> None:
        queue, channel = world.queue(self.queue), world.channel(self.channel)
        with world.stage.batch():
            channel.publish(queue, self.count)
            if world.stage.offers("expiration"):
                channel.publish(queue, properties={"expiration": UNREADABLE})


_seldom = st.sampled_from((False, False, True))


def amid(channel: st.SearchStrategy[int], queue: st.SearchStrategy[int]) -> tuple[Choice, ...]:
    """What every machine does now and then beside its own business."""
    return (
        weighted(1, Interlude, channel, st.integers(0, 3), st.booleans(), st.integers(0, 23), _seldom),
        weighted(1, Detour, channel, queue, st.integers(1, 3), st.integers(0, SPREAD), st.booleans()),
        weighted(1, Look, channel, queue, st.booleans()),
    )
