"""RQ: the redelivered flag, and that what was returned or recovered comes again.

In which order all that comes is in `order`.
"""

from __future__ import annotations

from itertools import islice

from conformance.history.events import METHOD, Event
from conformance.oracle.model import owed
from conformance.oracle.model.connections.channels import ChannelLife
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.consumers import windows
from conformance.oracle.model.facts import ClosedUnasked, ConnectionFailed, Delivered, FoundEmpty
from conformance.oracle.model.records import RECOVERED, RETURNED, WAITING
from conformance.oracle.monitors import fate
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.requeueing.order import WINDOW
from conformance.oracle.monitors.table import judges
from conformance.oracle.monitors.topology import purging, route

RECOVERS = {(60, 100): "basic.recover-async", (60, 110): "basic.recover"}
INTERNAL_ERROR, LAST, NEXT = 541, "QUEUE-015", "SAC-002"

GOT, CONSUMED, SPENT = "a get's delivery comes again", "a consumer's delivery comes again", "the old tag is spent"
OF_RECOVER = GOT, CONSUMED, SPENT, *RECOVERS.values()


@judges(Delivered, "RQ-008", "RQ-009")
def redelivered_flag(fact: Delivered, notes: Notes) -> None:
    """Set on every delivery but the first, as long as the broker does not end."""
    copy, marked = fact.copy, fact.delivery.redelivered
    if copy.ambiguous or copy.place != WAITING or copy.weathered:
        return
    if copy.seen and copy.queue.lossy and '"x-death"' in fact.event.arguments:
        return  # the queue may have given it up, and got it back as a dead letter
    if copy.seen:
        notes.exercise("RQ-008")
        if not marked:
            assert copy.holder is not None
            notes.find(
                "RQ-008",
                fact.event,
                f"redelivered: {copy.id} has been delivered before",
                f"{fact.event.method} of {copy.id} without the flag",
                copy.holder.seq,
                copy.entered,
            )
    elif not copy.indeterminate and not fact.queue.unseen(copy):
        notes.exercise("RQ-009")
        if marked and notes.profile.choices.get("redelivered") != "hint":
            notes.find(
                "RQ-009",
                fact.event,
                f"no redelivered flag: {copy.id} has never been delivered",
                f"{fact.event.method} of {copy.id} with the flag",
                copy.published,
            )


@judges(Delivered, "RQ-007", "RQ-014", again=True)
def returns_come_again(fact: Delivered, notes: Notes) -> None:
    """What was returned reaches the sole consumer again; what was recovered comes again."""
    copy = fact.copy
    if copy.place != WAITING:
        return
    if copy.entry == RECOVERED and copy.holder is not None and copy.holder.channel.alive():
        notes.show("RQ-014", GOT if copy.holder.consumer is None else CONSUMED, OF_RECOVER)
        if copy.settlement is not None:
            notes.show("RQ-014", copy.settlement.method, OF_RECOVER)
    elif copy.entry == RETURNED and copy.holder is not None:
        consumer = fact.delivery.consumer
        if consumer is not None and copy.holder.consumer is consumer and not fact.queue.crowded(fact.receiver):
            notes.exercise("RQ-007")


@judges(FoundEmpty, "RQ-014", "ACK-011", "ACK-012", "TX-010", LAST)
def not_empty(fact: FoundEmpty, notes: Notes) -> None:
    """A queue is not empty while a message is certainly in it and nobody else may have taken it. To a broker that lets
    a limit hinder gets it is, where that is reached (QOS-014); and what is not confirmed may still be refused. Where
    the get named no queue, and the message is there, it was another queue that was empty."""
    queue, channel = fact.queue, fact.channel
    if queue.crowded(fact.receiver):
        return
    hindered = windows.may_bind_gets(channel)
    for copy in [*islice(queue.fresh.values(), WINDOW), *islice(queue.returned.values(), WINDOW)]:
        if queue.may_be_spent(copy):
            continue
        if queue.there(copy, fact.channel, fact.since) and not queue.others(copy.entered, fact.receiver):
            doubtful = hindered or (copy.undecided and not copy.seen)
            if fate.may_be_by_purge(copy):
                doubtful = doubtful or not purging.returned(copy)
                purging.gone(fact, copy, "get-empty", notes, certain=not doubtful)
                return
            if LAST in fact.claims:
                allowed = f"get-ok: {copy.id} is in {queue.name}, which the channel declared last"
                seen = copy.published, copy.entered, fact.since
                notes.suspect(copy, LAST, fact.event, allowed, "get-empty", *seen, certain=not doubtful)
                return
            rule = route.of_match(copy, notes)
            otherwise = () if rule else route.of_empty_words(copy, notes)
            unserved = (NEXT,) if owed.forsaken(queue) else ()
            notes.find(
                rule or fate.of_absent(copy),
                fact.event,
                f"get-ok: {copy.id} is in the queue",
                "get-empty",
                copy.published,
                copy.entered,
                fact.since,
                certain=not doubtful,
                unless=(*fate.by_size(copy), *fate.by_loss(copy), *otherwise, *unserved),
            )
            return


@judges(ClosedUnasked, "RQ-014")
def recover_refused(fact: ClosedUnasked, notes: Notes) -> None:
    """The broker closed the channel over a recover with requeue. Without requeue it is another matter (ERR-009)."""
    if fact.suspect is None and fact.channel.connection.error is None:
        _refused(fact.channel, fact.event, notes)


@judges(ConnectionFailed, "RQ-014")
def recover_costs_the_connection(fact: ConnectionFailed, notes: Notes) -> None:
    """It closed the connection over one; or it failed while nothing but a recover was to be done."""
    event = fact.event
    if event.kind != METHOD or fact.error is not None or fact.failing or fact.suspect is not None:
        return
    living = fact.connection.open_channels()
    for channel in living:
        if _refused(channel, event, notes):
            return
    busy = [channel for channel in living if channel.sent]
    failed = int(event.args.get("reply_code", 0)) == INTERNAL_ERROR and ids_of(event) == (0, 0)
    if failed and len(busy) == 1 and len(busy[0].sent) == 1:
        (ids,) = busy[0].sent
        if ids in RECOVERS:
            _blame(ids, busy[0], event, notes)


def _refused(channel: ChannelLife, event: Event, notes: Notes) -> bool:
    """Does the close name a recover of this channel?"""
    ids = ids_of(event)
    if ids not in RECOVERS or ids not in channel.sent:
        return False
    _blame(ids, channel, event, notes)
    return True


def _blame(ids: tuple[int, int], channel: ChannelLife, event: Event, notes: Notes) -> None:
    notes.find("RQ-014", event, f"{RECOVERS[ids]} with requeue is carried out", closing(event.args), channel.sent[ids])
