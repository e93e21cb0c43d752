"""Queues with priorities that serve their messages otherwise, or not at all."""

from __future__ import annotations

from typing import Any

from reference_broker.core.channels.channel import RETURNS, Channel, Fate
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.parts import Parts
from reference_broker.core.queues.arguments import Arguments
from reference_broker.core.queues.message import Entry, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.queues.ready import BEFORE_ALL_POSITIONS, Ready
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory, replaces

LEVELS = "x-max-priority"
LAVINMQ = "https://github.com/cloudamqp/lavinmq/issues/"


def given(entry: Entry) -> int:
    """The priority that it was published with."""
    return entry.message.header.priority or 0


def ranked(entry: Entry, priority: float) -> float:
    """Its rank with this priority: smaller is sooner."""
    return entry.position + priority * BEFORE_ALL_POSITIONS


def by_priority(ready: Ready) -> bool:
    """Is it of a queue with priorities?"""
    return ready.order == "by-priority"


@replaces("ready.rank", "priorities.ignored", "priorities mean nothing", "PRIO-001")
def ignored(self: Ready, entry: Entry) -> float:
    return entry.position if by_priority(self) else Ready.rank(self, entry)


@replaces("ready.rank", "priorities.lowest-first", "the lowest priority comes first", "PRIO-001")
def lowest_first(self: Ready, entry: Entry) -> float:
    if not by_priority(self):
        return Ready.rank(self, entry)
    return ranked(entry, self.max_priority - min(given(entry), self.max_priority))


@replaces("ready.rank", "priorities.two", "there are two priorities, whatever the maximum is", "PRIO-001")
def two(self: Ready, entry: Entry) -> float:
    return ranked(entry, given(entry) > 0) if by_priority(self) else Ready.rank(self, entry)


@replaces("ready.rank", "priorities.latest-first", "of equal priorities the latest comes first", "PRIO-002")
def latest_first(self: Ready, entry: Entry) -> float:
    if not by_priority(self):
        return Ready.rank(self, entry)
    return ranked(entry, min(given(entry), self.max_priority)) - 2 * entry.position


@replaces("ready.rank", "priorities.unbounded", "a priority above the maximum comes before it", "PRIO-003")
def unbounded(self: Ready, entry: Entry) -> float:
    return ranked(entry, given(entry)) if by_priority(self) else Ready.rank(self, entry)


@replaces("ready.rank", "priorities.too-high-is-none", "a priority above the maximum counts as none", "PRIO-003")
def too_high_is_none(self: Ready, entry: Entry) -> float:
    if by_priority(self) and given(entry) > self.max_priority:
        return ranked(entry, 0)
    return Ready.rank(self, entry)


@replaces("ready.rank", "priorities.none-is-less", "a message without priority comes behind those with 0", "PRIO-004")
def none_is_less(self: Ready, entry: Entry) -> float:
    if by_priority(self) and entry.message.header.priority is None:
        return ranked(entry, -1)
    return Ready.rank(self, entry)


@replaces("ready.rank", "priorities.none-is-half", "a message without priority counts as one in the middle", "PRIO-004")
def none_is_half(self: Ready, entry: Entry) -> float:
    if by_priority(self) and entry.message.header.priority is None:
        return ranked(entry, self.max_priority // 2)
    return Ready.rank(self, entry)


@replaces("ready.rank", "priorities.returned-last", "a message that comes back has lost its priority", "PRIO-005")
def returned_last(self: Ready, entry: Entry) -> float:
    return ranked(entry, 0) if by_priority(self) and entry.redelivered else Ready.rank(self, entry)


@replaces("ready.rank", "priorities.returned-first", "a message that comes back is before all others", "PRIO-005")
def returned_first(self: Ready, entry: Entry) -> float:
    return ranked(entry, 1000) if by_priority(self) and entry.redelivered else Ready.rank(self, entry)


@changes("priorities.any-maximum", "x-max-priority may be anything", "PRIO-006")
def any_maximum(parts: Parts) -> None:
    below = parts.arguments

    def checked(self: Arguments, name: str, letter: str, value: Any, queue: str) -> Any:
        return 1 if name == LEVELS else below.checked(self, name, letter, value, queue)

    parts.override("arguments", checked=checked)


@replaces(
    "queue.pump",
    "priorities.not-delivered",
    "a queue with priorities delivers nothing to consumers",
    "PRIO-007",
    field=f"{LAVINMQ}1439",
)
def not_delivered(self: Queue) -> None:
    if not self.settings.max_priority:
        Queue.pump(self)


@replaces(
    "queue.pump",
    "priorities.lowest-not-delivered",
    "messages of the lowest priority are not delivered to consumers",
    "PRIO-007",
    field=f"{LAVINMQ}1420",
)
def lowest_not_delivered(self: Queue) -> None:
    if not self.settings.max_priority or given(self.ready.head()) > 0:
        Queue.pump(self)


@changes("priorities.in-the-first-queue", "an exchange leads priorities to the first of its queues alone", "PRIO-001")
def in_the_first_queue(parts: Parts) -> None:
    vhosts, queues, others = parts.vhost, parts.queue, list[Queue]()

    def publish(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
        if exchange:
            others.extend(one for one in list(self.route(exchange, message))[1:] if isinstance(one, Queue))
        try:
            return vhosts.publish(self, exchange, message)
        finally:
            others.clear()

    def take(self: Queue, message: Message) -> bool:
        levels, self.ready.max_priority = self.ready.max_priority, 0 if self in others else self.ready.max_priority
        try:
            return queues.publish(self, message)
        finally:
            self.ready.max_priority = levels

    parts.override("vhost", publish=publish)
    parts.override("queue", publish=take)


# -- where one consumer is served


@changes("single.got-and-given-back", "what was got and is given back goes to one that waits", "SAC-001", "SAC-005")
def got_and_given_back(parts: Parts) -> None:
    below = parts.channel

    def pass_on(one: Delivery) -> None:
        waiting = [it for it in one.queue.consumers if it is not one.queue.active and not it.channel.closing]
        if waiting and waiting[0].obstacle() is None:
            one.lost = one.entry.redelivered = True
            waiting[0].channel.deliver(waiting[0], one.entry)

    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        for one in deliveries if fate in RETURNS else ():
            if one.consumer is None and one.queue.active is not None and not (one.stale or one.lost):
                pass_on(one)
        below.finish(self, deliveries, fate)

    parts.override("channel", finish=finish)


@changes("single.all-when-purged", "all consumers are served when their queue was purged", "SAC-001", "SAC-005")
def all_when_purged(parts: Parts) -> None:
    below = parts.queue

    def purge(self: Queue) -> int:
        count = below.purge(self)
        if self.settings.single_active_consumer:
            self.ring.extend(one for one in self.consumers if one is not self.active)
        return count

    parts.override("queue", purge=purge)


@changes("single.heir-without-limit", "a consumer that takes over has no limit", "QOS-001", "SAC-002")
def heir_without_limit(parts: Parts) -> None:
    below = parts.queue

    def activate_one(self: Queue) -> None:
        former = self.active
        below.activate_one(self)
        if self.active is not None and former is None:
            if memory(self, "served", list):
                self.active.own.count = 0
            memory(self, "served", list).append(self.active)

    parts.override("queue", activate_one=activate_one)
