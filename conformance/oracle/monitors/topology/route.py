"""ROUTE: which queues a publish to an exchange comes to, and which it does not.

When a publish is sent, its ways are worked out, if the history proves them. A delivery from a queue to which no way
leads was routed wrongly. So was a message that a drain of its queue does not find. The rule at stake is that of the
binding which matches, or which should not have matched. Where such a message was to come by a match (topic, headers)
by which none like it has come, it is the match that is in doubt, and not what its queue does with messages.

    @exchange x q            a fanout exchange leads to q, and not to r
    1 > publish any m1 exchange=x
    2 < get-ok 1 m1 ...      from r: broken
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from conformance.history.events import TO_BROKER
from conformance.oracle.model.connections.channels import OPEN
from conformance.oracle.model.facts import Confirmed, Delivered, FoundEmpty, Missing, Passed
from conformance.oracle.model.records import PUBLISHED, WAITING, Copy, Publication
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.topology import TRANSITIONS, Message, explain
from conformance.oracle.topology import explaining as ways

RULES = {
    ways.DIRECT: "ROUTE-001",
    ways.FANOUT: "ROUTE-002",
    ways.TOPIC: "ROUTE-003",
    ways.STAR: "ROUTE-004",
    ways.HASH: "ROUTE-005",
    ways.ALL: "ROUTE-006",
    ways.ANY: "ROUTE-007",
    ways.HEADERS_X: "ROUTE-008",
    ways.TWICE: "ROUTE-009",
    ways.ONWARD: "ROUTE-010",
    ways.CYCLE: "ROUTE-011",
    ways.ALTERNATE: "ROUTE-012",
    ways.SPARED: "ROUTE-013",
    ways.UNBOUND: "ROUTE-014",
    ways.FORMER: "BIND-007",
    ways.EMPTY: "ROUTE-016",
    ways.VOID: "ROUTE-006",
    ways.FORM_X: "ROUTE-017",
    ways.APART: "BIND-012",
    ways.UNTIED: "BIND-013",
    ways.LEFT: "BIND-014",
    ways.KEPT: "EXCH-024",
    ways.ROLLED_BACK: "TX-014",
}
ELSEWHERE = "ROUTE-015"
"""A queue gets nothing from an exchange to which it was never bound."""
OTHER_QUEUE = "GET-003"
"""Whoever breaks this answers gets out of other queues than these name."""
COMPARED = ways.MATCHED | {ways.DIRECT}
"""Where a key or a header is compared, be it to the letter."""
ALL_RULES = (*RULES.values(), ELSEWHERE)
OF_HEADERS = RULES[ways.ALL], RULES[ways.ANY]
PARTICULAR = {RULES[ways.HEADERS_X]: OF_HEADERS, RULES[ways.FORM_X]: OF_HEADERS}
"""Rules about a particular of headers: where these lead nowhere at all, nothing follows for it."""
NEAREST = (
    ways.EMPTY,
    ways.VOID,
    ways.LEFT,
    ways.ROLLED_BACK,
    ways.KEPT,
    ways.APART,
    ways.UNTIED,
    ways.UNBOUND,
    ways.ALTERNATE,
    ways.CYCLE,
    ways.ONWARD,
)
"""Where several ways are at stake, these say more than the type of the last exchange."""
TELLING = COMPARED | frozenset(NEAREST)
"""Ways of which a message that has never been in its queue says something."""
MOVES = frozenset(TRANSITIONS) - {"basic.consume"} | {"connection.close"}
"""What may change bindings; with a connection go its exclusive queues."""
MESSAGES = 1024
"""Of so many publishes the ways are remembered."""
LATEST = 64
"""An empty queue says something about so many."""


@dataclass(slots=True)
class Way:
    """What is known of one message."""

    sent: int
    on: tuple[str, int]
    """The channel of the publish, as its connection and number."""
    reached: dict[str, tuple[str, ...]]
    barred: dict[str, str]
    like: tuple[str, str, str]
    """What a match looks at: exchange, key and headers. Messages that are alike in these go the same way."""
    delicate: bool
    """So is a match on its way."""
    seen_away: set[str] = field(default_factory=set)
    """Queues that were empty when it had been handled, and to which no way leads."""
    handled: bool = False
    """The broker has confirmed it."""
    moved: bool = False
    """Bindings were changed elsewhere while it was on its way: the broker may have made the change first."""
    dealt: bool = False
    """It is part of a transaction. When that is committed the bindings count that are there by then, or those of the
    publish, so none may change."""


@dataclass(slots=True)
class Ways:
    """The latest publishes to exchanges, by message; None where two share an id, or the route is not certain."""

    by_message: OrderedDict[str, Way | None] = field(default_factory=OrderedDict)
    came: OrderedDict[tuple[str, tuple[str, str, str], tuple[str, ...]], None] = field(default_factory=OrderedDict)
    """The queues out of which messages came to which a way leads, each with what these are like, and with the way."""
    heirs: set[str] = field(default_factory=set)
    """Names of queues to which dead letters of others go. Which ones is remembered for a while only."""

    def note(self, message: str, way: Way | None) -> None:
        """One more publish."""
        self.by_message[message] = None if message in self.by_message else way
        if len(self.by_message) > MESSAGES:
            self.by_message.popitem(last=False)

    def arrived(self, queue: str, way: Way) -> None:
        """One more has come by a way that leads to this queue."""
        self.came[queue, way.like, way.reached[queue]] = None
        if len(self.came) > MESSAGES:
            self.came.popitem(last=False)


@follows("basic.publish")
def published(fact: Passed, notes: Notes) -> None:
    """Where will it go?"""
    event = fact.event
    if not event.message:
        return
    memory = notes.memory(Ways)
    if not event.exchange:
        if event.message in memory.by_message:
            memory.note(event.message, None)
        return
    memory.note(event.message, _way(fact))


@follows("queue.declare")
def inherits(fact: Passed, notes: Notes) -> None:
    """The dead letters of this queue go to another."""
    key = (fact.event.args.get("arguments") or {}).get("x-dead-letter-routing-key")
    if fact.event.direction == TO_BROKER and isinstance(key, str):
        notes.memory(Ways).heirs.add(key)


@follows(*MOVES)
def rebound(fact: Passed, notes: Notes) -> None:
    """Bindings change, which a publish of another channel may meet that was sent before."""
    event = fact.event
    if event.direction != TO_BROKER:
        return
    for way in notes.memory(Ways).by_message.values():
        if way is not None and not way.handled and (way.dealt or way.on != (event.connection, event.channel)):
            way.moved = True


def _way(fact: Passed) -> Way | None:
    event = fact.event
    channel = fact.connection.channels.get(event.channel)
    if channel is None or channel.state != OPEN or channel.indeterminate:
        return None
    if not fact.connection.usable() or '"CC"' in event.arguments or '"BCC"' in event.arguments:
        return None
    exchange, key = event.exchange or "", event.routing_key or ""
    message = Message(key, event.arguments)
    found = explain(fact.topology, channel, exchange, message)
    if found is None:
        return None
    reached = {queue: tuple(labels) for queue, labels in found.reached.items()}
    like = exchange, key, json.dumps(message.headers, sort_keys=True, default=repr)
    on, dealt = (event.connection, event.channel), channel.transactional
    return Way(event.seq, on, reached, found.barred, like, found.delicate, dealt=dealt)


def of_match(copy: Copy, notes: Notes) -> str:
    """The rule that is broken when this message, which must be in its queue, is not, where that hangs on a match, or on
    what else there was on its way that leads there."""
    memory, queue = notes.memory(Ways), copy.queue.name
    way = memory.by_message.get(copy.id)
    if way is None or copy.seen or copy.survives or copy.entry != PUBLISHED:
        return ""
    labels = way.reached.get(queue, ())
    return "" if TELLING.isdisjoint(labels) or (queue, way.like, labels) in memory.came else _rules(labels)[0]


def of_empty_words(copy: Copy, notes: Notes) -> tuple[str, ...]:
    """The rule that explains it as well where a match is on its way: whoever passes over empty words sends a message
    elsewhere, and not on to an alternate."""
    way = notes.memory(Ways).by_message.get(copy.id)
    return (RULES[ways.EMPTY],) if way is not None and way.delicate and not copy.seen else ()


def of_several_ways(copy: Copy, notes: Notes) -> tuple[str, ...]:
    """The rules that explain it as well when it comes while it is out: several ways lead it there, or one in a circle,
    and there may be a copy for each."""
    way = notes.memory(Ways).by_message.get(copy.id)
    labels = way.reached.get(copy.queue.name, ()) if way is not None else ()
    return tuple(RULES[label] for label in (ways.TWICE, ways.CYCLE) if label in labels)


def hangs_on_match(publication: Publication, notes: Notes) -> bool:
    """Is a return, or that none comes, a question of what a binding matches, before it is one of returns? Which of the
    two it is shows in the queues. In a transaction the bindings may have changed until it was committed."""
    way = notes.memory(Ways).by_message.get(publication.message)
    if way is None or (way.dealt and way.moved):
        return bool(publication.committed and publication.exchange)
    return way.delicate or any(not ways.MATCHED.isdisjoint(labels) for labels in way.reached.values())


def of_ways(publication: Publication, notes: Notes) -> tuple[str, ...]:
    """The rules that explain it as well when it comes back as if no way led to a queue: of what else was bound there,
    or was removed, and of what leads on."""
    way = notes.memory(Ways).by_message.get(publication.message)
    labels = set[str]().union(*way.reached.values()) if way is not None else set[str]()
    return tuple(dict.fromkeys(_rules(label for label in labels if label in NEAREST)))


def was_rolled_back(publication: Publication, notes: Notes) -> bool:
    """Does it come to its queues by bindings alone that were made before a rollback, which undoes none?"""
    way = notes.memory(Ways).by_message.get(publication.message)
    return way is not None and all(ways.ROLLED_BACK in labels for labels in way.reached.values())


@judges(Confirmed)
def handled(fact: Confirmed, notes: Notes) -> None:
    """It is in all its queues by now, and in no other."""
    known = notes.memory(Ways).by_message
    for publication in fact.resolved if known else ():
        way = known.get(publication.message)
        if way is not None and fact.event.method == "basic.ack":
            way.handled = True


@judges(Delivered, *ALL_RULES)
def came(fact: Delivered, notes: Notes) -> None:
    """It came out of a queue: one that a way leads to, or another?"""
    copy, queue, event = fact.copy, fact.queue, fact.event
    memory = notes.memory(Ways)
    way = memory.by_message.get(copy.id)
    if way is None or copy.inherited:
        return
    labels = way.reached.get(queue.name)
    if labels is None:
        _astray(fact, way, notes)
    elif not copy.seen:
        memory.arrived(queue.name, way)
        notes.exercise(*_rules(labels))
    elif _again(fact, labels):
        notes.find(
            RULES[ways.CYCLE] if ways.CYCLE in labels else RULES[ways.TWICE],
            event,
            f"one copy of {copy.id} in {queue.name}",
            f"{event.method} of it once more, as if for the first time",
            way.sent,
        )


def _astray(fact: Delivered, way: Way, notes: Notes) -> None:
    copy, queue = fact.copy, fact.queue
    if queue.opaque or not queue.declared or copy.publication is not None or way.moved:
        return
    if queue.name in notes.memory(Ways).heirs:
        return
    why = way.barred.get(queue.name)
    notes.find(
        RULES[why] if why else ELSEWHERE,
        fact.event,
        f"{copy.id} in {', '.join(way.reached) or 'no queue'}",
        f"{fact.event.method} of it from {queue.name}",
        way.sent,
        unless=(OTHER_QUEUE,) if fact.event.method == "basic.get-ok" and not why else (),
    )


def _again(fact: Delivered, labels: tuple[str, ...]) -> bool:
    """Is it another copy than the one that came before: neither returned nor marked as redelivered?"""
    copy = fact.copy
    if copy.indeterminate or copy.returns or copy.entry != PUBLISHED or fact.delivery.redelivered:
        return False
    return copy.place != WAITING and (ways.TWICE in labels or ways.CYCLE in labels)


@judges(FoundEmpty, *ALL_RULES)
def stayed_away(fact: FoundEmpty, notes: Notes) -> None:
    """The queue is empty, and a message that was handled by now and should not be there never was."""
    name, declared = fact.queue.name, fact.queue.declared
    for way in islice(reversed(notes.memory(Ways).by_message.values()), LATEST):
        if way is None or not way.handled or way.moved or name in way.reached or name in way.seen_away:
            continue
        if 0 < declared < way.sent < fact.since:
            way.seen_away.add(name)
            why = way.barred.get(name)
            notes.exercise(RULES[why] if why else ELSEWHERE)


@judges(Missing, *ALL_RULES)
def never_came(fact: Missing, notes: Notes) -> None:
    """A way leads to this queue, and the message is not there."""
    known = notes.memory(Ways).by_message
    for copy in fact.copies:
        way = known.get(copy.id)
        labels = way.reached.get(fact.queue.name) if way is not None else None
        if way is None or way.moved or not labels or copy.seen or copy.entry != PUBLISHED:
            continue
        rule = _rules(labels)[0]
        notes.find(
            rule,
            fact.event,
            f"{copy.id} in {fact.queue.name}",
            "the queue was drained, and did not deliver it",
            way.sent,
            certain=not copy.undecided and not copy.unowed,
            unless=tuple(one for one in (*of_empty_words(copy, notes), *PARTICULAR.get(rule, ())) if one != rule),
        )


def _rules(labels: Iterable[str]) -> list[str]:
    """The rules of these ways, the one that says most first."""
    ordered = sorted(labels, key=lambda label: NEAREST.index(label) if label in NEAREST else len(NEAREST))
    return [RULES[label] for label in ordered]
