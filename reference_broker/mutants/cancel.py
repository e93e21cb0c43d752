"""Wrong ends of consumers: who is notified, how cancels are answered, what comes after."""

from __future__ import annotations

from typing import Any

from codec import methods as m
from codec import values
from codec.errors import ReplyCode
from reference_broker import basic, topology
from reference_broker.channel import Channel
from reference_broker.connection import Connection
from reference_broker.errors import ConnectionException, not_allowed, not_found, precondition
from reference_broker.mutants.kinds import Mutant, changes, memory, replaces
from reference_broker.parts import Parts
from reference_broker.prefetch import Consumer
from reference_broker.unacked import Delivery

MUTANTS: list[Mutant] = []
NOTICE = "consumer_cancel_notify"

# -- notifications


@replaces(
    "connection.announces_cancel",
    MUTANTS,
    "cancel.notifies-everybody",
    "clients are notified of ended consumers whether or not they announced that they want it",
    "CAN-001",
    "CAN-004",
)
def _(self: Connection) -> bool:
    return True


@replaces(
    "connection.announces_cancel",
    MUTANTS,
    "cancel.any-true-value",
    "the number 1 or the word true will do as announcement of the capability",
    "CAN-001",
)
def _(self: Connection) -> bool:
    return bool(self.capabilities.get(NOTICE))


@replaces(
    "connection.log_in",
    MUTANTS,
    "cancel.capability-outside",
    "the capability is looked for among the client properties, not in their table of capabilities",
    "CAN-001",
    "CAN-003",
)
def _(self: Connection, method: m.ConnectionStartOk) -> None:
    Connection.log_in(self, method)
    self.capabilities = {NOTICE: values.lookup(method.client_properties, NOTICE)}


def introduced(self: Connection, properties: dict[str, Any]) -> None:
    """Say something else in connection.start."""
    start = next(item for item in self.outbox if isinstance(item, m.ConnectionStart))
    start.server_properties = values.table(properties)


def honest_properties(self: Connection) -> dict[str, Any]:
    return values.plain(self.broker.server_properties)


@replaces(
    "connection.greet",
    MUTANTS,
    "cancel.unannounced",
    "the broker notifies, and does not say so in its server properties",
    "CAN-002",
)
def _(self: Connection, data: bytes) -> bytes:
    rest = Connection.greet(self, data)
    if any(isinstance(item, m.ConnectionStart) for item in self.outbox):
        properties = honest_properties(self)
        del properties["capabilities"][NOTICE]
        introduced(self, properties)
    return rest


@replaces(
    "connection.greet",
    MUTANTS,
    "cancel.announced-outside",
    "the broker says that it notifies beside its table of capabilities",
    "CAN-002",
)
def _(self: Connection, data: bytes) -> bytes:
    rest = Connection.greet(self, data)
    if any(isinstance(item, m.ConnectionStart) for item in self.outbox):
        properties = honest_properties(self)
        properties[NOTICE] = properties["capabilities"].pop(NOTICE)
        introduced(self, properties)
    return rest


@replaces(
    "channel.cancelled",
    MUTANTS,
    "cancel.notifies-first-only",
    "of several consumers of a deleted queue only one is notified",
    "CAN-003",
)
def _(self: Channel, consumer: Consumer) -> None:
    told = memory(consumer.queue, "told", list)
    told.append(consumer)
    if len(told) == 1:
        Channel.cancelled(self, consumer)
    else:
        del self.consumers[consumer.tag]


@changes(
    MUTANTS,
    "cancel.spares-the-deleter",
    "the channel that deletes a queue is not told that its own consumers have ended",
    "CAN-003",
)
def _(parts: Parts) -> None:
    def queue_delete(channel: Channel, method: m.QueueDelete) -> None:
        memory(channel, "deleting", list).append(True)
        topology.queue_delete(channel, method)
        memory(channel, "deleting", list).clear()

    def cancelled(self: Channel, consumer: Consumer) -> None:
        if memory(self, "deleting", list):
            del self.consumers[consumer.tag]
        else:
            Channel.cancelled(self, consumer)

    parts.handlers[m.QueueDelete] = queue_delete
    parts.override("channel", cancelled=cancelled)


@replaces(
    "channel.cancelled",
    MUTANTS,
    "cancel.notifies-twice",
    "each consumer of a deleted queue is notified twice",
    "CAN-003",
)
def _(self: Channel, consumer: Consumer) -> None:
    Channel.cancelled(self, consumer)
    if self.connection.announces_cancel():
        self.connection.send(m.BasicCancel(self.number, consumer.tag, True))


@replaces(
    "channel.cancelled",
    MUTANTS,
    "cancel.wants-an-answer",
    "notifications do not have nowait set",
    "CAN-003",
)
def _(self: Channel, consumer: Consumer) -> None:
    del self.consumers[consumer.tag]
    if self.connection.announces_cancel():
        self.connection.send(m.BasicCancel(self.number, consumer.tag, False))


@replaces(
    "channel.cancelled",
    MUTANTS,
    "cancel.closes-the-deaf",
    "a channel whose client is not notified is closed when one of its queues is deleted",
    "CAN-004",
)
def _(self: Channel, consumer: Consumer) -> None:
    Channel.cancelled(self, consumer)
    if not self.connection.announces_cancel() and not self.closing:
        self.connection.close_channel(self, not_found("queue", consumer.queue.name), (0, 0))


@replaces(
    "channel.cancelled",
    MUTANTS,
    "cancel.delivers-after-notice",
    "one more delivery follows the notification",
    "CAN-010",
)
def _(self: Channel, consumer: Consumer) -> None:
    Channel.cancelled(self, consumer)
    if consumer.queue.ready:
        self.deliver(consumer, consumer.queue.ready.pop())


@replaces(
    "channel.cancelled",
    MUTANTS,
    "cancel.stops-the-channel",
    "when one consumer loses its queue, the others of its channel are no longer served",
    "CAN-011",
)
def _(self: Channel, consumer: Consumer) -> None:
    Channel.cancelled(self, consumer)
    for other in self.consumers.values():
        if other in other.queue.consumers:
            other.queue.leave(other)
            other.queue.consumers[other] = None


@replaces(
    "channel.settle",
    MUTANTS,
    "cancel.deliveries-unknown",
    "deliveries of a deleted queue cannot be settled any more",
    "CAN-012",
    "ACK-017",
)
def _(self: Channel, deliveries: list[Delivery], fate: Any) -> None:
    if any(delivery.queue.deleted for delivery in deliveries):
        raise precondition(f"unknown delivery tag {deliveries[-1].tag}")
    Channel.settle(self, deliveries, fate)


# -- the client's cancel


def ended_by_broker(self: Channel, consumer: Consumer) -> None:
    Channel.cancelled(self, consumer)
    memory(self, "ended", set).add(consumer.tag)


def ended(channel: Channel, tag: str) -> bool:
    """Did the broker end a consumer with this tag, and is there no other one?"""
    return tag in memory(channel, "ended", set) and tag not in channel.consumers


@changes(
    MUTANTS,
    "cancel.answers-and-notifies",
    "the client's own cancel is answered, and brings a notification too",
    "CAN-005",
)
def _(parts: Parts) -> None:
    def cancel(channel: Channel, method: m.BasicCancel) -> None:
        known = method.consumer_tag in channel.consumers
        basic.cancel(channel, method)
        if known and channel.connection.announces_cancel():
            channel.connection.send(m.BasicCancel(channel.number, method.consumer_tag, True))

    parts.handlers[m.BasicCancel] = cancel


@changes(
    MUTANTS,
    "cancel.unknown-tag-refused",
    "cancelling a tag that no consumer of the channel has closes the channel with 404",
    "CAN-006",
    "CAN-007",
    "CAN-008",
)
def _(parts: Parts) -> None:
    def cancel(channel: Channel, method: m.BasicCancel) -> None:
        if method.consumer_tag not in channel.consumers:
            raise not_found("consumer", method.consumer_tag)
        basic.cancel(channel, method)

    parts.handlers[m.BasicCancel] = cancel


@changes(
    MUTANTS,
    "cancel.crossing-unanswered",
    "a cancel for a consumer that the broker has ended is not answered",
    "CAN-006",
    "CAN-008",
)
def _(parts: Parts) -> None:
    def cancel(channel: Channel, method: m.BasicCancel) -> None:
        if not ended(channel, method.consumer_tag):
            basic.cancel(channel, method)

    parts.handlers[m.BasicCancel] = cancel
    parts.override("channel", cancelled=ended_by_broker)


@changes(
    MUTANTS,
    "cancel.crossing-answered-twice",
    "a cancel for a consumer that the broker has ended is answered twice",
    "CAN-008",
)
def _(parts: Parts) -> None:
    def cancel(channel: Channel, method: m.BasicCancel) -> None:
        if ended(channel, method.consumer_tag):
            basic.cancel(channel, method)
        basic.cancel(channel, method)

    parts.handlers[m.BasicCancel] = cancel
    parts.override("channel", cancelled=ended_by_broker)


@changes(
    MUTANTS,
    "cancel.crossing-crashes",
    "a cancel for a consumer that the broker has ended closes the connection with 541",
    "CAN-006",
    "CAN-008",
)
def _(parts: Parts) -> None:
    def cancel(channel: Channel, method: m.BasicCancel) -> None:
        if ended(channel, method.consumer_tag):
            raise ConnectionException(ReplyCode.INTERNAL_ERROR, offender=(0, 0))
        basic.cancel(channel, method)

    parts.handlers[m.BasicCancel] = cancel
    parts.override("channel", cancelled=ended_by_broker)


@changes(
    MUTANTS,
    "cancel.answered-only",
    "basic.cancel is answered, and the consumer served on",
    "CAN-009",
)
def _(parts: Parts) -> None:
    def cancel(channel: Channel, method: m.BasicCancel) -> None:
        if method.no_wait:
            basic.cancel(channel, method)
        else:
            channel.connection.send(m.BasicCancelOk(channel.number, method.consumer_tag))

    parts.handlers[m.BasicCancel] = cancel


@changes(
    MUTANTS,
    "cancel.nowait-answered",
    "basic.cancel with nowait is answered all the same",
    "CAN-014",
)
def _(parts: Parts) -> None:
    def cancel(channel: Channel, method: m.BasicCancel) -> None:
        basic.cancel(channel, m.BasicCancel(channel.number, method.consumer_tag, False))

    parts.handlers[m.BasicCancel] = cancel


@changes(
    MUTANTS,
    "cancel.nowait-ignored",
    "basic.cancel with nowait does nothing",
    "CAN-014",
)
def _(parts: Parts) -> None:
    def cancel(channel: Channel, method: m.BasicCancel) -> None:
        if not method.no_wait:
            basic.cancel(channel, method)

    parts.handlers[m.BasicCancel] = cancel


@changes(
    MUTANTS,
    "cancel.client-answer-crashes",
    "a basic.cancel-ok of the client closes the connection with 541",
    "CAN-017",
)
def _(parts: Parts) -> None:
    def cancel_ok(channel: Channel, method: m.BasicCancelOk) -> None:
        raise ConnectionException(ReplyCode.INTERNAL_ERROR, offender=(0, 0))

    parts.handlers[m.BasicCancelOk] = cancel_ok


# -- tags


@changes(
    MUTANTS,
    "cancel.tag-stays-taken",
    "the tag of a consumer that has ended cannot be used again",
    "CAN-013",
)
def _(parts: Parts) -> None:
    def consume(channel: Channel, method: m.BasicConsume) -> None:
        used = memory(channel, "used", set)
        if method.consumer_tag in used:
            raise not_allowed(f"attempt to reuse consumer tag '{method.consumer_tag}'")
        if method.consumer_tag:
            used.add(method.consumer_tag)
        basic.consume(channel, method)

    parts.handlers[m.BasicConsume] = consume


@changes(
    MUTANTS,
    "cancel.delivers-before-consume-ok",
    "a new consumer is served before consume-ok is sent",
    "CAN-015",
)
def _(parts: Parts) -> None:
    def consume(channel: Channel, method: m.BasicConsume) -> None:
        silent, method.no_wait = method.no_wait, True
        basic.consume(channel, method)
        if not silent:
            channel.connection.send(m.BasicConsumeOk(channel.number, next(reversed(channel.consumers))))

    parts.handlers[m.BasicConsume] = consume


@changes(
    MUTANTS,
    "cancel.second-replaces-first",
    "a consumer with a tag that is in use takes the place of the first one",
    "CAN-018",
)
def _(parts: Parts) -> None:
    def consume(channel: Channel, method: m.BasicConsume) -> None:
        channel.cancel(method.consumer_tag)
        basic.consume(channel, method)

    parts.handlers[m.BasicConsume] = consume


@changes(
    MUTANTS,
    "cancel.tag-taken-everywhere",
    "a tag that a consumer has on another channel of the connection is refused",
    "CAN-018",
)
def _(parts: Parts) -> None:
    def consume(channel: Channel, method: m.BasicConsume) -> None:
        if any(method.consumer_tag in other.consumers for other in channel.connection.channels.values()):
            raise not_allowed(f"attempt to reuse consumer tag '{method.consumer_tag}'")
        basic.consume(channel, method)

    parts.handlers[m.BasicConsume] = consume
