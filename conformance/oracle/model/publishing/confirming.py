"""What the broker says about publishes: confirmed, refused, or returned.

A confirm speaks of the publishes that are unresolved when it comes. A multiple confirm does not speak of a lower number
that was refused earlier.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model import memory
from conformance.oracle.model.connections.channels import NEVER, ChannelLife
from conformance.oracle.model.doubts import proofs
from conformance.oracle.model.facts import Confirmed, Fact, Returned
from conformance.oracle.model.records import PUBLISHED, WAITING, Publication, Settlement

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model

Facts = Iterator[Fact]
NEAR = 64
"""This many unresolved publishes are looked at."""


def confirm(model: Model, channel: ChannelLife, event: Event) -> Facts:
    """basic.ack or basic.nack of the broker."""
    number, multiple = event.delivery_tag or 0, bool(event.multiple)
    resolved = _covered(channel, number, multiple=multiple)
    yield Confirmed(event, channel, number, multiple, resolved)
    first = not (multiple or channel.accepted or channel.refused)
    channel.counted = channel.counted or number == channel.published or (first and number == 1)
    if number in channel.spread:
        channel.spread[number] -= 1
        channel.repeating = number if channel.spread[number] > 0 else 0
    elif resolved:
        channel.repeating = 0
    for publication in resolved:
        memory.spread(channel, publication)
        if ordered(publication):
            late = overtakes(channel, publication, multiple=multiple)
            channel.overtaking, channel.orderly = channel.overtaking + late, channel.orderly + (not late)
        channel.unconfirmed.pop(publication.number, None)
        publication.resolved, publication.verdict = event.seq, event.method
        if event.method == "basic.nack":
            _refuse(channel, publication, resolved)
        else:
            _accept(channel, publication, event.seq)
    if resolved and channel.forgiven < NEVER:
        yield from proofs.proven(channel, max(one.seq for one in resolved), event)


def _covered(channel: ChannelLife, number: int, *, multiple: bool) -> list[Publication]:
    unconfirmed = channel.unconfirmed
    if not multiple:
        return [unconfirmed[number]] if number in unconfirmed else []
    if number == 0:
        return list(unconfirmed.values())
    return list(takewhile(lambda one: one.number <= number, unconfirmed.values()))


def _reach_one_queue(publication: Publication, settlement: Settlement) -> bool:
    """Does the queue get this message that had those which were settled?"""
    names = {one.queue for one in settlement.covered}
    return names <= {copy.queue.name for copy in publication.copies}


def _accept(channel: ChannelLife, publication: Publication, at: int) -> None:
    channel.accepted += 1
    if channel.last_settlement is not None and _reach_one_queue(publication, channel.last_settlement):
        channel.confirmed_from = max(channel.confirmed_from, publication.seq)
    if channel.forgiven == NEVER:
        return
    for copy in publication.copies:
        channel.met.add(copy.place)
        copy.confirmed = at
        copy.queue.accepted += 1
        if copy.place == WAITING and copy.entry == PUBLISHED:
            copy.proof = at
        if copy.queue.semantics.same_channel_order:
            proofs.prove(channel, copy.queue.name, copy.published + 1, at)
        elif not channel.may_buffer():
            proofs.prove_returns(channel, copy.queue.name, copy.published, at)


def _refuse(channel: ChannelLife, publication: Publication, resolved: Collection[Publication]) -> None:
    memory.refused(channel, publication.number)
    publication.turned_away = full(channel, publication, resolved)
    for copy in publication.copies:
        copy.queue.turned_away[channel.incarnation] += 1
        copy.queue.unsettle(copy, indeterminate=True)


def full(channel: ChannelLife, publication: Publication, resolved: Collection[Publication]) -> bool:
    """Was the queue certainly full for it: does it hold what was published before, but for what it turned away or may
    still turn away? `resolved`: what is accepted together with it. Whoever has asked for messages by now, may have had
    some before the publish came."""
    queue = publication.full
    if queue is None or queue.room is None or queue.disturbed:
        return False
    if not publication.pressed:
        return True
    earlier = takewhile(lambda one: one.number < publication.number, channel.unconfirmed.values())
    undecided = sum(any(copy.queue is queue for copy in one.copies) for one in earlier if one not in resolved)
    return publication.pressed - queue.turned_away[channel.incarnation] - undecided >= queue.room


def ordered(publication: Publication) -> bool:
    """Is it of a kind that is confirmed in order: to one queue, which refuses nothing?"""
    return len(publication.copies) == 1 and publication.copies[0].queue.room is None


def overtakes(channel: ChannelLife, publication: Publication, *, multiple: bool) -> bool:
    """Is an earlier one of the same kind left unresolved?"""
    if multiple:
        return False
    queue = publication.copies[0].queue
    for other in islice(channel.unconfirmed.values(), NEAR):
        if other is publication:
            return False
        if other.persistent == publication.persistent and [copy.queue for copy in other.copies] == [queue]:
            return True
    return False


def give_back(model: Model, channel: ChannelLife, event: Event) -> Facts:
    """basic.return: a message that no queue took."""
    publication = _returned(channel, event)
    yield Returned(event, channel, publication)
    if publication is not None:
        publication.returned = publication.returned or event.seq
        for copy in publication.copies:
            copy.queue.unsettle(copy, indeterminate=True)


def _returned(channel: ChannelLife, event: Event) -> Publication | None:
    """The publish that comes back: by its message, else the oldest to that address that may be returned. What was
    rolled back is none of them.

    Of several with the same content the one that explains it best; of the best the first, as they are in order.
    """
    same = channel.recent.get(event.message or "", ())
    if event.message and event.message in channel.undone and not same:
        return None
    address = event.exchange or "", event.routing_key or ""
    for one in same:
        if one.mandatory and (one.exchange, one.routing_key) == address and not one.returned and not one.resolved:
            return one
    candidates: Iterable[Publication] = same or (
        []
        if channel.forgetful
        else [
            one
            for group in channel.recent.values()
            for one in group
            if one.mandatory and (one.exchange, one.routing_key) == address
        ]
    )
    return max(
        candidates,
        default=None,
        key=lambda one: (
            one.mandatory,
            (one.exchange, one.routing_key) == address,
            not one.returned,
            not one.resolved,
            -one.seq,
        ),
    )
