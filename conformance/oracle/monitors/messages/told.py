"""LEN-001 by what a queue says of itself: that more messages are ready than its limit allows.

Whatever has brought them, be it publishes, dead letters or returns: a queue that drops its oldest messages has done so
before it answers anybody, so what it says is never more. A policy may set a lower limit, but no higher one.

A memory of the family: the limits of such queues, and when they were told last that the queue is there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.oracle.model.facts import Delivered, Passed
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows, judges

COUNT = "LEN-001"
MOST, OVERFLOW, KIND, DROPS = "x-max-length", "x-overflow", "x-queue-type", "drop-head"
QUEUES = 256


@dataclass(slots=True)
class KnownLimits:
    """By the names of queues: the limit, and the declare-ok that spoke of it."""

    by_queue: dict[str, tuple[int, int]] = field(default_factory=dict)


@follows("queue.declare-ok", rules=(COUNT,))
def declared(fact: Passed, notes: Notes) -> None:
    """Somebody has declared the queue, or looked for it, and is told how many messages there are."""
    event, known = fact.event, notes.memory(KnownLimits).by_queue
    found = fact.topology.queue(fact.connection.vhost, event.queue or "")
    if not event.queue or found is None or found.gone is not None or not found.made.known:
        return
    known.pop(event.queue, None)
    most, arguments = found.arguments.get(MOST), found.arguments
    drops = arguments.get(OVERFLOW, DROPS) == DROPS and arguments.get(KIND, "classic") == "classic"
    if not drops or not isinstance(most, int) or len(known) == QUEUES:
        return
    known[event.queue] = most, event.seq
    count = int(event.args.get("message_count", 0))
    if count > most:
        allowed = f"{most} messages in {event.queue} at the most"
        notes.find(COUNT, event, allowed, f"it says {count}", found.made.known)


@judges(Delivered, COUNT)
def got(fact: Delivered, notes: Notes) -> None:
    """Somebody has got a message, and is told how many are left."""
    if fact.event.method != "basic.get-ok" or fact.queue.deleted:
        return
    most, told = notes.memory(KnownLimits).by_queue.get(fact.queue.name, (0, 0))
    count = int(fact.event.args.get("message_count", 0))
    if 0 < fact.queue.declared <= told and count > most:
        allowed = f"{most} messages in {fact.queue.name} at the most"
        notes.find(COUNT, fact.event, allowed, f"after one is taken, it says {count}", told)
