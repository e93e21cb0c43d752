"""Wrong slots: freed too few or too many, too early or too late, or for somebody else."""

from __future__ import annotations

from codec import methods as m
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer, Limit
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.parts import Parts
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes, handles, memory, replaces


@replaces(
    "limit.full",
    "slots.refills-at-half",
    "a limit that was reached lets nothing through until half of its slots are free",
    "QOS-010",
)
def refills_at_half(self: Limit) -> bool:
    reached = memory(self, "reached", lambda: [False])
    if Limit.full(self):
        reached[0] = True
    elif self.held <= self.count // 2:
        reached[0] = False
    return bool(reached[0])


@changes("slots.slots-in-order", "a slot is free only when the oldest delivery of its consumer is settled", "QOS-010")
def slots_in_order(parts: Parts) -> None:
    def hold(self: Consumer) -> None:
        Consumer.hold(self)
        memory(self, "sent", list).append(self.channel.last_tag)

    def release(self: Consumer) -> None:
        self.shared.held -= 1
        oldest = min((one.tag for one in self.channel.unacked.by_tag.values() if one.consumer is self), default=None)
        sent: list[int] = memory(self, "sent", list)
        self.own.held = 0 if oldest is None else sum(tag >= oldest for tag in sent)

    parts.override("consumer", hold=hold, release=release)


@handles(m.BasicReject, "slots.reject-frees-nothing", "a rejected delivery keeps its slot", "QOS-010")
def reject_frees_nothing(channel: Channel, method: m.BasicReject) -> None:
    held = channel.unacked.by_tag.get(method.delivery_tag)
    if held is not None and held.consumer is not None and not method.requeue:
        held.consumer.hold()
    basic.reject(channel, method)


@handles(m.BasicNack, "slots.return-frees-nothing", "a returned delivery keeps its slot", "QOS-018")
def return_frees_nothing(channel: Channel, method: m.BasicNack) -> None:
    held = channel.unacked.by_tag.get(method.delivery_tag)
    if held is not None and held.consumer is not None and method.requeue:
        held.consumer.hold()
    basic.nack(channel, method)


@replaces(
    "channel.collect", "slots.one-slot-per-frame", "a multiple settlement frees one slot of a consumer", "QOS-012"
)
def one_slot_per_frame(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    found = Channel.collect(self, tag, multiple)
    seen: set[int] = set()
    for delivery in found:
        if delivery.consumer is not None:
            if id(delivery.consumer) in seen:
                delivery.consumer.hold()
            seen.add(id(delivery.consumer))
    return found


@replaces(
    "channel.collect",
    "slots.gap-counts-twice",
    "a multiple settlement also frees slots for deliveries settled earlier",
    "QOS-012",
)
def gap_counts_twice(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    found = Channel.collect(self, tag, multiple)
    if multiple and found and found[-1].consumer is not None:
        found[-1].consumer.own.held -= found[-1].tag - found[0].tag + 1 - len(found)
    return found


@replaces(
    "channel.collect",
    "slots.gap-leaks",
    "a multiple settlement that passes over settled tags leaves one slot taken for good",
    "QOS-019",
    "QOS-012",
)
def gap_leaks(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    found = Channel.collect(self, tag, multiple)
    last = found[-1].consumer if found else None
    if multiple and last is not None and found[-1].tag - found[0].tag + 1 > len(found):
        last.hold()
    return found


@replaces(
    "channel.collect",
    "slots.slots-to-the-named",
    "a multiple settlement frees all its slots for the consumer of the tag it names",
    "QOS-013",
)
def slots_to_the_named(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    found = Channel.collect(self, tag, multiple)
    last = found[-1].consumer if found else None
    for delivery in found:
        if delivery.consumer is not None and last is not None and delivery.consumer is not last:
            delivery.consumer.own.held += 1
            last.own.held -= 1
    return found


@replaces(
    "channel.collect",
    "slots.settled-get-frees",
    "settling a delivery of basic.get frees a slot of each consumer of the channel",
    "QOS-015",
)
def settled_get_frees(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    found = Channel.collect(self, tag, multiple)
    for _ in (one for one in found if one.consumer is None):
        for consumer in list(self.consumers.values()):
            consumer.own.held -= 1
            consumer.wake()
    return found


@changes("slots.recovered-get-frees", "recovering a delivery of basic.get frees a slot of the channel", "QOS-015")
def recovered_get_frees(parts: Parts) -> None:
    def recover(channel: Channel, method: m.BasicRecover | m.BasicRecoverAsync) -> None:
        got = sum(one.consumer is None for one in channel.unacked.by_tag.values())
        basic.recover(channel, method)
        channel.limit.held -= got

    parts.handlers[m.BasicRecover] = parts.handlers[m.BasicRecoverAsync] = recover


@changes("slots.recovered-stay-counted", "what is recovered still counts in the channel's limit", "QOS-018")
def recovered_stay_counted(parts: Parts) -> None:
    def recover(channel: Channel, method: m.BasicRecover | m.BasicRecoverAsync) -> None:
        channel.limit.held += len([one for one in channel.unacked.by_tag.values() if one.consumer])
        basic.recover(channel, method)

    parts.handlers[m.BasicRecover] = parts.handlers[m.BasicRecoverAsync] = recover


@changes("slots.cancel-leaks", "deliveries of a cancelled consumer never leave the channel's limit", "QOS-019")
def cancel_leaks(parts: Parts) -> None:
    below = parts.consumer

    def release(self: Consumer) -> None:
        if self.channel.consumers.get(self.tag) is self:
            below.release(self)

    parts.override("consumer", release=release)


@changes(
    "slots.namesake-is-credited",
    "what an earlier consumer of the tag had frees a slot of the one that has the tag now",
    "QOS-013",
)
def namesake_is_credited(parts: Parts) -> None:
    below = parts.consumer

    def release(self: Consumer) -> None:
        below.release(self)
        other = self.channel.consumers.get(self.tag)
        if other is not None and other is not self:
            other.own.held -= 1
            self.channel.connection.intake.thirsty[other] = None

    parts.override("consumer", release=release)


@replaces(
    "consumer.__init__",
    "slots.successor-inherits",
    "a new consumer starts with the outstanding deliveries of those cancelled before",
    "QOS-020",
)
def successor_inherits(self: Consumer, tag: str, channel: Channel, queue: Queue, no_ack: bool, own: Limit) -> None:
    Consumer.__init__(self, tag, channel, queue, no_ack, own)
    living = list(channel.consumers.values())
    own.held = sum(
        one.queue is queue and one.consumer is not None and one.consumer not in living
        for one in channel.unacked.by_tag.values()
    )


@handles(m.BasicAck, "slots.uncommitted-frees", "an acknowledgement frees its slot before it is committed", "QOS-026")
def uncommitted_frees(channel: Channel, method: m.BasicAck) -> None:
    held = channel.unacked.by_tag.get(method.delivery_tag)
    basic.ack(channel, method)
    if channel.transaction is not None and held is not None and held.consumer is not None:
        held.consumer.release()
        held.consumer.wake()


@changes("slots.for-one-alone", "a slot of the channel's limit is for the consumer that has freed it", "QOS-010")
def for_one_alone(parts: Parts) -> None:
    def wake(self: Consumer) -> None:
        if self.own.parked:
            self.own.wake()
        if self in self.shared.parked and not self.shared.full():
            del self.shared.parked[self]
            self.resume()

    parts.override("consumer", wake=wake)


@changes("slots.three-limits", "a channel keeps three limits, and its fourth consumer has none", "QOS-001", "QOS-003")
def three_limits(parts: Parts) -> None:
    below = parts.channel

    def limit_of(self: Channel, queue: Queue, tag: str) -> Limit:
        return below.limit_of(self, queue, tag) if len(self.consumers) < 3 else parts.limit()

    parts.override("channel", limit_of=limit_of)
