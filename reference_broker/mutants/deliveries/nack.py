"""Wrong nacks and rejects: how far they reach, and whether they requeue."""

from __future__ import annotations

from codec import methods as m
from reference_broker.core.channels import basic
from reference_broker.core.channels import channel as fates
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.parts import Parts
from reference_broker.mutants.deliveries.settle import front, nack_with, take
from reference_broker.mutants.kinds import changes, handles


@changes(
    "settle.nack-multiple-accepts-stale",
    "nack with multiple of a tag that is not outstanding settles what is outstanding below it",
    "ACK-010",
)
def nack_multiple_accepts_stale(parts: Parts) -> None:
    def collect(channel: Channel, tag: int, multiple: bool) -> list[Delivery]:
        if multiple and tag:
            return take(channel.unacked, front(channel.unacked, tag))
        return channel.collect(tag, multiple)

    nack_with(parts, collect)


@handles(
    m.BasicNack,
    "settle.nack-multiple-requeues-argument",
    "nack with multiple goes through what it collected but requeues the named message each time",
    "ACK-011",
)
def nack_multiple_requeues_argument(channel: Channel, method: m.BasicNack) -> None:
    deliveries = channel.collect(method.delivery_tag, method.multiple)
    if method.requeue:
        channel.settle(deliveries[:-1], fates.acked)
        channel.settle(deliveries[-1:], fates.requeued)
    else:
        channel.settle(deliveries, fates.discarded)


@changes("settle.nack-ignores-multiple", "nack settles its tag alone even with multiple", "ACK-011")
def nack_ignores_multiple(parts: Parts) -> None:
    def collect(channel: Channel, tag: int, multiple: bool) -> list[Delivery]:
        return channel.collect(tag, multiple and tag == 0)

    nack_with(parts, collect)


@handles(
    m.BasicReject,
    "settle.reject-always-requeues",
    "reject requeues whatever its requeue bit says",
    "ACK-012",
    "MODE-005",
)
def reject_always_requeues(channel: Channel, method: m.BasicReject) -> None:
    channel.settle(channel.collect(method.delivery_tag, False), fates.requeued)


@handles(m.BasicReject, "settle.reject-never-requeues", "reject discards whatever its requeue bit says", "ACK-012")
def reject_never_requeues(channel: Channel, method: m.BasicReject) -> None:
    channel.settle(channel.collect(method.delivery_tag, False), fates.discarded)


@handles(m.BasicNack, "settle.nack-to-one-queue", "what a nack returns goes to the queue of the first", "ACK-011")
def nack_to_one_queue(channel: Channel, method: m.BasicNack) -> None:
    deliveries = channel.collect(method.delivery_tag, method.multiple)
    for delivery in deliveries if method.requeue else ():
        if delivery.queue is not deliveries[0].queue:
            delivery.queue = deliveries[0].queue
            delivery.queue.published += 1
            delivery.entry.position = delivery.queue.published
    channel.settle(deliveries, fates.requeued if method.requeue else fates.discarded)


@handles(m.BasicNack, "settle.nack-buries-of-one-queue", "a nack makes dead letters for one queue alone", "MODE-005")
def nack_buries_of_one_queue(channel: Channel, method: m.BasicNack) -> None:
    if method.requeue:
        basic.nack(channel, method)
        return
    deliveries = channel.collect(method.delivery_tag, method.multiple)
    mine = [one for one in deliveries if one.queue is deliveries[0].queue]
    channel.settle(mine, fates.discarded)
    channel.settle([one for one in deliveries if one not in mine], fates.acked)
