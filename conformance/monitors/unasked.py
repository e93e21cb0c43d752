"""ERR-012: what the broker calls an internal error is its own fault, whatever the client had sent.

It speaks last. A close that another rule has accused already is not accused twice, and one that answers a mistake is
for the rule about that mistake.
"""

from __future__ import annotations

from collections.abc import Iterable

from conformance.events import METHOD, Event
from conformance.model.channels import Channel
from conformance.model.closing import ids_of
from conformance.model.facts import ChannelClosed, ClosedUnasked, ConnectionFailed
from conformance.monitors.ack import closing
from conformance.monitors.notes import Notes
from conformance.monitors.table import judges

INTERNAL_ERROR = 541
SHOWN = 4
"""So many of the methods that may have brought it about are shown."""


@judges(ConnectionFailed, "ERR-012")
def connection_ended_by_itself(fact: ConnectionFailed, notes: Notes) -> None:
    """The broker's own fault cost the connection."""
    if fact.doom is None and not fact.doomed:
        _internal(fact.event, "connection", fact.connection.channels.values(), notes)


@judges(ClosedUnasked, "ERR-012")
def channel_ended_by_itself(fact: ClosedUnasked, notes: Notes) -> None:
    """The broker's own fault cost the channel."""
    _internal(fact.event, f"channel {fact.channel.number}", (fact.channel,), notes)


@judges(ChannelClosed, "ERR-012")
def ended_as_asked(fact: ChannelClosed, notes: Notes) -> None:
    """The channel lived until its client closed it."""
    if not fact.crossed:
        notes.exercise("ERR-012")


def _internal(event: Event, what: str, channels: Iterable[Channel], notes: Notes) -> None:
    code = int(event.args.get("reply_code", 0)) if event.kind == METHOD else 0
    if code == INTERNAL_ERROR and not any(finding.at == event.seq for finding in notes.fresh):
        notes.find("ERR-012", event, f"the {what} goes on: its client kept to the protocol",
                   f"{what}: {closing(event.args)}", *_unanswered(event, channels))


def _unanswered(event: Event, channels: Iterable[Channel]) -> list[int]:
    """What the client had sent that no answer shows to be handled: of the kind that the close names, else the last."""
    sent = [(seq, ids) for channel in channels for ids, seq in channel.sent.items()]
    sent += [(one.seq, (one.class_id, one.method_id)) for channel in channels for one in channel.pending()]
    sent += [(one.seq, (60, one.method_id)) for channel in channels for one in channel.unproven]
    named = [seq for seq, ids in sent if ids == ids_of(event)]
    return sorted(named or [seq for seq, _ in sent])[-SHOWN:]
