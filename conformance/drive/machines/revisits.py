"""Scenes played again under other circumstances. What a scene provokes is rare, and a fault may show only after earlier
use, with long names or large bodies, on a connection that is not the oldest, or if the same is said in another form.

The scene is the same. Its stage gives each channel that it opens, and each queue that it declares, the past of the
history's shape, and sends what the scene sends in the history's forms. A scene asserts nothing, so it needs no change.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Mapping
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
STOCKS = (0,) * 21 + (20, 130, 300)
"""Of classic queues; so many are returned at once by quorum queues in any order."""
ALL_STOCK = 300
"""So many messages are in all such queues of a history together, at most."""
WORN = 0, 0, 0, 0, 0, 0, 20, 130
OPENED = 0, 130
CHANNELS = "CHAN", "CONN"
"""Families of which it matters how many channels a connection had."""
OWN_WEAR = {
    "QOS": "limit",
    **dict.fromkeys(("ACK", "ERR"), "settle"),
    **dict.fromkeys(("TAG", "GET", "MODE"), "messages"),
    "CAN": "consumers",
    "CONSUME": "questions",
}
"""What the scenes of a family are about is what was done so often, and else something that is drawn. Whether a consumer
is refused rightly is not certain while others may just have left."""
CROWDS = (0,) * 7 + (70,)
LISTENERS = 0, 0, 0, 1, 2
OCTET = 256
PASSES = 2, 2, 2, 3
ALL_WORN = 150
"""So often on all channels of a history together, at most: judges remember a few hundred of a kind."""
TELLING = frozenset({"x-expires", "x-dead-letter-exchange"})
"""Arguments by which a queue tells that it had a message."""
LIVED = 10
"""So many channels of a history have a past, at most."""
PASTS = tuple(map(frozenset, combinations(before.PAST, 6)))
ARGUED = (frozenset[str](),) * 4 + tuple(map(frozenset, ({before.BOUNDED}, {before.BEQUEATHING}, before.ARGUMENTS)))


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Of one history."""

    used: frozenset[str]
    length: int
    octets: int
    give_back: bool
    stock: int
    alike: bool = False
    """Consumers have the same tags on all channels, and in all passes. What a pass declares has the names of what was
    deleted before it."""
    worn: int = 0
    """The same was done so often on a channel, in one write."""
    wear: str = "limit"
    """What was done so often."""
    opened: int = 0
    """So many channels were opened and closed on each connection, where the scene is about that."""
    spent: bool = False
    """Queues had a message that was purged."""
    passes: int = 2
    """The scene is played so many times."""
    crowd: int = 0
    """So many bindings of a direct or topic exchange lead nothing to an idle queue."""
    listeners: int = 0
    """So many consumers of an idle queue are on each channel, and get nothing."""
    forms: Forms = field(default_factory=Forms)

    @classmethod
    def drawn(cls, *seed: object) -> Circumstances:
        chance = random.Random(" ".join(map(str, seed)))
        return cls(
            chance.choice(PASTS) | chance.choice(ARGUED),
            chance.choice(NAMES),
            chance.choice(BODIES),
            chance.random() < 0.5,
            chance.choice(STOCKS),
            alike=chance.random() < 0.5,
            worn=chance.choice(WORN),
            wear=chance.choice(tuple(before.WEAR)),
            opened=chance.choice(OPENED),
            spent=chance.random() < 0.5,
            passes=chance.choice(PASSES),
            crowd=chance.choice(CROWDS),
            forms=Forms.drawn(chance),
            listeners=chance.choice(LISTENERS),
        )


class Veteran(Stage):
    """A stage on which everything has a past, and a later pass comes upon what the ones before it used."""

    _now: Circumstances
    _reserved = ""
    """The queue of a channel's past. It is declared before the scene, which may ask for the last that was declared."""
    _idle = ""
    """The queue of the listeners."""
    _again = False
    _alive = _worn = _stocked = 0
    _former: RawConnection | None = None
    _latest: RawConnection | None = None
    """The first connection of the pass before, and of this one."""
    _speaker: Speaker | None = None
    _careful: Channel | None = None
    """One in confirm mode, on another connection than the scene's."""
    _company = False
    """Has the scene more than one connection?"""

    def repeat(self, scene: Callable[[], None], circumstances: Circumstances) -> None:
        """Plays the scene in several passes under these circumstances."""
        self._now, self._speaker = circumstances, Speaker(self, circumstances.forms)
        self._roster.passed_over = self._speaker.passed_over
        self.payloads.length, self.payloads.octets = circumstances.length, circumstances.octets
        self.payloads.alike = circumstances.alike
        self._again, self._former, self._latest = False, None, None
        self._alive = self._worn = self._stocked = 0
        self._careful, self._company = None, False
        self._opened: list[Channel] = []
        self._declared: list[tuple[Mapping[str, Any], str]] = []
        self._taken: set[Channel | str] = set()
        """What this pass uses again."""
        self._before: dict[Channel, int] = {}
        super().connect("older")
        self._idle = super().queue() if circumstances.listeners else ""
        self._reserved = super().queue(before.arguments(super().queue, circumstances.used))
        with self._beside():
            before.lived(self, self.backstage(self._reserved), self._reserved, circumstances.used)
        if circumstances.forms.asides:
            self._speaker.prepare(super().queue())
        self._speaker.found_nowhere()
        scene()
        for _ in range(1, circumstances.passes):
            self.quiesce()
            self._begin_again(self._speaker)
            scene()

    def _begin_again(self, speaker: Speaker) -> None:
        self._again, self._former, self._latest = True, self._latest, None
        self._taken.clear()
        if self._now.alike:
            self.payloads.name_again()
        speaker.say_again()

    @property
    def connection(self) -> RawConnection:
        """The first connection, in all passes; where one has ended it, the next one has another."""
        if self._latest is None:
            former = self._former or super().connection
            self._latest = former if former.alive or not self._again else self.connect("c1")
        return self._latest

    def connect(self, name: str, *arguments: Any, **more: Any) -> RawConnection:
        while name in self.connections:
            name += " again"
        connection = super().connect(name, *arguments, **more)
        self._company = self._company or not name.startswith("c1")
        if self._speaker is not None and connection.target == self.target and any(map(self._about, CHANNELS)):
            with self._beside():
                before.opened(self, connection, self._now.opened)
        return connection

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
        for given, former in self._declared if self._again and not self._owns() else ():
            if given == (arguments or {}) and former not in self._taken and self._is_idle(former):
                self._taken.add(former)
                return former
        given = arguments or before.arguments(super().queue, self._now.used)
        if self.queue_type == "classic":
            given, durable = self._speaker.arguments(given), False if self._speaker.transient else None
        if self._owns():
            return super().queue(given, False, name=self._name_of_old(), exclusive=True)
        queue = super().queue(given, durable, name=self._name_of_old())
        self._declared.append((arguments or {}, queue))
        self._taken.add(queue)
        self._speaker.lead(queue)
        if self._now.spent and not TELLING & (arguments or {}).keys():
            self._spend(queue)
        if self.queue_type == "classic" and not arguments:
            self._stock(queue)
        return queue

    def _owns(self) -> bool:
        """Do queues belong to the connection now? That of a scene which was seen to have no other."""
        speaker = self._speaker
        return speaker is not None and speaker.exclusive and self._again and not self._company

    def _spend(self, queue: str) -> None:
        """Where it can be known that what was purged had come; who judges limits follows one connection alone."""
        with self._beside():
            careful = self._confirming() if self.offers("queue.purge") and not self._about("LEN") else None
            if careful is not None:
                before.spent(self, careful, queue)

    def _confirming(self) -> Channel | None:
        """A channel in confirm mode, on another connection than the scene's; None where there can be none."""
        older = self.connections["older"]
        if self._careful is None and older.alive and self.offers("confirm.select"):
            self._careful = super().channel(connection=older)
            self._careful.confirm()
        return self._careful if older.alive else None

    def _about(self, family: str) -> bool:
        return any(rule.startswith(family) for rule in self.rules)

    @contextlib.contextmanager
    def _beside(self) -> Iterator[None]:
        """Inside, all is sent as it is: it is no part of the scene."""
        speaker, self._speaker = self._speaker, None
        try:
            yield
        finally:
            self._speaker = speaker

    def _stock(self, queue: str) -> None:
        left = ALL_STOCK - self._stocked
        self._stocked += self._now.stock
        if self._now.stock and self._now.stock <= left:
            with self._beside():
                careful = self._confirming()
                (careful or self.backstage(queue)).publish(queue, self._now.stock)
                if careful:
                    self.confirmed(careful)

    def exchange(self, *queues: str, name: str | None = None, **declare: Any) -> str:
        exchange = super().exchange(*queues, name=name or self._name_of_old(exchange=True), **declare)
        if self._speaker is not None and declare.get("kind") in ("direct", "topic"):
            self._crowd(exchange)
        return exchange

    def _crowd(self, exchange: str) -> None:
        """Binds the idle queue to it, with keys that nobody uses."""
        channel = self.backstage(self._reserved)
        with self.batch():
            for number in range(self._now.crowd):
                channel.bind(self._reserved, exchange, f"unused.{number}")
        self.quiesce()

    def _name_of_old(self, *, exchange: bool = False) -> str | None:
        """The name of one that was deleted in a pass before."""
        reused = self._again and self._now.alike
        return self.belongings.take_gone(exchange=exchange) if reused else None

    def finish(self, *, give_back: bool = False) -> Judgement:
        if self._speaker is not None:
            self._speaker.stop_asides()
        return super().finish(give_back=give_back)

    def transmit(self, channel: Channel, *items: Item) -> None:
        super().transmit(channel, *(self._speaker.said(channel, items) if self._speaker else items))

    def _used(self) -> Channel | None:
        """A channel of a pass before that is idle."""
        for channel in self._opened if self._again else ():
            here = channel.state == "open" and channel.connection.alive
            if here and channel not in self._taken and not self._busy(channel):
                self._taken.add(channel)
                self._count_from_here(channel)
                return channel
        return None

    def _count_from_here(self, channel: Channel) -> None:
        """Scenes count from the first delivery of a channel: on one that was used, from where that ended."""
        view = channel.view
        self._before[channel] = view.last_tag if view is not None else 0

    def _is_idle(self, queue: str) -> bool:
        """Is it there, without consumers of a pass before? They would take what this one is about."""
        views = [channel.view for channel in self.used()]
        consumed = any(consumer.queue == queue for view in views if view for consumer in view.consumers.values())
        return queue in self.belongings.queues and not consumed

    def meant(self, channel: Channel, tag: int) -> int:
        before = self._before.get(channel, 0)
        if not before:
            return super().meant(channel, tag)
        unacked = channel.unacked
        return tag + before if tag not in unacked and tag + before in unacked else tag

    def _lived(self, channel: Channel) -> Channel:
        """With a past, unless its user may lack the rights for one, or the queue is in another virtual host."""
        if channel.connection.target != self.target:
            return channel
        with self._beside():
            if self._alive < LIVED:
                self._alive += 1
                before.lived(self, channel, self._reserved, self._now.used)
                self._listen(channel)
            if self._now.worn and self._worn + self._now.worn <= ALL_WORN:
                self._worn += self._now.worn
                wear = next((OWN_WEAR[one] for one in OWN_WEAR if self._about(one)), self._now.wear)
                before.worn(self, channel, self._reserved, self._now.worn, wear)
                self._count_from_here(channel)
            self._open_sibling(channel)
        if channel.connection is self.connection:
            self._opened.append(channel)
            self._taken.add(channel)
        return channel

    def _open_sibling(self, channel: Channel) -> None:
        """An idle channel beside it whose number ends in the same octet: what is meant for one may reach the other."""
        number = channel.number % OCTET
        known = {(one.connection, one.number) for one in self.used()}
        if self._roster.passed_over >= OCTET and number and (channel.connection, number) not in known:
            super().channel(number, channel.connection)

    def _listen(self, channel: Channel) -> None:
        with self.batch():
            for _ in range(self._now.listeners):
                channel.consume(self._idle)
        self.quiesce()

    def _busy(self, channel: Channel) -> bool:
        """Does it hold anything, serve anybody but listeners, or is it in a mode?"""
        view = channel.view
        if view is None or view.unacked or view.confirm or view.transactional:
            return True
        return any(consumer.queue != self._idle for consumer in view.consumers.values())
