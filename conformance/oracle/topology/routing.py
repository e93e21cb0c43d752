"""Where a publish goes, as far as the history proves it.

A route is certain only if everything that it depends on is: the exchange, each binding that may match, and what that
leads to, be it another exchange. An alternate exchange gets what no binding matches. One thing that the history leaves
open, and the whole route is UNKNOWN. So it is where a binding leads to another exchange, and nothing leads on from
there to a queue: by its guide RabbitMQ asks the alternate then, and it does not.
"""

from __future__ import annotations

from conformance.oracle.topology.matching import MATCHERS, Message
from conformance.oracle.topology.state import Actor, Exchange, NamedQueue, Topology

UNKNOWN, MISSING = "unknown", "missing"
"""Routes that are no list of queues: nobody can tell, and the exchange does not exist."""

ALTERNATE = "alternate-exchange"
"""What a policy may set for an exchange."""

Route = list[NamedQueue] | str
Found = dict[NamedQueue | Exchange, None]


def route(topology: Topology, actor: Actor, exchange: str, message: Message) -> Route:
    """The queues that a publish now sent on this channel reaches, each once; or UNKNOWN, or MISSING."""
    vhost = actor.connection.vhost
    if not exchange:
        return _by_name(topology.queue(vhost, message.key), actor)
    start = topology.exchange(vhost, exchange)
    if start is None:
        return UNKNOWN
    if start.there_for(actor) is False:
        return MISSING
    reached: Found = {}
    todo, seen = [start], {start}
    while todo:
        step = _step(topology, todo.pop(), actor, message)
        if step is None:
            return UNKNOWN
        for one in step:
            if isinstance(one, NamedQueue):
                reached[one] = None
            elif one not in seen:
                seen.add(one)
                todo.append(one)
    return [one for one in reached if isinstance(one, NamedQueue)]


def _by_name(queue: NamedQueue | None, actor: Actor) -> Route:
    """The default exchange leads to the queue of that name."""
    there = queue.there_for(actor) if queue is not None else None
    if queue is None or there is None:
        return UNKNOWN
    return [queue] if there else []


def _step(topology: Topology, exchange: Exchange, actor: Actor, message: Message) -> Found | None:
    """Where this exchange sends it; None: nobody can tell."""
    found = _matched(topology, exchange, actor, message)
    if found == {} and exchange.there_for(actor):
        return _instead(topology, exchange, actor)
    if found and _may_have_alternate(topology, exchange) and not _reaches(topology, found, actor, message):
        return None
    return found


def _matched(topology: Topology, exchange: Exchange, actor: Actor, message: Message) -> Found | None:
    """Where its bindings lead."""
    there = exchange.there_for(actor)
    if there is False:
        return {}
    if there is None or exchange.opaque or exchange.kind not in MATCHERS:
        return None
    found: Found = {}
    for binding in exchange.bindings:
        matches = MATCHERS[exchange.kind](binding.terms, message)
        stands = binding.stands_for(actor)
        if matches is False or stands is False:
            continue
        if matches is None or stands is None:
            return None
        found[binding.to] = None
    return found


def _reaches(topology: Topology, found: Found, actor: Actor, message: Message) -> bool:
    """Does one of these certainly lead to a queue, without any alternate?"""
    todo, seen = [*found], {*found}
    while todo:
        one = todo.pop()
        if isinstance(one, NamedQueue):
            return True
        further = [other for other in _matched(topology, one, actor, message) or () if other not in seen]
        todo.extend(further)
        seen.update(further)
    return False


def _may_have_alternate(topology: Topology, exchange: Exchange) -> bool:
    return exchange.alternate is not None or exchange.shared or ALTERNATE in topology.policies.keys(exchange.name)


def _instead(topology: Topology, exchange: Exchange, actor: Actor) -> Found | None:
    """No binding that we know of matches."""
    if exchange.shared or ALTERNATE in topology.policies.keys(exchange.name):
        return None
    if exchange.alternate is None:
        return {}
    alternate = topology.exchange(actor.connection.vhost, exchange.alternate)
    return {alternate: None} if alternate is not None else None
