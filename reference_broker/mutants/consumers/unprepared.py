"""What a broker was not prepared for among consumers: exclusive ones under a limit, tags that it chose itself, others
after a refusal, a consumer that is cancelled while it is full."""

from __future__ import annotations

from codec import methods as m
from reference_broker.core.channels.channel import Channel, Fate
from reference_broker.core.channels.prefetch import Consumer, Limit
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.errors import ChannelException, not_allowed, refused
from reference_broker.core.parts import Parts
from reference_broker.core.queues.queue import Queue
from reference_broker.core.queues.timeouts import Timeouts
from reference_broker.mutants.kinds import changes, memory

CHOSEN = "amq.ctag-"
AT_ONCE = 32


@changes(
    "unprepared.limits-side-by-side",
    "basic.qos changes consumers that run, where their channel has a limit of its own",
    "QOS-004",
)
def limits_side_by_side(parts: Parts) -> None:
    below = parts.channel

    def limit_each(self: Channel, count: int) -> None:
        below.limit_each(self, count)
        for consumer in list(self.consumers.values()) if self.limit.count else ():
            consumer.own.change(consumer.queue.window(count))

    parts.override("channel", limit_each=limit_each)


@changes("unprepared.chosen-share", "consumers whose tags the broker has chosen share one limit", "QOS-003")
def chosen_share(parts: Parts) -> None:
    below = parts.channel

    def limit_of(self: Channel, queue: Queue, tag: str) -> Limit:
        limit = below.limit_of(self, queue, tag)
        if not tag.startswith(CHOSEN):
            return limit
        shared: Limit = memory(self, "shared", dict).setdefault(self.prefetch, limit)
        return shared

    parts.override("channel", limit_of=limit_of)


@changes("unprepared.exclusive-unlimited", "an exclusive consumer has no limit", "QOS-001")
def exclusive_unlimited(parts: Parts) -> None:
    below = parts.handlers[m.BasicConsume]

    def consume(channel: Channel, method: m.BasicConsume) -> None:
        before = channel.prefetch
        channel.prefetch = 0 if method.exclusive else before
        try:
            below(channel, method)
        finally:
            channel.prefetch = before

    parts.handlers[m.BasicConsume] = consume


@changes(
    "unprepared.refused-all-the-same",
    "a queue is exclusive from the moment on that an exclusive consumer was refused",
    "CONSUME-005",
    "CONSUME-006",
)
def refused_all_the_same(parts: Parts) -> None:
    below = parts.queue

    def excludes(self: Queue, exclusive: bool) -> bool:
        excluded = below.excludes(self, exclusive)
        self.exclusive_consumer = self.exclusive_consumer or (excluded and exclusive)
        return excluded

    parts.override("queue", excludes=excludes)


@changes(
    "unprepared.not-while-something-is-out",
    "an exclusive consumer is refused while its connection holds something of one that was cancelled",
    "CONSUME-006",
)
def not_while_something_is_out(parts: Parts) -> None:
    below = parts.handlers[m.BasicConsume]

    def consume(channel: Channel, method: m.BasicConsume) -> None:
        held = [one for each in channel.connection.channels.values() for one in each.unacked.by_tag.values()]
        queue = channel.vhost.queues.get(method.queue)
        if queue is not None and method.exclusive and any(one.queue is queue and one.consumer for one in held):
            raise refused(f"queue '{queue.name}' in vhost '/' in exclusive use")
        below(channel, method)

    parts.handlers[m.BasicConsume] = consume


@changes("unprepared.cancelled-while-full", "a consumer that was cancelled while it was full is served on", "CAN-009")
def cancelled_while_full(parts: Parts) -> None:
    below = parts.queue

    def leave(self: Queue, consumer: Consumer) -> None:
        parked = consumer in consumer.own.parked and not (consumer.channel.closing or self.deleted)
        below.leave(self, consumer)
        if parked:
            consumer.own.parked[consumer] = None

    parts.override("queue", leave=leave)


@changes("unprepared.a-crowd-at-once", "a multiple settlement frees 32 slots at most", "QOS-012")
def a_crowd_at_once(parts: Parts) -> None:
    below = parts.channel

    def carry_out(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        for delivery in deliveries[AT_ONCE:]:
            if delivery.consumer is not None and not delivery.stale:
                delivery.consumer.own.held += 1
        below.carry_out(self, deliveries, fate)

    parts.override("channel", carry_out=carry_out)


@changes("unprepared.first-deadline", "what is delivered again has the deadline of its first delivery", "TMO-019")
def first_deadline(parts: Parts) -> None:
    below = parts.timeouts

    def began_with(self: Timeouts, delivery: Delivery) -> None:
        first: float = memory(delivery.queue, "first", dict).setdefault(delivery.entry.position, self.clock.now)
        below.began_with(self, delivery)
        line = self.lines.get(delivery.consumer) if delivery.consumer is not None else None
        if line is None or line.timeout is None or not self.clock.now < first + line.timeout:
            return
        line.waiting[-1] = first + line.timeout, delivery
        line.waiting.rotate(1)
        line.armed = False
        self.arm(line)

    parts.override("queue")
    parts.override("timeouts", began_with=began_with)


@changes(
    "unprepared.notice-makes-room",
    "when a queue is deleted, the other consumers of its channel are served as if they held nothing",
    "CAN-011",
    "QOS-001",
)
def notice_makes_room(parts: Parts) -> None:
    below = parts.channel

    def cancelled(self: Channel, consumer: Consumer) -> None:
        below.cancelled(self, consumer)
        for other in list(self.consumers.values()):
            held, other.own.held = other.own.held, 0
            other.own.wake()
            other.own.held += held

    parts.override("channel", cancelled=cancelled)


@changes("unprepared.one-of-many-waits", "a channel's limit that is raised or removed wakes one consumer", "QOS-022")
def one_of_many_waits(parts: Parts) -> None:
    below = parts.channel

    def limit_together(self: Channel, count: int) -> None:
        waiting = list(self.limit.parked)[1:]
        for consumer in waiting:
            del self.limit.parked[consumer]
        below.limit_together(self, count)
        self.limit.parked.update(dict.fromkeys(waiting))

    parts.override("channel", limit_together=limit_together)


@changes(
    "unprepared.tag-of-the-refused",
    "the tag of a consumer that was refused stays in use on its channel number",
    "ERR-007",
    "CAN-018",
)
def tag_of_the_refused(parts: Parts) -> None:
    below = parts.handlers[m.BasicConsume]

    def consume(channel: Channel, method: m.BasicConsume) -> None:
        taken: set[tuple[int, str]] = memory(channel.connection, "taken", set)
        asked = channel.number, method.consumer_tag
        if asked in taken:
            raise not_allowed(f"attempt to reuse consumer tag '{method.consumer_tag}'")
        try:
            below(channel, method)
        except ChannelException:
            taken.add(asked)
            raise

    parts.handlers[m.BasicConsume] = consume
