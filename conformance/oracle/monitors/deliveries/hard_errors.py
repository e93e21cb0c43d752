"""ERR: the connection. Some mistakes cost it, by a close that names them; all others leave it open.

Where a connection is lost, the mistake is to blame that the close names, or the only one that was under way. Of what
else may have brought it about nothing is known, and no rule speaks.
"""

from __future__ import annotations

from conformance.history.events import METHOD, Event
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.facts import ChannelInsteadOfConnection, ConnectionFailed
from conformance.oracle.model.records import ClientError, Settlement
from conformance.oracle.monitors import fate
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.deliveries.err import of_form
from conformance.oracle.monitors.deliveries.naming import MISNAMED, misnamed
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges

CHANNEL_ERROR, NOT_IMPLEMENTED, INTERNAL_ERROR = 504, 540, 541
ANY_REFUSAL = frozenset({"CAN-017"})
"""Rules that ask for a refusal of whatever form: their own judges look at it."""
CLOSE, CLOSE_OK, PUBLISH = (20, 40), (20, 41), (60, 40)
FRAMES, INVALID = (501, 505), 503
"""Codes of a broker that expects other frames; and of one that has no use for a method, or for what it says."""
EVERYWHERE = frozenset(
    {"channel.close", "channel.flow", "exchange.declare", "exchange.delete"}
    | {f"queue.{name}" for name in ("declare", "bind", "purge", "delete")}
    | {f"basic.{name}" for name in ("qos", "consume", "cancel", "get")}
)
"""Methods that every broker knows. Where they have no arguments, nothing is in them that a frame may not have."""

NAMING = frozenset({"CHAN-001", "ERR-009", "ERR-010"})
"""Rules that ask for class and method of the mistake. By the others, a close may also name none."""


@judges(ConnectionFailed, "ERR-009", "ERR-010", "QOS-025", MISNAMED)
def hard_error(fact: ConnectionFailed, notes: Notes) -> None:
    """A mistake that costs the connection: connection.close with its code, class and method."""
    error, event = fact.error, fact.event
    if error is None or not error.rule or error.rule in ANY_REFUSAL or error.octets:
        return
    allowed = f"connection.close {error.all_codes} ({error.class_id}, {error.method_id}) for {error.what}"
    if event.kind != METHOD:
        if not error.optional:
            notes.find(error.rule, event, allowed, "the connection ended without connection.close", error.seq)
        return
    if error.optional and ids_of(event) != (error.class_id, error.method_id):
        _internal_error(error, fact, notes)
        return
    notes.exercise(error.rule)
    code, ids = int(event.args.get("reply_code", 0)), (error.class_id, error.method_id)
    unsent = misnamed(event, ids, fact.connection.channels.values(), error.seq, notes)
    named = unsent or ids_of(event) in ((ids,) if error.rule in NAMING else (ids, (0, 0)))
    if code not in error.codes or not named:
        notes.find(error.rule, event, allowed, closing(event.args), error.seq)


def _internal_error(error: ClientError, fact: ConnectionFailed, notes: Notes) -> None:
    """What a broker does not offer it refuses by name; failing at it is neither a refusal nor an offer."""
    event = fact.event
    if int(event.args.get("reply_code", 0)) == INTERNAL_ERROR and ids_of(event) == (0, 0):
        others = any(
            channel.publishing or channel.unproven or any(one.seq != error.seq for one in channel.pending())
            for channel in fact.connection.open_channels()
        )
        notes.find(
            error.rule,
            event,
            f"{error.what} is refused by connection.close {error.code}, or carried out",
            closing(event.args),
            error.seq,
            certain=not others,
        )


@judges(ConnectionFailed, "ERR-007")
def lost_where_a_number_is_used_again(fact: ConnectionFailed, notes: Notes) -> None:
    """The broker does not expect a method on a channel that its client has opened again: something of the former life
    is still under way there."""
    event = fact.event
    if event.kind != METHOD or fact.error is not None or fact.failing or fact.suspect is not None:
        return
    code = event.args.get("reply_code")
    if code not in (*FRAMES, INVALID) or fact.connection.misused or fact.connection.overheard:
        return
    pending = [(channel, one) for channel in fact.connection.open_channels() for one in channel.pending()]
    named = [(channel, one) for channel, one in pending if ids_of(event) == (one.class_id, one.method_id)]
    if len(named) != 1 or named[0][0].previous is None or named[0][0].indeterminate:
        return
    channel, request = named[0]
    known = request.method in EVERYWHERE and not request.table
    if not request.claims and (code == INVALID or not known):
        return
    allowed = f"{request.method} is carried out: channel {channel.number} was opened again, and is as any new one"
    notes.find("ERR-007", event, allowed, f"connection: {closing(event.args)}", channel.opened, request.seq)


def over_misuse(fact: ConnectionFailed) -> bool:
    """Did the client use a channel that was closed, and is that what the broker complains of?"""
    code = fact.event.args.get("reply_code") if fact.event.kind == METHOD else 0
    return code == CHANNEL_ERROR and fact.connection.misused > 0


@judges(ConnectionFailed, "ERR-004", "TAG-009")
def connection_lost_over_a_channel(fact: ConnectionFailed, notes: Notes) -> None:
    """A mistake that costs the channel cost the connection."""
    if fact.error is not None or not fact.failing or over_misuse(fact):
        return
    errors = [channel.settlement_error for channel in fact.failing if channel.settlement_error is not None]
    error = next((one for one in errors if _names(fact, one.settlement.method_id)), errors[0])
    if _by_another(fact, error.settlement.method_id):
        return
    seen = closing(fact.event.args) if fact.event.kind == METHOD else "the connection broke"
    for rule in dict.fromkeys((of_form(error.rule), "ERR-004")):
        notes.find(
            rule,
            fact.event,
            f"channel.close 406 for {error.settlement}; the connection stays open",
            f"connection: {seen}",
            error.seq,
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
        or (channel.unproven and channel.settlement_error is None)
        or any(_names(fact, one.method_id) for one in channel.unproven)
        for channel in living
    )


@judges(ConnectionFailed, "ERR-004")
def connection_lost_after_a_channel(fact: ConnectionFailed, notes: Notes) -> None:
    """The channel was closed as it should be, and the connection after it."""
    refused, event = fact.connection.refused, fact.event
    if refused is None or fact.error is not None or fact.failing or event.kind != METHOD:
        return
    if over_misuse(fact):
        return
    if ids_of(event) == (60, refused.settlement.method_id) and fact.suspect is None:
        notes.find(
            "ERR-004",
            event,
            f"{refused.settlement} closes only its channel; the connection stays open",
            f"connection: {closing(event.args)}",
            refused.seq,
        )


@judges(ConnectionFailed, "ERR-008")
def connection_lost_over_a_close(fact: ConnectionFailed, notes: Notes) -> None:
    """A close that crossed the broker's own cost the connection, or the close-ok that the broker's own asked for."""
    ids = ids_of(fact.event) if fact.event.kind == METHOD else None
    connection = fact.connection
    for channel in dict.fromkeys((*connection.channels.values(), *connection.failed.values())):
        if fact.error is not None or not channel.close_seen:
            continue
        sent = channel.close_sent if not channel.indeterminate and ids in (None, CLOSE) else 0
        due = not channel.discarding and not connection.unasked_close_ok
        answered = channel.close_answered if due and ids == CLOSE_OK else 0
        if sent or answered:
            seen = closing(fact.event.args) if ids is not None else "the connection broke"
            allowed = "the close of" if sent else "its own close, and an open connection, after a close by both of"
            notes.find(
                "ERR-008",
                fact.event,
                f"close-ok for {allowed} channel {channel.number}",
                f"connection: {seen}",
                sent or answered,
                channel.close_seen,
                certain=ids is not None,
            )


@judges(ConnectionFailed, "ERR-006")
def connection_lost_over_what_is_discarded(fact: ConnectionFailed, notes: Notes) -> None:
    """What came for a channel that the broker had closed, before close-ok, cost the connection that it names. Where it
    names nothing, frames were not expected: those of the content of a publish."""
    event, connection = fact.event, fact.connection
    if event.kind != METHOD or fact.error is not None or fact.failing or connection.misused or connection.overheard:
        return
    ids, code = ids_of(event), event.args.get("reply_code")
    if ids == (0, 0) and code in (CHANNEL_ERROR, *FRAMES):
        ids = PUBLISH
    elif code != CHANNEL_ERROR and not (ids == PUBLISH and code in FRAMES):
        return
    living = [one for one in connection.channels.values() if not one.close_seen]
    late = [one.spurned[ids] for one in connection.channels.values() if one.close_seen and ids in one.spurned]
    if late and ids != CLOSE and not any(ids in one.sent or ids in one.spurned for one in living):
        allowed = "what comes for a channel that the broker has closed is discarded"
        notes.find("ERR-006", event, allowed, f"connection: {closing(event.args)}", late[-1])


@judges(ConnectionFailed)
def connection_lost_over_nothing(fact: ConnectionFailed, notes: Notes) -> None:
    """A settlement that had to be accepted cost the connection. Without its name in the close this is a guess; where
    another consumer has the tag of the one that it settles for, the broker may fail at what it delivers to that."""
    suspect, event = fact.suspect, fact.event
    if suspect is None or suspect.refusal or fact.error is not None or fact.failing:
        return
    code = int(event.args.get("reply_code", 0)) if event.kind == METHOD else 0
    named = ids_of(event) == (60, suspect.method_id) and code != CHANNEL_ERROR
    alone = sum(len(channel.unproven) for channel in fact.connection.open_channels()) == 1
    if not named and (fate.has_namesake(suspect) or fact.connection.recovered_gone):
        return
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
            unless=(*fate.refuses_any(suspect, rule), *_of_earlier(fact, suspect, rule, failed=failed)),
        )


def _of_earlier(fact: ConnectionFailed, suspect: Settlement, rule: str, *, failed: bool) -> tuple[str, ...]:
    """The rules of settlements by the same method that were sent before on other channels, and are not known to be
    accepted: the broker may complain of one of them."""
    found = {
        fate.of_refused(one, failed=failed)
        for channel in fact.connection.open_channels()
        for one in channel.unproven
        if channel is not suspect.channel and one.method_id == suspect.method_id and not one.refusal
    }
    return tuple(sorted(found - {rule, fate.WITHOUT_CAUSE}))


@judges(ChannelInsteadOfConnection, "ERR-009", "QOS-025")
def channel_instead(fact: ChannelInsteadOfConnection, notes: Notes) -> None:
    """A mistake that costs the connection cost only the channel."""
    error: ClientError = fact.error
    if error.rule and error.rule not in ANY_REFUSAL and not soft_by_choice(error, fact.event, notes):
        notes.find(
            error.rule,
            fact.event,
            f"connection.close {error.all_codes} for {error.what}",
            f"channel {fact.channel.number}: {closing(fact.event.args)}",
            error.seq,
        )


def soft_by_choice(error: ClientError, event: Event, notes: Notes) -> bool:
    """Does the profile say that what is not implemented costs the channel alone?"""
    soft = notes.profile.choices.get("not_implemented") == "channel"
    return soft and NOT_IMPLEMENTED in error.codes and int(event.args.get("reply_code", 0)) == NOT_IMPLEMENTED
