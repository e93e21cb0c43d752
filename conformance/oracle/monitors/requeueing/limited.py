"""POLICY-021: how often a message comes where a policy says how often it may be given back; or where none says so any
more, POLICY-009.

A message is followed from its publish to a quorum queue, as long as each of its deliveries is given back by
basic.reject on an open channel, and the policies stay as they are. That it comes once more often than the policy allows
is seen for certain; that it comes less often is claimed only where a policy is removed, and only when the queue has had
time enough to bring it again.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from conformance.history.events import TO_BROKER, Event
from conformance.oracle.model.connections.channels import OPEN
from conformance.oracle.model.facts import Delivered, FoundEmpty, Passed, Policed
from conformance.oracle.monitors.fate import LOSING
from conformance.oracle.monitors.messages.ttl import Lives
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.patience import DROPPED, too_late
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.topology.policies import PolicyHistory, fits, number

RETURNS, REMOVED = "POLICY-021", "POLICY-009"
LIMITED = ("RQ-012", "RQ-013")
"""Who does not count returns, or passes over any limit, passes over that of a policy."""
LIMIT, TYPE, QUORUM = "delivery-limit", "x-queue-type", "quorum"
MESSAGES = 256
FEW = 10
"""No broker is known that ends the returns by itself before the twentieth."""
Place = tuple[str, int]
"""A connection, and a channel of it."""


@dataclass(slots=True)
class Followed:
    """One message, and how often it came and was given back."""

    queue: str
    limit: int
    sent: int
    told: tuple[int, ...]
    """The policies that say so, or that said it."""
    free: bool = False
    """They do so no more."""
    connection: str = ""
    back_ns: int = 0
    """When it was given back last."""
    came: int = 0
    returned: int = 0
    holder: Place = ("", 0)
    over: bool = False


@dataclass(slots=True)
class Followers:
    """The latest, by message; None: nothing is claimed of it any more."""

    by_message: OrderedDict[str, Followed | None] = field(default_factory=OrderedDict)


@judges(Policed)
def changed(fact: Policed, notes: Notes) -> None:
    """Another limit may hold."""
    known = notes.memory(Followers).by_message
    for message in known:
        known[message] = None


@follows("basic.publish")
def published(fact: Passed, notes: Notes) -> None:
    """It goes to a quorum queue for which a policy sets this limit, and nothing else."""
    event, topology = fact.event, fact.topology
    if not topology.policies or not event.message or event.exchange:
        return
    known, vhost = notes.memory(Followers).by_message, fact.connection.vhost
    queue, channel = topology.queue(vhost, event.routing_key or ""), fact.connection.channels.get(event.channel)
    found = None
    settled = topology.policies.settled(event.time_ns) and event.message not in known and '"CC"' not in event.arguments
    plain = queue is not None and queue.arguments == {TYPE: QUORUM} and channel is not None and channel.state == OPEN
    if plain and settled and queue is not None and channel is not None and queue.there_for(channel):
        found = _under(topology.policies, vhost, queue.name, event)
    if found is not None or event.message in known:
        known[event.message] = found
        if len(known) > MESSAGES:
            known.popitem(last=False)


def _under(policies: PolicyHistory, vhost: str, queue: str, event: Event) -> Followed | None:
    """It is followed under the limit that holds, or, where nothing is set any more, under one that was removed."""
    settings = policies.settings(vhost, QUORUM, queue)
    limit = number((settings or {}).get(LIMIT))
    if limit is not None:
        told = tuple(one.seq for one in policies.fitting(vhost, QUORUM, queue))
        return Followed(queue, limit, event.seq, told)
    gone = [one for one in policies.by_key.values() if one.gone and one.vhost == vhost and fits(one.pattern, queue)]
    former = [limit for one in gone if (limit := number(one.definition.get(LIMIT))) is not None]
    if settings != {} or not former:
        return None
    told = tuple(one.seq for one in gone)
    return Followed(queue, max(former), event.seq, told, free=True, connection=event.connection)


@judges(Delivered, RETURNS)
def came(fact: Delivered, notes: Notes) -> None:
    """Once more: has it been given back each time before, and is this once too often?"""
    known, event = notes.memory(Followers).by_message, fact.event
    message = event.message or ""
    found = known.get(message)
    if found is None:
        return
    if fact.queue.name != found.queue or found.returned != found.came:
        known[message] = None
        return
    found.came, found.holder = found.came + 1, (event.connection, event.channel)
    if found.returned > found.limit and not found.free:
        allowed = f"{message} no more: it was rejected {found.returned} times, and the policy allows {found.limit}"
        notes.find(RETURNS, event, allowed, f"{event.method} of {message}", found.sent, *found.told, unless=LIMITED)
        known[message] = None


@follows("basic.reject")
def given_back(fact: Passed, notes: Notes) -> None:
    """It is to come again."""
    event, channel = fact.event, fact.connection.channels.get(fact.event.channel)
    delivery = channel.unacked.get(event.delivery_tag or 0) if channel is not None else None
    known = notes.memory(Followers).by_message
    found = known.get(delivery.message) if delivery is not None else None
    if event.direction != TO_BROKER or delivery is None or found is None or channel is None:
        return
    lawful = event.has("requeue") and not channel.transactional and not channel.indeterminate and channel.state == OPEN
    if lawful and found.holder == (event.connection, event.channel):
        found.returned, found.back_ns = found.returned + 1, event.time_ns
    else:
        known[delivery.message] = None


@follows("basic.ack", "basic.nack", "basic.recover", "basic.recover-async", "channel.close", "connection.close")
def otherwise(fact: Passed, notes: Notes) -> None:
    """What this channel holds may go, or come back in another way."""
    event, known = fact.event, notes.memory(Followers).by_message
    if event.method in ("basic.ack", "basic.nack") and event.direction != TO_BROKER:
        return
    for message, found in known.items():
        if found is not None and found.holder == (event.connection, event.channel or found.holder[1]):
            known[message] = None


@judges(FoundEmpty, RETURNS, REMOVED)
def gone(fact: FoundEmpty, notes: Notes) -> None:
    """The queue is empty, and it was given back as often as the policy allows, and once more."""
    for message, found in notes.memory(Followers).by_message.items():
        if found is None or found.over or found.queue != fact.queue.name:
            continue
        if found.free:
            _missed(fact, message, found, notes)
        elif found.returned == found.came == found.limit + 1:
            found.over = True
            notes.exercise(RETURNS)


def _missed(fact: FoundEmpty, message: str, found: Followed, notes: Notes) -> None:
    """Nothing but the policy that was removed would have ended its returns."""
    queue, asked = fact.queue, notes.memory(Lives).asked(fact.since)
    others = len(queue.receivers) > (fact.receiver in queue.receivers) or queue.blind_until > found.sent
    if others or found.connection != fact.event.connection or queue.losers or queue.purged or queue.deleted:
        return
    if found.limit < found.returned == found.came < FEW and too_late(asked, found.back_ns, DROPPED, notes):
        found.over = True
        allowed = f"{message} again: it was rejected {found.returned} times, and no policy says how often it may be"
        notes.find(REMOVED, fact.event, allowed, "the queue is empty", found.sent, *found.told, unless=LOSING)
