"""What the client publishes, in and out of confirm mode, and where it goes.

A message that goes to several queues has a copy in each. Where the route is not certain, nothing is claimed about any
queue that it may have reached.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle import topology
from conformance.oracle.model.connections import requests
from conformance.oracle.model.connections.channels import ChannelLife, ConfirmRequest
from conformance.oracle.model.doubts import blame
from conformance.oracle.model.publishing import routing, sizes
from conformance.oracle.model.queues import dropping
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.model.records import ClientError, Copy, Publication

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model

ACCESS_REFUSED, NOT_FOUND, PRECONDITION_FAILED = 403, 404, 406
EXPIRATION = re.compile(r'"expiration": "(.*?)"[,}]')
MEANINGFUL = re.compile(r'"(?:headers|expiration|user_id|reply_to)"')
"""Properties for which a broker may refuse a publish, whatever its body is."""
FRAME_END, SMALL = b"\xce", 4096
"""No broker refuses a body of so few octets for its size."""
RECENT = 128
"""This many messages are remembered for what may be returned, at least, and all that may be owed a return."""
WANDERING = 1024
"""So many ids are remembered of messages that went where nobody knows."""
ALIKE = 64
"""This many with the same content."""


def publish(model: Model, channel: ChannelLife, event: Event) -> None:
    """basic.publish"""
    channel.confirms_since += 1
    if "immediate" in event.flags:
        requests.fail_connection(
            channel.connection, ClientError(event.seq, "ERR-009", 540, 60, 40, "an immediate publish", True)
        )
    way = _route(model, channel, event)
    wrong = _wrong(model, event, way)
    if wrong:
        number = channel.published + 1 if channel.confirm else 0
        requests.fail_channel(channel, event, "CNF-019", *wrong, number=number, also=_refusals(model, channel))
        return
    if way == topology.UNKNOWN and _may_miss(model, channel, event.exchange or ""):
        channel.may_have_missed = event.seq
    publication = _publication(channel, event)
    if channel.confirm:
        channel.published = publication.number
        channel.unconfirmed[publication.number] = publication
    else:
        channel.plain += 1
        channel.numbered += publication.mandatory and model.profile.choices.get("confirm_numbers") == "mandatory-too"
    if isinstance(way, list):
        publication.routed = bool(way)
    _reach(_queues(model, event, way), channel, publication, event)
    _remember(channel, publication)
    sizes.send(model, channel, publication.size)
    if channel.transactional:
        channel.unpublished.append(publication)
        for copy in publication.copies:
            copy.queue.announce(copy)
    else:
        enter(channel, publication, event.seq)


def _route(model: Model, channel: ChannelLife, event: Event) -> routing.Route:
    """Where the message goes; of one that names further keys (CC, BCC) that is left open here."""
    way = routing.route(model, channel, event.exchange or "", event.routing_key or "", event.arguments)
    if '"headers"' in event.arguments and ('"CC"' in event.arguments or '"BCC"' in event.arguments):
        for queue in model.queues.values():
            dropping.overflow(queue)
            queue.guests = True
        return topology.UNKNOWN
    return way


def _reach(queues: Sequence[Queue], channel: ChannelLife, publication: Publication, event: Event) -> None:
    """The queues that the message may go to: each gets a copy, and the first one that is full may refuse it."""
    for queue in queues:
        dropping.admit(queue)
    if event.message is not None:
        publication.copies = [_copy(channel, event, queue, publication) for queue in queues]
    for queue in queues:
        if queue.room is not None and _press(queue, queue.room, channel):
            publication.full = queue
            publication.pressed = 0 if queue.accepted >= queue.room else queue.pressed[channel.incarnation] - 1
            break


def _may_miss(model: Model, channel: ChannelLife, name: str) -> bool:
    if not name:
        return False
    exchange = model.topology.exchange(channel.connection.vhost, name)
    return exchange is None or not exchange.there_for(channel)


def _refusals(model: Model, channel: ChannelLife) -> tuple[int, ...]:
    """Codes of a broker that looks first at what a user may do, where that is not everything."""
    connection, rights = channel.connection, model.topology.rights
    held = rights.held(connection.user, connection.vhost, connection.entered)
    return () if all(one.everything for one in held) and not connection.regranted else (ACCESS_REFUSED,)


def enter(channel: ChannelLife, publication: Publication, seq: int) -> None:
    """The broker may put the message into its queues from now on."""
    for copy in publication.copies:
        if copy.seen:
            continue
        copy.published = copy.entered = seq
        copy.queue.put(copy)
        channel.await_proof(copy, seq)


def _wrong(model: Model, event: Event, way: routing.Route) -> tuple[int, str] | None:
    """Why the broker must close the channel over this publish."""
    if way == topology.MISSING:
        return NOT_FOUND, "a publish to an exchange that does not exist"
    told = '"expiration"' in event.arguments and "expiration" not in model.profile.refused
    expiration = EXPIRATION.search(event.arguments) if told else None
    if expiration is not None and not re.fullmatch(r"\+?\d+", expiration[1]):
        return PRECONDITION_FAILED, f"a publish with the expiration {expiration[1]!r}"
    return None


def _publication(channel: ChannelLife, event: Event) -> Publication:
    size, number = event.body_size or 0, channel.published + 1 if channel.confirm else 0
    frames = body_frames(event.raw, size) if size else 0
    if channel.confirm:
        channel.oversize += max(frames - 1, 0)
        channel.bodiless += not frames
    return Publication(
        event.seq,
        number,
        event.message or "",
        event.exchange or "",
        event.routing_key or "",
        event.has("mandatory"),
        '"delivery_mode": 2' in event.arguments,
        size,
        event.body_hash or "",
        event.arguments,
        frames,
        frames > 1 and uneven(event.raw),
        has_frame_end(event),
        pipelined=channel.confirm and bool(channel.selects) and not channel.selects[0].answered,
        immediate="immediate" in event.flags,
    )


def body_frames(raw: bytes, size: int) -> int:
    """How many body frames there are among these whole frames: a method, a header, and bodies of this size."""
    if raw[-size - 8 : -size - 7] == b"\3" and int.from_bytes(raw[-size - 5 : -size - 1], "big") == size:
        return 1
    found = at = 0
    while at < len(raw):
        found += raw[at] == 3
        at += 8 + int.from_bytes(raw[at + 3 : at + 7], "big")
    return found


def has_frame_end(event: Event) -> bool:
    """Has its body an octet that ends frames, and nothing else that a broker might stumble over?"""
    raw, size = event.raw, event.body_size or 0
    ends = 0 < size <= SMALL and raw.find(FRAME_END, len(raw) - size - 1, len(raw) - 1) >= 0
    return ends and body_frames(raw, size) == 1 and not MEANINGFUL.search(event.arguments)


def uneven(raw: bytes) -> bool:
    """Are the bodies among these whole frames of other sizes than one after the other the same, and a rest?"""
    sizes, at = [], 0
    while at < len(raw):
        size = int.from_bytes(raw[at + 3 : at + 7], "big")
        sizes += [size] if raw[at] == 3 else []
        at += 8 + size
    return len({*sizes[:-1]}) > 1 or sizes[-1] > sizes[0]


def _queues(model: Model, event: Event, way: routing.Route) -> list[Queue]:
    """The queues that may get it, of those we know."""
    if isinstance(way, list):
        return way
    if event.exchange:
        model.publish_somewhere()
        _double(model, event.message or "")
        return []
    queue = model.queue(event.routing_key or "")
    return [] if queue.deleted else [queue]


def _double(model: Model, message: str) -> None:
    """Another message of this id may be in any queue from now on."""
    model.wandering[message] = model.wandering.get(message, 0) + 1
    if len(model.wandering) > WANDERING:
        del model.wandering[next(iter(model.wandering))]
    for queue in model.queues.values() if not model.open else ():
        copy = queue.copies.get(message)
        if copy is not None:
            blame.lose_sight(copy)


def _copy(channel: ChannelLife, event: Event, queue: Queue, publication: Publication) -> Copy:
    copy = Copy(publication.message, queue, event.seq, channel, entered=event.seq, publication=publication)
    copy.fleeting = queue.lossy or not queue.declared or '"expiration"' in event.arguments
    early = queue.declaration is not None and not queue.declaration.certain_for(channel)
    copy.unowed = copy.fleeting or channel.indeterminate or publication.immediate or early
    copy.indeterminate = channel.indeterminate
    if early and queue.room is not None:
        queue.disturbed = True  # it may have come before the queue was there
    if '"expiration"' in event.arguments:
        copy.unowed = queue.disturbed = True
        if queue.dead_letters is not None:
            queue.dead_letters.opaque = True  # it gets the message when that expires
    if '"priority"' in event.arguments:
        queue.unordered = True
    return copy


def _press(queue: Queue, room: int, channel: ChannelLife) -> bool:
    """Counts a publish against the queue's room; is there certainly none left for it?"""
    before = queue.pressed[channel.incarnation]
    queue.pressed[channel.incarnation] += 1
    certain = queue.semantics.same_channel_order and not queue.disturbed and not channel.transactional
    return certain and max(before, queue.accepted) >= room


def _remember(channel: ChannelLife, publication: Publication) -> None:
    alike, pending = channel.recent.setdefault(publication.message, []), 2 * len(channel.unconfirmed)
    alike.append(publication)
    if len(alike) > 2 * ALIKE + pending:
        alike[:-ALIKE] = filter(_owed_a_return, alike[:-ALIKE])
        channel.forgetful = True
    if len(channel.recent) > 2 * RECENT + pending:
        for message in list(channel.recent)[:-RECENT]:
            if not any(map(_owed_a_return, channel.recent[message])):
                del channel.recent[message]
        channel.forgetful = True


def _owed_a_return(publication: Publication) -> bool:
    """May its confirm only come after its return?"""
    return publication.mandatory and publication.number > 0 and not publication.resolved and not publication.returned


def confirm_select(model: Model, channel: ChannelLife, event: Event) -> None:
    """confirm.select: numbers begin, unless they have begun already."""
    if channel.transactional:
        requests.fail_channel(
            channel, event, "CNF-016", PRECONDITION_FAILED, "confirm.select on a transactional channel"
        )
        return
    if not channel.confirm:
        channel.published = channel.numbered
    channel.confirm = True
    channel.selects.append(ConfirmRequest(event.seq, channel.published, not event.has("no_wait")))
    requests.request(channel, event)
