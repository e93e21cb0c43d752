"""Exchanges and bindings: where a publish goes, as far as the history proves it.

A route is certain only if everything it depends on is: the exchange and each of its bindings were declared, and none
removed, either with an answer that came before the publish was sent, or earlier on the publish's own channel, which
the broker handles in order. One change that is under way elsewhere, one property that we do not model (topic and
headers exchanges, alternate exchanges, bindings between exchanges, anything that deletes itself), and the route is
unknown. What the history has not declared is unknown as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.oracle.model.records import Change

if TYPE_CHECKING:
    from conformance.history.events import Event
    from conformance.oracle.model.channels import Channel
    from conformance.oracle.model.model import Model
    from conformance.oracle.model.queues import Queue

MODELLED = ("direct", "fanout")
UNKNOWN, MISSING = "unknown", "missing"
"""Routes that are no list of queues: nobody can tell, and the exchange does not exist."""

Route = list["Queue"] | str


@dataclass(slots=True, eq=False, repr=False)
class Binding:
    """A queue bound to an exchange by a key."""

    queue: Queue
    key: str
    added: Change
    removed: Change | None = None


@dataclass(slots=True, eq=False, repr=False)
class Exchange:
    """One exchange, by name, as it was declared."""

    name: str
    kind: str
    declared: Change
    opaque: bool = False
    """It may route in ways that we do not model."""
    deleted: Change | None = None
    bindings: list[Binding] = field(default_factory=list)

    def route(self, key: str, channel: Channel) -> Route:
        """The queues that a publish now sent on this channel reaches."""
        if self.deleted is not None:
            return MISSING if self.deleted.certain_for(channel) else UNKNOWN
        if self.opaque or not self.declared.certain_for(channel):
            return UNKNOWN
        found: dict[Queue, None] = {}
        for binding in self.bindings:
            if self.kind == "direct" and binding.key != key:
                continue
            there = _bound(binding, channel)
            if there is None:
                return UNKNOWN
            if there:
                found[binding.queue] = None
        return list(found)


def _bound(binding: Binding, channel: Channel) -> bool | None:
    """Does the binding hold for what this channel sends now? None: it may or may not."""
    there = exists(binding.queue, channel)
    if there is False:
        return False
    if binding.removed is not None:
        return False if binding.removed.certain_for(channel) else None
    return True if there and binding.added.certain_for(channel) else None


def exists(queue: Queue, channel: Channel) -> bool | None:
    """Is this queue there for what the channel sends now? None: it may or may not be."""
    if queue.deletion is not None:
        return False if queue.deletion.certain_for(channel) else None
    if queue.declaration is None or queue.volatile or not queue.declaration.certain_for(channel):
        return None
    return True


def route(model: Model, channel: Channel, exchange: str, key: str) -> Route:
    """Where a publish to this exchange with this key goes; the default exchange leads to the queue of that name."""
    if model.open:
        return UNKNOWN
    if exchange:
        found = model.exchanges.get(exchange)
        return found.route(key, channel) if found is not None else UNKNOWN
    queue = model.queues.get(key)
    there = exists(queue, channel) if queue is not None else None
    if queue is None or there is None:
        return UNKNOWN
    return [queue] if there else []


# -- what the client's methods say


def declare(model: Model, channel: Channel, event: Event) -> Change | None:
    """exchange.declare; one that is there already stays as it is."""
    name, arguments = event.exchange or "", event.args
    present = model.exchanges.get(name)
    if event.has("passive") or (present is not None and present.deleted is None):
        return None
    change = Change(channel, event.seq)
    kind = str(arguments.get("type") or "")
    model.exchanges[name] = Exchange(
        name,
        kind,
        change,
        kind not in MODELLED or event.has("auto_delete") or bool(arguments.get("arguments")),
    )
    return change


def delete(model: Model, channel: Channel, event: Event) -> Change | None:
    """exchange.delete."""
    exchange = model.exchanges.get(event.exchange or "")
    if exchange is None or event.has("if_unused"):
        if exchange is not None:
            exchange.opaque = True
        return None
    exchange.deleted = Change(channel, event.seq)
    return exchange.deleted


def bind(model: Model, channel: Channel, event: Event) -> Change | None:
    """queue.bind."""
    exchange = model.exchanges.get(event.exchange or "")
    if exchange is None:
        return None
    queue, key = model.queues.get(event.queue or ""), event.routing_key or ""
    if queue is None:
        exchange.opaque = True
        return None
    change = Change(channel, event.seq)
    exchange.bindings = [one for one in exchange.bindings if (one.queue, one.key) != (queue, key)]
    exchange.bindings.append(Binding(queue, key, change))
    return change


def unbind(model: Model, channel: Channel, event: Event) -> Change | None:
    """queue.unbind."""
    exchange, change = model.exchanges.get(event.exchange or ""), Change(channel, event.seq)
    for binding in exchange.bindings if exchange is not None else ():
        if (binding.queue.name, binding.key) == (event.queue, event.routing_key or ""):
            binding.removed = change
    return change


def bind_exchange(model: Model, arguments: Mapping[str, Any]) -> None:
    """exchange.bind: messages to its source go where we do not follow."""
    source = model.exchanges.get(str(arguments.get("source") or ""))
    if source is not None:
        source.opaque = True
