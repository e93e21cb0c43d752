"""What the commands of a machine act upon: a stage with a few channels and queues, and what may be sent just now.

Commands name channels, queues, deliveries and consumers by numbers, taken modulo how many there are. So no observation
steers which commands are generated, and every command means something in every state, even if it is nothing.

Some things are lawful for a client and still test nothing, because their outcome depends on frames that are under way.
They are left out: tags that were not seen yet; tag 0 for all and recover while deliveries may be coming; cancel before
consume-ok; another requeue of a message that is near the default delivery limit of quorum queues.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Protocol

from conformance.drive.channel import Channel
from conformance.drive.drivers.raw import RawConnection
from conformance.drive.machines import before
from conformance.drive.machines.shape import Shape
from conformance.drive.stage import NotOffered, Stage
from conformance.history.events import TO_CLIENT, Event

CHANNELS = 3
CONSUMERS = 2
FRAMING = 8
"""This many octets of a frame are not its payload."""
RETURNS = 12
"""A message delivered so often is not returned on purpose any more; quorum queues drop it after 20 returns."""


MOST = 600
"""This many messages of a wide history are published, and asked for, in wide steps or by the dozen."""
FEW = 24
SLOTS = 0xFFFF
"""The largest count that a limit can have."""


class World:
    """One history of a machine."""

    def __init__(self, stage: Stage, shape: Shape) -> None:
        self.stage, self.shape = stage, shape
        self._made = 0
        self._delivered: Counter[str] = Counter()
        self._highest: Counter[tuple[str, int]] = Counter()
        self._props: dict[str, str] = {}
        stage.recorder.subscribe(self._count)
        frame = stage.connection.tuned.frame_max - FRAMING
        stage.payloads.octets, stage.payloads.length = max(0, shape.frames * frame + shape.octets), shape.length
        stage.payloads.alike = shape.alike
        self.channels = self._opened()
        self._queues = [self._declared(), *(stage.queue() for _ in range(1, shape.queues))]
        before.lived(stage, self.channels[0], self._queues[0], shape.used)
        with contextlib.suppress(NotOffered):
            self.select()
        self.channels[0].publish(self._queues[0], shape.stock)
        stage.quiesce()

    def select(self) -> None:
        """The mode of the first channel."""
        self.channels[0].confirm(self.shape.quiet)

    def many(self, count: int) -> int:
        """This many messages, or that many times what is wide, until there were enough."""
        wide = count * self.shape.wide if self._made < MOST else count
        self._made += wide
        return min(wide, MOST)

    @property
    def often(self) -> int:
        """This many times in a row each command is performed, until there were enough messages."""
        return self.shape.often if self._made < MOST else 1

    def scaled(self, number: int) -> int:
        """The place of a delivery: this many times as far as this history is wide."""
        return number * self.shape.wide

    def slots(self, number: int) -> int:
        """A limit: as large as this history is wide, or larger."""
        return min(number * max(self.shape.wide, self.shape.window), SLOTS)

    @property
    def at_once(self) -> int:
        """This many deliveries are settled one by one in one write: quorum queues return more of them in any order."""
        return FEW if self.stage.queue_type == "quorum" else MOST

    def queue(self, index: int) -> str:
        return self._queues[index % len(self._queues)]

    @property
    def queues(self) -> list[str]:
        return self._queues

    def prop(self, name: str, make: Callable[[], str]) -> str:
        """An exchange or a further queue that commands share, declared when it is first asked for."""
        if name not in self._props:
            self._props[name] = make()
        return self._props[name]

    def channel(self, index: int) -> Channel:
        """This channel, open: opened again, where it was closed or is about to be."""
        channel = self.channels[index % CHANNELS]
        if not channel.connection.alive:
            self._reconnect()
            return self.channels[index % CHANNELS]
        if channel.state not in ("open", "opening"):
            self.stage.quiesce()
        if channel.state == "closed":
            self.stage.reopen(channel)
        return channel

    def first(self, index: int, has: Callable[[Channel], object]) -> Channel | None:
        """The first open channel from this one on that has some of that."""
        for offset in range(CHANNELS):
            channel = self.channels[(index + offset) % CHANNELS]
            if channel.connection.alive and channel.state == "open" and has(channel):
                return channel
        return None

    def others(self, channel: Channel) -> Iterable[Channel]:
        return (other for other in self.channels if other is not channel)

    def foreseeable(self, channel: Channel) -> bool:
        """Do we know all deliveries that the broker has made on this channel?"""
        view = channel.view
        return view is not None and not view.in_flight_possible()

    def consumers(self, channel: Channel) -> int:
        view = channel.view
        return len(view.consumers) if view else 0

    def live_consumers(self, channel: Channel) -> list[str]:
        view = channel.view
        return [tag for tag, consumer in view.consumers.items() if consumer.state == "live"] if view else []

    def settled(self, channel: Channel) -> list[int]:
        """Tags that the client has settled."""
        view = channel.view
        return sorted(view.settled) if view else []

    def automatic(self, channel: Channel) -> list[int]:
        """Tags of deliveries that needed no settlement."""
        view = channel.view
        manual = {*view.settled, *view.unacked} if view else set()
        return [tag for tag in range(1, self.last_tag(channel) + 1) if tag not in manual]

    def last_tag(self, channel: Channel) -> int:
        view = channel.view
        return view.last_tag if view else 0

    def highest_tag(self, channel: Channel) -> int:
        """The highest tag that any life of this channel has seen."""
        return self._highest[channel.connection.name, channel.number]

    def may_return(self, channel: Channel, tags: Iterable[int]) -> bool:
        """Are all these deliveries far from any delivery limit?"""
        view = channel.view
        return view is not None and all(
            self._delivered[str(view.unacked[tag].message)] < RETURNS for tag in tags if tag in view.unacked
        )

    def _count(self, event: Event) -> None:
        if event.direction == TO_CLIENT and event.message and event.delivery_tag:
            key = event.connection, event.channel
            self._delivered[event.message] += 1
            self._highest[key] = max(self._highest[key], event.delivery_tag)

    def _reconnect(self) -> None:
        if self.shape.apart:
            self.channels = [one if one.connection.alive else self._alone() for one in self.channels]
        else:
            self.channels = self.stage.channels(CHANNELS, self._connect())

    def _declared(self) -> str:
        """The first queue, with the past that it should have, where the broker knows such."""
        with contextlib.suppress(NotOffered):
            return self.stage.queue(before.arguments(self.stage.queue, self.shape.used))
        return self.stage.queue()

    def _opened(self) -> list[Channel]:
        """The channels of the beginning."""
        if self.shape.apart:
            return [self._alone() for _ in range(CHANNELS)]
        return self.stage.channels(CHANNELS, self._connect() if self.shape.behind else None)

    def _alone(self) -> Channel:
        """A channel on a connection of its own."""
        return self.stage.channel(connection=self._connect())

    def _connect(self) -> RawConnection:
        return self.stage.connect(f"c{len(self.stage.connections) + 1}")


class Command(Protocol):
    """Something that a client does."""

    def perform(self, world: World) -> None: ...
