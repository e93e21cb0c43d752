"""Lawful variations of serving consumers: who gets the next message, when, and from when on a new limit holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codec import methods as m
from reference_broker.core.channels import topology
from reference_broker.core.queues.queue import Queue
from reference_broker.nondeterminism.kinds import SHARES, TICKS, Free, variation

if TYPE_CHECKING:
    from reference_broker.core.channels.channel import Channel, Fate
    from reference_broker.core.channels.prefetch import Consumer, Limit
    from reference_broker.core.channels.unacked import Delivery

ACKS = "guide: Consumer Acknowledgements and Publisher Confirms"


@variation(
    "dispatch.any-consumer",
    "give the next message to any consumer of the queue that has room",
    'AMQP 0-9-1 specification, 2.1.1.1 "The Message Queue": round-robin is an example, "not formally defined"; 4.7 '
    '"Content Ordering Guarantees": what is ordered ends at "one outgoing channel"',
    share=SHARES,
)
def any_consumer(free: Free) -> None:
    honest = free.parts.queue.next_in_turn

    def next_in_turn(self: Queue) -> Consumer:
        if not self.ranked and free.luck():
            self.ring.rotate(-free.chance.randint(0, len(self.ring) - 1))
        return honest(self)

    free.parts.override("queue", next_in_turn=next_in_turn)


@variation(
    "dispatch.any-queue",
    "give a slot that has become free to any of the consumers that wait for it",
    'guide: Consumer Prefetch, "Example - multiple consumers sharing the limit": a shared limit binds the sum; which '
    "queue uses it is not said",
)
def any_queue(free: Free) -> None:
    honest = free.parts.limit.wake

    def wake(self: Limit) -> None:
        if len(self.parked) > 1:
            waiting = list(self.parked)
            free.chance.shuffle(waiting)
            self.parked = dict.fromkeys(waiting)
        honest(self)

    free.parts.override("limit", wake=wake)


@variation(
    "dispatch.one-by-one",
    "hand out one message at a time, and the next after a while, in spite of room",
    f'{ACKS}, "Channel Prefetch Setting (QoS)": the count is "the max number" of unacknowledged deliveries; how soon '
    "it is reached is not said",
    ticks=TICKS,
)
def one_by_one(free: Free) -> None:
    honest = free.parts.queue.pump
    awaited: set[Queue] = set()

    def pump(self: Queue) -> None:
        if bounded(self):
            honest(self)
        elif self not in awaited:
            hand_out(self)

    def hand_out(queue: Queue) -> None:
        consumer = ready_for_one(queue)
        if consumer is None:
            return
        queue.ring.append(consumer)
        consumer.channel.deliver(consumer, queue.ready.pop())
        awaited.add(queue)
        free.put_off(lambda: go_on(queue))

    def go_on(queue: Queue) -> None:
        awaited.discard(queue)
        hand_out(queue)

    free.parts.override("queue", pump=pump)


def ready_for_one(queue: Queue) -> Consumer | None:
    """The next in turn that has room, taken out of the ring; None: there is none, or nothing for it."""
    while queue.ring and queue.ready:
        consumer = queue.next_in_turn()
        obstacle = consumer.obstacle()
        if obstacle is None:
            return consumer
        obstacle.parked[consumer] = None
    return None


@variation(
    "dispatch.late",
    "keep a message for a while although a consumer has room for it",
    f'{ACKS}, "Channel Prefetch Setting (QoS)": messages are "sent (pushed) to clients asynchronously"',
    share=SHARES,
    ticks=TICKS,
)
def late(free: Free) -> None:
    honest = free.parts.queue.pump
    awaited: set[Queue] = set()

    def pump(self: Queue) -> None:
        if self in awaited:
            return
        if bounded(self) or not (self.ring and self.ready) or not free.luck():
            honest(self)
            return
        awaited.add(self)
        free.put_off(lambda: go_on(self))

    def go_on(queue: Queue) -> None:
        awaited.discard(queue)
        honest(queue)

    free.parts.override("queue", pump=pump)


def bounded(queue: Queue) -> bool:
    """Do its messages leave by themselves, too? Then waiting would cost some."""
    return queue.expiring or queue.settings.length_limited()


@variation(
    "prefetch.late",
    "apply a changed channel limit only after a while, if its consumers hold deliveries",
    f'{ACKS}, "Channel Prefetch Setting (QoS)": a change while deliveries are in flight is a "natural race condition", '
    "and there can temporarily be more than prefetch count",
    ticks=TICKS,
)
def prefetch_late(free: Free) -> None:
    honest = free.parts.limit.full
    former: dict[Limit, int] = {}

    def full(self: Limit) -> bool:
        if self not in former:
            return honest(self)
        return former[self] != 0 and self.held >= former[self]

    qos = free.parts.handlers[m.BasicQos]

    def changed(channel: Channel, method: m.BasicQos) -> None:
        if channel.limit.held and method.global_ and channel.limit not in former:
            former[channel.limit] = channel.limit.count
            free.put_off(lambda: apply(channel.limit))
        qos(channel, method)

    def apply(limit: Limit) -> None:
        if former.pop(limit, None) is not None:
            limit.wake()

    consume = free.parts.handlers[m.BasicConsume]

    def consumed(channel: Channel, method: m.BasicConsume) -> None:
        """A new consumer has nothing in flight: it finds the limit as it was set."""
        apply(channel.limit)
        consume(channel, method)

    settle = free.parts.channel.settle

    def settled(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        """What a settlement makes room for was not in flight: it finds the limit as it was set, too."""
        apply(self.limit)
        settle(self, deliveries, fate)

    free.parts.override("limit", full=full)
    free.parts.override("channel", settle=settled)
    free.parts.handlers[m.BasicQos] = changed
    free.parts.handlers[m.BasicConsume] = consumed


@variation(
    "cancel.any-order",
    "tell the consumers of a deleted queue in any order, before or after delete-ok",
    'guide: Consumer Cancel Notification: the broker sends basic.cancel "asynchronously"; no order is promised',
)
def any_order(free: Free) -> None:
    def queue_delete(channel: Channel, method: m.QueueDelete) -> None:
        count, consumers = topology.remove_queue(channel, method)
        news: list[Consumer | None] = [*consumers, *([] if method.no_wait else [None])]
        free.chance.shuffle(news)
        for consumer in news:
            if consumer is None:
                channel.connection.send(m.QueueDeleteOk(channel.number, count))
                continue
            consumer.channel.cancelled(consumer)

    free.parts.handlers[m.QueueDelete] = queue_delete
