"""Circumstances of what is published, and of frames that are no lawful content."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

from conformance.history.events import TO_BROKER, Event
from conformance.oracle.model.circumstances import further, ranking
from conformance.oracle.model.circumstances.endings import unopened
from conformance.oracle.model.circumstances.places import EVERYWHERE, Found, life
from conformance.oracle.model.connections import octets
from conformance.oracle.model.connections.channels import CLOSED
from conformance.oracle.model.publishing import routing

if TYPE_CHECKING:
    from conformance.oracle.model.connections.connection import Connection
    from conformance.oracle.model.model import Model
    from conformance.oracle.topology import Topology

NO_NUMBER = re.compile(r'"(?:-?inf|nan)"')
"""How an event has a float that is infinite, or no number."""

DECIMAL = re.compile(r'"(-?\d+(?:\.\d+)?(?:E[+-]\d+)?)"')
"""How an event has a decimal, in whatever form."""
PLACES = 9

_FLAWS: Mapping[octets.Flaw, str] = {
    octets.END: "wrong-frame-end",
    octets.TOO_LONG: "longer-body",
    octets.MISPLACED: "misplaced-content",
    octets.INTERRUPTED: "interrupted-content",
    octets.DISORDERED: "disordered-content",
    octets.OF_ANOTHER_CLASS: "other-class",
    octets.ON_CHANNEL_0: "content-on-channel-0",
    octets.PROPERTIES: "unreadable-properties",
    octets.WEIGHT: "content-weight",
    octets.UNKNOWN_METHOD: "unknown-method",
}


def published(model: Model, connection: Connection, event: Event) -> Found:
    channel = connection.channels.get(event.channel)
    if channel is None or channel.state == CLOSED:
        yield from unopened(model, connection, event)
        return
    if '"types"' in event.arguments and NO_NUMBER.search(event.arguments):
        yield f"connection {connection.name}", "float-without-number"
    if '"D"' in event.arguments and any(map(_has_many_places, DECIMAL.findall(event.arguments))):
        yield EVERYWHERE, "decimal-of-many-places"
    yield from ranking.published(model, channel, event)
    yield from further.several_keys(model, connection, event)
    if "mandatory" not in event.flags or "immediate" in event.flags:
        return
    way = routing.route(model, channel, event.exchange or "", event.routing_key or "", event.arguments)
    for queue in way if isinstance(way, list) else ():
        full = queue.room is not None and sum(queue.pressed.values()) >= queue.room
        if full or _may_be_full(model.topology, connection.vhost, queue.name):
            yield f"queue {queue.name}", "mandatory-to-the-full"


def _may_be_full(topology: Topology, vhost: str, name: str) -> bool:
    """May it reject by a policy, or by its octets, of which nobody knows how a broker counts them?"""
    ruled, declared = topology.policies.keys(name), topology.queue(vhost, name)
    given = declared.arguments if declared is not None else {}
    octets_too = "x-max-length-bytes" in given or "max-length-bytes" in ruled
    limited = octets_too or "x-max-length" in given or "max-length" in ruled
    rejects = str(given.get("x-overflow", "")).startswith("reject") or "overflow" in ruled
    return limited and rejects and (octets_too or "overflow" in ruled)


def _has_many_places(text: str) -> bool:
    exponent = Decimal(text).as_tuple().exponent
    return isinstance(exponent, int) and -exponent > PLACES


def selected(model: Model, connection: Connection, event: Event) -> Found:
    channel = connection.channels.get(event.channel)
    if channel is not None and channel.numbered:
        yield life(channel), "mandatory-before-confirms"


def malformed(model: Model, connection: Connection, event: Event) -> Found:
    flaw = octets.flaw_of(event) if event.direction == TO_BROKER else None
    if flaw is octets.INTERRUPTED and octets.is_publish(event.raw):
        yield f"connection {connection.name}", "content-in-content"
    elif flaw is not None and flaw in _FLAWS:
        yield f"connection {connection.name}", _FLAWS[flaw]
