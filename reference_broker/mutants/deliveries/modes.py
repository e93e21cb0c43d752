"""Wrong acknowledgement modes: what manual, auto-ack and discarding mean."""

from __future__ import annotations

from math import floor

from codec import methods as m
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel, Fate, acked, discarded, requeued
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.connection import Connection
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Entry
from reference_broker.core.queues.queue import Queue
from reference_broker.core.queues.quorum import Counted
from reference_broker.mutants.kinds import changes, handles, memory, replaces


class Twin(Counted):
    """A second copy of a message that should have left the queue."""

    __slots__ = ()


@replaces(
    "channel.get",
    "mode.delivered-stays-ready",
    "a message fetched with basic.get and not acknowledged can be fetched once more",
    "MODE-001",
    "RQ-011",
)
def delivered_stays_ready(self: Channel, queue: Queue, no_ack: bool) -> None:
    head = queue.ready.head() if queue.ready else None
    Channel.get(self, queue, no_ack)
    if head is not None and not no_ack and not isinstance(head, Twin):
        put_copy(queue, head, Twin)


def put_copy(queue: Queue, entry: Entry, kind: type[Entry]) -> None:
    """Put a second copy into the queue, a place of its own a little behind the first one."""
    copies = memory(queue, "copies", lambda: [0])
    copies[0] += 1
    place = floor(entry.position) + copies[0] / (1 << 20)  # no other copy's, not even that of a copy
    queue.ready.put_back(kind(place, entry.message, entry.expires))


def keep_auto_acked(self: Channel, consumer: Consumer, entry: Entry) -> None:
    Channel.deliver(self, consumer, entry)
    if consumer.no_ack:
        memory(self, "auto_acked", list).append(Delivery(self.last_tag, entry, consumer.queue, None))


def requeue_auto_acked(channel: Channel) -> None:
    channel.requeue(memory(channel, "auto_acked", list))


@changes(
    "mode.auto-ack-requeued-at-end",
    "messages delivered in auto-ack mode return when the channel ends, however it ends",
    "MODE-002",
    "AUTO-007",
)
def auto_ack_requeued_at_end(parts: Parts) -> None:
    def end(self: Channel) -> None:
        Channel.end(self)
        requeue_auto_acked(self)

    parts.override("channel", deliver=keep_auto_acked, end=end)


@changes(
    "mode.auto-ack-requeued-on-loss",
    "messages delivered in auto-ack mode return when the TCP connection breaks",
    "MODE-002",
    "AUTO-007",
)
def auto_ack_requeued_on_loss(parts: Parts) -> None:
    def lost(self: Connection) -> None:
        channels = list(self.channels.values())
        Connection.lost(self)
        for channel in channels:
            requeue_auto_acked(channel)

    parts.override("channel", deliver=keep_auto_acked)
    parts.override("connection", lost=lost)


@handles(
    m.BasicConsume,
    "mode.channel-wide",
    "the acknowledgement mode belongs to the channel, and the last basic.consume sets it for all",
    "MODE-003",
)
def channel_wide(channel: Channel, method: m.BasicConsume) -> None:
    for consumer in channel.consumers.values():
        consumer.no_ack = method.no_ack
    basic.consume(channel, method)


@changes(
    "mode.ack-undone-at-end",
    "an acknowledgement is only a mark on the channel, and the message returns when the channel ends",
    "MODE-004",
)
def ack_undone_at_end(parts: Parts) -> None:
    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        if fate is acked:
            memory(self, "acked", list).extend(deliveries)
        Channel.finish(self, deliveries, fate)

    def end(self: Channel) -> None:
        Channel.end(self)
        again = [Delivery(d.tag, d.entry, d.queue, None) for d in memory(self, "acked", list)]
        self.requeue(again)

    parts.override("channel", finish=finish, end=end)


@replaces(
    "channel.finish",
    "mode.discard-requeues",
    "nack and reject without requeue put the message back all the same",
    "MODE-005",
)
def discard_requeues(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
    Channel.finish(self, deliveries, requeued if fate is discarded else fate)


@replaces(
    "channel.finish",
    "mode.discard-forgets-dead-letter",
    "a discarded message is dropped although its queue has a dead letter exchange",
    "MODE-005",
)
def discard_forgets_dead_letter(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
    Channel.finish(self, deliveries, acked if fate is discarded else fate)


@replaces(
    "channel.finish",
    "mode.dead-letters-only-last",
    "of several messages discarded by one nack only the last is dead-lettered",
    "MODE-005",
)
def dead_letters_only_last(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
    if fate is discarded and deliveries:
        Channel.finish(self, deliveries[:-1], acked)
        deliveries = deliveries[-1:]
    Channel.finish(self, deliveries, fate)


@replaces(
    "channel.finish",
    "mode.dead-letters-reversed",
    "of several messages discarded by one nack the youngest is dead-lettered first",
    "MODE-009",
    field="https://github.com/rabbitmq/rabbitmq-server/issues/3620",
)
def dead_letters_reversed(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
    Channel.finish(self, deliveries[::-1] if fate is discarded else deliveries, fate)


@changes(
    "mode.auto-ack-settleable", "settling a delivery that was made in auto-ack mode is silently accepted", "MODE-006"
)
def auto_ack_settleable(parts: Parts) -> None:
    parts.override("channel", deliver=note_auto_acked, get=note_auto_acked_get, collect=accept_auto_acked)


@changes(
    "mode.auto-ack-settles-nearest",
    "settling a delivery that was made in auto-ack mode settles the oldest manual one instead",
    "MODE-006",
)
def auto_ack_settles_nearest(parts: Parts) -> None:
    def collect(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
        if tag in memory(self, "auto_tags", set) and self.unacked.by_tag:
            return Channel.collect(self, next(iter(self.unacked.by_tag)), False)
        return Channel.collect(self, tag, multiple)

    parts.override("channel", deliver=note_auto_acked, get=note_auto_acked_get, collect=collect)


def note_auto_acked(self: Channel, consumer: Consumer, entry: Entry) -> None:
    Channel.deliver(self, consumer, entry)
    if consumer.no_ack:
        memory(self, "auto_tags", set).add(self.last_tag)


def note_auto_acked_get(self: Channel, queue: Queue, no_ack: bool) -> None:
    before = self.last_tag
    Channel.get(self, queue, no_ack)
    if no_ack and self.last_tag != before:
        memory(self, "auto_tags", set).add(self.last_tag)


def accept_auto_acked(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    if tag in memory(self, "auto_tags", set):
        return []
    return Channel.collect(self, tag, multiple)
