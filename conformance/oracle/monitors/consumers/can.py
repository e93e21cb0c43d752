"""CAN: consumers that end while their channel lives, by the client's cancel or with their queue.

The model decides which consumer a notification belongs to. Here is only what may be said, how often, and to whom.
"""

from __future__ import annotations

from conformance.history.events import METHOD, Event
from conformance.oracle.model.cancelling import AGREED, CANCELLED, NOTIFIED, SILENT
from conformance.oracle.model.channels import STARTING, Channel, Consumer
from conformance.oracle.model.closing import ids_of
from conformance.oracle.model.facts import (
    Accepted,
    Answered,
    Bereft,
    ChannelInsteadOfConnection,
    ClosedUnasked,
    ConnectionFailed,
    Delivered,
    Notified,
    Rested,
    Stray,
    Unanswered,
    Unrequested,
)
from conformance.oracle.model.owed import HARD_CLOSE, NOTICE
from conformance.oracle.model.records import ClientError, Request
from conformance.oracle.monitors import fate
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges

NOT_ALLOWED, INTERNAL_ERROR = 530, 541
CANCEL, CONSUME = (60, 30), (60, 20)
SPOKEN = ("CAN-", "ERR-007")
"""Rules by which a cancel, or a consume with its tag, has to be answered."""


# -- notifications


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


@judges(Bereft, "CAN-001", "CAN-004")
def silent_and_usable(fact: Bereft, notes: Notes) -> None:
    """A client that does not want to know is not told, and its channel goes on."""
    if notes.profile.choices.get("cancel_notice") == "capability":
        notes.exercise("CAN-001")
    notes.exercise("CAN-004")


@judges(ClosedUnasked, "CAN-003", "CAN-004")
def closed_with_its_queue(fact: ClosedUnasked, notes: Notes) -> None:
    """The deletion of a queue closes no channel, neither without a notification nor instead of one."""
    channel, notices = fact.channel, fact.channel.connection.notices
    blames = ids_of(fact.event) in channel.sent and ids_of(fact.event) != (50, 40)
    if fact.suspect is not None or notices is None or blames:
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


# -- cancels and their answers


@judges(Answered, "CAN-005", "CAN-006", "CAN-007", "CAN-008", "CAN-013", "CAN-018")
def answered_as_it_must_be(fact: Answered, notes: Notes) -> None:
    """cancel-ok, and consume-ok for a tag that has been used before."""
    request, channel = fact.request, fact.channel
    if request.rule.startswith("CAN-") and request.rule != "CAN-005":
        notes.exercise(request.rule)
        if request.rule == "CAN-008" and not _noticed(channel, request.consumer_tag):
            notes.report("CAN-008", "cancel-ok and no notification so far")


def _noticed(channel: Channel, tag: str) -> bool:
    consumer, ended = channel.consumers.get(tag), channel.ended.get(tag)
    return bool((consumer is not None and consumer.noticed) or (ended is not None and ended.noticed))


@judges(Rested, "CAN-004", "CAN-005", "CAN-010")
def nothing_followed(fact: Rested, notes: Notes) -> None:
    """Since the consumer's end the channel has answered, and nothing came for the tag.

    Where everybody is told, a client that did not ask has heard what the profile allows, and its channel goes on.
    """
    if fact.ended.how == CANCELLED and not fact.ended.noticed:
        notes.exercise("CAN-005")
    elif fact.ended.how == NOTIFIED:
        notes.exercise("CAN-010")
        if fact.channel.connection.notices is False and notes.profile.choices.get("cancel_notice") == "everybody":
            notes.exercise("CAN-004")


@judges(Unrequested, "CAN-008", "CAN-014", "CAN-015")
def answered_unasked(fact: Unrequested, notes: Notes) -> None:
    """An answer too many, to a cancel that wants none or has had its own."""
    channel, tag = fact.channel, fact.event.consumer_tag or ""
    if fact.event.method == "basic.consume-ok":
        if channel.connection.error is not None:
            return  # it answers a mistake: that is the fault
        notes.find("CAN-015", fact.event, "one consume-ok for each consume", f"one more, for {tag}", certain=False)
    elif fact.event.method == "basic.cancel-ok":
        ended = channel.ended.get(tag)
        silent = next((one.asked for one in channel.silent if one.tag == tag), 0)
        if silent or (ended is not None and ended.how == SILENT):
            notes.find(
                "CAN-014",
                fact.event,
                f"no answer to the cancel of {tag}: nowait was set",
                "cancel-ok",
                silent or (ended.asked if ended is not None else 0),
            )
        else:
            notes.find(
                "CAN-008",
                fact.event,
                f"one cancel-ok for {tag}",
                "another cancel-ok",
                ended.at if ended is not None else 0,
                certain=not channel.indeterminate,
            )


@judges(ClosedUnasked, "CAN-005", "CAN-006", "CAN-007", "CAN-008", "CAN-013", "CAN-018", "ERR-007")
def refused_without_cause(fact: ClosedUnasked, notes: Notes) -> None:
    """The channel was closed over a cancel, or a consume, that had to be answered."""
    for request in fact.channel.pending():
        if request.rule.startswith(SPOKEN) and _names(fact, request):
            _refused(request, fact, notes)
            return


@judges(ConnectionFailed, "CAN-005", "CAN-006", "CAN-007", "CAN-008", "CAN-013", "CAN-018", "ERR-007")
def lost_without_cause(fact: ConnectionFailed, notes: Notes) -> None:
    """The connection was closed over one. Where the close names no method, a cancel that crossed is to blame."""
    event = fact.event
    if event.kind != METHOD or fact.error is not None or fact.failing or fact.suspect is not None:
        return
    failed = int(event.args.get("reply_code", 0)) == INTERNAL_ERROR and ids_of(event) == (0, 0)
    pending = [request for channel in fact.connection.open_channels() for request in channel.pending()]
    for request in pending:
        named = _names(fact, request)
        alone = failed and request.rule in ("CAN-006", "CAN-008") and (request.rule == "CAN-008" or len(pending) == 1)
        if request.rule.startswith(SPOKEN) and (named or alone):
            _refused(request, fact, notes)
            return


def _names(fact: ClosedUnasked | ConnectionFailed, request: Request) -> bool:
    """Does the close speak of this request? Of a consume only if it complains of the tag: queues come and go."""
    ids, code = ids_of(fact.event), int(fact.event.args.get("reply_code", 0))
    return ids == (request.class_id, request.method_id) and (ids != CONSUME or code == NOT_ALLOWED)


def _refused(request: Request, fact: ClosedUnasked | ConnectionFailed, notes: Notes) -> None:
    answer = request.method + "-ok"
    where = "connection" if isinstance(fact, ConnectionFailed) else f"channel {fact.channel.number}"
    notes.find(
        request.rule,
        fact.event,
        f"{answer} for {request.consumer_tag}",
        f"{where}: {closing(fact.event.args)}",
        request.seq,
    )


# -- deliveries


@judges(Stray, "CAN-009", "CAN-010", "CAN-014", "CAN-015")
def to_nobody(fact: Stray, notes: Notes) -> None:
    """A delivery to a consumer that has ended, or that has not been confirmed."""
    channel, tag = fact.channel, fact.consumer_tag
    if channel.indeterminate or channel.connection.error:
        return
    ended = channel.ended.get(tag)
    if ended is None and (
        channel.of_before(tag) or channel.let_pass or channel.settlement_error or channel.method_error
    ):
        return  # it may have been started after a mistake that the broker lets pass: of that others speak
    if ended is None and channel.requests.get(("basic.consume", "")):
        notes.find("CAN-015", fact.event, "consume-ok before the first delivery", f"a delivery to {tag}")
        return
    if ended is not None and ended.how != NOTIFIED and ended.source.deletion and ended.source.deletion.sent < ended.at:
        notes.report("CAN-009", "deliveries that were under way when the queue was deleted, after cancel-ok")
        return
    how = ended.how if ended is not None else CANCELLED
    rule = {CANCELLED: "CAN-009", NOTIFIED: "CAN-010", SILENT: "CAN-014", AGREED: "TMO-013"}[how]
    notes.find(
        rule,
        fact.event,
        "deliveries to the channel's consumers only",
        f"a delivery to {tag!r}",
        ended.at if ended is not None else 0,
    )


@judges(Delivered, "CAN-009", "CAN-014")
def passed_by(fact: Delivered, notes: Notes) -> None:
    """A message that came after a consumer had ended went to somebody else."""
    for how, rule in ((CANCELLED, "CAN-009"), (SILENT, "CAN-014")):
        if 0 < fact.queue.left.get(how, 0) < fact.copy.entered:
            notes.exercise(rule)


@judges(Delivered, "CAN-011", "CAN-015")
def to_somebody(fact: Delivered, notes: Notes) -> None:
    """The first delivery follows consume-ok; the end of a neighbour changes nothing."""
    consumer = fact.delivery.consumer
    if consumer is None or fact.channel.adopted:
        return
    if not consumer.received:
        notes.exercise("CAN-015")
    if consumer.state == STARTING:
        notes.find(
            "CAN-015",
            fact.event,
            f"consume-ok for {consumer.tag} before its first delivery",
            f"a delivery to {consumer.tag}",
            consumer.receiver.start,
        )
    if notified_neighbour(fact.channel, consumer, fact.copy.entered):
        notes.exercise("CAN-011")


def tag_of_former(channel: Channel, consumer: Consumer) -> bool:
    """Does the consumer have the tag of a former one of its queue, and is it a queue that may mistake it for that?"""
    ended = channel.ended.get(consumer.tag)
    return (
        ended is not None
        and ended.at < consumer.receiver.start
        and ended.source.name == consumer.queue
        and consumer.source.kind != "classic"
    )


def notified_neighbour(channel: Channel, consumer: Consumer, before: int) -> bool:
    """Did another consumer of the channel end with its queue, while this one was there, before that moment?"""
    return channel.bereaved and any(
        ended.how == NOTIFIED and consumer.receiver.start < ended.at < before for ended in channel.ended.values()
    )


@judges(Accepted, "CAN-012")
def still_settleable(fact: Accepted, notes: Notes) -> None:
    """Deliveries of a notified consumer were settled."""
    settlement = fact.settlement
    if settlement.deleted and any(_lost_with_queue(settlement.channel, one.consumer) for one in settlement.covered):
        notes.exercise("CAN-012")
        notes.report("CAN-012", "accepted")


@judges(ClosedUnasked, "CAN-012")
def not_settleable(fact: ClosedUnasked, notes: Notes) -> None:
    """They were refused."""
    suspect = fact.suspect
    if suspect is not None and suspect.deleted and not suspect.refusal:
        notes.report("CAN-012", "refused")
        notes.find(
            "CAN-012",
            fact.event,
            f"{suspect} is accepted, though the queue is gone",
            closing(fact.event.args),
            suspect.seq,
            certain=fate.one_cause(suspect),
        )


def _lost_with_queue(channel: Channel, consumer: Consumer | None) -> bool:
    ended = channel.ended.get(consumer.tag) if consumer is not None else None
    return ended is not None and consumer is not None and ended.how == NOTIFIED and ended.source is consumer.source


# -- mistakes of the client


def _taken(error: ClientError | None) -> bool:
    """Is it a consume with a tag that is in use?"""
    return error is not None and error.code == 530 and (error.class_id, error.method_id) == CONSUME and bool(error.rule)


@judges(ConnectionFailed, "CAN-018")
def taken_tag_refused(fact: ConnectionFailed, notes: Notes) -> None:
    """A tag that is in use costs the connection."""
    error, event = fact.error, fact.event
    if error is None or not _taken(error) or error.optional:
        return
    notes.exercise("CAN-018")
    code = int(event.args.get("reply_code", 0)) if event.kind == METHOD else 0
    if code != error.code or ids_of(event) != CONSUME:
        seen = closing(event.args) if event.kind == METHOD else "the connection ended without connection.close"
        notes.find("CAN-018", event, f"connection.close 530 for {error.what}", seen, error.seq)


@judges(ChannelInsteadOfConnection, "CAN-018")
def taken_tag_refused_softly(fact: ChannelInsteadOfConnection, notes: Notes) -> None:
    """It cost only the channel."""
    if _taken(fact.error):
        notes.find(
            "CAN-018",
            fact.event,
            f"connection.close 530 for {fact.error.what}",
            f"channel {fact.channel.number}: {closing(fact.event.args)}",
            fact.error.seq,
        )


@judges(Unanswered, "CAN-018")
def taken_tag_accepted(fact: Unanswered, notes: Notes) -> None:
    """It cost nothing."""
    error = fact.connection_error
    if fact.obligation.kind == HARD_CLOSE and error is not None and _taken(error):
        notes.find(
            "CAN-018", fact.event, f"connection.close 530 for {error.what}", "no connection.close comes", error.seq
        )


@judges(ConnectionFailed, "CAN-017")
def cancel_ok_refused(fact: ConnectionFailed, notes: Notes) -> None:
    """The broker refuses the client's cancel-ok: as a command that it does not expect, or by failing itself."""
    error, event = fact.error, fact.event
    if error is None or error.rule != "CAN-017" or event.kind != METHOD:
        return
    _cancel_ok_met("connection", error, event, notes)


@judges(ChannelInsteadOfConnection, "CAN-017")
def cancel_ok_refused_softly(fact: ChannelInsteadOfConnection, notes: Notes) -> None:
    """It costs the channel alone: a refusal as well."""
    if fact.error.rule == "CAN-017":
        _cancel_ok_met("channel", fact.error, fact.event, notes)


def _cancel_ok_met(where: str, error: ClientError, event: Event, notes: Notes) -> None:
    code = int(event.args.get("reply_code", 0))
    notes.report("CAN-017", f"{where}.close {code}")
    if code == INTERNAL_ERROR:
        notes.find("CAN-017", event, f"{error.what} is refused as unexpected", closing(event.args), error.seq)
    else:
        notes.exercise("CAN-017")


@judges(Answered, "CAN-017")
def cancel_ok_accepted(fact: Answered, notes: Notes) -> None:
    """The broker passes over the client's cancel-ok."""
    error = fact.channel.connection.error
    if error is not None and error.rule == "CAN-017" and error.seq < fact.request.seq:
        notes.exercise("CAN-017")
        notes.report("CAN-017", "accepted")


# -- rights


@judges(Notified, "CAN-019")
def ended_with_its_right(fact: Notified, notes: Notes) -> None:
    """The client has sent new credentials, and may no longer read the queue."""
    consumer = fact.consumer
    if consumer is not None and consumer.revoked and not consumer.source.deleted and not consumer.asked:
        notes.exercise("CAN-019")


@judges(Delivered, "CAN-019")
def served_without_the_right(fact: Delivered, notes: Notes) -> None:
    """What was published after the broker had taken the new credentials is no delivery that was under way."""
    consumer, renewed = fact.delivery.consumer, fact.channel.connection.renewed
    if consumer is not None and 0 < consumer.revoked < renewed < fact.copy.published:
        notes.find(
            "CAN-019",
            fact.event,
            f"basic.cancel for {consumer.tag}: its user may no longer read the queue",
            f"{fact.copy.id} is delivered",
            consumer.revoked,
            renewed,
            fact.copy.published,
        )
