"""Transactions and confirms, right as long as nobody does what is seldom done: a multiple in a transaction, a second
rollback, two exchanges, two methods in one write, an exchange of another type."""

from __future__ import annotations

from codec import methods as m
from reference_broker.core.channels.channel import Channel, Fate, acked
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.connection import Connection
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Topic
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory


def count_writes(parts: Parts) -> None:
    """Of each connection, for `writes`."""
    below = parts.connection

    def feed(self: Connection, data: bytes) -> None:
        memory(self, "writes", list).append(len(data))
        below.feed(self, data)

    parts.override("connection", feed=feed)


def writes(connection: Connection) -> int:
    """So many have come by now."""
    return len(memory(connection, "writes", list))


@changes("seldom.exchange-by-exchange", "a commit publishes what goes to one exchange together", "TX-011")
def exchange_by_exchange(parts: Parts) -> None:
    below = parts.transaction

    def commit(self: Transaction, channel: Channel) -> bool:
        places = [exchange for exchange, _, _ in self.published]
        self.published.sort(key=lambda one: places.index(one[0]))
        return below.commit(self, channel)

    parts.override("transaction", commit=commit)


@changes(
    "seldom.last-alone-is-nacked", "of a multiple nack in a transaction the last alone counts", "ACK-011", "TX-002"
)
def last_alone_is_nacked(parts: Parts) -> None:
    below = parts.channel

    def settle(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        if self.transaction is not None and fate is not acked:
            self.unacked.restore(deliveries[:-1])
            deliveries = deliveries[-1:]
        below.settle(self, deliveries, fate)

    parts.override("channel", settle=settle)


@changes(
    "seldom.second-rollback", "the second rollback of a channel forgets what its transaction has settled", "TX-002"
)
def second_rollback(parts: Parts) -> None:
    below = parts.transaction

    def rollback(self: Transaction, channel: Channel) -> None:
        if memory(self, "undone", list):
            for one in self.take_settled():
                if one.consumer is not None:
                    one.consumer.release()
        memory(self, "undone", list).append(channel)
        below.rollback(self, channel)

    parts.override("transaction", rollback=rollback)


@changes("seldom.undone-in-one-write", "a rollback undoes what comes in one write with it", "TX-006", "TX-010")
def undone_in_one_write(parts: Parts) -> None:
    below = parts.transaction
    count_writes(parts)

    def rollback(self: Transaction, channel: Channel) -> None:
        below.rollback(self, channel)
        memory(self, "at", list)[:] = [writes(channel.connection)]

    def publish(self: Transaction, channel: Channel, exchange: str, message: Message, mandatory: bool) -> None:
        if memory(self, "at", list) != [writes(channel.connection)]:
            below.publish(self, channel, exchange, message, mandatory)

    parts.override("transaction", rollback=rollback, publish=publish)


@changes("seldom.topics-are-not-refused", "a full queue takes what a topic exchange leads to it", "CNF-011")
def topics_are_not_refused(parts: Parts) -> None:
    vhosts, queues, topics = parts.vhost, parts.queue, list[str]()

    def publish(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
        topics.extend([exchange] if isinstance(self.exchanges.get(exchange), Topic) else [])
        try:
            return vhosts.publish(self, exchange, message)
        finally:
            topics.clear()

    def refuses(self: Queue, message: Message) -> bool:
        return not topics and queues.refuses(self, message)

    parts.override("vhost", publish=publish)
    parts.override("queue", refuses=refuses)


@changes("seldom.one-where-confirms-are", "a multiple ack settles one delivery if its channel has confirms", "ACK-002")
def one_where_confirms_are(parts: Parts) -> None:
    below = parts.channel

    def collect(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
        found = below.collect(self, tag, multiple)
        if self.confirms is not None and tag:
            self.unacked.restore(found[:-1])
            return found[-1:]
        return found

    parts.override("channel", collect=collect)


@changes("seldom.got-behind-a-nack", "a get in one write with a nack finds nothing of what that gives back", "ACK-012")
def got_behind_a_nack(parts: Parts) -> None:
    nack, get = parts.handlers[m.BasicNack], parts.handlers[m.BasicGet]
    count_writes(parts)

    def nacked(channel: Channel, method: m.BasicNack) -> None:
        nack(channel, method)
        memory(channel, "nacked", list)[:] = [writes(channel.connection)]

    def got(channel: Channel, method: m.BasicGet) -> None:
        queue = channel.vhost.queues.get(method.queue)
        back = queue is not None and len(queue.ready) > 0 and queue.ready.head().redelivered
        if back and memory(channel, "nacked", list) == [writes(channel.connection)]:
            channel.connection.send(m.BasicGetEmpty(channel.number))
        else:
            get(channel, method)

    parts.handlers[m.BasicNack], parts.handlers[m.BasicGet] = nacked, got
