"""Deliveries: which message of which queue came to whom, and what that proves.

A delivery on a channel that we have closed or made fail proves only one thing: the queue gave the message out before it
learned of the end of the channel. With acknowledgements the message comes back; with no_ack it is gone. It counts as
never seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model import memory
from conformance.oracle.model.connections import endings
from conformance.oracle.model.connections.channels import LIVE, OPEN, ChannelLife, Consumer
from conformance.oracle.model.consumers import cancelling, taking, timeouts, windows
from conformance.oracle.model.doubts import proofs, races
from conformance.oracle.model.facts import (
    Delivered,
    Fact,
    FirstDelivery,
    FoundEmpty,
    Numbered,
    Overlooked,
    StrayDelivery,
    Unrequested,
)
from conformance.oracle.model.queues import counts
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.model.records import (
    GONE,
    OUT,
    PUBLISHED,
    RELEASED,
    VOID,
    WAITING,
    Copy,
    Delivery,
    PotentialReceiver,
    Request,
)

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model

Facts = Iterator[Fact]
REPLIES = "amq.rabbitmq.reply-to"

SKIPPED = 64
"""This many tags at most are remembered of those that were left out at once."""
OWNERS = 8
"""This many channels that have taken something are told apart; judges want to know whether they are several."""


def request_of(reply: str) -> str:
    """basic.get-ok -> basic.get"""
    return "basic.get" if reply == "basic.get-empty" else reply.removesuffix("-ok")


def deliver(model: Model, channel: ChannelLife, event: Event) -> Facts:
    """basic.deliver"""
    tag = event.consumer_tag or ""
    consumer = channel.consumer_of(tag, event.message or "")
    if (event.routing_key or "").startswith(REPLIES) or (consumer is not None and consumer.queue == REPLIES):
        return  # a direct reply comes from no queue, and some brokers number all of them alike
    if consumer is None and channel.adopted:
        consumer = _adopted(model, channel, event)
    if consumer is None:
        yield StrayDelivery(event, channel, tag)
        if not channel.of_before(tag):
            yield from _number(channel, event, get=False)
        elif channel.haunted:
            _numbered(channel, event, get=False)
        channel.strays.add(event.delivery_tag or 0)
        _shake(model, channel, event)
        return
    yield Numbered(event, channel, event.delivery_tag or 0, False)
    _numbered(channel, event, get=False)
    namesake = _namesake(model, consumer, event)
    if namesake is not None:
        taking.haunt(namesake, event.seq)
        channel.strays.add(event.delivery_tag or 0)
    if namesake is not None or cancelling.contested(channel, tag):
        consumer.limit_moved = True  # whose slot it takes is as uncertain as whose delivery it is
        _shake(model, channel, event)
        return
    cancelling.established(consumer, event)
    if not _counts(channel):
        unseen(model, channel, event)
        return
    since = consumer.since
    timeouts.overtaken(model, event, consumer.source)
    yield from _delivered(model, channel, event, consumer.source, consumer, consumer.receiver, since, consumer.no_ack)
    timeouts.delivered(model, channel, event, since)
    consumer.received += 1
    windows.taken(channel, consumer, event.seq)


def get_ok(model: Model, channel: ChannelLife, event: Event) -> Facts:
    """basic.get-ok"""
    request = channel.answered("basic.get")
    if request is None or request.source is None:
        yield from _unrequested_get(model, channel, event, request)
        return
    yield from _number(channel, event, get=True)
    yield from _answer(channel, request, event)
    queue, receiver = request.source, request.receiver
    if _counts(channel):
        yield from counts.answered(channel, request, event)
        timeouts.overtaken(model, event, queue)
        yield from _delivered(model, channel, event, queue, None, receiver, request.seq, request.no_ack)
        timeouts.delivered(model, channel, event, request.seq)
    else:
        _taken_unseen(channel, queue, event, no_ack=request.no_ack)
    if receiver is not None:
        taking.end(queue, receiver, event.seq, blind=False)


def get_empty(model: Model, channel: ChannelLife, event: Event) -> Facts:
    """basic.get-empty"""
    request = channel.answered("basic.get")
    if request is None or request.source is None:
        yield from _unrequested_get(model, channel, event, request)
        return
    queue, receiver = request.source, request.receiver
    yield from _answer(channel, request, event)
    yield from counts.answered(channel, request, event)
    if not channel.astray:
        yield FoundEmpty(event, channel, queue, receiver, request.seq, request.claims)
    if receiver is not None:
        taking.end(queue, receiver, event.seq, blind=False)
    queue.stayed_away(request.seq)
    queue.voided.clear()


def _unrequested_get(model: Model, channel: ChannelLife, event: Event, request: Request | None) -> Facts:
    """An answer to a get that was never sent, or that had to be ignored."""
    if request is not None:
        error = channel.method_error
        if error is not None and error.seq == request.seq:
            yield Overlooked(event, channel, error)
            endings.overlook(channel)
        elif channel.settlement_error is not None:
            channel.settlement_error.answered.append(request)
    elif not channel.adopted:
        yield Unrequested(event, channel)
    if event.method == "basic.get-ok":
        yield from _number(channel, event, get=True)
        _shake(model, channel, event)


def _answer(channel: ChannelLife, request: Request, event: Event) -> Facts:
    yield from proofs.proven(channel, request.seq, event)
    if request.source is None:
        return
    if request.source.semantics.same_channel_order:
        proofs.prove(channel, request.source.name, request.seq, event.seq)
    elif not channel.may_buffer():
        proofs.prove_returns(channel, request.source.name, request.seq, event.seq)


def _number(channel: ChannelLife, event: Event, *, get: bool) -> Facts:
    yield Numbered(event, channel, event.delivery_tag or 0, get)
    _numbered(channel, event, get=get)


def _numbered(channel: ChannelLife, event: Event, *, get: bool) -> None:
    tag = event.delivery_tag or 0
    channel.confirms_since, channel.last_was_get = 0, get
    error = channel.settlement_error
    if error is not None and tag == error.settlement.tag and not channel.close_seen:
        races.lift(channel)
    if tag > channel.last_tag:
        if tag > channel.last_tag + 1:
            channel.skipped.update(range(max(channel.last_tag + 1, tag - SKIPPED), tag))
        channel.last_tag = tag
    else:
        channel.skipped.discard(tag)


def _namesake(model: Model, consumer: Consumer, event: Event) -> Queue | None:
    """The queue that was declared under the name of the consumer's deleted one, if the message is of that: where nobody
    could be notified, a broker may have started the consumer anew."""
    source, message = consumer.source, event.message or ""
    queue = model.queues.get(source.name)
    return queue if queue is not None and queue is not source and source.deleted and message in queue.copies else None


def _counts(channel: ChannelLife) -> bool:
    """Does the client still count deliveries on this channel as its own?"""
    return channel.state == OPEN and not channel.connection.closing


def _delivered(
    model: Model,
    channel: ChannelLife,
    event: Event,
    queue: Queue,
    consumer: Consumer | None,
    receiver: PotentialReceiver | None,
    since: int,
    no_ack: bool,
) -> Facts:
    tag, message = event.delivery_tag or 0, event.message or ""
    copy = queue.copies.get(message)
    if copy is None or _another(copy, queue, event) or _again(model, copy, queue, event):
        copy = _unknown(event, queue, copy)
        copy.ambiguous = copy.ambiguous or model.wandering.get(copy.id, 0) > 1
    delivery = Delivery(
        tag,
        message,
        queue.name,
        event.consumer_tag if consumer else None,
        "redelivered" in event.flags,
        event.seq,
        no_ack,
        channel,
        copy,
        consumer,
    )
    returning = channel.indeterminate or (channel.race is not None and channel.race.requeue)
    if returning and copy.place != WAITING:
        queue.orders.lose()
        _overtaken(channel, delivery)
        return
    explained = taking.explains(queue, copy, receiver, channel, since)
    if len(queue.orders.owners) < OWNERS:
        queue.orders.owners.add(channel.opened)
    if first_of(copy, delivery):
        yield FirstDelivery(event, channel, delivery, copy, queue, receiver, since, explained)
    else:
        yield Delivered(event, channel, delivery, copy, queue, receiver, since, explained)
    memory.delivered(channel, delivery)
    channel.modes.add(no_ack)
    if copy.entry == RELEASED and copy.place == WAITING and copy.holder is not None:
        copy.holder.channel.came_back += 1
        copy.holder.channel.gets_back += copy.holder.consumer is None
    queue.leave(copy, GONE if no_ack else OUT)
    queue.latest = delivery
    copy.holder, copy.aground, copy.seen, copy.proof = delivery, None, True, 0
    copy.deaths = _deaths(event)
    if no_ack:
        copy.settlement = None
        queue.settled.append(delivery)
        return
    channel.unacked[tag] = delivery
    if races.may_be_settled(channel, tag):
        delivery.indeterminate = True
        queue.unsettle(copy, indeterminate=True)


def _unknown(event: Event, queue: Queue, former: Copy | None) -> Copy:
    """A copy of which only this delivery tells. Where it takes the place of one that may go on beside it, their common
    id identifies neither."""
    died = '"x-death"' in event.arguments
    twins = former is not None and (
        former.ambiguous or _stranger(former) or bool(_elsewhere(former, queue)) or not died
    )
    copy = Copy(event.message or "", queue, event.seq, hidden=True, fleeting=True, unowed=True, ambiguous=twins)
    copy.inherited = died
    if former is not None and former.place == WAITING:
        queue.leave(former, GONE)
    if former is not None and twins:
        former.ambiguous = former.unowed = former.indeterminate = copy.indeterminate = True
    queue.know(copy)
    return copy


def _another(copy: Copy, queue: Queue, event: Event) -> bool:
    """Is what is delivered not, or perhaps not, the copy that is known? It may have died on its way here: it has come
    back to its queue, which has lost or refused it, or it comes from another queue that had it as well. Or that is what
    the known one has done, and this one has not."""
    if '"x-death"' not in event.arguments:
        return copy.inherited and queue.opaque
    fresh = copy.publication is not None and '"x-death"' not in copy.publication.content
    died = _died_in(event)
    if died and (copy.ambiguous or _stranger(copy) or (fresh and not _elsewhere(copy, queue).isdisjoint(died))):
        return True
    may_leave = copy.fleeting or (copy.publication is not None and copy.publication.verdict == "basic.nack")
    return queue.name in died and (copy.place == GONE or (copy.place == WAITING and may_leave and fresh))


def _again(model: Model, copy: Copy, queue: Queue, event: Event) -> bool:
    """Is it another message of its id, or another copy of it, which has died on its way here since? Who tries again
    later publishes what failed once more to a queue from which it comes back. And where an exchange for dead letters
    leads to two queues, one copy may be settled while the other goes round, and dies once more."""
    if '"x-death"' not in event.arguments:
        return False
    if copy.inherited and copy.deaths and copy.deaths != _deaths(event) and _forks(model):
        return True
    others = (model.queues.get(name) for name in _died_in(event) - {queue.name})
    twins = (one.copies.get(copy.id) for one in others if one is not None)
    return any(
        twin.publication is not None and twin.publication is not copy.publication and twin.published > copy.published
        for twin in twins
        if twin is not None
    )


def _forks(model: Model) -> bool:
    """Does any exchange lead to several places, so that a dead letter may have come to be several?"""
    return any(one.opaque or len(one.bindings) > 1 for one in model.topology.exchanges.values())


def _deaths(event: Event) -> tuple[tuple[str, str, int], ...]:
    """What x-death tells: queues, reasons and counts."""
    told = (event.args["properties"].get("headers") or {}).get("x-death") if '"x-death"' in event.arguments else None
    entries = [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
    return tuple((str(one.get("queue")), str(one.get("reason")), _whole(one.get("count"))) for one in entries)


def _whole(count: object) -> int:
    return count if isinstance(count, int) else 0


def _stranger(copy: Copy) -> bool:
    """It was not seen to be published, and was no dead letter when it came: it may have come into any queue."""
    return copy.publication is None and not copy.inherited


def _elsewhere(copy: Copy, queue: Queue) -> set[str]:
    """Other queues that got the message."""
    return {one.queue.name for one in copy.publication.copies} - {queue.name} if copy.publication is not None else set()


def _died_in(event: Event) -> set[str]:
    """The queues of which the message tells that it was a dead letter."""
    return {queue for queue, _, _ in _deaths(event)}


def first_of(copy: Copy, delivery: Delivery) -> bool:
    """Is this plainly the first delivery of its message?"""
    return (
        copy.holder is None
        and copy.place == WAITING
        and copy.entry == PUBLISHED
        and not (
            copy.seen
            or copy.indeterminate
            or copy.spent
            or copy.returns
            or copy.stale_settlement
            or delivery.redelivered
        )
    )


def _overtaken(channel: ChannelLife, delivery: Delivery) -> None:
    """It was under way when all was returned, or the channel failed, and its message has been seen elsewhere since."""
    memory.delivered(channel, delivery)
    delivery.indeterminate = True
    if not delivery.no_ack:
        channel.unacked[delivery.tag] = delivery


def unseen(model: Model, channel: ChannelLife, event: Event) -> None:
    """A delivery on a channel that has ended, or is about to."""
    if event.method == "basic.get-ok":
        request = next(iter(channel.requests.get(("basic.get", ""), ())), None)
        source, no_ack = (request.source, request.no_ack) if request else (None, True)
    else:
        consumer = channel.consumers.get(event.consumer_tag or "")
        source, no_ack = (consumer.source, consumer.no_ack) if consumer else (None, True)
    if source is None:
        _shake(model, channel, event)
    else:
        _taken_unseen(channel, source, event, no_ack=no_ack)


def _taken_unseen(channel: ChannelLife, queue: Queue, event: Event, *, no_ack: bool) -> None:
    copy = queue.copies.get(event.message or "")
    queue.orders.lose()
    if copy is None or copy.place != WAITING:
        return
    copy.hidden = True
    if no_ack:
        queue.leave(copy, GONE)
        copy.indeterminate = True
    elif channel.indeterminate or channel.race is not None:
        queue.unsettle(copy, indeterminate=True)
    elif not copy.indeterminate:
        settlement = copy.settlement
        queue.back(copy, RELEASED, event.seq)
        copy.settlement, copy.aground = settlement, channel


def _shake(model: Model, channel: ChannelLife, event: Event) -> None:
    """We do not know whose delivery this is: nothing is claimed about its message any more. What came by an exchange
    may be of any queue; else the key is the queue's name."""
    direct = model.queues.get(event.routing_key or "")
    for queue in list(model.queues.values()) if event.exchange else [direct] if direct is not None else []:
        copy = queue.copies.get(event.message or "")
        if copy is not None and copy.place != VOID:
            queue.unsettle(copy, indeterminate=True)
            copy.hidden = True


def _adopted(model: Model, channel: ChannelLife, event: Event) -> Consumer:
    """A consumer that was there before the history began."""
    tag, queue = event.consumer_tag or "", model.queue(event.routing_key or "")
    receiver = taking.begin(queue, PotentialReceiver(event.seq, no_ack=False, get=False))
    consumer = Consumer(tag, queue.name, False, LIVE, queue, receiver, limit_moved=True, since=event.seq)
    channel.consumers[tag] = consumer
    channel.joined += 1
    return consumer
