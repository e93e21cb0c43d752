"""DLX-014: a dead letter goes wherever its exchange leads: over further exchanges, to an alternate, to several queues.

Where a rejected message will go is worked out when its client rejects it, as for a publish (`topology.explain`), from
the dead letter exchange and key of its queue. It is missed only in a plain queue that is found empty a good while after
the rejection was certainly taken, where nobody else can have got it. Bindings that change meanwhile end the claim.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from conformance.history.events import TO_BROKER
from conformance.oracle.model.connections.channels import OPEN, ChannelLife
from conformance.oracle.model.facts import Accepted, Delivered, FoundEmpty, Passed, Policed
from conformance.oracle.model.records import PUBLISHED, Delivery
from conformance.oracle.monitors.fate import LOSING
from conformance.oracle.monitors.messages.deadletters.deaths import EXCHANGE, KEY, MILLISECOND
from conformance.oracle.monitors.messages.ttl import Lives
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.patience import DEAD_LETTERS, too_late
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.monitors.topology.route import MOVES
from conformance.oracle.topology import Message, Topology, explain
from conformance.oracle.topology.state import NamedQueue

ONWARD = "DLX-014"
PROMPT = 1_000 * MILLISECOND
"""After this a dead letter has usually arrived."""
MESSAGES = 128


@dataclass(slots=True)
class Leaving:
    """One message that was rejected, and where it must come to, and must not."""

    rejected: int
    by: ChannelLife
    queue: str
    exchange: str
    reached: frozenset[str]
    barred: frozenset[str]
    several: bool
    """There is more than one queue, or one that is not bound to the exchange itself."""
    taken_ns: int = 0
    """When the broker had certainly taken the rejection."""
    came: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Departures:
    """The latest, by message; None where nothing is certain of it."""

    by_message: OrderedDict[str, Leaving | None] = field(default_factory=OrderedDict)


@follows("basic.nack", "basic.reject")
def rejected(fact: Passed, notes: Notes) -> None:
    """Where will it go?"""
    event, channel = fact.event, fact.connection.channels.get(fact.event.channel)
    if event.direction != TO_BROKER or event.has("requeue") or channel is None or not fact.connection.usable():
        return
    known = notes.memory(Departures).by_message
    tag, multiple = event.delivery_tag or 0, bool(event.multiple)
    for number, delivery in channel.unacked.items():
        if number == tag or (multiple and (tag == 0 or number <= tag)):
            leaving = _leaving(fact, channel, delivery) if delivery.message not in known else None
            known[delivery.message] = leaving
    while len(known) > MESSAGES:
        known.popitem(last=False)


def _leaving(fact: Passed, channel: ChannelLife, delivery: Delivery) -> Leaving | None:
    copy, publication = delivery.copy, delivery.copy.publication
    queue = fact.topology.queue(fact.connection.vhost, delivery.queue)
    sound = channel.state == OPEN and not (channel.indeterminate or channel.transactional or fact.topology.policies)
    if not sound or queue is None or queue.there_for(channel) is not True or publication is None:
        return None
    exchange, key = queue.arguments.get(EXCHANGE), queue.arguments.get(KEY, publication.routing_key)
    plain = copy.entry == PUBLISHED and not (copy.ambiguous or copy.indeterminate or copy.returns)
    named = '"CC"' in publication.content or '"BCC"' in publication.content
    if not (plain and isinstance(exchange, str) and exchange and isinstance(key, str)) or named:
        return None
    ways = explain(fact.topology, channel, exchange, Message(key, publication.content))
    if ways is None or ways.delicate:
        return None
    reached = frozenset(ways.reached)
    there = frozenset(_plain(fact.topology, channel, reached))
    barred = frozenset(ways.barred) - {queue.name} if there == reached else frozenset()  # else it may go on from there
    several = len(reached) > 1 or any(len(labels) > 1 for labels in ways.reached.values())
    return Leaving(fact.event.seq, channel, queue.name, exchange, there, barred, several)


def _plain(topology: Topology, channel: ChannelLife, names: frozenset[str]) -> Iterator[str]:
    """Those that certainly are there, and keep what they get."""
    for name in names:
        queue = topology.queue(channel.connection.vhost, name)
        if queue is not None and queue.there_for(channel) and _keeps(queue):
            yield name


def _keeps(queue: NamedQueue) -> bool:
    return not queue.auto_delete and queue.owner is None and set(queue.arguments) <= {"x-queue-type", EXCHANGE, KEY}


@judges(Accepted)
def taken(fact: Accepted, notes: Notes) -> None:
    """The broker has taken the rejection."""
    known = notes.memory(Departures).by_message
    for delivery in fact.settlement.covered if known else ():
        leaving = known.get(delivery.message)
        if leaving is not None and leaving.queue == delivery.queue:
            leaving.taken_ns = fact.event.time_ns


@follows(*MOVES)
def moved(fact: Passed, notes: Notes) -> None:
    """Bindings change while it may be on its way."""
    known, now = notes.memory(Departures).by_message, fact.event.time_ns
    for message, leaving in known.items():
        if leaving is not None and not 0 < leaving.taken_ns < now - PROMPT:
            known[message] = None


@judges(Policed)
def ruled(fact: Policed, notes: Notes) -> None:
    """Any queue may send its dead elsewhere by policy."""
    notes.memory(Departures).by_message.clear()


@judges(Delivered, ONWARD)
def came(fact: Delivered, notes: Notes) -> None:
    """It is in a queue: one that a way leads to?"""
    known = notes.memory(Departures).by_message
    leaving, name = known.get(fact.copy.id) if known else None, fact.queue.name
    if leaving is None or '"x-death"' not in fact.event.arguments:
        return
    if name in leaving.barred and fact.queue.declared:
        known[fact.copy.id] = None
        where = ", ".join(sorted(leaving.reached)) or "no queue that is known"
        observed = f"{fact.event.method} of it from {name}"
        allowed = f"dead letter {fact.copy.id} in {where}, as exchange {leaving.exchange} leads"
        notes.find(ONWARD, fact.event, allowed, observed, leaving.rejected)
    elif name in leaving.reached and name not in leaving.came:
        leaving.came.add(name)
        if leaving.several:
            notes.exercise(ONWARD)


@judges(FoundEmpty, ONWARD)
def never_came(fact: FoundEmpty, notes: Notes) -> None:
    """The queue is empty, and it should have been there for a while."""
    known, queue = notes.memory(Departures).by_message, fact.queue
    if not any(leaving is not None and queue.name in leaving.reached for leaving in known.values()):
        return
    asked = notes.memory(Lives).asked(fact.since)
    for message, leaving in known.items():
        if leaving is None or queue.name not in leaving.reached or queue.name in leaving.came:
            continue
        if not leaving.by.connection.usable() or not 0 < leaving.taken_ns < asked:
            continue
        if _untouched(fact, leaving) and too_late(asked, leaving.taken_ns, DEAD_LETTERS, notes):
            leaving.came.add(queue.name)
            allowed = f"dead letter {message} in {queue.name}, where exchange {leaving.exchange} leads"
            notes.find(ONWARD, fact.event, allowed, "the queue is empty", leaving.rejected, unless=LOSING)


def _untouched(fact: FoundEmpty, leaving: Leaving) -> bool:
    """Can nobody else have taken it, be it unseen?"""
    queue = fact.queue
    if queue.losers or queue.deleted or queue.purged > leaving.rejected or queue.purging:
        return False
    if queue.others(leaving.rejected, fact.receiver) or queue.lost_until > leaving.rejected:
        return False
    return 0 < queue.declared < leaving.rejected and all(one is fact.receiver for one in queue.receivers)
