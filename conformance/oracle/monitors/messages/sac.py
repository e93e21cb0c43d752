"""SAC: queues that serve one of their consumers, until that leaves.

A memory of the family: for each such queue, the consumers that have been served. Two of them that are there both, and
that nobody has asked to end, contradict the rule in whichever order the broker served them. Of quorum queues with
consumers of different priorities nothing is claimed: there a new one may take over.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from conformance.history.events import TO_BROKER
from conformance.oracle.model.connections.channels import LIVE, OPEN, ChannelLife, Consumer
from conformance.oracle.model.facts import Delivered, Forsaken, Passed
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.model.records import GONE, RELEASED, Copy
from conformance.oracle.monitors import fate
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.refusals import ANY, refuses
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.topology.preconditions import Asked

ONE, NEXT, HELD, ALONE, FULL, ORDER = "SAC-001", "SAC-002", "SAC-003", "SAC-004", "SAC-005", "SAC-006"
FAILS = "ERR-012"
"""Who breaks this ends a connection with an internal error, whatever its client did."""
ARGUMENT, PRIORITY = "x-single-active-consumer", "x-priority"
MOST = 64
"""So many queues are remembered, and so many consumers of each."""


@dataclass(slots=True)
class Served:
    """A consumer that has got messages."""

    channel: ChannelLife
    consumer: Consumer
    last: int = 0
    """When it got the latest."""
    copy: Copy | None = None
    filled: bool = False
    """It has been seen to hold all that it may."""

    def there(self) -> bool:
        """Certainly: nobody has asked it to end, and it has not timed out meanwhile."""
        consumer, channel = self.consumer, self.channel
        alive = channel.state == OPEN and not (channel.indeterminate or channel.connection.closing)
        return alive and consumer.state == LIVE and not (consumer.revived or consumer.noticed)

    def left(self) -> bool:
        """Has it been cancelled, or its channel come to an end?"""
        return self.channel.state != OPEN or self.channel.consumers.get(self.consumer.tag) is not self.consumer


@dataclass(slots=True)
class SingleQueues:
    """By queue; and the names of those that have consumers with priorities."""

    served: OrderedDict[Queue, list[Served]] = field(default_factory=OrderedDict)
    ranked: set[str] = field(default_factory=set)

    def of(self, queue: Queue) -> list[Served]:
        """Who has been served there."""
        known = self.served.setdefault(queue, [])
        if len(known) > MOST:
            del known[0]
        if len(self.served) > MOST:
            self.served.popitem(last=False)
        return known


@refuses(ALONE, "basic.consume", code=ANY, what="an exclusive consumer of a queue that serves one at a time")
def exclusive(asked: Asked) -> bool | None:
    """Is it to be exclusive where several take turns? Quorum queues need not know such consumers."""
    queue = asked.queue() if asked.event.has("exclusive") else None
    if queue is None or queue.arguments.get(ARGUMENT) is not True or ARGUMENT in asked.profile.refused:
        return False
    return None if queue.arguments.get("x-queue-type", "classic") != "classic" else asked.queue_there()


@follows("basic.consume")
def ranked(fact: Passed, notes: Notes) -> None:
    """Consumers with priorities have rules of their own."""
    event = fact.event
    if event.direction == TO_BROKER and PRIORITY in (event.args.get("arguments") or {}):
        notes.memory(SingleQueues).ranked.add(event.queue or "")


@judges(Delivered, ONE, NEXT, HELD, FULL, ORDER)
def served(fact: Delivered, notes: Notes) -> None:
    """Whoever gets something is the one that is served."""
    consumer, queue = fact.delivery.consumer, fact.queue
    if consumer is None or not queue.single_active or not queue.declared:
        return
    memory = notes.memory(SingleQueues)
    known = memory.of(queue)
    me = next((one for one in known if one.consumer is consumer), None)
    mine = me or Served(fact.channel, consumer)
    if queue.name not in memory.ranked:
        _beside(fact, mine, known, notes)
        if me is None:
            _taken_over(fact, mine, known, notes)
        _in_order(fact, mine, known, notes)
    mine.last, mine.copy = fact.event.seq, fact.copy
    mine.filled = not consumer.no_ack and 0 < consumer.limit <= consumer.window.held + 1
    if me is None:
        known.append(mine)


def _beside(fact: Delivered, mine: Served, known: list[Served], notes: Notes) -> None:
    """Is anybody else served, or waiting?"""
    other = next((one for one in known if one is not mine and one.there()), None)
    if other is not None and mine.there():
        rule = FULL if other.filled else ONE
        allowed = f"{other.consumer.tag} alone is served, until it leaves"
        observed = f"{mine.consumer.tag} gets {fact.copy.id}"
        unless = _after_a_refusal(fact.copy, other)
        notes.find(rule, fact.event, allowed, observed, other.last, other.consumer.since, unless=unless)
    elif mine.last and _waiting(fact.queue, mine):
        notes.exercise(ONE)
        if mine.filled:
            notes.exercise(FULL)


def _after_a_refusal(copy: Copy, other: Served) -> tuple[str, ...]:
    """The rules that explain it where the message had been settled, or the one that was served has settled something
    and does not know yet what came of it: a broker that refuses a settlement, or fails at it, has ended whoever was
    served, and has the messages again."""
    settled = fate.of_settled(copy.holder) if copy.place == GONE and copy.holder is not None else ()
    unproven = other.channel.unproven
    refused = (fate.of_refused(unproven[-1], failed=True), FAILS) if unproven else ()
    return tuple(dict.fromkeys((*settled, *refused)))


def _waiting(queue: Queue, mine: Served) -> bool:
    """Has another consumer been there all the time since this one was served last?"""
    others = (one.consumer for one in queue.receivers)
    return any(
        one is not None and one.state == LIVE and one.since < mine.last for one in others if one is not mine.consumer
    )


def _taken_over(fact: Delivered, mine: Served, known: list[Served], notes: Notes) -> None:
    """The first that it gets: whom does it follow?"""
    former = next((one for one in reversed(known) if one.left() and one.last > mine.consumer.since), None)
    if former is None:
        return
    notes.exercise(NEXT)
    held = fact.copy.holder
    if fact.copy.entry == RELEASED and held is not None and held.channel is former.channel:
        notes.exercise(HELD)


def _in_order(fact: Delivered, mine: Served, known: list[Served], notes: Notes) -> None:
    """What came back when the former ended stands before all that was published later."""
    copy, before, held = fact.copy, mine.copy, fact.copy.holder
    if before is None or held is None or copy.entry != RELEASED or copy.indeterminate or fact.queue.unordered:
        return
    former = next((one for one in known if one.consumer is held.consumer and one is not mine), None)
    if fact.queue.order != "original" or former is None or former.consumer.asked:
        return  # a former that was cancelled may have held it on, while others were served
    if copy.older_than(before):
        allowed = f"{copy.id} before {before.id}, which was published later"
        notes.find(ORDER, fact.event, allowed, f"{before.id} came first", copy.published, before.published, mine.last)
    elif before.older_than(copy):
        notes.exercise(ORDER)


@judges(Forsaken, NEXT)
def forsaken(fact: Forsaken, notes: Notes) -> None:
    """Its messages are nowhere: what it has lost, and how, nobody can tell, for it serves nobody any more."""
    sure = [copy for copy in fact.copies if not copy.undecided and not copy.unowed]
    copies = (sure or fact.copies)[:5]
    names, latest = ", ".join(copy.id for copy in copies), fact.queue.latest
    if copies and latest is not None:
        allowed = f"whoever is next gets {names} from {fact.queue.name}"
        entered = (copy.entered for copy in copies)
        notes.find(NEXT, fact.event, allowed, "no delivery comes to anybody", *entered, latest.seq, certain=bool(sure))
