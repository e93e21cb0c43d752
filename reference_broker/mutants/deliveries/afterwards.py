"""What shows only afterwards: one method goes well, and another one that comes later meets what it has left behind."""

from __future__ import annotations

import codec
from codec import methods as m
from reference_broker.core.channels.channel import Channel, Fate, discarded, failed
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.connection import Connection
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, fails, memory

PULL = "https://github.com/rabbitmq/rabbitmq-server/pull/{}"


@changes(
    "afterwards.tag-of-a-former-one",
    "a consumer may not have the tag of a former one whose deliveries are out",
    "CAN-013",
    "ERR-012",
    field=PULL.format(5944),
)
def tag_of_a_former_one(parts: Parts) -> None:
    below = parts.handlers[m.BasicConsume]

    def consume(channel: Channel, method: m.BasicConsume) -> None:
        tags = {one.consumer.tag for one in channel.unacked.by_tag.values() if one.consumer is not None}
        if method.consumer_tag in tags - channel.consumers.keys():
            raise fails()
        below(channel, method)

    parts.handlers[m.BasicConsume] = consume


@changes("afterwards.returned-uncounted", "get-ok does not count what was given back", "MODE-007")
def returned_uncounted(parts: Parts) -> None:
    below, channels = parts.connection, parts.channel

    def get(self: Channel, queue: Queue, no_ack: bool) -> None:
        memory(self.connection, "asked", list).append(queue)
        channels.get(self, queue, no_ack)

    def send_content(self: Connection, method: codec.Method, message: Message) -> None:
        if isinstance(method, m.BasicGetOk):
            method.message_count = len(memory(self, "asked", list)[-1].ready.fresh)
        below.send_content(self, method, message)

    parts.override("channel", get=get)
    parts.override("connection", send_content=send_content)


@changes("afterwards.out-is-use", "a queue whose messages are out is in use", "TTL-010")
def out_is_use(parts: Parts) -> None:
    below, channels = parts.vhost, parts.channel

    def hold(self: Channel, delivery: Delivery) -> None:
        memory(delivery.queue, "out", dict)[delivery.entry] = self
        channels.hold(self, delivery)

    def watch_expiry(self: VirtualHost, queue: Queue) -> None:
        held = [one for channel in memory(queue, "out", dict).values() for one in channel.unacked.by_tag.values()]
        if any(one.queue is queue for one in held):
            queue.used_at = self.clock.now
        below.watch_expiry(self, queue)

    parts.override("channel", hold=hold)
    parts.override("vhost", watch_expiry=watch_expiry)


@changes("afterwards.declared-is-young", "the messages of a queue that is declared again age anew", "TTL-002")
def declared_is_young(parts: Parts) -> None:
    below = parts.handlers[m.QueueDeclare]

    def declare(channel: Channel, method: m.QueueDeclare) -> None:
        queue = channel.vhost.queues.get(method.queue)
        below(channel, method)
        if queue is not None and not method.passive and not queue.deleted:
            for entry in queue.ready.entries():
                if entry.expires is not None:
                    entry.expires = queue.expiry(entry.message)

    parts.handlers[m.QueueDeclare] = declare


@changes("afterwards.purge-frees-slots", "a purge lets consumers have what their limits allow once more", "QOS-001")
def purge_frees_slots(parts: Parts) -> None:
    below = parts.queue

    def purge(self: Queue) -> int:
        for consumer in self.consumers:
            consumer.own.held = 0
            consumer.own.wake()
        return below.purge(self)

    parts.override("queue", purge=purge)


@changes("afterwards.failure-leaves-no-mark", "what a failed channel returns is not marked", "RQ-008")
def failure_leaves_no_mark(parts: Parts) -> None:
    below = parts.channel

    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        marks = [(one.entry, one.entry.redelivered) for one in deliveries]

        def unmarked(delivery: Delivery) -> None:
            failed(delivery)
            delivery.entry.redelivered = dict(marks)[delivery.entry]

        below.finish(self, deliveries, unmarked if self.closing and memory(self, "failed", list) else fate)

    def fail(self: Channel) -> None:
        memory(self, "failed", list).append(True)
        below.fail(self)

    parts.override("channel", finish=finish, fail=fail)


@changes("afterwards.recover-spares-the-cancelled", "basic.recover leaves what cancelled consumers hold", "RQ-014")
def recover_spares_the_cancelled(parts: Parts) -> None:
    below = parts.handlers[m.BasicRecover]

    def recover(channel: Channel, method: m.BasicRecover) -> None:
        there = channel.consumers.values()
        spared = channel.unacked.those(lambda one: one.consumer is not None and one.consumer not in there)
        below(channel, method)
        channel.unacked.restore(spared)

    parts.handlers[m.BasicRecover] = recover


@changes("afterwards.rejected-at-once", "what a transaction rejects dies at once", "TX-009")
def rejected_at_once(parts: Parts) -> None:
    below = parts.transaction

    def settle(self: Transaction, deliveries: list[Delivery], fate: Fate) -> None:
        if fate is discarded:
            for one in deliveries:
                one.queue.vhost.dead(one.queue, one.entry.message, "rejected")
            below.settle(self, deliveries, lambda one: one.queue.let_go(one.entry))
        else:
            below.settle(self, deliveries, fate)

    parts.override("transaction", settle=settle)


@changes("afterwards.third-life", "a channel that is opened for the third time has the limit that it had", "ERR-007")
def third_life(parts: Parts) -> None:
    below = parts.connection

    def open_channel(self: Connection, method: m.ChannelOpen) -> None:
        below.open_channel(self, method)
        lives = memory(self, "lives", dict[int, list[Channel]]).setdefault(method.channel, [])
        lives.append(self.channels[method.channel])
        if len(lives) > 2:
            lives[-1].prefetch = lives[-2].prefetch

    parts.override("connection", open_channel=open_channel)
