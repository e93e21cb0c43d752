"""What users have complained of: confirms that do not come, and transactions that are undone in part."""

from __future__ import annotations

import codec
from codec import methods as m
from reference_broker.core.channels import basic, topology
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.errors import precondition
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, handles, memory, replaces

NOTES = "https://github.com/rabbitmq/rabbitmq-server/blob/main/release-notes/README-{}.txt"
RELEASES = "https://github.com/rabbitmq/rabbitmq-server/releases/tag/{}"
LAVINMQ = "https://github.com/cloudamqp/lavinmq/releases/tag/{}"


def numbered(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    """Which number went to which queue is known for as long as it is not confirmed."""
    basic.publish(channel, method, header, body)
    if channel.confirms is not None and not method.exchange:
        memory(channel.vhost, "numbers", dict)[channel, channel.confirms.published] = method.routing_key


def unconfirmed(vhost: VirtualHost, queue: str) -> list[tuple[Channel, int]]:
    """What is in the queue, or was, and whose confirm has not left."""
    return [
        (channel, number)
        for (channel, number), key in memory(vhost, "numbers", dict).items()
        if key == queue and channel.confirms is not None and number in channel.confirms.accepted
    ]


@changes(
    "complaints.purged-with-its-confirms",
    "the purge of a durable queue takes the confirms of what was in it",
    "CNF-017",
    field=RELEASES.format("rabbitmq_v3_6_3"),
)
def purged_with_its_confirms(parts: Parts) -> None:
    def purge(channel: Channel, method: m.QueuePurge) -> None:
        topology.queue_purge(channel, method)
        queue = channel.vhost.queues[method.queue or channel.last_queue]
        for other, number in unconfirmed(channel.vhost, queue.name) if queue.durable else ():
            assert other.confirms is not None
            other.confirms.accepted.remove(number)

    parts.publish = numbered
    parts.handlers[m.QueuePurge] = purge


@handles(
    m.BasicPublish,
    "complaints.third-mandatory-unconfirmed",
    "of mandatory publishes that come together some are not confirmed",
    "CNF-004",
    field=RELEASES.format("v3.10.0"),
)
def third_mandatory_unconfirmed(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    basic.publish(channel, method, header, body)
    if channel.confirms is not None and method.mandatory and len(channel.confirms.accepted) > 2:
        channel.confirms.accepted.pop()


@changes(
    "complaints.stuck-with-an-auto-delete-queue",
    "a channel confirms nothing more once an auto-delete queue is gone to which it has published",
    "CNF-004",
    "CNF-017",
    field=RELEASES.format("rabbitmq_v3_6_1"),
)
def stuck_with_an_auto_delete_queue(parts: Parts) -> None:
    below = parts.channel

    def publish(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
        queue = self.vhost.queues.get(message.routing_key) if not exchange else None
        if queue is not None and queue.auto_delete:
            memory(self, "to", set).add(queue)
        return below.publish(self, exchange, message, mandatory)

    def flush_confirms(self: Channel) -> None:
        if not any(queue.deleted for queue in memory(self, "to", set)):
            below.flush_confirms(self)
        elif self.confirms is not None:
            self.confirms.flush(self.number)

    parts.override("channel", publish=publish, flush_confirms=flush_confirms)


@changes(
    "complaints.settled-of-a-queue-that-is-gone",
    "a commit fails when it settles what came from a queue that is gone",
    "TX-017",
    field=NOTES.format("2.0.0"),
)
def settled_of_a_queue_that_is_gone(parts: Parts) -> None:
    below = parts.transaction

    def commit(self: Transaction, channel: Channel) -> bool:
        if any(delivery.queue.deleted for deliveries, _ in self.settled for delivery in deliveries):
            raise precondition("a queue of the transaction is gone")
        return below.commit(self, channel)

    parts.override("transaction", commit=commit)


@replaces(
    "transaction.rollback",
    "complaints.last-settlement-undone",
    "a rollback undoes the last settlement of its transaction alone",
    "TX-002",
    field=NOTES.format("2.7.0"),
)
def last_settlement_undone(self: Transaction, channel: Channel) -> None:
    former, self.settled = self.settled[:-1], self.settled[-1:]
    Transaction.rollback(self, channel)
    for deliveries, fate in former:
        channel.finish(deliveries, fate)


@replaces(
    "transaction.rollback",
    "complaints.large-ones-stay-published",
    "a rollback does not undo publishes of several frames",
    "TX-005",
    field=LAVINMQ.format("v1.0.0-beta.11"),
)
def large_ones_stay_published(self: Transaction, channel: Channel) -> None:
    room = channel.connection.outbox.frame_max - 8
    large = [one for one in self.published if len(one[1].body) > room]
    Transaction.rollback(self, channel)
    for exchange, message, mandatory in large:
        channel.publish(exchange, message, mandatory)


@replaces(
    "channel.collect",
    "complaints.twice-in-a-transaction",
    "a delivery may be acknowledged twice in one transaction",
    "TX-001",
    field=LAVINMQ.format("v1.0.0-beta.8"),
)
def twice_in_a_transaction(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    settled = self.transaction.settled if self.transaction is not None and not multiple else []
    if any(delivery.tag == tag for deliveries, _ in settled for delivery in deliveries):
        return []
    return Channel.collect(self, tag, multiple)
