"""EXCH-010 over a restart: an auto-delete exchange that was there before goes with its last binding as any other.

The model knows nothing of bindings after a restart. This family puts down those of durable auto-delete exchanges when
the broker is about to be shut down. They go one by one, by the words of clients that the broker has answered. Whatever
else is done to such an exchange ends what is known of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from conformance.history.events import TO_BROKER, Event
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.facts import Passed, Stopping
from conformance.oracle.monitors.messages.kept import KEPT, Kept, Name, Place, fate, place_of
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.topology.state import SOON, Exchange, NamedQueue

ABANDONED = "EXCH-010"
NOT_FOUND, LOOK = 404, (40, 10)
To = tuple[bool, str, str, str]
"""Is it a queue; its name; the key and the arguments of the binding."""


@dataclass(slots=True)
class Leads:
    """What one exchange still leads to; `seen`: it was found since the restart; `emptied`: when its last binding was
    certainly removed, and by which event."""

    left: set[To]
    seen: bool = False
    emptied: int = 0
    seq: int = 0


@dataclass(slots=True)
class Outlived:
    """Of one history. `removing` and `looked`: what each channel waits for an answer to."""

    by_name: dict[Name, Leads] = field(default_factory=dict)
    removing: dict[Place, list[tuple[Name, To]]] = field(default_factory=dict)
    looked: dict[Place, list[tuple[Name, Event]]] = field(default_factory=dict)


@judges(Stopping)
def put_down(fact: Stopping, notes: Notes) -> None:
    """What durable auto-delete exchanges lead to; for those that were there before an earlier restart, too."""
    memory = notes.memory(Outlived)
    again = {name: one.left for name, one in memory.by_name.items() if one.seen and one.left}
    tables: tuple[dict[Any, Any], ...] = memory.removing, memory.looked
    for table in tables:
        table.clear()
    memory.by_name = {name: Leads(left) for name, left in again.items()}
    for name, one in fact.topology.exchanges.items():
        if one.auto_delete and not one.opaque and not one.shared and fate(one) == KEPT:
            left = set(_lasting(one))
            if left and all(_settled(binding.to, binding.added.known, binding.removed) for binding in one.bindings):
                memory.by_name[name] = Leads(left)


def _settled(to: NamedQueue | Exchange, added: int, removed: object) -> bool:
    """Is it known whether the binding is there, and what becomes of it?"""
    return removed is None and added > 0 and fate(to) == KEPT


def _lasting(exchange: Exchange) -> Iterator[To]:
    for one in exchange.bindings:
        yield isinstance(one.to, NamedQueue), one.to.name, one.terms.key, _said(one.terms.arguments)


def _said(arguments: object) -> str:
    return json.dumps(arguments or {}, sort_keys=True, default=repr)


@follows("queue.bind", "exchange.bind", "queue.delete", "exchange.delete")
def disturbed(fact: Passed, notes: Notes) -> None:
    """Something is bound to it, or it is deleted, or what it leads to is. The empty name may stand for any queue."""
    event = fact.event
    if not notes.memory(Kept).started or event.direction != TO_BROKER:
        return
    memory = notes.memory(Outlived)
    deletes = event.method.endswith("delete")
    if event.method == "queue.delete" and not event.queue:
        memory.by_name.clear()
    said = {one for one in (event.exchange, event.args.get("source"), event.queue if deletes else "") if one}
    for name, leads in [*memory.by_name.items()]:
        if name[1] in said or (deletes and any(one in said for _, one, _, _ in leads.left)):
            del memory.by_name[name]


@follows("queue.unbind", "exchange.unbind")
def unbinds(fact: Passed, notes: Notes) -> None:
    """A client removes a binding of it."""
    event = fact.event
    if not notes.memory(Kept).started or event.direction != TO_BROKER:
        return
    memory = notes.memory(Outlived)
    queue = event.method == "queue.unbind"
    source, to = (event.exchange, event.queue) if queue else (event.args.get("source"), event.args.get("destination"))
    name = fact.connection.vhost, str(source or "")
    if event.has("no_wait") or (queue and not event.queue):
        memory.by_name.pop(name, None)
    gone = queue, str(to or ""), event.routing_key or "", _said(event.args.get("arguments"))
    memory.removing.setdefault(place_of(event), []).append((name, gone))


@follows("queue.unbind-ok", "exchange.unbind-ok")
def unbound(fact: Passed, notes: Notes) -> None:
    """It is removed."""
    event = fact.event
    if not notes.memory(Kept).started or event.direction == TO_BROKER:
        return
    memory = notes.memory(Outlived)
    waiting = memory.removing.get(place_of(event))
    if not waiting:
        return
    name, gone = waiting.pop(0)
    leads = memory.by_name.get(name)
    if leads is None:
        return
    leads.left.discard(gone)
    if not leads.left and not leads.emptied:
        leads.emptied, leads.seq = event.time_ns, event.seq
        if not leads.seen:
            del memory.by_name[name]  # it may not have come back


@follows("exchange.declare")
def looks(fact: Passed, notes: Notes) -> None:
    """A client looks for an exchange. Who declares it may make another one."""
    event = fact.event
    if not notes.memory(Kept).started or event.direction != TO_BROKER:
        return
    memory = notes.memory(Outlived)
    if not memory.by_name:
        return
    name = fact.connection.vhost, event.exchange or ""
    leads = memory.by_name.get(name)
    if leads is not None and not event.has("passive") and not (leads.seen and leads.left):
        del memory.by_name[name]
    if event.has("no_wait"):
        memory.by_name.clear()  # what comes on the channel may be about that
    memory.looked.setdefault(place_of(event), []).append((name, event))


@follows("channel.open")
def opened(fact: Passed, notes: Notes) -> None:
    """A channel begins with nothing asked."""
    if not notes.memory(Kept).started:
        return
    memory = notes.memory(Outlived)
    tables: tuple[dict[Place, Any], ...] = memory.removing, memory.looked
    for table in tables:
        table.pop(place_of(fact.event), None)


@follows("exchange.declare-ok", "channel.close", rules=(ABANDONED,))
def told(fact: Passed, notes: Notes) -> None:
    """It is there, or it is not."""
    event = fact.event
    if not notes.memory(Kept).started or event.direction == TO_BROKER:
        return
    memory = notes.memory(Outlived)
    waiting = memory.looked.get(place_of(event))
    if not waiting:
        return
    closed, alone = event.method == "channel.close", len(waiting) == 1
    name, asked = waiting.pop(0)
    if closed:
        waiting.clear()
    if closed and not alone:
        return
    leads = memory.by_name.get(name)
    if leads is None or not asked.has("passive"):
        return
    there = not closed
    over = 0 < leads.emptied <= asked.time_ns - SOON
    if not over:
        leads.seen = leads.seen or (there and not leads.emptied)
    elif there:
        allowed = f"channel.close 404: {name[1]} goes with its last binding, also after a restart"
        notes.find(ABANDONED, event, allowed, event.method, leads.seq, asked.seq)
    elif event.args.get("reply_code") == NOT_FOUND and ids_of(event) == LOOK:
        notes.exercise(ABANDONED)
    if over:
        del memory.by_name[name]
