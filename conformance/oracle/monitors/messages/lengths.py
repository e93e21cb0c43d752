"""What the history tells of queues that hold so much and no more: for the family LEN.

A `Bounded` is a queue that was declared with a limit. It is followed for as long as all that happens to it is certain:
one channel in confirm mode fills it, and gets of the same connection empty it while no publish is under way. `ready` is
what must be there, from the oldest to the newest. In a queue with priorities the head is the oldest of the highest
priority. Once a client gives something back, or consumes, only how many may be there is still certain: `restless` says
on which channel that was, and `more` how many there would be without a limit.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from conformance.oracle.monitors.gets import OpenGets

Place = tuple[str, int]
"""A connection, and a channel of it."""


@dataclass(frozen=True, slots=True)
class Purge:
    """A queue that a channel has asked to be emptied; how many messages had come, and whether it had refused any."""

    queue: str
    came: int = 0
    closed: bool = False


@dataclass(slots=True)
class Publish:
    """One message on its way into the queue; `kept` is what its confirm says, `rank` its priority there."""

    message: str
    octets: int
    rank: int = 0
    kept: bool | None = None
    commit: int = 0
    """The commit that carries it out, while that is not answered."""


@dataclass(slots=True)
class Bounded:
    """One queue with a limit, from its declaration on."""

    connection: str
    kind: str
    most: int | None
    octets: int | None
    refuses: bool
    levels: int = 0
    """Its x-max-priority."""
    publisher: int = 0
    pending: list[Publish] = field(default_factory=list)
    ready: list[Publish] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    """What it has had no room for."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Octets of each message that has come."""
    taken: list[str] = field(default_factory=list)
    """What gets have brought since the last publish."""
    held: dict[int, set[int]] = field(default_factory=dict)
    """Channels that have got messages of it to settle, and their tags."""
    crowded: bool = False
    """Some were unacked when a message came for which there was room."""
    restless: int = 0
    """The channel that has given some back, where nothing else makes their number uncertain."""
    more: int = 0
    """So many were there and came back."""
    consumers: set[tuple[int, str]] = field(default_factory=set)
    """Channels and tags of those that its connection has started."""
    beside: bool = False
    """They have all left, and what they have left is counted."""
    brought: int = 0
    """So many messages they have got."""
    strange: bool = False
    """Something has happened to it of which nobody knows when, or how much."""
    foreign: bool = False
    """That may happen again, or is not over when the queue is found empty."""
    returning: set[int] = field(default_factory=set)
    """Channels that have given something back, which may still be on its way."""
    automatic: set[tuple[int, str]] = field(default_factory=set)
    """Of its consumers those that settle nothing."""
    closed: bool = False
    """It has refused something because it was full."""
    reopened: bool = False
    """After that it has taken something, for which there was room again."""
    denied: list[str] = field(default_factory=list)
    """What it has refused one after another although there was room again, even if all of that is there; or although it
    is to drop its oldest."""
    came: int = 0
    ranks: set[int] = field(default_factory=set)
    asking: int = 0
    unsure: bool = False

    def alike(self, other: Bounded) -> bool:
        """Do both have the same limits, of the same kind?"""
        ours = self.kind, self.most, self.octets, self.refuses, self.levels
        return ours == (other.kind, other.most, other.octets, other.refuses, other.levels)

    def over(self) -> bool:
        """Are there more than may be?"""
        if self.most is not None and len(self.ready) > self.most:
            return True
        return self.octets is not None and self.size() > self.octets

    def size(self) -> int:
        """The octets of all bodies that are there."""
        return sum(one.octets for one in self.ready)

    def head(self) -> int:
        """Which of those that are there would be served next?"""
        ranks = [one.rank for one in self.ready]
        return ranks.index(max(ranks))

    def commit(self, seq: int) -> None:
        """What its publisher has sent in a transaction is to come."""
        for one in self.pending:
            one.commit = one.commit or seq

    def committed(self, seq: int) -> None:
        """It has come."""
        for one in self.pending:
            one.kept = one.kept or (True if one.commit == seq else None)
        self.enter()

    def enter(self) -> None:
        """What is confirmed is there, in the order in which it was published."""
        while self.pending and self.pending[0].kept is not None:
            one = self.pending.pop(0)
            self.came += 1
            self.ranks.add(one.rank)
            self.ready.append(one)
            full = self.over()
            if self.refuses:
                self._weigh(one, full=full)
            elif one.kept:
                self.denied.clear()
            elif full and self.octets is None and not (self.strange or self.foreign):
                self.denied.append(one.message)
            self.unsure = self.unsure or not (self.refuses or one.kept)
            while self.over():
                self.gone.add(self.ready.pop(self.head()).message)
            self.crowded = self.crowded or (bool(self.held) and not full)

    def _weigh(self, one: Publish, *, full: bool) -> None:
        """It refuses the newest if it is full, and then alone."""
        if full:
            self.gone.add(self.ready.pop().message)
        if one.kept:
            self.denied.clear()
        elif not full and (self.denied or (self.closed and self.octets is None and not self.unsure)):
            self.denied.append(one.message)
        if full == bool(one.kept):  # CNF-011 speaks of what it takes although it is full
            self.unsure = True
        self.reopened = self.reopened or (self.closed and not full)
        self.closed = self.closed or full

    def disturb(self, *, foreign: bool = True) -> None:
        """Something happens to it of which nobody knows when, or how much; `foreign`: nor when it is over."""
        self.unsure, self.strange, self.restless = True, True, 0
        self.foreign = self.foreign or foreign
        self.denied.clear()

    def found_empty(self, channel: int) -> None:
        """This channel has found nothing there. If nothing is under way either, all is certain again, whatever has
        happened before. What the channel has given back itself had come back by then."""
        self.ready, self.taken, self.restless = [], [], 0
        if self.foreign or not self.idle() or not self.returning <= {channel}:
            return
        self.returning.clear()
        self.unsure = self.strange = self.beside = self.crowded = self.closed = self.reopened = False
        self.gone, self.ranks, self.held = set(), set(), {}
        self.came = self.brought = self.more = 0
        self.denied.clear()

    def found_purged(self, purge: Purge) -> None:
        """It was emptied; nothing has come since that was asked, and so it has room, if it was full."""
        if not self.foreign and self.idle() and not self.returning and self.came == purge.came:
            self.ready, self.taken, self.unsure, self.strange, self.closed = [], [], False, False, purge.closed

    def idle(self) -> bool:
        """Does nobody hold any of it, and is nothing under way?"""
        return not (self.pending or self.asking or self.consumers or any(self.held.values()))

    def join(self, channel: int, tag: str, *, automatic: bool) -> None:
        """A consumer is started: what is there is not certain from now on, how much may be there is."""
        self.strange = self.strange or not tag or (self.unsure and not self.consumers)
        self.unsure, self.restless, self.beside = True, 0, False
        self.consumers.add((channel, tag))
        if automatic:
            self.automatic.add((channel, tag))

    def part(self, channel: int, tag: str) -> None:
        """A consumer has left; was it the last one, and is nothing under way?"""
        if (channel, tag) not in self.consumers:
            return
        self.consumers.discard((channel, tag))
        self.automatic.discard((channel, tag))
        if self.alone(channel) and not (self.consumers or self.strange or self.pending or self.asking):
            self.restless, self.beside, self.taken = channel, True, []
            self.more = self.came - self.brought

    def settle(self, channel: int, tag: int, *, multiple: bool) -> set[int]:
        """The client wants these no longer: which of them were out?"""
        tags = self.held.get(channel, set())
        done = {one for one in tags if one == tag or (multiple and (one <= tag or not tag))}
        tags -= done
        return done

    def give_back(self, channel: int, tag: int, *, multiple: bool) -> None:
        """A client wants these to be there again. Where they stand then, no rule of the family says."""
        back = self.settle(channel, tag, multiple=multiple)
        known = self.restless == channel or not (self.unsure or self.restless)
        if back and known and self.alone(channel) and not (self.pending or self.asking):
            self.more = (self.more if self.restless else len(self.ready)) - len(self.taken) + len(back)
            self.restless, self.beside, self.taken = channel, False, []
        elif back:
            self.disturb(foreign=False)
        if back:
            self.returning.add(channel)
            self.foreign = self.foreign or self.asking > 0 or self.kind != "classic"
        self.unsure = self.unsure or bool(back)

    def alone(self, channel: int) -> bool:
        """Does no other channel hold any of it, which its end may bring back at any moment?"""
        return not any(tags for other, tags in self.held.items() if other != channel)


@dataclass(slots=True)
class Limits:
    """By the names of queues; and which of them gets ask."""

    by_queue: OrderedDict[str, Bounded] = field(default_factory=OrderedDict)
    asked: OpenGets = field(default_factory=OpenGets)
    purged: dict[Place, list[Purge]] = field(default_factory=dict)
    """What a channel has asked to be emptied."""
    deleted: set[str] = field(default_factory=set)
    """Those that were deleted while nobody used them."""
    fed: set[str] = field(default_factory=set)
    """Queues into which dead letters may come; the empty name stands for any."""

    def of(self, connection: str) -> Iterator[Bounded]:
        """All that this connection declared."""
        return (one for one in self.by_queue.values() if one.connection == connection)

    def doubt(self) -> None:
        """Anything may have come into any of them."""
        for one in self.by_queue.values():
            one.disturb()
