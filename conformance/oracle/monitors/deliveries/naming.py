"""ERR-015: a close that is right but for the method that it names.

Which method failed is the same question whatever was wrong. A broker that answers it wrongly does so for all mistakes
alike: that is one fault of its closes, and none of each rule that asks for one. Where the method that is named was sent
as well, the close may be about that, and the rule of the mistake speaks.
"""

from __future__ import annotations

from collections.abc import Iterable

from conformance.history.events import Event
from conformance.oracle.model.connections.channels import ChannelLife
from conformance.oracle.model.connections.closing import SETTLES, Ids, ids_of
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes

MISNAMED = "ERR-015"
NONE: Ids = (0, 0)


def misnamed(event: Event, ids: Ids, channels: Iterable[ChannelLife], seq: int, notes: Notes) -> bool:
    """Does the close over a mistake with these ids name a method that was not sent on the channels that it ends?"""
    named = ids_of(event)
    if named == ids:
        notes.exercise(MISNAMED)
    if named in (ids, NONE) or named in SETTLES or any(_was_sent(channel, named) for channel in channels):
        return False
    notes.find(MISNAMED, event, f"a close that names {ids}, the method that failed", closing(event.args), seq)
    return True


def _was_sent(channel: ChannelLife, ids: Ids) -> bool:
    pending = ((one.class_id, one.method_id) for one in channel.pending())
    return ids in channel.sent or ids in channel.dubious or ids in channel.spurned or ids in pending
