"""What a restart must leave: the memory of the family DUR, which the definitions and the messages share.

When the broker is about to be shut down, in good order and with nothing under way, what the history has proven by then
is put down here. From the event on that says that it is back, answers are compared with it. Nothing else is: a name
that a client has changed since, or declared before it was seen to be there, is no evidence any more, and neither is
what only may have been there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from conformance.history.events import TO_BROKER, Event
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.facts import Passed, Started, Stopping
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.topology import Binding, Exchange, NamedQueue, Topology
from conformance.oracle.topology.state import Thing

KEPT, EXCLUSIVE, TRANSIENT, DELETED = "kept", "exclusive", "transient", "deleted"
Place = tuple[str, int]
"""A connection, and a channel of it."""
Name = tuple[str, str]
"""A virtual host, and a name in it."""
T = TypeVar("T", NamedQueue, Exchange)


@dataclass(frozen=True, slots=True)
class ExistenceQuestion:
    """A question of a client about what is there."""

    seq: int
    ids: tuple[int, int]
    method: str
    name: str
    flags: str
    kind: str
    """The type of an exchange."""
    arguments: Mapping[str, Any]

    @classmethod
    def of(cls, event: Event) -> ExistenceQuestion:
        """What this method asks."""
        arguments = event.args.get("arguments")
        return cls(
            event.seq,
            (event.class_id, event.method_id),
            event.method,
            event.queue or event.exchange or "",
            event.flags,
            str(event.args.get("type") or ""),
            deepcopy(arguments) if isinstance(arguments, dict) else {},
        )

    def has(self, flag: str) -> bool:
        """Is this bit of the method set?"""
        return flag in self.flags.split()


@dataclass(slots=True)
class Kept:
    """Of one history. `asked`: what each channel waits for an answer to, in order."""

    started: bool = False
    queues: dict[Name, NamedQueue] = field(default_factory=dict)
    exchanges: dict[Name, Exchange] = field(default_factory=dict)
    routes: Topology | None = None
    """What is durable, and its bindings, as long as nobody has changed anything since."""
    removed: dict[Name, list[Binding]] = field(default_factory=dict)
    """Bindings of durable exchanges that had been removed before."""
    equal: set[Name] = field(default_factory=set)
    """Queues and exchanges, by a letter and the name, that could be declared again as they were before the restart."""
    predeclared: set[Name] = field(default_factory=set)
    """The broker's exchanges that were there before."""
    found: set[Name] = field(default_factory=set)
    """Queues that were seen to be there since."""
    exchanges_found: set[Name] = field(default_factory=set)
    touched: set[Name] = field(default_factory=set)
    asked: dict[Place, deque[ExistenceQuestion]] = field(default_factory=dict)
    blind: set[Place] = field(default_factory=set)
    """Channels on which something is sent that is not answered: whatever comes there may be about that."""


def place_of(event: Event) -> Place:
    return event.connection, event.channel


def sure(thing: Thing) -> bool:
    """Was it certainly there?"""
    idle = thing.auto_delete and (thing.used if isinstance(thing, NamedQueue) else _may_be_unbound(thing))
    return thing.gone is None and not thing.doubtful and thing.made.known > 0 and not idle


def _may_be_unbound(thing: Thing) -> bool:
    """May it have lost its last binding, or lose it in a restart? Not while it leads to a queue that stays."""
    if not isinstance(thing, Exchange) or not thing.bound:
        return False
    stand = (one for one in thing.bindings if one.added.known and one.removed is None)
    return not any(isinstance(one.to, NamedQueue) and fate(one.to) == KEPT for one in stand)


def fate(thing: Thing) -> str:
    """What a restart makes of it; empty: that cannot be told."""
    if isinstance(thing, NamedQueue) and thing.owner is not None:
        return EXCLUSIVE if sure(thing) else ""
    if thing.gone is not None:
        was_there = thing.durable and not thing.doubtful and thing.made.known > 0
        return DELETED if was_there and thing.gone.known > 0 else ""
    if not sure(thing):
        return ""
    return KEPT if thing.durable else TRANSIENT


@judges(Stopping)
def put_down(fact: Stopping, notes: Notes) -> None:
    """All that is known now."""
    kept, before = notes.memory(Kept), fact.topology
    routes = _unchanged(kept, before) if kept.started else None
    if routes is None:
        kept.removed = {name: list(_removed(one)) for name, one in before.exchanges.items()}
        routes = _durable(before)
    kept.routes = routes
    kept.queues = {**_still_there(kept, kept.queues, kept.found), **before.queues}
    kept.exchanges = {**_still_there(kept, kept.exchanges, kept.exchanges_found), **before.exchanges}
    kept.started = False
    for memory in (kept.found, kept.exchanges_found, kept.touched, kept.asked, kept.blind):
        memory.clear()


@judges(Started)
def begin(fact: Started, notes: Notes) -> None:
    """From now on what comes is compared."""
    notes.memory(Kept).started = True


def _still_there(kept: Kept, things: Mapping[Name, T], found: set[Name]) -> dict[Name, T]:
    """What was there after the last restart, and has not been touched since; what may go by itself is not sure."""
    known = {name: things[name] for name in found - kept.touched if name in things} if kept.started else {}
    return {name: one for name, one in known.items() if not one.auto_delete}


def _unchanged(kept: Kept, now: Topology) -> Topology | None:
    """What led where before the last restart, if no client has bound, unbound or deleted anything since, and nothing of
    it may have gone by itself, or come into use."""
    routes = kept.routes
    if routes is None:
        return None
    bound = {one.to for exchange in routes.exchanges.values() for one in exchange.bindings}
    queues = [one for one in bound if isinstance(one, NamedQueue)]
    mortal = any(one.auto_delete or "expires" in now.policies.keys(one.name) for one in queues)
    awaited = {(vhost, one.alternate) for (vhost, _), one in routes.exchanges.items()} - routes.exchanges.keys()
    return None if mortal or awaited & now.exchanges.keys() else routes


def _removed(exchange: Exchange) -> Iterator[Binding]:
    return (one for one in exchange.bindings if one.removed is not None and one.removed.known and fate(one.to) == KEPT)


def _durable(before: Topology) -> Topology:
    """The durable things of this, bound to each other as they were."""
    after = Topology()
    after.queues = {name: queue for name, queue in before.queues.items() if fate(queue) == KEPT}
    after.exchanges = {name: replace(one, bindings=[]) for name, one in before.exchanges.items() if fate(one) == KEPT}
    copies: dict[NamedQueue | Exchange, NamedQueue | Exchange] = {queue: queue for queue in after.queues.values()}
    copies.update({before.exchanges[name]: one for name, one in after.exchanges.items()})
    for name, exchange in after.exchanges.items():
        for one in before.exchanges[name].bindings:
            if one.removed is not None and one.removed.known:
                continue
            if one.removed is not None or not one.added.known or not fate(one.to):
                exchange.opaque = True
            elif one.to in copies:
                exchange.bindings.append(replace(one, to=copies[one.to]))
    return after


@follows("queue.declare", "exchange.declare", "basic.get")
def asked(fact: Passed, notes: Notes) -> None:
    """A question about what is there. What is declared anew before it was seen is no evidence."""
    event, kept = fact.event, notes.memory(Kept)
    if event.direction != TO_BROKER:
        return
    if event.has("no_wait"):
        kept.blind.add(place_of(event))
    kept.asked.setdefault(place_of(event), deque()).append(ExistenceQuestion.of(event))


def answered(kept: Kept, event: Event) -> ExistenceQuestion | None:
    """The question that this answers, be it by a close; None: that is not certain."""
    waiting = kept.asked.get(place_of(event))
    if not waiting or place_of(event) in kept.blind:
        return None
    request = waiting.popleft()
    if event.method == "channel.close":
        waiting.clear()
        return request if ids_of(event) == request.ids else None
    if event.method.rpartition("-")[0] == request.method:
        return request
    kept.blind.add(place_of(event))
    return None


@follows("basic.get-ok", "basic.get-empty")
def got(fact: Passed, notes: Notes) -> None:
    """A get is answered, and is no question any more."""
    answered(notes.memory(Kept), fact.event)


@follows("channel.open")
def opened(fact: Passed, notes: Notes) -> None:
    """A channel begins with nothing asked."""
    kept = notes.memory(Kept)
    kept.asked.pop(place_of(fact.event), None)
    kept.blind.discard(place_of(fact.event))


CHANGES = ("queue.delete", "queue.bind", "queue.unbind", "exchange.delete", "exchange.bind", "exchange.unbind")


@follows(*CHANGES)
def changed(fact: Passed, notes: Notes) -> None:
    """A client changes what is there: from now on routes prove nothing, nor does the name."""
    event, kept = fact.event, notes.memory(Kept)
    if kept.started and event.direction == TO_BROKER:
        kept.routes = None
        kept.touched.update((fact.connection.vhost, name) for name in _names(event))


def _names(event: Event) -> Iterable[str]:
    ends = (event.args.get("source"), event.args.get("destination"))
    return {str(one) for one in (event.queue, event.exchange, *ends) if one}
