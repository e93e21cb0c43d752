"""Deletions that meet: that of a queue, and that of an exchange from which a binding leads to the queue.

Both remove the binding. Each is under way from when it is sent until it is answered; a channel's own come in order, so
only those of two channels meet.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.history.events import Event
from conformance.oracle.topology.state import Actor, NamedQueue, Thing, Topology


def deletions_of_queues(topology: Topology, actor: Actor, event: Event) -> Iterator[Actor]:
    """The channels whose deletion of a queue is met by this deletion, or is this one: it has just been sent."""
    vhost = actor.connection.vhost
    if event.method == "queue.delete":
        queue = topology.queue(vhost, event.queue or topology.last.get(actor, ""))
        exchanges = (one for one in topology.exchanges.values() if _under_way(one, actor))
        if queue is not None and any(binding.to is queue for one in exchanges for binding in one.bindings):
            yield actor
        return
    exchange = topology.exchange(vhost, event.exchange or "")
    for binding in exchange.bindings if exchange is not None else ():
        gone = binding.to.gone
        if isinstance(binding.to, NamedQueue) and _under_way(binding.to, actor) and gone is not None and gone.by:
            yield gone.by


def _under_way(thing: Thing, actor: Actor) -> bool:
    """Does another channel delete it, and has no answer come?"""
    return thing.gone is not None and not thing.gone.known and thing.gone.by is not actor
