"""TX: what is done in a transaction, and mistakes about modes and publishes that cost the channel.

A memory of the family: how the transactions of each channel have ended. What was published in one that is not committed
must not be seen; which rule speaks of it as well depends on what became of its transaction, and on whether that was
the first of its channel. Another one: commits of what was published to a queue that is gone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from conformance.history.events import TO_BROKER, Event
from conformance.oracle.model.connections.channels import OPEN, ChannelLife
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.facts import (
    Accepted,
    Answered,
    ClosedUnasked,
    ConnectionFailed,
    Delivered,
    FoundEmpty,
    Passed,
)
from conformance.oracle.model.records import PROVISIONAL, Copy, Request
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.refusals import grants
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.monitors.topology import route
from conformance.oracle.topology.preconditions import Asked

EARLY, UNDONE, NEXT, AGAIN, UNFINISHED, BEREFT = "TX-003", "TX-005", "TX-006", "TX-007", "TX-008", "TX-017"
RETURNED = "TX-012"
COMMIT, ROLLBACK = "tx.commit", "tx.rollback"
IDS = {(90, 20): COMMIT, (90, 30): ROLLBACK}
NOT_TRANSACTIONAL = 406
NO_ROOM = 406, 506
"""Codes by which a commit is refused where a queue takes no more."""
FORCED = 320
MOST = 256
"""So many channels, and ends of transactions of each, are remembered."""


@dataclass(slots=True)
class Ends:
    """The requests that have ended transactions, and were answered, by the seq at which their channel was opened."""

    of: dict[int, list[Request]] = field(default_factory=dict)

    def enter(self, channel: ChannelLife, request: Request) -> None:
        """One more."""
        ends = self.of.setdefault(channel.opened, [])
        ends.append(request)
        del ends[:-MOST]
        if len(self.of) > MOST:
            del self.of[next(iter(self.of))]

    def rule(self, copy: Copy) -> str:
        """The rule beside TX-003 that speaks of what is not committed; empty: there is none."""
        channel = copy.publisher
        if channel is None:
            return ""
        ends = self.of.get(channel.opened, ())
        if any(one.seq > copy.published for one in ends):
            return UNDONE
        if channel.close_answered or channel.close_seen or channel.connection.ended:
            return UNFINISHED
        return NEXT if ends else ""


@dataclass(slots=True)
class DeletedBeforeCommit:
    """Commits by their seq: a publish of the transaction, and the deletion of its queue, which was answered before."""

    of: OrderedDict[int, tuple[int, int]] = field(default_factory=OrderedDict)


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
    if copy.place != PROVISIONAL or copy.ambiguous:
        return
    allowed, observed = f"no delivery of {copy.id}: its transaction was not committed", f"{fact.event.method} of it"
    for rule in filter(None, (EARLY, notes.memory(Ends).rule(copy))):
        notes.find(rule, fact.event, allowed, observed, copy.published)


@judges(FoundEmpty, EARLY, UNDONE, NEXT, UNFINISHED)
def not_there_yet(fact: FoundEmpty, notes: Notes) -> None:
    """The queue is empty although something was published to it that is not committed."""
    if not fact.queue.announced:
        return
    notes.exercise(EARLY)
    ends = notes.memory(Ends)
    announced = [one for one in fact.queue.copies.values() if one.place == PROVISIONAL and one.published < fact.since]
    notes.exercise(*{rule for one in announced if (rule := ends.rule(one))})


@judges(Answered, NEXT)
def ended(fact: Answered, notes: Notes) -> None:
    """A transaction has ended, and the next one has begun: that one can be ended as well."""
    if fact.request.method in IDS.values() and not fact.request.ignored:
        notes.memory(Ends).enter(fact.channel, fact.request)


@judges(ClosedUnasked, NEXT)
def no_next(fact: ClosedUnasked, notes: Notes) -> None:
    """The broker knows of no transaction, where one has ended before."""
    method, ends = IDS.get(ids_of(fact.event)), notes.memory(Ends).of.get(fact.channel.opened)
    if method is None or not ends or fact.event.args.get("reply_code") != NOT_TRANSACTIONAL:
        return
    pending = [one for one in fact.channel.pending() if one.method == method]
    if pending and not pending[0].committed:
        allowed = f"{method}-ok: a transaction has begun with {ends[-1].method}"
        notes.find(NEXT, fact.event, allowed, closing(fact.event.args), ends[-1].seq, pending[0].seq)


@grants(AGAIN, "tx.select")
def selected(asked: Asked) -> bool:
    """Is its channel transactional already?"""
    return asked.actor.transactional


@judges(Answered, "TX-003")
def returns_before_commit_ok(fact: Answered, notes: Notes) -> None:
    """What could not be routed has come back when the commit is answered."""
    for publication in fact.request.committed:
        if not publication.mandatory or publication.routed is not False or route.hangs_on_match(publication, notes):
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


@follows(COMMIT)
def committed(fact: Passed, notes: Notes) -> None:
    """Is a queue gone that the transaction has published to?"""
    event = fact.event
    channel = fact.connection.channels.get(event.channel)
    if event.direction != TO_BROKER or channel is None or channel.state != OPEN or channel.indeterminate:
        return
    known = notes.memory(DeletedBeforeCommit).of
    for publication in channel.unpublished if channel.transactional else ():
        for queue in (copy.queue for copy in publication.copies):
            if queue.deletion is not None and queue.deletion.known and publication.seq < queue.deleted:
                known[event.seq] = publication.seq, queue.deleted
    while len(known) > MOST:
        known.popitem(last=False)


@judges(Answered, BEREFT)
def went_through(fact: Answered, notes: Notes) -> None:
    """It is committed all the same."""
    if fact.request.seq in notes.memory(DeletedBeforeCommit).of:
        notes.exercise(BEREFT)


@judges(ClosedUnasked, BEREFT, RETURNED)
def cost_the_channel(fact: ClosedUnasked, notes: Notes) -> None:
    """The commit is refused."""
    _refused(fact.event, "channel", (fact.channel,), notes)


@judges(ConnectionFailed, BEREFT, RETURNED)
def cost_the_connection(fact: ConnectionFailed, notes: Notes) -> None:
    """The commit is refused with all else that the client does."""
    if fact.error is None and not fact.failing:
        _refused(fact.event, "connection", fact.connection.open_channels(), notes)


def _refused(event: Event, what: str, channels: Iterable[ChannelLife], notes: Notes) -> None:
    if IDS.get(ids_of(event)) != COMMIT or event.args.get("reply_code") == FORCED:
        return
    commits = [one for channel in channels for one in channel.pending() if one.method == COMMIT and not one.ignored]
    gone = notes.memory(DeletedBeforeCommit).of.get(commits[0].seq) if commits else None
    if gone is not None:
        allowed = "tx.commit-ok: that a queue is gone to which the transaction has published is no mistake"
        notes.find(BEREFT, event, allowed, f"{what}: {closing(event.args)}", *gone, commits[0].seq)
        return
    published = commits[0].committed if commits else ()
    if event.args.get("reply_code") in NO_ROOM and any(publication.routed is not False for publication in published):
        return  # a queue that is full may have refused something
    for publication in published:
        if publication.mandatory and publication.routed is False and not route.hangs_on_match(publication, notes):
            allowed = f"the return of {publication}, and tx.commit-ok"
            notes.find(RETURNED, event, allowed, f"{what}: {closing(event.args)}", publication.seq, commits[0].seq)
            return
