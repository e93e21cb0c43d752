"""ROUTE-018 and ROUTE-019: messages that name more queues in the headers CC and BCC.

On the default exchange each key is the name of a queue; any other takes each of them as if it were the routing key. The
model does not know where such a message goes, so this family remembers the latest itself.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any

from conformance.history.events import TO_BROKER, Event
from conformance.oracle.model.connections.channels import OPEN, ChannelLife
from conformance.oracle.model.facts import Confirmed, Delivered, FoundEmpty, Passed, Policed, Returned
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.monitors.fate import LOSING
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.monitors.topology.route import MOVES
from conformance.oracle.topology import Message, explain
from conformance.oracle.topology.state import NamedQueue

REACHED, CONCEALED = "ROUTE-018", "ROUTE-019"
CC, BCC = "CC", "BCC"
MESSAGES = 256
OF_ROOM = frozenset({"x-queue-type", "x-overflow", "x-max-length", "x-max-length-bytes"})
REFUSES = "CNF-012"
RETURNING = ("CNF-025",)
MOST = 64
"""Keys of a message whose ways are followed one by one."""


@dataclass(slots=True)
class Letter:
    """One message, and who is to get it."""

    sent: int
    on: tuple[str, int]
    """The channel of the publish, as its connection and number."""
    queues: frozenset[str]
    """All of these are there, and keep what they take. The model itself knows that of the routing key on the default
    exchange."""
    carbon: tuple[str, ...]
    blind: bool
    barred: frozenset[str] = frozenset()
    """It is not to come to these: none of its keys leads there, or an alternate exchange that it does not need."""
    choosy: frozenset[str] = frozenset()
    """These may refuse it, and then it is not confirmed."""
    moved: bool = False
    """Bindings were changed elsewhere while it was on its way."""
    mortal: bool = False
    """It may go before anybody takes it: by its own time to live, or by a policy."""
    handled: bool = False
    """The broker has confirmed it."""
    came: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)
    """The queues out of which it was taken for good."""


@dataclass(slots=True)
class Letters:
    """The latest, by message; None where two share an id, or it is part of a transaction that goes on."""

    by_message: OrderedDict[str, Letter | None] = field(default_factory=OrderedDict)
    pending: dict[int, dict[str, Letter]] = field(default_factory=dict)
    """What transactions publish to the default exchange, by channel lives."""
    committing: dict[int, deque[list[Letter]]] = field(default_factory=dict)


@follows("basic.publish")
def addressed(fact: Passed, notes: Notes) -> None:
    """Who is to get it, beside the queue of the routing key?"""
    event = fact.event
    named = f'"{CC}"' in event.arguments or f'"{BCC}"' in event.arguments
    if not event.message or not named:
        return
    channel, known = fact.connection.channels.get(event.channel), notes.memory(Letters).by_message
    if channel is None or channel.state != OPEN or channel.indeterminate or not fact.connection.usable():
        return
    headers = Message("", event.arguments).headers
    carbon, blind = _names(headers.get(CC)), _names(headers.get(BCC))
    vhost, key, barred = fact.connection.vhost, event.routing_key or "", frozenset[str]()
    names = {*carbon, *blind} - {key}
    if event.exchange:
        found = _ways(fact, channel, (key, *carbon, *blind))
        if found is None:
            known[event.message] = None
            return
        names, barred = found
    there = [
        name
        for name in names
        if (queue := fact.topology.queue(vhost, name)) is not None and queue.there_for(channel) and _plain(queue)
    ]
    choosy = [
        name
        for name in names
        if (queue := fact.topology.queue(vhost, name)) is not None and queue.there_for(channel) and _choosy(queue)
    ]
    place = event.connection, event.channel
    letter = Letter(event.seq, place, frozenset(there), tuple(carbon), bool(blind), barred, frozenset(choosy))
    letter.mortal = '"expiration"' in event.arguments or bool(fact.topology.policies)
    again = event.message in known
    known[event.message] = None if again or channel.transactional else letter
    _pend(notes.memory(Letters), event, channel, None if again or event.exchange else letter)
    if len(known) > MESSAGES:
        known.popitem(last=False)


def _pend(letters: Letters, event: Event, channel: ChannelLife, letter: Letter | None) -> None:
    """In a transaction it has to wait for the commit."""
    for one in letters.pending.values():
        one.pop(event.message or "", None)
    if channel.transactional and letter is not None and len(letters.pending) < MESSAGES:
        letter.choosy = frozenset()  # a commit to a full queue may fail
        letters.pending.setdefault(channel.opened, {})[event.message or ""] = letter


@follows("tx.commit", "tx.rollback", "tx.commit-ok")
def ended(fact: Passed, notes: Notes) -> None:
    """From the commit on they may come, and with commit-ok they are all there."""
    channel, letters, event = fact.connection.channels.get(fact.event.channel), notes.memory(Letters), fact.event
    if channel is None:
        return
    if event.method == "tx.commit-ok":
        for letter in letters.committing[channel.opened].popleft() if letters.committing.get(channel.opened) else ():
            letter.handled = True
        return
    waiting = letters.pending.pop(channel.opened, {})
    if event.method == "tx.commit":
        here = {message: letter for message, letter in waiting.items() if message in letters.by_message}
        letters.by_message.update(here)
        letters.committing.setdefault(channel.opened, deque()).append([*here.values()])


def _ways(fact: Passed, channel: ChannelLife, keys: tuple[str, ...]) -> tuple[set[str], frozenset[str]] | None:
    """The queues to which these keys lead, and those to which they do not; None: nobody can tell.

    Behind another exchange the texts leave it open whether a message has all its keys again, as in RabbitMQ, or only
    the one by which it came there, as in LavinMQ. There only what is so in both cases is certain. What hangs on empty
    words is ROUTE-016's, of which no text speaks."""
    event = fact.event
    together = explain(fact.topology, channel, event.exchange or "", Message(keys[0], event.arguments, keys[1:]))
    if together is None or together.delicate:
        return None
    if not _goes_on(fact, event.exchange or ""):
        return {*together.reached}, frozenset(together.barred)
    if len(keys) > MOST:
        return None
    each = [explain(fact.topology, channel, event.exchange or "", Message(key, event.arguments)) for key in keys]
    if None in each:
        return None
    alone = {name for one in each if one is not None for name in one.reached}
    return alone.intersection(together.reached), frozenset(together.barred) - alone


def _goes_on(fact: Passed, name: str | None) -> bool:
    """Is this exchange bound to another one, or its alternate, or that one's?"""
    met = set[str]()
    while name and name not in met:
        met.add(name)
        exchange = fact.topology.exchange(fact.connection.vhost, name)
        if exchange is None or any(not isinstance(one.to, NamedQueue) for one in exchange.bindings):
            return True
        name = exchange.alternate
    return False


@follows(*MOVES)
def rebound(fact: Passed, notes: Notes) -> None:
    """Bindings change, which a publish of another channel may meet that was sent before."""
    event = fact.event
    for letter in notes.memory(Letters).by_message.values() if event.direction == TO_BROKER else ():
        if letter is not None and not letter.handled and letter.on != (event.connection, event.channel):
            letter.moved = True


def _plain(queue: NamedQueue) -> bool:
    """Does it keep what it gets, for all that its arguments say?"""
    return not queue.auto_delete and queue.owner is None and set(queue.arguments) <= {"x-queue-type"}


def _choosy(queue: NamedQueue) -> bool:
    """Does it refuse what it has no room for, and keeps all else?"""
    ours, refuses = queue.arguments, queue.arguments.get("x-overflow") == "reject-publish"
    return refuses and not queue.auto_delete and queue.owner is None and set(ours) <= OF_ROOM


def _names(value: Any) -> list[str]:
    """A list of texts; anything else names nobody."""
    whole = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return value if whole else []


@judges(Policed)
def ruled(fact: Policed, notes: Notes) -> None:
    """Any queue may have a limit from now on, or give a time to live."""
    for letter in notes.memory(Letters).by_message.values():
        if letter is not None:
            letter.mortal = True


@judges(Confirmed)
def handled(fact: Confirmed, notes: Notes) -> None:
    """It is in all its queues by now."""
    known = notes.memory(Letters).by_message
    for publication in fact.resolved if known and fact.event.method == "basic.ack" else ():
        letter = known.get(publication.message)
        if letter is not None:
            letter.handled = True


@judges(Returned, REACHED)
def came_back(fact: Returned, notes: Notes) -> None:
    """One key that leads to a queue is enough: what has reached any is not returned, but by a broker that returns what
    is routed anyway."""
    letter = notes.memory(Letters).by_message.get(fact.event.message or "")
    place = fact.event.connection, fact.event.channel
    if letter is None or letter.moved or letter.on != place or not letter.queues:
        return
    allowed = f"{fact.event.message} in {', '.join(sorted(letter.queues))}, and no return"
    notes.find(REACHED, fact.event, allowed, "basic.return", letter.sent, unless=RETURNING)


@judges(Delivered, REACHED, CONCEALED)
def came(fact: Delivered, notes: Notes) -> None:
    """It comes out of a queue; with CC, and without BCC."""
    known = notes.memory(Letters).by_message
    letter = known.get(fact.copy.id) if known else None
    if letter is None or '"x-death"' in fact.event.arguments:
        return  # what a dead letter keeps of its headers is told in DLX
    if not letter.moved:
        _place(fact, letter, notes)
    if letter.blind:
        _headers(fact.event, letter, notes)


def _place(fact: Delivered, letter: Letter, notes: Notes) -> None:
    """Does one of its keys lead to this queue, and is it the only copy there?"""
    name, event = fact.queue.name, fact.event
    if name in letter.barred and fact.queue.declared:
        allowed = f"{fact.copy.id} in {', '.join(sorted(letter.queues)) or 'no queue'}"
        notes.find(REACHED, event, allowed, f"{event.method} of it from {name}", letter.sent)
    elif name in letter.taken:
        allowed = f"one copy of {fact.copy.id} in {name}"
        notes.find(REACHED, event, allowed, f"{event.method} of it once more, after it was taken", letter.sent)
    elif name in letter.queues and name not in letter.came:
        letter.came.add(name)
        notes.exercise(REACHED)
    elif name in letter.choosy:
        letter.came.add(name)
    if fact.delivery.no_ack:
        letter.taken.add(name)


def _headers(event: Event, letter: Letter, notes: Notes) -> None:
    headers = Message("", event.arguments).headers
    if BCC in headers:
        notes.find(CONCEALED, event, f"no header {BCC}", f"{BCC} {headers[BCC]!r}", letter.sent)
    elif letter.carbon and tuple(_names(headers.get(CC))) != letter.carbon:
        notes.find(CONCEALED, event, f"{CC} {list(letter.carbon)!r}", f"{CC} {headers.get(CC)!r}", letter.sent)
    else:
        notes.exercise(CONCEALED)


@judges(FoundEmpty, REACHED, REFUSES)
def never_came(fact: FoundEmpty, notes: Notes) -> None:
    """A queue that it names is empty, and nobody has taken it from there."""
    queue, known = fact.queue, notes.memory(Letters).by_message
    for message, letter in known.items():
        if letter is None or letter.moved or letter.mortal or not letter.handled:
            continue
        choosy = queue.name in letter.choosy
        if not (choosy or queue.name in letter.queues) or queue.name in letter.came:
            continue
        if _untouched(queue, letter, fact):
            letter.came.add(queue.name)
            allowed = f"{message} in {queue.name}" + (", or a basic.nack" if choosy else "")
            rule, observed = (REFUSES, "basic.ack, and the queue") if choosy else (REACHED, "the queue")
            notes.find(rule, fact.event, allowed, f"{observed} is empty", letter.sent, unless=LOSING)


def _untouched(queue: Queue, letter: Letter, fact: FoundEmpty) -> bool:
    """Can nobody else have taken it, be it unseen?"""
    if queue.losers or queue.purged > letter.sent or queue.deleted or not 0 < queue.declared < letter.sent:
        return False
    if queue.others(letter.sent, fact.receiver) or queue.lost_until > letter.sent:
        return False
    return letter.sent < fact.since and all(one is fact.receiver for one in queue.receivers)
