"""Wrong restarts, of messages: what must be in a durable queue is not, or comes otherwise, and what must not, is."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

import codec
from codec import methods as m
from reference_broker.core.channels.channel import Channel, acked
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import PERSISTENT, Entry, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Exchange
from reference_broker.core.vhost import VirtualHost
from reference_broker.dialects import deadlettering
from reference_broker.mutants.kinds import Mutant, changes, enter, memory, replaces

MUCH = 4096
"""Octets of a body that are kept."""
Wrong = Callable[[list[Entry]], list[Entry]]


def leaves(name: str, says: str, *rules: str) -> Callable[[Wrong], Wrong]:
    """The decorated function spoils what a restart has left in a queue."""

    def add(spoil: Wrong) -> Wrong:
        def restart(self: Queue) -> None:
            Queue.restart(self)
            left, self.ready = self.ready.entries(), self.nothing()
            for entry in spoil(left):
                self.ready.push(entry)

        def apply(parts: Parts) -> None:
            parts.override("queue", restart=restart)

        enter(spoil, Mutant(name, says, rules, apply))
        return spoil

    return add


def remade(entry: Entry, message: Message) -> Entry:
    entry.message = message
    return entry


def without(message: Message, *names: str) -> Message:
    return message.copy(message.exchange, message.routing_key, **dict.fromkeys(names))


@leaves("restarts.delivered-lost", "what had been delivered is gone after a restart", "DUR-013")
def delivered_lost(left: list[Entry]) -> list[Entry]:
    return [entry for entry in left if not entry.redelivered]


@leaves("restarts.last-lost", "a restart costs each queue its last message", "DUR-013", "DUR-019")
def last_lost(left: list[Entry]) -> list[Entry]:
    return left[:-1]


@leaves("restarts.headers-lost", "after a restart messages have no headers", "DUR-014")
def headers_lost(left: list[Entry]) -> list[Entry]:
    return [remade(entry, without(entry.message, "headers")) for entry in left]


@leaves("restarts.properties-lost", "after a restart messages have no correlation id and no timestamp", "DUR-014")
def properties_lost(left: list[Entry]) -> list[Entry]:
    return [remade(entry, without(entry.message, "correlation_id", "timestamp")) for entry in left]


@leaves("restarts.bodies-cut", "a restart cuts off what bodies have beyond 4096 octets", "DUR-014")
def bodies_cut(left: list[Entry]) -> list[Entry]:
    return [remade(entry, _cut(entry.message)) for entry in left]


def _cut(message: Message) -> Message:
    body = message.body[:MUCH]
    return Message(
        message.exchange, message.routing_key, codec.header(0, len(body), **message.header.properties()), body
    )


@leaves("restarts.keys-lost", "after a restart messages have no routing key", "DUR-014")
def keys_lost(left: list[Entry]) -> list[Entry]:
    return [remade(entry, Message("", "", entry.message.header, entry.message.body)) for entry in left]


@leaves("restarts.reversed", "after a restart the newest message is the first", "DUR-015")
def reversed_order(left: list[Entry]) -> list[Entry]:
    return left[::-1]


@leaves("restarts.shortest-first", "after a restart short messages come before long ones", "DUR-015")
def shortest_first(left: list[Entry]) -> list[Entry]:
    return sorted(left, key=lambda entry: len(entry.message.body))


@leaves("restarts.mark-lost", "after a restart nothing is marked as redelivered", "DUR-018")
def mark_lost(left: list[Entry]) -> list[Entry]:
    for entry in left:
        entry.redelivered = False
    return left


@replaces("queue.lasts", "restarts.transient-messages-kept", "a restart keeps transient messages", "DUR-016")
def transient_messages_kept(self: Queue, entry: Entry) -> bool:
    return True


@changes("restarts.settled-back", "a restart brings persistent messages back that had been settled", "DUR-017")
def settled_back(parts: Parts) -> None:
    def let_go(self: Queue, entry: Entry) -> None:
        if entry.message.header.delivery_mode == PERSISTENT:
            memory(self, "settled", list).append(entry)

    def restart(self: Queue) -> None:
        Queue.restart(self)
        left, self.ready = [*self.ready.entries(), *memory(self, "settled", list)], self.nothing()
        for entry in sorted(left, key=attrgetter("position")):
            self.ready.push(entry)

    parts.override("queue", let_go=let_go, restart=restart)


@changes("restarts.expirations-untold", "after a restart x-death does not tell the expiration", "DLX-007")
def expirations_untold(parts: Parts) -> None:
    """As a dialect may do it, above which this may be."""
    parts.extend("queue", type("ReadFromDisk", (deadlettering.ReadFromDisk,), {}))
    parts.extend("dead_letters", type("ExpirationUntold", (deadlettering.ExpirationUntold,), {}))


@changes("restarts.committed-lost", "what transactions have published is gone after a restart", "DUR-019")
def committed_lost(parts: Parts) -> None:
    below = parts.transaction

    def commit(self: Transaction, channel: Channel) -> bool:
        memory(channel.vhost, "committed", list).extend(message for _, message, _ in self.published)
        return below.commit(self, channel)

    def lasts(self: Queue, entry: Entry) -> bool:
        return Queue.lasts(self, entry) and entry.message not in memory(self.vhost, "committed", list)

    parts.override("transaction", commit=commit)
    parts.override("queue", lasts=lasts)


@replaces("channel.end", "restarts.uncommitted-kept", "the end of a connection commits what is open", "DUR-020")
def uncommitted_kept(self: Channel) -> None:
    if self.transaction is not None:
        for exchange, message, mandatory in self.transaction.published:
            self.publish(exchange, message, mandatory)
    Channel.end(self)


@changes("remains.full-when-purged", "a full queue that refuses does so also when it has been purged", "LEN-009")
def full_when_purged(parts: Parts) -> None:
    below = parts.queue

    def purge(self: Queue) -> int:
        if self.settings.reject_publish and self.over_limit(1):
            memory(self, "full", lambda: True)
        return below.purge(self)

    def refuses(self: Queue, message: Message) -> bool:
        return "mutant_full" in vars(self) or below.refuses(self, message)

    parts.override("queue", purge=purge, refuses=refuses)


@changes("remains.undone-acks-count", "what was acknowledged in a transaction that was undone is lost", "DUR-013")
def undone_acks_count(parts: Parts) -> None:
    transactions, queues = parts.transaction, parts.queue

    def rollback(self: Transaction, channel: Channel) -> None:
        for deliveries, fate in self.settled:
            for one in deliveries if fate is acked else ():
                memory(one.queue, "undone", list).append(one.entry)
        transactions.rollback(self, channel)

    def lasts(self: Queue, entry: Entry) -> bool:
        undone = any(one is entry for one in memory(self, "undone", list))
        return queues.lasts(self, entry) and not undone

    parts.override("transaction", rollback=rollback)
    parts.override("queue", lasts=lasts)


@changes("remains.fetched-unmarked", "what a get had brought comes unmarked after a restart", "DUR-018")
def fetched_unmarked(parts: Parts) -> None:
    below = parts.queue

    def get(self: Queue) -> Entry | None:
        entry = below.get(self)
        memory(self, "fetched", list).append(entry)
        return entry

    def read_back(self: Queue, entry: Entry) -> None:
        below.read_back(self, entry)
        entry.redelivered = entry.redelivered and all(one is not entry for one in memory(self, "fetched", list))

    parts.override("queue", get=get, read_back=read_back)


@changes("remains.quiet-queues", "a durable queue that was declared with nowait is gone after a restart", "DUR-001")
def quiet_queues(parts: Parts) -> None:
    below, hosts = parts.handlers[m.QueueDeclare], parts.vhost

    def declare(channel: Channel, method: m.QueueDeclare) -> None:
        new = method.no_wait and method.queue not in channel.vhost.queues
        below(channel, method)
        if new:
            memory(channel.vhost, "quiet", list).append(channel.vhost.queues[channel.last_queue])

    def restart(self: VirtualHost) -> None:
        hosts.restart(self)
        for queue in memory(self, "quiet", list):
            if queue in self.queues.values():
                self.delete_queue(queue)

    parts.handlers[m.QueueDeclare] = declare
    parts.override("vhost", restart=restart)


@changes("remains.quiet-bindings", "a binding that was made with nowait is gone after a restart", "DUR-005")
def quiet_bindings(parts: Parts) -> None:
    below, hosts = parts.handlers[m.QueueBind], parts.vhost

    def bind(channel: Channel, method: m.QueueBind) -> None:
        below(channel, method)
        if method.no_wait:
            memory(channel.vhost, "quiet", list).append(method)

    def restart(self: VirtualHost) -> None:
        hosts.restart(self)
        for one in memory(self, "quiet", list):
            if one.exchange in self.exchanges and one.queue in self.queues:
                self.unbind(self.exchanges[one.exchange], self.queues[one.queue], one.routing_key, one.arguments)

    parts.handlers[m.QueueBind] = bind
    parts.override("vhost", restart=restart)


@changes("remains.passed-on", "what has passed a binding between exchanges is gone after a restart", "DUR-013")
def passed_on(parts: Parts) -> None:
    hosts, queues = parts.vhost, parts.queue

    def publish(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
        source = self.exchanges.get(exchange)
        if source is not None and any(isinstance(one.destination, Exchange) for one in source.bindings):
            memory(self, "onward", list).append(message)
        return hosts.publish(self, exchange, message)

    def lasts(self: Queue, entry: Entry) -> bool:
        return queues.lasts(self, entry) and all(one is not entry.message for one in memory(self.vhost, "onward", list))

    parts.override("vhost", publish=publish)
    parts.override("queue", lasts=lasts)


@changes("remains.purged-quietly", "what was purged with nowait is back after a restart", "DUR-011")
def purged_quietly(parts: Parts) -> None:
    below, queues = parts.handlers[m.QueuePurge], parts.queue

    def purge(channel: Channel, method: m.QueuePurge) -> None:
        queue = channel.vhost.queues.get(method.queue)
        if queue is not None and method.no_wait:
            memory(queue, "purged", list).extend(queue.ready.entries())
        below(channel, method)

    def restart(self: Queue) -> None:
        back: list[Entry] = memory(self, "purged", list)
        for entry in back:
            self.ready.push(entry)
        back.clear()
        queues.restart(self)

    parts.handlers[m.QueuePurge] = purge
    parts.override("queue", restart=restart)
