"""TX: what is done in a transaction, and mistakes about modes and publishes that cost the channel."""

from __future__ import annotations

from conformance.oracle.model.facts import (
    Accepted,
    Answered,
    Delivered,
    FoundEmpty,
)
from conformance.oracle.model.records import PROVISIONAL
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges


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
