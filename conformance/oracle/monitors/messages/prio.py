"""PRIO: classic queues that serve messages by their priority.

Of two messages that wait, one that comes first is judged where nobody but its receiver can hold the other. What is
published while others are being taken may have to wait for its turn, so a claim of the higher priority is made only for
what was in the queue before the first message was taken since it was empty. A memory tells when that was asked for. Of
dead letters, and of what a client leaves behind, nobody knows when they come: they were there where the queue has said,
before, that it holds just as many messages as may be in it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from conformance.oracle.model.circumstances.ranking import PRIORITY
from conformance.oracle.model.facts import Delivered, FoundEmpty, Passed
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.model.records import DEAD, PUBLISHED, RECOVERED, RELEASED, RETURNED, WAITING, Copy, Publication
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.refusals import ANY, refuses
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.topology.preconditions import Asked

HIGHEST, FIRST, ABOVE, NONE, BACK, MAXIMUM, ALL = (
    "PRIO-001",
    "PRIO-002",
    "PRIO-003",
    "PRIO-004",
    "PRIO-005",
    "PRIO-006",
    "PRIO-007",
)
ARGUMENT, MOST_LEVELS = "x-max-priority", 255
BEHIND, BEFORE = "behind what was first", "before what came later"
TURNS = BEHIND, BEFORE
"""Both are to be seen of messages above the maximum."""
WINDOW, MOST = 32, 64
"""So many messages that wait are looked at; so many queues are remembered."""


@dataclass(slots=True)
class Cycles:
    """When the first message was asked for since a queue was found empty, and the ranks that have come since."""

    begun: OrderedDict[Queue, int] = field(default_factory=OrderedDict)
    came: dict[Queue, set[int]] = field(default_factory=dict)
    said: OrderedDict[str, tuple[int, int, int]] = field(default_factory=OrderedDict)
    """By the names of queues: how many messages there are, when that was asked, and when it was answered."""
    whole: dict[Queue, int] = field(default_factory=dict)
    """When it was asked of these queues how many messages there are, and it was as many as there may be at most."""

    def of(self, queue: Queue, since: int) -> int:
        """Begins one where there is none."""
        if len(self.begun) > MOST:
            self.end(self.begun.popitem(last=False)[0])
        if queue not in self.begun and queue.name in self.said:
            count, asked, told = self.said.pop(queue.name)
            all_of_it = not (queue.aside or queue.opaque or queue.held or queue.announced)
            if all_of_it and told < since and count == len(queue.fresh) + len(queue.returned):
                self.whole[queue] = asked
        return self.begun.setdefault(queue, since)

    def end(self, queue: Queue) -> set[int]:
        """The ranks that have come in it."""
        self.whole.pop(queue, None)
        return self.came.pop(queue, set())


@refuses(MAXIMUM, "queue.declare", code=ANY, what="x-max-priority that is no number from 0 to 255")
def wrong_maximum(asked: Asked) -> bool | None:
    """Is it none? Other types of queues need not look at it."""
    arguments = asked.event.args.get("arguments") or {}
    if ARGUMENT not in arguments or asked.event.has("passive"):
        return False
    value, there = arguments[ARGUMENT], asked.queue_there()
    fine = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_LEVELS
    certain = arguments.get("x-queue-type", "classic") == "classic" and there is not True
    return False if fine else (True if certain else None)


def source(copy: Copy) -> Publication | None:
    """How it was published, or what has died and become it."""
    return copy.publication or copy.former


@follows("queue.declare-ok")
def counted(fact: Passed, notes: Notes) -> None:
    """Somebody is told how many messages there are."""
    event, said = fact.event, notes.memory(Cycles).said
    channel = fact.connection.channels.get(event.channel)
    asked = channel.requests.get(("queue.declare", "")) if channel is not None else None
    said.pop(event.queue or "", None)
    if event.queue and asked:
        said[event.queue] = int(event.args.get("message_count", 0)), asked[0].seq, event.seq
    if len(said) > MOST:
        said.popitem(last=False)


def given(copy: Copy) -> int | None:
    """The priority that it was published with."""
    publication = source(copy)
    found = PRIORITY.search(publication.content) if publication is not None else None
    return int(found[1]) if found is not None else None


def rank(copy: Copy) -> int:
    """The priority that counts in its queue."""
    return min(given(copy) or 0, copy.queue.levels)


@judges(Delivered, HIGHEST, FIRST, ABOVE, NONE, BACK, ALL)
def by_priority(fact: Delivered, notes: Notes) -> None:
    """Nothing is passed over that has a higher priority, or the same and was first."""
    copy, queue = fact.copy, fact.queue
    if not queue.levels or queue.kind != "classic" or not queue.declared:
        return
    cycles = notes.memory(Cycles)
    begun = cycles.of(queue, fact.since)
    cycles.came.setdefault(queue, set()).add(rank(copy))
    if copy.place != WAITING or copy.indeterminate or copy.unowed or queue.crowded(fact.receiver):
        return
    if source(copy) is None or queue.sweepers:
        return
    for rule, other, wrong in _beside(fact, begun, cycles.whole.get(queue, 0)):
        if wrong:
            allowed = f"{other.id} first, with priority {given(other)}"
            observed = f"{copy.id} is delivered, with priority {given(copy)}, {other.id} not yet"
            notes.suspect(other, rule, fact.event, allowed, observed, other.published, copy.published)
            return
        if rule == ABOVE:
            notes.show(ABOVE, BEFORE if (given(copy) or 0) > queue.levels else BEHIND, TURNS)
        else:
            notes.exercise(rule)


def _beside(fact: Delivered, begun: int, whole: int) -> Iterator[tuple[str, Copy, bool]]:
    """The others that wait, each with the rule that says which of the two is first, and whether it is broken."""
    copy, queue = fact.copy, fact.queue
    for other in islice(queue.fresh.values(), WINDOW):
        if other is copy or source(other) is None or queue.others(other.entered, fact.receiver):
            continue
        if rank(other) != rank(copy):
            wrong = rank(other) > rank(copy)
            there = other.entered < whole if other.entry == DEAD else queue.there(other, fact.channel, begun)
            if there and (wrong or _waits_longer(other, copy)):
                yield HIGHEST if copy.entry in (PUBLISHED, DEAD) else BACK, other, wrong
        elif other.publication is not None and copy.entry == PUBLISHED and _certain(copy, other):
            yield _of_equals(copy, other), other, other.older_than(copy)
    for other in islice(queue.returned.values(), WINDOW):
        back = other.entry in (RETURNED, RECOVERED) and queue.there(other, fact.channel, fact.since)
        there = back or (other.entry == RELEASED and other.entered < whole)
        certain = there and other.publication is not None and not queue.others(other.entered, fact.receiver)
        if other is not copy and certain and rank(other) != rank(copy):
            yield BACK, other, rank(other) > rank(copy)


def _waits_longer(other: Copy, copy: Copy) -> bool:
    """Would it have been served first, if priorities meant nothing?"""
    mine, its = copy.publication, other.publication
    if other.entry == copy.entry == DEAD:
        return other.entered < copy.entered
    if mine is not None and its is not None and 0 < mine.committed == its.committed:
        return its.seq < mine.seq
    return other.older_than(copy)


def _certain(copy: Copy, other: Copy) -> bool:
    """Is it certain which of them was put into the queue first?"""
    return other.older_than(copy) or copy.older_than(other)


def _of_equals(copy: Copy, other: Copy) -> str:
    """The rule by which these two have the same rank."""
    mine, its = given(copy), given(other)
    if mine == its:
        return FIRST
    return NONE if None in (mine, its) else ABOVE


@judges(FoundEmpty, ALL)
def empty(fact: FoundEmpty, notes: Notes) -> None:
    """All that was in it has come."""
    cycles = notes.memory(Cycles)
    queue = fact.queue
    whole = not (queue.fresh or queue.returned)
    cycles.said.pop(queue.name, None)
    if cycles.begun.pop(queue, None) is not None and len(cycles.end(queue)) > 1 and whole:
        notes.exercise(ALL)
