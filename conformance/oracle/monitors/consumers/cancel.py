"""CAN, answers: a cancel, and a consume with a tag that was used before, are answered once, and cost nothing.

Where the channel or the connection is closed instead, the close must speak of the request, or nothing else can be its
cause. Two mistakes of the client are here as well, with what they cost: a tag that is in use, and a cancel-ok that
nobody asked for.
"""

from __future__ import annotations

import re

from conformance.history.events import METHOD, Event
from conformance.oracle.model.connections.channels import ChannelLife
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.consumers.cancelling import CANCELLED, NOTIFIED, SILENT
from conformance.oracle.model.facts import (
    Answered,
    ChannelInsteadOfConnection,
    ClosedUnasked,
    ConnectionFailed,
    ConsumerEndProven,
    Unanswered,
    Unrequested,
)
from conformance.oracle.model.owed import HARD_CLOSE
from conformance.oracle.model.records import ClientError, Request
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges

NOT_ALLOWED, INTERNAL_ERROR = 530, 541
CONSUME = 60, 20
OF_TAGS = re.compile(r"(?<![a-z])(consumer)?tags?(?![a-z])", re.IGNORECASE)
"""A word of a complaint, by which it is not about the queue."""
RESERVED = "amq."
"""A broker may keep names that begin so for itself."""
SPOKEN = ("CAN-", "ERR-007")
"""Rules by which a cancel, or a consume with its tag, has to be answered."""


@judges(Answered, "CAN-005", "CAN-006", "CAN-007", "CAN-008", "CAN-013", "CAN-018")
def answered_as_it_must_be(fact: Answered, notes: Notes) -> None:
    """cancel-ok, and consume-ok for a tag that has been used before."""
    request, channel = fact.request, fact.channel
    if request.rule.startswith("CAN-") and request.rule != "CAN-005":
        notes.exercise(request.rule)
        if request.rule == "CAN-008" and not _noticed(channel, request.consumer_tag):
            notes.report("CAN-008", "cancel-ok and no notification so far")


def _noticed(channel: ChannelLife, tag: str) -> bool:
    consumer, ended = channel.consumers.get(tag), channel.ended.get(tag)
    return bool((consumer is not None and consumer.noticed) or (ended is not None and ended.noticed))


@judges(ConsumerEndProven, "CAN-004", "CAN-005", "CAN-010")
def nothing_followed(fact: ConsumerEndProven, notes: Notes) -> None:
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


@judges(ConnectionFailed, "CAN-018")
def free_tag_refused(fact: ConnectionFailed, notes: Notes) -> None:
    """The broker complains of a tag that nobody on its channel has, or ever had."""
    event = fact.event
    if event.kind != METHOD or fact.error is not None or fact.failing or fact.suspect is not None:
        return
    of_tags = OF_TAGS.search(str(event.args.get("reply_text", "")))
    if event.args.get("reply_code") != NOT_ALLOWED or ids_of(event) != CONSUME or not of_tags:
        return
    asked = [(one, request) for one in fact.connection.open_channels() for request in one.pending()]
    consumes = [(channel, request) for channel, request in asked if request.method == "basic.consume"]
    if len(consumes) != 1 or consumes[0][0].indeterminate:
        return
    channel, request = consumes[0]
    tag, known = request.consumer_tag, channel.consumers.get(request.consumer_tag)
    itself = known is None or known.since == request.seq
    if tag and itself and tag not in channel.ended and not (channel.of_before(tag) or tag.startswith(RESERVED)):
        allowed = f"consume-ok for {tag}: no consumer of channel {channel.number} has that tag"
        notes.find("CAN-018", event, allowed, f"connection: {closing(event.args)}", request.seq)


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
