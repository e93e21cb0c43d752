"""NOWAIT: methods that are carried out and not answered.

A memory of the family, for each life of a channel: what was sent with nowait, and what must be so from then on for
whatever the same channel sends next. Somebody else who touches the same name ends that.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.history.events import TO_BROKER, Event
from conformance.oracle.model.connections.channels import OPEN, ChannelLife
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.consumers.delivering import request_of
from conformance.oracle.model.facts import (
    Answered,
    ClosedUnasked,
    Confirmed,
    Delivered,
    Faulted,
    FoundEmpty,
    Passed,
    Returned,
    Unrequested,
)
from conformance.oracle.model.records import WAITING
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.refusals import refuses
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.monitors.topology import route
from conformance.oracle.topology.preconditions import Asked

SILENT, DECLARED, BOUND = "NOWAIT-001", "NOWAIT-002", "NOWAIT-003"
REMOVED, CONSUMING, FAILS = "NOWAIT-004", "NOWAIT-005", "NOWAIT-006"
METHODS = (
    "queue.declare",
    "queue.bind",
    "queue.purge",
    "queue.delete",
    "exchange.declare",
    "exchange.delete",
    "exchange.bind",
    "exchange.unbind",
    "basic.consume",
)
"""Of the others CAN-014 and CNF-001 speak."""
KINDS = "queues", "exchanges", "consumers"
THINGS = "a queue", "an exchange"
PURGED, GONE, LOST = "a purged queue", "a deleted queue", "a deleted exchange"
REMOVALS = PURGED, GONE, LOST
NOT_FOUND = 404
MOST = 64
"""So many channels are remembered, and names of each."""


@dataclass(slots=True)
class Quiet:
    """What one channel has sent with nowait."""

    sent: dict[str, int] = field(default_factory=dict)
    """The last of each method, until an answer shows that the channel would have answered by then."""
    things: dict[str, tuple[bool, int]] = field(default_factory=dict)
    """By kind and name: is it there since, and what made it so?"""
    purged: dict[str, int] = field(default_factory=dict)
    asked: dict[int, tuple[str, bool, int]] = field(default_factory=dict)
    """Passive declarations that wait for their answer: the kind of thing, whether it must be there, and since what."""


@dataclass(slots=True)
class Quiets:
    """By the seq at which the channel was opened; exchanges, by whether all of their bindings were made with nowait."""

    channels: dict[int, Quiet] = field(default_factory=dict)
    bound: dict[str, int] = field(default_factory=dict)
    """Exchanges all of whose bindings were made with nowait, and when the last was."""
    loud: set[str] = field(default_factory=set)

    def of(self, channel: ChannelLife) -> Quiet:
        """Of this channel, made when it is first asked for."""
        found = self.channels.get(channel.opened)
        if found is None:
            found = self.channels[channel.opened] = Quiet()
            if len(self.channels) > MOST:
                del self.channels[next(iter(self.channels))]
        return found


@refuses(FAILS, "queue.purge", "queue.declare", code=404, what="a method with nowait for a queue that does not exist")
def missing(asked: Asked) -> bool | None:
    """Is there no such queue, where it must be there?"""
    event = asked.event
    if not event.has("no_wait") or (event.method == "queue.declare" and not event.has("passive")):
        return False
    there = asked.queue_there()
    return None if there is None else not there


@refuses(FAILS, "basic.consume", code=403, what="a consumer with nowait beside an exclusive one")
def excluded(asked: Asked) -> bool | None:
    """Has the queue an exclusive consumer? That an exclusive one may join others is another mistake of a broker: then
    nothing has failed of which the client could be told."""
    if not asked.event.has("no_wait"):
        return False
    return asked.stock.monopolised() if asked.stock is not None else None


@follows(*METHODS)
def sent(fact: Passed, notes: Notes) -> None:
    """A client's method, with nowait or without."""
    event, channel = fact.event, fact.connection.channels.get(fact.event.channel)
    if event.direction != TO_BROKER or channel is None or channel.state != OPEN or channel.adopted:
        return
    memory, quiet = notes.memory(Quiets), event.has("no_wait")
    _binds(event, memory, quiet=quiet)
    key = _thing(event)
    for other in memory.channels.values() if not event.has("passive") else ():
        other.things.pop(key, None)
        if event.method == "queue.delete" and not event.queue:  # of the last that was declared, whichever that is
            other.things = {one: known for one, known in other.things.items() if not one.startswith("queue ")}
    if quiet:
        _quietly(event, key, memory.of(channel))
    elif event.has("passive") and channel.opened in memory.channels:
        known = memory.of(channel)
        if key in known.things:
            there, since = known.things[key]
            known.asked[event.seq] = key.split()[0], there, since


def _thing(event: Event) -> str:
    """The queue or exchange that is declared or deleted."""
    kind, _, verb = event.method.partition(".")
    name = event.queue if kind == "queue" else event.exchange
    return f"{kind} {name}" if verb in ("declare", "delete") and name else ""


def _quietly(event: Event, key: str, known: Quiet) -> None:
    known.sent[event.method] = event.seq
    plain = not (event.has("if_unused") or event.has("if_empty") or event.has("auto_delete"))
    if key and plain and not event.has("passive") and '"x-expires"' not in event.arguments:
        known.things[key] = event.method.endswith("declare"), event.seq
    if event.method == "queue.purge" and event.queue:
        known.purged[event.queue] = event.seq
    for table in (known.things, known.purged):
        if len(table) > MOST:
            del table[next(iter(table))]


def _binds(event: Event, memory: Quiets, *, quiet: bool) -> None:
    if event.method not in ("queue.bind", "exchange.bind"):
        return
    name = str(event.args.get("source") or event.exchange or "")
    if not quiet:
        memory.loud.add(name)
        memory.bound.pop(name, None)
    elif name not in memory.loud:
        memory.bound[name] = event.seq


@judges(Unrequested, SILENT)
def answered_all_the_same(fact: Unrequested, notes: Notes) -> None:
    """An answer that nobody waits for, to a method that was sent with nowait."""
    memory, method = notes.memory(Quiets), request_of(fact.event.method)
    known = memory.channels.get(fact.channel.opened)
    if known is not None and method in known.sent and not fact.channel.indeterminate:
        notes.find(SILENT, fact.event, f"no answer to {method} with nowait", fact.event.method, known.sent[method])


@judges(Answered, SILENT, DECLARED, REMOVED)
def went_on(fact: Answered, notes: Notes) -> None:
    """The answer to a method that was sent later; maybe to the question whether something is there."""
    memory, request = notes.memory(Quiets), fact.request
    known = memory.channels.get(fact.channel.opened) if memory.channels else None
    if known is None:
        return
    for method in [method for method, seq in known.sent.items() if seq < request.seq]:
        del known.sent[method]
        notes.show(SILENT, _kind(method), KINDS)
    if request.seq in known.asked:
        kind, there, since = known.asked.pop(request.seq)
        if there:
            notes.show(DECLARED, "a queue" if kind == "queue" else "an exchange", THINGS)
        else:
            allowed = f"channel.close 404: the {kind} was deleted with nowait"
            notes.find(REMOVED, fact.event, allowed, fact.event.method, since, request.seq)


def _kind(method: str) -> str:
    return {"queue": "queues", "exchange": "exchanges"}.get(method.split(".")[0], "consumers")


@judges(ClosedUnasked, DECLARED, REMOVED)
def not_found(fact: ClosedUnasked, notes: Notes) -> None:
    """The broker says that something is not there."""
    pending = [one for one in fact.channel.pending() if (one.class_id, one.method_id) == ids_of(fact.event)]
    _closed(fact, pending[0].seq if len(pending) == 1 else 0, notes)


@judges(Faulted, REMOVED)
def as_it_must(fact: Faulted, notes: Notes) -> None:
    """And so it must."""
    _closed(fact, fact.error.seq, notes)


def _closed(fact: ClosedUnasked | Faulted, asked: int, notes: Notes) -> None:
    known, event = notes.memory(Quiets).channels.pop(fact.channel.opened, None), fact.event
    if known is None or int(event.args.get("reply_code", 0)) != NOT_FOUND:
        return
    if asked not in known.asked:
        return
    kind, there, since = known.asked[asked]
    if there:
        allowed = f"the {kind} that was declared with nowait"
        notes.find(DECLARED, event, allowed, closing(event.args), since, asked)
    else:
        notes.show(REMOVED, GONE if kind == "queue" else LOST, REMOVALS)


@judges(Returned, BOUND)
def not_routed(fact: Returned, notes: Notes) -> None:
    """A publish came back that the new binding leads on. A broker that returns what is routed returns this as well."""
    publication, memory = fact.publication, notes.memory(Quiets)
    if publication is None or not publication.routed or not publication.mandatory or publication.returned:
        return
    since = memory.bound.get(publication.exchange, 0)
    sure = not any(copy.queue.deleted for copy in publication.copies) and not route.hangs_on_match(publication, notes)
    if 0 < since < publication.seq and sure:
        allowed = f"no return of {publication}: a binding was made with nowait"
        notes.find(BOUND, fact.event, allowed, "basic.return", since, publication.seq, unless=("CNF-025",))


@judges(Confirmed, BOUND)
def routed(fact: Confirmed, notes: Notes) -> None:
    """A mandatory publish is confirmed, and has not come back."""
    memory = notes.memory(Quiets)
    for publication in fact.resolved if memory.bound else ():
        since = memory.bound.get(publication.exchange, 0)
        if 0 < since < publication.seq and publication.mandatory and publication.routed and not publication.returned:
            notes.exercise(BOUND)


@judges(FoundEmpty, REMOVED)
def purged(fact: FoundEmpty, notes: Notes) -> None:
    """Nothing is left of what was there before the purge."""
    known = notes.memory(Quiets).channels.get(fact.channel.opened)
    since = known.purged.pop(fact.queue.name, 0) if known is not None else 0
    if since and any(0 < copy.confirmed < since and not copy.seen for copy in fact.queue.copies.values()):
        notes.show(REMOVED, PURGED, REMOVALS)


@judges(Delivered, REMOVED, CONSUMING)
def came(fact: Delivered, notes: Notes) -> None:
    """A message: of a purged queue, or for a consumer that was started with nowait."""
    memory, consumer, copy = notes.memory(Quiets), fact.delivery.consumer, fact.copy
    known = memory.channels.get(fact.channel.opened) if memory.channels else None
    if known is None:
        return
    if consumer is not None and consumer.quiet and not consumer.received:
        notes.exercise(CONSUMING)
    since = known.purged.get(fact.queue.name, 0)
    if 0 < copy.confirmed < since < fact.since and copy.place == WAITING and not (copy.seen or copy.ambiguous):
        allowed = f"{copy.id} is gone: {fact.queue.name} was purged with nowait"
        notes.find(REMOVED, fact.event, allowed, fact.event.method, since, copy.published)
