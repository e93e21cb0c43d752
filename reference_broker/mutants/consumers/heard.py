"""What else users have complained of: slots of quorum queues, and consumers of the pseudo-queue for replies."""

from __future__ import annotations

from typing import Any

from codec import methods as m
from reference_broker.core.channels import channel as fates
from reference_broker.core.channels import replies
from reference_broker.core.channels.channel import Channel, Fate
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Entry, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes, memory

LAVINMQ = "https://github.com/cloudamqp/lavinmq/commit/{}"
RABBITMQ = "https://github.com/rabbitmq/rabbitmq-server/commit/{}"


@changes(
    "heard.one-too-many-frees-two",
    "a return beyond the delivery limit frees two slots of its consumer",
    "QOS-018",
    field=RABBITMQ.format("03659864bb"),
)
def one_too_many_frees_two(parts: Parts) -> None:
    below = parts.queue

    def exceed(self: Queue, entry: Entry, delivery: Delivery) -> None:
        if delivery.consumer is not None:
            delivery.consumer.own.held -= 1
        below.exceed(self, entry, delivery)

    parts.override("queue", exceed=exceed)


@changes(
    "heard.returned-to-quorum-held",
    "what a consumer gives back to a quorum queue still takes up its slot",
    "QOS-018",
    "QOS-019",
    field=RABBITMQ.format("735810edf5"),
)
def returned_to_quorum_held(parts: Parts) -> None:
    below = parts.channel

    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        for one in deliveries if fate in fates.RETURNS else []:
            if one.consumer is not None and one.queue.quorum is not None and not one.stale:
                one.consumer.own.held += 1
        below.finish(self, deliveries, fate)

    parts.override("channel", finish=finish)


@changes(
    "heard.rolled-back-free",
    "what a rollback makes outstanding again takes up no slots",
    "QOS-001",
    "QOS-026",
    field="https://issues.apache.org/jira/browse/QPID-7425",
)
def rolled_back_free(parts: Parts) -> None:
    below, channels = parts.transaction, parts.channel

    def rollback(self: Transaction, channel: Channel) -> None:
        again, free = self.take_settled(), memory(channel, "free", list)
        self.settled.append((again, fates.acked))
        below.rollback(self, channel)
        of_consumers = [(one, one.consumer) for one in again if one.consumer is not None]
        for one, consumer in of_consumers:
            if one not in free:
                free.append(one)
                consumer.release()
        for _, consumer in of_consumers:
            consumer.wake()

    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        for one in deliveries:
            if one in memory(self, "free", list) and one.consumer is not None:
                one.consumer.hold()
        channels.finish(self, deliveries, fate)

    parts.override("transaction", rollback=rollback)
    parts.override("channel", finish=finish)


@changes(
    "heard.replies-unanswered",
    "who begins to consume replies gets no consume-ok",
    "ERR-014",
    "DRT-005",
    field=LAVINMQ.format("3ad0c8cd6"),
)
def replies_unanswered(parts: Parts) -> None:
    below = parts.handlers[m.BasicConsume]

    def consume(channel: Channel, method: m.BasicConsume) -> None:
        if method.queue == replies.REPLY_TO:
            method.no_wait = True
        below(channel, method)

    parts.handlers[m.BasicConsume] = consume


@changes(
    "heard.replies-to-the-replier",
    "a reply comes to the channel that publishes it",
    "DRT-005",
    "DRT-006",
    "ERR-013",
    field=LAVINMQ.format("f5b5a5249"),
)
def replies_to_the_replier(parts: Parts) -> None:
    below = parts.channel

    def publish(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
        address: Any = None if exchange else self.vhost.replies.get(message.routing_key)
        if address is None:
            return below.publish(self, exchange, message, mandatory)
        method = m.BasicDeliver(self.number, address.tag, self.next_tag(), False, exchange, message.routing_key)
        self.connection.send_content(method, message)
        return True

    parts.override("channel", publish=publish)
