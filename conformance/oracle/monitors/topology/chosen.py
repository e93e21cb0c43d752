"""QUEUE-010, where it is told by use: the queue that a declare-ok names is there by that name.

A client that has left the choice to the broker can only ask for what it was told. A purge or a deletion that finds no
such queue shows that the name was that of none. What goes by itself is not meant.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from conformance.history.events import TO_BROKER
from conformance.oracle.model.connections.closing import NOT_FOUND, Ids, ids_of
from conformance.oracle.model.facts import ClosedUnasked, Passed
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows, judges

CHOSEN, ASKS = "QUEUE-010", {"queue.purge": (50, 30), "queue.delete": (50, 40)}
MOST = 256


@dataclass(slots=True)
class Told:
    """By the opening of a channel and the method: where it was sent last, and the declare-ok that told the name; 0: it
    is not of a queue that is certainly there."""

    last: OrderedDict[tuple[int, Ids], tuple[int, int]] = field(default_factory=OrderedDict)


@follows(*ASKS)
def asked_for(fact: Passed, notes: Notes) -> None:
    """Is it of a queue whose name the broker has told, and that stays until it is deleted?"""
    event, memory = fact.event, notes.memory(Told)
    channel = fact.connection.channels.get(event.channel)
    if event.direction != TO_BROKER or channel is None:
        return
    queue = fact.topology.queue(fact.connection.vhost, event.queue or "")
    stays = queue is not None and queue.chosen and not (queue.auto_delete or queue.arguments)
    told = queue.made.known if queue is not None and stays and queue.there_for(channel) else 0
    memory.last[channel.opened, ASKS[event.method]] = event.seq, told
    if len(memory.last) > MOST:
        memory.last.popitem(last=False)


@judges(ClosedUnasked, CHOSEN)
def not_there(fact: ClosedUnasked, notes: Notes) -> None:
    """There is none of that name. Who asks for nothing else is told of that, whichever method the close names."""
    last, opened, waiting = notes.memory(Told).last, fact.channel.opened, fact.channel.asked()
    alone = ASKS.get(waiting[0].method) if len(waiting) == 1 else None
    seq, told = last.get((opened, alone or ids_of(fact.event)), (0, 0))
    if told and fact.event.args.get("reply_code") == NOT_FOUND:
        allowed = "the queue is there by the name that declare-ok has told"
        notes.find(CHOSEN, fact.event, allowed, closing(fact.event.args), told, seq)
