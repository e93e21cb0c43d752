"""ROUTE-018 and ROUTE-019: messages that name more queues in the headers CC and BCC.

Publishes to the default exchange alone are followed: there each key is the name of a queue. The model does not know
where such a message goes, so this family remembers the latest itself.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from conformance.history.events import Event
from conformance.oracle.model.channels import OPEN
from conformance.oracle.model.facts import Confirmed, Delivered, FoundEmpty, Passed
from conformance.oracle.model.queues import Queue
from conformance.oracle.monitors.fate import LOSING
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.topology import Message
from conformance.oracle.topology.state import NamedQueue

REACHED, CONCEALED = "ROUTE-018", "ROUTE-019"
CC, BCC = "CC", "BCC"
MESSAGES = 256


@dataclass(slots=True)
class Letter:
    """One message, and who is to get it."""

    sent: int
    queues: frozenset[str]
    """Beside that of its routing key; all of these are there."""
    carbon: tuple[str, ...]
    blind: bool
    handled: bool = False
    """The broker has confirmed it."""
    came: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Letters:
    """The latest, by message; None where two share an id."""

    by_message: OrderedDict[str, Letter | None] = field(default_factory=OrderedDict)


@follows("basic.publish")
def addressed(fact: Passed, notes: Notes) -> None:
    """Who is to get it, beside the queue of the routing key?"""
    event = fact.event
    named = f'"{CC}"' in event.arguments or f'"{BCC}"' in event.arguments
    if not event.message or event.exchange or not named:
        return
    channel, known = fact.connection.channels.get(event.channel), notes.memory(Letters).by_message
    if channel is None or channel.state != OPEN or channel.indeterminate or not fact.connection.usable():
        return
    headers = Message("", event.arguments).headers
    carbon, blind = _names(headers.get(CC)), _names(headers.get(BCC))
    vhost = fact.connection.vhost
    there = [
        name
        for name in {*carbon, *blind} - {event.routing_key or ""}
        if (queue := fact.topology.queue(vhost, name)) is not None and queue.there_for(channel) and _plain(queue)
    ]
    letter = Letter(event.seq, frozenset(there), tuple(carbon), bool(blind))
    known[event.message] = None if event.message in known or channel.transactional else letter
    if len(known) > MESSAGES:
        known.popitem(last=False)


def _plain(queue: NamedQueue) -> bool:
    """Does it keep what it gets, for all that its arguments say?"""
    return not queue.auto_delete and queue.owner is None and set(queue.arguments) <= {"x-queue-type"}


def _names(value: Any) -> list[str]:
    """A list of texts; anything else names nobody."""
    whole = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return value if whole else []


@judges(Confirmed)
def handled(fact: Confirmed, notes: Notes) -> None:
    """It is in all its queues by now."""
    known = notes.memory(Letters).by_message
    for publication in fact.resolved if known and fact.event.method == "basic.ack" else ():
        letter = known.get(publication.message)
        if letter is not None:
            letter.handled = True


@judges(Delivered, REACHED, CONCEALED)
def came(fact: Delivered, notes: Notes) -> None:
    """It comes out of a queue; with CC, and without BCC."""
    known = notes.memory(Letters).by_message
    letter = known.get(fact.copy.id) if known else None
    if letter is None or '"x-death"' in fact.event.arguments:
        return  # what a dead letter keeps of its headers is told in DLX
    if fact.queue.name in letter.queues and fact.queue.name not in letter.came:
        letter.came.add(fact.queue.name)
        notes.exercise(REACHED)
    if letter.blind:
        _headers(fact.event, letter, notes)


def _headers(event: Event, letter: Letter, notes: Notes) -> None:
    headers = Message("", event.arguments).headers
    if BCC in headers:
        notes.find(CONCEALED, event, f"no header {BCC}", f"{BCC} {headers[BCC]!r}", letter.sent)
    elif letter.carbon and tuple(_names(headers.get(CC))) != letter.carbon:
        notes.find(CONCEALED, event, f"{CC} {list(letter.carbon)!r}", f"{CC} {headers.get(CC)!r}", letter.sent)
    else:
        notes.exercise(CONCEALED)


@judges(FoundEmpty, REACHED)
def never_came(fact: FoundEmpty, notes: Notes) -> None:
    """A queue that it names is empty, and nobody has taken it from there."""
    queue, known = fact.queue, notes.memory(Letters).by_message
    for message, letter in known.items():
        if letter is None or not letter.handled or queue.name not in letter.queues or queue.name in letter.came:
            continue
        if _untouched(queue, letter, fact):
            letter.came.add(queue.name)
            allowed = f"{message} in {queue.name}"
            notes.find(REACHED, fact.event, allowed, "the queue is empty", letter.sent, unless=LOSING)


def _untouched(queue: Queue, letter: Letter, fact: FoundEmpty) -> bool:
    """Can nobody else have taken it?"""
    if queue.losers or queue.purged > letter.sent or queue.deleted or not queue.declared:
        return False
    return letter.sent < fact.since and all(one is fact.receiver for one in queue.receivers)
