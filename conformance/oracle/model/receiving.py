"""What the broker's methods mean: facts, and what the model learns from each of them after it was judged.

Replies are matched by method and consumer tag, never by position: consume-ok may overtake others, and be overtaken. A
reply also shows that the broker accepted everything that was sent on the channel before the request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle import topology
from conformance.oracle.model.connections import endings
from conformance.oracle.model.connections.channels import (
    CANCELLING,
    CLOSED,
    CLOSING,
    LIVE,
    OPEN,
    OPENING,
    ChannelLife,
    unnamed,
)
from conformance.oracle.model.connections.connection import Connection
from conformance.oracle.model.consumers import cancelling, delivering, timeouts
from conformance.oracle.model.doubts.proofs import proven
from conformance.oracle.model.facts import (
    Accepted,
    AfterClose,
    Answered,
    ChannelClosed,
    ChannelOpened,
    Fact,
    Overlooked,
    Unlawful,
    Unrequested,
)
from conformance.oracle.model.publishing import confirming, sizes
from conformance.oracle.model.queues import counts, declaring
from conformance.oracle.model.records import ClientError, Request

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model

Facts = Iterator[Fact]
CLASSES = (40, 50)
"""Of what is declared, bound and deleted."""
TAKING = frozenset({"queue.purge", "basic.get", "basic.consume"})


def receive(model: Model, connection: Connection, event: Event) -> Iterable[Fact]:
    """One method of the broker on a channel."""
    method, number = event.method, event.channel
    channel = connection.met(number, event.seq)
    if event.body_size is not None:
        sizes.receive(model, event.body_size)
    if channel is None:
        return _unopened(connection, event)
    if channel.adopted and method == "channel.open-ok":
        del connection.channels[number]
        connection.met(number, event.seq)
        return ()
    former = connection.failed.get(number)
    if former is not None and former.state == CLOSING and channel.state in (OPENING, CLOSING):
        if method == "channel.open-ok" and former.answered("channel.open"):
            return ()  # the client has opened the number again before it was told that it was open
        if method == "channel.close-ok" and former.requests.get(("channel.close", "")):
            return late(model, former, event)
    if channel.state == OPENING:
        if method == "channel.open-ok":
            return _open_ok(connection, channel, event)
        if former is not None:
            return late(model, former, event)
        if not connection.whole:
            return ()  # it is of a life that was not seen
    if channel.state == CLOSED:
        return late(model, channel, event)
    return _HANDLERS.get(method, _reply)(model, channel, event)


def _unopened(connection: Connection, event: Event) -> Facts:
    """A method on a channel that the client has never opened, as far as can be told. Who uses such a channel himself
    may be answered there: that the broker lets his mistake pass is a fault of its own."""
    yield AfterClose(event, None, None, ours=False)
    if not (connection.overheard or connection.misused or connection.error):
        yield Unlawful(event, connection, f"nothing on channel {event.channel}: it was never opened", event.method)


def _open_ok(connection: Connection, channel: ChannelLife, event: Event) -> Facts:
    request = channel.answered("channel.open")
    yield ChannelOpened(event, channel, channel.previous)
    connection.failed.pop(channel.number, None)
    channel.state = OPEN
    if request is not None:
        yield from proven(channel, request.seq, event)


def late(model: Model, channel: ChannelLife, event: Event) -> Facts:
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
        channel.afterlife = channel.afterlife or not channel.discarding
        delivering.unseen(model, channel, event)
    request = None
    if method not in ("basic.deliver", "basic.ack", "basic.nack", "basic.return"):
        request = channel.answered(delivering.request_of(method), event.consumer_tag or "")
    yield AfterClose(event, channel, request, ours=False)


def _reply(model: Model, channel: ChannelLife, event: Event) -> Facts:
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
        yield from _answered_wrongly(model, channel, request, event)
        return
    yield from counts.answered(channel, request, event)
    if request.change is not None:
        _changed(model, channel, request, request.change, event)
    if method == "basic.consume":
        _consuming(channel, event, request)
    elif method == "basic.cancel":
        cancelling.answered(channel, event, request)
    elif method == "queue.purge" and request.source is not None:
        request.source.purging -= 1
        request.source.cleared = event.seq if request.source.purged == request.seq else 0
        request.source.emptied = event.seq if request.source.emptied == request.seq else 0
    elif method == "confirm.select":
        next(one for one in channel.selects if one.seq == request.seq).answered = event.seq
    elif method == "queue.declare" and event.queue and event.queue not in model.queues and not model.open:
        model.queues[event.queue] = declaring.queue_of(
            model.profile,
            event.queue,
            "classic",
            request.seq,
            {},
            opaque=model.opaque,
        )
    yield from proven(channel, request.seq, event)


def _changed(
    model: Model, channel: ChannelLife, request: Request, change: topology.TopologyChange, event: Event
) -> None:
    """What the request changed is so, as the answer says."""
    change.came(event)
    declaring.answered(model, event, request)
    if model.open:
        return
    there = not request.method.endswith(".delete")
    topology.answered(model.topology, channel.connection.vhost, change, event.time_ns, there=there)
    if event.queue:
        topology.name_queue(model.topology, channel, event.queue, change)
        topology.granted(model.topology, channel, event.queue, change)


def _answered_wrongly(model: Model, channel: ChannelLife, request: Request, event: Event) -> Facts:
    """An answer to what was sent with or after a mistake."""
    error = channel.method_error
    if error is not None and error.seq == request.seq:
        yield Overlooked(event, channel, error)
        endings.overlook(channel)
        _doubt_what_it_names(model, channel, error)
        if request.method in TAKING and request.source is None and not error.names:
            _doubt_what_may_be_meant(model, channel)
        return
    for wrong in (channel.settlement_error, error):
        if wrong is not None:
            wrong.answered.append(request)


def _doubt_what_it_names(model: Model, channel: ChannelLife, error: ClientError) -> None:
    if error.class_id in CLASSES:
        topology.let_pass(model.topology, channel.connection.vhost, error.names)


def _doubt_what_may_be_meant(model: Model, channel: ChannelLife) -> None:
    """It has taken from no queue that is known: perhaps from one that another channel of the connection declared."""
    for one, name in model.topology.last.items():
        queue = model.queues.get(name) if one.connection is channel.connection else None
        if queue is not None:
            queue.doubt()


def _consuming(channel: ChannelLife, event: Event, request: Request) -> None:
    tag = event.consumer_tag or ""
    consumer = channel.consumers.get(request.consumer_tag or unnamed(request.seq))
    if consumer is None or consumer.since < request.seq:
        return
    if tag != consumer.tag:
        del channel.consumers[consumer.tag]
        consumer.tag = tag
        channel.consumers[tag] = consumer
    if consumer.state != CANCELLING:
        consumer.state = LIVE
        if consumer.source.semantics.same_channel_order:
            cancelling.established(consumer, event)


def _close_ok(model: Model, channel: ChannelLife, event: Event) -> Facts:
    request = channel.answered("channel.close")
    if request is None:
        yield Unrequested(event, channel)
        return
    crossed = channel.close_seen > 0
    yield ChannelClosed(event, channel, crossed)
    if not crossed:
        if channel.settlement_error is not None:
            yield Accepted(event, channel.settlement_error.settlement)
        error = channel.method_error
        if error is not None:
            yield Overlooked(event, channel, error)
            _doubt_what_it_names(model, channel, error)
        yield from proven(channel, request.seq, event)
        endings.prove_release(channel, event.seq)
        endings.end_receivers(channel, event.seq)
        endings.part(channel, event.time_ns)
    channel.state = CLOSED
    channel.close_sent, channel.close_answered = 0, event.seq
    if not crossed:
        channel.connection.closes, channel.connection.closed = event.seq, channel.number
    if channel.connection.failed.get(channel.number) is channel and not crossed:
        del channel.connection.failed[channel.number]


def _cancel(model: Model, channel: ChannelLife, event: Event) -> Facts:
    consumer = timeouts.concerns(model, channel, event)
    if consumer is not None:
        yield from timeouts.notified(model, channel, consumer, event)
    else:
        yield from cancelling.notified(channel, event)


Handler = Callable[["Model", ChannelLife, Event], Facts]
_HANDLERS: dict[str, Handler] = {
    "basic.deliver": delivering.deliver,
    "basic.get-ok": delivering.get_ok,
    "basic.get-empty": delivering.get_empty,
    "basic.ack": confirming.confirm,
    "basic.nack": confirming.confirm,
    "basic.return": confirming.give_back,
    "basic.cancel": _cancel,
    "channel.close-ok": _close_ok,
}
