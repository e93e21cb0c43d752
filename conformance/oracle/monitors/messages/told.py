"""LEN-001 by what a queue says of itself, and then gives out: more messages were ready than its limit allows.

Whatever has brought them, be it publishes or dead letters. What a queue says of their number alone is no evidence: a
broker may count late, or count what a client holds. When it has said too many, and gives out more than its limit of
those that were there then, it had them all at once. A policy may set a lower limit, but no higher one.

A memory of the family: the limits of queues that have said too many, and what they have given out since.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.oracle.model.facts import Delivered, FoundEmpty, Passed
from conformance.oracle.model.records import PUBLISHED, Copy
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows, judges

COUNT = "LEN-001"
MOST, OVERFLOW, KIND = "x-max-length", "x-overflow", "x-queue-type"
DROPS, REFUSES = "drop-head", ("reject-publish", "reject-publish-dlx")
QUEUES = 256


@dataclass(slots=True)
class Crowd:
    """One queue that has said that it holds more than it may."""

    most: int
    count: int
    """What it has said."""
    asked: int
    """When the question was sent."""
    told: int
    """When it was answered."""
    out: set[str] = field(default_factory=set)
    """What was there when it was asked, and has come out since."""


@dataclass(slots=True)
class Crowds:
    """By the names of queues."""

    by_queue: dict[str, Crowd] = field(default_factory=dict)


@follows("queue.declare-ok")
def declared(fact: Passed, notes: Notes) -> None:
    """Somebody has declared the queue, or looked for it, and is told how many messages there are."""
    event, known = fact.event, notes.memory(Crowds).by_queue
    found = fact.topology.queue(fact.connection.vhost, event.queue or "")
    channel = fact.connection.channels.get(event.channel)
    asked = channel.requests.get(("queue.declare", "")) if channel is not None else None
    if not event.queue or not asked or found is None or found.gone is not None:
        return
    known.pop(event.queue, None)
    if not 0 < found.made.known < asked[0].seq:
        return
    most, count = found.arguments.get(MOST), int(event.args.get("message_count", 0))
    how, kind = found.arguments.get(OVERFLOW, DROPS), found.arguments.get(KIND, "classic")
    judged = kind == "classic" and how in (DROPS, *REFUSES) and len(known) < QUEUES
    if judged and isinstance(most, int) and count > most:
        known[event.queue] = Crowd(most, count, asked[0].seq, event.seq)


@judges(Delivered, COUNT)
def got(fact: Delivered, notes: Notes) -> None:
    """One more comes out of it."""
    known = notes.memory(Crowds).by_queue
    crowd = known.get(fact.queue.name) if known else None
    if crowd is None or fact.queue.deleted or not 0 < fact.queue.declared < crowd.asked:
        return
    if _was_there(fact.copy, crowd) and not fact.event.has("redelivered"):
        crowd.out.add(fact.copy.id)
    if len(crowd.out) > crowd.most:
        del known[fact.queue.name]
        allowed = f"{crowd.most} messages in {fact.queue.name} at the most"
        observed = f"it says {crowd.count}, and gives out {len(crowd.out)} of them"
        notes.find(COUNT, fact.event, allowed, observed, crowd.told)


def _was_there(copy: Copy, crowd: Crowd) -> bool:
    """Had it certainly come by then? Of dead letters that says the count."""
    published = copy.entry == PUBLISHED and 0 < copy.confirmed < crowd.asked
    return published or (copy.inherited and copy.entered < crowd.asked)


@judges(FoundEmpty)
def empty(fact: FoundEmpty, notes: Notes) -> None:
    """What comes out later came later."""
    notes.memory(Crowds).by_queue.pop(fact.queue.name, None)
