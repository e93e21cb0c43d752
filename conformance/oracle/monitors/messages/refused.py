"""LEN: what becomes of a message that a full queue refuses: in other queues, and as a dead letter.

That a queue was full is claimed where the history proves it. The model does so for x-overflow reject-publish. A queue
with reject-publish-dlx has a memory of its own here: one channel publishes to it, and nobody takes anything from it, so
what was confirmed is there. Other queues are looked into by the channel that has published: what it sent to them came
before its question. That a dead letter is missing is said of a queue that is found empty a good while later (`dlx`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from conformance.history.events import TO_BROKER
from conformance.oracle.model.facts import Confirmed, Delivered, FoundEmpty, Passed
from conformance.oracle.model.publishing import confirming
from conformance.oracle.model.records import Copy
from conformance.oracle.monitors.fate import LOSING, TAKING
from conformance.oracle.monitors.messages.deadletters.deaths import MAXLEN, properties, table_of
from conformance.oracle.monitors.messages.dlx import source_of
from conformance.oracle.monitors.messages.ttl import Lives
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.patience import DEAD_LETTERS, too_late
from conformance.oracle.monitors.table import follows, judges

OTHERS, BURIED = "LEN-012", "LEN-013"
MOST, OCTETS, OVERFLOW = "x-max-length", "x-max-length-bytes", "x-overflow"
KIND, CLASSIC = "x-queue-type", "classic"
EXCHANGE, KEY = "x-dead-letter-exchange", "x-dead-letter-routing-key"
ARGUMENTS = frozenset({MOST, OCTETS, OVERFLOW, KIND, EXCHANGE, KEY})
QUEUES, MESSAGES = 64, 256


@dataclass(slots=True)
class Refusing:
    """A queue that makes dead letters of what it has no room for."""

    connection: str
    limits: tuple[int | None, int | None]
    """So many messages, and octets of bodies."""
    grave: str
    publisher: int = 0
    accepted: int = 0
    octets: int = 0
    """Of the bodies that it has accepted."""
    last: int = 0
    """The number of the last publish that it has accepted."""
    refused: OrderedDict[str, tuple[int, int]] = field(default_factory=OrderedDict)
    """When each was published, and at what time it was refused, where its dead letter has not been seen."""

    def full(self, octets: int) -> bool:
        """Has it certainly no room for one more of so many octets? Whatever else a broker counts as octets."""
        most, most_octets = self.limits
        return self.accepted == most or (most_octets is not None and self.octets + octets > most_octets)


@dataclass(slots=True)
class Refusals:
    """Such queues, by name, as long as nobody has taken anything from them."""

    queues: OrderedDict[str, Refusing] = field(default_factory=OrderedDict)
    known: dict[str, int] = field(default_factory=dict)
    """Messages that have been published to them, and the octets of their bodies."""


@follows("queue.declare")
def declared(fact: Passed, notes: Notes) -> None:
    """A queue that refuses, and whose dead go to one queue."""
    event, queues = fact.event, notes.memory(Refusals).queues
    name, arguments = event.queue or "", event.args.get("arguments") or {}
    if event.direction != TO_BROKER or event.has("passive"):
        return
    known, there = queues.pop(name, None), fact.topology.queue(fact.connection.vhost, name)
    limits, grave = (_number(arguments, MOST), _number(arguments, OCTETS)), arguments.get(KEY)
    same = known is not None and (known.limits, known.grave) == (limits, grave)
    if known is not None and same and there is not None and there.gone is None:
        queues[name] = known  # it is there, and declared just as it was
        return
    plain = ARGUMENTS.issuperset(arguments) and arguments.get(KIND, CLASSIC) == CLASSIC and not event.has("auto_delete")
    refuses = arguments.get(OVERFLOW) == "reject-publish-dlx" and arguments.get(EXCHANGE) == ""
    anew = there is None and name and grave != name
    if plain and refuses and anew and limits != (None, None) and isinstance(grave, str):
        queues[name] = Refusing(event.connection, limits, grave)
        if len(queues) > QUEUES:
            queues.popitem(last=False)


def _number(arguments: Mapping[str, object], name: str) -> int | None:
    value = arguments.get(name)
    return value if isinstance(value, int) else None


@follows("basic.get", "basic.consume", "queue.purge", "queue.delete", "queue.bind")
def disturbed(fact: Passed, notes: Notes) -> None:
    """Others may come to it, or some may leave it. The empty name stands for any."""
    queues = notes.memory(Refusals).queues
    if fact.event.direction == TO_BROKER and not fact.event.queue:
        queues.clear()
    elif fact.event.direction == TO_BROKER:
        queues.pop(fact.event.queue or "", None)


@follows("basic.publish")
def published(fact: Passed, notes: Notes) -> None:
    """One more comes to it, from a channel that is told what becomes of it."""
    event, memory = fact.event, notes.memory(Refusals)
    name = event.routing_key or ""
    queue = memory.queues.get(name) if not event.exchange else None
    if queue is None:
        return
    channel = fact.connection.channels.get(event.channel)
    confirms = channel is not None and channel.confirm and not channel.transactional and not channel.indeterminate
    mine = event.connection == queue.connection and queue.publisher in (0, event.channel)
    plain = '"headers"' not in event.arguments and '"expiration"' not in event.arguments
    if not (confirms and mine and plain and event.message) or event.message in memory.known:
        del memory.queues[name]
    elif len(memory.known) < MESSAGES:
        queue.publisher = event.channel
        memory.known[event.message] = event.body_size or 0


@judges(Confirmed, OTHERS, BURIED)
def answered(fact: Confirmed, notes: Notes) -> None:
    """Taken, or refused: by the one queue, or by one of several."""
    event, memory = fact.event, notes.memory(Refusals)
    for publication in fact.resolved:
        queue = memory.queues.get(publication.routing_key) if not publication.exchange else None
        if queue is not None and publication.message in memory.known:
            if event.method == "basic.ack":
                queue.accepted, queue.last = queue.accepted + 1, max(queue.last, publication.number)
                queue.octets += memory.known[publication.message]
                most, _ = queue.limits
                if most is not None and queue.accepted > most:
                    allowed = f"basic.nack for {publication}: {publication.routing_key} has {most} messages"
                    notes.find(BURIED, event, allowed, f"basic.ack {fact.number}", publication.seq, unless=TAKING)
                    del memory.queues[publication.routing_key]
            elif publication.number > queue.last and queue.full(memory.known[publication.message]):
                # else it may have another reason
                queue.refused[publication.message] = publication.seq, event.time_ns
        full = publication.full
        if full is None or full.kind != CLASSIC or len(publication.copies) < 2 or event.method == "basic.nack":
            continue
        counted = fact.channel.counted or fact.number == fact.channel.published
        certain = counted and confirming.full(fact.channel, publication, fact.resolved)
        allowed = f"basic.nack for {publication}: {full.name}, one of its queues, is full and rejects"
        seen = f"basic.ack {fact.number}"
        notes.find(OTHERS, event, allowed, seen, publication.seq, certain=certain, unless=LOSING)


# -- in other queues


def _refused_elsewhere(copy: Copy) -> bool:
    """Has another of its queues certainly refused it?"""
    publication = copy.publication
    if publication is None or publication.verdict != "basic.nack" or publication.full in (None, copy.queue):
        return False
    full = publication.full
    return full is not None and full.kind == CLASSIC and copy.queue.room is None and publication.turned_away


@judges(Delivered, OTHERS)
def kept(fact: Delivered, notes: Notes) -> None:
    """It is where there was room for it."""
    if not fact.copy.seen and not fact.copy.ambiguous and _refused_elsewhere(fact.copy):
        notes.exercise(OTHERS)


@judges(FoundEmpty, OTHERS)
def not_kept(fact: FoundEmpty, notes: Notes) -> None:
    """Who has published it looks where there was room for it, and finds nothing."""
    queue, channel = fact.queue, fact.channel
    doubtful = queue.lossy or queue.volatile or queue.opaque or queue.purged or queue.deleted or queue.losers
    if queue.kind != CLASSIC or not queue.declared or doubtful or queue.sweepers or channel.indeterminate:
        return
    for copy in queue.copies.values():
        publication = copy.publication
        if publication is None or copy.publisher is not channel or copy.seen or copy.ambiguous or copy.fleeting:
            continue
        if not 0 < publication.resolved < fact.since or queue.others(copy.published, fact.receiver):
            continue
        if _refused_elsewhere(copy) and publication.full is not None:
            allowed = f"{copy.id} in {queue.name}, although {publication.full.name} has refused it"
            seqs = copy.published, publication.resolved
            notes.find(OTHERS, fact.event, allowed, "the queue is empty", *seqs, unless=LOSING)
            return


# -- as dead letters


@follows("basic.deliver", "basic.get-ok", rules=(BURIED,))
def came(fact: Passed, notes: Notes) -> None:
    """A dead letter of what was refused: what does it tell?"""
    event, message = fact.event, fact.event.message or ""
    memory = notes.memory(Refusals)
    if message not in memory.known:
        return
    found = source_of(fact)
    for name, queue in memory.queues.items():
        if found is None:
            queue.refused.pop(message, None)  # it has come from somewhere: it is not missing
        if message not in queue.refused or found is None or found[0] != queue.grave:
            continue
        sent, _ = queue.refused.pop(message)
        deaths = table_of(properties(event.arguments).get("headers") or {})
        told = [(one.get("queue"), one.get("reason"), one.get("count")) for one in deaths]
        if told == [(name, MAXLEN, 1)]:
            notes.exercise(BURIED)
        else:
            notes.find(BURIED, event, f"x-death {name} {MAXLEN} 1", f"x-death {told}", sent)
        return


@judges(FoundEmpty, BURIED)
def missing(fact: FoundEmpty, notes: Notes) -> None:
    """The queue where it must be by now is empty."""
    target, event = fact.queue, fact.event
    doubtful = target.lossy or target.volatile or target.purged or target.deleted or target.losers
    if not target.declared or doubtful or target.sweepers:
        return
    asked = notes.memory(Lives).asked(fact.since)
    for name, queue in notes.memory(Refusals).queues.items():
        if queue.grave != target.name or queue.connection != event.connection:
            continue
        for message, (sent, refused_ns) in queue.refused.items():
            if not target.others(sent, fact.receiver) and too_late(asked, refused_ns, DEAD_LETTERS, notes):
                allowed = f"{message} in {target.name}, x-death {name} {MAXLEN} 1"
                notes.find(BURIED, event, allowed, "the queue is empty", sent, unless=LOSING)
                queue.refused.clear()
                break
