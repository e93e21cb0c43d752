"""POLICY-011 to POLICY-014: what policies set beside lengths: times to live, and where messages go on.

Each message is judged by the policies that held when it was published, and is forgotten when any of them changes. What
comes speaks for itself: a message that must have expired, or one that came by another way than the policy, or the
argument before it, says. That one is missing is claimed only of a queue that its own connection alone empties, by gets.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.history.events import TO_BROKER, Event
from conformance.oracle.model.connections.channels import OPEN, ChannelLife
from conformance.oracle.model.facts import Confirmed, Passed, Policed
from conformance.oracle.monitors.fate import LOSING
from conformance.oracle.monitors.gets import OpenGets
from conformance.oracle.monitors.messages.deadletters.deaths import (
    EXCHANGE,
    KEY,
    MILLISECOND,
    TTL,
    properties,
    table_of,
)
from conformance.oracle.monitors.messages.policy import OPERATOR, SMALLER
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.patience import DEAD_LETTERS, too_late
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.topology import NamedQueue
from conformance.oracle.topology.policies import number

LIVES, DEAD, ALTERNATE, FIRST = "POLICY-011", "POLICY-012", "POLICY-013", "POLICY-014"
TYPE = "x-queue-type"
SLACK = 100 * MILLISECOND
"""What clocks may differ by."""
MESSAGES = 256
REROUTES = "queue.bind", "queue.unbind", "exchange.bind", "exchange.unbind", "exchange.delete"
NOWHERE = "", ""
"""The address of what is dropped when it dies."""
Place = tuple[str, int]
"""A connection, and a channel of it."""


@dataclass(slots=True)
class Ruled:
    """One message, and what policies say of it."""

    rule: str
    connection: str
    queue: str
    """Where it comes first; of one without a queue, where it goes instead."""
    life: int | None = None
    """In nanoseconds, as all times here."""
    address: tuple[str, str] | None = None
    """Where it goes on when it dies: an exchange and a routing key."""
    certain_ns: int = 0
    """When it had certainly come into its queue."""
    holder: Place = ("", 0)
    """Who has given it up."""
    died_ns: int = 0
    """When the broker had certainly taken that."""
    seen: bool = False
    arrived: bool = False
    """It has been seen where it goes on to, or was missed there."""


@dataclass(slots=True)
class UnderRule:
    """The latest, by message; what is being asked, since when; and queues that others than gets empty."""

    by_message: OrderedDict[str, Ruled | None] = field(default_factory=OrderedDict)
    asked: OpenGets = field(default_factory=OpenGets)
    shared: OrderedDict[str, None] = field(default_factory=OrderedDict)


@judges(Policed)
def changed(fact: Policed, notes: Notes) -> None:
    """Other policies hold."""
    known = notes.memory(UnderRule).by_message
    for message in known:
        known[message] = None


@follows("basic.publish")
def published(fact: Passed, notes: Notes) -> None:
    """Which policies hold for it?"""
    event, topology, channel = fact.event, fact.topology, fact.connection.channels.get(fact.event.channel)
    if not topology.policies or not event.message:
        return
    known = notes.memory(UnderRule).by_message
    sound = channel is not None and channel.state == OPEN and not channel.indeterminate and fact.connection.usable()
    plain = '"CC"' not in event.arguments and '"x-death"' not in event.arguments and "immediate" not in event.flags
    found = None
    fresh = event.message not in known and topology.policies.settled(event.time_ns)
    if channel is not None and sound and plain and fresh and channel.confirm and not channel.transactional:
        found = _instead(fact, channel) if event.exchange else _queued(fact, channel, notes)
    if found is not None or event.message in known:
        known[event.message] = found
        if len(known) > MESSAGES:
            known.popitem(last=False)


def _queued(fact: Passed, channel: ChannelLife, notes: Notes) -> Ruled | None:
    """It goes to a queue for which a policy sets what becomes of its messages."""
    event, vhost = fact.event, fact.connection.vhost
    queue = fact.topology.queue(vhost, event.routing_key or "")
    if queue is None or not queue.there_for(channel) or queue.auto_delete or queue.owner is not None:
        return None
    kind = str(queue.arguments.get(TYPE) or "classic")
    settings = fact.topology.policies.settings(vhost, kind, queue.name)
    found = settings or {}
    own = {name: value for name, value in queue.arguments.items() if name != TYPE}
    life = number(found.get("message-ttl"))
    if life is not None and {*found} == {"message-ttl"} and {*own} <= {TTL}:
        if not notes.profile.queue(kind).messages_expire:
            return None
        shortest = min(one for one in (life, number(own.get(TTL))) if one is not None)
        by = OPERATOR if fact.topology.policies.fitting(vhost, kind, queue.name, operator=True) else LIVES
        return Ruled(SMALLER if own else by, event.connection, queue.name, life=shortest * MILLISECOND)
    exchange, key = found.get("dead-letter-exchange"), found.get("dead-letter-routing-key")
    if settings is not None and exchange is None and not own:
        return Ruled(DEAD, event.connection, queue.name, address=NOWHERE)
    if not isinstance(exchange, str) or not {*found} <= {"dead-letter-exchange", "dead-letter-routing-key"}:
        return None
    if "expiration" in event.arguments or not ({*own} == {EXCHANGE, KEY} or not own):
        return None
    address = str(own.get(EXCHANGE, exchange)), str(own.get(KEY, key or queue.name))
    return Ruled(FIRST if own else DEAD, event.connection, queue.name, address=address)


def _instead(fact: Passed, channel: ChannelLife) -> Ruled | None:
    """It goes to an exchange that leads nowhere, and has an alternate by policy."""
    event, vhost, topology = fact.event, fact.connection.vhost, fact.topology
    exchange = topology.exchange(vhost, event.exchange or "")
    if exchange is None or not exchange.there_for(channel) or exchange.bound or exchange.opaque or exchange.shared:
        return None
    settings = topology.policies.settings(vhost, "exchange", exchange.name)
    by_policy = (settings or {}).get("alternate-exchange")
    if settings is not None and by_policy is None and not (exchange.alternate or exchange.former):
        return Ruled(ALTERNATE, event.connection, "")
    if not isinstance(by_policy, str) or exchange.former:
        return None
    alternate = topology.exchange(vhost, exchange.alternate or by_policy)
    if alternate is None or not alternate.there_for(channel) or alternate.kind != "fanout" or alternate.opaque:
        return None
    if alternate.shared or len(alternate.bindings) != 1 or not alternate.bindings[0].stands_for(channel):
        return None
    queue = alternate.bindings[0].to
    if not isinstance(queue, NamedQueue) or not {*queue.arguments} <= {TYPE} or queue.auto_delete or queue.owner:
        return None
    return Ruled(FIRST if exchange.alternate else ALTERNATE, event.connection, queue.name)


@judges(Confirmed)
def certain(fact: Confirmed, notes: Notes) -> None:
    """It is in its queue by now."""
    known = notes.memory(UnderRule).by_message
    for publication in fact.resolved if known and fact.event.method == "basic.ack" else ():
        found = known.get(publication.message)
        if found is not None:
            found.certain_ns = fact.event.time_ns


@follows("basic.reject", "basic.nack")
def given_up(fact: Passed, notes: Notes) -> None:
    """The client says that it dies."""
    event, known = fact.event, notes.memory(UnderRule).by_message
    channel = fact.connection.channels.get(event.channel)
    if event.direction != TO_BROKER or not known or channel is None:
        return
    delivery = channel.unacked.get(event.delivery_tag or 0)
    found = known.get(delivery.message) if delivery is not None else None
    if found is None or delivery is None or found.queue != delivery.queue:
        return
    if event.multiple or event.has("requeue") or channel.transactional or channel.indeterminate:
        known[delivery.message] = None
    else:
        found.holder = event.connection, event.channel


@follows("channel.flow-ok", "exchange.declare-ok")
def taken(fact: Passed, notes: Notes) -> None:
    """The broker has carried out what this channel said before."""
    for found in notes.memory(UnderRule).by_message.values():
        if found is not None and not found.died_ns and found.holder == (fact.event.connection, fact.event.channel):
            found.died_ns = fact.event.time_ns


@follows("basic.consume", "queue.purge", "queue.delete", *REROUTES)
def disturbed(fact: Passed, notes: Notes) -> None:
    """Others may take what comes into this queue; or what is under way goes elsewhere."""
    event, memory = fact.event, notes.memory(UnderRule)
    if event.method in REROUTES:
        for message, found in memory.by_message.items():
            strays = found is not None and found.life is None and found.address is None
            memory.by_message[message] = None if strays else found
        return
    memory.shared[event.queue or ""] = None
    if len(memory.shared) > MESSAGES:
        memory.shared.popitem(last=False)


@follows("basic.deliver")
def delivered(fact: Passed, notes: Notes) -> None:
    """Gets alone are followed."""
    known = notes.memory(UnderRule).by_message
    if fact.event.message in known:
        known[fact.event.message or ""] = None


@follows("basic.get")
def asked(fact: Passed, notes: Notes) -> None:
    """When was it sent?"""
    notes.memory(UnderRule).asked.ask(fact)


@follows("basic.get-ok", rules=(LIVES, SMALLER, OPERATOR, DEAD, ALTERNATE, FIRST))
def came(fact: Passed, notes: Notes) -> None:
    """It is seen in a queue: rightly?"""
    event, memory = fact.event, notes.memory(UnderRule)
    get = memory.asked.answered(fact)
    queue, since = get.queue, get.ns
    found = memory.by_message.get(event.message or "")
    if found is None:
        return
    if not queue:
        memory.by_message[event.message or ""] = None
        return
    if found.life is not None:
        _late(event, found, queue, since, notes)
    elif found.address is None:
        _elsewhere(event, found, queue, notes)
        found.arrived = True
    elif queue != found.queue:
        _buried(event, found, notes)
        found.arrived = True
    found.seen = True


def _late(event: Event, found: Ruled, queue: str, since: int, notes: Notes) -> None:
    """It has a time to live."""
    over = found.certain_ns + (found.life or 0) + SLACK
    first = not found.seen and not event.has("redelivered")
    if queue == found.queue and found.certain_ns and since >= over and first:
        late = (since - over) // MILLISECOND
        allowed = f"no delivery of {event.message} after {(found.life or 0) // MILLISECOND} ms"
        notes.find(found.rule, event, allowed, f"it comes {late} ms later, or more")


def _elsewhere(event: Event, found: Ruled, queue: str, notes: Notes) -> None:
    """It had no way but by an alternate exchange."""
    if queue == found.queue:
        notes.exercise(found.rule)
    else:
        notes.find(found.rule, event, f"{event.message} in {found.queue or 'no queue'}", f"it comes from {queue}")


def _buried(event: Event, found: Ruled, notes: Notes) -> None:
    """It is a dead letter: by which way has it come?"""
    headers: Mapping[str, Any] = properties(event.arguments).get("headers") or {}
    deaths = table_of(headers)
    if len(deaths) != 1 or deaths[0].get("queue") != found.queue or deaths[0].get("count") != 1:
        return
    came_by = event.exchange or "", event.routing_key or ""
    if found.address == NOWHERE:
        notes.find(found.rule, event, f"no dead letter: nothing says where those of {found.queue} go", f"{came_by!r}")
    elif came_by == found.address:
        notes.exercise(found.rule)
    else:
        notes.find(found.rule, event, f"exchange and key {found.address!r}", f"{came_by!r}")


@follows("basic.get-empty", rules=(LIVES, SMALLER, OPERATOR, DEAD, ALTERNATE, FIRST))
def not_there(fact: Passed, notes: Notes) -> None:
    """The queue is empty: has all expired that must have, and has nothing come that must have?"""
    event, memory = fact.event, notes.memory(UnderRule)
    get = memory.asked.answered(fact)
    queue, since = get.queue, get.ns
    if not queue or memory.asked.asks(queue) or queue in memory.shared or "" in memory.shared:
        return
    for message, found in memory.by_message.items():
        if found is None or found.arrived or found.connection != event.connection:
            continue
        if found.life is not None:
            if found.queue == queue and found.certain_ns and since >= found.certain_ns + found.life + SLACK:
                found.arrived = True
                notes.exercise(*([] if found.seen else [found.rule]))
            continue
        way = found.address is None
        due, here = (found.certain_ns, found.queue == queue) if way else (found.died_ns, found.address == ("", queue))
        if here and due and since >= due and _plain(fact, queue):
            if not way and not too_late(since, due, DEAD_LETTERS, notes):
                continue
            found.arrived = True
            notes.find(found.rule, event, f"{message} in {queue}", "the queue is empty", unless=LOSING)


def _plain(fact: Passed, name: str) -> bool:
    """Does the queue keep what it gets?"""
    queue = fact.topology.queue(fact.connection.vhost, name)
    if queue is None or queue.auto_delete or queue.owner is not None or queue.doubtful or queue.gone is not None:
        return False
    return {*queue.arguments} <= {TYPE} and not fact.topology.policies.keys(name) and queue.made.known > 0
