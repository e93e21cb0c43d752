"""Circumstances of consumers: their start, limits and end, and how what they were sent is settled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from conformance.history.events import TO_BROKER, Event
from conformance.oracle.model.circumstances import requesting
from conformance.oracle.model.circumstances.endings import deadlines, unopened
from conformance.oracle.model.circumstances.places import EVERYWHERE, Found, declared, life, on
from conformance.oracle.model.circumstances.queues import nameless
from conformance.oracle.model.connections.channels import CLOSED, ChannelLife, Consumer
from conformance.oracle.model.records import Delivery

if TYPE_CHECKING:
    from conformance.oracle.model.connections.connection import Connection
    from conformance.oracle.model.model import Model

BATCH = 32
"""So many messages that return together keep their order in RabbitMQ 3.8."""


def consumed(model: Model, connection: Connection, event: Event) -> Found:
    channel, tag = connection.channels.get(event.channel), event.consumer_tag
    if event.has("exclusive"):
        yield EVERYWHERE, "exclusive-consumer"
    yield from requesting.consumed(model, connection, event)
    yield from nameless(model, connection, event)
    if channel is None or not tag:
        return
    if any(one.consumer_tag == tag for one in channel.unacked.values()):
        yield life(channel), "tag-used-again"
        yield f"queue {event.queue}", "tag-used-again"
        yield f"connection {connection.name}", "tag-used-again-here"
    if tag in channel.consumers:
        yield from on(channel, "tag-taken")
    elif channel.consumers or channel.getting:
        yield life(channel), "channel-shared"
    ranked, limited = "x-priority" in (event.args.get("arguments") or {}), channel.shared.count > 0
    beside = _consumers_of(model, event.queue or "") if ranked or limited else []
    if (ranked or any(one.rank for _, one in beside)) and (limited or any(other.shared.count for other, _ in beside)):
        yield f"queue {event.queue}", "priorities-under-channel-limit"


def _consumers_of(model: Model, queue: str) -> list[tuple[ChannelLife, Consumer]]:
    channels = [channel for connection in model.connections.values() for channel in connection.channels.values()]
    return [(channel, one) for channel in channels for one in channel.consumers.values() if one.queue == queue]


def cancelled(model: Model, connection: Connection, event: Event) -> Found:
    channel, tag = connection.channels.get(event.channel), event.consumer_tag or ""
    if channel is None:
        return
    if event.direction != TO_BROKER:
        yield from deadlines(model, channel)
        return
    consumer, ended = channel.consumers.get(tag), channel.ended.get(tag)
    if consumer is not None and consumer.source.single_active:
        yield f"queue {consumer.queue}", "single-active-cancelled"
    known = consumer or ended
    if known is not None and known.source.deleted:
        yield life(channel), "cancel-meets-deletion"
        yield f"connection {connection.name}", "cancel-meets-deletion"
    if consumer is not None and (consumer.source.may_hold() or consumer.source.held):
        yield life(channel), "cancel-amid-deliveries"
        yield f"queue {consumer.queue}", "cancel-amid-deliveries"


def cancel_agreed(model: Model, connection: Connection, event: Event) -> Found:
    if event.direction == TO_BROKER:
        yield f"connection {connection.name}", "client-cancel-ok"


def limited(model: Model, connection: Connection, event: Event) -> Found:
    channel = connection.channels.get(event.channel)
    if channel is None:
        return
    if event.args.get("prefetch_size"):
        yield from on(channel, "prefetch-size")
    count = int(event.args.get("prefetch_count", 0))
    if "global" not in event.flags and any(one.limit != count for one in channel.consumers.values()):
        yield life(channel), "limit-changed"
    if "global" not in event.flags and channel.shared.count:
        yield life(channel), "limit-after-channel-limit"
    for consumer in channel.consumers.values() if "global" in event.flags and count else ():
        if any(one.rank for _, one in _consumers_of(model, consumer.queue)):
            yield f"queue {consumer.queue}", "priorities-under-channel-limit"
    if "global" in event.flags and (
        channel.getting or any(one.consumer_tag is None for one in channel.unacked.values())
    ):
        yield life(channel), "channel-limit-after-gets"


def settled(model: Model, connection: Connection, event: Event) -> Found:
    channel = connection.channels.get(event.channel)
    if event.direction != TO_BROKER:
        return
    if channel is None or channel.state == CLOSED:
        yield from unopened(model, connection, event)
        return
    if event.multiple and not event.delivery_tag and all(one.indeterminate for one in channel.unacked.values()):
        yield from on(channel, "nothing-to-settle")
        if channel.transactional:
            yield from on(channel, "nothing-to-settle-in-transaction")
    covered = channel.covered(event.delivery_tag or 0, bool(event.multiple))
    yield from _namesakes(channel, covered)
    if event.multiple and "requeue" in event.flags:
        yield from _batches(channel, covered)
    if not model.settings.timed or "requeue" not in event.flags:
        return
    for delivery in covered:
        if delivery.stale:
            yield life(channel), "stale-returned"


def _batches(channel: ChannelLife, returned: Iterable[Delivery]) -> Found:
    """More may be on their way to the channel, and return as well: what counts is how many the queue has had, and of
    gets, for how many the channel has asked."""
    asked, got = len(channel.requests.get(("basic.get", ""), ())), Counter[int]()
    queues = {id(one.copy.queue): one.copy.queue for one in returned}
    got.update(id(one.copy.queue) for one in returned if one.consumer_tag is None)
    for place, queue in queues.items():
        if max(queue.most, len(queue.copies) - len(queue.gone)) > BATCH:
            yield declared(queue), "batch-of-many"
        if got[place] and got[place] + asked > BATCH:
            yield declared(queue), "batch-of-many-gets"


def _namesakes(channel: ChannelLife, settled: Iterable[Delivery]) -> Found:
    for one in settled:
        heir = channel.consumers.get(one.consumer_tag or "")
        if heir is not None and one.consumer is not None and heir is not one.consumer and heir.queue == one.queue:
            yield life(channel), "namesake-settled"
            return


def recovered(model: Model, connection: Connection, event: Event) -> Found:
    channel = connection.channels.get(event.channel)
    if channel is None:
        return
    if event.method == "basic.recover-async":
        yield life(channel), "recover-async"
    if "requeue" not in event.flags and channel.consumers:
        yield from on(channel, "recover-without-requeue")
    if "requeue" in event.flags and any(one.consumer_tag is None for one in channel.unacked.values()):
        yield life(channel), "gets-recovered"
    if any(one.copy.queue.deleted for one in channel.unacked.values()):
        yield f"connection {connection.name}", "deleted-queue-recovered"
    if channel.uncommitted:
        yield from on(channel, "recover-in-transaction-here")
    for queue in {one.queue for _, covered in channel.uncommitted for one in covered}:
        yield f"queue {queue}", "recover-in-transaction"
    if "requeue" in event.flags:
        yield from _batches(channel, channel.unacked.values())
    yield from _namesakes(channel, channel.unacked.values())
