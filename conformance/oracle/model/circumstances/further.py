"""Circumstances of exchanges that stand behind others: bound to them, or as their alternates.

What comes of them shows in the queues of the exchange further on: they are noted there, at the last of the declarations
and bindings that bring them about.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model.circumstances.endings import unopened
from conformance.oracle.model.circumstances.places import Found
from conformance.oracle.topology.state import Exchange, Topology

if TYPE_CHECKING:
    from conformance.oracle.model.connections import Connection
    from conformance.oracle.model.model import Model

AFTER, TWICE, VOID = "alternate-after-others", "alternate-of-alternate", "binding-without-value"
ALTERNATE = "alternate-exchange"


def roles(topology: Topology, exchange: Exchange) -> Iterator[str]:
    """What this exchange is, beside others, for the queues that are bound to it."""
    there = topology.exchanges.values()
    before = [one for one in there if one.alternate == exchange.name]
    if any(binding.to in before for one in there for binding in one.bindings):
        yield AFTER
    names = {one.name for one in before}
    if before and (exchange.alternate or any(one.alternate in names for one in there)):
        yield TWICE
    if any(binding.to is exchange and None in binding.arguments.values() for one in there for binding in one.bindings):
        yield VOID


def exchange_declared(model: Model, connection: Connection, event: Event) -> Found:
    yield from unopened(model, connection, event)
    name = (event.args.get("arguments") or {}).get(ALTERNATE)
    alternate = model.topology.exchange(connection.vhost, name) if isinstance(name, str) else None
    if alternate is None:
        return
    if any(one.alternate == event.exchange for one in model.topology.exchanges.values()):
        yield from _in_queues(alternate, TWICE)
    if alternate.alternate:
        yield from _in_queues(alternate, TWICE)
        yield from _in_queues(model.topology.exchange(connection.vhost, alternate.alternate), TWICE)


def exchange_bound(model: Model, connection: Connection, event: Event) -> Found:
    yield from unopened(model, connection, event)
    destination = model.topology.exchange(connection.vhost, str(event.args.get("destination")))
    if None in (event.args.get("arguments") or {}).values():
        yield from _in_queues(destination, VOID)
    if destination is not None and destination.alternate:
        yield from _in_queues(model.topology.exchange(connection.vhost, destination.alternate), AFTER)


def _in_queues(exchange: Exchange | None, name: str) -> Found:
    for binding in exchange.bindings if exchange is not None else ():
        yield f"queue {binding.to.name}", name
