"""What becomes of messages and receivers when a channel ends, for whatever reason.

The channel's unsettled deliveries go back at a moment that nobody sees. Its receivers may go on taking messages for a
while. What they take then comes back unseen, or never if no_ack is set. A close-ok may prove that both are over; the
profile says when.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.history.events import Event
from conformance.oracle.model.connections.channels import CANCELLING, FAILING, NEVER, OPEN, ChannelLife
from conformance.oracle.model.consumers import taking
from conformance.oracle.model.doubts import races
from conformance.oracle.model.queues import dropping
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.model.records import (
    EITHER,
    GONE,
    OUT,
    PUBLISHED,
    RECOVERED,
    RELEASED,
    WAITING,
    Delivery,
    PotentialReceiver,
)

RECOVERS = (60, 100), (60, 110)
LOSERS = 8
"""This many are told apart; judges want to know whether there is one, or several."""


def release(channel: ChannelLife, at: int) -> None:
    """The client has sent what ends the channel, or learned that it has ended."""
    for delivery in channel.unacked.values():
        delivery.orphan = orphaned(delivery)
        if len(delivery.copy.queue.losers) < LOSERS:
            delivery.copy.queue.losers.add(channel.connection.name)
    channel.live_queues = frozenset(
        consumer.queue
        for consumer in channel.consumers.values()
        if consumer.state != CANCELLING and not consumer.source.deleted
    )
    uncommitted = [delivery for _, covered in channel.uncommitted for delivery in covered]
    held = [*channel.unacked.values(), *uncommitted]
    for delivery in held:
        delivery.crowd = delivery.copy.queue.held + len(delivery.copy.queue.receivers)
    for delivery in held:
        copy = delivery.copy
        if copy.holder is not delivery or copy.place != OUT:
            continue
        if delivery.indeterminate or copy.indeterminate:
            copy.queue.unsettle(copy, indeterminate=True)
        else:
            copy.queue.back(copy, RELEASED, at)
            channel.released.append(copy)
    channel.unacked.clear()
    channel.uncommitted.clear()
    for ended in channel.ended.values():
        if ended.source.left.get(ended.how) == ended.at:
            del ended.source.left[ended.how]
    greedy = any(not one.requeue and (one.racing or one.refusal == EITHER) for one in channel.unproven)
    for queue, receiver in receivers(channel):
        taking.lose(queue, receiver)
        if greedy:
            taking.swallow(queue, receiver)
    _doubt_unconfirmed(channel)


def orphaned(delivery: Delivery) -> bool:
    """Was its consumer cancelled, or has the client asked for that?"""
    consumer = delivery.consumer
    return consumer is not None and (
        consumer.state == CANCELLING or delivery.channel.consumers.get(consumer.tag) is not consumer
    )


def receivers(channel: ChannelLife) -> Iterator[tuple[Queue, PotentialReceiver]]:
    """Everything on the channel that may be taking messages."""
    for consumer in channel.consumers.values():
        yield consumer.source, consumer.receiver
    for request in channel.requests.get(("basic.get", ""), ()):
        if request.source is not None and request.receiver is not None:
            yield request.source, request.receiver


def end_receivers(channel: ChannelLife, at: int) -> None:
    """An answer shows that the channel has ended: where the profile says so, its receivers have too."""
    races.end(channel, at)
    for queue, receiver in receivers(channel):
        if queue.semantics.closeok_ends:
            taking.end(queue, receiver, at, blind=True)


def part(channel: ChannelLife, at_ns: int) -> None:
    """The broker agrees to the end of the channel, which its client has asked for: its consumers are no more."""
    for consumer in channel.consumers.values():
        consumer.source.part(at_ns)


def fall(channel: ChannelLife, at_ns: int) -> None:
    """The broker has closed the channel: its consumers end with it, as soon as their queues hear of that."""
    for consumer in channel.consumers.values():
        consumer.source.fallen += 1
        consumer.source.parted_ns = at_ns


def prove_release(channel: ChannelLife, at: int) -> None:
    """Close-ok: what the channel held is back, where the profile lets us conclude that."""
    for copy in channel.released:
        sync = copy.queue.semantics.closeok_sync
        if (
            copy.place == WAITING
            and copy.entry == RELEASED
            and copy.entered == channel.close_sent
            and (sync == "always" or (sync == "consumer" and copy.queue.name in channel.live_queues))
        ):
            copy.proof = at


def _doubt_unconfirmed(channel: ChannelLife) -> None:
    """Publishes that nothing has proven yet may be lost with the channel, where the profile says so; and those that
    wait for an answer, which may be a refusal that nobody hears any more."""
    for publication in channel.unconfirmed.values():
        for copy in publication.copies:
            if copy.entry == PUBLISHED and copy.place == WAITING:
                copy.queue.unsettle(copy, indeterminate=False)
    for entries in channel.unsynced.values():
        for _, copy in entries:
            if (
                copy.queue.semantics.unconfirmed_may_vanish
                and copy.entry == PUBLISHED
                and copy.place == WAITING
                and not copy.confirmed
            ):
                copy.queue.unsettle(copy, indeterminate=False)


def shake(channel: ChannelLife) -> None:
    """The channel ended for a reason that we do not know: what it did since its last answer may have had no effect."""
    committing = [(one.settlement, one) for request in channel.pending() for one in request.settled]
    unproven = [(settlement, one) for settlement in channel.unproven for one in settlement.covered]
    for settlement, delivery in committing + unproven:
        copy = delivery.copy
        if copy.holder is delivery and (copy.place == GONE or copy.settlement is settlement):
            copy.queue.unsettle(copy, indeterminate=True)
            dropping.exhume(copy, settlement)
    channel.unproven.clear()
    for queue in channel.lapsed:
        for mixed in filter(None, (queue, queue.dead_letters)):
            mixed.mix_up()
    channel.lapsed.clear()
    refused = {channel.sent.get(ids, 0) for ids in RECOVERS} - {0}
    for entries in channel.unsynced.values():
        for _, copy in entries:
            if copy.place == WAITING and copy.publisher is channel:
                copy.queue.unsettle(copy, indeterminate=False)
            if copy.place == WAITING and copy.entry == RECOVERED and copy.entered in refused:
                copy.entry = RELEASED


def blur(channel: ChannelLife) -> None:
    """From now on anything may have happened to what the channel holds and does."""
    channel.indeterminate = True
    for queue, receiver in receivers(channel):
        taking.lose(queue, receiver)
    for delivery in channel.unacked.values():
        delivery.indeterminate = True
        delivery.copy.queue.unsettle(delivery.copy, indeterminate=True)


def risk(channel: ChannelLife, at: int) -> None:
    """What was sent then may cost the channel, and nobody knows: until it is answered, what it holds may be back."""
    channel.risk = max(channel.risk, at)
    blur(channel)


def dare(channel: ChannelLife, event: Event) -> None:
    """The same of a method of the client: a close may be about that."""
    channel.dubious[event.class_id, event.method_id] = event.seq
    risk(channel, event.seq)


def haunt(channel: ChannelLife) -> None:
    """Former lives of its number live on in it, with all that they were told: nobody knows what it does any more."""
    channel.haunted, channel.forgiven = True, NEVER
    channel.unconfirmed.clear()
    blur(channel)


def overlook(channel: ChannelLife) -> None:
    """The broker let a mistake pass: the channel lives on, and nobody knows what it did."""
    channel.settlement_error, channel.method_error, channel.indeterminate = None, None, True
    channel.let_pass = True
    if channel.state == FAILING:
        channel.state = OPEN
    channel.forgiven = NEVER
    for copy in channel.released:
        copy.queue.unsettle(copy, indeterminate=True)


def clear(channel: ChannelLife, at: int) -> None:
    """An answer shows that the channel lives. What it held remains uncertain, what it does is not."""
    if channel.haunted:
        return
    channel.indeterminate = False
    for consumer in channel.consumers.values():
        if consumer.state != CANCELLING:
            taking.regain(consumer.source, consumer.receiver, at)
