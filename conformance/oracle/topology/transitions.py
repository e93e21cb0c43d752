"""What a client's methods do to the tables: one function for each method, the only place where they change.

A method is applied when it is sent, and stays uncertain for other channels until it is answered. What the broker must
refuse is not applied at all; the caller asks `preconditions` first. Some answers tell more than that something was
done: what is deleted, or looked for and not found, is not there, whatever was known of it; and an exclusive queue that
was declared is this connection's. So is what may have gone by itself, with its last consumer or binding, its
connection or its time, where one who looks for it does not find it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any

from conformance.history.events import Event
from conformance.oracle.topology.state import (
    Actor,
    Binding,
    Exchange,
    NamedQueue,
    Terms,
    Thing,
    Topology,
    TopologyChange,
)

LATEST = 1024
"""So many channels are remembered with the queue that they declared last, and so many queues without a name."""
MOST = 4096
"""Where so many things are known, nobody asks for what is not there."""
OF_THE_BROKER, RESERVED, ADDRESS = ("amq.rabbitmq.", "amq.gen"), "amq.", "reply"
"""How names begin that the broker gives; and what is in one that stands for whoever takes replies."""
Transition = Callable[[Topology, Actor, Event, TopologyChange], None]


def in_full(topology: Topology, actor: Actor, event: Event) -> Event:
    """The empty name stands for the last queue that the channel declared; in queue.bind without a key, for that, too.
    So the text says. Of the key of queue.unbind it says nothing, so that stays as it is."""
    nameless = event.queue == "" and event.method != "queue.declare"
    if not nameless or (event.method == "queue.unbind" and not event.routing_key):
        return event
    queue = topology.last.get(actor, "")
    key = event.routing_key or queue if event.method == "queue.bind" else event.routing_key
    return event._replace(queue=queue, routing_key=key)


def apply(topology: Topology, actor: Actor, event: Event, change: TopologyChange) -> None:
    """The method takes effect, by this change."""
    transition = TRANSITIONS.get(event.method)
    if transition is not None:
        transition(topology, actor, event, change)


def name_queue(topology: Topology, actor: Actor, name: str, change: TopologyChange) -> None:
    """declare-ok tells the name that the broker has chosen, where the client left that to it."""
    queue = topology.unnamed.pop(change, None)
    if queue is not None:
        queue.name, queue.chosen = name, True
        queue.doubtful = queue.doubtful or "expires" in topology.policies.keys(name)
        topology.queues[actor.connection.vhost, name] = queue
        _remember(topology, actor, name)


def granted(topology: Topology, actor: Actor, name: str, change: TopologyChange) -> None:
    """declare-ok: a queue that was declared as exclusive belongs to nobody else, whatever had its name before."""
    queue = topology.queue(actor.connection.vhost, name)
    if queue is not None and queue.made is change and queue.owner is not None:
        queue.doubtful = "x-expires" in queue.arguments or "expires" in topology.policies.keys(name)


def not_found(topology: Topology, vhost: str, change: TopologyChange, at_ns: int) -> None:
    """The channel was closed with 404 over this: it is not there, if the channel has asked for nothing else."""
    if sum(one.by is change.by for one in topology.sought) == 1:
        answered(topology, vhost, change, at_ns, there=False)


def answered(topology: Topology, vhost: str, change: TopologyChange, at_ns: int, *, there: bool) -> None:
    """What was asked for is there, or is not. Somebody may have asked for it meanwhile."""
    thing = topology.sought.pop(change, None)
    if there or thing is None:
        return
    if thing.gone is None:
        thing.gone = TopologyChange(change.by, change.sent, known=change.sent, known_ns=at_ns)
    if isinstance(thing, NamedQueue):
        topology.queues.setdefault((vhost, thing.name), thing)
    elif isinstance(thing, Exchange):
        topology.exchanges.setdefault((vhost, thing.name), thing)


def missed(topology: Topology, actor: Actor, name: str, asked: int, at_ns: int, *, queue: bool) -> None:
    """The channel was closed with 404, as it should, over its only question: what was certainly made before is gone."""
    table: Mapping[tuple[str, str], Thing] = topology.queues if queue else topology.exchanges
    thing = table.get((actor.connection.vhost, name))
    if thing is None or thing.gone is not None or thing.made.sent > asked:
        return
    if thing.made.by is actor or 0 < thing.made.known < asked:
        thing.gone = TopologyChange(actor, asked, known=asked, known_ns=at_ns)


def spare(topology: Topology, vhost: str, names: Iterable[str], rule: str) -> None:
    """The channel was closed over a deletion that had to be refused: what was to be deleted stays."""
    for key in ((vhost, name) for name in names):
        for thing in (topology.queues.get(key), topology.exchanges.get(key)):
            if thing is not None:
                thing.spared = rule


def let_pass(topology: Topology, vhost: str, names: Iterable[str]) -> None:
    """The broker has not refused what it must refuse: nobody knows what of that is there, and what is bound to it."""
    for key in ((vhost, name) for name in names):
        queue, exchange = topology.queues.get(key), topology.exchanges.get(key)
        if queue is not None:
            _doubt(queue, key, topology.queues)
        if exchange is not None:
            exchange.opaque = True
            topology.former.add(key)
            _doubt(exchange, key, topology.exchanges)


def _doubt(thing: Thing, key: tuple[str, str], table: dict[tuple[str, str], Any]) -> None:
    if thing.gone is None:
        thing.doubtful = True
    else:
        del table[key]


def _seek(topology: Topology, thing: Thing, change: TopologyChange) -> None:
    """Something is looked for, or deleted, of which nothing is known. What the broker has under names of its own may
    come and go."""
    own = thing.name.startswith(OF_THE_BROKER) or (thing.name.startswith(RESERVED) and ADDRESS in thing.name)
    if not own and len(topology.queues) + len(topology.exchanges) < MOST:
        topology.sought[change] = thing
        _bound(topology.sought)


def _look_for(topology: Topology, actor: Actor, thing: Thing, change: TopologyChange) -> None:
    """Something that was certainly made, and may have gone by itself, is looked for: the answer tells."""
    if thing.gone is None and thing.made.certain_for(actor) and thing.there_for(actor) is None:
        _seek(topology, thing, change)


def _remember(topology: Topology, actor: Actor, name: str) -> None:
    topology.last.pop(actor, None)  # the latest comes last
    topology.last[actor] = name
    _bound(topology.last)


def _bound(table: dict[Any, Any]) -> None:
    """The oldest is forgotten where there are too many."""
    if len(table) > LATEST:
        del table[next(iter(table))]


def _arguments(event: Event) -> Mapping[str, Any]:
    """A copy: equal events share their arguments, and things here share nothing."""
    found = event.args.get("arguments")
    return deepcopy(found) if isinstance(found, dict) else {}


def _declare_queue(topology: Topology, actor: Actor, event: Event, change: TopologyChange) -> None:
    name, vhost = event.queue or "", actor.connection.vhost
    if not name:
        _remember(topology, actor, name)
        topology.unnamed[change] = _queue(name, actor, event, change)
        _bound(topology.unnamed)
        return
    _remember(topology, actor, name)
    present = topology.queue(vhost, name)
    if event.has("passive") and present is None:
        _seek(topology, NamedQueue(name, change), change)
    elif event.has("passive") and present is not None:
        _look_for(topology, actor, present, change)
    if event.has("passive") or (present is not None and present.there_for(actor)):
        if present is not None and not event.has("passive"):
            present.again = change
        return
    queue = topology.queues[vhost, name] = _queue(name, actor, event, change)
    queue.doubtful = queue.doubtful or (present is not None and present.there_for(actor) is None)
    queue.doubtful = queue.doubtful or "expires" in topology.policies.keys(name)
    queue.heir = present is not None and present.owner not in (None, actor.connection)


def _queue(name: str, actor: Actor, event: Event, change: TopologyChange) -> NamedQueue:
    arguments = _arguments(event)
    return NamedQueue(
        name,
        change,
        durable=event.has("durable"),
        auto_delete=event.has("auto_delete"),
        arguments=arguments,
        doubtful="x-expires" in arguments,
        owner=actor.connection if event.has("exclusive") else None,
    )


def _delete_queue(topology: Topology, actor: Actor, event: Event, change: TopologyChange) -> None:
    queue = topology.queue(actor.connection.vhost, event.queue or topology.last.get(actor, ""))
    free = not (event.has("if_unused") or event.has("if_empty"))
    if queue is None and event.queue and free:
        _seek(topology, NamedQueue(event.queue, change), change)
    if queue is None or queue.gone is not None:
        return
    if not free:
        queue.doubtful = True
        _seek(topology, queue, change)
    else:
        _end(queue, actor, change)


def _consume(topology: Topology, actor: Actor, event: Event, change: TopologyChange) -> None:
    queue = topology.queue(actor.connection.vhost, event.queue or topology.last.get(actor, ""))
    if queue is not None:
        queue.used = True


def _declare_exchange(topology: Topology, actor: Actor, event: Event, change: TopologyChange) -> None:
    name, vhost = event.exchange or "", actor.connection.vhost
    present = topology.exchange(vhost, name)
    if event.has("passive") and present is None:
        _seek(topology, Exchange(name, change), change)
    elif event.has("passive") and present is not None:
        _look_for(topology, actor, present, change)
    if event.has("passive") or (present is not None and present.there_for(actor)):
        if present is not None and not event.has("passive"):
            present.again = change
        return
    topology.exchanges[vhost, name] = Exchange(
        name,
        change,
        durable=event.has("durable"),
        auto_delete=event.has("auto_delete"),
        arguments=_arguments(event),
        doubtful=present is not None and present.there_for(actor) is None,
        kind=str(event.args.get("type") or ""),
        internal=event.has("internal"),
        opaque=(vhost, name) in topology.former,
        former=[one for one in present.bindings if one.removed is None] if present is not None else [],
    )


def _delete_exchange(topology: Topology, actor: Actor, event: Event, change: TopologyChange) -> None:
    exchange = topology.exchange(actor.connection.vhost, event.exchange or "")
    if exchange is None and event.exchange and not event.has("if_unused"):
        _seek(topology, Exchange(event.exchange, change), change)
    if exchange is None or exchange.gone is not None:
        return
    if event.has("if_unused") and topology.in_use(exchange, actor) is not False:
        exchange.doubtful = True
    else:
        _end(exchange, actor, change)


def _end(thing: Thing, actor: Actor, change: TopologyChange) -> None:
    """It is deleted. If another channel declares it again meanwhile, that may come later, and make it anew."""
    again = thing.again
    if again is not None and not again.certain_for(actor):
        thing.doubtful = True
    else:
        thing.gone = change


def _bind_queue(topology: Topology, actor: Actor, event: Event, change: TopologyChange) -> None:
    exchange = topology.exchange(actor.connection.vhost, event.exchange or "")
    if exchange is not None:
        _bind(exchange, _bound_queue(topology, actor, event), _terms(event), change)


def _unbind_queue(topology: Topology, actor: Actor, event: Event, change: TopologyChange) -> None:
    exchange, queue = (
        topology.exchange(actor.connection.vhost, event.exchange or ""),
        _bound_queue(topology, actor, event),
    )
    if exchange is None:
        return
    if event.queue or event.routing_key:
        _unbind(exchange, queue, _terms(event), change)
    elif queue is None or _which(exchange, queue, _arguments(event)):
        exchange.opaque = True


def _which(exchange: Exchange, queue: NamedQueue, arguments: Mapping[str, Any]) -> bool:
    """Is there a binding that may be meant where neither queue nor key is named?"""
    keys = "", queue.name
    meant = [Terms(key, arguments, {}) for key in keys]
    return any(one.same(queue, terms) and one.removed is None for one in exchange.bindings for terms in meant)


def _bound_queue(topology: Topology, actor: Actor, event: Event) -> NamedQueue | None:
    return topology.queue(actor.connection.vhost, event.queue or topology.last.get(actor, ""))


def _terms(event: Event) -> Terms:
    return Terms(event.routing_key or "", _arguments(event), event.args.get("types") or {})


def _bind_exchange(topology: Topology, actor: Actor, event: Event, change: TopologyChange) -> None:
    source, destination = _ends(topology, actor, event)
    if source is not None:
        _bind(source, destination, _terms(event), change)


def _unbind_exchange(topology: Topology, actor: Actor, event: Event, change: TopologyChange) -> None:
    source, destination = _ends(topology, actor, event)
    if source is not None:
        _unbind(source, destination, _terms(event), change)


def _ends(topology: Topology, actor: Actor, event: Event) -> tuple[Exchange | None, Exchange | None]:
    vhost = actor.connection.vhost
    source, destination = (str(event.args.get(end) or "") for end in ("source", "destination"))
    return topology.exchange(vhost, source), topology.exchange(vhost, destination)


def _bind(
    exchange: Exchange,
    to: NamedQueue | Exchange | None,
    terms: Terms,
    change: TopologyChange,
) -> None:
    exchange.bound = True
    if to is None:
        exchange.opaque = True
        return
    present = next((one for one in exchange.bindings if one.same(to, terms)), None)
    if present is None:
        exchange.bindings.append(Binding(to, terms, change))
    elif present.removed is not None:
        exchange.opaque = exchange.opaque or not present.removed.certain_for(change.by)
        exchange.bindings.remove(present)
        exchange.bindings.append(Binding(to, terms, change))


def _unbind(
    exchange: Exchange,
    to: NamedQueue | Exchange | None,
    terms: Terms,
    change: TopologyChange,
) -> None:
    for one in exchange.bindings:
        if to is not None and one.same(to, terms) and one.removed is None:
            one.removed = change


def forget_queue(topology: Topology, name: str) -> None:
    """A queue that is deleted, and that nobody asks for any more, in whatever virtual host."""
    gone = [topology.queues.pop(one) for one in list(topology.queues) if one[1] == name]
    for exchange in topology.exchanges.values() if gone else ():
        exchange.bindings = [one for one in exchange.bindings if one.to not in gone]
        exchange.former = [one for one in exchange.former if one.to not in gone]


def forget_all(topology: Topology) -> None:
    """Anybody may have changed anything. Exchanges that were there may still be, with bindings."""
    topology.former.update(topology.exchanges)
    topology.exchanges.clear()
    topology.queues.clear()
    topology.last.clear()
    topology.unnamed.clear()
    topology.sought.clear()


TRANSITIONS: Mapping[str, Transition] = {
    "queue.declare": _declare_queue,
    "queue.delete": _delete_queue,
    "queue.bind": _bind_queue,
    "queue.unbind": _unbind_queue,
    "basic.consume": _consume,
    "exchange.declare": _declare_exchange,
    "exchange.delete": _delete_exchange,
    "exchange.bind": _bind_exchange,
    "exchange.unbind": _unbind_exchange,
}
