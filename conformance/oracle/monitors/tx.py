"""TX: what is done in a transaction, and mistakes about modes and publishes that cost the channel."""

from __future__ import annotations

from conformance.history.events import METHOD
from conformance.oracle.model.closing import ids_of
from conformance.oracle.model.facts import (
    Accepted,
    Answered,
    ConnectionFailed,
    Delivered,
    Faulted,
    FoundEmpty,
    Overlooked,
    Unanswered,
)
from conformance.oracle.model.owed import CLOSE
from conformance.oracle.model.records import PROVISIONAL
from conformance.oracle.monitors.ack import closing
from conformance.oracle.monitors.err import NOT_IMPLEMENTED
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges


@judges(Faulted, "CNF-016", "CNF-019", "TX-004", "ERR-011", "TMO-001", "TMO-023")
def faulted(fact: Faulted, notes: Notes) -> None:
    """The broker closed the channel over a mistake: with its code, naming its method or none, before any answer.

    The rules give codes alone. A header or a body is no method, so what is wrong with a content has no name.
    """
    mistake, event = fact.mistake, fact.event
    notes.exercise(mistake.rule)
    ids = mistake.class_id, mistake.method_id
    if int(event.args.get("reply_code", 0)) != mistake.code or ids_of(event) not in (ids, (0, 0)):
        notes.find(
            mistake.rule,
            event,
            f"channel.close {mistake.code} {ids} for {mistake.what}",
            closing(event.args),
            mistake.seq,
        )
    if mistake.answered:
        late = mistake.answered[0]
        notes.find(
            "ERR-011",
            event,
            f"channel.close for {mistake.what} before the answer to any later method",
            f"{late.method} was sent later and answered first",
            mistake.seq,
            late.seq,
        )


@judges(Overlooked, "CNF-016", "CNF-019", "TX-004", "TMO-001", "TMO-023")
def overlooked(fact: Overlooked, notes: Notes) -> None:
    """The broker did as asked."""
    mistake = fact.mistake
    notes.find(
        mistake.rule, fact.event, f"channel.close {mistake.code} for {mistake.what}", fact.event.method, mistake.seq
    )


@judges(Unanswered, "CNF-016", "CNF-019", "TX-004", "TMO-001", "TMO-023")
def never_closed(fact: Unanswered, notes: Notes) -> None:
    """The channel should have been closed, and was not."""
    mistake = fact.channel.mistake if fact.channel is not None else None
    if fact.obligation.kind == CLOSE and mistake is not None:
        notes.find(
            mistake.rule,
            fact.event,
            f"channel.close {mistake.code} for {mistake.what}",
            "no channel.close comes",
            mistake.seq,
        )


@judges(ConnectionFailed, "CNF-016", "CNF-019", "TX-004", "TMO-001", "TMO-023", "ERR-004")
def connection_lost_over_a_mistake(fact: ConnectionFailed, notes: Notes) -> None:
    """connection.close names what should have cost its channel only. By 540 it would say: not offered."""
    event = fact.event
    if event.kind != METHOD or fact.doom is not None or int(event.args.get("reply_code", 0)) == NOT_IMPLEMENTED:
        return
    over = [
        channel.mistake
        for channel in fact.connection.channels.values()
        if channel.mistake is not None and not channel.close_seen
    ]
    if len(over) == 1 and ids_of(event) == (over[0].class_id, over[0].method_id):
        for rule in (over[0].rule, "ERR-004"):
            notes.find(
                rule,
                event,
                f"channel.close {over[0].code} for {over[0].what}; the connection lives",
                f"connection: {closing(event.args)}",
                over[0].seq,
            )


@judges(Accepted, "TX-002")
def settled_again(fact: Accepted, notes: Notes) -> None:
    """A delivery that a rollback made outstanding again was settled again."""
    settlement = fact.settlement
    if not settlement.refusal and any(0 < one.restored < settlement.seq for one in settlement.covered):
        notes.exercise("TX-002")


@judges(Delivered, "TX-003", again=True)
def published_early(fact: Delivered, notes: Notes) -> None:
    """Nothing reaches a queue before the commit."""
    copy = fact.copy
    if copy.place == PROVISIONAL and not copy.ambiguous:
        notes.find(
            "TX-003",
            fact.event,
            f"no delivery of {copy.id}: its transaction was not committed",
            f"{fact.event.method} of {copy.id}",
            copy.published,
        )


@judges(FoundEmpty, "TX-003")
def not_there_yet(fact: FoundEmpty, notes: Notes) -> None:
    """The queue is empty although something was published to it that is not committed."""
    if fact.queue.announced:
        notes.exercise("TX-003")


@judges(Answered, "TX-003")
def returns_before_commit_ok(fact: Answered, notes: Notes) -> None:
    """What could not be routed has come back when the commit is answered."""
    for publication in fact.request.committed:
        if not publication.mandatory or publication.routed is not False:
            continue
        notes.exercise("TX-003")
        if not publication.returned:
            notes.find(
                "TX-003",
                fact.event,
                f"the return of {publication} before tx.commit-ok",
                "tx.commit-ok first",
                publication.seq,
                fact.request.seq,
            )
