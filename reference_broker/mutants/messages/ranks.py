"""Consumers whose priorities are not heeded, or too much."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

from codec import methods as m
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer, Limit
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.parts import Parts
from reference_broker.core.queues.deadletter import earlier_deaths
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes, handles, memory, replaces

RANK = "x-priority"


@replaces("queue.next_in_turn", "ranks.ignored", "priorities of consumers mean nothing", "CPRIO-001")
def ignored(self: Queue) -> Consumer:
    return self.ring.popleft()


@replaces(
    "queue.next_in_turn", "ranks.lowest-first", "the consumer with the lowest priority is served first", "CPRIO-001"
)
def lowest_first(self: Queue) -> Consumer:
    first = min(self.ring, key=lambda consumer: consumer.priority)
    self.ring.remove(first)
    return first


@replaces("queue.next_in_turn", "ranks.no-negative", "a negative priority of a consumer counts as none", "CPRIO-001")
def no_negative(self: Queue) -> Consumer:
    first = max(self.ring, key=lambda consumer: max(consumer.priority, 0))
    self.ring.remove(first)
    return first


@replaces("queue.pump", "ranks.highest-waited-for", "while the highest consumer is full nobody is served", "CPRIO-002")
def highest_waited_for(self: Queue) -> None:
    highest = max((consumer.priority for consumer in self.consumers), default=0)
    if not self.ranked or any(consumer.priority == highest for consumer in self.ring):
        waiting = [consumer for consumer in self.ring if consumer.priority < highest] if self.ranked else []
        for consumer in waiting:
            self.ring.remove(consumer)
        Queue.pump(self)
        self.ring.extend(waiting)


@replaces(
    "queue.pump",
    "ranks.channel-waited-for",
    "while the highest consumer's channel is full all wait",
    "QOS-002",
    "CPRIO-002",
)
def channel_waited_for(self: Queue) -> None:
    first = max(self.ring, key=lambda consumer: consumer.priority, default=None) if self.ranked else None
    if first is None or not first.priority or first.no_ack or not first.shared.full():
        Queue.pump(self)


@replaces(
    "queue.next_in_turn", "ranks.first-of-equals", "of consumers with one priority the first is served", "CPRIO-003"
)
def first_of_equals(self: Queue) -> Consumer:
    if not self.ranked:
        return Queue.next_in_turn(self)
    order = list(self.consumers)
    first = max(self.ring, key=lambda consumer: (consumer.priority, -order.index(consumer)))
    self.ring.remove(first)
    return first


@handles(m.BasicConsume, "ranks.text-taken", "a priority of a consumer may be a text", "CPRIO-004")
def text_taken(channel: Channel, method: m.BasicConsume) -> None:
    if any(name == RANK and letter == "S" for name, letter, _ in method.arguments):
        method = copy(method)
        method.arguments = [one for one in method.arguments if one[0] != RANK]
    basic.consume(channel, method)


@replaces("consumer.obstacle", "ranks.lost-when-full", "who was full once has no priority any more", "CPRIO-001")
def lost_when_full(self: Consumer) -> Limit | None:
    found = Consumer.obstacle(self)
    if found is self.own:
        self.priority = 0
    return found


@replaces("queue.next_in_turn", "ranks.one-octet", "priorities of consumers have one octet", "CPRIO-001")
def one_octet(self: Queue) -> Consumer:
    if not self.ranked:
        return Queue.next_in_turn(self)
    first = max(self.ring, key=lambda consumer: (consumer.priority + 128) % 256 - 128)
    self.ring.remove(first)
    return first


@replaces("queue.join", "ranks.automatic-have-none", "who acknowledges nothing has no priority", "CPRIO-001")
def automatic_have_none(self: Queue, consumer: Consumer, exclusive: bool) -> None:
    consumer.priority = 0 if consumer.no_ack else consumer.priority
    Queue.join(self, consumer, exclusive)


@changes("ranks.full-once", "a consumer that had no room once comes behind those that always had", "CPRIO-001")
def full_once(parts: Parts) -> None:
    below = parts.consumer

    def resume(self: Consumer) -> None:
        memory(self.queue, "full", set[Consumer]).add(self)
        below.resume(self)

    def next_in_turn(self: Queue) -> Consumer:
        full = memory(self, "full", set[Consumer])
        first = max(self.ring, key=lambda consumer: (consumer not in full, consumer.priority))
        self.ring.remove(first)
        return first

    parts.override("queue", next_in_turn=next_in_turn)
    parts.override("consumer", resume=resume)


@changes(
    "ranks.nothing-is-none",
    "an x-priority that is void counts as none",
    "CPRIO-004",
    field="https://github.com/cloudamqp/lavinmq/commit/368dce76",
)
def nothing_is_none(parts: Parts) -> None:
    below = parts.handlers[m.BasicConsume]

    def consume(channel: Channel, method: m.BasicConsume) -> None:
        method.arguments = [one for one in method.arguments if one[:2] != (RANK, "V")]
        below(channel, method)

    parts.handlers[m.BasicConsume] = consume


@changes("ranks.none-is-below-nought", "a consumer without x-priority comes after one of priority 0", "CPRIO-003")
def none_is_below_nought(parts: Parts) -> None:
    below = parts.handlers[m.BasicConsume]

    def consume(channel: Channel, method: m.BasicConsume) -> None:
        if not any(name == RANK for name, _, _ in method.arguments):
            method.arguments = [*method.arguments, (RANK, "l", -1)]
        below(channel, method)

    parts.handlers[m.BasicConsume] = consume


def in_turn(parts: Parts, when: Callable[[Queue], bool]) -> None:
    """Then its consumers are served in turn, whatever their priorities."""
    below = parts.queue

    def next_in_turn(self: Queue) -> Consumer:
        return self.ring.popleft() if when(self) else below.next_in_turn(self)

    parts.override("queue", next_in_turn=next_in_turn)


@changes("ranks.dead-letters-in-turn", "dead letters go to consumers in turn, whatever their priorities", "CPRIO-001")
def dead_letters_in_turn(parts: Parts) -> None:
    in_turn(parts, lambda queue: len(queue.ready) > 0 and bool(earlier_deaths(queue.ready.head().message)))


@changes("ranks.committed-in-turn", "what a commit publishes goes to consumers in turn", "CPRIO-001")
def committed_in_turn(parts: Parts) -> None:
    below, committing = parts.transaction, list[Transaction]()

    def commit(self: Transaction, channel: Channel) -> bool:
        committing.append(self)
        try:
            return below.commit(self, channel)
        finally:
            committing.clear()

    parts.override("transaction", commit=commit)
    in_turn(parts, lambda queue: bool(committing))


@changes("ranks.of-strangers", "x-priority counts on the connection that has declared the queue", "CPRIO-001")
def of_strangers(parts: Parts) -> None:
    declare, below = parts.handlers[m.QueueDeclare], parts.queue

    def remember(channel: Channel, method: m.QueueDeclare) -> None:
        declare(channel, method)
        queue = channel.vhost.queues.get(channel.last_queue)
        if queue is not None:
            memory(queue, "declarer", lambda: channel.connection)

    def join(self: Queue, consumer: Consumer, exclusive: bool) -> None:
        if memory(self, "declarer", lambda: None) is not consumer.channel.connection:
            consumer.priority = 0
        below.join(self, consumer, exclusive)

    parts.handlers[m.QueueDeclare] = remember
    parts.override("queue", join=join)
