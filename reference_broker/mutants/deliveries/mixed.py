"""A multiple over deliveries of several kinds: what it covers depends on what they are."""

from __future__ import annotations

from codec import methods as m
from reference_broker.core.channels.channel import Channel, Fate, acked, discarded, requeued
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.channels.unacked import Delivery, Unacked
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Entry
from reference_broker.mutants.kinds import changes, memory


def rank(delivery: Delivery) -> int:
    return delivery.entry.message.header.priority or 0


@changes("mixed.by-rank", "a multiple passes over what has a lower priority than the last", "ACK-002", "MODE-004")
def by_rank(parts: Parts) -> None:
    below = parts.unacked

    def up_to(self: Unacked, tag: int) -> list[Delivery] | None:
        taken = below.up_to(self, tag)
        if not taken or not taken[-1].queue.ready.max_priority:
            return taken
        left = [delivery for delivery in taken if rank(delivery) < rank(taken[-1])]
        self.restore(left)
        return [delivery for delivery in taken if delivery not in left]

    parts.override("unacked", up_to=up_to)


@changes(
    "mixed.over-automatic",
    "a multiple over deliveries that need no acknowledgement leaves the first of the others out",
    "ACK-002",
    "ACK-003",
    "MODE-003",
)
def over_automatic(parts: Parts) -> None:
    below = parts.channel

    def deliver(self: Channel, consumer: Consumer, entry: Entry) -> None:
        below.deliver(self, consumer, entry)
        if consumer.no_ack:
            memory(self, "automatic", list[int]).append(self.last_tag)

    def collect(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
        first = next(iter(self.unacked.by_tag), 0)
        found = below.collect(self, tag, multiple)
        if multiple and len(found) > 1 and any(first < one < tag for one in memory(self, "automatic", list[int])):
            self.unacked.restore(found[:1])
            return found[1:]
        return found

    parts.override("channel", deliver=deliver, collect=collect)


@changes("mixed.nacks-of-the-cancelled", "a nack without requeue gives back what a cancelled consumer holds", "ACK-016")
def nacks_of_the_cancelled(parts: Parts) -> None:
    def nack(channel: Channel, method: m.BasicNack) -> None:
        found = channel.collect(method.delivery_tag, method.multiple)
        lost = (
            [] if method.requeue else [one for one in found if one.consumer and one.consumer not in one.queue.consumers]
        )
        channel.settle([one for one in found if one not in lost], requeued if method.requeue else discarded)
        if lost:
            channel.settle(lost, requeued)

    parts.handlers[m.BasicNack] = nack


@changes("mixed.commits-of-the-cancelled", "a commit passes over acks of what a cancelled consumer holds", "ACK-016")
def commits_of_the_cancelled(parts: Parts) -> None:
    below, channels = parts.transaction, parts.channel

    def settle(self: Transaction, deliveries: list[Delivery], fate: Fate) -> None:
        gone = [one for one in deliveries if one.consumer is not None and one.consumer not in one.queue.consumers]
        for one in gone if fate is acked else ():
            memory(one.consumer.channel, "gone", list).append(one) if one.consumer is not None else None
        below.settle(self, [one for one in deliveries if one not in gone or fate is not acked], fate)

    def end(self: Channel) -> None:
        self.unacked.restore(memory(self, "gone", list))
        channels.end(self)

    parts.override("transaction", settle=settle)
    parts.override("channel", end=end)
