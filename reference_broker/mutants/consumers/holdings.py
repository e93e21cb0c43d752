"""Reported of queues and who takes from them: declaring, consuming, limits, settling, and one served at a time."""

from __future__ import annotations

from functools import partial
from typing import Any

from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels import basic, topology
from reference_broker.core.channels import channel as fates
from reference_broker.core.channels.channel import Channel, Fate
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.unacked import Delivery, Unacked
from reference_broker.core.errors import AmqpException, ConnectionException
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Entry
from reference_broker.core.queues.queue import Queue
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, fails, handles, memory, replaces

NOTES = "https://github.com/rabbitmq/rabbitmq-server/blob/main/release-notes/README-{}.txt"
RELEASES = "https://github.com/rabbitmq/rabbitmq-server/releases/tag/{}"
RABBITMQ = "https://github.com/rabbitmq/rabbitmq-server/{}"
QPID = "https://issues.apache.org/jira/browse/{}"
MOMENT, MANY, SETTLED = 0.05, 20, 60


@changes(
    "holdings.newcomers-wait",
    "who begins to consume from a queue with other consumers is answered when the queue is empty",
    "ERR-014",
    "CAN-015",
    field=NOTES.format("2.6.0"),
)
def newcomers_wait(parts: Parts) -> None:
    def later(channel: Channel, method: m.BasicConsume) -> None:
        queue, clock = channel.vhost.queues.get(method.queue), channel.vhost.clock
        if channel.closing or channel.connection.finished:
            return
        if queue is not None and queue.consumers and queue.ready:
            clock.at(clock.now + MOMENT, partial(later, channel, method))
            return
        try:
            basic.consume(channel, method)
        except AmqpException as error:
            channel.connection.refuse(channel, error, (60, 20))

    parts.handlers[m.BasicConsume] = later


@handles(
    m.QueuePurge,
    "holdings.purge-beside-unacked",
    "the purge of a queue of which something is out ends the connection",
    "ERR-012",
    "QUEUE-019",
    field=NOTES.format("2.1.1"),
)
def purge_beside_unacked(channel: Channel, method: m.QueuePurge) -> None:
    channels = [one for connection in channel.connection.broker.connections for one in connection.channels.values()]
    queue = channel.vhost.queues.get(method.queue)
    if any(delivery.queue is queue for one in channels for delivery in one.unacked.by_tag.values()):
        raise fails()
    topology.queue_purge(channel, method)


@changes(
    "holdings.declared-at-once",
    "a declaration of a queue that somebody else declares at the same time ends the connection",
    "QUEUE-003",
    "ERR-012",
    field=RELEASES.format("v4.0.9"),
)
def declared_at_once(parts: Parts) -> None:
    def declare(channel: Channel, method: m.QueueDeclare) -> None:
        times: dict[str, Any] = memory(channel.vhost, "times", dict)
        since, who = times.get(method.queue, (-1.0, None))
        now = channel.vhost.clock.now
        there = method.queue in channel.vhost.queues
        if there and not method.passive and who is not channel.connection and now - since < MOMENT / 50:
            raise fails()
        topology.queue_declare(channel, method)
        if not there:
            times[method.queue] = now, channel.connection

    parts.handlers[m.QueueDeclare] = declare


@replaces(
    "queue.join",
    "holdings.one-for-the-newcomer",
    "a new consumer gets a message beyond the limit of its channel",
    "QOS-006",
    field=NOTES.format("1.6.0"),
)
def one_for_the_newcomer(self: Queue, consumer: Consumer, exclusive: bool) -> None:
    shared, count = consumer.shared, consumer.shared.count
    if shared.full():
        shared.count = shared.held + 1
    Queue.join(self, consumer, exclusive)
    shared.count = count


@changes(
    "holdings.many-acks-stall",
    "of twenty settlements that come together the last frees no slot",
    "QOS-019",
    field=NOTES.format("1.7.1"),
)
def many_acks_stall(parts: Parts) -> None:
    below = parts.intake

    def work(self: Any, frames: Any) -> None:
        together = list(frames)
        memory_of[id(self)] = sum(isinstance(frame, m.BasicAck) for frame in together)
        below.work(self, iter(together))

    def release(self: Consumer) -> None:
        left = memory_of.get(id(self.channel.connection.intake), 0)
        if left >= MANY:
            memory_of[id(self.channel.connection.intake)] = 0
            return
        holder.release(self)

    memory_of: dict[int, int] = {}
    holder = parts.consumer
    parts.override("intake", work=work)
    parts.override("consumer", release=release)


@changes(
    "holdings.unequal-costs-all",
    "the declaration of a queue with other flags or arguments ends the connection with 530",
    "QUEUE-004",
    "QUEUE-005",
    field=NOTES.format("2.2.0"),
)
def unequal_costs_all(parts: Parts) -> None:
    def declare(channel: Channel, method: m.QueueDeclare) -> None:
        try:
            topology.queue_declare(channel, method)
        except AmqpException as error:
            if error.code is ReplyCode.PRECONDITION_FAILED and method.queue in channel.vhost.queues:
                raise ConnectionException(ReplyCode.NOT_ALLOWED, error.text) from None
            raise

    parts.handlers[m.QueueDeclare] = declare


@changes(
    "holdings.started-together",
    "of two consumers of one queue that are started at once the second ends its connection",
    "ERR-012",
    field=RELEASES.format("rabbitmq_v3_6_15"),
)
def started_together(parts: Parts) -> None:
    def consume(channel: Channel, method: m.BasicConsume) -> None:
        queue, now = channel.vhost.queues.get(method.queue), channel.vhost.clock.now
        if queue is not None:
            since: dict[str, float] = memory(queue, "since", dict)
            if now - since.get("since", -1.0) < MOMENT / 50 and queue.consumers:
                raise fails()
            since["since"] = now
        basic.consume(channel, method)

    parts.handlers[m.BasicConsume] = consume


@handles(
    m.BasicAck,
    "holdings.ack-under-the-channel-s-limit",
    "an acknowledgement on a channel with a limit ends the connection",
    "ERR-012",
    "ACK-013",
    "QOS-010",
    field=RELEASES.format("v3.9.1"),
)
def ack_under_the_channel_s_limit(channel: Channel, method: m.BasicAck) -> None:
    if channel.limit.count and any(one.consumer is not None for one in channel.unacked.by_tag.values()):
        raise fails()
    basic.ack(channel, method)


@changes(
    "holdings.ghosts-of-waiting-channels",
    "in a quorum queue where one consumer is served, one that waited and left with its channel takes over",
    "SAC-002",
    "SAC-001",
    field=RABBITMQ.format("issues/1825"),
)
def ghosts_of_waiting_channels(parts: Parts) -> None:
    below = parts.queue

    def leave(self: Queue, consumer: Consumer) -> None:
        waited = self.settings.single_active_consumer and consumer is not self.active
        below.leave(self, consumer)
        if waited and consumer.channel.closing and self.quorum is not None:
            memory(self, "ghosts", list).append(consumer)

    def activate_one(self: Queue) -> None:
        ghosts = memory(self, "ghosts", list)
        if self.active is None and ghosts:
            self.active = ghosts[0]
        below.activate_one(self)

    parts.override("queue", leave=leave, activate_one=activate_one)


@handles(
    m.BasicGet,
    "holdings.gets-where-one-is-served",
    "a second get from a quorum queue that serves one consumer at a time ends the connection",
    "ERR-012",
    field=RABBITMQ.format("issues/2164"),
)
def gets_where_one_is_served(channel: Channel, method: m.BasicGet) -> None:
    queue = channel.vhost.queues.get(method.queue)
    single = queue is not None and queue.quorum is not None and queue.settings.single_active_consumer
    if single and any(one.queue is queue and one.consumer is None for one in channel.unacked.by_tag.values()):
        raise fails()
    basic.get(channel, method)


@replaces(
    "vhost.add_queue",
    "holdings.no-priorities-at-all",
    "a queue with a maximum priority of 0 ends the connection",
    "PRIO-006",
    "ERR-012",
    field=RABBITMQ.format("issues/245"),
)
def no_priorities_at_all(self: VirtualHost, name: str, *rest: Any) -> Queue:
    if any(one[0] == "x-max-priority" and one[2] == 0 for one in rest[3]):
        raise fails()
    return VirtualHost.add_queue(self, name, *rest)


@replaces(
    "unacked.one",
    "holdings.unknown-tag-passed-over",
    "an acknowledgement of an unknown tag is passed over",
    "ERR-002",
    field=QPID.format("QPID-8027"),
)
def unknown_tag_passed_over(self: Unacked, tag: int) -> list[Delivery] | None:
    return Unacked.one(self, tag) or []


@handles(
    m.TxRollback,
    "holdings.rollback-of-nothing",
    "tx.rollback is answered on a channel that is not transactional",
    "TX-004",
    field=QPID.format("QPID-8029"),
)
def rollback_of_nothing(channel: Channel, method: m.TxRollback) -> None:
    if channel.transaction is None:
        channel.connection.send(m.TxRollbackOk(channel.number))
        return
    basic.tx_rollback(channel, method)


@replaces(
    "channel.get",
    "holdings.got-and-left",
    "what a get without acknowledgement takes is left in its queue",
    "MODE-002",
    field=QPID.format("QPID-5504"),
)
def got_and_left(self: Channel, queue: Queue, no_ack: bool) -> None:
    entry = queue.ready.head() if no_ack and queue.ready else None
    Channel.get(self, queue, no_ack)
    if entry is not None and not queue.deleted:
        queue.ready.put_back(entry)


@changes(
    "holdings.behind-a-queue-that-is-gone",
    "a multiple acknowledgement leaves out what lies behind a delivery whose queue is gone",
    "ACK-002",
    "ACK-017",
    field=QPID.format("QPID-3978"),
)
def behind_a_queue_that_is_gone(parts: Parts) -> None:
    below = parts.channel

    def settle(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        if fate is fates.acked:
            gone = next((at for at, one in enumerate(deliveries) if one.queue.deleted), len(deliveries))
            left = [one for one in deliveries[gone + 1 :] if not one.queue.deleted]
            self.unacked.restore(left)
            deliveries = [one for one in deliveries if one not in left]
        below.settle(self, deliveries, fate)

    parts.override("channel", settle=settle)


@replaces(
    "queue.get",
    "holdings.consumers-have-it-all",
    "a get finds nothing in a queue that has consumers",
    "QOS-014",
    field=QPID.format("QPID-7514"),
)
def consumers_have_it_all(self: Queue) -> Entry | None:
    return None if self.consumers else Queue.get(self)


@changes(
    "holdings.no-limit-wears-off",
    "a consumer without a limit gets nothing more when it has settled sixty deliveries",
    "QOS-005",
    "QOS-002",
    field=QPID.format("QPID-8322"),
)
def no_limit_wears_off(parts: Parts) -> None:
    below = parts.consumer
    settled: dict[int, tuple[Consumer, int]] = {}

    def release(self: Consumer) -> None:
        below.release(self)
        count = settled.get(id(self), (self, 0))[1] + 1
        settled[id(self)] = self, count
        if self.own.count == 0 and count == SETTLED:
            self.pause.held += 1

    parts.override("consumer", release=release)


@changes(
    "holdings.busy-ones-are-waited-for",
    "a publish is not confirmed while all of several consumers of its queue are full",
    "CNF-018",
    "CNF-004",
    field=NOTES.format("2.8.3"),
)
def busy_ones_are_waited_for(parts: Parts) -> None:
    def later(channel: Channel, queue: Queue, number: int) -> None:
        clock = channel.vhost.clock
        if channel.closing or channel.confirms is None or number not in channel.confirms.pending:
            return
        if not queue.deleted and len(queue.consumers) > 1 and all(one.own.full() for one in queue.consumers):
            clock.at(clock.now + MOMENT, partial(later, channel, queue, number))
            return
        channel.confirms.accept(number)
        channel.connection.confirm(channel)

    below = parts.publish

    def publish(channel: Channel, method: m.BasicPublish, header: Any, body: bytes) -> None:
        below(channel, method, header, body)
        queue = channel.vhost.queues.get(method.routing_key)
        confirms = channel.confirms
        if confirms is None or queue is None or len(queue.consumers) < 2:
            return
        if all(one.own.full() for one in queue.consumers) and confirms.wait(confirms.published):
            later(channel, queue, confirms.published)

    parts.publish = publish


@changes(
    "holdings.nacked-stays-out",
    "what a client gives back by nack comes back when its channel ends",
    "QOS-018",
    "ACK-012",
    field=QPID.format("QPID-7889"),
)
def nacked_stays_out(parts: Parts) -> None:
    below = parts.channel

    def nack(channel: Channel, method: m.BasicNack) -> None:
        if not method.requeue or channel.transaction is not None:
            basic.nack(channel, method)
            return
        memory(channel, "nacked", list).extend(channel.collect(method.delivery_tag, method.multiple))

    def stop(self: Channel) -> None:
        below.stop(self)
        self.unacked.restore(memory(self, "nacked", list))

    parts.override("channel", stop=stop)
    parts.handlers[m.BasicNack] = nack


@changes(
    "holdings.ranked-one-by-one",
    "a consumer that comes to a queue with priorities gets one message, and more when something else happens to it",
    "PRIO-007",
    field="https://github.com/ottermq/ottermq/releases/tag/v0.16.0",
)
def ranked_one_by_one(parts: Parts) -> None:
    below = parts.queue

    def join(self: Queue, consumer: Consumer, exclusive: bool) -> None:
        rest = self.ready.returned[1:] if self.ready.max_priority else []
        if rest:
            first = self.ready.pop()
            others, self.ready = self.ready, self.nothing()
            self.ready.put_back(first)
            below.join(self, consumer, exclusive)
            for entry in others.entries():
                self.ready.put_back(entry)
            return
        below.join(self, consumer, exclusive)

    parts.override("queue", join=join)
