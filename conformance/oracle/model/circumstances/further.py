"""Circumstances of exchanges that stand behind others: bound to them, or as their alternates.

What comes of them shows in the queues of the exchange further on: they are noted there, at the last of the declarations
and bindings that bring them about, or at the publish that takes such a way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model.circumstances.endings import unopened
from conformance.oracle.model.circumstances.places import Found, life
from conformance.oracle.topology.state import Exchange, Topology

if TYPE_CHECKING:
    from conformance.oracle.model.connections.connection import Connection
    from conformance.oracle.model.model import Model

AFTER, SEVERAL, VOID = "alternate-after-others", "several-keys-to-alternate", "binding-without-value"
HASHES = 2
"""Words # in a key, which brokers take that limit them."""


def roles(topology: Topology, exchange: Exchange) -> Iterator[str]:
    """What this exchange is, beside others, for the queues that are bound to it."""
    there = topology.exchanges.values()
    before = [one for one in there if one.alternate == exchange.name]
    if any(binding.to in before for one in there for binding in one.bindings):
        yield AFTER
    leading = (binding for one in there for binding in one.bindings if binding.to is exchange)
    if any(None in binding.terms.arguments.values() for binding in leading):
        yield VOID


def several_keys(model: Model, connection: Connection, event: Event) -> Found:
    """A publish names more keys than one: the alternates of all exchanges that it may come to, with their queues."""
    if '"CC"' not in event.arguments and '"BCC"' not in event.arguments:
        return
    ahead, met = [model.topology.exchange(connection.vhost, event.exchange or "")], set[Exchange]()
    while ahead:
        exchange = ahead.pop()
        if exchange is None or exchange in met:
            continue
        met.add(exchange)
        ahead.extend(binding.to for binding in exchange.bindings if isinstance(binding.to, Exchange))
        if exchange.alternate:
            alternate = model.topology.exchange(connection.vhost, exchange.alternate)
            yield from _in_queues(alternate, SEVERAL)
            ahead.append(alternate)


def hashes(model: Model, connection: Connection, event: Event) -> Found:
    """How much is asked of a topic exchange?"""
    name = str(event.args.get("source") or event.exchange)
    channel, source = connection.channels.get(event.channel), model.topology.exchange(connection.vhost, name)
    topical = source is not None and source.kind == "topic"
    if channel is not None and topical and (event.routing_key or "").split(".").count("#") > HASHES:
        yield life(channel), "many-hashes-in-binding"


def exchange_bound(model: Model, connection: Connection, event: Event) -> Found:
    yield from unopened(model, connection, event)
    yield from hashes(model, connection, event)
    destination = model.topology.exchange(connection.vhost, str(event.args.get("destination")))
    if None in (event.args.get("arguments") or {}).values():
        yield from _in_queues(destination, VOID)
    if destination is not None and destination.alternate:
        yield from _in_queues(model.topology.exchange(connection.vhost, destination.alternate), AFTER)


def _in_queues(exchange: Exchange | None, name: str) -> Found:
    for binding in exchange.bindings if exchange is not None else ():
        yield f"queue {binding.to.name}", name
