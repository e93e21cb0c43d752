"""DRT: replies that come to a channel straight, with no queue between.

A memory of the family: who publishes requests, which address each request carried when it was delivered, and what was
published to these addresses. A requester is there for certain from its consume-ok until its client does anything that
may end it, and gone for certain once that was answered (`consume.Holder`).

A reply that was confirmed, or followed by an answer on its channel, has been handed over. So whatever the requester's
channel asks after that is answered behind the reply.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from conformance.catalogue.profiles import Profile
from conformance.history.events import TO_BROKER, Event
from conformance.oracle.model.connections.channels import LIVE, OPEN, STARTING, ChannelLife
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.consumers.delivering import REPLIES
from conformance.oracle.model.facts import Answered, ClosedUnasked, Confirmed, Delivered, Passed
from conformance.oracle.monitors.consumers.consume import ACCESS_REFUSED, Holder
from conformance.oracle.monitors.contents.content import changed
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.refusals import ANY, refuses
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.topology.preconditions import Asked

UNACKED, SECOND, NOBODY, ADDRESS = "DRT-001", "DRT-002", "DRT-003", "DRT-004"
COMES, ONCE, DROPPED = "DRT-005", "DRT-006", "DRT-007"
BOUND, EMPTY, FIRST = "DRT-010", "DRT-011", "RQ-009"
FEATURE = "direct reply-to"
ASKS = f'"reply_to": "{REPLIES}"'
PUBLISH = 60, 40
OCTETS, MOST = 255, 256
"""So long may a name be; so many requests, addresses and replies are remembered."""
SPARED = 1
"""So many replies of a history may be lost: they are sent at most once, says the guide."""


@dataclass(slots=True)
class Reply:
    """One message for an address."""

    sent: int
    by: ChannelLife
    address: str
    to: Holder
    there: bool | None
    """Was the requester there when it was published?"""
    commit: int | None = 0
    """The commit that carries it out; None: that has not been sent. 0: it needs none."""
    handled: int = 0
    """When it was known to have been taken."""
    came: int = 0
    proven: bool = False
    body: str = ""
    size: int = 0
    content: str = ""
    """What was published."""


@dataclass(slots=True)
class Replies:
    """The latest, by message or by address; None where two share an id."""

    requesters: dict[int, Holder] = field(default_factory=dict)
    """By the opening of their channel, the latest."""
    requests: OrderedDict[str, Holder | None] = field(default_factory=OrderedDict)
    addresses: OrderedDict[str, Holder] = field(default_factory=OrderedDict)
    shared: set[str] = field(default_factory=set)
    """Addresses that the broker has given to several: whoever gets what is sent there, that follows."""
    replies: OrderedDict[str, Reply | None] = field(default_factory=OrderedDict)
    lost: int = 0
    """How many did not come."""
    again: set[int] = field(default_factory=set)
    """By the seq of their consume, those of the requesters that come when another one has left their channel."""

    def limit(self) -> None:
        """Forgets the oldest."""
        if len(self.requesters) > MOST:
            del self.requesters[next(iter(self.requesters))]
            self.again &= {one.seq for one in self.requesters.values()}
        for known in (self.requests, self.addresses, self.replies):
            if len(known) > MOST:
                known.popitem(last=False)

    def share(self, address: str) -> None:
        """Nothing is claimed any more of what is sent there, nor of what was."""
        if len(self.shared) < MOST:
            self.shared.add(address)
        self.addresses.pop(address, None)
        for message, reply in self.replies.items():
            if reply is not None and reply.address == address:
                self.replies[message] = None

    def of(self, fact: Delivered | Passed) -> Reply | None:
        """The reply that is delivered here."""
        return self.replies.get(fact.event.message or "") if self.replies else None


# -- what is refused


def offered(profile: Profile) -> bool:
    """Does the broker know replies of this kind, as far as it was asked?"""
    return FEATURE not in profile.refused


def _requesters(asked: Asked) -> list[Any]:
    return [one for one in asked.actor.consumers.values() if one.queue == REPLIES]


@refuses(UNACKED, "basic.consume", code=ANY, what="a consumer of replies that are to be acknowledged")
def unacked(asked: Asked) -> bool:
    """Does it consume with acknowledgements?"""
    return asked.event.queue == REPLIES and not asked.event.has("no_ack") and offered(asked.profile)


@refuses(SECOND, "basic.consume", code=ANY, what="a second consumer of replies on one channel")
def second(asked: Asked) -> bool | None:
    """Has its channel a requester already?"""
    present = _requesters(asked) if asked.event.queue == REPLIES and offered(asked.profile) else []
    if not present:
        return False
    same = any(one.tag == asked.event.consumer_tag for one in present)
    return True if not same and any(one.state in (LIVE, STARTING) for one in present) else None


@refuses(NOBODY, "basic.publish", code=ANY, what="a request on a channel that takes no replies")
def nobody(asked: Asked) -> bool | None:
    """Does its channel not consume from the pseudo-queue? Who asked for a consumer by mistake may have one."""
    if ASKS not in asked.event.arguments or not offered(asked.profile):
        return False
    present = _requesters(asked)
    ending = present and not any(one.state in (LIVE, STARTING) for one in present)
    return None if ending or asked.actor.indeterminate else not present


@refuses(BOUND, "queue.bind", code=404, what="a binding of amq.rabbitmq.reply-to")
def bound(asked: Asked) -> bool:
    """Is it bound as if it were a queue?"""
    return asked.event.queue == REPLIES and offered(asked.profile)


@refuses(BOUND, "queue.bind", code=403, what="a binding of an address for replies")
def address_bound(asked: Asked) -> bool | None:
    """Is an address bound as if it were a queue?"""
    named = (asked.event.queue or "").startswith(f"{REPLIES}.") and offered(asked.profile)
    return named or (None if asked.event.queue == REPLIES else False)


@refuses(EMPTY, "queue.purge", "basic.get", code=404, what="a look into amq.rabbitmq.reply-to")
def looked_into(asked: Asked) -> bool:
    """Is it used as if it held messages?"""
    return asked.event.queue == REPLIES and offered(asked.profile)


# -- requests and their addresses


@follows("basic.consume")
def requester(fact: Passed, notes: Notes) -> None:
    """Somebody wants to get replies."""
    event, channel = fact.event, fact.connection.channels.get(fact.event.channel)
    if event.queue == REPLIES and channel is not None and channel.state == OPEN and not channel.adopted:
        memory = notes.memory(Replies)
        before = memory.requesters.get(channel.opened)
        free = before is not None and before.there() is False
        if free and event.has("no_ack") and not event.has("exclusive"):
            memory.again.add(event.seq)
        memory.requesters[channel.opened] = Holder(channel, event.consumer_tag or "", False, event.seq)
        memory.limit()


@judges(Answered, SECOND)
def started(fact: Answered, notes: Notes) -> None:
    """It is there; the one before it was not any more."""
    if fact.request.seq in notes.memory(Replies).again:
        notes.exercise(SECOND)


@judges(ClosedUnasked, SECOND)
def not_started(fact: ClosedUnasked, notes: Notes) -> None:
    """The channel is closed over a requester, although the one before it is not there any more."""
    named = [one.seq for one in fact.channel.pending() if (one.class_id, one.method_id) == ids_of(fact.event)]
    forbidden = fact.event.args.get("reply_code") == ACCESS_REFUSED
    if len(named) == 1 and named[0] in notes.memory(Replies).again and not forbidden:
        allowed = "consume-ok: the requester before it was cancelled"
        notes.find(SECOND, fact.event, allowed, closing(fact.event.args), named[0])


@follows("basic.publish")
def published(fact: Passed, notes: Notes) -> None:
    """A request, or a reply."""
    event, memory = fact.event, notes.memory(Replies)
    channel = fact.connection.channels.get(event.channel)
    if not memory.requesters or channel is None or channel.state != OPEN or not event.message:
        return
    if ASKS in event.arguments:
        known = event.message in memory.requests
        memory.requests[event.message] = None if known else memory.requesters.get(channel.opened)
    address = event.routing_key or ""
    if not event.exchange and address in memory.addresses:
        to = memory.addresses[address]
        plain = event.message not in memory.replies and not channel.indeterminate
        reply = Reply(event.seq, channel, address, to, to.there(), None if channel.transactional else 0)
        reply.body, reply.size, reply.content = event.body_hash or "", event.body_size or 0, event.arguments
        memory.replies[event.message] = reply if plain else None
    memory.limit()


@follows("tx.commit", "tx.rollback")
def decided(fact: Passed, notes: Notes) -> None:
    """Replies of a transaction are sent now, or never."""
    event, memory = fact.event, notes.memory(Replies)
    channel = fact.connection.channels.get(event.channel)
    for message, reply in memory.replies.items() if event.direction == TO_BROKER else ():
        if reply is None or reply.by is not channel or reply.commit is not None:
            continue
        if event.method == "tx.commit":
            reply.sent = reply.commit = event.seq
            reply.there = reply.to.there()
        else:
            memory.replies[message] = None


@judges(Delivered, ADDRESS)
def request_delivered(fact: Delivered, notes: Notes) -> None:
    """A request comes to who is to answer it."""
    publication, memory = fact.copy.publication, notes.memory(Replies)
    to = memory.requests.get(publication.message) if publication is not None and memory.requests else None
    if publication is None or to is None or ASKS not in publication.content or fact.copy.ambiguous:
        return
    address = json.loads(fact.event.arguments or "{}").get("properties", {}).get("reply_to")
    if address in memory.shared:
        return
    owner = memory.addresses.get(address or "")
    if not address or address == REPLIES or len(address.encode()) > OCTETS:
        notes.find(ADDRESS, fact.event, "an address in reply-to", f"reply-to {address!r}", publication.seq)
    elif owner is not None and owner is not to and owner.channel is not to.channel:
        allowed = "an address that no other requester has"
        notes.find(ADDRESS, fact.event, allowed, f"reply-to {address!r}, of another", publication.seq, owner.seq)
        memory.share(address)
    else:
        notes.exercise(ADDRESS)
        memory.addresses[address] = to
        memory.limit()


# -- replies


@follows("basic.deliver", rules=(COMES, ONCE, DROPPED, FIRST))
def reply_came(fact: Passed, notes: Notes) -> None:
    """A reply comes to somebody."""
    event, memory = fact.event, notes.memory(Replies)
    reply = memory.of(fact)
    if reply is None or reply.commit is None or event.direction == TO_BROKER:
        return
    reply.came += 1
    channel, consumer = fact.connection.channels.get(event.channel), reply.to.consumer()
    if reply.there is False:
        allowed = "nobody gets it: its requester has gone"
        notes.find(DROPPED, event, allowed, _delivered(event), reply.sent, reply.to.seq)
    elif channel is reply.to.channel and consumer is not None and event.consumer_tag != consumer.tag:
        allowed = f"its requester gets it, with the tag {consumer.tag!r}"
        notes.find(COMES, event, allowed, _delivered(event), reply.sent, reply.to.seq)
    elif channel is not reply.to.channel:
        notes.find(ONCE, event, "its requester alone gets it", _delivered(event), reply.sent, reply.to.seq)
    elif reply.came > 1:
        notes.find(ONCE, event, "one delivery of a reply", f"number {reply.came}", reply.sent, reply.to.seq)
    elif (change := changed(reply, event)) is not None:
        notes.find(COMES, event, f"it comes {change[0]}, as it was published", change[1], reply.sent)
    elif event.has("redelivered") and notes.profile.choices.get("redelivered") != "hint":
        notes.find(FIRST, event, "no redelivered flag: a reply comes once", "basic.deliver with the flag", reply.sent)
    else:
        notes.exercise(COMES)


def _delivered(event: Event) -> str:
    return f"it is delivered on channel {event.channel} of {event.connection}, to {event.consumer_tag}"


@judges(Confirmed, DROPPED)
def confirmed(fact: Confirmed, notes: Notes) -> None:
    """The broker has handed it over."""
    memory = notes.memory(Replies)
    for publication in fact.resolved if memory.replies else ():
        reply = memory.replies.get(publication.message)
        if reply is not None and fact.event.method == "basic.ack":
            _handled(reply, fact.event, notes)


@judges(Answered, COMES, ONCE, DROPPED)
def answered(fact: Answered, notes: Notes) -> None:
    """Something later on the channel of the reply, or of its requester, is answered."""
    sent = fact.request.seq
    for message, reply in notes.memory(Replies).replies.items():
        if reply is None or reply.commit is None or fact.request.ignored:
            continue
        behind = reply.sent < sent or reply.commit == sent
        if reply.by is fact.channel and behind and not reply.handled and not reply.by.confirm:
            _handled(reply, fact.event, notes)
        elif reply.to.channel is fact.channel and 0 < reply.handled < sent and not reply.proven:
            _due(message, reply, fact.event, notes)


def _handled(reply: Reply, event: Event, notes: Notes) -> None:
    reply.handled = reply.handled or event.seq
    if reply.there is False and not reply.proven and not reply.came:
        reply.proven = True
        notes.exercise(DROPPED)


def _due(message: str, reply: Reply, event: Event, notes: Notes) -> None:
    """By now it has come, if its requester has been there all the time."""
    reply.proven = True
    if reply.came == 1:
        notes.exercise(ONCE)
    elif not reply.came and reply.there and reply.to.there() and not reply.to.channel.paused:
        memory = notes.memory(Replies)
        memory.lost += 1
        certain = memory.lost > SPARED
        seqs = reply.sent, reply.to.seq
        notes.find(COMES, event, f"{message} comes to its requester", "it does not come", *seqs, certain=certain)


@judges(ClosedUnasked, DROPPED)
def refused(fact: ClosedUnasked, notes: Notes) -> None:
    """The channel is closed over a publish, and all that it may mean were late replies."""
    late = [one for one in notes.memory(Replies).replies.values() if one is not None and one.by is fact.channel]
    open_ones = [one for one in late if not one.handled]
    if not open_ones or ids_of(fact.event) != PUBLISH or any(one.there is not False for one in open_ones):
        return
    if fact.channel.confirm and len(fact.channel.unconfirmed) == len(open_ones):
        notes.find(DROPPED, fact.event, "the reply is dropped", closing(fact.event.args), open_ones[-1].sent)
