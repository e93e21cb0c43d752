"""CAN: consumers that end while their channel lives: which of them their client is told of, and how often.

A notification is lawful where a queue is gone, a delivery has timed out, or a right was taken away; and only to those
that asked for it, where the profile says so. The model decides which consumer a notification belongs to, and since when
one is owed. `cancel` judges what is answered to the client's own cancel, `cancelled` what comes after an end.
"""

from __future__ import annotations

from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.consumers.cancelling import NOTIFIED
from conformance.oracle.model.facts import ClosedUnasked, Notified, Unanswered, UnnotifiedConsumer
from conformance.oracle.model.owed import NOTICE
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges


@judges(Notified, "CAN-001", "CAN-002", "CAN-004")
def to_whom(fact: Notified, notes: Notes) -> None:
    """Only clients that asked for it are told, and by a broker that says it does so."""
    connection, event = fact.channel.connection, fact.event
    by_capability = notes.profile.choices.get("cancel_notice") == "capability"
    if connection.notices is False and by_capability:
        for rule in ("CAN-001", "CAN-004"):
            notes.find(
                rule,
                event,
                "no notification: the client did not announce consumer_cancel_notify as true",
                f"basic.cancel for {fact.tag}",
            )
    if connection.offers is not None:
        notes.exercise("CAN-002")
        if not connection.offers:
            notes.find(
                "CAN-002",
                event,
                "consumer_cancel_notify is true in the capabilities of the broker's server properties",
                f"it is not, but basic.cancel comes for {fact.tag}",
            )


@judges(Notified, "CAN-003")
def once_and_without_answer(fact: Notified, notes: Notes) -> None:
    """One notification for each consumer of a deleted queue, that wants no answer."""
    source = fact.consumer.source if fact.consumer else fact.ended.source if fact.ended else None
    if source is None or not source.deleted:
        return
    notes.exercise("CAN-003")
    if not fact.event.has("no_wait"):
        notes.find("CAN-003", fact.event, "basic.cancel with nowait set", f"basic.cancel for {fact.tag} without nowait")
    before = fact.consumer.noticed if fact.consumer else fact.ended.noticed if fact.ended else 0
    if before:
        notes.find("CAN-003", fact.event, f"one notification for {fact.tag}", "another one", before)


@judges(Notified, "CAN-005", "CAN-008")
def not_for_the_client_s_own_cancel(fact: Notified, notes: Notes) -> None:
    """A consumer that its client has cancelled, while the queue was there, brings no notification."""
    consumer, ended = fact.consumer, fact.ended
    if ended is not None and ended.how != NOTIFIED:
        source, asked, at = ended.source, ended.asked, ended.at
    elif consumer is not None and consumer.asked:
        source, asked, at = consumer.source, consumer.asked, 0
    else:
        return
    deleted = source.deletion.sent if source.deletion is not None else 0
    if deleted and (not at or deleted < at):
        notes.exercise("CAN-008")
        notes.report("CAN-008", "a notification " + ("after" if at else "before") + " cancel-ok")
    elif not _may_time_out(fact, notes):
        notes.find(
            "CAN-005",
            fact.event,
            f"cancel-ok and no notification for {fact.tag}, which the client cancelled",
            f"basic.cancel for {fact.tag}",
            asked,
            at,
        )


def _may_time_out(fact: Notified, notes: Notes) -> bool:
    """Can the broker have ended the consumer because of a delivery that stayed unacknowledged?"""
    source = fact.consumer.source if fact.consumer else fact.ended.source if fact.ended else None
    timed = notes.profile.choices.get("consumer_timeout") == "queue"
    return timed and source is not None and source.kind != "classic" and not source.deleted


@judges(Unanswered, "CAN-003")
def notice_missing(fact: Unanswered, notes: Notes) -> None:
    """A consumer whose queue is gone was not told."""
    consumer = fact.consumer
    if fact.obligation.kind == NOTICE and consumer is not None:
        notes.find(
            "CAN-003",
            fact.event,
            f"basic.cancel for {consumer.tag}: its queue was deleted",
            f"no basic.cancel for {consumer.tag} comes",
            consumer.established,
            fact.obligation.since_seq,
        )


@judges(UnnotifiedConsumer, "CAN-001", "CAN-004")
def silent_and_usable(fact: UnnotifiedConsumer, notes: Notes) -> None:
    """A client that does not want to know is not told, and its channel goes on."""
    if notes.profile.choices.get("cancel_notice") == "capability":
        notes.exercise("CAN-001")
    notes.exercise("CAN-004")


@judges(ClosedUnasked, "CAN-003", "CAN-004")
def closed_with_its_queue(fact: ClosedUnasked, notes: Notes) -> None:
    """The deletion of a queue closes no channel, neither without a notification nor instead of one. A close that names
    what its channel has sent refuses that, be it a deletion."""
    channel, notices = fact.channel, fact.channel.connection.notices
    if fact.suspect is not None or notices is None or ids_of(fact.event) in channel.sent:
        return
    for consumer in channel.consumers.values():
        deletion = consumer.source.deletion
        if deletion is not None:
            rule = "CAN-003" if notices else "CAN-004"
            allowed = (
                f"basic.cancel for {consumer.tag}"
                if notices
                else (f"channel {channel.number} goes on without {consumer.tag}")
            )
            notes.find(rule, fact.event, allowed, closing(fact.event.args), deletion.sent)
            return


@judges(Notified, "CAN-019")
def ended_with_its_right(fact: Notified, notes: Notes) -> None:
    """The client has sent new credentials, and may no longer read the queue."""
    consumer = fact.consumer
    if consumer is not None and consumer.revoked and not consumer.source.deleted and not consumer.asked:
        notes.exercise("CAN-019")
