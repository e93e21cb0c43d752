"""Wrong restarts, of what arguments mean: a queue still shows an argument, and does not act by it any more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from codec import methods as m
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Exchange
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import Mutant, changes, enter, memory, replaces

ISSUES = "https://github.com/cloudamqp/lavinmq/issues/"
SAME = "DUR-002"
"""Its scene asks of the queues what their arguments say, which the rules of these judge."""


def forgets(name: str, says: str, *rules: str, field: str = "", **settings: Any) -> None:
    """After a restart these settings of every queue are what they are without an argument."""

    def restart(self: Queue) -> None:
        self.declared = replace(self.declared, **settings)
        self.heed(self.vhost.definition_of(self))
        Queue.restart(self)

    def apply(parts: Parts) -> None:
        parts.override("queue", restart=restart)

    enter(restart, Mutant(name, says, (SAME, *rules), apply, field))


forgets("outliving.no-limit", "after a restart queues have no limit", "LEN-001", max_length=None, max_octets=None)
forgets(
    "outliving.no-priorities",
    "after a restart queues know no priorities",
    "PRIO-001",
    field=ISSUES + "434",
    max_priority=0,
)
forgets("outliving.no-time", "after a restart queues give messages no time to live", "TTL-002", message_ttl=None)
forgets("outliving.no-refusal", "after a restart full queues drop their oldest message", "CNF-011", overflow=None)
forgets(
    "outliving.all-served",
    "after a restart all consumers are served where one was",
    *("SAC-001", "SAC-005"),
    single_active_consumer=False,
)


# -- messages and policies


@replaces(
    "queue.restart",
    "outliving.immortal",
    "what is in a queue when the broker is restarted never expires",
    "DUR-013",
    "TTL-001",
    "TTL-002",
)
def immortal(self: Queue) -> None:
    for entry in self.ready.entries():
        entry.expires = None
    Queue.restart(self)


@replaces(
    "queue.restart",
    "outliving.in-order",
    "after a restart a queue with priorities serves what it had in the order of its publication",
    "DUR-023",
)
def in_order(self: Queue) -> None:
    Queue.restart(self)
    for entry in self.ready.entries():
        entry.message = entry.message.copy(entry.message.exchange, entry.message.routing_key, priority=None)
    Queue.restart(self)


@replaces(
    "vhost.restart",
    "outliving.policies-not-heeded",
    "policies are shown after a restart, and not heeded by queues that were there",
    "DUR-022",
    field=ISSUES + "1736",
)
def policies_not_heeded(self: VirtualHost) -> None:
    VirtualHost.restart(self)
    for queue in self.queues.values():
        queue.heed({})


@replaces("vhost.restart", "outliving.policies-lost", "there are no policies after a restart", "DUR-022")
def policies_lost(self: VirtualHost) -> None:
    for operator in (False, True):
        self.policies(operator).clear()
    VirtualHost.restart(self)
    self.heed_policies()


# -- what was removed


@changes("outliving.undeleted", "what was in a queue of its name is there again after a restart", "DUR-011")
def undeleted(parts: Parts) -> None:
    def delete_queue(self: VirtualHost, queue: Queue) -> tuple[int, list[Consumer]]:
        kept = [entry.message for entry in queue.ready.entries() if queue.lasts(entry)]
        memory(self, "kept", dict)[queue.name] = kept if queue.durable else []
        return VirtualHost.delete_queue(self, queue)

    parts.override("vhost", delete_queue=delete_queue, restart=_bring_back)


@changes("outliving.unpurged", "what was purged is there again after a restart", "DUR-011")
def unpurged(parts: Parts) -> None:
    def purge(self: Queue) -> int:
        kept = [entry.message for entry in self.ready.entries() if self.lasts(entry)]
        memory(self.vhost, "kept", dict)[self.name] = kept if self.durable else []
        return Queue.purge(self)

    parts.override("queue", purge=purge)
    parts.override("vhost", restart=_bring_back)


def _bring_back(self: VirtualHost) -> None:
    VirtualHost.restart(self)
    for name, messages in memory(self, "kept", dict).items():
        for message in messages if name in self.queues else ():
            self.queues[name].publish(message)


def wants_less(name: str, says: str, kind: type[Queue] | type[Exchange], rule: str) -> None:
    """After a restart bindings to these have no arguments."""

    def restart(self: VirtualHost) -> None:
        VirtualHost.restart(self)
        for exchange in self.exchanges.values():
            for binding in [
                one for one, wants in exchange.bindings.items() if isinstance(one.destination, kind) and wants
            ]:
                self.bind(exchange, binding.destination, binding.key, [])
                self.drop_binding(binding)

    def apply(parts: Parts) -> None:
        parts.override("vhost", restart=restart)

    enter(restart, Mutant(name, says, (rule,), apply))


wants_less("outliving.any-headers", "after a restart bindings of queues have no arguments", Queue, "DUR-005")
wants_less("outliving.any-headers-onward", "after a restart bindings of exchanges have none", Exchange, "DUR-006")


@changes("outliving.time-anew", "what the end of a channel returns has all its time again", "TTL-007", "TTL-001")
def time_anew(parts: Parts) -> None:
    below = parts.channel

    def end(self: Channel) -> None:
        for delivery in self.unacked.by_tag.values():
            if delivery.entry.expires is not None:
                delivery.entry.expires = delivery.queue.expiry(delivery.entry.message)
        below.end(self)

    parts.override("channel", end=end)


@changes("outliving.lost-consumer", "a consumer that ends with its channel does not start x-expires anew", "TTL-011")
def lost_consumer(parts: Parts) -> None:
    below = parts.queue

    def leave(self: Queue, consumer: Consumer) -> None:
        before = self.used_at
        below.leave(self, consumer)
        if consumer.channel.closing:
            self.used_at = before

    parts.override("queue", leave=leave)


@changes("outliving.operators-lost", "operators' policies are gone after a restart", "DUR-022")
def operators_lost(parts: Parts) -> None:
    below = parts.vhost

    def restart(self: VirtualHost) -> None:
        self.policies(True).clear()
        below.restart(self)
        self.heed_policies()

    parts.override("vhost", restart=restart)


# -- times to live, in company


@changes("outliving.by-copies", "what comes by CC has no time of its own", "TTL-001")
def by_copies(parts: Parts) -> None:
    below = parts.queue

    def expiry(self: Queue, message: Message) -> float | None:
        without = message.more_keys and self.settings.message_ttl is None
        return None if without else below.expiry(self, message)

    parts.override("queue", expiry=expiry)


@changes("outliving.recovered", "what basic.recover gives back has all its time again", "TTL-007", "TTL-001", "TTL-002")
def recovered(parts: Parts) -> None:
    below = parts.channel

    def requeue(self: Channel, deliveries: list[Delivery]) -> None:
        for one in deliveries:
            one.entry.expires = one.queue.expiry(one.entry.message)
        below.requeue(self, deliveries)

    parts.override("channel", requeue=requeue)


@changes(
    "outliving.not-got-by-strangers", "a get of a connection that has not declared a queue is no use of it", "TTL-011"
)
def not_got_by_strangers(parts: Parts) -> None:
    declare, get = parts.handlers[m.QueueDeclare], parts.handlers[m.BasicGet]

    def remember(channel: Channel, method: m.QueueDeclare) -> None:
        declare(channel, method)
        queue = channel.vhost.queues.get(channel.last_queue)
        if queue is not None:
            memory(queue, "declarer", lambda: channel.connection)

    def got(channel: Channel, method: m.BasicGet) -> None:
        queue = channel.vhost.queues.get(method.queue or channel.last_queue)
        used = queue.used_at if queue is not None else 0.0
        get(channel, method)
        if queue is not None and memory(queue, "declarer", lambda: None) is not channel.connection:
            queue.used_at = used

    parts.handlers[m.QueueDeclare], parts.handlers[m.BasicGet] = remember, got
