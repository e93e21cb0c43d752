"""ROUTE-020: the default exchange, by which queues are reached by their names.

It is always there, so a channel.close that misses the exchange of a publish is wrong on a channel that has published to
nothing else. A message that comes out of the queue whose name was its key shows that it is there.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from conformance.history.events import TO_BROKER
from conformance.oracle.model.connections.closing import NOT_FOUND, ids_of
from conformance.oracle.model.facts import ClosedUnasked, Passed
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows, judges

THERE, PUBLISH = "ROUTE-020", (60, 40)
MANY = 256


@dataclass(slots=True)
class ByName:
    """The latest publishes to the default exchange."""

    keys: OrderedDict[str, str] = field(default_factory=OrderedDict)
    """By message."""
    channels: OrderedDict[int, int] = field(default_factory=OrderedDict)
    """By the opening of a channel: its first publish, where it has published to nothing else; else 0."""


@follows("basic.publish")
def published(fact: Passed, notes: Notes) -> None:
    """Is it to the default exchange?"""
    event, memory = fact.event, notes.memory(ByName)
    channel = fact.connection.channels.get(event.channel)
    if event.direction != TO_BROKER or channel is None:
        return
    first = memory.channels.setdefault(channel.opened, event.seq)
    if event.exchange:
        memory.channels[channel.opened] = 0
    elif first and event.message:
        memory.keys[event.message] = event.routing_key or ""
    for known in (memory.keys, memory.channels):
        if len(known) > MANY:
            known.popitem(last=False)


@judges(ClosedUnasked, THERE)
def not_found(fact: ClosedUnasked, notes: Notes) -> None:
    """Nothing but the default exchange can be meant."""
    event, sent = fact.event, notes.memory(ByName).channels.get(fact.channel.opened, 0)
    if sent and event.args.get("reply_code") == NOT_FOUND and ids_of(event) == PUBLISH:
        notes.find(THERE, event, "the default exchange is there", closing(event.args), sent)


@follows("basic.deliver", "basic.get-ok", rules=(THERE,))
def came(fact: Passed, notes: Notes) -> None:
    """It came by its name."""
    event = fact.event
    if event.exchange or not event.routing_key or event.has("redelivered"):
        return
    if notes.memory(ByName).keys.get(event.message or "") == event.routing_key:
        notes.exercise(THERE)
