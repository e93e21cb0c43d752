"""Circumstances of what is published: with a time to live, with a higher priority than a queue has, to a full queue."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model.circumstances.places import EVERYWHERE, Found
from conformance.oracle.topology import Message, route

if TYPE_CHECKING:
    from conformance.oracle.model.connections.channels import ChannelLife
    from conformance.oracle.model.model import Model

PRIORITY = re.compile(r'"priority": (\d+)')
DEAD, LEVELS, TTL = "x-dead-letter-exchange", "x-max-priority", "x-message-ttl"


def published(model: Model, channel: ChannelLife, event: Event) -> Found:
    """What takes it out of a queue with priorities may be any connection."""
    queue = model.queues.get(event.routing_key or "") if not event.exchange else None
    if queue is not None and '"expiration"' in event.arguments:
        yield f"queue {queue.name}", "time-to-live"
        if queue.levels:
            yield EVERYWHERE, "expires-among-priorities"
    if queue is not None and queue.receivers:
        if _has_no_time(model, channel, event):
            yield f"queue {queue.name}", "no-time-beside-consumers"
        if _has_a_time(model, channel, event):
            yield EVERYWHERE, "time-beside-consumers"
    if queue is not None and "overflow" in model.topology.policies.keys(queue.name):
        named = model.topology.queue(channel.connection.vhost, queue.name)
        if named is not None and "x-overflow" in named.arguments:
            yield EVERYWHERE, "overflow-by-both"
    found = PRIORITY.search(event.arguments) if '"priority"' in event.arguments else None
    if found is not None and any(int(found[1]) > levels for levels in _levels(model, channel, event)):
        yield EVERYWHERE, "priority-above-maximum"


def _has_no_time(model: Model, channel: ChannelLife, event: Event) -> bool:
    """By itself, or because its queue gives it none."""
    queue = model.topology.queue(channel.connection.vhost, event.routing_key or "")
    return '"expiration": "0"' in event.arguments or (queue is not None and queue.arguments.get(TTL) == 0)


def _has_a_time(model: Model, channel: ChannelLife, event: Event) -> bool:
    """Likewise, some time."""
    queue = model.topology.queue(channel.connection.vhost, event.routing_key or "")
    return '"expiration"' in event.arguments or (queue is not None and TTL in queue.arguments)


def _levels(model: Model, channel: ChannelLife, event: Event) -> Iterator[int]:
    """The highest priority of each queue to which it goes; of any, if it may go on from there as a dead letter."""
    way = route(model.topology, channel, event.exchange or "", Message(event.routing_key or "", event.arguments))
    queues = [] if isinstance(way, str) else list(way)
    if any(DEAD in queue.arguments for queue in queues):
        queues = list(model.topology.queues.values())
    for queue in queues:
        levels = queue.arguments.get(LEVELS)
        if isinstance(levels, int) and levels:
            yield levels
