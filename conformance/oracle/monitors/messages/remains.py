"""DUR, messages: what is in a durable queue after a restart, in what order, and what is not.

What was confirmed, persistent and not settled must be there; what was transient in a classic queue, settled, or part of
a transaction that was not committed must not. That a settlement was carried out is held to be proven when the same
channel has got a later answer from that queue. Loss is judged where a drain has waited in vain, order where one channel
alone gets messages of one priority, and each message when it comes first. An id that was used twice proves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from conformance.history.events import RESTARTED, TO_BROKER, Event
from conformance.oracle.model.doubts.crash import promises
from conformance.oracle.model.facts import Delivered, Missing, Passed, Stopping
from conformance.oracle.model.queues import emptied
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.model.records import DEAD, OUT, PROVISIONAL, WAITING, Copy
from conformance.oracle.monitors.contents.content import address, changed, retyped
from conformance.oracle.monitors.fate import settling
from conformance.oracle.monitors.messages.kept import KEPT, Kept, Place, fate, place_of
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows, judges

THERE, WHOLE, ORDER = "DUR-013", "DUR-014", "DUR-015"
NO_TRANSIENT, NO_SETTLED, MARKED = "DUR-016", "DUR-017", "DUR-018"
COMMITTED, UNCOMMITTED, RANKED, REMOVED = "DUR-019", "DUR-020", "DUR-023", "DUR-011"
GONE = {NO_TRANSIENT: "it was transient", NO_SETTLED: "it was settled", UNCOMMITTED: "it was never committed"}
MOST = 4096
"""Messages of one history."""
Rank = tuple[str, int, object]
"""The connection and channel that published it, and its priority: some queues have priorities without being asked."""
PLAIN = {"x-queue-type", "x-max-priority"}
"""Arguments of queues that take no messages away."""
NARROW = {"x-max-length", "x-overflow"}
"""Arguments of those that take none away until there are too many."""


@dataclass(slots=True)
class Stores:
    """One durable queue: what must be in it, and why; what must not, and why not."""

    promised: dict[str, str] = field(default_factory=dict)
    gone: dict[str, str] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    """Delivered and not settled; and when."""
    fresh: dict[str, tuple[Rank, int]] = field(default_factory=dict)
    """Never delivered: its rank, and when it was published."""
    seen: dict[str, int] = field(default_factory=dict)
    last: dict[Rank, tuple[int, str]] = field(default_factory=dict)
    """The latest of each rank that has come."""
    taker: Place | None = None
    levels: int = 0
    """The highest priority that the queue knows."""
    lowest: tuple[int, str] | None = None
    """The lowest that has come, and its message."""
    narrow: bool = False
    """What comes after the restart may be too much for the queue."""
    unranked: bool = False
    unsure: bool = False
    disorder: bool = False
    done: bool = False
    purged: set[str] = field(default_factory=set)
    """Never delivered, and in it when it was purged."""
    bare: bool = False
    """Nothing was in it, and nothing could come: what had been there went with a queue of its name."""


@dataclass(frozen=True, slots=True)
class PendingGet:
    """One that is not answered yet."""

    queue: str
    no_ack: bool
    seq: int


@dataclass(slots=True)
class Remains:
    """Of one history."""

    lines: dict[str, Stores] = field(default_factory=dict)
    asked: dict[Place, list[PendingGet]] = field(default_factory=dict)
    tags: dict[Place, dict[int, tuple[str, str]]] = field(default_factory=dict)
    """What gets have brought, by delivery tag: queue and message."""
    settled: dict[Place, list[tuple[str, str, int]]] = field(default_factory=dict)
    """Queue, message, and when; no later answer of the queue has come yet."""
    proven: dict[str, set[str]] = field(default_factory=dict)
    settling: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By message: the rules by which it was settled."""
    uncommitted: dict[Place, list[tuple[str, str]]] = field(default_factory=dict)
    """Queue and message: settled in a transaction, which has not been committed."""
    transactions: dict[Place, list[str]] = field(default_factory=dict)
    selected: set[Place] = field(default_factory=set)
    """Where the broker has said that transactions begin."""
    committing: dict[Place, list[str]] = field(default_factory=dict)
    committed: set[str] = field(default_factory=set)
    published: set[str] = field(default_factory=set)
    before: frozenset[str] = frozenset()
    """Published before the restart, and never delivered."""
    delivered: set[str] = field(default_factory=set)
    twice: set[str] = field(default_factory=set)
    overrun: bool = False
    """There were too many messages to remember, so nothing is claimed any more."""
    whole: bool = False
    """A message was seen to be delivered as it was published, before the restart."""
    altered: bool = False


# -- before: what was settled, and what was committed


@follows("basic.publish")
def published(fact: Passed, notes: Notes) -> None:
    """An id that was used before is no evidence."""
    event, remains = fact.event, notes.memory(Remains)
    if remains.overrun:
        return
    elsewhere = not event.exchange and "CC" not in event.arguments
    for name, line in remains.lines.items():
        line.unsure = line.unsure or (line.narrow and not (elsewhere and event.routing_key != name))
    message = event.message or ""
    if len(remains.published) >= MOST:
        _give_up(remains)
        return
    (remains.twice if message in remains.published else remains.published).add(message)
    if place_of(event) in remains.selected:
        remains.transactions.setdefault(place_of(event), []).append(message)


def _give_up(remains: Remains) -> None:
    remains.overrun = True
    for table in (
        remains.lines,
        remains.published,
        remains.delivered,
        remains.twice,
        remains.committed,
        remains.proven,
        remains.settling,
    ):
        table.clear()


@follows("tx.select", "tx.select-ok", "tx.commit", "tx.rollback", "tx.commit-ok")
def transacted(fact: Passed, notes: Notes) -> None:
    """What a transaction publishes counts once the broker says that it is committed."""
    place, remains = place_of(fact.event), notes.memory(Remains)
    if fact.event.method == "tx.commit-ok":
        remains.committed.update(remains.committing.pop(place, ()))
    elif fact.event.method == "tx.commit":
        remains.committing.setdefault(place, []).extend(remains.transactions.get(place, ()))
        settled = ((*one, fact.event.seq) for one in remains.uncommitted.get(place, ()))
        remains.settled.setdefault(place, []).extend(settled)
    elif fact.event.method == "tx.select-ok":
        remains.selected.add(place)
    if fact.event.direction == TO_BROKER:
        remains.transactions[place] = []
        remains.uncommitted.pop(place, None)


@follows("channel.open", "channel.close")
def begun(fact: Passed, notes: Notes) -> None:
    """A channel begins, or is over: nothing that it did is proven any more."""
    remains, place = notes.memory(Remains), place_of(fact.event)
    for one in remains.asked.pop(place, ()):
        _unsure(remains, one.queue)
    for table in (remains.tags, remains.settled, remains.uncommitted, remains.transactions, remains.committing):
        table.pop(place, None)
    remains.selected.discard(place)


@follows("basic.get")
def asked(fact: Passed, notes: Notes) -> None:
    """One channel asks for a message."""
    remains, event = notes.memory(Remains), fact.event
    if remains.overrun:
        return
    remains.asked.setdefault(place_of(event), []).append(PendingGet(event.queue or "", event.has("no_ack"), event.seq))
    line = remains.lines.get(event.queue or "")
    if line is not None:
        line.taker = line.taker or place_of(event)
        line.unsure = line.unsure or line.taker != place_of(event)


@follows("basic.ack")
def acknowledged(fact: Passed, notes: Notes) -> None:
    """The client settles what gets have brought; in a transaction it counts once that is committed."""
    if fact.event.direction == TO_BROKER:
        _settle(fact.event, notes.memory(Remains))


def _settle(event: Event, remains: Remains) -> None:
    place, tag = place_of(event), event.delivery_tag or 0
    held = remains.tags.get(place, {})
    covered = [one for one in held if one == tag or (event.multiple and (tag == 0 or one < tag))]
    found = [held.pop(one) for one in covered]
    remains.settling.update(dict.fromkeys((message for _, message in found), settling(event)))
    if place in remains.transactions:
        remains.uncommitted.setdefault(place, []).extend(found)
    else:
        remains.settled.setdefault(place, []).extend((*one, event.seq) for one in found)


@follows("basic.nack", "basic.reject", "basic.recover", "basic.recover-async")
def returned(fact: Passed, notes: Notes) -> None:
    """What is given up is settled. What this channel holds may come back in another way."""
    if fact.event.direction != TO_BROKER:
        return
    if fact.event.method in ("basic.nack", "basic.reject") and not fact.event.has("requeue"):
        _settle(fact.event, notes.memory(Remains))
    else:
        notes.memory(Remains).tags.pop(place_of(fact.event), None)


@follows("basic.deliver", "basic.get-ok")
def delivered(fact: Passed, notes: Notes) -> None:
    """What comes to a consumer that needs no acknowledgement is settled with that. Whether a get settles is another
    question."""
    event, remains = fact.event, notes.memory(Remains)
    if event.message in remains.published:
        remains.delivered.add(event.message or "")
    channel = fact.connection.channels.get(event.channel)
    consumer = channel.consumers.get(event.consumer_tag or "") if channel is not None else None
    if consumer is not None and consumer.no_ack and event.method == "basic.deliver" and not remains.overrun:
        settled = consumer.queue, event.message or "", event.seq
        remains.settled.setdefault(place_of(event), []).append(settled)


@follows("basic.get-ok", "basic.get-empty", rules=(THERE, ORDER, RANKED, *GONE, MARKED, COMMITTED, REMOVED))
def answered(fact: Passed, notes: Notes) -> None:
    """A queue answers: what was settled before it was asked, on this channel, has been carried out."""
    event, remains = fact.event, notes.memory(Remains)
    place = place_of(event)
    waits = remains.asked.get(place)
    if not waits:
        return
    request = waits.pop(0)
    queue = request.queue
    _prove(remains, place, queue, request.seq)
    if event.method == "basic.get-ok":
        message = event.message or ""
        if request.no_ack:
            remains.settling.setdefault(message, ("MODE-002",))
            remains.settled.setdefault(place, []).append((queue, message, event.seq))
        else:
            remains.tags.setdefault(place, {})[event.delivery_tag or 0] = queue, message
    line = remains.lines.get(queue) if notes.memory(Kept).started else None
    if line is None:
        return
    if event.method == "basic.get-empty":
        _empty(line, notes)
    else:
        _came(line, event, notes)


def _prove(remains: Remains, place: Place, queue: str, since: int) -> None:
    settled = remains.settled.get(place, [])
    proven = [one for one in settled if one[0] == queue and one[2] < since]
    remains.proven.setdefault(queue, set()).update(message for _, message, _ in proven)
    remains.settled[place] = [one for one in settled if one not in proven]


# -- the restart


@judges(Stopping)
def put_down(fact: Stopping, notes: Notes) -> None:
    """What is in each durable queue, and what is not."""
    remains = notes.memory(Remains)
    opened = {message for messages in remains.transactions.values() for message in messages}
    remains.lines.clear()
    remains.before = frozenset(remains.published - remains.delivered - remains.twice)
    heirs = any("x-dead-letter-exchange" in one.arguments for one in fact.topology.queues.values())
    blind = remains.overrun or bool(fact.topology.policies)
    for (_, name), queue in fact.topology.queues.items() if not blind else ():
        plain = set(queue.arguments) <= PLAIN | NARROW and not queue.auto_delete
        if fate(queue) == KEPT and plain and name in fact.queues:
            line = remains.lines[name] = _line(fact.queues[name], remains, opened)
            line.narrow = not NARROW.isdisjoint(queue.arguments)
            line.levels = fact.queues[name].levels if fact.queues[name].kind == "classic" else 0
            line.bare = not heirs and emptied.bare(fact.queues[name])
            line.purged = set() if heirs else emptied.purged(fact.queues[name], remains.before)
    place_tables = remains.asked, remains.tags, remains.settled, remains.uncommitted
    for table in (*place_tables, remains.transactions, remains.committing):
        table.clear()
    remains.selected.clear()


def _line(queue: Queue, remains: Remains, opened: set[str]) -> Stores:
    line = Stores(gone=dict.fromkeys(remains.proven.get(queue.name, ()), NO_SETTLED))
    for copy in queue.copies.values():
        if copy.ambiguous or copy.publication is None or copy.id in remains.twice or copy.entry == DEAD:
            continue
        if copy.place == PROVISIONAL:
            line.gone.update({copy.id: UNCOMMITTED} if copy.id in opened else {})
        elif copy.place in (WAITING, OUT) and not copy.indeterminate:
            _enter(line, copy, queue, remains)
    for message in remains.twice:
        line.gone.pop(message, None)
    return line


def _enter(line: Stores, copy: Copy, queue: Queue, remains: Remains) -> None:
    """One message that is in the queue, or with a client."""
    assert copy.publication is not None
    if not copy.publication.persistent:
        if queue.kind == "classic":
            line.gone[copy.id] = NO_TRANSIENT
        return
    if copy.unowed or copy.fleeting or queue.lossy:
        return
    if promises(copy):
        line.promised[copy.id] = THERE
    elif copy.id in remains.committed:
        line.promised[copy.id] = COMMITTED
    if copy.place == OUT and copy.holder is not None:
        line.held[copy.id] = copy.holder.seq
    elif copy.publisher is not None and not (copy.seen or copy.returns or copy.hidden):
        priority = json.loads(copy.publication.content)["properties"].get("priority")
        line.fresh[copy.id] = (copy.publisher.connection.name, copy.publisher.number, priority), copy.published


# -- afterwards


@follows("basic.consume", "queue.purge", "queue.delete")
def disturbed(fact: Passed, notes: Notes) -> None:
    """Others may take messages from now on."""
    _unsure(notes.memory(Remains), fact.event.queue or "")


def _unsure(remains: Remains, queue: str) -> None:
    for name in [queue] if queue else list(remains.lines):
        if name in remains.lines:
            remains.lines[name].unsure = True


def _came(line: Stores, event: Event, notes: Notes) -> None:
    message = event.message or ""
    if message in line.seen or message in notes.memory(Remains).twice:
        return
    line.seen[message] = event.seq
    rule = line.gone.get(message)
    if rule is not None:
        allowed = f"{message} is not there after the restart: {GONE[rule]}"
        others = notes.memory(Remains).settling.get(message, ()) if rule == NO_SETTLED else ()
        notes.find(rule, event, allowed, f"{event.method} of {message}", unless=others)
    elif message in line.purged or (line.bare and message in notes.memory(Remains).before):
        why = "it was purged" if message in line.purged else "the queue was empty"
        allowed = f"{message} is not there after the restart: {why}"
        notes.find(REMOVED, event, allowed, f"{event.method} of {message}")
    if message in line.held and message in line.promised:
        _marked(line, message, event, notes)
    if message in line.fresh and message in line.promised and not line.unsure:
        _in_order(line, message, event, notes)
        if line.levels:
            _by_priority(line, message, event, notes)


def _marked(line: Stores, message: str, event: Event, notes: Notes) -> None:
    """A broker that marks no redelivery at all marks none of these either."""
    if event.has("redelivered"):
        notes.exercise(MARKED)
    else:
        allowed = f"{message} comes as redelivered: it was delivered before the restart"
        observed, unless = f"{event.method} of {message}, not redelivered", ("RQ-008",)
        notes.find(MARKED, event, allowed, observed, line.held[message], unless=unless)


def _in_order(line: Stores, message: str, event: Event, notes: Notes) -> None:
    rank, at = line.fresh[message]
    latest, before = line.last.get(rank, (0, ""))
    if latest > at and not line.disorder:
        line.disorder = True
        allowed = f"{message} before {before}, as they were published"
        notes.find(ORDER, event, allowed, f"{event.method} of {message} after {before}", at, latest)
    line.last[rank] = max((latest, before), (at, message))


def _priority(line: Stores, message: str) -> int:
    value = line.fresh[message][0][2]
    return min(value, line.levels) if isinstance(value, int) else 0


def _by_priority(line: Stores, message: str, event: Event, notes: Notes) -> None:
    """All that is fresh was in the queue together, so the highest comes first."""
    priority = _priority(line, message)
    if line.lowest is not None and priority > line.lowest[0] and not line.unranked:
        line.unranked = True
        before = line.lowest[1]
        allowed = f"{message} before {before}, which has a lower priority"
        notes.find(RANKED, event, allowed, f"{event.method} of {message} after {before}", line.fresh[message][1])
    line.lowest = min(line.lowest or (priority, message), (priority, message))


def _empty(line: Stores, notes: Notes) -> None:
    """All that is there has come. What must be, and has been seen to be, shows that the rest was not kept either."""
    if line.done or line.unsure or not line.promised or set(line.promised) - set(line.seen):
        return
    line.done = True
    notes.exercise(*dict.fromkeys(line.promised.values()))
    notes.exercise(*dict.fromkeys(rule for one, rule in line.gone.items() if one not in line.seen))
    ordered = set(line.fresh) & set(line.promised)
    if not line.disorder and len(ordered) > 1:
        notes.exercise(ORDER)
    if line.levels and not line.unranked and len({_priority(line, one) for one in ordered}) > 1:
        notes.exercise(RANKED)


@judges(Missing, THERE, COMMITTED)
def missed(fact: Missing, notes: Notes) -> None:
    """A drain has waited in vain."""
    remains = notes.memory(Remains)
    line = remains.lines.get(fact.queue.name) if notes.memory(Kept).started else None
    if line is None or line.unsure or line.done or remains.asked.get(line.taker or ("", 0)):
        return
    line.done = True
    for rule, lost in _lost(line):
        few = ", ".join(lost[:5])
        allowed = f"after the restart {fact.queue.name} has {len(lost)} messages more: {few}"
        notes.find(rule, fact.event, allowed, f"none of them within {fact.event.args.get('waited_ms')} ms")


def _lost(line: Stores) -> Iterator[tuple[str, list[str]]]:
    for rule in (THERE, COMMITTED):
        lost = [one for one, why in line.promised.items() if why == rule and one not in line.seen]
        if lost:
            yield rule, lost


@judges(Delivered, WHOLE)
def whole(fact: Delivered, notes: Notes) -> None:
    """A message that has come through the restart is what it was; a broker that alters messages without one is
    judged elsewhere."""
    copy, remains, publication = fact.copy, notes.memory(Remains), fact.copy.publication
    if publication is None or copy.ambiguous or copy.entry == DEAD:
        return
    sent, came = publication.content, fact.event.arguments
    change = address(publication, fact.event) or changed(publication, fact.event) or retyped(sent, came)
    if copy.weathered != RESTARTED:
        remains.whole, remains.altered = True, remains.altered or change is not None
    elif remains.whole and not remains.altered and change is None:
        notes.exercise(WHOLE)
    elif remains.whole and not remains.altered and change is not None:
        allowed = f"{copy.id} {change[0]}, as it was published before the restart"
        notes.find(WHOLE, fact.event, allowed, f"{fact.event.method} {change[1]}", publication.seq)
