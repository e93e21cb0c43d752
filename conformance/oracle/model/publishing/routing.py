"""Where a publish goes, in terms of the queues that hold messages here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.oracle.topology import MISSING, UNKNOWN, Message
from conformance.oracle.topology import route as route_names

if TYPE_CHECKING:
    from conformance.oracle.model.connections.channels import ChannelLife
    from conformance.oracle.model.model import Model
    from conformance.oracle.model.queues.queue import Queue

__all__ = ["MISSING", "UNKNOWN", "Route", "route"]

Route = list["Queue"] | str


def route(model: Model, channel: ChannelLife, exchange: str, key: str, content: str) -> Route:
    """The queues that a publish now sent on this channel reaches; `content`: the arguments of its event."""
    if model.open:
        return UNKNOWN
    found = route_names(model.topology, channel, exchange, Message(key, content))
    if isinstance(found, str):
        return found
    queues = [model.queues.get(one.name) for one in found]
    known = [queue for one, queue in zip(found, queues, strict=True) if queue and queue.declaration is one.made]
    return known if len(known) == len(found) else UNKNOWN
