"""Messages and queues that live too long, or not long enough."""

from __future__ import annotations

import re

import codec
from codec import methods as m
from codec.values import FieldTable
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.parts import Parts
from reference_broker.core.queues.arguments import QueueArguments
from reference_broker.core.queues.message import Entry, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, handles, memory, replaces
from reference_broker.mutants.topology.binding import Handle, handling

ISSUES = "https://github.com/{}/issues/{}"
LATE, EARLY = 0.5, 0.1
"""Seconds."""


def lives(queue: Queue, message: Message) -> tuple[float | None, float | None]:
    """In seconds: the message's own time, and its queue's."""
    own = message.header.expiration
    return (None if own is None else int(own) / 1000), queue.settings.message_ttl


def until(queue: Queue, life: float | None) -> float | None:
    """When what lives for so long expires; None: never."""
    queue.expiring = queue.expiring or life is not None
    return None if life is None else queue.vhost.clock.now + life


# -- which time counts


@replaces("queue.expiry", "aging.own-unread", "a message's expiration is passed over", "TTL-001", "TTL-003")
def own_unread(self: Queue, message: Message) -> float | None:
    return until(self, lives(self, message)[1])


@replaces("queue.expiry", "aging.queue-s-unread", "x-message-ttl is passed over", "TTL-002", "TTL-003")
def queue_s_unread(self: Queue, message: Message) -> float | None:
    return until(self, lives(self, message)[0])


@replaces("queue.expiry", "aging.own-first", "a message's own time counts before its queue's", "TTL-003")
def own_first(self: Queue, message: Message) -> float | None:
    own, shared = lives(self, message)
    return until(self, shared if own is None else own)


@replaces("queue.expiry", "aging.queue-s-first", "the queue's time counts before a message's own", "TTL-003")
def queue_s_first(self: Queue, message: Message) -> float | None:
    own, shared = lives(self, message)
    return until(self, own if shared is None else shared)


@replaces("queue.expiry", "aging.larger-counts", "of two times the larger counts", "TTL-003")
def larger_counts(self: Queue, message: Message) -> float | None:
    known = [life for life in lives(self, message) if life is not None]
    return until(self, max(known, default=None))


# -- when it is over


@replaces("queue.expiry", "aging.late", "messages expire half a second late", "TTL-001", "TTL-002")
def late(self: Queue, message: Message) -> float | None:
    expires = Queue.expiry(self, message)
    return None if expires is None else expires + LATE


@replaces("queue.expiry", "aging.half", "messages expire after half their time", "TTL-004")
def half(self: Queue, message: Message) -> float | None:
    now, expires = self.vhost.clock.now, Queue.expiry(self, message)
    return None if expires is None else now + (expires - now) / 2


@replaces("queue.expiry", "aging.early", "messages expire a tenth of a second early", "TTL-004")
def early(self: Queue, message: Message) -> float | None:
    expires = Queue.expiry(self, message)
    return None if expires is None else expires - EARLY


@changes("aging.from-the-declaration", "times of messages count from the declaration of their queue", "TTL-004")
def from_the_declaration(parts: Parts) -> None:
    below = parts.vhost

    def add_queue(
        self: VirtualHost,
        name: str,
        durable: bool,
        auto_delete: bool,
        owner: object,
        table: FieldTable,
        settings: QueueArguments,
    ) -> Queue:
        queue = below.add_queue(self, name, durable, auto_delete, owner, table, settings)  # type: ignore[arg-type]
        memory(queue, "made", lambda: self.clock.now)
        return queue

    def expiry(self: Queue, message: Message) -> float | None:
        expires, now = Queue.expiry(self, message), self.vhost.clock.now
        return None if expires is None else expires - now + memory(self, "made", lambda: now)

    parts.override("vhost", add_queue=add_queue)
    parts.override("queue", expiry=expiry)


@replaces("queue.expire", "aging.all-at-once", "all messages go when the first expires", "TTL-004")
def all_at_once(self: Queue, *, overdue: bool = False) -> None:
    before = len(self.ready)
    Queue.expire(self, overdue=overdue)
    if len(self.ready) < before and not overdue:
        while self.ready:
            self.die(self.ready.pop(), "expired")


# -- who looks, and when


@changes(
    "aging.wait-for-a-consumer",
    "messages expire only when somebody asks for them",
    "TTL-005",
    field=ISSUES.format("rabbitmq/rabbitmq-server", 10617),
)
def wait_for_a_consumer(parts: Parts) -> None:
    def woken(self: Queue) -> None:
        self.wake_at = None

    def count(self: Queue) -> int:
        return len(self.ready)

    parts.override("queue", woken=woken, count=count)


@changes(
    "aging.stops-behind-immortals",
    "once a message without a time was first in a queue, the others expire only when somebody asks for them",
    "DLX-002",
    field=ISSUES.format("cloudamqp/lavinmq", 1596),
)
def stops_behind_immortals(parts: Parts) -> None:
    below = parts.queue

    def woken(self: Queue) -> None:
        below.woken(self)
        if self.ready and self.ready.head().expires is None:
            memory(self, "stuck", set).add(True)

    def expire(self: Queue, *, overdue: bool = False) -> None:
        stuck = memory(self, "stuck", set)
        if not self.ready:
            stuck.clear()
        elif self.ready.head().expires is None:
            stuck.add(True)
        if not stuck or overdue:
            below.expire(self, overdue=overdue)

    def get(self: Queue) -> Entry | None:
        below.expire(self)
        return below.get(self)

    parts.override("queue", woken=woken, expire=expire, get=get)


@replaces("queue.expire", "aging.behind-the-head", "what expires behind another is delivered after it", "TTL-006")
def behind_the_head(self: Queue, *, overdue: bool = False) -> None:
    now = self.vhost.clock.now
    if self.ready and (self.ready.head().expires or now) > now:
        for entry in self.ready.entries():
            entry.expires = None
    if not overdue:
        Queue.expire(self)


@changes("aging.unlooked-at-in-turn", "a consumer gets what expired behind what it got", "TTL-006")
def unlooked_at_in_turn(parts: Parts) -> None:
    def expire(self: Queue, *, overdue: bool = False) -> None:
        if not overdue:
            Queue.expire(self)

    parts.override("queue", expire=expire)


# -- given back


@replaces("queue.put_back", "aging.age-forgotten", "a message that is given back starts its time anew", "TTL-007")
def age_forgotten(self: Queue, entry: Entry) -> None:
    entry.expires = self.expiry(entry.message)
    Queue.put_back(self, entry)


@replaces("queue.put_back", "aging.immortal-once-seen", "what was delivered once never expires", "TTL-007")
def immortal_once_seen(self: Queue, entry: Entry) -> None:
    entry.expires = None
    Queue.put_back(self, entry)


# -- no time at all


@replaces("queue.expiry", "aging.zero-is-none", "a time to live of 0 is taken for none", "TTL-008")
def zero_is_none(self: Queue, message: Message) -> float | None:
    expires = Queue.expiry(self, message)
    return None if expires == self.vhost.clock.now else expires


@replaces("queue.expiry", "aging.zero-beside-consumers", "a consumer keeps what has no time at all", "TTL-008")
def zero_beside_consumers(self: Queue, message: Message) -> float | None:
    return (zero_is_none if self.consumers else Queue.expiry)(self, message)


@replaces("queue.publish", "aging.zero-finds-nobody", "what lives for no time expires before any consumer", "TTL-008")
def zero_finds_nobody(self: Queue, message: Message) -> bool:
    return 0 in lives(self, message) or Queue.publish(self, message)


# -- times that are none


def without(header: codec.Header, expiration: str | None) -> codec.Header:
    properties = {name: value for name, value in header.properties().items() if name != "expiration"}
    more = {} if expiration is None else {"expiration": expiration}
    return codec.header(header.channel, header.body_size, **properties, **more)


@handles(m.BasicPublish, "aging.words-are-none", "an expiration that is no number is passed over", "TTL-009")
def words_are_none(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    if header.expiration is not None and not re.fullmatch(r"\d+", header.expiration):
        header = without(header, None)
    basic.publish(channel, method, header, body)


@handles(m.BasicPublish, "aging.words-begin-with-it", "of an expiration the beginning is read", "TTL-009")
def words_begin_with_it(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    number = re.match(r"\d+", header.expiration or "")
    basic.publish(channel, method, without(header, number[0]) if number else header, body)


# -- queues


@replaces("vhost.watch_expiry", "aging.queues-stay", "queues that nobody uses stay", "TTL-010")
def queues_stay(self: VirtualHost, queue: Queue) -> None:
    pass


@replaces("vhost.watch_expiry", "aging.messages-keep-it", "a queue with messages does not go", "TTL-010")
def messages_keep_it(self: VirtualHost, queue: Queue) -> None:
    life = queue.settings.expires
    if queue.ready and life is not None:
        self.clock.at(self.clock.now + life, self.watch_expiry, queue)
    else:
        VirtualHost.watch_expiry(self, queue)


@replaces(
    "vhost.watch_expiry",
    "aging.lease-from-the-declaration",
    "the time of a queue counts from its declaration, whoever uses it",
    "TTL-011",
    field=ISSUES.format("cloudamqp/lavinmq", 924),
)
def lease_from_the_declaration(self: VirtualHost, queue: Queue) -> None:
    queue.used_at = memory(queue, "made", lambda: self.clock.now)
    VirtualHost.watch_expiry(self, queue)


@replaces("queue.get", "aging.get-is-no-use", "a get does not start the time of a queue anew", "TTL-011")
def get_is_no_use(self: Queue) -> Entry | None:
    used_at, entry = self.used_at, Queue.get(self)
    self.used_at = used_at
    return entry


@replaces("queue.leave", "aging.end-is-no-use", "the time of a queue runs while it has consumers", "TTL-011")
def end_is_no_use(self: Queue, consumer: Consumer) -> None:
    used_at = self.used_at
    Queue.leave(self, consumer)
    self.used_at = used_at


@handling((m.QueueDeclare,), "aging.declaring-is-no-use", "a second declaration is no use of a queue", "TTL-011")
def declaring_is_no_use(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    queue = channel.vhost.queues.get(method.queue)
    used_at = queue.used_at if queue is not None else 0.0
    below(channel, method)
    if queue is not None:
        queue.used_at = used_at


@replaces("vhost.watch_expiry", "aging.consumers-keep-nothing", "a queue expires with consumers at it", "TTL-012")
def consumers_keep_nothing(self: VirtualHost, queue: Queue) -> None:
    life = queue.settings.expires
    if life is None or queue.deleted:
        return
    if queue.used_at + life <= self.clock.now:
        for consumer in self.delete_queue(queue)[1]:
            consumer.channel.cancelled(consumer)
    else:
        self.clock.at(queue.used_at + life, self.watch_expiry, queue)


@changes("aging.leaving-begins", "the time of a queue runs once one of its consumers has left", "TTL-012")
def leaving_begins(parts: Parts) -> None:
    def leave(self: Queue, consumer: Consumer) -> None:
        Queue.leave(self, consumer)
        memory(self, "left", list).append(consumer)

    def watch_expiry(self: VirtualHost, queue: Queue) -> None:
        life = queue.settings.expires
        if queue.deleted or life is None:
            return
        if memory(queue, "left", list) and queue.used_at + life <= self.clock.now:
            for consumer in self.delete_queue(queue)[1]:
                consumer.channel.consumers.pop(consumer.tag)
        else:
            VirtualHost.watch_expiry(self, queue)

    parts.override("queue", leave=leave)
    parts.override("vhost", watch_expiry=watch_expiry)


@replaces("queue.expiry", "aging.own-by-name-alone", "what comes over an exchange has no time of its own", "TTL-001")
def own_by_name_alone(self: Queue, message: Message) -> float | None:
    if message.exchange and self.settings.message_ttl is None:
        return None
    return Queue.expiry(self, message)


@replaces(
    "queue.expiry", "aging.shared-by-name-alone", "what comes over an exchange has no time of its queue", "TTL-002"
)
def shared_by_name_alone(self: Queue, message: Message) -> float | None:
    if message.exchange and message.header.expiration is None:
        return None
    return Queue.expiry(self, message)


@replaces("queue.expiry", "aging.bodiless-outlive", "messages without a body do not expire", "TTL-001")
def bodiless_outlive(self: Queue, message: Message) -> float | None:
    return Queue.expiry(self, message) if message.body else None
