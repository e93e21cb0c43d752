"""Routes, right as long as nobody does what is seldom done: an alternate exchange that is internal, a queue with
hundreds of bindings."""

from __future__ import annotations

from typing import Any

from codec.values import FieldTable
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Destination, Exchange
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory

MOST = 255


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
