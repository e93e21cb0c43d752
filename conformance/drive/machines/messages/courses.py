"""The commands of the life machine that do several things in an order that shows something."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from conformance.drive.channel import Channel
from conformance.drive.machines.messages.acts import SWEPT, Elapse, Send, Serve, Sweep, empty_all, lifetimes
from conformance.drive.machines.messages.lots import DEATHS, LIMITS, RULED
from conformance.drive.machines.shape import Lot
from conformance.drive.machines.world import Command, World

Fate = Literal["ack", "return", "give up", "leave"]
Before = Literal["", "swept", "purged"]
Beside = Literal["", "held", "returned", "served", "room again"]
RETURNS = 6
"""More than the delivery limits that are drawn."""
ARRIVED = 1300
"""Milliseconds after which a dead letter has certainly come."""


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
        empty(world, self.channel, self.queue, self.before)
        for send in self.sends:
            replace(send, queue=self.queue).perform(world)
        stage.quiesce()
        for place in range(self.queue, self.queue + self.depth):
            channel, queue = world.channel(self.channel), world.queue(place)
            for tag in [tag for _ in range(self.taken) if (tag := stage.get(channel, queue)) is not None]:
                self._settle(world, channel, tag)
            Elapse(self.after).perform(world)
        empty_all(world, self.channel, range(self.queue, self.queue + self.depth + 1))

    def _settle(self, world: World, channel: Channel, tag: int) -> None:
        if self.held:
            Elapse(self.held).perform(world)
        if channel.state == "open" and tag in channel.unacked:
            requeue = self.fate == "return" and world.may_return(channel, [tag])
            channel.ack(tag) if self.fate == "ack" else channel.nack(tag, requeue=requeue)
            world.stage.barrier(channel)


@dataclass(frozen=True, slots=True)
class Overfill:
    """A queue gets as much as it has room for, and more; then somebody looks what is left.

    Meanwhile some of it may be held, and given back afterwards; or a consumer takes it, and leaves; or much of it is
    taken, so that there is room again. What goes beyond may go to all queues. Those that get its dead letters are
    looked into first, or last.
    """

    channel: int
    queue: int
    before: Before
    bodies: tuple[tuple[int, int | None], ...]
    """Octets and priorities, in turn."""
    beyond: int
    beside: Beside
    some: int
    spread: bool
    heirs_first: bool

    def perform(self, world: World) -> None:
        stage, channel, queue = world.stage, world.channel(self.channel), world.queue(self.queue)
        room = lifetimes(world).room(queue, [octets for octets, _ in self.bodies])
        if room is None:
            return
        again = self.beside == "room again"
        if self.before == "purged":
            self._fill(world, 0, room)  # so that there is something to purge
            lifetimes(world).used.add(queue)
        empty(world, self.channel, self.queue, self.before)
        serves = self.beside == "served" and world.consumers(channel) == 0
        if serves:
            channel.qos(self.some)
            channel.consume(queue)
            stage.quiesce()
        self._fill(world, 0, room + again)
        held = self._take(world, channel, queue, room)
        freed = room - 1 if again else self.some if serves else len(held)
        self._fill(world, room + again, room + freed + self.beyond)
        self._part(world, channel, held)
        empty_all(world, self.channel, self._places(world))
        for tag in channel.unacked if channel.state == "open" else ():
            channel.ack(tag)

    def _fill(self, world: World, first: int, last: int) -> None:
        """These, by their numbers."""
        lives = lifetimes(world)
        for number in range(first, last):
            octets, priority = self.bodies[number % len(self.bodies)]
            spread = self.spread and first > 0
            Send(0, self.queue, 1, None, priority, octets, False, False, spread).perform(world)
        world.stage.quiesce()
        lives.count(self.channel, self.queue)

    def _take(self, world: World, channel: Channel, queue: str, room: int) -> list[int]:
        """Some is taken, to be held or not."""
        if self.beside not in ("held", "returned", "room again"):
            return []
        again = self.beside == "room again"
        number = max(1, room - 1) if again else self.some
        tags = [world.stage.get(channel, queue, no_ack=again) for _ in range(min(number, room))]
        return [tag for tag in tags if tag is not None]

    def _part(self, world: World, channel: Channel, held: list[int]) -> None:
        """What is held goes back, and consumers leave."""
        if channel.state != "open":
            return
        for tag in held if self.beside == "returned" and world.may_return(channel, held) else ():
            channel.nack(tag)
        for consumer in world.live_consumers(channel) if self.beside == "served" and world.stage.cancels else ():
            channel.cancel(consumer)
        world.stage.barrier(channel)

    def _places(self, world: World) -> list[int]:
        """The queue and those that get its dead, in an order."""
        heirs = lifetimes(world).line(self.queue)[1:]
        if not heirs:
            return [self.queue]
        Elapse(ARRIVED).perform(world)
        return [*heirs, self.queue] if self.heirs_first else [self.queue, *heirs]


@dataclass(frozen=True, slots=True)
class Pursue:
    """Messages are followed from queue to queue, round and round: each time they are taken, and meet a fate, or are
    left there until they go on by themselves. At last somebody looks where they are."""

    sends: tuple[Send, ...]
    channel: int
    queue: int
    before: Before
    fates: tuple[Fate, ...]
    after: int

    def perform(self, world: World) -> None:
        lives = lifetimes(world)
        if len(lives.line(self.queue)) == 1:
            return
        empty(world, self.channel, self.queue, self.before)
        for send in self.sends:
            replace(send, queue=self.queue, special=False).perform(world)
        world.stage.quiesce()
        here: int | None = self.queue
        for fate in self.fates:
            if here is None:
                break
            self._meet(world, here, fate)
            Elapse(self.after).perform(world)
            lives.count(self.channel, here)
            here = here if fate == "return" else lives.heir(here)
        empty_all(world, self.channel, [*([] if here is None else lives.line(here)), self.queue])

    def _meet(self, world: World, place: int, fate: Fate) -> None:
        """All that is there meets this fate."""
        channel, queue = world.channel(self.channel), world.queue(place)
        for _ in range({"leave": 0, "return": RETURNS}.get(fate, SWEPT)):
            tag = world.stage.get(channel, queue) if channel.state == "open" else None
            if tag is None:
                break
            if fate == "ack":
                channel.ack(tag)
            else:
                channel.reject(tag, requeue=fate == "return" and world.may_return(channel, [tag]))
            world.stage.barrier(channel)


@dataclass(frozen=True, slots=True)
class Course:
    """One of these: of those that belong to what the history is about, or of all where it is about anything. So often
    and no oftener, for they take long."""

    by_theme: tuple[tuple[str, Command], ...]
    index: int

    def perform(self, world: World) -> None:
        lives = lifetimes(world)
        about = lives.traits & {LIMITS, DEATHS, RULED}
        fitting = [command for theme, command in self.by_theme if not about or theme in about]
        if fitting and lives.courses:
            lives.courses -= 1
            fitting[self.index % len(fitting)].perform(world)


@dataclass(frozen=True, slots=True)
class Afresh:
    """This with other queues, of other arguments, if the history is about one thing."""

    lot: Lot
    command: Command

    def perform(self, world: World) -> None:
        if not lifetimes(world).traits.isdisjoint((LIMITS, DEATHS, RULED)):
            lifetimes(world).move_on(self.lot)
        self.command.perform(world)


@dataclass(frozen=True, slots=True)
class Count:
    """Somebody asks how many messages are there."""

    channel: int
    queue: int

    def perform(self, world: World) -> None:
        lifetimes(world).count(self.channel, self.queue)


def empty(world: World, channel: int, queue: int, before: Before) -> None:
    """All that is there goes, if there may be any."""
    used = lifetimes(world).used
    if world.queue(queue) not in used:
        used.add(world.queue(queue))
        return
    if before == "purged":
        world.channel(channel).purge(world.queue(queue))
    if before:
        Sweep(channel, queue, True).perform(world)
