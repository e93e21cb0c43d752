"""DRT-008, DRT-009 and DRT-012: what the broker says of addresses for replies, to those who look or send; and DRT-004,
where it refuses a request that it must take.

A memory: each passive declaration of an address, with what is known of its requester when it is sent; and which
publishes of a requester's channel have not been answered for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from conformance.history.events import METHOD, TO_BROKER, Event
from conformance.oracle.model.connections.channels import OPEN, ChannelLife
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.consumers.delivering import REPLIES
from conformance.oracle.model.facts import Answered, ClosedUnasked, Confirmed, ConnectionFailed, Passed, Returned
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.messages.drt import ADDRESS, ASKS, PUBLISH, Replies, offered
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.patience import LEFT, too_late
from conformance.oracle.monitors.table import follows, judges

TOLD, MADE_UP, ROUTED = "DRT-008", "DRT-009", "DRT-012"
SAYS_LITTLE = {"reply_to", "message_id", "delivery_mode"}
"""Properties over which nobody refuses a publish."""
DECLARE, NOT_FOUND, PRECONDITION = (50, 10), 404, 406
MOST = 256


@dataclass(frozen=True, slots=True)
class Look:
    """A passive declaration of an address: the rule that speaks of it, whether the requester is there, and when it was
    sent; `first`: the first since the requester has gone. An address may be forgotten late."""

    rule: str
    present: bool | None
    sent: int
    first: int


@dataclass(slots=True)
class Looks:
    """By the seq of each."""

    looks: dict[int, Look] = field(default_factory=dict)
    missed: dict[str, int] = field(default_factory=dict)
    """By address: when it was first looked for, since its requester has gone."""
    returned: set[str] = field(default_factory=set)


@dataclass(slots=True)
class OpenRequests:
    """By the opening of their channel, the latest of each kind that nothing has been answered behind: requests that the
    broker must take, and other publishes."""

    requests: dict[int, int] = field(default_factory=dict)
    others: dict[int, int] = field(default_factory=dict)


@follows("basic.publish")
def requested(fact: Passed, notes: Notes) -> None:
    """Somebody who takes replies asks for one, or publishes something else."""
    event, channel = fact.event, fact.connection.channels.get(fact.event.channel)
    requester = notes.memory(Replies).requesters.get(channel.opened) if channel is not None else None
    if channel is None or requester is None or event.direction != TO_BROKER or not offered(notes.profile):
        return
    plain = not event.exchange and not event.has("immediate") and ASKS in event.arguments
    plain = plain and set(json.loads(event.arguments).get("properties", {})) <= SAYS_LITTLE
    memory = notes.memory(OpenRequests)
    kind = memory.requests if plain and requester.there() and not channel.indeterminate else memory.others
    kind[channel.opened] = event.seq
    if len(kind) > MOST:
        del kind[next(iter(kind))]


@judges(Answered, ADDRESS)
def request_taken(fact: Answered, notes: Notes) -> None:
    """What came before this on its channel has been taken."""
    memory = notes.memory(OpenRequests)
    for kind in (memory.requests, memory.others):
        if kind.get(fact.channel.opened, fact.request.seq) < fact.request.seq:
            del kind[fact.channel.opened]


@judges(ClosedUnasked, ADDRESS)
def request_refused(fact: ClosedUnasked, notes: Notes) -> None:
    """The channel is closed over a request, although its requester is there."""
    memory, opened = notes.memory(OpenRequests), fact.channel.opened
    sent = memory.requests.get(opened)
    certain = sent is not None and opened not in memory.others and ids_of(fact.event) == PUBLISH
    if certain and sent is not None and fact.event.args.get("reply_code") == PRECONDITION:
        notes.find(ADDRESS, fact.event, "the request is taken: its requester is there", closing(fact.event.args), sent)


@follows("queue.declare")
def looked(fact: Passed, notes: Notes) -> None:
    """Somebody looks whether a requester is there."""
    event, channel = fact.event, fact.connection.channels.get(fact.event.channel)
    if event.direction != TO_BROKER or not event.has("passive") or not event.queue or not offered(notes.profile):
        return
    owner, memory, now = notes.memory(Replies).addresses.get(event.queue), notes.memory(Looks), event.time_ns
    if channel is None or channel.state != OPEN or event.has("no_wait"):
        return
    if owner is not None:
        present = False if owner.channel.connection.left else owner.there()
        first = memory.missed.setdefault(event.queue, now) if present is False else now
        memory.looks[event.seq] = Look(TOLD, present, now, first)
    elif event.queue.startswith(f"{REPLIES}."):
        memory.looks[event.seq] = Look(MADE_UP, None if " " not in event.queue else False, now, now)
    if len(memory.looks) > MOST:
        del memory.looks[next(iter(memory.looks))]
    if len(memory.missed) > MOST:
        del memory.missed[next(iter(memory.missed))]


@judges(Answered, TOLD, MADE_UP)
def there(fact: Answered, notes: Notes) -> None:
    """Yes. Of a name that this history does not know, somebody else may be the requester, unless it has a space in it:
    no broker makes such an address."""
    look = notes.memory(Looks).looks.pop(fact.request.seq, None)
    if look is None or look.present is None:
        return
    if look.rule == MADE_UP:
        notes.find(MADE_UP, fact.event, f"channel.close {NOT_FOUND}", "declare-ok", fact.request.seq)
        return
    counts = fact.event.args.get("message_count"), fact.event.args.get("consumer_count")
    if not look.present:
        if too_late(look.sent, look.first, LEFT, notes):
            notes.find(TOLD, fact.event, "channel.close 404: the requester has gone", "declare-ok", fact.request.seq)
    elif counts == (0, 1):
        notes.show(TOLD, "there", ("there", "gone"))
    else:
        observed = f"declare-ok with {counts[0]} messages and {counts[1]} consumers"
        notes.find(TOLD, fact.event, "declare-ok with no message and one consumer", observed, fact.request.seq)


@judges(ClosedUnasked, TOLD, MADE_UP)
def not_there(fact: ClosedUnasked, notes: Notes) -> None:
    """No: the channel is closed."""
    _closed(fact.event, [fact.channel], "channel", notes)


@judges(ConnectionFailed, TOLD, MADE_UP)
def connection_lost(fact: ConnectionFailed, notes: Notes) -> None:
    """Or the connection, which is never right."""
    if fact.event.kind == METHOD and fact.error is None and not fact.failing:
        _closed(fact.event, fact.connection.channels.values(), "connection", notes)


def _closed(event: Event, channels: Iterable[ChannelLife], what: str, notes: Notes) -> None:
    pending = [one for channel in channels for one in channel.pending()]
    memory = notes.memory(Looks).looks
    if len(pending) != 1 or pending[0].seq not in memory or ids_of(event) not in (DECLARE, (0, 0)):
        return
    look = memory.pop(pending[0].seq)
    wrong = what == "connection" or event.args.get("reply_code") != NOT_FOUND
    observed = f"{what}: {closing(event.args)}"
    if look.present:
        notes.find(look.rule, event, "declare-ok: the requester is there", observed, pending[0].seq)
    elif wrong:
        notes.find(look.rule, event, f"channel.close {NOT_FOUND}", observed, pending[0].seq)
    elif look.rule == MADE_UP:
        notes.exercise(look.rule)
    elif look.present is False:
        notes.show(look.rule, "gone", ("there", "gone"))


@judges(Returned, ROUTED)
def given_back(fact: Returned, notes: Notes) -> None:
    """A mandatory reply comes back."""
    publication = fact.publication
    reply = notes.memory(Replies).replies.get(publication.message) if publication is not None else None
    if publication is None or reply is None or not reply.there or notes.profile.choices["direct_replies"] != "routed":
        return
    notes.memory(Looks).returned.add(publication.message)
    if reply.to.there():
        notes.find(ROUTED, fact.event, "no return: the requester is there", "basic.return", reply.sent, reply.to.seq)


@judges(Confirmed, ROUTED)
def taken(fact: Confirmed, notes: Notes) -> None:
    """It is confirmed, and has not come back before."""
    replies, returned = notes.memory(Replies).replies, notes.memory(Looks).returned
    counts = bool(replies) and notes.profile.choices["direct_replies"] == "routed"
    for publication in fact.resolved if counts else ():
        reply = replies.get(publication.message)
        if reply is not None and publication.mandatory and reply.there and publication.message not in returned:
            notes.exercise(ROUTED)
