"""What the model learns from the client's methods. Nothing is judged here: a client may send what it likes.

A method after a mistake must have no effect: publishes become VOID, requests are kept apart as ones that must not be
answered. After a hard mistake nothing of the connection is certain any more.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from conformance.events import Event
from conformance.model import declaring, endings, races, settling
from conformance.model.channels import (
    CANCELLING,
    CLOSED,
    CLOSING,
    DOOMED,
    LIVE,
    STARTING,
    Channel,
    Consumer,
)
from conformance.model.connections import Connection
from conformance.model.records import (
    RECOVERED,
    VOID,
    Copy,
    Delivery,
    HardDoom,
    Request,
    Settlement,
    Taker,
)

if TYPE_CHECKING:
    from conformance.model.model import Model

ASYNCHRONOUS = frozenset({
    "basic.publish", "basic.ack", "basic.nack", "basic.reject", "basic.recover-async", "channel.flow-ok",
    "basic.cancel-ok",
})
SETTLING = frozenset({"basic.ack", "basic.nack", "basic.reject"})


def send(model: Model, connection: Connection, event: Event) -> None:
    """One method of the client."""
    if connection.ended or connection.closing:
        return
    if event.channel == 0:
        if event.method == "connection.close":
            _close_connection(connection, event.seq)
        elif event.method == "connection.start-ok":
            connection.whole = True
        return
    if event.method == "channel.open":
        _open(connection, event)
        return
    channel = connection.met(event.channel, event.seq)
    if event.method == "channel.close-ok":
        if channel is not None:
            channel.discarding = False
        return
    if channel is None or (channel.state in (CLOSED, CLOSING) and not channel.discarding):
        _unopened(connection, channel, event)
    elif channel.state == DOOMED or channel.discarding:
        _ignored(model, channel, event)
    elif event.method in SETTLING:
        settling.apply(settling.settlement_of(event, channel), channel)
    else:
        channel.sent[event.class_id, event.method_id] = event.seq
        _HANDLERS.get(event.method, _request)(model, channel, event)


def _close_connection(connection: Connection, seq: int) -> None:
    connection.closing = seq
    for channel in connection.open_channels():
        channel.closed_with = seq
        endings.release(channel, seq)


def _open(connection: Connection, event: Event) -> None:
    former = connection.channels.get(event.channel)
    if former is not None and former.state not in (CLOSED, CLOSING):
        _mistake(connection, HardDoom(event.seq, "", 504, 20, 10, "channel.open of an open channel", optional=True))
        return
    if former is not None:
        former.previous = None
        if former.state == CLOSING:
            connection.failed[event.channel] = former
    channel = Channel(connection, event.channel, event.seq, previous=former)
    if former is not None:
        channel.former_tag = max(former.last_tag, former.former_tag)
    connection.channels[event.channel] = channel
    _request_plain(channel, event)


def _unopened(connection: Connection, channel: Channel | None, event: Event) -> None:
    """A method on a channel that is not open costs the connection, unless the number was in use just before.

    A broker may still be winding up the channel that was closed, and discard what comes for it.
    """
    if channel is not None:
        channel.vague = True
        connection.misused = event.seq
    ids = event.class_id, event.method_id
    _mistake(connection, HardDoom(
        event.seq, "ERR-010", 504, *ids, f"{event.method} on channel {event.channel}, which is not open",
        optional=channel is not None,
    ))


def _mistake(connection: Connection, doom: HardDoom) -> None:
    if connection.doom is None:
        connection.doom = doom
        for channel in connection.open_channels():
            endings.blur(channel)


def _ignored(model: Model, channel: Channel, event: Event) -> None:
    if event.method == "basic.publish":
        queue = model.queues.get(event.routing_key or "")
        if not event.exchange and queue is not None and event.message and event.message not in queue.copies:
            copy = Copy(event.message, queue, event.seq, channel, place=VOID, entered=event.seq)
            queue.copies[copy.id] = copy
            queue.voided.append(copy)
            channel.voided.append(copy)
    elif event.method == "channel.close":
        channel.close_sent = event.seq
        _request_plain(channel, event)
    elif event.method not in ASYNCHRONOUS and "no_wait" not in event.flags:
        channel.expect(_new_request(event, ignored=True))


def _new_request(event: Event, *, ignored: bool = False) -> Request:
    tag = event.consumer_tag or "" if event.method in ("basic.consume", "basic.cancel") else ""
    return Request(event.seq, event.method, event.class_id, event.method_id, tag, ignored=ignored)


def _request_plain(channel: Channel, event: Event) -> None:
    channel.expect(_new_request(event))


def _request(model: Model, channel: Channel, event: Event) -> None:
    if event.method not in ASYNCHRONOUS and "no_wait" not in event.flags:
        channel.expect(_new_request(event))


def _close(model: Model, channel: Channel, event: Event) -> None:
    endings.release(channel, event.seq)
    channel.state, channel.close_sent, channel.closed_with = CLOSING, event.seq, event.seq
    channel.expect(_new_request(event))


def _publish(model: Model, channel: Channel, event: Event) -> None:
    channel.confirms_since += 1
    if channel.confirm:
        channel.published += 1
        channel.unconfirmed[channel.published] = event.seq, None
    if "immediate" in event.flags:
        _mistake(channel.connection, HardDoom(event.seq, "ERR-009", 540, 60, 40, "an immediate publish", True))
    if event.exchange:
        model.publish_somewhere()
        return
    queue = model.queue(event.routing_key or "")
    if queue.deleted or event.message is None:
        return
    copy = Copy(event.message, queue, event.seq, channel, entered=event.seq)
    arguments = event.arguments
    copy.fleeting = queue.lossy or not queue.declared or '"expiration"' in arguments
    copy.doubtful = copy.fleeting or channel.vague or "immediate" in event.flags
    copy.shaky = channel.vague
    if '"priority"' in arguments:
        queue.unordered = True
    if channel.confirm:
        channel.unconfirmed[channel.published] = event.seq, copy
    if channel.transactional:
        channel.unpublished.append(copy)
    else:
        queue.put(copy)
        channel.await_proof(copy, event.seq)


def _consume(model: Model, channel: Channel, event: Event) -> None:
    tag, queue = event.consumer_tag or "", model.queue(event.queue or "")
    present = channel.consumers.get(tag)
    if tag and present is not None and present.state != CANCELLING and not present.source.deleted:
        accepted = model.profile.choices.get("duplicate_consumer_tag") == "accepted"
        what = f"basic.consume with the tag {tag!r}, which is in use"
        _mistake(channel.connection, HardDoom(event.seq, "ERR-009", 530, 60, 20, what, accepted))
        if not accepted:
            return
    no_ack = "no_ack" in event.flags
    taker = queue.taken_by(Taker(event.seq, no_ack, get=False))
    waits = "no_wait" not in event.flags
    channel.consumers[tag] = Consumer(
        tag, queue.name, no_ack, STARTING if waits else LIVE, queue, taker, channel.prefetch,
        channel.shared_limit, since=event.seq,
    )
    if waits:
        request = _new_request(event)
        request.source = queue
        channel.expect(request)


def _cancel(model: Model, channel: Channel, event: Event) -> None:
    consumer = channel.consumers.get(event.consumer_tag or "")
    if consumer is not None:
        consumer.state = CANCELLING
        if not consumer.source.semantics.cancelok_ends:
            consumer.source.lose(consumer.taker)
    _request(model, channel, event)


def _get(model: Model, channel: Channel, event: Event) -> None:
    queue, request = model.queue(event.queue or ""), _new_request(event)
    request.source, request.no_ack = queue, "no_ack" in event.flags
    request.taker = queue.taken_by(Taker(event.seq, request.no_ack, get=True))
    channel.expect(request)


def _qos(model: Model, channel: Channel, event: Event) -> None:
    arguments = event.args
    count, size = int(arguments.get("prefetch_count", 0)), int(arguments.get("prefetch_size", 0))
    if size:
        _mistake(channel.connection, HardDoom(event.seq, "ERR-009", 540, 60, 10, f"prefetch_size {size}", True))
    if "global" in event.flags:
        channel.shared_limit = channel.shared_limit or count > 0
        for consumer in channel.consumers.values():
            consumer.limit_moved = True
    else:
        channel.prefetch = count
        if model.profile.product != "RabbitMQ":
            for consumer in channel.consumers.values():
                consumer.limit_moved = True
    _request(model, channel, event)


def _recover(model: Model, channel: Channel, event: Event) -> None:
    if "requeue" not in event.flags:
        _mistake(channel.connection, HardDoom(
            event.seq, "ERR-009", 540, 60, event.method_id, "basic.recover without requeue", True,
        ))
        endings.blur(channel)
    else:
        _recover_all(channel, event)
    _request(model, channel, event)


def _recover_all(channel: Channel, event: Event) -> None:
    everything = list(channel.unacked.values())
    recover = Settlement(
        event.seq, event.method, event.method_id, 0, True, True, channel, covered=everything,
    )
    races.begin(channel, recover)
    for delivery in everything:
        settling.release(delivery, recover)
        delivery.recovered = event.seq
        _give_back(delivery, event.seq, recover)


def _give_back(delivery: Delivery, seq: int, recover: Settlement) -> None:
    copy = delivery.copy
    if copy.holder is not delivery:
        return
    if copy.shaky:
        copy.queue.unsettle(copy, shaky=True)
        return
    copy.queue.back(copy, RECOVERED, seq, recover)
    delivery.channel.await_proof(copy, seq)


def _confirm_select(model: Model, channel: Channel, event: Event) -> None:
    channel.confirm = True
    _request(model, channel, event)


def _tx_select(model: Model, channel: Channel, event: Event) -> None:
    channel.transactional = True
    _request(model, channel, event)


def _tx_commit(model: Model, channel: Channel, event: Event) -> None:
    for settlement, covered in channel.uncommitted:
        for delivery in covered:
            settling.carry_out(delivery, settlement)
    for copy in channel.unpublished:
        copy.published = copy.entered = event.seq
        copy.queue.put(copy)
    channel.uncommitted, channel.unpublished = [], []
    _request(model, channel, event)


def _tx_rollback(model: Model, channel: Channel, event: Event) -> None:
    restored = {delivery.tag: delivery for _, covered in channel.uncommitted for delivery in covered}
    for delivery in restored.values():
        delivery.settlement = None
        if delivery.consumer is not None:
            delivery.consumer.outstanding += 1
    channel.unacked = OrderedDict(sorted((channel.unacked | restored).items()))
    channel.uncommitted, channel.unpublished = [], []
    _request(model, channel, event)


def _flow(model: Model, channel: Channel, event: Event) -> None:
    channel.paused = "active" not in event.flags
    _request(model, channel, event)


def _delete(model: Model, channel: Channel, event: Event) -> None:
    queue = model.queues.get(event.queue or "")
    if queue is not None:
        queue.doubt()
        queue.deleted = event.seq
    _request(model, channel, event)


def _purge(model: Model, channel: Channel, event: Event) -> None:
    queue = model.queues.get(event.queue or "")
    if queue is not None:
        queue.doubt()
    _request(model, channel, event)


def _declare(model: Model, channel: Channel, event: Event) -> None:
    if "passive" not in event.flags and event.queue:
        declaring.declare(model, event.queue, event)
    _request(model, channel, event)


Handler = Callable[["Model", Channel, Event], None]
_HANDLERS: dict[str, Handler] = {
    "channel.close": _close, "channel.flow": _flow, "basic.publish": _publish, "basic.consume": _consume,
    "basic.cancel": _cancel, "basic.get": _get, "basic.qos": _qos, "basic.recover": _recover,
    "basic.recover-async": _recover, "confirm.select": _confirm_select, "tx.select": _tx_select,
    "tx.commit": _tx_commit, "tx.rollback": _tx_rollback, "queue.declare": _declare, "queue.delete": _delete,
    "queue.purge": _purge,
}
