"""Routes, right as long as nobody does what is seldom done: an alternate exchange that is internal, a queue with
hundreds of bindings, a binding that is made for the third time, a queue that somebody else deletes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codec import methods as m
from codec.values import FieldTable
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Destination, Exchange
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory

MOST, TERMS = 255, 3


@changes("seldom.inner-alternate", "an alternate exchange that is internal gets nothing", "ROUTE-012")
def inner_alternate(parts: Parts) -> None:
    below = parts.vhost

    def walk(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
        named = {one.alternate for one in self.exchanges.values()}
        hidden = {name: one for name, one in self.exchanges.items() if one.internal and name in named}
        known, self.exchanges = self.exchanges, {n: one for n, one in self.exchanges.items() if n not in hidden}
        try:
            return below._walk(self, start, message)
        finally:
            self.exchanges = known

    parts.override("vhost", _walk=walk)


@changes("seldom.one-octet-bindings", f"bindings beyond {MOST} of a queue do not lead on", "CNF-025", "BIND-009")
def one_octet_bindings(parts: Parts) -> None:
    below = parts.vhost

    def bind(self: VirtualHost, source: Exchange, to: Destination, key: str, arguments: FieldTable) -> None:
        if len(self.bound_to.get(to, ())) < MOST:
            below.bind(self, source, to, key, arguments)

    parts.override("vhost", bind=bind)


@changes("seldom.many-arguments-stay", "a binding of a queue with nine arguments or more is not removed", "BIND-012")
def many_arguments_stay(parts: Parts) -> None:
    below = parts.vhost

    def drop_binding(self: VirtualHost, binding: Binding) -> None:
        kept = isinstance(binding.destination, Queue) and not binding.destination.deleted
        if not kept or len(binding.source.bindings.get(binding, ())) < 9:
            below.drop_binding(self, binding)

    parts.override("vhost", drop_binding=drop_binding)


@changes("seldom.second-life-stays", "an auto-delete queue that is declared anew stays", "QUEUE-024")
def second_life_stays(parts: Parts) -> None:
    below, queues = parts.vhost, parts.queue

    def add_queue(self: VirtualHost, name: str, durable: bool, auto_delete: bool, *about: Any) -> Queue:
        names: set[str] = memory(self, "names", set)
        queue = below.add_queue(self, name, durable, auto_delete, *about)
        if name in names:
            memory(queue, "again", lambda: True)
        names.add(name)
        return queue

    def leave(self: Queue, consumer: Consumer) -> None:
        given = self.auto_delete
        self.auto_delete = given and "mutant_again" not in vars(self)
        queues.leave(self, consumer)
        self.auto_delete = given

    parts.override("vhost", add_queue=add_queue)
    parts.override("queue", leave=leave)


@changes("seldom.purge-of-the-highest", "a purge of a queue with priorities removes the highest alone", "QUEUE-019")
def purge_of_the_highest(parts: Parts) -> None:
    below = parts.queue

    def purge(self: Queue) -> int:
        entries = self.ready.entries() if self.settings.max_priority else []
        count = below.purge(self)
        priorities = [entry.message.header.priority or 0 for entry in entries]
        for entry, priority in zip(entries, priorities, strict=True):
            if priority < max(priorities):
                self.ready.push(entry)
        return count - len(self.ready)

    parts.override("queue", purge=purge)


def _third(
    name: str, says: str, concerns: Callable[[Exchange, Destination], bool], *rules: str, field: str = ""
) -> None:
    """Such a binding leads nowhere when it is made for the third time."""

    def apply(parts: Parts) -> None:
        below = parts.vhost

        def bind(
            self: VirtualHost, source: Exchange, destination: Destination, key: str, arguments: FieldTable
        ) -> None:
            made: dict[tuple[Exchange, Destination, str], int] = memory(self, "made", dict)
            which = source, destination, key
            if not self.is_bound(source.name, destination, key, arguments):
                made[which] = made.get(which, 0) + 1
            if made[which] < TERMS or not concerns(source, destination):
                below.bind(self, source, destination, key, arguments)

        parts.override("vhost", bind=bind)

    changes(name, says, *rules, field=field)(apply)


_third(
    "seldom.third-topic",
    "a binding of a topic exchange that is made for the third time leads nowhere",
    lambda source, destination: source.TYPE == "topic",
    *("CNF-010", "ROUTE-004", "ROUTE-014"),
    field="https://github.com/rabbitmq/rabbitmq-server/issues/4236",
)
_third(
    "seldom.third-onward",
    "a binding between exchanges that is made for the third time leads nowhere",
    lambda source, destination: isinstance(destination, Exchange),
    *("CNF-010", "ROUTE-010", "ROUTE-014"),
)


@changes(
    "seldom.deleted-twice",
    "an exchange that was deleted twice without an answer is gone again as soon as it is declared",
    "BIND-008",
    "NOWAIT-004",
    field="https://github.com/rabbitmq/rabbitmq-server/commit/16186562f5",
)
def deleted_twice(parts: Parts) -> None:
    delete, declare = parts.handlers[m.ExchangeDelete], parts.handlers[m.ExchangeDeclare]

    def deleted(channel: Channel, method: m.ExchangeDelete) -> None:
        if method.no_wait and method.exchange and method.exchange not in channel.vhost.exchanges:
            memory(channel.vhost, "twice", set[str]).add(method.exchange)
        delete(channel, method)

    def declared(channel: Channel, method: m.ExchangeDeclare) -> None:
        twice = memory(channel.vhost, "twice", set[str])
        new = method.exchange not in channel.vhost.exchanges
        declare(channel, method)
        if new and method.exchange in twice:
            twice.discard(method.exchange)
            channel.vhost.delete_exchange(channel.vhost.exchanges[method.exchange])

    parts.handlers[m.ExchangeDelete] = deleted
    parts.handlers[m.ExchangeDeclare] = declared


# -- a queue that another connection deletes than the one that declared it


def by_others(parts: Parts, before: Callable[[VirtualHost, Queue], None]) -> None:
    """This is done before such a deletion."""
    declare, delete = parts.handlers[m.QueueDeclare], parts.handlers[m.QueueDelete]

    def declared(channel: Channel, method: m.QueueDeclare) -> None:
        declare(channel, method)
        queue = channel.vhost.queues.get(method.queue)
        if queue is not None:
            memory(queue, "maker", lambda: channel.connection)

    def deleted(channel: Channel, method: m.QueueDelete) -> None:
        queue = channel.vhost.queues.get(method.queue)
        if queue is not None and memory(queue, "maker", lambda: None) not in (None, channel.connection):
            before(channel.vhost, queue)
        delete(channel, method)

    parts.handlers[m.QueueDeclare], parts.handlers[m.QueueDelete] = declared, deleted


def fanouts(vhost: VirtualHost, queue: Queue) -> list[Exchange]:
    """Those that lead to it."""
    return [one.source for one in vhost.bound_to.get(queue, ()) if one.source.TYPE == "fanout"]


@changes(
    "seldom.others-forgotten",
    "where another connection deletes a queue, its fanout exchanges lead nowhere any more",
    "ROUTE-002",
)
def others_forgotten(parts: Parts) -> None:
    def forget(vhost: VirtualHost, queue: Queue) -> None:
        for exchange in fanouts(vhost, queue):
            for binding in list(exchange.bindings):
                vhost.drop_binding(binding)

    by_others(parts, forget)


@changes(
    "seldom.led-to-again",
    "where another connection has deleted a queue, fanout exchanges lead to the next one of its name",
    "BIND-007",
)
def led_to_again(parts: Parts) -> None:
    below = parts.vhost

    def remember(vhost: VirtualHost, queue: Queue) -> None:
        memory(vhost, "led", dict[str, Any])[queue.name] = fanouts(vhost, queue)

    def add_queue(self: VirtualHost, name: str, *about: Any) -> Queue:
        queue = below.add_queue(self, name, *about)
        for exchange in memory(self, "led", dict[str, Any]).pop(name, ()):
            if exchange.name in self.exchanges:
                self.bind(exchange, queue, "", [])
        return queue

    parts.override("vhost", add_queue=add_queue)
    by_others(parts, remember)


@changes(
    "seldom.leads-to-the-gone",
    "where another connection has deleted a queue, fanout exchanges lead to it all the same, and nothing is returned",
    "CNF-009",
)
def leads_to_the_gone(parts: Parts) -> None:
    below = parts.vhost

    def keep(vhost: VirtualHost, queue: Queue) -> None:
        for exchange in fanouts(vhost, queue):
            memory(exchange, "gone", list).append(queue)

    def walk(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
        return below._walk(self, start, message) or list(memory(start, "gone", list))

    parts.override("vhost", _walk=walk)
    by_others(parts, keep)
