"""The broker is killed and started again: what must be there afterwards, and what may.

From its confirm on, a persistent message in a durable queue is promised to survive. Nothing is known about anything
else: an unconfirmed message may be there or not, a settled one may be back, an id that the history has forgotten may
appear, and messages may come back in any order. The connections end with the broker, and nothing is owed to them any
more. A broker that was just started need not answer in time. But a queue that never gives out its messages has broken
the promise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle import topology
from conformance.oracle.model.connections import closing
from conformance.oracle.model.consumers import taking
from conformance.oracle.model.facts import Unanswered, Unrecovered

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model
    from conformance.oracle.model.queues.queue import Queue
    from conformance.oracle.model.records import Copy

CAUSE = "killed"
GET = "basic.get"


def killed(model: Model, event: Event) -> None:
    """Everything up to here may be lost, but for what was promised."""
    promised = {
        queue.name: [copy for copy in queue.absent() if promises(copy)]
        for queue in model.queues.values()
        if queue.durable
    }
    _forget(model, event, promised)


def stopped(model: Model, event: Event) -> None:
    """The broker is shut down in good order. What it keeps, the family DUR knows; for all others nothing is left."""
    _forget(model, event, {})


def _forget(model: Model, event: Event, promised: Mapping[str, list[Copy]]) -> None:
    for connection in model.connections.values():
        if not connection.ended:
            closing.lose_connection(connection, event.seq, CAUSE)
    topology.forget_all(model.topology)
    for queue in model.queues.values():
        for copy in queue.copies.values():
            copy.weathered = event.kind
        if queue.durable:
            _recover(queue, promised.get(queue.name, []), event.seq)
        else:
            queue.forget()


def _recover(queue: Queue, promised: list[Copy], at: int) -> None:
    queue.opaque, kept = True, set(promised)
    for copy in list(queue.copies.values()):
        if copy not in kept:
            queue.unsettle(copy, indeterminate=True)
    for copy in promised:
        if copy.id not in queue.missed:
            copy.survives = at
        queue.miss(copy)
    taking.swept(queue, 0, at)


def promises(copy: Copy) -> bool:
    """Was it confirmed, is it persistent, and has nobody taken it since?"""
    publication = copy.publication
    if publication is None or copy.fleeting or copy.queue.lossy:
        return False
    return publication.persistent and copy.confirmed > 0


def unrecovered(fact: Unanswered) -> Iterator[Unrecovered]:
    """What a get that is not answered says of its queue."""
    request = fact.request
    if request is None or request.method != GET or request.source is None:
        return
    lost = [copy for copy in request.source.missed.values() if copy.survives]
    if lost:
        yield Unrecovered(fact.event, request.source, lost)
