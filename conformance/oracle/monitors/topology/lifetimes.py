"""QUEUE and EXCH, where time matters: what ends with something else, what stays, and what begins anew.

Where bindings stay or go, messages show it; that is judged with their routes (`route`).

A memory of the family: the declaration that is under way, and who may have sent messages that are still on their way.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.history.events import TO_BROKER
from conformance.oracle.model.connections.channels import ChannelLife
from conformance.oracle.model.facts import Delivered, Passed
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.refusals import grants, refuses
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.topology.preconditions import Asked

ABANDONED, HEIR, EMPTY, STAYS = "QUEUE-024", "QUEUE-025", "QUEUE-031", "QUEUE-032"
EXCHANGE_STAYS = "EXCH-021"
FOUND, EXCHANGE_FOUND = "QUEUE-002", "EXCH-006"
DECLARE = "queue.declare"
SENDERS, GIVEN_OUT = 64, 1024
"""So many channels are remembered that have published, and so many messages that were given out."""


@refuses(ABANDONED, DECLARE, code=404, what="a passive declaration of an auto-delete queue whose consumers have ended")
def abandoned(asked: Asked) -> bool | None:
    """Has the last one ended, because its client wanted that, or long ago with a channel that failed?"""
    queue = asked.queue() if asked.event.has("passive") and not asked.event.has("no_wait") else None
    if queue is None or not queue.auto_delete or queue.gone is not None or not queue.used:
        return False
    return asked.stock is not None and asked.stock.abandoned()


@grants(ABANDONED, DECLARE, asking=FOUND)
def used(asked: Asked) -> bool:
    """It has a consumer still."""
    queue = asked.queue()
    waits = queue is not None and queue.auto_delete and queue.used and queue.owner is None
    return waits and asked.stock is not None and asked.stock.consumed() is True and _found(asked)


@grants(HEIR, DECLARE, asking=FOUND)
def heir(asked: Asked) -> bool:
    """It is this connection's, and had a namesake before that was another's."""
    queue = asked.queue()
    mine = queue is not None and queue.heir and queue.owner is asked.actor.connection
    return mine and _found(asked)


@grants(STAYS, DECLARE, asking=FOUND)
def stays(asked: Asked) -> bool:
    """It belongs to nobody, and the connection that declared it has been closed."""
    queue = asked.queue()
    return queue is not None and queue.owner is None and queue.made.outlasts and _found(asked)


def _found(asked: Asked) -> bool:
    passive = asked.event.has("passive") and not asked.event.args.get("arguments")
    return passive and asked.queue_there() is True


@grants(EXCHANGE_STAYS, "exchange.declare", asking=EXCHANGE_FOUND)
def exchange_stays(asked: Asked) -> bool:
    """The connection that declared it has been closed."""
    exchange = asked.exchange() if asked.event.has("passive") else None
    return exchange is not None and exchange.made.outlasts and asked.exchange_there() is True


# -- new queues


@dataclass(slots=True)
class NewQueues:
    """Which declaration makes a new queue, while nothing else is under way, and who has published so far."""

    declared: int = 0
    name: str = ""
    """Of the queue; empty, where the broker chooses it."""
    on: tuple[str, int] = ("", 0)
    senders: dict[tuple[str, int], ChannelLife] = field(default_factory=dict)
    fed: bool = False
    """Messages may come into queues by themselves: some queue has dead letters, or there are too many who publish."""


@follows("basic.publish")
def published(fact: Passed, notes: Notes) -> None:
    """Its message may be on its way until it is confirmed."""
    memory, key = notes.memory(NewQueues), (fact.event.connection, fact.event.channel)
    channel = fact.connection.channels.get(fact.event.channel)
    memory.declared, memory.fed = 0, memory.fed or channel is None or len(memory.senders) > SENDERS
    if channel is not None:
        memory.senders[key] = channel


@follows("tx.commit", "basic.nack", "basic.reject", "queue.delete", "channel.close", "connection.close")
def disturbs(fact: Passed, notes: Notes) -> None:
    """Something else is under way."""
    notes.memory(NewQueues).declared = 0


@follows(DECLARE)
def declared(fact: Passed, notes: Notes) -> None:
    """A client declares a queue: one that is certainly not there yet, and that no message is on its way to?"""
    event, memory = fact.event, notes.memory(NewQueues)
    if event.direction != TO_BROKER:
        return
    memory.declared, memory.on = 0, (event.connection, event.channel)
    channel = fact.connection.channels.get(event.channel)
    arguments = event.args.get("arguments") or {}
    memory.fed = memory.fed or "x-dead-letter-exchange" in arguments or bool(fact.topology.policies)
    if channel is None or memory.fed or event.has("passive") or event.has("no_wait"):
        return
    new = not event.queue or Asked(fact.topology, channel, event, notes.profile).queue_there() is False
    if new and all(one is channel or _quiet(one) for one in memory.senders.values()):
        memory.declared, memory.name = event.seq, event.queue or ""


def _quiet(channel: ChannelLife) -> bool:
    """Has the broker answered to all that it has published?"""
    return channel.confirm and not channel.unconfirmed and not channel.indeterminate


@dataclass(slots=True)
class GivenOut:
    """By message: the queue that has given it out last, in which life of its name; None where two share an id."""

    by_message: dict[str, Queue | None] = field(default_factory=dict)


@judges(Delivered, EMPTY)
def came_from_a_former_life(fact: Delivered, notes: Notes) -> None:
    """A message comes out of a queue that was declared after its own was deleted, while somebody held it."""
    copy, queue, known = fact.copy, fact.queue, notes.memory(GivenOut).by_message
    former = known.get(copy.id, queue)
    if former is not None and former is not queue and (former.name != queue.name or not former.deleted):
        former = known[copy.id] = None
    if former is None or copy.inherited or notes.memory(NewQueues).fed:
        return
    if former is not queue and copy.publication is None and queue.declared and not queue.opaque:
        allowed = f"nothing of the queue {queue.name} that was deleted: the next of its name was empty"
        notes.find(EMPTY, fact.event, allowed, f"{fact.event.method} of {copy.id}", queue.declared)
    if len(known) < GIVEN_OUT:
        known[copy.id] = queue


@follows("queue.declare-ok", rules=(EMPTY,))
def counted(fact: Passed, notes: Notes) -> None:
    """The answer tells how many messages the new queue has."""
    event, memory = fact.event, notes.memory(NewQueues)
    if memory.name and event.queue != memory.name:
        return  # the answer to another declaration, in front of it
    asked, memory.declared = memory.declared, 0
    if not asked or memory.on != (event.connection, event.channel):
        return
    count = int(event.args.get("message_count", 0))
    if count:
        notes.find(EMPTY, event, "queue.declare-ok with 0 messages: the queue is new", f"{count} messages", asked)
    else:
        notes.exercise(EMPTY)
