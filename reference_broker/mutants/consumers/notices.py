"""Wrong ends of consumers by the broker: who is notified, how often, and what becomes of the rest."""

from __future__ import annotations

from typing import Any

from codec import methods as m
from codec import values
from reference_broker.core.channels import topology
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.connection import Connection
from reference_broker.core.errors import not_found, precondition
from reference_broker.core.parts import Parts
from reference_broker.mutants.kinds import changes, handles, memory, replaces

NOTICE = "consumer_cancel_notify"


@replaces(
    "connection.announces_cancel",
    "cancel.notifies-everybody",
    "clients are notified of ended consumers whether or not they announced that they want it",
    "CAN-001",
    "CAN-004",
)
def notifies_everybody(self: Connection) -> bool:
    return True


@replaces(
    "connection.announces_cancel",
    "cancel.any-true-value",
    "the number 1 or the word true will do as announcement of the capability",
    "CAN-001",
)
def any_true_value(self: Connection) -> bool:
    return bool(self.capabilities.get(NOTICE))


@replaces(
    "connection.log_in",
    "cancel.capability-outside",
    "the capability is looked for among the client properties, not in their table of capabilities",
    "CAN-001",
    "CAN-003",
)
def capability_outside(self: Connection, method: m.ConnectionStartOk) -> None:
    Connection.log_in(self, method)
    self.capabilities = {NOTICE: values.lookup(method.client_properties, NOTICE)}


def introduced(self: Connection, properties: dict[str, Any]) -> None:
    """Say something else in connection.start."""
    start = next(item for item in self.outbox.items if isinstance(item, m.ConnectionStart))
    start.server_properties = values.table(properties)


def honest_properties(self: Connection) -> dict[str, Any]:
    return values.plain(self.broker.server_properties)


@replaces(
    "connection.greet",
    "cancel.unannounced",
    "the broker notifies, and does not say so in its server properties",
    "CAN-002",
)
def unannounced(self: Connection, data: bytes) -> bytes:
    rest = Connection.greet(self, data)
    if any(isinstance(item, m.ConnectionStart) for item in self.outbox.items):
        properties = honest_properties(self)
        del properties["capabilities"][NOTICE]
        introduced(self, properties)
    return rest


@replaces(
    "connection.greet",
    "cancel.announced-outside",
    "the broker says that it notifies beside its table of capabilities",
    "CAN-002",
)
def announced_outside(self: Connection, data: bytes) -> bytes:
    rest = Connection.greet(self, data)
    if any(isinstance(item, m.ConnectionStart) for item in self.outbox.items):
        properties = honest_properties(self)
        properties[NOTICE] = properties["capabilities"].pop(NOTICE)
        introduced(self, properties)
    return rest


@replaces(
    "channel.cancelled",
    "cancel.notifies-first-only",
    "of several consumers of a deleted queue only one is notified",
    "CAN-003",
)
def notifies_first_only(self: Channel, consumer: Consumer) -> None:
    told = memory(consumer.queue, "told", list)
    told.append(consumer)
    if len(told) == 1:
        Channel.cancelled(self, consumer)
    else:
        del self.consumers[consumer.tag]


@changes(
    "cancel.spares-the-deleter",
    "the channel that deletes a queue is not told that its own consumers have ended",
    "CAN-003",
)
def spares_the_deleter(parts: Parts) -> None:
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


@replaces("channel.cancelled", "cancel.notifies-twice", "each consumer of a deleted queue is notified twice", "CAN-003")
def notifies_twice(self: Channel, consumer: Consumer) -> None:
    Channel.cancelled(self, consumer)
    if self.connection.announces_cancel():
        self.connection.send(m.BasicCancel(self.number, consumer.tag, True))


@replaces("channel.cancelled", "cancel.wants-an-answer", "notifications do not have nowait set", "CAN-003")
def wants_an_answer(self: Channel, consumer: Consumer) -> None:
    del self.consumers[consumer.tag]
    if self.connection.announces_cancel():
        self.connection.send(m.BasicCancel(self.number, consumer.tag, False))


@replaces(
    "channel.cancelled",
    "cancel.closes-the-deaf",
    "a channel whose client is not notified is closed when one of its queues is deleted",
    "CAN-004",
)
def closes_the_deaf(self: Channel, consumer: Consumer) -> None:
    if self.connection.announces_cancel():
        Channel.cancelled(self, consumer)
    elif self.consumers.get(consumer.tag) is consumer:
        close_for(self, consumer)


def close_for(self: Channel, consumer: Consumer) -> None:
    """All consumers of the channel whose queue is gone have gone with it."""
    for tag in [tag for tag, one in self.consumers.items() if one.queue is consumer.queue]:
        del self.consumers[tag]
    self.connection.close_channel(self, not_found("queue", consumer.queue.name), (0, 0))


@replaces(
    "channel.cancelled",
    "cancel.closes-instead-of-telling",
    "a channel whose client is to be notified is closed instead when one of its queues is deleted",
    "CAN-003",
)
def closes_instead_of_telling(self: Channel, consumer: Consumer) -> None:
    if not self.connection.announces_cancel():
        Channel.cancelled(self, consumer)
    elif self.consumers.get(consumer.tag) is consumer:
        close_for(self, consumer)


@replaces("channel.cancelled", "cancel.delivers-after-notice", "one more delivery follows the notification", "CAN-010")
def delivers_after_notice(self: Channel, consumer: Consumer) -> None:
    Channel.cancelled(self, consumer)
    if consumer.queue.ready:
        self.deliver(consumer, consumer.queue.ready.pop())


@replaces(
    "channel.cancelled",
    "cancel.stops-the-channel",
    "when one consumer loses its queue, the others of its channel are no longer served",
    "CAN-011",
)
def stops_the_channel(self: Channel, consumer: Consumer) -> None:
    Channel.cancelled(self, consumer)
    for other in self.consumers.values():
        if other in other.queue.consumers:
            other.queue.leave(other)
            other.queue.consumers[other] = None


@replaces(
    "channel.settle",
    "cancel.deliveries-unknown",
    "deliveries of a deleted queue cannot be settled any more",
    "CAN-012",
    "ACK-017",
)
def deliveries_unknown(self: Channel, deliveries: list[Delivery], fate: Any) -> None:
    if any(delivery.queue.deleted for delivery in deliveries):
        raise precondition(f"unknown delivery tag {deliveries[-1].tag}")
    Channel.settle(self, deliveries, fate)


@replaces("channel.cancelled", "notices.exclusive-untold", "consumers of exclusive queues are not notified", "CAN-003")
def exclusive_untold(self: Channel, consumer: Consumer) -> None:
    if consumer.queue.owner is not None:
        del self.consumers[consumer.tag]
    else:
        Channel.cancelled(self, consumer)


@handles(m.QueueDelete, "notices.quiet-deletion", "nobody is notified of a deletion with nowait", "CAN-003")
def quiet_deletion(channel: Channel, method: m.QueueDelete) -> None:
    if not method.no_wait:
        topology.queue_delete(channel, method)
        return
    for consumer in topology.remove_queue(channel, method)[1]:
        del consumer.channel.consumers[consumer.tag]


@changes("notices.none-in-transactions", "a transactional channel is not notified", "CAN-003")
def none_in_transactions(parts: Parts) -> None:
    below = parts.channel

    def cancelled(self: Channel, consumer: Consumer) -> None:
        if self.transaction is None:
            below.cancelled(self, consumer)
        else:
            del self.consumers[consumer.tag]

    parts.override("channel", cancelled=cancelled)


@handles(m.QueueDelete, "cancel.equal-tags", "a connection is notified once of each tag", "CAN-003")
def equal_tags(channel: Channel, method: m.QueueDelete) -> None:
    count, consumers = topology.remove_queue(channel, method)
    if not method.no_wait:
        channel.connection.send(m.QueueDeleteOk(channel.number, count))
    told: set[tuple[Connection, str]] = set()
    for consumer in consumers:
        known = consumer.channel.connection, consumer.tag
        if known in told:
            del consumer.channel.consumers[consumer.tag]
        else:
            consumer.channel.cancelled(consumer)
        told.add(known)


@changes("notices.quiet-consumers", "consumers that were started with nowait are not notified", "CAN-003")
def quiet_consumers(parts: Parts) -> None:
    below, consumes = parts.channel, parts.handlers[m.BasicConsume]

    def consume(channel: Channel, method: m.BasicConsume) -> None:
        before = {*channel.consumers}
        consumes(channel, method)
        if method.no_wait:
            memory(channel, "quiet", set).update({*channel.consumers} - before)

    def cancelled(self: Channel, consumer: Consumer) -> None:
        if consumer.tag in memory(self, "quiet", set):
            del self.consumers[consumer.tag]
        else:
            below.cancelled(self, consumer)

    parts.handlers[m.BasicConsume] = consume
    parts.override("channel", cancelled=cancelled)


@changes(
    "cancel.quiet-deletion-is-not-told",
    "a deletion without an answer is told to the consumers of its own channel alone",
    "CAN-003",
)
def quiet_deletion_is_not_told(parts: Parts) -> None:
    below, channels = parts.handlers[m.QueueDelete], parts.channel

    def delete(channel: Channel, method: m.QueueDelete) -> None:
        quiet: list[Channel] = memory(channel.vhost, "quiet", list)
        quiet += [channel] if method.no_wait else []
        try:
            below(channel, method)
        finally:
            quiet.clear()

    def cancelled(self: Channel, consumer: Consumer) -> None:
        quiet: list[Channel] = memory(self.vhost, "quiet", list)
        if quiet and self not in quiet:
            del self.consumers[consumer.tag]
        else:
            channels.cancelled(self, consumer)

    parts.handlers[m.QueueDelete] = delete
    parts.override("channel", cancelled=cancelled)
