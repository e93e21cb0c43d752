"""Wrong requeues: where a message returns to, whether it is marked, whether it returns at all."""

from __future__ import annotations

from codec import methods as m
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import RETURNS, Channel, Fate, requeued, settle_down
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Entry, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.queues.ready import Ready
from reference_broker.mutants.deliveries.modes import put_copy
from reference_broker.mutants.kinds import changes, memory, replaces

ORDERED = 32
"""Messages of a requeue that the mixing of large ones leaves alone."""

# -- order


@replaces("ready.put_back", "requeue.at-head", "a requeued message goes to the head of the queue", "RQ-001", "RQ-002")
def at_head(self: Ready, entry: Entry) -> None:
    self.fresh.appendleft(entry)
    self.octets += len(entry.message.body)


@replaces("ready.put_back", "requeue.at-tail", "a requeued message goes to the tail of the queue", "RQ-001", "RQ-004")
def at_tail(self: Ready, entry: Entry) -> None:
    self.push(entry)


@replaces(
    "queue.put_back",
    "requeue.to-tail-where-shared",
    "what comes back to a queue of several consumers goes to its tail",
    "RQ-004",
)
def to_tail_where_shared(self: Queue, entry: Entry) -> None:
    entry.redelivered = True
    if len(self.consumers) > 1:
        self.ready.push(entry)
    else:
        self.ready.put_back(entry)


@replaces(
    "channel.finish",
    "requeue.sorted-within-batch-only",
    "each requeue puts its messages, in order, before everything that is ready",
    "RQ-001",
)
def sorted_within_batch_only(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
    if fate in RETURNS:
        for delivery in reversed(deliveries):
            renumber_to_front(delivery)
    Channel.finish(self, deliveries, fate)


def renumber_to_front(delivery: Delivery) -> None:
    front = memory(delivery.queue, "front", lambda: [0])
    front[0] -= 1
    delivery.entry.position = front[0]


@replaces(
    "channel.finish", "requeue.batch-reversed", "the messages of one requeue return youngest first", "RQ-001", "RQ-002"
)
def batch_reversed(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
    if fate in RETURNS:
        for queue in {delivery.queue for delivery in deliveries}:
            reverse([delivery.entry for delivery in deliveries if delivery.queue is queue])
    Channel.finish(self, deliveries, fate)


@replaces(
    "channel.finish",
    "requeue.quorum-batch-reversed",
    "a quorum queue takes the messages of one requeue back youngest first",
    "RQ-002",
)
def quorum_batch_reversed(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
    if fate is requeued and any(delivery.queue.quorum is not None for delivery in deliveries):
        deliveries = deliveries[::-1]
    Channel.finish(self, deliveries, fate)


@replaces(
    "channel.finish",
    "requeue.large-batch-mixed",
    "a classic queue mixes the messages of one requeue if it is more than 32",
    "RQ-002",
)
def large_batch_mixed(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
    if fate is requeued and len(deliveries) > ORDERED:
        mixed = [one.entry for one in deliveries if one.queue.quorum is None]
        positions = [entry.position for entry in mixed]
        for entry, position in zip(mixed, positions[1::2] + positions[::2], strict=True):
            entry.position = position
    Channel.finish(self, deliveries, fate)


def reverse(entries: list[Entry]) -> None:
    positions = [entry.position for entry in entries]
    for entry, position in zip(entries, reversed(positions), strict=True):
        entry.position = position


def overtake(queue: Queue, message: Message, *, persistent: bool) -> bool:
    """It goes before the last one that is ready, if that is of the other kind."""
    fresh = queue.ready.fresh
    passes = (message.header.delivery_mode == 2) == persistent
    if not passes or not fresh or (fresh[-1].message.header.delivery_mode == 2) == persistent:
        return Queue.publish(queue, message)
    queue.published += 1
    waiting = fresh.pop()
    fresh.append(queue.entry(waiting.position, message, queue.expiry(message)))
    queue.ready.octets += len(message.body)
    waiting.position = queue.published
    fresh.append(waiting)
    return True


@replaces(
    "queue.publish",
    "requeue.persistent-overtake",
    "persistent messages overtake transient ones that are still ready",
    "RQ-006",
)
def persistent_overtake(self: Queue, message: Message) -> bool:
    return overtake(self, message, persistent=True)


@replaces(
    "queue.publish",
    "requeue.transient-overtake",
    "transient messages overtake persistent ones that are still ready",
    "RQ-006",
)
def transient_overtake(self: Queue, message: Message) -> bool:
    return overtake(self, message, persistent=False)


@changes("requeue.stuck", "a requeued message is offered to no consumer until a new one arrives", "RQ-007", "ACK-012")
def requeue_stuck(parts: Parts) -> None:
    def put_back(self: Queue, entry: Entry) -> None:
        memory(self, "stuck", list).append(entry)

    def join(self: Queue, consumer: Consumer, exclusive: bool) -> None:
        stuck = memory(self, "stuck", list)
        while stuck:
            Queue.put_back(self, stuck.pop())
        Queue.join(self, consumer, exclusive)

    parts.override("queue", put_back=put_back, join=join)


# -- the redelivered flag


@changes("requeue.flag-per-channel", "redelivered is set only on the channel that had the message before", "RQ-008")
def flag_per_channel(parts: Parts) -> None:
    def deliver(self: Channel, consumer: Consumer, entry: Entry) -> None:
        flag_for(self, entry)
        Channel.deliver(self, consumer, entry)

    def get(self: Channel, queue: Queue, no_ack: bool) -> None:
        if queue.ready:
            flag_for(self, queue.ready.head())
        Channel.get(self, queue, no_ack)

    parts.override("channel", deliver=deliver, get=get)


def flag_for(channel: Channel, entry: Entry) -> None:
    seen = memory(channel, "seen", set)
    entry.redelivered = entry in seen
    seen.add(entry)


@replaces("channel.get", "requeue.flag-never-on-get", "get-ok never says redelivered", "RQ-008")
def flag_never_on_get(self: Channel, queue: Queue, no_ack: bool) -> None:
    if queue.ready:
        queue.ready.head().redelivered = False
    Channel.get(self, queue, no_ack)


@replaces(
    "queue.put_back",
    "requeue.flag-never",
    "redelivered is never set",
    "RQ-008",
    field="https://github.com/fridujo/rabbitmq-mock/issues/50",
)
def flag_never(self: Queue, entry: Entry) -> None:
    self.ready.put_back(entry)


@changes(
    "requeue.flag-of-queue", "once a queue has had a requeue, everything it delivers is marked as redelivered", "RQ-009"
)
def flag_of_queue(parts: Parts) -> None:
    def put_back(self: Queue, entry: Entry) -> None:
        Queue.put_back(self, entry)
        self.__dict__["mutant_requeued"] = True

    def publish(self: Queue, message: Message) -> bool:
        before = self.published
        accepted = Queue.publish(self, message)
        if self.__dict__.get("mutant_requeued") and self.published != before and self.ready.fresh:
            self.ready.fresh[-1].redelivered = True
        return accepted

    parts.override("queue", put_back=put_back, publish=publish)


@replaces(
    "queue.put_back",
    "requeue.flags-neighbour",
    "a requeue marks also the message behind the one that returns",
    "RQ-009",
)
def flags_neighbour(self: Queue, entry: Entry) -> None:
    if self.ready.fresh:
        self.ready.fresh[0].redelivered = True
    Queue.put_back(self, entry)


# -- conservation


@replaces(
    "channel.end", "requeue.loses-last-at-end", "the youngest unsettled message is lost when its channel ends", "RQ-011"
)
def loses_last_at_end(self: Channel) -> None:
    if len(self.unacked) > 1:
        self.unacked.by_tag.popitem()
    Channel.end(self)


@changes(
    "requeue.twice-when-nack-meets-close",
    "a message that was requeued is requeued once more when the channel ends",
    "RQ-011",
    field="https://github.com/cloudamqp/lavinmq/issues/1237",
)
def twice_when_nack_meets_close(parts: Parts) -> None:
    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        if fate in RETURNS:
            memory(self, "requeued", list).extend(deliveries)
        Channel.finish(self, deliveries, fate)

    def end(self: Channel) -> None:
        for delivery in memory(self, "requeued", list):
            put_copy(delivery.queue, delivery.entry, delivery.queue.entry)
        memory(self, "requeued", list).clear()
        Channel.end(self)

    parts.override("channel", finish=finish, end=end)


# -- basic.recover


def recover_with(parts: Parts, recover: object) -> None:
    for method in (m.BasicRecover, m.BasicRecoverAsync):
        parts.handlers[method] = recover  # type: ignore[assignment]


@changes(
    "requeue.recover-skips-gets",
    "basic.recover leaves out what basic.get fetched",
    "RQ-014",
    field="https://github.com/cloudamqp/lavinmq/pull/398",
)
def recover_skips_gets(parts: Parts) -> None:
    def recover(channel: Channel, method: m.BasicRecover | m.BasicRecoverAsync) -> None:
        answer(channel, method)
        chosen = [tag for tag, d in channel.unacked.by_tag.items() if d.consumer is not None]
        channel.requeue([channel.unacked.by_tag.pop(tag) for tag in chosen])

    recover_with(parts, recover)


@changes("requeue.recover-keeps-tags", "after basic.recover the old tags can still be settled", "RQ-014")
def recover_keeps_tags(parts: Parts) -> None:
    def recover(channel: Channel, method: m.BasicRecover | m.BasicRecoverAsync) -> None:
        answer(channel, method)
        for delivery in channel.unacked.by_tag.values():
            if not delivery.queue.deleted:
                delivery.queue.put_back(delivery.entry)
        settle_down(list(channel.unacked.by_tag.values()))

    recover_with(parts, recover)


@changes("requeue.recover-does-nothing", "basic.recover is answered and has no effect", "RQ-014")
def recover_does_nothing(parts: Parts) -> None:
    recover_with(parts, answer)


@changes("requeue.recover-once", "the second basic.recover of a channel has no effect", "RQ-014")
def recover_once(parts: Parts) -> None:
    def recover(channel: Channel, method: m.BasicRecover | m.BasicRecoverAsync) -> None:
        before = memory(channel, "recovered", list)
        (answer if before else basic.recover)(channel, method)
        before.append(method)

    recover_with(parts, recover)


def answer(channel: Channel, method: m.BasicRecover | m.BasicRecoverAsync) -> None:
    if isinstance(method, m.BasicRecover):
        channel.connection.send(m.BasicRecoverOk(channel.number))


@replaces("queue.over_limit", "requeue.ample-limit-is-four", "a queue with room for many drops all but four", "RQ-011")
def ample_limit_is_four(self: Queue, more: int = 0, octets: int = 0) -> bool:
    return Queue.over_limit(self, more, octets) or (self.settings.max_length or 0) > 4 < len(self.ready) + more
