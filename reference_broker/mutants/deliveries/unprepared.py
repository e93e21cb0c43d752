"""What a broker was not prepared for when deliveries are settled: a queue that is gone, a tag of long ago, a large tag,
a publish that nobody wants any more, a channel beside one that fails."""

from __future__ import annotations

import codec
from codec import methods as m
from reference_broker.core.channels.channel import Channel, Fate, discarded, requeued
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.content import unexpected
from reference_broker.core.connections.intake import Inbound, Intake
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Entry
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes, memory

TAG = (1 << 32) - 1


@changes(
    "unprepared.stops-at-the-gone",
    "a multiple nack stops at the first delivery whose queue is gone",
    "ACK-011",
    "ACK-003",
)
def stops_at_the_gone(parts: Parts) -> None:
    def nack(channel: Channel, method: m.BasicNack) -> None:
        found = channel.collect(method.delivery_tag, method.multiple)
        reached = next((at for at, one in enumerate(found, 1) if one.queue.deleted), len(found))
        channel.unacked.restore(found[reached:])
        channel.settle(found[:reached], requeued if method.requeue else discarded)

    parts.handlers[m.BasicNack] = nack


@changes(
    "unprepared.settled-long-ago",
    "a tag below all that are outstanding is taken for settled, and passed over",
    "ERR-001",
)
def settled_long_ago(parts: Parts) -> None:
    below = parts.channel

    def collect(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
        oldest = next(iter(self.unacked.by_tag), 0)
        return [] if 0 < tag < oldest else below.collect(self, tag, multiple)

    parts.override("channel", collect=collect)


@changes(
    "unprepared.tags-of-32-bits", "of the tag that a client settles the lowest 32 bits are read", "TAG-009", "ERR-002"
)
def tags_of_32_bits(parts: Parts) -> None:
    below = parts.channel

    def collect(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
        return below.collect(self, tag & TAG, multiple)

    parts.override("channel", collect=collect)


@changes(
    "unprepared.more-of-a-publish",
    "behind a mistake the second body frame of a publish costs the connection",
    "ERR-006",
)
def more_of_a_publish(parts: Parts) -> None:
    below = parts.intake

    def on_no_channel(self: Intake, number: int, closing: Channel | None, frame: Inbound) -> None:
        if closing is not None and isinstance(frame, codec.Header | codec.Body):
            bodies: list[codec.Body] = memory(closing, "bodies", list)
            if isinstance(frame, codec.Header):
                bodies.clear()
            elif bodies:
                raise unexpected("expected method frame, got non method frame instead")
            else:
                bodies.append(frame)
        below.on_no_channel(self, number, closing, frame)

    parts.override("channel")
    parts.override("intake", on_no_channel=on_no_channel)


@changes(
    "unprepared.failure-lifts-limits",
    "when a channel fails, the consumers of the other channels lose their limits",
    "QOS-001",
    "ERR-004",
)
def failure_lifts_limits(parts: Parts) -> None:
    below = parts.channel

    def fail(self: Channel) -> None:
        below.fail(self)
        for other in self.connection.channels.values():
            for consumer in () if other is self or other.closing else list(other.consumers.values()):
                consumer.own.change(0)

    parts.override("channel", fail=fail)


@changes(
    "unprepared.returns-the-automatic",
    "a multiple nack returns automatic deliveries below its tag as well",
    "MODE-002",
    "MODE-003",
)
def returns_the_automatic(parts: Parts) -> None:
    below, nacks = parts.channel, parts.handlers[m.BasicNack]

    def sent(channel: Channel) -> dict[int, tuple[Queue, Entry]]:
        found: dict[int, tuple[Queue, Entry]] = memory(channel, "sent", dict)
        return found

    def deliver(self: Channel, consumer: Consumer, entry: Entry) -> None:
        below.deliver(self, consumer, entry)
        if consumer.no_ack:
            sent(self)[self.last_tag] = consumer.queue, entry

    def nack(channel: Channel, method: m.BasicNack) -> None:
        covers = method.multiple and method.requeue and method.delivery_tag in channel.unacked.by_tag
        for tag in [tag for tag in sent(channel) if covers and tag < method.delivery_tag]:
            queue, entry = sent(channel).pop(tag)
            if not queue.deleted:
                queue.put_back(entry)
        nacks(channel, method)

    parts.override("channel", deliver=deliver)
    parts.handlers[m.BasicNack] = nack


@changes(
    "unprepared.one-mode-for-a-tag",
    "the mode of the first consumer with a tag is that of the later ones of its channel",
    "MODE-003",
)
def one_mode_for_a_tag(parts: Parts) -> None:
    below = parts.handlers[m.BasicConsume]

    def consume(channel: Channel, method: m.BasicConsume) -> None:
        if method.consumer_tag:
            method.no_ack = memory(channel, "modes", dict).setdefault(method.consumer_tag, method.no_ack)
        below(channel, method)

    parts.override("channel")
    parts.handlers[m.BasicConsume] = consume


@changes(
    "unprepared.settled-elsewhere",
    "a tag that was settled before is looked for on the other channels of the connection",
    "ERR-001",
    "ERR-003",
)
def settled_elsewhere(parts: Parts) -> None:
    below = parts.channel

    def collect(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
        if not multiple and 0 < tag <= self.last_tag and tag not in self.unacked.by_tag:
            for other in self.connection.channels.values():
                found = other.unacked.one(tag)
                if found is not None:
                    return found
        return below.collect(self, tag, multiple)

    parts.override("channel", collect=collect)


@changes(
    "unprepared.rejected-when-cancelled",
    "what is rejected of a consumer that was cancelled makes no dead letter",
    "MODE-005",
    "DLX-001",
)
def rejected_when_cancelled(parts: Parts) -> None:
    below = parts.channel

    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        for one in deliveries if fate is discarded else ():
            consumer = one.consumer
            if consumer is not None and self.consumers.get(consumer.tag) is not consumer and not one.stale:
                one.lost = True
                consumer.release()
        below.finish(self, deliveries, fate)

    parts.override("channel", finish=finish)
