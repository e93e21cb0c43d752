"""Ways that are right up to a point: one hop too many, an alternate that comes later, keys that begin alike."""

from __future__ import annotations

from typing import Any

from codec import methods as m
from codec.values import FieldTable
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Destination, Exchange, Topic
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory, replaces

HOPS = 2


@replaces("vhost._walk", "chains.two-hops", "a message passes two bindings between exchanges at most", "ROUTE-010")
def two_hops(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
    found: dict[Queue, None] = {}
    seen, todo = {start}, [(start, 0)]
    while todo:
        exchange, hops = todo.pop()
        matched = [hit for key in message.routing_keys() for hit in exchange.matches(key, message.headers)]
        alternate = self.exchanges.get(exchange.alternate) if not matched else None
        for destination in [*matched, *([alternate] if alternate else [])]:
            if isinstance(destination, Queue):
                found[destination] = None
            elif destination not in seen and (hops < HOPS or destination is alternate):
                seen.add(destination)
                todo.append((destination, hops + (destination is not alternate)))
    return list(found)


@replaces(
    "vhost.add_exchange",
    "chains.alternate-comes-too-late",
    "an alternate exchange that is declared later is never used",
    "ROUTE-012",
)
def alternate_comes_too_late(self: VirtualHost, exchange: Exchange) -> None:
    VirtualHost.add_exchange(self, exchange)
    if exchange.alternate not in self.exchanges:
        exchange.alternate = ""


@replaces(
    "vhost.drop_binding",
    "chains.longer-keys-unbound",
    "an unbind from a topic exchange removes all of the queue's keys that go on from there",
    "ROUTE-014",
)
def longer_keys_unbound(self: VirtualHost, binding: Binding) -> None:
    VirtualHost.drop_binding(self, binding)
    for other in list(binding.source.bindings) if isinstance(binding.source, Topic) else ():
        if other.destination is binding.destination and other.key.startswith(f"{binding.key}."):
            VirtualHost.drop_binding(self, other)


@changes("chains.arguments-as-text", "arguments that read alike make one binding", "BIND-012")
def arguments_as_text(parts: Parts) -> None:
    below = parts.vhost

    def read(arguments: FieldTable) -> list[tuple[str, str]]:
        return sorted(
            (name, value.decode() if isinstance(value, bytes) else str(value)) for name, _, value in arguments
        )

    def bind(self: VirtualHost, source: Exchange, to: Destination, key: str, arguments: FieldTable) -> None:
        beside = [known for one, known in source.bindings.items() if (one.destination, one.key) == (to, key)]
        if read(arguments) not in [read(known) for known in beside]:
            below.bind(self, source, to, key, arguments)

    parts.override("vhost", bind=bind)


@changes("chains.queue-has-its-bindings-again", "a queue has the bindings to headers that it had before", "BIND-007")
def queue_has_its_bindings_again(parts: Parts) -> None:
    below = parts.vhost

    def delete_queue(self: VirtualHost, queue: Queue) -> tuple[int, list[Consumer]]:
        around = [(one, one.source.bindings[one]) for one in self.bound_to.get(queue, ())]
        kept = [(one, arguments) for one, arguments in around if one.source.TYPE == "headers"]
        memory(self, "kept", dict[str, Any])[queue.name] = kept
        return below.delete_queue(self, queue)

    def add_queue(self: VirtualHost, name: str, *about: Any) -> Queue:
        queue = below.add_queue(self, name, *about)
        for one, arguments in memory(self, "kept", dict[str, Any]).pop(name, ()):
            if one.source.name in self.exchanges:
                self.bind(one.source, queue, one.key, arguments)
        return queue

    parts.override("vhost", delete_queue=delete_queue, add_queue=add_queue)


@changes("chains.exchange-leads-on-again", "an exchange leads to the exchanges to which it led before", "BIND-007")
def exchange_leads_on_again(parts: Parts) -> None:
    below = parts.vhost

    def delete_exchange(self: VirtualHost, exchange: Exchange) -> None:
        kept = [(one, known) for one, known in exchange.bindings.items() if isinstance(one.destination, Exchange)]
        memory(self, "led", dict[str, Any])[exchange.name] = kept
        below.delete_exchange(self, exchange)

    def add_exchange(self: VirtualHost, exchange: Exchange) -> None:
        below.add_exchange(self, exchange)
        for one, arguments in memory(self, "led", dict[str, Any]).pop(exchange.name, ()):
            if one.destination.name in self.exchanges:
                self.bind(exchange, one.destination, one.key, arguments)

    parts.override("vhost", delete_exchange=delete_exchange, add_exchange=add_exchange)


@changes(
    "chains.branch-cut",
    "who removes a binding of a topic exchange removes those whose keys go on from it",
    "ROUTE-003",
    "ROUTE-014",
)
def branch_cut(parts: Parts) -> None:
    below = parts.vhost

    def drop_binding(self: VirtualHost, binding: Binding) -> None:
        below.drop_binding(self, binding)
        source, branch = binding.source, f"{binding.key}."
        if isinstance(source, Topic) and binding.key:
            for other in [one for one in source.bindings if one.key.startswith(branch)]:
                below.drop_binding(self, other)

    parts.override("vhost", drop_binding=drop_binding)


@changes("chains.counted-twice", "an auto-delete exchange stays of which a binding was made twice", "EXCH-010")
def counted_twice(parts: Parts) -> None:
    below = parts.vhost

    def bind(self: VirtualHost, source: Exchange, destination: Destination, key: str, arguments: FieldTable) -> None:
        if self.is_bound(source.name, destination, key, arguments):
            memory(source, "over", list).append(key)
        below.bind(self, source, destination, key, arguments)

    def drop_binding(self: VirtualHost, binding: Binding) -> None:
        source = binding.source
        auto_delete, source.auto_delete = source.auto_delete, source.auto_delete and not memory(source, "over", list)
        below.drop_binding(self, binding)
        source.auto_delete = auto_delete

    parts.override("vhost", bind=bind, drop_binding=drop_binding)


@changes(
    "chains.fanout-unbound-whole",
    "an unbind from a fanout exchange removes all bindings of its queue, whatever the key",
    "ROUTE-002",
    "ROUTE-014",
)
def fanout_unbound_whole(parts: Parts) -> None:
    below = parts.vhost

    def unbind(self: VirtualHost, source: Exchange, destination: Destination, key: str, arguments: FieldTable) -> None:
        below.unbind(self, source, destination, key, arguments)
        for binding in list(source.bindings) if source.TYPE == "fanout" else ():
            if binding.destination is destination:
                self.drop_binding(binding)

    parts.override("vhost", unbind=unbind)


def _made(channel: Channel) -> dict[tuple[str, str, str], Channel]:
    """Who has made which binding of a queue."""
    found: dict[tuple[str, str, str], Channel] = memory(channel.vhost, "made", dict)
    return found


@changes("chains.only-its-maker-unbinds", "only the connection that has bound a queue can unbind it", "ROUTE-014")
def only_its_maker_unbinds(parts: Parts) -> None:
    binds, unbinds = parts.handlers[m.QueueBind], parts.handlers[m.QueueUnbind]

    def bind(channel: Channel, method: m.QueueBind) -> None:
        binds(channel, method)
        _made(channel)[method.exchange, method.queue, method.routing_key] = channel

    def unbind(channel: Channel, method: m.QueueUnbind) -> None:
        maker = _made(channel).get((method.exchange, method.queue, method.routing_key), channel)
        if maker.connection is channel.connection:
            unbinds(channel, method)
        else:
            channel.connection.send(m.QueueUnbindOk(channel.number))

    parts.handlers[m.QueueBind], parts.handlers[m.QueueUnbind] = bind, unbind


@changes("chains.fall-with-a-channel", "the bindings that a channel has made go when it fails", "BIND-014", "ROUTE-001")
def fall_with_a_channel(parts: Parts) -> None:
    binds, below = parts.handlers[m.QueueBind], parts.channel

    def bind(channel: Channel, method: m.QueueBind) -> None:
        binds(channel, method)
        memory(channel, "bound", list).append(method)

    def fail(self: Channel) -> None:
        below.fail(self)
        for one in memory(self, "bound", list):
            source, queue = self.vhost.exchanges.get(one.exchange), self.vhost.queues.get(one.queue)
            if source is not None and queue is not None:
                self.vhost.unbind(source, queue, one.routing_key, one.arguments)

    parts.handlers[m.QueueBind] = bind
    parts.override("channel", fail=fail)
