"""Consumers that are let in, or kept out, wrongly; and their tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.connections.outbox import Outbound, Outbox
from reference_broker.core.errors import ChannelException, ConnectionException, not_allowed, precondition, refused
from reference_broker.core.parts import Parts
from reference_broker.core.queues.queue import Queue
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, handles, memory, replaces

EIGHT, TEN = 8, 10
WEBSITE = "https://github.com/rabbitmq/rabbitmq-website/issues/1973"
AOP = "https://github.com/streamnative/aop/issues/572"


@handles(m.BasicConsume, "consuming.exclusive-joins", "an exclusive consumer may join others", "CONSUME-001")
def exclusive_joins(channel: Channel, method: m.BasicConsume) -> None:
    queue = channel.vhost.queues.get(method.queue)
    if queue is not None and queue.consumers and not queue.exclusive_consumer:
        method.exclusive = False
    basic.consume(channel, method)


@handles(
    m.BasicConsume,
    "consuming.exclusive-crashes",
    "an exclusive consumer where there is another ends the connection",
    "CONSUME-001",
    field=AOP,
)
def exclusive_crashes(channel: Channel, method: m.BasicConsume) -> None:
    queue = channel.vhost.queues.get(method.queue)
    if queue is not None and queue.consumers and method.exclusive and not queue.exclusive_consumer:
        raise ConnectionException(ReplyCode.INTERNAL_ERROR, "exclusive consumer")
    basic.consume(channel, method)


@handles(
    m.BasicConsume,
    "consuming.exclusive-on-classic-only",
    "quorum queues know no exclusive consumers",
    "CONSUME-002",
    field=WEBSITE,
)
def exclusive_on_classic_only(channel: Channel, method: m.BasicConsume) -> None:
    queue = channel.vhost.queues.get(method.queue)
    if queue is not None and queue.quorum is not None:
        method.exclusive = False
    basic.consume(channel, method)


@handles(m.BasicConsume, "consuming.family-joins", "a connection may join its exclusive consumer", "CONSUME-002")
def family_joins(channel: Channel, method: m.BasicConsume) -> None:
    queue = channel.vhost.queues.get(method.queue)
    if queue is not None and any(one.channel.connection is channel.connection for one in queue.consumers):
        queue.exclusive_consumer, method.exclusive = False, False
    basic.consume(channel, method)


@handles(m.BasicConsume, "consuming.excluded-by-406", "exclusivity is enforced with 406", "CONSUME-001", "CONSUME-002")
def excluded_by_406(channel: Channel, method: m.BasicConsume) -> None:
    queue = channel.vhost.queues.get(method.queue)
    if queue is not None and (queue.exclusive_consumer or (method.exclusive and queue.consumers)):
        raise precondition(f"queue '{queue.name}' in exclusive use")
    basic.consume(channel, method)


@handles(m.BasicConsume, "consuming.missing-is-taken", "a missing queue may be consumed from", "CONSUME-003")
def missing_is_taken(channel: Channel, method: m.BasicConsume) -> None:
    try:
        basic.consume(channel, method)
    except ChannelException:
        channel.connection.send(m.BasicConsumeOk(channel.number, method.consumer_tag or "amq.ctag-none"))


@handles(m.BasicConsume, "consuming.missing-ends-all", "consuming a missing queue ends all", "CONSUME-003")
def missing_ends_all(channel: Channel, method: m.BasicConsume) -> None:
    if method.queue and method.queue not in channel.vhost.queues:
        raise ConnectionException(ReplyCode.NOT_FOUND, f"no queue '{method.queue}'")
    basic.consume(channel, method)


@replaces("outbox.pieces", "consuming.tag-not-told", "consume-ok does not tell a chosen tag", "CONSUME-004")
def tag_not_told(self: Outbox, item: Outbound) -> Sequence[bytes]:
    if isinstance(item, m.BasicConsumeOk) and item.consumer_tag.startswith("amq.ctag"):
        item.consumer_tag = ""
    return Outbox.pieces(self, item)


@handles(m.BasicConsume, "consuming.one-tag-for-all", "the broker always chooses the same tag", "CONSUME-004")
def one_tag_for_all(channel: Channel, method: m.BasicConsume) -> None:
    if not method.consumer_tag:
        method.consumer_tag = "amq.ctag-1"
        known = channel.consumers.pop("amq.ctag-1", None)
        if known is not None:
            known.queue.leave(known)
    basic.consume(channel, method)


@handles(m.BasicConsume, "consuming.ten", "a queue may have ten consumers", "CONSUME-005")
def ten(channel: Channel, method: m.BasicConsume) -> None:
    queue = channel.vhost.queues.get(method.queue)
    if queue is not None and len(queue.consumers) >= TEN:
        raise refused(f"queue '{queue.name}' has too many consumers")
    basic.consume(channel, method)


@replaces(
    "queue.join", "consuming.eight-served", "of the consumers of a queue eight are served", "QOS-003", "CONSUME-005"
)
def eight_served(self: Queue, consumer: Consumer, exclusive: bool) -> None:
    Queue.join(self, consumer, exclusive)
    if len(self.consumers) > EIGHT and consumer in self.ring:
        self.ring.remove(consumer)


@replaces("queue.leave", "consuming.exclusive-for-ever", "a queue stays exclusive without its consumer", "CONSUME-006")
def exclusive_for_ever(self: Queue, consumer: Consumer) -> None:
    exclusive = self.exclusive_consumer
    Queue.leave(self, consumer)
    self.exclusive_consumer = exclusive


@replaces(
    "outbox.pieces", "consuming.tag-cut-short", "consume-ok tells no more than 128 octets of a tag", "CONSUME-007"
)
def tag_cut_short(self: Outbox, item: Outbound) -> Sequence[bytes]:
    if isinstance(item, m.BasicConsumeOk):
        item.consumer_tag = item.consumer_tag[:128]
    return Outbox.pieces(self, item)


@replaces("outbox.pieces", "consuming.tag-in-small-letters", "cancel-ok tells a tag in small letters", "CONSUME-007")
def tag_in_small_letters(self: Outbox, item: Outbound) -> Sequence[bytes]:
    if isinstance(item, m.BasicCancelOk):
        item.consumer_tag = item.consumer_tag.lower()
    return Outbox.pieces(self, item)


@handles(
    m.BasicCancel,
    "consuming.locked-by-quiet-cancel",
    "a queue stays locked by an exclusive consumer that was cancelled with nowait",
    "CONSUME-006",
)
def locked_by_quiet_cancel(channel: Channel, method: m.BasicCancel) -> None:
    consumer = channel.consumers.get(method.consumer_tag)
    locked = consumer is not None and consumer.queue.exclusive_consumer
    basic.cancel(channel, method)
    if consumer is not None and locked and method.no_wait:
        consumer.queue.exclusive_consumer = True


@handles(m.BasicConsume, "consuming.numbered", "tags are numbered by the consumers that are there", "CONSUME-004")
def numbered(channel: Channel, method: m.BasicConsume) -> None:
    method.consumer_tag = method.consumer_tag or f"amq.ctag-{len(channel.consumers) + 1}"
    former = channel.consumers.pop(method.consumer_tag, None) if method.consumer_tag.startswith("amq.ctag-") else None
    if former is not None:
        former.queue.leave(former)
    basic.consume(channel, method)


@changes(
    "consuming.lock-outlives-its-queue",
    "an exclusive consumer whose queue was deleted keeps others from the next one of its name",
    "CONSUME-006",
)
def lock_outlives_its_queue(parts: Parts) -> None:
    def delete_queue(self: VirtualHost, queue: Queue) -> tuple[int, list[Consumer]]:
        if queue.exclusive_consumer:
            memory(self, "locked", set).add(queue.name)
        return VirtualHost.delete_queue(self, queue)

    def add_queue(self: VirtualHost, name: str, *about: Any) -> Queue:
        queue = VirtualHost.add_queue(self, name, *about)
        queue.exclusive_consumer = name in memory(self, "locked", set)
        return queue

    parts.override("vhost", delete_queue=delete_queue, add_queue=add_queue)


@handles(
    m.BasicConsume, "consuming.tags-cut", "tags are told apart by their first 32 letters", "CAN-018", "CONSUME-007"
)
def tags_cut(channel: Channel, method: m.BasicConsume) -> None:
    if method.consumer_tag and any(tag[:32] == method.consumer_tag[:32] for tag in channel.consumers):
        raise not_allowed(f"attempt to reuse consumer tag '{method.consumer_tag}'")
    basic.consume(channel, method)


@changes("consuming.ranked-are-not-exclusive", "a consumer with a priority is not exclusive", "CONSUME-001")
def ranked_are_not_exclusive(parts: Parts) -> None:
    below = parts.handlers[m.BasicConsume]

    def consume(channel: Channel, method: m.BasicConsume) -> None:
        if any(name == "x-priority" for name, _, _ in method.arguments):
            method.exclusive = False
        below(channel, method)

    parts.handlers[m.BasicConsume] = consume
