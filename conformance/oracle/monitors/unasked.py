"""What the broker sends without being asked: ERR-012, internal errors; ERR-013, frames that must not come. And ERR-014:
when a connection has ended in order, all answers must have come.

An internal error is the broker's own fault, whatever the client had sent. These functions run last: what another rule
has accused is not accused twice, and a close that answers a mistake is judged by the rule about that mistake. A rule
that tells only what brokers usually carry out binds nobody, so it is no excuse for an internal error.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from conformance.catalogue.rules import CATALOGUE
from conformance.history.events import METHOD, Event
from conformance.oracle.model.connections.channels import ChannelLife
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.facts import (
    ChannelClosed,
    CloseConfirmed,
    ClosedUnasked,
    ConnectionFailed,
    Unlawful,
    Unrequested,
)
from conformance.oracle.monitors import fate
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.refusals import how_it_ended, is_over
from conformance.oracle.monitors.table import judges

INTERNAL_ERROR = 541
BINDING = ("must", "should")
SHOWN = 4
"""This many of the methods that may have brought it about are shown."""


@judges(ConnectionFailed, "ERR-012")
def connection_ended_by_itself(fact: ConnectionFailed, notes: Notes) -> None:
    """The broker's own fault cost the connection; it said so, or it said nothing."""
    if fact.error is not None or fact.failing:
        return
    if fact.event.kind == METHOD:
        _internal(fact.event, "connection", fact.connection.channels.values(), notes)
        return
    pending = [one for channel in fact.connection.open_channels() for one in channel.pending() if not one.ignored]
    sent = [one.seq for one in pending]
    if sent and is_over(fact, *sent) and not _accused(fact.event, notes):
        allowed = f"an answer to {pending[0].method}, or a close that says what is wrong"
        notes.find("ERR-012", fact.event, allowed, f"connection: {how_it_ended(fact.event)}", *sent[:SHOWN])


@judges(ClosedUnasked, "ERR-012")
def channel_ended_by_itself(fact: ClosedUnasked, notes: Notes) -> None:
    """The broker's own fault cost the channel."""
    _internal(fact.event, f"channel {fact.channel.number}", (fact.channel,), notes)


@judges(ChannelClosed, "ERR-012")
def ended_as_asked(fact: ChannelClosed, notes: Notes) -> None:
    """The channel lived until its client closed it."""
    if not fact.crossed:
        notes.exercise("ERR-012")


@judges(Unlawful, "ERR-013")
def unlawful(fact: Unlawful, notes: Notes) -> None:
    """No frame, or none that may come there. What answers a method out of its turn is the rule's that judges that."""
    if not fact.beyond_agreed() and not (fact.event.kind == METHOD and _accused(fact.event, notes)):
        notes.find("ERR-013", fact.event, fact.allowed, fact.found)


@judges(Unrequested, "ERR-013")
def answered_without_question(fact: Unrequested, notes: Notes) -> None:
    """An answer too many; where the channel is doubtful, or the question may be missing, it may belong to something."""
    channel, event = fact.channel, fact.event
    if (
        channel.indeterminate
        or channel.settlement_error
        or channel.method_error
        or channel.connection.error
        or channel.connection.overheard
    ):
        return
    if _accused(event, notes):
        return
    notes.find("ERR-013", event, "one answer to each request", f"{event.method}, which nobody asked for")


@judges(CloseConfirmed, "ERR-013", "ERR-014")
def all_was_said(fact: CloseConfirmed, notes: Notes) -> None:
    """All that came on the connection was read, to its end; and nothing is left to be answered."""
    notes.exercise("ERR-013")
    if not any(channel.pending() for channel in fact.connection.channels.values()):
        notes.exercise("ERR-014")


def _accused(event: Event, notes: Notes, but: Collection[str] = ()) -> bool:
    """Does another rule judge this event, `but` these, even if its findings are no longer written down?"""
    judged = [one.rule for one in notes.fresh if event.seq == one.at or event.seq in one.witness]
    return any(rule not in but for rule in (*notes.accused, *judged))


def _customs(channels: Iterable[ChannelLife]) -> set[str]:
    """The rules by which what is asked there is usually carried out, and need not be."""
    claims = {rule for channel in channels for one in channel.pending() for rule in one.claims}
    return {rule for rule in claims if CATALOGUE[rule].level not in BINDING}


def _internal(event: Event, what: str, channels: Iterable[ChannelLife], notes: Notes) -> None:
    code = int(event.args.get("reply_code", 0)) if event.kind == METHOD else 0
    channels = list(channels)
    if code == INTERNAL_ERROR and not _accused(event, notes, _customs(channels)):
        notes.find(
            "ERR-012",
            event,
            f"the {what} stays open: the client made no mistake",
            f"{what}: {closing(event.args)}",
            *_unanswered(event, channels),
            unless=_of_settlements(channels),
        )


def _of_settlements(channels: Iterable[ChannelLife]) -> tuple[str, ...]:
    """The rules by which what had just been settled had to be accepted. A broker that fails at one of these breaks that
    rule, also where the end of its connection does not tell."""
    unproven = (one for channel in channels for one in channel.unproven if not one.refusal)
    return tuple(sorted({fate.of_refused(one, failed=True) for one in unproven} - {"ERR-012"}))


def _unanswered(event: Event, channels: Iterable[ChannelLife]) -> list[int]:
    """What the client had sent that no answer shows to be handled: of the kind that the close names, else the last."""
    sent = [(seq, ids) for channel in channels for ids, seq in channel.sent.items()]
    sent += [(one.seq, (one.class_id, one.method_id)) for channel in channels for one in channel.pending()]
    sent += [(one.seq, (60, one.method_id)) for channel in channels for one in channel.unproven]
    named = [seq for seq, ids in sent if ids == ids_of(event)]
    return sorted(named or [seq for seq, _ in sent])[-SHOWN:]
