"""TTL: messages that have a time to live.

Followed is a publish that certainly comes to one queue: by the default exchange, where each key is the name of a queue,
or over others, where bindings say so. The model claims nothing of
messages that may expire, so this family remembers the latest itself, with the times of what was sent and read.

    published (sent) ---------- in the queue by then (its confirm is read)
        | + time to live            | + time to live
    not gone before that        certainly expired by then: nothing that is asked for from here on may bring it

Both bounds hold on a machine of any speed, for each is taken from that side of the wire where it is the weaker claim.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.history.events import TO_BROKER
from conformance.oracle.model.connections.channels import LIVE, OPEN
from conformance.oracle.model.connections.connection import Connection
from conformance.oracle.model.facts import Answered, Confirmed, Delivered, FoundEmpty, Passed, Policed, Stopping
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.model.records import WAITING
from conformance.oracle.monitors.fate import LOSING
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.patience import DROPPED, too_late
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.topology import Message, explain
from conformance.oracle.topology.explaining import MATCHED
from conformance.oracle.topology.state import NamedQueue

OWN, OF_QUEUE, SMALLER, STAYS = "TTL-001", "TTL-002", "TTL-003", "TTL-004"
BY_ITSELF, BEHIND, AGED, AT_ONCE = "TTL-005", "TTL-006", "TTL-007", "TTL-008"
TTL = "x-message-ttl"
LEVELS = "x-max-priority"
EXCHANGE, KEY = "x-dead-letter-exchange", "x-dead-letter-routing-key"
KNOWN = frozenset({"x-queue-type", TTL, EXCHANGE, KEY, LEVELS})
LEAKS = frozenset({"x-max-length", "x-max-length-bytes", "x-overflow", "x-single-active-consumer"})
"""A queue with such arguments may drop messages for other reasons, or may give gets nothing; one with others nobody
here knows."""
NUMBER = re.compile(r'"expiration": "(\d+)"[,}]')
MILLISECOND = 1_000_000
SLACK, EARLY, PROMPT = 100 * MILLISECOND, 20 * MILLISECOND, 1_000 * MILLISECOND
"""What clocks may differ by: after a time, and before it; and when what has expired is usually gone."""
MESSAGES, QUEUES, TIMES = 256, 64, 512
SERVED, UNSERVED = "a consumer that waits gets it", "nobody else does"
BOTH = SERVED, UNSERVED
EARLIER = ("TX-003",)
"""Who breaks this does not wait for the commit: the time of what a transaction publishes begins with the publish."""
MAKE_ROOM = "basic.ack", "basic.nack", "basic.reject", "tx.commit"
Waiting = tuple[str, int, str]
"""A connection, a channel and a consumer tag."""


@dataclass(slots=True)
class Life:
    """One message with a time to live."""

    queue: str
    connection: str
    sent: int
    sent_ns: int
    own: int | None
    """In nanoseconds, as all times here."""
    shared: int | None
    waiting: Waiting | None = None
    """The only consumer of its connection at the queue, which always has room."""
    certain: int = 0
    certain_ns: int = 0
    """When it had certainly come into its queue."""
    left_ns: int = 0
    """It had not been given out before this; 0: it has not been seen."""
    over: bool = False
    """It was judged."""
    kept: bool = True
    """Nothing but its time takes it away from its queue."""
    ranked: bool = False
    """Others may have come before it, whenever they were published."""
    committing: bool = False
    """The commit that publishes it is sent."""

    @property
    def life(self) -> int:
        return min(time for time in (self.own, self.shared) if time is not None)

    @property
    def deadline(self) -> int:
        """By now it has certainly expired."""
        return self.certain_ns + self.life + SLACK

    def rule(self) -> str:
        """The rule by which it expires."""
        if self.life == 0:
            return AT_ONCE
        if self.own is not None and self.shared is not None:
            return SMALLER
        return OWN if self.own is not None else OF_QUEUE


@dataclass(slots=True)
class Lives:
    """The latest, by message; None where two share an id."""

    by_message: OrderedDict[str, Life | None] = field(default_factory=OrderedDict)
    shelves: OrderedDict[str, bool] = field(default_factory=OrderedDict)
    """Queues in which every message has a time to live. Does nothing come in or out but what is published to them?"""
    fed: set[str] = field(default_factory=set)
    """Queues into which dead letters come."""
    lost: int = 0
    """How many messages were forgotten, or not understood."""
    uncommitted: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    """Messages that a transaction has published, by its channel."""
    seqs: list[int] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    """When the latest questions were sent."""

    def asked(self, seq: int) -> int:
        """What may have brought something was not sent before this; 0: it is forgotten."""
        at = bisect_right(self.seqs, seq)
        return self.times[at - 1] if at and self.seqs[at - 1] == seq else 0


@follows("basic.publish")
def published(fact: Passed, notes: Notes) -> None:
    """How long may it live?"""
    event, connection = fact.event, fact.connection
    queue, matched = _destination(fact)
    found = NUMBER.search(event.arguments) if '"expiration"' in event.arguments else None
    shared = _milliseconds(queue.arguments.get(TTL)) if queue is not None and queue.arguments else None
    if queue is None or not event.message or (found is None and shared is None):
        return
    lives, channel = notes.memory(Lives), connection.channels.get(event.channel)
    if channel is None or channel.state != OPEN or channel.indeterminate or not connection.usable():
        lives.lost += 1
        return
    strange = "immediate" in event.flags or '"x-death"' in event.arguments
    life = None
    plain = _plain(queue, notes) and not fact.topology.policies
    if plain and queue.there_for(channel) and not strange and event.message not in lives.by_message:
        own = int(found[1]) * MILLISECOND if found else None
        waiting = None if channel.transactional else _waiting(connection, queue.name)
        life = Life(queue.name, event.connection, event.seq, event.time_ns, own, shared, waiting)
        life.kept = LEAKS.isdisjoint(queue.arguments) and not matched
        life.ranked = LEVELS in queue.arguments
    lives.lost += life is None
    lives.by_message[event.message] = life
    if channel.transactional:
        lives.uncommitted.setdefault((event.connection, event.channel), []).append(event.message)
    if len(lives.by_message) > MESSAGES:
        lives.by_message.popitem(last=False)
        lives.lost += 1


def _destination(fact: Passed) -> tuple[NamedQueue | None, bool]:
    """The one queue that it comes to, where that is certain. Is it a match that leads it there? Who sees the match
    otherwise never puts it there."""
    event, connection = fact.event, fact.connection
    channel = connection.channels.get(event.channel)
    copies = '"CC"' in event.arguments or '"BCC"' in event.arguments
    if not event.exchange and copies:
        return _one_of_several(fact), False
    if not event.exchange:
        return fact.topology.queue(connection.vhost, event.routing_key or ""), False
    if channel is None or copies:
        return None, False
    message = Message(event.routing_key or "", event.arguments)
    ways = explain(fact.topology, channel, event.exchange, message)
    reached = [*ways.reached.items()] if ways is not None and not ways.delicate else []
    if len(reached) != 1:
        return None, False
    name, labels = reached[0]
    return fact.topology.queue(connection.vhost, name), not MATCHED.isdisjoint(labels)


def _one_of_several(fact: Passed) -> NamedQueue | None:
    """By the default exchange each of its keys is the name of a queue; where it comes to one alone, that is known."""
    event = fact.event
    headers = (event.args.get("properties") or {}).get("headers") or {}
    named = [headers.get(name) or [] for name in ("CC", "BCC")]
    if not all(isinstance(keys, list) for keys in named):
        return None
    keys = {event.routing_key or "", *(key for keys in named for key in keys if isinstance(key, str))}
    found = [queue for key in keys if (queue := fact.topology.queue(fact.connection.vhost, key)) is not None]
    return found[0] if len(found) == 1 else None


@judges(Policed)
def ruled(fact: Policed, notes: Notes) -> None:
    """Any queue may give its messages another time to live."""
    lives = notes.memory(Lives)
    lives.lost += len(lives.by_message) + 1
    lives.by_message.clear()


@judges(Stopping)
def stopped(fact: Stopping, notes: Notes) -> None:
    """What comes back after a restart has lost none of its age; but it need not come back."""
    for life in notes.memory(Lives).by_message.values():
        if life is not None:
            life.kept = False


def _milliseconds(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return value * MILLISECOND


def _plain(queue: NamedQueue, notes: Notes) -> bool:
    """Does it keep what it gets, but for what expires and what it has no room for, and does that expire at all?"""
    kind = str(queue.arguments.get("x-queue-type") or "classic")
    named = not queue.auto_delete and queue.owner is None and (KNOWN | LEAKS).issuperset(queue.arguments)
    return named and notes.profile.queue(kind).messages_expire


def _waiting(connection: Connection, queue: str) -> Waiting | None:
    """The one consumer at the queue, as far as this connection knows, that takes what comes at once."""
    here = [
        (connection.name, number, one)
        for number, channel in connection.channels.items()
        if channel.state == OPEN
        for one in channel.consumers.values()
        if one.queue == queue
    ]
    if len(here) != 1 or here[0][2].state != LIVE or not here[0][2].no_ack:
        return None
    name, number, consumer = here[0]
    return name, number, consumer.tag


@follows("basic.get", "basic.consume", "queue.declare", "queue.bind", *MAKE_ROOM)
def asked(fact: Passed, notes: Notes) -> None:
    """When was it sent, and what does it say of the queue? A consumer that was full may get something from here on."""
    event, lives = fact.event, notes.memory(Lives)
    if event.direction != TO_BROKER or (event.method in MAKE_ROOM and not lives.by_message):
        return
    lives.seqs.append(event.seq)
    lives.times.append(event.time_ns)
    if len(lives.seqs) > 2 * TIMES:
        del lives.seqs[:TIMES], lives.times[:TIMES]
    if event.method in MAKE_ROOM:
        return
    name = event.queue or ""
    if event.method != "queue.declare":
        if name in lives.shelves:
            lives.shelves[name] = False
    elif EXCHANGE in event.arguments:
        _feed(event.args.get("arguments") or {}, lives)
    elif (
        TTL in event.arguments
        and LEVELS not in event.arguments
        and fact.topology.queue(fact.connection.vhost, name) is None
    ):
        lives.shelves[name] = not (event.has("auto_delete") or event.has("exclusive") or name in lives.fed)
        if len(lives.shelves) > QUEUES:
            lives.shelves.popitem(last=False)


def _feed(arguments: Mapping[str, Any], lives: Lives) -> None:
    """Its dead letters come into one queue, or may come anywhere."""
    heir = arguments.get(KEY) if arguments.get(EXCHANGE) == "" else None
    if not isinstance(heir, str):
        lives.lost += 1
        return
    lives.fed.add(heir)
    if heir in lives.shelves:
        lives.shelves[heir] = False


@follows("tx.commit", "tx.rollback", "tx.commit-ok")
def decided(fact: Passed, notes: Notes) -> None:
    """What a transaction publishes comes with its commit; its time begins then."""
    event, lives = fact.event, notes.memory(Lives)
    place, waiting = (event.connection, event.channel), list[str]()
    for message in lives.uncommitted.pop(place, ()):
        life = lives.by_message.get(message)
        if life is None:
            continue
        if event.direction != TO_BROKER and life.committing:
            life.certain, life.certain_ns = event.seq, event.time_ns
        elif event.direction != TO_BROKER:
            waiting.append(message)  # of the next transaction
        elif event.method == "tx.commit" and not life.committing:
            life.sent, life.sent_ns, life.committing = event.seq, event.time_ns, True
            waiting.append(message)
        else:
            life.over = True  # undone, or another commit is under way
    if waiting:
        lives.uncommitted[place] = waiting


@judges(Confirmed)
def certain(fact: Confirmed, notes: Notes) -> None:
    """It is in its queue by now."""
    known = notes.memory(Lives).by_message
    for publication in fact.resolved if known and fact.event.method == "basic.ack" else ():
        life = known.get(publication.message)
        if life is not None:
            life.certain, life.certain_ns = fact.event.seq, fact.event.time_ns


@judges(Delivered, OWN, OF_QUEUE, SMALLER, STAYS, BEHIND, AGED, AT_ONCE)
def came(fact: Delivered, notes: Notes) -> None:
    """It comes out of its queue; has it any right to?"""
    lives = notes.memory(Lives)
    if not lives.by_message:
        return
    _passed_over(fact, lives, notes)
    life, event = lives.by_message.get(fact.copy.id), fact.event
    if life is None or life.queue != fact.queue.name or '"x-death"' in event.arguments:
        return
    settlement, first = fact.copy.settlement if event.has("redelivered") else None, not life.left_ns
    back = settlement.time_ns if settlement is not None and settlement.requeue and not first else 0
    since = max(lives.asked(fact.since), back)
    life.left_ns = max(since, life.sent_ns)
    if life.certain and not life.over and since >= life.deadline:
        life.over = True
        rule = AGED if back else BEHIND if _shielded(life, lives) else life.rule()
        late = (since - life.deadline + SLACK) // MILLISECOND
        allowed = f"no delivery of {fact.copy.id} after {life.life // MILLISECOND} ms"
        notes.find(rule, event, allowed, f"it comes {late} ms later, or more", life.sent, life.certain, fact.since)
    elif life.certain and first and since >= life.certain_ns + life.life // 2:
        notes.exercise(STAYS)
    if life.life == 0 and life.waiting == (event.connection, event.channel, event.consumer_tag):
        notes.show(AT_ONCE, SERVED, BOTH)


def _shielded(life: Life, lives: Lives) -> bool:
    """Was one that lives longer before it in the queue, until it had expired?"""
    return not life.ranked and any(
        other is not None
        and other.queue == life.queue
        and other.sent < life.sent
        and (other.left_ns or life.deadline) >= life.deadline
        and other.sent_ns + other.life > life.deadline
        for other in lives.by_message.values()
    )


def _passed_over(fact: Delivered, lives: Lives, notes: Notes) -> None:
    """What came before it, and had no time to wait, the consumer should have got."""
    event, me = fact.event, (fact.event.connection, fact.event.channel, fact.event.consumer_tag)
    for message, life in lives.by_message.items():
        if life is None or life.waiting != me or life.over or life.left_ns or not life.certain:
            continue
        if life.queue != fact.queue.name or life.life or life.certain > fact.copy.published or not life.kept:
            continue
        life.over = True
        if len(fact.queue.receivers) == 1 and not _unseen(fact.queue, message):
            allowed = f"{message} for {event.consumer_tag}, which waits"
            seen = f"{fact.copy.id}, published later, comes alone"
            notes.find(AT_ONCE, event, allowed, seen, life.sent, unless=LOSING)


def _unseen(queue: Queue, message: str) -> bool:
    """May it have been given to somebody who has not seen it?"""
    copy = queue.copies.get(message)
    return copy is None or queue.unseen(copy) or bool(queue.losers) or queue.deleted > 0 or queue.purged > 0


@judges(FoundEmpty, OWN, OF_QUEUE, SMALLER, STAYS, BEHIND, AGED, AT_ONCE)
def not_there(fact: FoundEmpty, notes: Notes) -> None:
    """The queue is empty: rightly?"""
    queue, event, lives = fact.queue, fact.event, notes.memory(Lives)
    for message, life in lives.by_message.items():
        if life is None or life.over or life.queue != queue.name or not 0 < life.certain < fact.since:
            continue
        if not life.kept:
            continue
        if life.life == 0 and life.waiting is not None and _waits_still(fact, life):
            _never_served(fact, message, life, notes)
            continue
        if life.connection != event.connection or queue.others(life.sent, fact.receiver) or _unseen(queue, message):
            continue
        since = lives.asked(fact.since)
        if not life.left_ns and event.time_ns < life.sent_ns + life.life - EARLY:
            life.over = True
            after = (event.time_ns - life.sent_ns) // MILLISECOND
            allowed = f"{message} for {life.life // MILLISECOND} ms"
            seen = f"the queue is empty {after} ms after it was sent, {life.life // MILLISECOND - after} ms too early"
            early = EARLIER if life.committing else ()
            notes.find(STAYS, event, allowed, seen, life.sent, unless=(*LOSING, *early))
        elif since >= life.deadline:
            _gone(message, life, queue, lives, notes)


def _waits_still(fact: FoundEmpty, life: Life) -> bool:
    """Is the consumer that found nothing else to wait for still the only one?"""
    consumers = [one.consumer for one in fact.queue.receivers if one is not fact.receiver]
    alone = consumers[0] if len(consumers) == 1 else None
    known = alone is not None and alone.state == LIVE and life.waiting is not None and alone.tag == life.waiting[2]
    return known and not life.left_ns and not (fact.queue.losers or fact.queue.deleted or fact.queue.purged)


def _never_served(fact: FoundEmpty, message: str, life: Life, notes: Notes) -> None:
    """It is gone, and has not come to the consumer either."""
    if too_late(notes.memory(Lives).asked(fact.since), life.certain_ns, DROPPED, notes):
        life.over = True
        allowed = f"{message} for {life.waiting[2] if life.waiting else ''}, which waits"
        notes.find(AT_ONCE, fact.event, allowed, "it does not come, and the queue is empty", life.sent, unless=LOSING)


def _gone(message: str, life: Life, queue: Queue, lives: Lives, notes: Notes) -> None:
    """It has expired, as it must."""
    copy = queue.copies.get(message)
    if life.left_ns:
        if copy is None or not copy.returns or copy.place != WAITING:
            return
        notes.exercise(AGED)
    elif life.life == 0:
        notes.show(AT_ONCE, UNSERVED, BOTH)
    else:
        notes.exercise(BEHIND if _shielded(life, lives) else life.rule())
    life.over = True


@judges(Answered, BY_ITSELF)
def counted(fact: Answered, notes: Notes) -> None:
    """How many messages does a queue say that it has, after all of them have expired?"""
    event, lives = fact.event, notes.memory(Lives)
    name = event.queue or ""
    if fact.request.method != "queue.declare" or not lives.shelves.get(name) or lives.lost:
        return
    here = [life for life in lives.by_message.values() if life is not None and life.queue == name]
    since, count = lives.asked(fact.request.seq), int(event.args.get("message_count", 0))
    if not here:
        lives.shelves[name] = not count
    elif any(not one.certain or one.deadline + PROMPT > since for one in here):
        return
    elif count and too_late(since, max(one.deadline for one in here), DROPPED, notes):
        notes.find(BY_ITSELF, event, f"no message in {name}: all have expired", f"{count} messages", here[-1].sent)
    elif not count:
        notes.exercise(BY_ITSELF)
