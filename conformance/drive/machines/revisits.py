"""Scenes played again under other circumstances. What a scene provokes is rare, and a fault may show only after earlier
use, with long names or large bodies, on a connection that is not the oldest, or if the same is said in another form.

The scene is the same. Its stage gives each channel that it opens, and each queue that it declares, the past of the
history's shape, and sends what the scene sends in the history's forms. A scene asserts nothing, so it needs no change.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from conformance.drive.channel import Channel
from conformance.drive.drivers.raw import Item, RawConnection
from conformance.drive.forms.shape import Forms
from conformance.drive.forms.speaker import Speaker
from conformance.drive.machines import before
from conformance.drive.payloads import EMPTY
from conformance.drive.stage import Stage
from conformance.oracle.verdicts import Judgement

NAMES = (0, 0, 33, 65, 130, 200)
BODIES = (0, 0, EMPTY, EMPTY, *(2**power + beside for power in range(3, 16) for beside in (-1, 0, 1)))
STOCKS = (0,) * 11 + (66,)
"""Of classic queues; so many are returned at once by quorum queues in any order."""
WORN = 0, 0, 0, 20
AS_OFTEN = 4
"""So many channels of a history, at most."""
PASTS = tuple(map(frozenset, combinations(before.FEATURES, 3)))


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Of one history."""

    used: frozenset[str]
    length: int
    octets: int
    give_back: bool
    stock: int
    alike: bool = False
    """Consumers have the same tags on all channels."""
    worn: int = 0
    """The same was done so often on a channel, in one write."""
    forms: Forms = field(default_factory=Forms)

    @classmethod
    def drawn(cls, *seed: object) -> Circumstances:
        chance = random.Random(" ".join(map(str, seed)))
        return cls(
            chance.choice(PASTS),
            chance.choice(NAMES),
            chance.choice(BODIES),
            chance.random() < 0.5,
            chance.choice(STOCKS),
            chance.random() < 0.5,
            chance.choice(WORN),
            Forms.drawn(chance),
        )


class Veteran(Stage):
    """A stage on which everything has a past, and the second pass comes upon what the first one used."""

    _now: Circumstances
    _reserved = ""
    """The queue of a channel's past. It is declared before the scene, which may ask for the last that was declared."""
    _again = False
    _worn = 0
    _second: RawConnection | None = None
    _speaker: Speaker | None = None

    def twice(self, scene: Callable[[], None], circumstances: Circumstances) -> None:
        self._now, self._speaker = circumstances, Speaker(self, circumstances.forms)
        self._roster.passed_over = self._speaker.passed_over
        self.payloads.length, self.payloads.octets = circumstances.length, circumstances.octets
        self.payloads.alike = circumstances.alike
        self._again, self._second, self._worn = False, None, 0
        self._opened: list[Channel] = []
        self._declared: list[tuple[Mapping[str, Any], str]] = []
        self._before: dict[Channel, int] = {}
        self.connect("older")
        self._reserved = super().queue(before.arguments(super().queue, circumstances.used))
        if circumstances.forms.asides:
            self._speaker.prepare(super().queue())
        scene()
        self.quiesce()
        self._again = True
        self._speaker.say_again()
        scene()

    @property
    def connection(self) -> RawConnection:
        """The first connection, in both passes; where the first pass ended it, the second has another one."""
        first = super().connection
        if not self._again:
            return first
        self._second = self._second or (first if first.alive else self.connect("c1"))
        return self._second

    def connect(self, name: str, *arguments: Any, **more: Any) -> RawConnection:
        return super().connect(f"{name} again" if name in self.connections else name, *arguments, **more)

    def channel(self, number: int | None = None, connection: RawConnection | None = None) -> Channel:
        used = self._used() if number is None and connection is None else None
        return used or self._lived(super().channel(number, connection))

    def channels(self, count: int, connection: RawConnection | None = None) -> list[Channel]:
        used = [self._used() for _ in range(count)] if connection is None else [None]
        if None not in used:
            return [one for one in used if one]
        return [self._lived(channel) for channel in super().channels(count, connection)]

    def queue(
        self,
        arguments: Mapping[str, Any] | None = None,
        durable: bool | None = None,
        *,
        name: str | None = None,
        **declare: Any,
    ) -> str:
        """With a past, unless the scene asks for something of its own."""
        if name or declare or durable is not None or self._speaker is None:
            return super().queue(arguments, durable, name=name, **declare)
        for one in self._declared if self._again else ():
            if one[0] == (arguments or {}) and one[1] in self.belongings.queues and not self._consumed(one[1]):
                self._declared.remove(one)
                return one[1]
        given = arguments or before.arguments(super().queue, self._now.used)
        if self.queue_type == "classic":
            given, durable = self._speaker.arguments(given), False if self._speaker.transient else None
        queue = super().queue(given, durable)
        self._declared.append((arguments or {}, queue))
        self._speaker.lead(queue)
        if self.queue_type == "classic" and not arguments:
            self.backstage(queue).publish(queue, self._now.stock)
        return queue

    def finish(self, *, give_back: bool = False) -> Judgement:
        if self._speaker is not None:
            self._speaker.stop_asides()
        return super().finish(give_back=give_back)

    def transmit(self, channel: Channel, *items: Item) -> None:
        super().transmit(channel, *(self._speaker.said(channel, items) if self._speaker else items))

    def _used(self) -> Channel | None:
        """A channel of the first pass that is idle."""
        for channel in self._opened if self._again else ():
            if channel.state == "open" and channel.connection.alive and not _busy(channel):
                self._opened.remove(channel)
                view = channel.view
                self._before[channel] = view.last_tag if view is not None else 0
                return channel
        return None

    def _consumed(self, queue: str) -> bool:
        """Does it still have consumers of the first pass? They would take what the second one is about."""
        views = [channel.view for channel in self.used()]
        return any(consumer.queue == queue for view in views if view for consumer in view.consumers.values())

    def meant(self, channel: Channel, tag: int) -> int:
        """Scenes count from the first delivery of a channel: on one that the first pass used, from where that ended."""
        before = self._before.get(channel, 0) if self._again else 0
        if not before:
            return tag
        unacked = channel.unacked
        return tag + before if tag not in unacked and tag + before in unacked else tag

    def _lived(self, channel: Channel) -> Channel:
        """With a past, unless its user may lack the rights for one, or the queue is in another virtual host."""
        if channel.connection.target != self.target:
            return channel
        before.lived(self, channel, self._reserved, self._now.used)
        if self._now.worn and self._worn < AS_OFTEN:
            self._worn += 1
            before.worn(self, channel, self._now.worn)
        if channel.connection is self.connection and not self._again:
            self._opened.append(channel)
        return channel


def _busy(channel: Channel) -> bool:
    """Does it hold anything, or is it in a mode?"""
    view = channel.view
    return view is None or bool(view.unacked or view.consumers or view.confirm or view.transactional)
