"""CPRIO: consumers that are served before others.

A memory of the family: the consumers of each queue since their consume-ok. That a message went to the wrong one is
certain only later: deliveries to the other one may be on their way and may have filled it. So a claim waits until the
channel of that one has answered to something that was sent after the delivery.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from conformance.oracle.model.connections.channels import LIVE, OPEN, ChannelLife, Consumer
from conformance.oracle.model.consumers.windows import Freed
from conformance.oracle.model.facts import Answered, Delivered
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.model.records import DEAD, PUBLISHED, RETURNED, Copy
from conformance.oracle.monitors.consumers import slots
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.refusals import ANY, refuses
from conformance.oracle.monitors.table import judges
from conformance.oracle.topology.preconditions import Asked

HIGHER, NEXT, SHARE, INTEGER = "CPRIO-001", "CPRIO-002", "CPRIO-003", "CPRIO-004"
ARGUMENT = "x-priority"
FAIR, ENOUGH = 10, 5
"""So many messages in a row to one of two equals are unfair; so many to both of them show that they share."""
MOST = 64


@dataclass(slots=True, eq=False)
class Ranked:
    """A consumer that is there."""

    channel: ChannelLife
    consumer: Consumer
    began: int
    alone: dict[Ranked, int] = field(default_factory=dict)
    """How many it has got since another one of the same rank has got any."""

    def there(self) -> bool:
        """Certainly, and able to take something but for its limit."""
        channel, consumer = self.channel, self.consumer
        able = channel.state == OPEN and not (channel.indeterminate or channel.paused or channel.connection.closing)
        return (
            able and consumer.state == LIVE and not (consumer.limit_moved or consumer.revived or channel.shared.count)
        )

    def never_full(self) -> bool:
        """Has it had room from its beginning until now?"""
        return self.consumer.no_ack or not self.consumer.limit or self.consumer.received < self.consumer.limit

    def has_had_room(self, claim: Claim) -> bool:
        """Since that message was published. That its queue knows of a settlement is certain once it was full, and has
        got something after that."""
        consumer, freed = self.consumer, self.consumer.window.freed
        if self.never_full():
            return True
        known = freed is claim.freed and freed is not None and freed.full
        latest, held = claim.latest, claim.held + consumer.received - claim.got
        return known and freed is not None and freed.settlement.seq < latest < claim.published and held < consumer.limit


@dataclass(slots=True)
class Claim:
    """This one should have got a message that another got, if it has had room all the time."""

    rule: str
    of: Ranked
    seq: int
    published: int
    got: int
    held: int
    latest: int
    freed: Freed | None
    """What its window was then."""
    observed: str


@dataclass(slots=True)
class Ranks:
    """By queue; the queues of which one has a priority; and what is claimed."""

    consumers: OrderedDict[Queue, list[Ranked]] = field(default_factory=OrderedDict)
    ranked: set[Queue] = field(default_factory=set)
    claims: list[Claim] = field(default_factory=list)


@refuses(INTEGER, "basic.consume", code=ANY, what="an x-priority that is no integer")
def no_integer(asked: Asked) -> bool | None:
    """Is it none?"""
    arguments = asked.event.args.get("arguments") or {}
    if ARGUMENT not in arguments:
        return False
    value = arguments[ARGUMENT]
    fine = isinstance(value, int) and not isinstance(value, bool)
    return False if fine else (True if asked.queue_there() else None)


@judges(Answered)
def started(fact: Answered, notes: Notes) -> None:
    """A consumer is there."""
    request = fact.request
    consumer = fact.channel.consumers.get(request.consumer_tag) if request.method == "basic.consume" else None
    if consumer is None or not consumer.source.declared or consumer.source.kind != "classic":
        return
    memory, queue = notes.memory(Ranks), consumer.source
    known = memory.consumers.setdefault(queue, [])
    known.append(Ranked(fact.channel, consumer, fact.event.seq))
    if consumer.rank:
        memory.ranked.add(queue)
    if len(known) > MOST or len(memory.consumers) > MOST:
        memory.ranked.discard(memory.consumers.popitem(last=False)[0])


@judges(Delivered, HIGHER, NEXT, SHARE)
def served(fact: Delivered, notes: Notes) -> None:
    """A message goes to one of them."""
    memory = notes.memory(Ranks)
    known = memory.consumers.get(fact.queue, []) if fact.queue in memory.ranked else []
    mine = next((one for one in known if one.consumer is fact.delivery.consumer), None)
    if mine is None:
        return
    copy, since = fact.copy, came(fact.copy)
    for other in known if since and not (copy.indeterminate or fact.queue.single_active) else ():
        if other is not mine and max(other.began, mine.began) < since and other.there():
            _compare(fact, mine, other, notes)


def came(copy: Copy) -> int:
    """When it came to its queue: when it was published or given back, or not before it was given up in another queue.
    0: it may have come in another way."""
    if copy.entry == RETURNED or (copy.entry == DEAD and not copy.seen):
        return copy.entered
    return copy.published if copy.entry == PUBLISHED and not copy.seen else 0


def _compare(fact: Delivered, mine: Ranked, other: Ranked, notes: Notes) -> None:
    """Should the other one have got it?"""
    above = other.consumer.rank - mine.consumer.rank
    if above > 0 and other.consumer.full():
        notes.exercise(NEXT)
    elif above > 0:
        _claim(HIGHER, mine, other, fact, notes)
    elif above < 0 and mine.consumer.received and not other.consumer.full():
        notes.exercise(HIGHER)
    elif above == 0:
        other.alone[mine] = 0
        mine.alone[other] = mine.alone.get(other, 0) + 1
        if mine.alone[other] >= FAIR:
            _claim(SHARE, mine, other, fact, notes)
        elif min(mine.consumer.received, other.consumer.received) >= ENOUGH - 1:
            notes.exercise(SHARE)


def _claim(rule: str, mine: Ranked, other: Ranked, fact: Delivered, notes: Notes) -> None:
    claims = notes.memory(Ranks).claims
    observed = f"{fact.copy.id} goes to {mine.consumer.tag}, with priority {mine.consumer.rank}"
    window, got = other.consumer.window, other.consumer.received
    at = fact.event.seq, came(fact.copy)
    claims.append(Claim(rule, other, *at, got, window.held, window.latest, window.freed, observed))
    if len(claims) > MOST:
        del claims[0]


@judges(Answered, HIGHER, SHARE)
def proven(fact: Answered, notes: Notes) -> None:
    """What was on its way to a consumer has come by now."""
    memory = notes.memory(Ranks)
    due = [one for one in memory.claims if one.of.channel is fact.channel and one.seq < fact.request.seq]
    for one in due:
        memory.claims.remove(one)
        consumer = one.of.consumer
        if one.of.there() and one.of.has_had_room(one) and (one.rule == HIGHER or consumer.received == one.got):
            allowed = f"{consumer.tag}, with priority {consumer.rank}, has room, and gets it"
            allowed = (
                allowed if one.rule == HIGHER else f"{consumer.tag}, with priority {consumer.rank}, gets its share"
            )
            lost = slots.kept(one.of.channel, consumer, one.rule)
            notes.find(one.rule, fact.event, allowed, one.observed, one.seq, one.of.began, unless=lost)
