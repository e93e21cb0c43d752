"""QOS: limits are never passed, are used up, and their slots are never lost.

A delivery is one too many only if the broker itself must count the limit as reached: what a race may have settled does
not count. That a limit is not used up is judged only at deadlines (`silence`). `slots` names the rule.
"""

from __future__ import annotations

from conformance.history.events import METHOD
from conformance.oracle.model.connections.channels import LIVE, ChannelLife, Consumer
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.consumers import windows
from conformance.oracle.model.facts import (
    Accepted,
    Answered,
    ChannelClosed,
    ChannelInsteadOfConnection,
    ConnectionFailed,
    Delivered,
    FoundEmpty,
    Unrequested,
)
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.model.records import DEAD, OUT, WAITING, ClientError, Delivery
from conformance.oracle.monitors.consumers import slots
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.deliveries.hard_errors import NOT_IMPLEMENTED, soft_by_choice
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges

WITNESSES = 5
"""This many of the deliveries that fill a window are shown."""
SIZED = (60, 10)
ALL = 0
"""Stands for all consumers of a channel."""

SAME, OTHER = "the count that is set", "another count"


@judges(
    Delivered,
    "QOS-001",
    "QOS-003",
    "QOS-004",
    "QOS-007",
    "QOS-009",
    "QOS-010",
    "QOS-012",
    "QOS-013",
    "QOS-015",
    "QOS-018",
    "QOS-021",
    "QOS-026",
)
def own_limit(fact: Delivered, notes: Notes) -> None:
    """No consumer has more outstanding than its limit."""
    consumer, channel = fact.delivery.consumer, fact.channel
    if consumer is None or not _limited(channel, consumer) or _twice(fact):
        return
    limit, held = consumer.limit, consumer.window.held
    if held + 1 == limit and _more_waits(fact):
        rules = slots.borne_out(channel, consumer)
        notes.expect(channel.opened, consumer.receiver.start, fact.event.seq, rules)
        if "QOS-009" in rules:
            notes.report("QOS-009", "global is read as per consumer")
    if held >= limit and windows.certain(channel, consumer) >= limit:
        rule = slots.of_overrun(channel, consumer)
        notes.disappoint(channel.opened, consumer.receiver.start)
        notes.find(
            rule,
            fact.event,
            f"at most {limit} deliveries outstanding to {consumer.tag}",
            f"tag {fact.delivery.tag} to {consumer.tag}, which has {held} outstanding",
            consumer.limited_at,
            consumer.receiver.start,
            *_some_of_window(channel, consumer),
            certain=not (slots.followed if rule == "QOS-004" else slots.meddled)(channel, consumer)
            and not slots.reached_from_elsewhere(channel),
            unless=slots.roots(channel, consumer, rule),
        )


@judges(Delivered, "QOS-006", "QOS-007", "QOS-008", "QOS-011", "QOS-015", "QOS-019", "QOS-020", "QOS-026")
def shared_limit(fact: Delivered, notes: Notes) -> None:
    """A channel's consumers together have no more outstanding than its limit."""
    consumer, channel = fact.delivery.consumer, fact.channel
    shared = channel.shared
    if consumer is None or consumer.no_ack or not shared.bound or channel.indeterminate or _twice(fact):
        return
    if shared.held + 1 == shared.count == shared.bound and _more_waits(fact):
        notes.expect(channel.opened, ALL, fact.event.seq, slots.borne_out_together(channel))
    if shared.held >= shared.bound and windows.certain(channel) >= shared.bound:
        rule = slots.of_shared_overrun(channel)
        notes.disappoint(channel.opened, ALL)
        notes.find(
            rule,
            fact.event,
            f"at most {shared.bound} deliveries outstanding on channel {channel.number}",
            f"tag {fact.delivery.tag} on channel {channel.number}, which has {shared.held} outstanding",
            shared.since,
            shared.cleared,
            *_some_of_window(channel, None),
            certain=not slots.reached_from_elsewhere(channel),
            unless=slots.roots(channel, consumer, rule),
        )


@judges(Answered)
def held_until_an_answer(fact: Answered, notes: Notes) -> None:
    """The channel has answered to what was sent after a limit was reached, and has not passed that."""
    notes.bear_out(fact.channel.opened, fact.request.seq)


@judges(Accepted)
def held_until_a_settlement(fact: Accepted, notes: Notes) -> None:
    """The same, by an answer that speaks for a settlement."""
    notes.bear_out(fact.settlement.channel.opened, fact.settlement.seq)


@judges(ChannelClosed)
def held_until_the_end(fact: ChannelClosed, notes: Notes) -> None:
    """The same, by close-ok."""
    notes.bear_out(fact.channel.opened, fact.channel.close_sent)


def _twice(fact: Delivered) -> bool:
    """Does the channel hold this very message already? To a broker that thinks it is back, that takes no slot."""
    copy = fact.copy
    return copy.place == OUT and copy.holder is not None and copy.holder.channel is fact.channel


def _limited(channel: ChannelLife, consumer: Consumer) -> bool:
    return consumer.limit > 0 and not (consumer.no_ack or consumer.limit_moved or channel.indeterminate)


def _more_waits(fact: Delivered) -> bool:
    """Is there another message that could have been sent, too?"""
    queue = fact.queue
    return len(queue.fresh) + len(queue.returned) > (fact.copy.place == WAITING and not fact.copy.unowed)


def _some_of_window(channel: ChannelLife, consumer: Consumer | None) -> list[int]:
    """Some of the deliveries that fill the window."""
    held = [one for one in windows.held_by(channel) if one.consumer is not None and consumer in (None, one.consumer)]
    return [one.seq for one in held[-WITNESSES:]]


@judges(Delivered, "QOS-005", "QOS-028")
def no_limit(fact: Delivered, notes: Notes) -> None:
    """Without a limit everything comes, or as much as a queue sends to one consumer at all."""
    consumer, channel = fact.delivery.consumer, fact.channel
    if consumer is None or consumer.no_ack or consumer.limit or consumer.limit_moved or channel.shared.count:
        return
    at_most = fact.queue.kind != "classic" and consumer.window.held + 1 == windows.TECHNICAL
    if not at_most and (_more_waits(fact) or not consumer.window.held):
        return
    rule = "QOS-005" if consumer.limited_at else "QOS-028"
    notes.exercise(rule, *(["QOS-021"] if slots.limited_elsewhere(channel) else []))
    notes.report(rule, f"{windows.TECHNICAL} at a time" if at_most else "all that is ready")


@judges(Delivered, "QOS-016", "QOS-017")
def automatic_deliveries(fact: Delivered, notes: Notes) -> None:
    """A consumer's limit is not for them; a channel's may be, and that is reported."""
    consumer, shared = fact.delivery.consumer, fact.channel.shared
    if consumer is None or not consumer.no_ack:
        return
    if 0 < consumer.limit <= consumer.window.got:
        notes.exercise("QOS-016")
    if shared.full():
        notes.exercise("QOS-017")
        notes.report("QOS-017", "sent although the channel's limit is reached")


@judges(Answered, "QOS-017")
def automatic_deliveries_held_back(fact: Answered, notes: Notes) -> None:
    """By now one of these had long come, if it were not for the channel's limit."""
    channel, request = fact.channel, fact.request
    shared = channel.shared
    if not shared.full() or channel.indeterminate or not shared.full_at < request.seq:
        return
    for consumer in channel.consumers.values():
        queue = consumer.source
        if (
            consumer.no_ack
            and consumer.state == LIVE
            and not queue.crowded(consumer.receiver)
            and any(0 < copy.proof < request.seq for copy in queue.waiting())
        ):
            notes.exercise("QOS-017")
            notes.report("QOS-017", "held back while the channel's limit is reached")


@judges(Delivered, "QOS-014", "QOS-022", "QOS-027")
def unhindered(fact: Delivered, notes: Notes) -> None:
    """What a limit that is reached must not hinder: gets, other channels, and its own increase."""
    consumer, channel = fact.delivery.consumer, fact.channel
    if consumer is None:
        if channel.shared.full() or any(other.full() for other in channel.consumers.values()):
            notes.exercise("QOS-014")
        return
    if not consumer.no_ack and channel.shared.raised and channel.shared.answered:
        notes.exercise("QOS-022")
    if slots.rivalled(consumer):
        notes.exercise("QOS-027")


@judges(FoundEmpty, "QOS-014")
def get_under_a_limit(fact: FoundEmpty, notes: Notes) -> None:
    """A queue is not empty while a message is certainly in it and nobody has room to take it."""
    queue, others = fact.queue, [receiver for receiver in fact.queue.receivers if receiver is not fact.receiver]
    if not all(_stopped(queue, receiver.consumer, fact.since) for receiver in others):
        return
    if not others and not windows.may_bind_gets(fact.channel):
        return
    for copy in queue.waiting():
        if copy.entry != DEAD and 0 < copy.proof <= fact.since:
            allowed = f"get-ok: {copy.id} is in the queue, and no consumer has room for it"
            notes.suspect(copy, "QOS-014", fact.event, allowed, "get-empty", copy.published, copy.entered, fact.since)
            return


def _stopped(queue: Queue, consumer: Consumer | None, since: int) -> bool:
    """Could this consumer take nothing since then? What a race may have settled fills no slot for certain."""
    if consumer is None or consumer.limit_moved or not 0 < consumer.window.full_at <= since:
        return False
    held = (copy.holder for copy in queue.copies.values() if copy.place == OUT and not copy.indeterminate)
    return sum(one is not None and one.consumer is consumer and _surely(one) for one in held) >= consumer.limit


def _surely(delivery: Delivery) -> bool:
    channel = delivery.channel
    return not delivery.indeterminate and not channel.indeterminate and channel.unacked.get(delivery.tag) is delivery


@judges(Answered, "QOS-024")
def qos_answered(fact: Answered, notes: Notes) -> None:
    """Each basic.qos brings qos-ok; whether one with a size does is reported, and proves nothing."""
    error = fact.channel.connection.error
    if fact.request.method != "basic.qos":
        return
    if not _about_size(error):
        notes.show("QOS-024", SAME if fact.request.again else OTHER, (SAME, OTHER))
    elif error is not None and error.seq == fact.request.seq:
        notes.report("QOS-023", "qos-ok")


@judges(Unrequested, "QOS-024")
def qos_answered_once(fact: Unrequested, notes: Notes) -> None:
    """…and only one."""
    if fact.event.method == "basic.qos-ok":
        notes.find("QOS-024", fact.event, "one qos-ok for each basic.qos", "one qos-ok more")


@judges(ConnectionFailed, "QOS-023")
def size_refused(fact: ConnectionFailed, notes: Notes) -> None:
    """By connection.close 540, as the rule says."""
    error, event = fact.error, fact.event
    if error is not None and _about_size(error) and event.kind == METHOD and ids_of(event) == SIZED:
        code = event.args.get("reply_code")
        notes.report("QOS-023", f"connection.close {code}")
        if code == NOT_IMPLEMENTED:
            notes.exercise("QOS-023")
        else:
            notes.find("QOS-023", event, f"connection.close 540 for {error.what}", closing(event.args), error.seq)


@judges(ChannelInsteadOfConnection, "QOS-023")
def size_refused_softly(fact: ChannelInsteadOfConnection, notes: Notes) -> None:
    """By channel.close: that is what the rule asks for only where the profile says so."""
    error, event = fact.error, fact.event
    if not _about_size(error):
        return
    notes.report("QOS-023", f"channel.close {event.args.get('reply_code')}")
    if soft_by_choice(error, event, notes):
        notes.exercise("QOS-023")
    else:
        notes.find(
            "QOS-023",
            event,
            f"connection.close 540 for {error.what}",
            f"channel {fact.channel.number}: {closing(event.args)}",
            error.seq,
        )


@judges(Delivered, "QOS-023")
def size_obeyed(fact: Delivered, notes: Notes) -> None:
    """Who accepts a size obeys it: nothing larger is sent ahead while anything is outstanding."""
    channel, consumer, size = fact.channel, fact.delivery.consumer, fact.event.body_size or 0
    if not channel.octets or consumer is None or consumer.no_ack or consumer.receiver.start < channel.octets_at:
        return
    if size > channel.octets and windows.certain(channel) > 0:
        notes.find(
            "QOS-023",
            fact.event,
            f"no message of more than {channel.octets} octets in advance, or no qos-ok",
            f"{size} octets are sent ahead",
            next(iter(windows.held_by(channel))).seq,
        )


@judges(Answered, "QOS-023")
def size_keeps_waiting(fact: Answered, notes: Notes) -> None:
    """By now the next one had long come, if it were not for the size."""
    channel, sent = fact.channel, fact.request.seq
    if not channel.octets or channel.indeterminate or not windows.certain(channel):
        return
    for consumer in channel.consumers.values():
        held, queue = consumer.window.held > 0 and not consumer.full(), consumer.source
        if (
            held
            and consumer.state == LIVE
            and channel.octets_at < consumer.receiver.start < sent
            and any(
                0 < copy.proof < sent and copy.publication is not None and copy.publication.size > channel.octets
                for copy in queue.waiting()
            )
            and not queue.crowded(consumer.receiver)
        ):
            notes.exercise("QOS-023")
            notes.report("QOS-023", "obeyed")


def _about_size(error: ClientError | None) -> bool:
    return error is not None and (error.class_id, error.method_id) == SIZED and error.code == NOT_IMPLEMENTED
