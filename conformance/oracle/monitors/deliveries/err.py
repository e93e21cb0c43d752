"""ERR: mistakes of the client. A mistake costs the channel, and nothing else. `hard_errors` cost the connection."""

from __future__ import annotations

from conformance.history.events import Event
from conformance.oracle.model.connections.channels import ChannelLife
from conformance.oracle.model.connections.closing import NAMED_TAG, ids_of
from conformance.oracle.model.consumers.settling import SIGNED_LIMIT
from conformance.oracle.model.facts import (
    AfterClose,
    Answered,
    ChannelClosed,
    ChannelOpened,
    ChannelRefused,
    ClosedUnasked,
    Delivered,
    StrayDelivery,
)
from conformance.oracle.model.records import Settlement
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.deliveries.naming import MISNAMED, misnamed
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.requeueing.rq import OF_RECOVER, SPENT
from conformance.oracle.monitors.table import judges

PRECONDITION_FAILED = 406
FORMS = {"TAG-008": "ERR-001", "RQ-014": "ERR-001"}
"""Rules by which a tag is unknown, and that say no more: any refusal bears them out. Its form is for the rule that
names 406 and the channel, of a second settlement."""

OVER = "connection error"
"""How a channel has ended whose connection the broker has closed."""
USABLE, UNLIMITED = "the number is usable", "its prefetch limit is gone"
OF_REOPENING = USABLE, UNLIMITED
REFUSED_TOO = {"RQ-014": (SPENT, OF_RECOVER)}
"""Rules that ask for a refusal among other things."""


@judges(
    ChannelRefused,
    "ERR-001",
    "ERR-002",
    "ERR-003",
    "ERR-006",
    "ERR-011",
    MISNAMED,
    "ACK-009",
    "ACK-010",
    "MODE-006",
    "RQ-014",
    "TAG-007",
    "TAG-008",
    "TAG-009",
    "TX-001",
)
def refused(fact: ChannelRefused, notes: Notes) -> None:
    """The broker closed the channel over a mistake: in the right form, and before it answered anything later."""
    error, event = fact.error, fact.event
    settlement, code = error.settlement, int(event.args.get("reply_code", 0))
    if error.rule in REFUSED_TOO:
        notes.show(error.rule, *REFUSED_TOO[error.rule])
    else:
        notes.exercise(error.rule)
    if code != PRECONDITION_FAILED:
        rule, allowed = of_form(error.rule), f"channel.close 406 for {settlement}"
        notes.find(rule, event, allowed, closing(event.args), settlement.seq)
    _form(settlement, event, fact.channel, notes)
    if error.answered:
        late = error.answered[0]
        notes.find(
            "ERR-011",
            event,
            f"channel.close for {settlement} before the answer to any later method",
            f"{late.method} was sent later and answered first",
            settlement.seq,
            late.seq,
        )
    elif fact.channel.late:
        notes.exercise("ERR-011")


def of_form(rule: str) -> str:
    """The rule that a refusal in the wrong form breaks, where this one asks for the refusal."""
    return FORMS.get(rule, rule)


def _form(settlement: Settlement, event: Event, channel: ChannelLife, notes: Notes) -> None:
    """Class, method and tag are those of the mistake."""
    ids, rule = (60, settlement.method_id), "TAG-009" if settlement.tag >= SIGNED_LIMIT else "ERR-002"
    text = str(event.args.get("reply_text", ""))
    named = NAMED_TAG.search(text)
    exact = f"PRECONDITION_FAILED - unknown delivery tag {settlement.tag}"
    if not misnamed(event, ids, (channel,), settlement.seq, notes) and ids_of(event) != ids:
        notes.find("ERR-002", event, f"class and method {ids} of {settlement}", closing(event.args), settlement.seq)
    elif named is not None and int(named[1]) != settlement.tag:
        for one in dict.fromkeys((rule, "ERR-002")):
            notes.find(one, event, f"a text that names tag {settlement.tag}", repr(text), settlement.seq)
    elif notes.profile.choices.get("error_text") == "exact" and text != exact:
        notes.find(rule, event, f"the text {exact!r}", repr(text), settlement.seq)


@judges(ClosedUnasked, "ERR-003", "ERR-004")
def wrong_channel_closed(fact: ClosedUnasked, notes: Notes) -> None:
    """A mistake on one channel closed another."""
    if fact.suspect is not None:
        return
    for other in fact.channel.connection.channels.values():
        error = other.settlement_error
        if other is fact.channel or error is None or other.close_seen:
            continue
        if ids_of(fact.event) == (60, error.settlement.method_id):
            rules = {"ERR-004", error.rule} if error.rule == "ERR-003" else {"ERR-004"}
            for rule in sorted(rules):
                notes.find(
                    rule,
                    fact.event,
                    f"{error.settlement} on channel {other.number} closes that channel only",
                    f"channel {fact.channel.number}: {closing(fact.event.args)}",
                    error.seq,
                )


@judges(Answered, "ERR-004")
def others_go_on(fact: Answered, notes: Notes) -> None:
    """Another channel of the connection still answers."""
    failed = fact.channel.connection.refusals
    if fact.channel.opened < failed < fact.request.seq:
        notes.exercise("ERR-004")


@judges(AfterClose, "ERR-006", "ERR-011", "CONN-019")
def silence_after_close(fact: AfterClose, notes: Notes) -> None:
    """What was sent after the mistake is neither answered nor confirmed; after close-ok nothing comes at all."""
    channel, event = fact.channel, fact.event
    if channel is None:
        return
    if fact.ours and (channel.indeterminate or _late(channel, event)):
        return
    if fact.ours and channel.end == OVER:
        allowed = f"nothing more on channel {channel.number}: the connection had been closed over a mistake"
        notes.find("CONN-019", event, allowed, event.method, channel.connection.ended)
    elif fact.ours:
        notes.find("ERR-006", event, f"nothing more on channel {channel.number}: its close was answered", event.method)
    elif event.method == "channel.close":
        allowed = f"one channel.close on channel {channel.number}"
        notes.find("ERR-006", event, allowed, closing(event.args) + ", once more", channel.close_seen)
    elif fact.request is not None and fact.request.ignored:
        notes.find(
            "ERR-006",
            event,
            f"{fact.request.method} is ignored: it came after a mistake",
            event.method,
            fact.request.seq,
            channel.close_seen,
        )
        if fact.request.seq < channel.close_seen:
            notes.find(
                "ERR-011",
                event,
                f"channel.close instead of the answer to {fact.request.method}, sent later than the mistake",
                f"{event.method} comes as well",
                fact.request.seq,
                channel.close_seen,
            )
    elif event.method in ("basic.ack", "basic.nack") and (event.delivery_tag or 0) > channel.published:
        notes.find(
            "ERR-006",
            event,
            f"confirms up to {channel.published}: later publishes came after a mistake",
            f"{event.method} {event.delivery_tag}",
            channel.close_seen,
        )


@judges(AfterClose, "ERR-006")
def no_new_deliveries_after_close(fact: AfterClose, notes: Notes) -> None:
    """Deliveries that were under way may still come; a message that was published later was not."""
    channel, event = fact.channel, fact.event
    consumer = channel.consumers.get(event.consumer_tag or "") if channel is not None else None
    if channel is None or consumer is None or fact.ours or event.method != "basic.deliver":
        return
    copy = consumer.source.copies.get(event.message or "")
    if copy is not None and consumer.source.semantics.closeok_ends and copy.published > channel.close_seen:
        notes.find(
            "ERR-006",
            event,
            f"no delivery of {copy.id}: it was published after the channel had been closed",
            f"a delivery to {consumer.tag} on the closed channel",
            channel.close_seen,
            copy.published,
        )


@judges(ChannelOpened, "ERR-006", "ERR-007")
def opened_again(fact: ChannelOpened, notes: Notes) -> None:
    """The number is usable again; and by now any answer to what had to be ignored would have come."""
    former = fact.previous
    if former is None:
        return
    notes.show("ERR-007", USABLE, OF_REOPENING)
    if former.settlement_error is not None and former.close_seen:
        for _ in former.late:
            notes.exercise("ERR-006")


@judges(Delivered, "ERR-007")
def no_limit_from_before(fact: Delivered, notes: Notes) -> None:
    """A consumer without a limit gets more than the former life of the number would have let through."""
    former, consumer = fact.channel.previous, fact.delivery.consumer
    if former is None or consumer is None or consumer.no_ack or consumer.limit or fact.channel.shared.count:
        return
    if 0 < former.prefetch <= consumer.window.held:
        notes.show("ERR-007", UNLIMITED, OF_REOPENING)


@judges(StrayDelivery, "ERR-007")
def no_consumers_from_before(fact: StrayDelivery, notes: Notes) -> None:
    """The consumers of a closed channel do not live on in the next."""
    channel = fact.channel
    if channel.indeterminate or channel.connection.error or not channel.of_before(fact.consumer_tag):
        return
    if fact.consumer_tag in channel.ended:
        return
    if _late(channel, fact.event):
        notes.report("ERR-007", "late delivery of the failed channel")
    else:
        notes.find(
            "ERR-007",
            fact.event,
            "the reopened channel has no consumers of its own yet",
            f"a delivery to {fact.consumer_tag}, a consumer of before",
            channel.opened,
        )


def _late(channel: ChannelLife, event: Event) -> bool:
    """Is it a delivery of the life before, which failed, on a queue that may serve it for a while after close-ok?

    The number may have been opened and closed once more by then.
    """
    former = channel.previous
    before = former.consumers.get(event.consumer_tag or "") if former is not None else None
    return (
        former is not None
        and before is not None
        and event.method == "basic.deliver"
        and former.close_seen > 0
        and not before.source.semantics.closeok_ends
    )


@judges(ChannelClosed, "ERR-008")
def crossing_closes(fact: ChannelClosed, notes: Notes) -> None:
    """The client's close is answered, although the broker had closed the channel too."""
    if fact.crossed:
        notes.exercise("ERR-008")
