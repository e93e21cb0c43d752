"""AUTH, continued: who may enter a virtual host, deleted users, and what a refusal leaves as it was.

Memories of the family: who may enter, and queues whose declaration or deletion was refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.history.events import METHOD, TO_BROKER
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.facts import (
    Answered,
    ClosedUnasked,
    ConnectionFailed,
    Faulted,
    Passed,
    StillThere,
)
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.refusals import no_room
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.topology.preconditions import ACCESS_REFUSED, Asked

ENTERS, BANISHED, UNCHANGED = "AUTH-025", "AUTH-028", "AUTH-030"
NOT_ALLOWED, NOT_FOUND = 530, 404
DECLARE = 50, 10
MOST = 256


# -- entering a virtual host


@dataclass(slots=True)
class Doors:
    """Connections that have asked for a virtual host, and whether their user may enter it."""

    asked: dict[str, tuple[int, bool]] = field(default_factory=dict)


@follows("connection.open")
def knocks(fact: Passed, notes: Notes) -> None:
    """A client asks for a virtual host, of which it was told what its user may do there."""
    event, connection = fact.event, fact.connection
    told = fact.topology.rights.states.get((connection.user, str(event.args.get("virtual_host") or "/")))
    if told and event.direction == TO_BROKER and not connection.overheard:
        notes.memory(Doors).asked[connection.name] = event.seq, told[-1].patterns is not None


@follows("connection.open-ok", rules=(ENTERS,))
def let_in(fact: Passed, notes: Notes) -> None:
    """The broker lets it in."""
    seq, may = notes.memory(Doors).asked.pop(fact.connection.name, (0, True))
    if not may:
        notes.find(ENTERS, fact.event, "connection.close: the user has no permissions there", "connection.open-ok", seq)
    elif seq:
        notes.exercise(ENTERS)


@judges(ConnectionFailed, ENTERS)
def turned_away(fact: ConnectionFailed, notes: Notes) -> None:
    """The broker ends the connection."""
    seq, may = notes.memory(Doors).asked.pop(fact.connection.name, (0, True))
    code = fact.event.args.get("reply_code") if fact.event.kind == METHOD else None
    if may and seq and code in (NOT_ALLOWED, ACCESS_REFUSED) and not no_room(fact.event):
        notes.find(
            ENTERS, fact.event, "connection.open-ok: the user has permissions there", closing(fact.event.args), seq
        )
    elif not may and code in (None, NOT_ALLOWED, ACCESS_REFUSED):
        notes.exercise(ENTERS)
    elif not may:
        notes.find(ENTERS, fact.event, "connection.close 530: it may not enter", closing(fact.event.args), seq)


# -- deleted users


@judges(ConnectionFailed, BANISHED)
def sent_away(fact: ConnectionFailed, notes: Notes) -> None:
    """The connection ends after its user was deleted."""
    if fact.connection.banished and fact.error is None:
        notes.exercise(BANISHED)


@judges(StillThere, BANISHED)
def stays(fact: StillThere, notes: Notes) -> None:
    """The user is gone, and its connection is not."""
    connection = fact.connection
    if connection.banished and not connection.ended and not connection.overheard:
        found = f"the connection of {connection.user} stays open"
        notes.find(BANISHED, fact.event, "the connections of a deleted user are closed", found, connection.banished)


# -- what a refusal leaves as it was


@dataclass(slots=True)
class RefusedQueues:
    """Declarations and deletions that are under way, and whether the queue was there; queues for which one was refused,
    likewise; and passive declarations of those."""

    tried: dict[int, tuple[tuple[str, str], bool]] = field(default_factory=dict)
    left: dict[tuple[str, str], bool] = field(default_factory=dict)
    looked: dict[int, bool] = field(default_factory=dict)


@follows("queue.declare", "queue.delete")
def tried(fact: Passed, notes: Notes) -> None:
    """A user with limited rights changes a queue, or somebody looks for one."""
    event, channel = fact.event, fact.connection.channels.get(fact.event.channel)
    if not fact.topology.rights.states or event.direction != TO_BROKER or channel is None or not event.queue:
        return
    memory, name = notes.memory(RefusedQueues), (fact.connection.vhost, event.queue)
    if event.has("passive"):
        if name in memory.left:
            memory.looked[event.seq] = memory.left[name]
        return
    memory.left.pop(name, None)
    there = Asked(fact.topology, channel, event, notes.profile).queue_there()
    if there is not None:
        memory.tried[event.seq] = name, there
        for table in (memory.tried, memory.looked):
            if len(table) > MOST:
                del table[next(iter(table))]


@judges(Faulted, UNCHANGED)
def refused(fact: Faulted, notes: Notes) -> None:
    """It was refused, and must have changed nothing. Or there was nothing to be found, as it must be."""
    memory, code = notes.memory(RefusedQueues), fact.event.args.get("reply_code")
    found = memory.tried.pop(fact.error.seq, None)
    if found is not None and code == ACCESS_REFUSED and fact.error.rule.startswith("AUTH"):
        memory.left[found[0]] = found[1]
    if memory.looked.pop(fact.error.seq, None) is False and code == NOT_FOUND:
        notes.exercise(UNCHANGED)


@judges(Answered, UNCHANGED)
def looked_for(fact: Answered, notes: Notes) -> None:
    """Somebody finds the queue."""
    there = notes.memory(RefusedQueues).looked.pop(fact.request.seq, None)
    if there:
        notes.exercise(UNCHANGED)
    elif there is False:
        allowed = "channel.close 404: the declaration of the queue was refused"
        notes.find(UNCHANGED, fact.event, allowed, fact.event.method, fact.request.seq)


@judges(ClosedUnasked, UNCHANGED)
def not_found(fact: ClosedUnasked, notes: Notes) -> None:
    """Somebody does not find it."""
    memory, event = notes.memory(RefusedQueues), fact.event
    if ids_of(event) != DECLARE or event.args.get("reply_code") != NOT_FOUND or fact.suspect is not None:
        return
    pending = [one for one in fact.channel.pending() if (one.class_id, one.method_id) == DECLARE]
    if pending and all(memory.looked.get(one.seq) for one in pending):
        found = closing(event.args)
        notes.find(UNCHANGED, event, "declare-ok: the deletion of the queue was refused", found, pending[0].seq)
