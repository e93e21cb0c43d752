"""GET: gets of queues that are not there, that go away meanwhile, that are empty, and several gets at once. That a get
of an empty queue is never answered is judged as silence.

A memory of the family: the gets that wait for their answer, in order, and the deletions that do. A get *meets* a
deletion of its queue by another channel if each was sent before the other was answered.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from conformance.history.events import METHOD, TO_BROKER, Event
from conformance.oracle.model.connections.channels import OPEN, ChannelLife
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.facts import ClosedUnasked, ConnectionFailed, FoundEmpty, Passed
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.refusals import grants, refuses
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.monitors.topology.route import Ways
from conformance.oracle.topology.preconditions import Asked

MISSING, MEETS, IN_ORDER, NO_CONSUMER, AT_ONCE = "GET-001", "GET-002", "GET-003", "GET-004", "GET-005"
GET = 60, 70
LAWFUL = frozenset({403, 404, 405})
"""Codes by which a get may be refused whose queue goes away, or comes back as somebody else's."""
MOST = 256
"""So many gets of a channel, and channels, are remembered."""


@dataclass(slots=True)
class Waiting:
    """A get that is not answered yet, and the deletion of its queue that it has met."""

    seq: int
    queue: str
    met: int = 0


@dataclass(slots=True)
class Gets:
    """Gets by the seq at which their channel was opened; deletions by queue, and the channels that asked for them."""

    waiting: dict[int, list[Waiting]] = field(default_factory=dict)
    deletions: dict[str, dict[int, int]] = field(default_factory=dict)


@refuses(MISSING, "basic.get", code=404, what="a get from a queue that does not exist")
def missing(asked: Asked) -> bool | None:
    """Is there no such queue?"""
    there = asked.queue_there()
    return None if there is None else not there


@grants(NO_CONSUMER, "queue.delete")
def unused(asked: Asked) -> bool:
    """Has it no consumer, and does a get have a message of it? Who takes a binding for use says nothing of gets."""
    stock, spares = asked.stock, asked.event.has("if_unused") and not asked.event.has("if_empty")
    return (
        spares
        and stock is not None
        and asked.queue_there() is True
        and stock.unused()
        and stock.lent()
        and not asked.bound()
    )


@judges(FoundEmpty, AT_ONCE)
def told_at_once(fact: FoundEmpty, notes: Notes) -> None:
    """There was nothing, and the client is told so."""
    queue = fact.queue
    if queue.declared and not (queue.fresh or queue.returned or fact.channel.indeterminate):
        notes.exercise(AT_ONCE)


@follows("basic.get", "queue.delete")
def asked_for(fact: Passed, notes: Notes) -> None:
    """A client asks for a message, or for the end of a queue."""
    event, channel = fact.event, fact.connection.channels.get(fact.event.channel)
    if event.direction != TO_BROKER or channel is None or not channel.alive():
        return
    memory = notes.memory(Gets)
    if event.method == "queue.delete":
        memory.deletions.setdefault(event.queue or "", {})[channel.opened] = event.seq
        for opened, gets in memory.waiting.items():
            for one in gets if opened != channel.opened else ():
                one.met = one.met or (event.seq if one.queue == event.queue else 0)
        return
    queue = event.queue or ""
    others = (seq for opened, seq in memory.deletions.get(queue, {}).items() if opened != channel.opened)
    gets = memory.waiting.setdefault(channel.opened, [])
    gets.append(Waiting(event.seq, queue, next(others, 0)))
    if len(gets) > MOST or len(memory.waiting) > MOST:
        del memory.waiting[next(iter(memory.waiting))]


@follows("queue.delete-ok")
def deleted(fact: Passed, notes: Notes) -> None:
    """What is asked for from now on comes after it."""
    channel, memory = fact.connection.channels.get(fact.event.channel), notes.memory(Gets)
    if channel is not None:
        for queue in [name for name, by in memory.deletions.items() if by.pop(channel.opened, 0) and not by]:
            del memory.deletions[queue]


@follows("basic.get-ok", "basic.get-empty", rules=(MEETS, IN_ORDER))
def answered(fact: Passed, notes: Notes) -> None:
    """The first get that waits has its answer, whatever becomes of that."""
    channel, memory = fact.connection.channels.get(fact.event.channel), notes.memory(Gets)
    gets = memory.waiting.get(channel.opened) if channel is not None else None
    if not gets or channel is None:
        return
    first = gets.pop(0)
    if first.met:
        notes.exercise(MEETS)
    if not gets:
        del memory.waiting[channel.opened]
    elif fact.event.method == "basic.get-ok" and channel.state == OPEN and not channel.indeterminate:
        _in_order(fact.event, channel, first, gets, notes)


def _in_order(event: Event, channel: ChannelLife, first: Waiting, gets: list[Waiting], notes: Notes) -> None:
    """The message is one of the queue of the first get, where that can be told by its address."""
    queue, sent = event.routing_key or "", _published(event, channel, notes)
    others = [one for one in gets if one.queue != first.queue]
    if not others or not sent or not first.queue:
        return
    if queue == first.queue:
        notes.exercise(IN_ORDER)
    elif later := next((one for one in others if one.queue == queue), None):
        allowed = f"the answer to the get of {first.queue} first"
        observed = f"get-ok of {event.message}, which was published to {queue}"
        notes.find(IN_ORDER, event, allowed, observed, first.seq, later.seq, sent)


def _published(event: Event, channel: ChannelLife, notes: Notes) -> int:
    """When this message was published straight to the queue that its key names, and nowhere else, or by an exchange
    that leads to that queue alone; 0: it may have come by other ways."""
    if event.exchange:
        way = notes.memory(Ways).by_message.get(event.message or "")
        return way.sent if way is not None and [*way.reached] == [event.routing_key] else 0
    sent = [one for other in channel.connection.channels.values() for one in other.recent.get(event.message or "", ())]
    plain = all(not one.exchange and one.routing_key == event.routing_key for one in sent)
    return sent[-1].seq if sent and plain else 0


@judges(ClosedUnasked, MEETS)
def channel_closed(fact: ClosedUnasked, notes: Notes) -> None:
    """The channel ends over a get."""
    _ended(fact.event, [fact.channel], LAWFUL, notes)


@judges(ConnectionFailed, MEETS)
def connection_closed(fact: ConnectionFailed, notes: Notes) -> None:
    """Or the connection does."""
    if fact.event.kind == METHOD and fact.error is None and not fact.failing:
        _ended(fact.event, fact.connection.channels.values(), frozenset(), notes)


def _ended(event: Event, channels: Iterable[ChannelLife], lawful: frozenset[int], notes: Notes) -> None:
    memory, code = notes.memory(Gets), int(event.args.get("reply_code", 0))
    for channel in channels:
        gets = memory.waiting.pop(channel.opened, [])
        met = next((one for one in gets if one.met), None)
        if met is None or ids_of(event) not in (GET, (0, 0)) or (code == 320 and not lawful):
            continue
        if code in lawful:
            notes.exercise(MEETS)
        elif ids_of(event) == GET or not {*channel.sent} - {GET}:
            allowed = f"a message of {met.queue}, get-empty, or channel.close 404"
            notes.find(MEETS, event, allowed, closing(event.args), met.seq, met.met)
