"""CNF, continued: a feature that one channel of a connection has, another has as well.

A broker need not offer confirms. Where it has answered confirm.select on a connection, it does so on the next channel,
too: a refusal there is no sign that it lacks them. The memory of the family: connections with such a channel.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.facts import Answered, ClosedUnasked
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges

OWN_MODE, SELECT, CONFIRM_SELECT = "CNF-023", "confirm.select", (85, 10)


@dataclass(slots=True)
class Selected:
    """By connection: when confirm.select was answered there first, and on which channel."""

    first: dict[str, tuple[int, int]] = field(default_factory=dict)


@judges(Answered)
def selected(fact: Answered, notes: Notes) -> None:
    """A channel is in confirm mode."""
    if fact.request.method == SELECT:
        channel = fact.channel
        notes.memory(Selected).first.setdefault(channel.connection.name, (fact.event.seq, channel.number))


@judges(ClosedUnasked, OWN_MODE)
def refused_to_another(fact: ClosedUnasked, notes: Notes) -> None:
    """Another channel of the connection is closed over the same method, and has done nothing wrong."""
    channel, event = fact.channel, fact.event
    seq, number = notes.memory(Selected).first.get(channel.connection.name, (0, channel.number))
    asked = [one for one in channel.pending() if one.method == SELECT]
    if number == channel.number or not asked or asked[0].seq < seq or fact.suspect is not None:
        return
    if ids_of(event) == CONFIRM_SELECT and not (channel.transactional or channel.indeterminate):
        allowed = f"confirm.select-ok, as on channel {number}"
        notes.find(OWN_MODE, event, allowed, closing(event.args), seq, asked[0].seq)
