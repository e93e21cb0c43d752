"""Circumstances of what is published: with a time to live, with a higher priority than a queue has, to a full queue."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model.circumstances.places import EVERYWHERE, Found
from conformance.oracle.model.publishing import routing
from conformance.oracle.topology import UNKNOWN, Message, NamedQueue, route

if TYPE_CHECKING:
    from conformance.oracle.model.connections.channels import ChannelLife
    from conformance.oracle.model.model import Model
    from conformance.oracle.model.queues.queue import Queue

PRIORITY = re.compile(r'"priority": (\d+)')
DEAD, LEVELS, TTL = "x-dead-letter-exchange", "x-max-priority", "x-message-ttl"


def published(model: Model, channel: ChannelLife, event: Event) -> Found:
    """What takes it out of a queue with priorities may be any connection."""
    for queue in _reached(model, channel, event):
        yield from _put(model, channel, event, queue)
    found = PRIORITY.search(event.arguments) if '"priority"' in event.arguments else None
    if found is not None and any(int(found[1]) > levels for levels in _levels(model, channel, event)):
        yield EVERYWHERE, "priority-above-maximum"


def _reached(model: Model, channel: ChannelLife, event: Event) -> Sequence[Queue]:
    """The queues that it certainly comes to."""
    if not event.exchange:
        queue = model.queues.get(event.routing_key or "")
        return [queue] if queue is not None else []
    way = routing.route(model, channel, event.exchange, event.routing_key or "", event.arguments)
    return way if isinstance(way, list) else []


def _put(model: Model, channel: ChannelLife, event: Event, queue: Queue) -> Found:
    named = model.topology.queue(channel.connection.vhost, queue.name)
    arguments: Mapping[str, object] = named.arguments if named is not None else {}
    if '"expiration"' in event.arguments:
        yield f"queue {queue.name}", "time-to-live"
        if queue.levels:
            yield EVERYWHERE, "expires-among-priorities"
    if queue.receivers:
        if '"expiration": "0"' in event.arguments or arguments.get(TTL) == 0:
            yield f"queue {queue.name}", "no-time-beside-consumers"
        if '"expiration"' in event.arguments or TTL in arguments:
            yield EVERYWHERE, "time-beside-consumers"
    if "x-overflow" in arguments and "overflow" in model.topology.policies.keys(queue.name):
        yield EVERYWHERE, "overflow-by-both"


def _perhaps(model: Model, channel: ChannelLife, event: Event) -> Sequence[NamedQueue]:
    """The queues to which it goes; where nobody knows the way, any, or that of its key."""
    way = route(model.topology, channel, event.exchange or "", Message(event.routing_key or "", event.arguments))
    if way != UNKNOWN:
        return [] if isinstance(way, str) else way
    if event.exchange:
        return [*model.topology.queues.values()]
    queue = model.topology.queue(channel.connection.vhost, event.routing_key or "")
    return [queue] if queue is not None else []


def _levels(model: Model, channel: ChannelLife, event: Event) -> Iterator[int]:
    """The highest priority of each queue to which it may go; of any, if it may go on from there as a dead letter."""
    queues = _perhaps(model, channel, event)
    if any(DEAD in queue.arguments for queue in queues):
        queues = list(model.topology.queues.values())
    for queue in queues:
        levels = queue.arguments.get(LEVELS)
        if isinstance(levels, int) and levels:
            yield levels
