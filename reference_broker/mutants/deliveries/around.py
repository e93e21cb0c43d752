"""Wrong surroundings of a settlement: answers, cancelled consumers, deleted queues, closes that follow at once."""

from __future__ import annotations

from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel, Fate
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.errors import ConnectionException
from reference_broker.core.parts import Parts
from reference_broker.mutants.deliveries.settle import take
from reference_broker.mutants.kinds import changes, handles, memory, replaces


@handles(m.BasicAck, "settle.answers-ack", "an ack is answered", "ACK-015")
def answers_ack(channel: Channel, method: m.BasicAck) -> None:
    basic.ack(channel, method)
    channel.connection.send(m.BasicAck(channel.number, method.delivery_tag, method.multiple))


@replaces(
    "channel.cancel",
    "settle.cancel-forgets-deliveries",
    "basic.cancel makes the consumer's unsettled tags unknown",
    "ACK-016",
)
def cancel_forgets_deliveries(self: Channel, tag: str) -> None:
    Channel.cancel(self, tag)
    take(self.unacked, held_by(self, tag))


@replaces(
    "channel.cancel",
    "settle.cancel-requeues",
    "basic.cancel requeues the consumer's unsettled messages",
    "ACK-016",
    "AUTO-008",
    field="https://github.com/cloudamqp/lavinmq/issues/89",
)
def cancel_requeues(self: Channel, tag: str) -> None:
    Channel.cancel(self, tag)
    self.requeue(take(self.unacked, held_by(self, tag)))


def held_by(channel: Channel, consumer_tag: str) -> list[int]:
    outstanding = channel.unacked.by_tag.items()
    return [tag for tag, d in outstanding if d.consumer is not None and d.consumer.tag == consumer_tag]


@replaces(
    "channel.settle",
    "settle.deleted-queue-crashes",
    "settling a message whose queue was deleted closes the connection",
    "ACK-017",
)
def deleted_queue_crashes(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
    if any(delivery.queue.deleted for delivery in deliveries):
        raise ConnectionException(ReplyCode.INTERNAL_ERROR)
    Channel.settle(self, deliveries, fate)


def settle_later(parts: Parts, at_once: int) -> None:
    """Of the settlements of one tick only the first take effect at once; a close forgets the others."""
    below = parts.channel

    def settle(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        batch = memory(self, "batch", list)
        batch.append(([], fate) if len(batch) < at_once else (deliveries, fate))
        if len(batch) <= at_once:
            Channel.settle(self, deliveries, fate)
        self.connection.confirm(self)

    def flush(self: Channel) -> None:
        for deliveries, fate in memory(self, "batch", list):
            Channel.settle(self, deliveries, fate)
        memory(self, "batch", list).clear()
        below.flush(self)

    def end(self: Channel) -> None:
        batch = memory(self, "batch", list)
        self.unacked.restore([delivery for deliveries, _ in batch for delivery in deliveries])
        batch.clear()
        Channel.end(self)

    parts.override("channel", settle=settle, flush=flush, end=end)


@changes(
    "settle.lost-when-channel-closes",
    "more than 32 settlements at a time are set aside, and a close forgets those",
    "ACK-018",
    field="https://github.com/rabbitmq/rabbitmq-server/issues/10327",
)
def lost_when_channel_closes(parts: Parts) -> None:
    settle_later(parts, at_once=32)


@changes("settle.close-overtakes", "a close takes effect before the settlements that arrived with it", "ACK-018")
def close_overtakes(parts: Parts) -> None:
    settle_later(parts, at_once=0)
