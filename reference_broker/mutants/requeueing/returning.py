"""Wrong returns where several are there to see it: who gets a returned message, and how often it may come back."""

from __future__ import annotations

from typing import Any

from codec.values import FieldTable
from reference_broker.core.channels.channel import RETURNS, Channel, Fate
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Entry
from reference_broker.core.queues.queue import Queue
from reference_broker.core.queues.quorum import Counted, Quorum
from reference_broker.core.queues.ready import Ready
from reference_broker.mutants.kinds import changes, memory, replaces

LAVINMQ = "https://github.com/cloudamqp/lavinmq/issues/{}"
FIFTH = 5

# -- competition


@changes("returning.to-former-only", "a returned message is kept for the channel that returned it", "RQ-005")
def to_former_only(parts: Parts) -> None:
    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        if fate in RETURNS:
            for delivery in deliveries:
                memory(delivery.queue, "former", dict)[delivery.entry] = self
        Channel.finish(self, deliveries, fate)

    def get(self: Channel, queue: Queue, no_ack: bool) -> None:
        former, returned = memory(queue, "former", dict), queue.ready.returned
        kept = [item for item in returned if former.get(item[1], self) is not self]
        queue.ready.returned = [item for item in returned if item not in kept]
        Channel.get(self, queue, no_ack)
        for _, entry in kept:
            queue.ready.put_back(entry)

    parts.override("channel", finish=finish, get=get)


@replaces(
    "channel.finish",
    "returning.waits-for-publish",
    "a returned message reaches no waiting consumer before the next one is published",
    "RQ-015",
    "RQ-007",
)
def waits_for_publish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
    if fate in RETURNS:
        serve_nobody(self, deliveries, fate)
    else:
        Channel.finish(self, deliveries, fate)


def serve_nobody(channel: Channel, deliveries: list[Delivery], fate: Fate) -> None:
    """What the channel returns is back, and nobody gets it for that. Ages and lengths are heeded, and where one is
    served at a time, the next one is chosen."""
    for delivery in deliveries:
        if delivery.stale:
            channel.settle_stale(delivery, fate)
        elif not delivery.lost:
            fate(delivery)
            if delivery.consumer is not None:
                delivery.consumer.release()
    for queue in {delivery.queue: None for delivery in deliveries if not delivery.queue.deleted}:
        queue.expire()
        if queue.limited:
            queue.trim()
    left, channel.left = channel.left, []
    for consumer in left:
        if consumer.queue.settings.single_active_consumer and not consumer.queue.deleted:
            consumer.queue.activate_one()


# -- the order of a quorum queue


def in_order(parts: Parts, order: Any) -> None:
    def nothing(self: Queue) -> Ready:
        return Queue.nothing(self) if self.quorum is None else self.vhost.parts.ready(order)

    parts.override("queue", nothing=nothing)


@changes("returning.quorum-sorts", "a quorum queue sorts returned messages by publication", "RQ-003")
def quorum_sorts(parts: Parts) -> None:
    in_order(parts, "original")


@changes(
    "returning.quorum-tail",
    "a quorum queue serves returned messages last",
    "RQ-003",
    "RQ-004",
    field="https://github.com/rabbitmq/rabbitmq-server/issues/10499",
)
def quorum_tail(parts: Parts) -> None:
    in_order(parts, "tail")


# -- counts and limits


@changes("returning.counted-per-channel", "each channel counts deliveries for itself", "RQ-012")
def counted_per_channel(parts: Parts) -> None:
    def count(channel: Channel, queue: Queue, entry: Entry) -> None:
        if queue.quorum is not None:
            assert isinstance(entry, Counted)
            counts = memory(channel, "counts", dict)
            entry.returns = counts.get(entry, 0)
            counts[entry] = entry.returns + 1

    def deliver(self: Channel, consumer: Consumer, entry: Entry) -> None:
        count(self, consumer.queue, entry)
        Channel.deliver(self, consumer, entry)

    def get(self: Channel, queue: Queue, no_ack: bool) -> None:
        if queue.ready:
            count(self, queue, queue.ready.head())
        Channel.get(self, queue, no_ack)

    parts.override("channel", deliver=deliver, get=get)


def with_keeps(parts: Parts, keeps: Any) -> None:
    parts.override("quorum", keeps=keeps)


@changes("returning.limit-one-early", "a delivery limit allows one return less", "RQ-013")
def limit_one_early(parts: Parts) -> None:
    def keeps(self: Quorum, entry: Counted, failed: bool) -> bool:
        kept = Quorum.keeps(self, entry, failed)
        return kept and (self.limit is None or entry.failures < self.limit)

    with_keeps(parts, keeps)


@changes("returning.limit-one-late", "a delivery limit allows one return more", "RQ-013")
def limit_one_late(parts: Parts) -> None:
    def keeps(self: Quorum, entry: Counted, failed: bool) -> bool:
        return Quorum.keeps(self, entry, failed) or entry.failures - 1 == self.limit

    with_keeps(parts, keeps)


@changes("returning.limit-counts-all", "a nack counts towards the delivery limit like a failure", "RQ-013")
def limit_counts_all(parts: Parts) -> None:
    with_keeps(parts, lambda self, entry, failed: Quorum.keeps(self, entry, True))


@changes(
    "returning.first-delivery-counts",
    "x-delivery-count is one more than the message came back",
    "RQ-012",
    field=LAVINMQ.format(975),
)
def first_delivery_counts(parts: Parts) -> None:
    below = parts.quorum

    def counters(self: Quorum, entry: Counted) -> FieldTable:
        told = [one for one in below.counters(self, entry) if one[0] != "x-delivery-count"]
        return [*told, ("x-delivery-count", "l", entry.failures + 1)]

    parts.override("quorum", counters=counters)


@changes(
    "returning.limit-at-the-next-delivery",
    "what came back too often stays until somebody would get it",
    "DLX-004",
    field=LAVINMQ.format(976),
)
def limit_at_the_next_delivery(parts: Parts) -> None:
    below = parts.queue

    def keeps(self: Quorum, entry: Counted, failed: bool) -> bool:
        Quorum.keeps(self, entry, failed)
        return True

    def drop(queue: Queue) -> None:
        while queue.quorum is not None and queue.quorum.limit is not None and queue.ready:
            entry = queue.ready.head()
            if not isinstance(entry, Counted) or entry.failures <= queue.quorum.limit:
                return
            queue.die(queue.ready.pop(), "delivery_limit")

    def serve(self: Queue) -> None:
        if self.ring:
            drop(self)
        below.serve(self)

    def get(self: Queue) -> Entry | None:
        drop(self)
        return below.get(self)

    parts.override("quorum", keeps=keeps)
    parts.override("queue", serve=serve, get=get)


# -- again and again


@replaces("queue.put_back", "returning.fifth-goes-last", "what comes back for the fifth time goes last", "RQ-001")
def fifth_goes_last(self: Queue, entry: Entry) -> None:
    times = memory(self, "times", dict)
    times[entry] = times.get(entry, 0) + 1
    if times[entry] >= FIFTH and not self.settings.max_priority and self.quorum is None:
        self.published += 1
        entry.position, entry.redelivered = self.published, True
        self.ready.push(entry)
    else:
        Queue.put_back(self, entry)


@changes("requeue.recover-of-one-queue", "basic.recover returns to one queue alone", "RQ-014")
def recover_of_one_queue(parts: Parts) -> None:
    below = parts.channel

    def requeue(self: Channel, deliveries: list[Delivery]) -> None:
        mine = [one for one in deliveries if one.queue is deliveries[0].queue]
        self.unacked.restore(one for one in deliveries if one not in mine)
        below.requeue(self, mine)

    parts.override("channel", requeue=requeue)
