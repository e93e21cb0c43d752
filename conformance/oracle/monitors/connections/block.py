"""BLOCK: what a broker that runs short of something tells its publishers, and what it does with what they have sent.

The driver notes when an alarm is raised and cleared; `model.alarms` says who may be heard no further meanwhile, and who
has to be told. Without an alarm of ours, a broker may block whom it likes; then its words alone are judged.

    - alarm raised
    p:1 > publish q m1
    p:0 < blocked memory           p wants to know
    r:1 > flow                     r has published nothing, and is answered
"""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.history.events import TO_CLIENT
from conformance.oracle.model.connections.alarms import BLOCKED
from conformance.oracle.model.connections.connection import Connection
from conformance.oracle.model.facts import Answered, Confirmed, Delivered, Missing, Passed, Unanswered
from conformance.oracle.model.owed import BLOCKING, CONFIRM, DELIVERY, REPLY
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows, judges

ASKED, PAIRS, TOLD = "BLOCK-001", "BLOCK-002", "BLOCK-003"
OVER, KEPT, OTHERS = "BLOCK-004", "BLOCK-005", "BLOCK-006"
UNBLOCKED = "connection.unblocked"
ANSWERS, SERVED = "it is answered", "its consumer is served"
GO_ON = ANSWERS, SERVED


@dataclass(slots=True)
class Blocks:
    """When the latest connection was told that it is blocked, and which of the others have shown that they are not."""

    told: int = 0
    spared: set[str] = field(default_factory=set)


@follows(BLOCKED, UNBLOCKED, rules=(ASKED, PAIRS, TOLD, OVER))
def told(fact: Passed, notes: Notes) -> None:
    """The broker says that the client is blocked, or that it is so no more."""
    event, blocking = fact.event, fact.connection.blocking
    if event.direction != TO_CLIENT or not fact.connection.whole:
        return
    if blocking.wanted is False:
        notes.find(ASKED, event, f"no {event.method}: the client has not asked for it", event.method)
        return
    blocks = event.method == BLOCKED
    if blocks == blocking.blocked:
        allowed = UNBLOCKED if blocks else f"no {UNBLOCKED}: the connection is not blocked"
        notes.find(PAIRS, event, allowed, event.method, blocking.told, blocking.over)
    elif not blocks:
        notes.exercise(PAIRS, *((OVER,) if not blocking.alarmed else ()))
    if not blocks:
        return
    notes.memory(Blocks).told = event.seq
    if not event.args.get("reason"):
        notes.find(TOLD, event, f"{BLOCKED} with a reason", f"{BLOCKED} without a reason")
    elif blocking.alarmed and blocking.pressed:
        notes.exercise(TOLD)


@judges(Unanswered, TOLD, OVER)
def never_told(fact: Unanswered, notes: Notes) -> None:
    """The client should have been told, and was not."""
    owed = fact.obligation
    if owed.kind == BLOCKING:
        rule = TOLD if owed.what == BLOCKED else OVER
        notes.find(rule, fact.event, owed.what, f"no {owed.what} comes", owed.since_seq)


@judges(Answered, ASKED, OTHERS)
def goes_on(fact: Answered, notes: Notes) -> None:
    """A connection is answered: one that was not to be told, after the alarm; one that has not published, in it."""
    connection, memory = fact.channel.connection, notes.memory(Blocks)
    if not memory.told or connection.name in memory.spared:
        return
    blocking = connection.blocking
    if blocking.wanted is False and blocking.pressed and not blocking.halting:
        memory.spared.add(connection.name)
        notes.exercise(ASKED)
    elif _uninvolved(connection) and memory.told < fact.request.seq:
        notes.show(OTHERS, ANSWERS, GO_ON)


def _uninvolved(connection: Connection) -> bool:
    """Has it published nothing, while an alarm is raised?"""
    return bool(connection.blocking.alarmed) and not connection.blocking.published and connection.whole


@judges(Delivered, OTHERS)
def is_served(fact: Delivered, notes: Notes) -> None:
    """A consumer that started while others were blocked gets a message."""
    consumer, memory = fact.delivery.consumer, notes.memory(Blocks)
    if consumer is not None and 0 < memory.told < consumer.receiver.start and _uninvolved(fact.channel.connection):
        notes.show(OTHERS, SERVED, GO_ON)


@judges(Unanswered, OTHERS, KEPT)
def is_stopped(fact: Unanswered, notes: Notes) -> None:
    """Nothing comes: to a connection that has published nothing; or for what was sent while its client was blocked."""
    owed, channel = fact.obligation, fact.channel
    if channel is None or channel.indeterminate or channel.settlement_error or channel.method_error:
        return
    connection, blocking = channel.connection, channel.connection.blocking
    if owed.kind in (REPLY, DELIVERY) and _uninvolved(connection) and owed.since_seq > blocking.alarmed:
        allowed = f"{owed.what}: the connection has published nothing"
        notes.find(OTHERS, fact.event, allowed, f"{owed.what} does not come", owed.since_seq, blocking.alarmed)
    elif owed.kind in (REPLY, CONFIRM) and _meanwhile(connection, owed.since_seq):
        allowed = f"{owed.what}, now that the connection is not blocked any more"
        notes.find(KEPT, fact.event, allowed, f"{owed.what} does not come", owed.since_seq, blocking.over)


def _meanwhile(connection: Connection, seq: int) -> bool:
    """Was it sent while the client knew that it was blocked, and is that over?"""
    blocking = connection.blocking
    return not blocking.blocked and 0 < blocking.told < seq < blocking.over


@judges(Confirmed, KEPT)
def is_kept(fact: Confirmed, notes: Notes) -> None:
    """A publish is confirmed that was sent meanwhile."""
    connection = fact.channel.connection
    if not connection.blocking.told or fact.event.method != "basic.ack":
        return
    if any(_meanwhile(connection, one.seq) for one in fact.resolved):
        notes.exercise(KEPT)


@judges(Missing, KEPT)
def is_lost(fact: Missing, notes: Notes) -> None:
    """Such a publish is nowhere, although it was confirmed."""
    for copy in fact.copies:
        publisher = copy.publisher
        if publisher is not None and copy.confirmed and _meanwhile(publisher.connection, copy.published):
            allowed = f"{copy.id} in {fact.queue.name}: it was published while its client was blocked"
            notes.find(KEPT, fact.event, allowed, "the queue was drained, and did not deliver it", copy.published)
