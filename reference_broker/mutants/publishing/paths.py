"""Reported of where messages go: exchanges, bindings, returns, dead letters, and what a restart leaves."""

from __future__ import annotations

from typing import Any

from codec import methods as m
from reference_broker.core.channels import topology
from reference_broker.core.channels.channel import Channel, Fate, discarded
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.errors import not_found
from reference_broker.core.parts import Parts
from reference_broker.core.queues.deadletter import earlier_deaths
from reference_broker.core.queues.message import PERSISTENT, Entry, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Topic
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, fails, handles, memory, replaces

NOTES = "https://github.com/rabbitmq/rabbitmq-server/blob/main/release-notes/README-{}.txt"
RELEASES = "https://github.com/rabbitmq/rabbitmq-server/releases/tag/{}"
RABBITMQ = "https://github.com/rabbitmq/rabbitmq-server/{}"
QPID = "https://issues.apache.org/jira/browse/{}"
OTTERMQ = "https://github.com/ottermq/ottermq/releases/tag/{}"
LAVINMQ = "https://github.com/cloudamqp/lavinmq/{}"
THRICE, CHAIN = 3, 4

# -- exchanges and bindings


@handles(
    m.ExchangeDelete,
    "paths.deletion-of-nothing",
    "the deletion of an exchange that is not there ends the connection with an internal error",
    "ERR-012",
    "EXCH-015",
    field=NOTES.format("1.5.5"),
)
def deletion_of_nothing(channel: Channel, method: m.ExchangeDelete) -> None:
    if method.exchange and method.exchange not in channel.vhost.exchanges:
        raise fails()
    topology.exchange_delete(channel, method)


@replaces(
    "vhost.drop_binding",
    "paths.namesakes-of-topics",
    "a topic exchange leads to a queue by a key no more once one of two bindings with different arguments is unbound",
    "BIND-012",
    field=NOTES.format("3.3.0"),
)
def namesakes_of_topics(self: VirtualHost, binding: Binding) -> None:
    source = binding.source
    VirtualHost.drop_binding(self, binding)
    if not isinstance(source, Topic):
        return
    gone: set[Binding] = memory(source, "gone", set)
    for other in list(source.bindings):
        if (other.destination, other.key) == (binding.destination, binding.key) and other not in gone:
            source.remove(other)
            gone.add(other)
    vars(source)["remove"] = lambda one: None if one in gone else Topic.remove(source, one)


@handles(
    m.QueueBind,
    "paths.key-of-the-last-queue",
    "where neither queue nor key is named a queue is bound with the empty key",
    "QUEUE-015",
    "ROUTE-001",
    field=NOTES.format("1.3.0"),
)
def key_of_the_last_queue(channel: Channel, method: m.QueueBind) -> None:
    method.queue = method.queue or channel.last_queue
    topology.queue_bind(channel, method)


# -- publishing


@changes(
    "paths.nowhere-and-not-mandatory",
    "what goes nowhere and is not mandatory is never confirmed",
    "CNF-008",
    field=QPID.format("QPID-7948"),
)
def nowhere_and_not_mandatory(parts: Parts) -> None:
    below = parts.publish

    def publish(channel: Channel, method: m.BasicPublish, header: Any, body: bytes) -> None:
        below(channel, method, header, body)
        confirms = channel.confirms
        if confirms is None or channel.transaction is not None or method.mandatory:
            return
        message = Message(method.exchange, method.routing_key, header, body)
        if not list(channel.vhost.route(method.exchange, message)):
            confirms.wait(confirms.published)

    parts.publish = publish


@changes(
    "paths.nowhere-costs-the-channel",
    "a publish by the default exchange to a missing queue closes the channel with 404",
    "CNF-008",
    "CNF-009",
    "RETURN-001",
)
def nowhere_costs_the_channel(parts: Parts) -> None:
    below = parts.publish

    def publish(channel: Channel, method: m.BasicPublish, header: Any, body: bytes) -> None:
        message = Message(method.exchange, method.routing_key, header, body)
        if not method.exchange and not list(channel.vhost.route("", message)):
            raise not_found("queue", method.routing_key)
        below(channel, method, header, body)

    parts.publish = publish


@replaces(
    "queue.publish",
    "paths.just-full",
    "a publish to a queue that holds just what it may ends the connection",
    "ERR-012",
    "LEN-002",
    field=LAVINMQ.format("releases/tag/v0.9.11"),
)
def just_full(self: Queue, message: Message) -> bool:
    if self.settings.max_length and len(self.ready) == self.settings.max_length and not self.settings.overflow:
        raise fails()
    return Queue.publish(self, message)


@changes(
    "paths.commit-into-the-deleted",
    "a commit of persistent messages ends the connection when their durable queue has been deleted by another channel",
    "TX-017",
    field=NOTES.format("2.6.0"),
)
def commit_into_the_deleted(parts: Parts) -> None:
    below = parts.transaction

    def publish(self: Transaction, channel: Channel, exchange: str, message: Message, mandatory: bool) -> None:
        queue = channel.vhost.queues.get(message.routing_key) if not exchange else None
        if queue is not None and queue.durable and message.header.delivery_mode == PERSISTENT:
            memory(self, "into", list).append(queue)
        below.publish(self, channel, exchange, message, mandatory)

    def commit(self: Transaction, channel: Channel) -> bool:
        into, memory(self, "into", list)[:] = list(memory(self, "into", list)), []
        if any(queue.deleted for queue in into):
            raise fails()
        return below.commit(self, channel)

    parts.override("transaction", publish=publish, commit=commit)


# -- dead letters


@replaces(
    "vhost.dead",
    "paths.third-death",
    "a message that has died twice makes no dead letter any more",
    "DLX-012",
    "DLX-001",
    field=RABBITMQ.format("issues/216"),
)
def third_death(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
    counts = [value for _, death in earlier_deaths(message) for name, _, value in death if name == "count"]
    if sum(counts) < THRICE - 1:
        VirtualHost.dead(self, queue, message, reason)


@changes(
    "paths.long-chain",
    "a message that dies in five queues at once ends the connection of its publisher",
    "ERR-012",
    "DLX-014",
    field=LAVINMQ.format("pull/1845"),
)
def long_chain(parts: Parts) -> None:
    below = parts.vhost

    def dead(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
        deep: list[int] = memory(self, "deep", list)
        if len(deep) >= CHAIN:
            deep.clear()
            raise fails()
        deep.append(1)
        below.dead(self, queue, message, reason)
        del deep[-1:]

    parts.override("vhost", dead=dead)


@replaces(
    "vhost.dead",
    "paths.heir-is-gone",
    "a dead letter for a queue that was deleted ends the connection of who has rejected it",
    "ERR-012",
    "ACK-019",
    field=OTTERMQ.format("v0.19.1"),
)
def heir_is_gone(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
    settings = queue.settings
    heir = settings.dead_letter_routing_key or message.routing_key
    if reason == "rejected" and settings.dead_letter_exchange == "" and heir not in self.queues:
        raise fails()
    VirtualHost.dead(self, queue, message, reason)


@changes(
    "paths.full-queues-lock-up",
    "a publish that makes a full queue drop a message into another full one is never confirmed",
    "CNF-020",
    "CNF-004",
    field=OTTERMQ.format("v0.19.3"),
)
def full_queues_lock_up(parts: Parts) -> None:
    below, host = parts.publish, parts.vhost

    def dead(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
        deep: list[Any] = memory(self, "deep", list)
        if reason == "maxlen" and deep:
            memory(self, "locked", list).append(queue)
        deep.append(queue)
        host.dead(self, queue, message, reason)
        deep.pop()

    def publish(channel: Channel, method: m.BasicPublish, header: Any, body: bytes) -> None:
        locked: list[Queue] = memory(channel.vhost, "locked", list)
        locked.clear()
        below(channel, method, header, body)
        if locked and channel.confirms is not None:
            channel.confirms.wait(channel.confirms.published)

    parts.override("vhost", dead=dead)
    parts.publish = publish


# -- restarts


@changes(
    "paths.automatic-come-back",
    "what consumers without acknowledgements have got is there again after a restart",
    "DUR-017",
    field=QPID.format("QPID-4680"),
)
def automatic_come_back(parts: Parts) -> None:
    below, channels = parts.queue, parts.channel

    def deliver(self: Channel, consumer: Consumer, entry: Entry) -> None:
        channels.deliver(self, consumer, entry)
        if consumer.no_ack:
            memory(consumer.queue, "delivered", list).append(entry)

    def restart(self: Queue) -> None:
        for entry in memory(self, "delivered", list):
            self.ready.put_back(entry)
        below.restart(self)

    parts.override("channel", deliver=deliver)
    parts.override("queue", restart=restart)


@changes(
    "paths.buried-come-back",
    "what has become a dead letter is there again after a restart",
    "DUR-017",
    "DLX-013",
    field=QPID.format("QPID-7980"),
)
def buried_come_back(parts: Parts) -> None:
    below, channels = parts.queue, parts.channel

    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        channels.finish(self, deliveries, fate)
        for one in deliveries:
            if fate is discarded and one.queue.settings.dead_letter_exchange is not None:
                memory(one.queue, "buried", list).append(one.entry)

    def restart(self: Queue) -> None:
        for entry in memory(self, "buried", list):
            self.ready.put_back(entry)
        below.restart(self)

    parts.override("channel", finish=finish)
    parts.override("queue", restart=restart)
