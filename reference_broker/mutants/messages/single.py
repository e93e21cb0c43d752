"""Queues that serve one consumer at a time: who that is, who follows, and what the next one gets."""

from __future__ import annotations

from codec import methods as m
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel, Fate, requeued
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Entry
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes, handles, memory, replaces, take_away

ISSUES = "https://github.com/rabbitmq/rabbitmq-server/issues/"


def single(queue: Queue) -> bool:
    """Does it serve one at a time?"""
    return queue.settings.single_active_consumer


@replaces("queue.join", "single.all-served", "x-single-active-consumer means nothing to consumers", "SAC-001")
def all_served(self: Queue, consumer: Consumer, exclusive: bool) -> None:
    Queue.join(self, consumer, exclusive)
    if single(self) and consumer is not self.active:
        self.ring.append(consumer)
        self.serve()


@replaces("queue.join", "single.latest-served", "the latest consumer is served, whoever was before", "SAC-001")
def latest_served(self: Queue, consumer: Consumer, exclusive: bool) -> None:
    Queue.join(self, consumer, exclusive)
    if single(self) and self.active is not consumer:
        if self.active is not None and self.active in self.ring:
            self.ring.remove(self.active)
        self.active = consumer
        self.ring.append(consumer)
        self.serve()


@changes("single.full-hands-over", "another consumer is served while the first one is full", "SAC-005")
def full_hands_over(parts: Parts) -> None:
    below = parts.queue

    def join(self: Queue, consumer: Consumer, exclusive: bool) -> None:
        below.join(self, consumer, exclusive)
        if single(self) and consumer is not self.active:
            self.ring.append(consumer)
            self.serve()

    def turn(self: Queue) -> Consumer:
        if self.active is not None and self.active in self.ring:
            self.ring.remove(self.active)
            return self.active
        return below.next_in_turn(self)

    parts.override("queue", join=join, next_in_turn=turn)


@replaces(
    "queue.activate_one",
    "single.nobody-takes-over",
    "nobody is served any more once the first consumer has left",
    "SAC-002",
    field=f"{ISSUES}6513",
)
def nobody_takes_over(self: Queue) -> None:
    first: list[Consumer] = memory(self, "first", list)
    if not first:
        Queue.activate_one(self)
        first.extend(self.consumers)


@changes(
    "single.waits-for-the-former",
    "a consumer that is cancelled keeps its turn while it holds deliveries",
    "SAC-002",
    field=f"{ISSUES}5460",
)
def waits_for_the_former(parts: Parts) -> None:
    below = parts.queue

    def leave(self: Queue, consumer: Consumer) -> None:
        if single(self) and consumer is self.active and consumer.own.held and not consumer.channel.closing:
            memory(self, "former", list).append(consumer)
        below.leave(self, consumer)

    def activate_one(self: Queue) -> None:
        former: list[Consumer] = memory(self, "former", list)
        if not any(one.own.held for one in former):
            below.activate_one(self)

    parts.override("queue", leave=leave, activate_one=activate_one)


@changes("single.held-kept-back", "what the former consumer held waits until something else comes", "SAC-003")
def held_kept_back(parts: Parts) -> None:
    below = parts.queue

    def hand_over(self: Queue, former: Consumer) -> None:
        if single(self) and self.ready.returned and not self.deleted:
            self.activate_one()
        else:
            below.hand_over(self, former)

    parts.override("queue", hand_over=hand_over)


@changes("single.exclusive-joins", "an exclusive consumer may join where one is served", "SAC-004")
def exclusive_joins(parts: Parts) -> None:
    below = parts.queue
    parts.override("queue", excludes=lambda self, exclusive: below.excludes(self, exclusive and not single(self)))


@changes("single.exclusive-first", "the first consumer where one is served may be exclusive", "SAC-004")
def exclusive_first(parts: Parts) -> None:
    below = parts.queue
    parts.override("queue", excludes=lambda self, exclusive: below.excludes(self, exclusive and bool(self.consumers)))


@replaces("queue.put_back", "single.held-last", "what comes back where one is served goes behind all others", "SAC-006")
def held_last(self: Queue, entry: Entry) -> None:
    if single(self):
        self.published += 1
        entry.position = self.published
    Queue.put_back(self, entry)


@replaces(
    "queue.join",
    "single.outranked-stalls",
    "nobody is served any more once a waiting consumer has a higher priority",
    "SAC-001",
)
def outranked_stalls(self: Queue, consumer: Consumer, exclusive: bool) -> None:
    former = self.active
    Queue.join(self, consumer, exclusive)
    if former is not None and consumer.priority > former.priority:
        former.pause.held += 1


@replaces(
    "queue.leave",
    "single.who-waits-leaves",
    "when one of several that wait leaves, another of them is served",
    "SAC-001",
)
def who_waits_leaves(self: Queue, consumer: Consumer) -> None:
    served = self.active
    Queue.leave(self, consumer)
    waiting = [one for one in self.consumers if one is not served]
    if served is None or served is consumer or self.deleted or served.channel.closing or not waiting:
        return
    self.ring.clear()
    for limit in (served.own, served.shared):
        limit.parked.pop(served, None)
    self.active = waiting[-1]
    self.ring.append(self.active)
    self.serve()


@handles(
    m.BasicCancel,
    "single.quiet-cancel",
    "nobody takes over from a consumer that was cancelled with nowait",
    "SAC-002",
)
def quiet_cancel(channel: Channel, method: m.BasicCancel) -> None:
    consumer = channel.consumers.get(method.consumer_tag)
    queue = consumer.queue if consumer is not None else None
    if queue is None or queue.active is not consumer or not method.no_wait:
        basic.cancel(channel, method)
        return
    others = [one for one in queue.consumers if one is not consumer]
    for other in others:
        del queue.consumers[other]
    basic.cancel(channel, method)
    queue.consumers.update(dict.fromkeys(others))


@replaces("queue.activate_one", "single.two-terms", "after two consumers nobody is served", "SAC-001", "SAC-002")
def two_terms(self: Queue) -> None:
    terms: list[int] = memory(self, "terms", lambda: [0])
    terms[0] += self.active is None
    if terms[0] <= 2:
        Queue.activate_one(self)


@changes("single.role-of-who-has-left", "one that waited and has left takes over, so that nobody is served", "SAC-002")
def role_of_who_has_left(parts: Parts) -> None:
    below = parts.queue

    def leave(self: Queue, consumer: Consumer) -> None:
        if single(self) and consumer is not self.active:
            memory(self, "gone", list).append(consumer)
        below.leave(self, consumer)

    def activate_one(self: Queue) -> None:
        gone: list[Consumer] = memory(self, "gone", list)
        if self.active is None and gone:
            self.active = gone.pop(0)
        else:
            below.activate_one(self)

    parts.override("queue", leave=leave, activate_one=activate_one)


@changes("single.failure-has-no-heir", "nobody takes over when a mistake ends the channel of who is served", "SAC-002")
def failure_has_no_heir(parts: Parts) -> None:
    below = parts.channel

    def fail(self: Channel) -> None:
        below.stop(self)
        self.left.clear()
        below.fail(self)

    parts.override("channel", fail=fail)


@changes("single.two-heirs", "two take over from one that leaves with deliveries", "SAC-001")
def two_heirs(parts: Parts) -> None:
    below = parts.queue

    def leave(self: Queue, consumer: Consumer) -> None:
        held = consumer is self.active and consumer.own.held > 0
        below.leave(self, consumer)
        if held and self.active is not None:
            self.ring.extend([other for other in self.consumers if other is not self.active][:1])

    parts.override("queue", leave=leave)


@changes("single.nacked-to-who-waits", "what the consumer that is served nacks goes to one that waits", "SAC-001")
def nacked_to_who_waits(parts: Parts) -> None:
    below = parts.channel

    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        for delivery in [one for one in deliveries if fate is requeued and one.queue.active is not None]:
            waiting = [one for one in delivery.queue.consumers if one is not delivery.queue.active]
            if waiting and waiting[0].obstacle() is None:
                deliveries = [one for one in deliveries if one is not delivery]
                if delivery.consumer is not None:
                    delivery.consumer.release()
                delivery.entry.redelivered = True
                waiting[0].channel.deliver(waiting[0], delivery.entry)
        below.finish(self, deliveries, fate)

    parts.override("channel", finish=finish)


@changes("single.declared-and-passed-on", "the next one is served when its queue is declared again", "SAC-001")
def declared_and_passed_on(parts: Parts) -> None:
    below = parts.handlers[m.QueueDeclare]

    def declare(channel: Channel, method: m.QueueDeclare) -> None:
        queue = channel.vhost.queues.get(method.queue)
        below(channel, method)
        former = queue.active if queue is not None and not method.passive else None
        if queue is None or former is None or len(queue.consumers) < 2:
            return
        for limit in (former.own, former.shared, former.pause):
            limit.parked.pop(former, None)
        queue.ring.clear()
        del queue.consumers[former]
        queue.consumers[former] = queue.active = None
        queue.activate_one()
        queue.serve()

    parts.handlers[m.QueueDeclare] = declare


@changes(
    "single.goes-with-the-first",
    "an auto-delete queue goes with the consumer that is served, though others wait",
    "QUEUE-024",
)
def goes_with_the_first(parts: Parts) -> None:
    below = parts.queue

    def leave(self: Queue, consumer: Consumer) -> None:
        served = consumer is self.active
        below.leave(self, consumer)
        if served and self.auto_delete and not self.deleted:
            take_away(self)

    parts.override("queue", leave=leave)


@changes(
    "single.comes-back-served",
    "a consumer that was served, and starts again with its tag, is served beside the next one",
    "SAC-001",
)
def comes_back_served(parts: Parts) -> None:
    below = parts.queue

    def leave(self: Queue, consumer: Consumer) -> None:
        if consumer is self.active:
            memory(self, "served", set).add((consumer.channel, consumer.tag))
        below.leave(self, consumer)

    def join(self: Queue, consumer: Consumer, exclusive: bool) -> None:
        below.join(self, consumer, exclusive)
        again = (consumer.channel, consumer.tag) in memory(self, "served", set)
        if again and consumer is not self.active and self.settings.single_active_consumer:
            self.ring.append(consumer)
            self.serve()

    parts.override("queue", leave=leave, join=join)


@handles(m.BasicRecover, "single.recovered-to-who-waits", "what is recovered goes to a consumer that waits", "SAC-001")
def recovered_to_who_waits(channel: Channel, method: m.BasicRecover) -> None:
    for queue in {one.queue for one in channel.unacked.by_tag.values()}:
        former = queue.active
        others = [one for one in queue.consumers if one is not former]
        if former is None or former.channel is not channel or not others:
            continue
        if former in queue.ring:
            queue.ring.remove(former)
        queue.active = others[0]
        queue.ring.append(others[0])
    basic.recover(channel, method)
