"""What a broker was not prepared for when deliveries go back: a publish that is half there, a mistake of another kind,
somebody else who waits, a message that comes back too often."""

from __future__ import annotations

from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels.channel import Channel, Fate, requeued
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.connection import Connection
from reference_broker.core.errors import AmqpException
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Entry, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes, memory

TOO_OFTEN = 5


@changes(
    "unprepared.half-a-publish",
    "a channel that ends in the middle of a publish returns nothing",
    "AUTO-002",
    "AUTO-003",
    "RQ-011",
)
def half_a_publish(parts: Parts) -> None:
    below = parts.channel

    def end(self: Channel) -> None:
        if self.number in self.connection.intake.assemblies:
            for delivery in self.unacked.by_tag.values():
                delivery.lost = True
        below.end(self)

    parts.override("channel", end=end)


@changes(
    "unprepared.nothing-found", "a channel that fails with 404 does not return what it has got", "AUTO-004", "RQ-011"
)
def nothing_found(parts: Parts) -> None:
    below = parts.connection

    def close_channel(self: Connection, channel: Channel, error: AmqpException, offender: tuple[int, int]) -> None:
        for delivery in channel.unacked.by_tag.values() if error.code == ReplyCode.NOT_FOUND else ():
            delivery.lost = delivery.consumer is None
        below.close_channel(self, channel, error, offender)

    parts.override("connection", close_channel=close_channel)


@changes(
    "unprepared.too-often", "a classic queue drops what comes back for the fifth time", "ACK-012", "RQ-011", "QOS-018"
)
def too_often(parts: Parts) -> None:
    below = parts.queue

    def put_back(self: Queue, entry: Entry) -> None:
        counts: dict[float, int] = memory(self, "counts", dict)
        counts[entry.position] = counts.get(entry.position, 0) + 1
        if self.quorum is not None or counts[entry.position] < TOO_OFTEN:
            below.put_back(self, entry)

    parts.override("queue", put_back=put_back)


@changes(
    "unprepared.recovered-for-itself", "what is recovered goes to no consumer of another channel", "RQ-014", "RQ-015"
)
def recovered_for_itself(parts: Parts) -> None:
    below = parts.channel

    def requeue(self: Channel, deliveries: list[Delivery]) -> None:
        queues = {delivery.queue: None for delivery in deliveries}
        others = [(queue, one) for queue in queues for one in queue.ring if one.channel is not self]
        for queue, consumer in others:
            queue.ring.remove(consumer)
        below.requeue(self, deliveries)
        for queue, consumer in others:
            if consumer in queue.consumers:
                queue.ring.append(consumer)

    parts.override("channel", requeue=requeue)


@changes(
    "unprepared.one-mark-for-copies",
    "a message that comes back to one queue is redelivered in every other one it was routed to",
    "RQ-009",
)
def one_mark_for_copies(parts: Parts) -> None:
    below, queues = parts.channel, parts.queue

    def marked(queue: Queue) -> dict[int, Message]:
        found: dict[int, Message] = memory(queue.vhost, "marked", dict)
        return found

    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        below.finish(self, deliveries, fate)
        for one in deliveries:
            if one.entry.redelivered:
                marked(one.queue)[id(one.entry.message)] = one.entry.message

    def deliver(self: Channel, consumer: Consumer, entry: Entry) -> None:
        entry.redelivered = entry.redelivered or id(entry.message) in marked(consumer.queue)
        below.deliver(self, consumer, entry)

    def get(self: Queue) -> Entry | None:
        entry = queues.get(self)
        if entry is not None and id(entry.message) in marked(self):
            entry.redelivered = True
        return entry

    parts.override("vhost")
    parts.override("channel", finish=finish, deliver=deliver)
    parts.override("queue", get=get)


@changes(
    "unprepared.heir-of-a-tag",
    "a new consumer under the tag of one that was cancelled returns what that one holds",
    "AUTO-008",
    "ACK-016",
)
def heir_of_a_tag(parts: Parts) -> None:
    below = parts.handlers[m.BasicConsume]

    def consume(channel: Channel, method: m.BasicConsume) -> None:
        below(channel, method)
        heir = channel.consumers.get(method.consumer_tag)
        former = [one.consumer for one in channel.unacked.by_tag.values() if one.consumer not in (None, heir)]
        if heir is not None and former:
            channel.finish(
                channel.unacked.those(lambda one: one.consumer in former and one.consumer.tag == heir.tag), requeued
            )

    parts.handlers[m.BasicConsume] = consume
