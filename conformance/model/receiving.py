"""What the broker's methods mean: facts, and what the model learns from each right after it is judged.

Replies are matched by method and consumer tag, never by position: consume-ok overtakes and is overtaken. A reply to a
request also shows that everything sent on the channel before it was taken without complaint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from conformance.events import Event
from conformance.model import declaring, delivering, endings
from conformance.model.channels import CANCELLING, CLOSED, CLOSING, LIVE, OPEN, OPENING, Channel
from conformance.model.connections import Connection
from conformance.model.facts import (
    Accepted,
    AfterClose,
    Answered,
    ChannelClosed,
    Confirmed,
    Fact,
    Opened,
    Unrequested,
)
from conformance.model.proofs import prove, proven
from conformance.model.records import PUBLISHED, WAITING, Request

if TYPE_CHECKING:
    from conformance.model.model import Model

Facts = Iterator[Fact]


def receive(model: Model, connection: Connection, event: Event) -> Facts:
    """One method of the broker on a channel."""
    method, number = event.method, event.channel
    channel = connection.met(number, event.seq)
    if channel is None:
        yield AfterClose(event, None, None, ours=False)
        return
    if channel.state == OPENING:
        if method == "channel.open-ok":
            yield from _open_ok(connection, channel, event)
            return
        former = connection.failed.get(number)
        if former is not None:
            yield from late(model, former, event)
            return
    if channel.state == CLOSED:
        yield from late(model, channel, event)
        return
    yield from _HANDLERS.get(method, _reply)(model, channel, event)


def _open_ok(connection: Connection, channel: Channel, event: Event) -> Facts:
    request = channel.answered("channel.open")
    yield Opened(event, channel, channel.previous)
    connection.failed.pop(channel.number, None)
    channel.state = OPEN
    if request is not None:
        yield from proven(channel, request.seq, event)


def late(model: Model, channel: Channel, event: Event) -> Facts:
    """A frame for a channel that is closed. Until the number is open again some are expected from a failed one."""
    method = event.method
    if method == "channel.close-ok" and channel.requests.get(("channel.close", "")):
        yield from _close_ok(model, channel, event)
        return
    if not channel.close_seen and channel.state != CLOSING:
        yield AfterClose(event, channel, None, ours=True)
        return
    if channel.state == CLOSING:
        yield from _HANDLERS.get(method, _reply)(model, channel, event)
        return
    if method in ("basic.deliver", "basic.get-ok"):
        delivering.unseen(model, channel, event)
    request = None
    if method not in ("basic.deliver", "basic.ack", "basic.nack", "basic.return"):
        request = channel.answered(delivering.request_of(method), event.consumer_tag or "")
    yield AfterClose(event, channel, request, ours=False)


def _reply(model: Model, channel: Channel, event: Event) -> Facts:
    """An answer that carries nothing but itself."""
    method = delivering.request_of(event.method)
    if event.method == "channel.flow":
        return
    request = channel.answered(method, event.consumer_tag or "") if method != event.method else None
    if request is None:
        if not channel.adopted:
            yield Unrequested(event, channel)
        return
    yield Answered(event, channel, request)
    if request.ignored:
        if channel.doom is not None:
            channel.doom.answered.append(request)
        return
    if method == "basic.consume":
        _consuming(channel, event, request)
    elif method == "basic.cancel":
        _cancelled(channel, event, request)
    elif method == "queue.declare" and event.queue and event.queue not in model.queues:
        model.queues[event.queue] = declaring.queue_of(
            model.profile, event.queue, "classic", request.seq, {}, opaque=model.opaque,
        )
    yield from proven(channel, request.seq, event)


def _consuming(channel: Channel, event: Event, request: Request) -> None:
    tag = event.consumer_tag or ""
    consumer = channel.consumers.get(request.consumer_tag)
    if consumer is None or consumer.since < request.seq:
        return
    if tag != request.consumer_tag:
        del channel.consumers[request.consumer_tag]
        consumer.tag = tag
        channel.consumers[tag] = consumer
    if consumer.state != CANCELLING:
        consumer.state = LIVE


def _cancelled(channel: Channel, event: Event, request: Request) -> None:
    consumer = channel.consumers.get(request.consumer_tag)
    if consumer is None or consumer.state != CANCELLING or consumer.taker.start > request.seq:
        return
    del channel.consumers[request.consumer_tag]
    channel.former[consumer.tag] = consumer.source
    if consumer.source.semantics.cancelok_ends:
        consumer.source.end(consumer.taker, event.seq, blind=False)


def _confirm(model: Model, channel: Channel, event: Event) -> Facts:
    number, multiple = event.delivery_tag or 0, bool(event.multiple)
    yield Confirmed(event, channel, number, multiple)
    numbers = [number]
    if multiple:
        numbers = []
        for one in channel.unconfirmed:
            if one > number:
                break
            numbers.append(one)
    handled = 0
    for one in numbers:
        sent, copy = channel.unconfirmed.pop(one, (0, None))
        handled = max(handled, sent)
        if copy is None:
            continue
        if event.method == "basic.nack":
            copy.queue.unsettle(copy, shaky=True)
            continue
        copy.confirmed = event.seq
        if copy.place == WAITING and copy.entry == PUBLISHED:
            copy.proof = event.seq
        if copy.queue.semantics.same_channel_order:
            prove(channel, copy.queue.name, copy.published + 1, event.seq)
    if handled:
        yield from proven(channel, handled, event)


def _return(model: Model, channel: Channel, event: Event) -> Facts:
    """A message that no queue took."""
    queue = model.queues.get(event.routing_key or "")
    copy = queue.copies.get(event.message or "") if queue is not None else None
    if copy is not None:
        copy.queue.unsettle(copy, shaky=True)
    yield from ()


def _close_ok(model: Model, channel: Channel, event: Event) -> Facts:
    request = channel.answered("channel.close")
    if request is None:
        yield Unrequested(event, channel)
        return
    crossed = channel.close_seen > 0
    yield ChannelClosed(event, channel, crossed)
    if not crossed:
        if channel.doom is not None:
            yield Accepted(event, channel.doom.settlement)
        yield from proven(channel, request.seq, event)
        endings.prove_release(channel, event.seq)
        endings.end_takers(channel, event.seq)
    channel.state = CLOSED
    channel.close_sent = 0
    if channel.connection.failed.get(channel.number) is channel and not crossed:
        del channel.connection.failed[channel.number]


def _cancel(model: Model, channel: Channel, event: Event) -> Facts:
    """The broker cancels a consumer: its queue is deleted, or a timeout has passed."""
    tag = event.consumer_tag or ""
    consumer = channel.consumers.get(tag)
    if consumer is not None:
        if consumer.source.deleted and consumer.state != CANCELLING:
            del channel.consumers[tag]
            channel.former[tag] = consumer.source
        elif not consumer.source.deleted:
            consumer.state = CANCELLING
            consumer.source.lose(consumer.taker)
            for delivery in channel.unacked.values():
                if delivery.consumer is consumer:
                    delivery.shaky = True
                    consumer.source.unsettle(delivery.copy, shaky=True)
    yield from ()


Handler = Callable[["Model", Channel, Event], Facts]
_HANDLERS: dict[str, Handler] = {
    "basic.deliver": delivering.deliver, "basic.get-ok": delivering.get_ok, "basic.get-empty": delivering.get_empty,
    "basic.ack": _confirm, "basic.nack": _confirm, "basic.return": _return, "basic.cancel": _cancel,
    "channel.close-ok": _close_ok,
}
