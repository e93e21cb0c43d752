"""What exists by name in one history: exchanges, queues, bindings.

Clients race, so each thing has up to three answers to the question whether it is there when the broker handles what a
channel sends now: yes, no, and None, where the history does not decide. A change is certain for a channel if it was
answered before the channel sends, or if the same channel asked for it: the broker handles a channel in order.

A name that is declared again after its deletion is another object, so nothing old sticks to it. What the history has
not declared is not in the tables, and nothing is known of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from conformance.history.events import Event
from conformance.oracle.topology.policies import PolicyHistory
from conformance.oracle.topology.rights import Rights

PREDECLARED = {
    "amq.direct": "direct",
    "amq.fanout": "fanout",
    "amq.topic": "topic",
    "amq.headers": "headers",
    "amq.match": "headers",
}
"""Exchanges of every virtual host, by name, with their types. PDF 3.1.3."""


SOON = 2_000_000_000
"""Nanoseconds after which what goes by itself, with its last consumer or binding or with its connection, has certainly
gone. The texts do not say when, and for exchanges they ask for some delay."""


class Owner(Protocol):
    """A connection, as far as it matters here."""

    name: str
    vhost: str
    user: str
    whole: bool
    overheard: bool
    unreadable: set[str]
    entered: int
    closing: int
    left: int
    left_ns: int
    ended: int
    kicked: int
    hung_up_ns: int


class Actor(Protocol):
    """A channel, as far as it matters here."""

    @property
    def connection(self) -> Owner: ...

    @property
    def previous(self) -> Actor | None:
        """What had its number before."""

    @property
    def consumers(self) -> Mapping[str, Any]: ...

    @property
    def transactional(self) -> bool: ...

    @property
    def rolled_back(self) -> int: ...

    @property
    def indeterminate(self) -> bool:
        """Does nobody know any more what the broker has done there?"""


@dataclass(slots=True, eq=False, repr=False)
class TopologyChange:
    """Something that the client declared, bound or removed; `known` is when an answer came, 0 before."""

    by: Actor | None
    sent: int
    known: int = 0
    known_ns: int = 0
    """The time of that answer."""

    def came(self, event: Event) -> None:
        """This answers it, or shows that it was handled."""
        if not self.known:
            self.known, self.known_ns = event.seq, event.time_ns

    def is_over(self, at_ns: int) -> bool:
        """Was it answered so long ago that what goes with it has certainly gone?"""
        return self.known > 0 and at_ns - self.known_ns >= SOON

    def certain_for(self, channel: object) -> bool:
        """Has the broker certainly done it when it handles what this channel sends now?"""
        return self.known > 0 or self.by is channel

    @property
    def undone(self) -> bool:
        """Has the channel rolled back since it asked for it? That undoes no such thing."""
        return self.by is not None and self.by.rolled_back > self.sent

    @property
    def outlasts(self) -> bool:
        """Has the connection that asked for it ended, as the broker has agreed?"""
        return self.by is not None and self.by.connection.left > 0


@dataclass(slots=True, eq=False, repr=False)
class Thing:
    """An exchange or a queue, as it was declared."""

    name: str
    made: TopologyChange
    durable: bool = False
    auto_delete: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)
    gone: TopologyChange | None = None
    doubtful: bool = False
    """It may be gone, or be another than the one that was declared here."""
    again: TopologyChange | None = None
    """It was declared again, as it is."""
    spared: str = ""
    """The rule by which its deletion was refused."""

    def there_for(self, actor: Actor) -> bool | None:
        """Is it there for what this channel sends now?"""
        if self.gone is not None:
            return False if self.gone.certain_for(actor) else None
        return None if self.doubtful or not self.made.certain_for(actor) else True


@dataclass(slots=True, eq=False, repr=False)
class NamedQueue(Thing):
    """A queue, without its messages."""

    owner: Owner | None = None
    """The connection for which it is exclusive."""
    used: bool = False
    """It has had a consumer, as far as can be told: an auto-delete queue may be gone since."""
    chosen: bool = False
    """The broker has given it its name."""
    heir: bool = False
    """An exclusive queue of another connection had its name before."""

    def there_for(self, actor: Actor) -> bool | None:
        there = Thing.there_for(self, actor)
        if there and self.owner is not None and (self.owner.closing or self.owner.ended):
            return None
        return None if there and self.auto_delete and self.used else there

    def orphaned(self, actor: Actor, at_ns: int) -> bool:
        """Was its connection, which alone could use it, closed as agreed, or by the broker, and not just now?"""
        owner = self.owner
        since = owner.left_ns if owner and owner.left else owner.hung_up_ns if owner and owner.kicked else 0
        return 0 < since <= at_ns - SOON and Thing.there_for(self, actor) is True


@dataclass(slots=True, eq=False, repr=False)
class Exchange(Thing):
    """An exchange, with the bindings that lead away from it."""

    kind: str = ""
    internal: bool = False
    shared: bool = False
    """It was there before this history, so others may have bound to it."""
    bindings: list[Binding] = field(default_factory=list)
    bound: bool = False
    """It has had a binding: an auto-delete exchange may be gone since."""
    opaque: bool = False
    """It has bindings that are not known."""
    former: list[Binding] = field(default_factory=list)
    """The bindings of the one that had its name before."""

    def there_for(self, actor: Actor) -> bool | None:
        there = Thing.there_for(self, actor)
        idle = self.auto_delete and self.bound and not any(one.stands_for(actor) for one in self.bindings)
        return None if there and idle else there

    def abandoned(self, actor: Actor, at_ns: int) -> bool:
        """Was it to go with its last binding, and has that certainly been removed, and not just now?"""
        if not (self.auto_delete and self.bound) or self.opaque or Thing.there_for(self, actor) is not True:
            return False
        return all(one.stands_for(actor) is False and one.is_over(at_ns) for one in self.bindings)

    @property
    def alternate(self) -> str | None:
        """Its alternate exchange."""
        name = self.arguments.get("alternate-exchange")
        return name if isinstance(name, str) else None


class Terms(NamedTuple):
    """What a binding asks for: its key and its arguments, and of which types these are, as letters by their names."""

    key: str
    arguments: Mapping[str, Any]
    types: Mapping[str, Any]


@dataclass(slots=True, eq=False, repr=False)
class Binding:
    """A queue or an exchange bound to an exchange."""

    to: NamedQueue | Exchange
    terms: Terms
    added: TopologyChange
    removed: TopologyChange | None = None

    def same(self, to: NamedQueue | Exchange, terms: Terms) -> bool:
        """Is it the binding that these name?"""
        return self.to is to and self.terms[:2] == terms[:2]

    def stands_for(self, actor: Actor) -> bool | None:
        """Does it hold for what this channel sends now?"""
        there = self.to.there_for(actor)
        if there is False:
            return False
        if self.removed is not None:
            return False if self.removed.certain_for(actor) else None
        return True if there and self.added.certain_for(actor) else None

    def is_over(self, at_ns: int) -> bool:
        """Was it removed, or what it leads to, so long ago that what goes with it has certainly gone?"""
        return any(one is not None and one.is_over(at_ns) for one in (self.removed, self.to.gone))


Name = tuple[str, str]
"""A virtual host, and a name in it."""


class Topology:
    """The tables of one history."""

    __slots__ = ("exchanges", "former", "last", "policies", "queues", "rights", "sought", "unnamed")

    def __init__(self) -> None:
        self.exchanges: dict[Name, Exchange] = {}
        self.queues: dict[Name, NamedQueue] = {}
        self.former: set[Name] = set()
        """Exchanges of which something was known before everything was forgotten."""
        self.last: dict[Actor, str] = {}
        """The queue that each channel declared last: the one that an empty name stands for. Of the latest channels."""
        self.unnamed: dict[TopologyChange, NamedQueue] = {}
        """Queues whose name the broker chooses, until it tells."""
        self.sought: dict[TopologyChange, Thing] = {}
        """What is looked for and not known, until the answer comes: as it will be noted if it is not there."""
        self.rights = Rights()
        self.policies = PolicyHistory()

    def exchange(self, vhost: str, name: str) -> Exchange | None:
        """This exchange, where anything is known of it. Predeclared ones are there from the beginning."""
        found = self.exchanges.get((vhost, name))
        if found is None and name in PREDECLARED:
            made = TopologyChange(None, 0, known=1)
            found = Exchange(name, made, durable=True, kind=PREDECLARED[name], shared=True)
            self.exchanges[vhost, name] = found
        return found

    def queue(self, vhost: str, name: str) -> NamedQueue | None:
        """This queue, where anything is known of it."""
        return self.queues.get((vhost, name))

    def in_use(self, exchange: Exchange, actor: Actor) -> bool | None:
        """Do bindings lead away from it? None: nobody can tell, or it is the end of bindings, about which brokers do
        not agree."""
        stands = [one.stands_for(actor) for one in exchange.bindings]
        if True in stands:
            return True
        if None in stands or exchange.opaque or exchange.shared:
            return None
        here = (one for other in self.exchanges.values() for one in other.bindings if one.to is exchange)
        return None if any(one.stands_for(actor) is not False for one in here) else False
