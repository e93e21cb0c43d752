"""ERR: mistakes of the client, and what they cost: the channel, or the connection, and nothing else."""

from __future__ import annotations

from conformance.history.events import METHOD, Event
from conformance.oracle.model.channels import Channel
from conformance.oracle.model.closing import NAMED_TAG, ids_of
from conformance.oracle.model.facts import (
    AfterClose,
    Answered,
    ChannelClosed,
    ChannelInsteadOfConnection,
    ClosedUnasked,
    ConnectionFailed,
    Delivered,
    Opened,
    Refused,
    Stray,
)
from conformance.oracle.model.records import HardDoom, Settlement
from conformance.oracle.model.settling import SIGNED_LIMIT
from conformance.oracle.monitors import fate
from conformance.oracle.monitors.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.rq import OF_RECOVER, SPENT
from conformance.oracle.monitors.table import judges

PRECONDITION_FAILED, CHANNEL_ERROR, NOT_IMPLEMENTED, INTERNAL_ERROR = 406, 504, 540, 541
ANY_REFUSAL = frozenset({"CAN-017"})
"""Rules that ask for a refusal of whatever form: their own judges look at it."""
FORMS = {"TAG-008": "ERR-001", "RQ-014": "ERR-001"}
"""Rules by which a tag is unknown, and that say no more: any refusal bears them out. Its form is for the rule that
names 406 and the channel, of a second settlement."""

USABLE, UNLIMITED = "the number is usable", "its prefetch limit is gone"
OF_REOPENING = USABLE, UNLIMITED
REFUSED_TOO = {"RQ-014": (SPENT, OF_RECOVER)}
"""Rules that ask for a refusal among other things."""


@judges(
    Refused,
    "ERR-001",
    "ERR-002",
    "ERR-003",
    "ERR-006",
    "ERR-011",
    "ACK-009",
    "ACK-010",
    "MODE-006",
    "RQ-014",
    "TAG-007",
    "TAG-008",
    "TAG-009",
    "TX-001",
)
def refused(fact: Refused, notes: Notes) -> None:
    """The broker closed the channel over a mistake: in the right form, and before it answered anything later."""
    doom, event = fact.doom, fact.event
    settlement, code = doom.settlement, int(event.args.get("reply_code", 0))
    if doom.rule in REFUSED_TOO:
        notes.show(doom.rule, *REFUSED_TOO[doom.rule])
    else:
        notes.exercise(doom.rule)
    if code != PRECONDITION_FAILED:
        rule, allowed = of_form(doom.rule), f"channel.close 406 for {settlement}"
        notes.find(rule, event, allowed, closing(event.args), settlement.seq)
    _form(settlement, event, notes)
    if doom.answered:
        late = doom.answered[0]
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


def _form(settlement: Settlement, event: Event, notes: Notes) -> None:
    """Class, method and tag are those of the mistake."""
    ids, rule = (60, settlement.method_id), "TAG-009" if settlement.tag >= SIGNED_LIMIT else "ERR-002"
    text = str(event.args.get("reply_text", ""))
    named = NAMED_TAG.search(text)
    exact = f"PRECONDITION_FAILED - unknown delivery tag {settlement.tag}"
    if ids_of(event) != ids:
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
        doom = other.doom
        if other is fact.channel or doom is None or other.close_seen:
            continue
        if ids_of(fact.event) == (60, doom.settlement.method_id):
            rules = {"ERR-004", doom.rule} if doom.rule == "ERR-003" else {"ERR-004"}
            for rule in sorted(rules):
                notes.find(
                    rule,
                    fact.event,
                    f"{doom.settlement} on channel {other.number} closes that channel only",
                    f"channel {fact.channel.number}: {closing(fact.event.args)}",
                    doom.seq,
                )


@judges(Answered, "ERR-004")
def others_go_on(fact: Answered, notes: Notes) -> None:
    """Another channel of the connection still answers."""
    failed = fact.channel.connection.refusals
    if fact.channel.opened < failed < fact.request.seq:
        notes.exercise("ERR-004")


@judges(AfterClose, "ERR-006", "ERR-011")
def silence_after_close(fact: AfterClose, notes: Notes) -> None:
    """What was sent after the mistake is neither answered nor confirmed; after close-ok nothing comes at all."""
    channel, event = fact.channel, fact.event
    if channel is None:
        return
    if fact.ours and (channel.vague or _late(channel, event)):
        return
    if fact.ours:
        notes.find("ERR-006", event, f"nothing more on channel {channel.number}: its close was answered", event.method)
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


@judges(Opened, "ERR-006", "ERR-007")
def opened_again(fact: Opened, notes: Notes) -> None:
    """The number is usable again; and by now any answer to what had to be ignored would have come."""
    former = fact.previous
    if former is None:
        return
    notes.show("ERR-007", USABLE, OF_REOPENING)
    if former.doom is not None and former.close_seen:
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


@judges(Stray, "ERR-007")
def no_consumers_from_before(fact: Stray, notes: Notes) -> None:
    """The consumers of a closed channel do not live on in the next."""
    channel = fact.channel
    if channel.vague or channel.connection.doom or not channel.of_before(fact.consumer_tag):
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


def _late(channel: Channel, event: Event) -> bool:
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


@judges(ConnectionFailed, "ERR-009", "ERR-010", "QOS-025")
def hard_error(fact: ConnectionFailed, notes: Notes) -> None:
    """A mistake that costs the connection: connection.close with its code, class and method."""
    doom, event = fact.doom, fact.event
    if doom is None or not doom.rule or doom.rule in ANY_REFUSAL:
        return
    allowed = f"connection.close {doom.code} ({doom.class_id}, {doom.method_id}) for {doom.what}"
    if event.kind != METHOD:
        if not doom.optional:
            notes.find(doom.rule, event, allowed, "the connection ended without it", doom.seq)
        return
    if doom.optional and ids_of(event) != (doom.class_id, doom.method_id):
        _internal_error(doom, fact, notes)
        return
    notes.exercise(doom.rule)
    code = int(event.args.get("reply_code", 0))
    if code != doom.code or ids_of(event) != (doom.class_id, doom.method_id):
        notes.find(doom.rule, event, allowed, closing(event.args), doom.seq)


def _internal_error(doom: HardDoom, fact: ConnectionFailed, notes: Notes) -> None:
    """What a broker does not offer it refuses by name; failing at it is neither a refusal nor an offer."""
    event = fact.event
    if int(event.args.get("reply_code", 0)) == INTERNAL_ERROR and ids_of(event) == (0, 0):
        others = any(
            channel.publishing or channel.unproven or any(one.seq != doom.seq for one in channel.pending())
            for channel in fact.connection.open_channels()
        )
        notes.find(
            doom.rule,
            event,
            f"{doom.what} is refused by connection.close {doom.code}, or carried out",
            closing(event.args),
            doom.seq,
            certain=not others,
        )


def _over_misuse(fact: ConnectionFailed) -> bool:
    """Did the client use a channel that was closed, and is that what the broker complains of?"""
    code = fact.event.args.get("reply_code") if fact.event.kind == METHOD else 0
    return code == CHANNEL_ERROR and fact.connection.misused > 0


@judges(ConnectionFailed, "ERR-004", "TAG-009")
def connection_lost_over_a_channel(fact: ConnectionFailed, notes: Notes) -> None:
    """A mistake that costs the channel cost the connection."""
    if fact.doom is not None or not fact.doomed or _over_misuse(fact):
        return
    mistakes = [channel.doom for channel in fact.doomed if channel.doom is not None]
    doom = next((one for one in mistakes if _names(fact, one.settlement.method_id)), mistakes[0])
    if _by_another(fact, doom.settlement.method_id):
        return
    seen = closing(fact.event.args) if fact.event.kind == METHOD else "the connection broke"
    for rule in dict.fromkeys((of_form(doom.rule), "ERR-004")):
        notes.find(
            rule,
            fact.event,
            f"channel.close 406 for {doom.settlement}; the connection lives",
            f"connection: {seen}",
            doom.seq,
        )


def _names(fact: ConnectionFailed, method_id: int) -> bool:
    return fact.event.kind == METHOD and ids_of(fact.event) == (60, method_id)


def _by_another(fact: ConnectionFailed, method_id: int) -> bool:
    """Does the end not name the mistake, while something else was under way that may have brought it about: anything on
    a channel without a mistake, or a settlement that it names?"""
    living = [channel for channel in fact.connection.channels.values() if not channel.close_seen]
    return not _names(fact, method_id) and any(
        channel.pending()
        or channel.publishing
        or (channel.unproven and channel.doom is None)
        or any(_names(fact, one.method_id) for one in channel.unproven)
        for channel in living
    )


@judges(ConnectionFailed, "ERR-004")
def connection_lost_after_a_channel(fact: ConnectionFailed, notes: Notes) -> None:
    """The channel was closed as it should be, and the connection after it."""
    refused, event = fact.connection.refused, fact.event
    if refused is None or fact.doom is not None or fact.doomed or event.kind != METHOD:
        return
    if _over_misuse(fact):
        return
    if ids_of(event) == (60, refused.settlement.method_id) and fact.suspect is None:
        notes.find(
            "ERR-004",
            event,
            f"{refused.settlement} costs its channel only; the connection lives",
            f"connection: {closing(event.args)}",
            refused.seq,
        )


@judges(ConnectionFailed, "ERR-008")
def connection_lost_over_a_close(fact: ConnectionFailed, notes: Notes) -> None:
    """A close that crossed the broker's own cost the connection."""
    for channel in fact.connection.channels.values():
        crossing = channel.close_seen and channel.close_sent and not channel.vague
        if crossing and fact.doom is None and (fact.event.kind != METHOD or ids_of(fact.event) == (20, 40)):
            seen = closing(fact.event.args) if fact.event.kind == METHOD else "the connection broke"
            notes.find(
                "ERR-008",
                fact.event,
                f"close-ok for the close of channel {channel.number}",
                f"connection: {seen}",
                channel.close_sent,
                channel.close_seen,
                certain=fact.event.kind == METHOD,
            )


@judges(ConnectionFailed)
def connection_lost_over_nothing(fact: ConnectionFailed, notes: Notes) -> None:
    """A settlement that had to be accepted cost the connection. Without its name in the close this is a guess."""
    suspect, event = fact.suspect, fact.event
    if suspect is None or suspect.refusal or fact.doom is not None or fact.doomed:
        return
    code = int(event.args.get("reply_code", 0)) if event.kind == METHOD else 0
    named = ids_of(event) == (60, suspect.method_id) and code != CHANNEL_ERROR
    alone = sum(len(channel.unproven) for channel in fact.connection.open_channels()) == 1
    if named or code in (0, INTERNAL_ERROR):
        seen = closing(event.args) if event.kind == METHOD else "ended"
        failed = code == INTERNAL_ERROR
        rule = fate.of_refused(suspect, failed=failed)
        notes.find(
            rule,
            event,
            f"{suspect} is accepted",
            f"connection: {seen}",
            suspect.seq,
            certain=(named or (failed and alone)) and fate.one_cause(suspect, failed=failed),
        )


@judges(ChannelInsteadOfConnection, "ERR-009", "QOS-025")
def channel_instead(fact: ChannelInsteadOfConnection, notes: Notes) -> None:
    """A mistake that costs the connection cost only the channel."""
    doom: HardDoom = fact.doom
    if doom.rule and doom.rule not in ANY_REFUSAL and not soft_by_choice(doom, fact.event, notes):
        notes.find(
            doom.rule,
            fact.event,
            f"connection.close {doom.code} for {doom.what}",
            f"channel {fact.channel.number}: {closing(fact.event.args)}",
            doom.seq,
        )


def soft_by_choice(doom: HardDoom, event: Event, notes: Notes) -> bool:
    """Does the profile say that what is not implemented costs the channel alone?"""
    soft = notes.profile.choices.get("not_implemented") == "channel"
    return soft and doom.code == NOT_IMPLEMENTED == int(event.args.get("reply_code", 0))
