"""Consumers, right as long as nobody does what is seldom done: a consumer that was refused, a long tag, hundreds of
deliveries, settlements of several at once."""

from __future__ import annotations

from typing import Any

from codec import methods as m
from reference_broker.core.channels.channel import Channel, Fate
from reference_broker.core.channels.prefetch import Consumer, Limit
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.errors import refused
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Entry
from reference_broker.core.queues.queue import Queue
from reference_broker.core.queues.timeouts import Line, Timeouts
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory
from reference_broker.mutants.topology.binding import Handle, handling

SHORT = 127


@handling(
    (m.BasicConsume,),
    "seldom.refused-for-ever",
    "an exclusive consumer locks where it is refused",
    "CONSUME-006",
)
def refused_for_ever(channel: Channel, method: m.BasicConsume, below: Handle) -> None:
    queue, locked = channel.vhost.queues.get(method.queue), memory(channel.vhost, "locked", set)
    if queue is not None and method.exclusive and queue.consumers:
        locked.add(queue)
    elif queue in locked:
        raise refused(f"queue '{method.queue}' in exclusive use")
    below(channel, method)


@changes("seldom.short-tags", f"deliveries name tags by their first {SHORT} characters", "CAN-009", "CONSUME-007")
def short_tags(parts: Parts) -> None:
    below = parts.channel

    def deliver(self: Channel, consumer: Consumer, entry: Entry) -> None:
        tag, consumer.tag = consumer.tag, consumer.tag[:SHORT]
        try:
            below.deliver(self, consumer, entry)
        finally:
            consumer.tag = tag

    parts.override("channel", deliver=deliver)


@changes("seldom.one-octet-tags", "after 255 delivery tags begin anew", "TAG-003")
def one_octet_tags(parts: Parts) -> None:
    below = parts.channel

    def next_tag(self: Channel) -> int:
        if self.last_tag == 255:
            self.last_tag = 0
        return below.next_tag(self)

    parts.override("channel", next_tag=next_tag)


@changes("seldom.settled-together", "what was settled by a multiple times out all the same", "TMO-019")
def settled_together(parts: Parts) -> None:
    channels, below = parts.channel, parts.timeouts

    def collect(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
        found = channels.collect(self, tag, multiple)
        memory(self, "together", list).extend(found[:-1] if multiple else ())
        return found

    def out(self: Timeouts, delivery: Delivery) -> bool:
        return below.out(self, delivery) or delivery in memory(self.channel, "together", list)

    def time_out(self: Timeouts, deliveries: list[Delivery], consumer: Consumer | None) -> None:
        together = memory(self.channel, "together", list)
        if any(one in together for one in deliveries):
            self.tell(consumer)
        left = [one for one in deliveries if one not in together]
        if left:
            below.time_out(self, left, consumer)

    parts.override("channel", collect=collect)
    parts.override("timeouts", out=out, time_out=time_out)


@changes("seldom.first-deadline", "what is delivered again times out when it would have at first", "TMO-019")
def first_deadline(parts: Parts) -> None:
    below = parts.timeouts

    def began_with(self: Timeouts, delivery: Delivery) -> None:
        below.began_with(self, delivery)
        first: float = self._first(delivery)  # type: ignore[attr-defined]
        line = self.lines.get(delivery.consumer) if delivery.consumer is not None else None
        if line is not None and line.timeout is not None and first < self.clock.now:
            self._sooner(line, first + line.timeout)  # type: ignore[attr-defined]

    def first(self: Timeouts, delivery: Delivery) -> float:
        """When its message was delivered first."""
        began: list[tuple[Any, float]] = memory(delivery.queue, "began", list)
        known = next((at for entry, at in began if entry is delivery.entry), None)
        if known is None:
            began.append((delivery.entry, self.clock.now))
        return self.clock.now if known is None else known

    def sooner(self: Timeouts, line: Line, due: float) -> None:
        _, delivery = line.waiting.pop()
        line.waiting.appendleft((due, delivery))
        line.armed = False
        self.arm(line)

    parts.override("timeouts", began_with=began_with, _first=first, _sooner=sooner)


@changes("seldom.quiet-and-unlimited", "a consumer that is started with nowait has no limit", "QOS-001")
def quiet_and_unlimited(parts: Parts) -> None:
    below = parts.handlers[m.BasicConsume]

    def consume(channel: Channel, method: m.BasicConsume) -> None:
        prefetch = channel.prefetch
        channel.prefetch = 0 if method.no_wait else prefetch
        try:
            below(channel, method)
        finally:
            channel.prefetch = prefetch

    parts.handlers[m.BasicConsume] = consume


@changes(
    "seldom.slots-of-the-former-life",
    "a channel number that is opened again has the slots less that were taken",
    "QOS-002",
)
def slots_of_the_former_life(parts: Parts) -> None:
    below = parts.channel

    def stop(self: Channel) -> None:
        memory(self.connection, "taken", dict)[self.number] = len(self.unacked)
        below.stop(self)

    def limit_of(self: Channel, queue: Queue, tag: str) -> Limit:
        limit = below.limit_of(self, queue, tag)
        if limit.count:
            limit.count = max(1, limit.count - memory(self.connection, "taken", dict).get(self.number, 0))
        return limit

    parts.override("channel", stop=stop, limit_of=limit_of)


@changes("seldom.second-deletion", "when a queue of one name is deleted for the second time nobody is told", "CAN-003")
def second_deletion(parts: Parts) -> None:
    vhosts, channels = parts.vhost, parts.channel

    def delete_queue(self: VirtualHost, queue: Queue) -> tuple[int, list[Consumer]]:
        memory(self, "deleted", list).append(queue.name)
        return vhosts.delete_queue(self, queue)

    def cancelled(self: Channel, consumer: Consumer) -> None:
        if memory(self.vhost, "deleted", list).count(consumer.queue.name) > 1:
            del self.consumers[consumer.tag]
        else:
            channels.cancelled(self, consumer)

    parts.override("vhost", delete_queue=delete_queue)
    parts.override("channel", cancelled=cancelled)


@changes(
    "seldom.untold-while-it-holds", "a consumer that holds deliveries is not told that its queue is gone", "CAN-003"
)
def untold_while_it_holds(parts: Parts) -> None:
    below = parts.channel

    def cancelled(self: Channel, consumer: Consumer) -> None:
        if any(one.consumer is consumer for one in self.unacked.by_tag.values()):
            del self.consumers[consumer.tag]
        else:
            below.cancelled(self, consumer)

    parts.override("channel", cancelled=cancelled)


@changes("seldom.stale-and-together", "stale deliveries that are settled together count as one", "TMO-012")
def stale_and_together(parts: Parts) -> None:
    below = parts.channel

    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        known = set[Consumer]()
        for one in deliveries:
            if one.stale and one.consumer is not None:
                one.consumer.pause.held += one.consumer in known
                known.add(one.consumer)
        below.finish(self, deliveries, fate)

    parts.override("channel", finish=finish)
