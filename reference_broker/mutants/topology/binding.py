"""Bindings that are made where they must not be, refused where they must be made, or that outlive what they bind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.errors import ChannelException, ConnectionException, not_found, precondition
from reference_broker.core.parts import Parts
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Exchange, canonical
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory

Handle = Callable[[Channel, Any], None]
ANSWERS: dict[type[codec.Method], type[Any]] = {
    m.QueueBind: m.QueueBindOk,
    m.QueueUnbind: m.QueueUnbindOk,
    m.ExchangeBind: m.ExchangeBindOk,
    m.ExchangeUnbind: m.ExchangeUnbindOk,
}
BINDS, UNBINDS = (m.QueueBind, m.ExchangeBind), (m.QueueUnbind, m.ExchangeUnbind)


def handling(
    methods: tuple[type[codec.Method], ...], name: str, says: str, *rules: str, field: str = ""
) -> Callable[[Callable[..., None]], Any]:
    """The decorated function handles these methods; it is given what lies below as well."""

    def add(wrong: Callable[[Channel, Any, Handle], None]) -> object:
        @changes(name, says, *rules, field=field)
        def apply(parts: Parts) -> None:
            for kind in methods:
                parts.handlers[kind] = _over(parts.handlers[kind], wrong)

        return apply

    return add


def _over(below: Handle, wrong: Callable[[Channel, Any, Handle], None]) -> Handle:
    return lambda channel, method: wrong(channel, method, below)


def _answer(channel: Channel, method: Any) -> None:
    channel.connection.send(ANSWERS[type(method)](channel.number))


def _ends(method: Any) -> tuple[str, ...]:
    queue = isinstance(method, m.QueueBind | m.QueueUnbind)
    return (method.exchange,) if queue else (method.source, method.destination)


@handling((m.QueueBind,), "binding.missing-queue-bound", "a queue that does not exist can be bound", "BIND-001")
def missing_queue_bound(channel: Channel, method: m.QueueBind, below: Handle) -> None:
    if method.queue and method.queue not in channel.vhost.queues:
        _answer(channel, method)
    else:
        below(channel, method)


@handling((m.QueueBind,), "binding.makes-queues", "a queue that does not exist is made by its binding", "BIND-001")
def makes_queues(channel: Channel, method: m.QueueBind, below: Handle) -> None:
    if method.queue and method.queue not in channel.vhost.queues:
        declare = channel.connection.parts.handlers[m.QueueDeclare]
        declare(channel, m.QueueDeclare(channel.number, queue=method.queue, durable=True, no_wait=True))
    below(channel, method)


@handling((m.QueueBind,), "binding.missing-ends-all", "a binding of nothing ends the connection", "BIND-001")
def missing_ends_all(channel: Channel, method: m.QueueBind, below: Handle) -> None:
    try:
        below(channel, method)
    except ChannelException as error:
        if error.code != ReplyCode.NOT_FOUND:
            raise
        raise ConnectionException(error.code, error.text) from None


@handling((m.QueueBind,), "binding.to-nothing", "a queue can be bound to a missing exchange", "BIND-002")
def to_nothing(channel: Channel, method: m.QueueBind, below: Handle) -> None:
    if method.exchange and method.exchange not in channel.vhost.exchanges:
        _answer(channel, method)
    else:
        below(channel, method)


@handling((m.QueueBind,), "binding.makes-exchanges", "a missing exchange is made by a binding", "BIND-002")
def makes_exchanges(channel: Channel, method: m.QueueBind, below: Handle) -> None:
    if method.exchange and method.exchange not in channel.vhost.exchanges:
        declare = channel.connection.parts.handlers[m.ExchangeDeclare]
        declare(channel, m.ExchangeDeclare(channel.number, exchange=method.exchange, type="direct", no_wait=True))
    below(channel, method)


def _without(end: str, name: str, says: str) -> None:
    """Does not look whether this end is there."""

    @handling((m.ExchangeBind,), name, says, "BIND-003")
    def bind(channel: Channel, method: m.ExchangeBind, below: Handle) -> None:
        if getattr(method, end) in channel.vhost.exchanges or not getattr(method, end):
            below(channel, method)
        else:
            _answer(channel, method)


_without("destination", "binding.to-no-destination", "exchange.bind does not look for the destination")
_without("source", "binding.from-no-source", "exchange.bind does not look for the source")


def _stands(channel: Channel, method: Any) -> bool:
    """Is there such a binding?"""
    host = channel.vhost
    to: Queue | Exchange | None
    if isinstance(method, m.QueueBind | m.QueueUnbind):
        source, to = method.exchange, host.queues.get(method.queue)
    else:
        source, to = method.source, host.exchanges.get(method.destination)
    return to is not None and host.is_bound(source, to, method.routing_key, method.arguments)


@handling(BINDS, "binding.second-refused", "a binding can be made but once", "BIND-004")
def second_refused(channel: Channel, method: Any, below: Handle) -> None:
    if _stands(channel, method):
        raise precondition("there is such a binding")
    below(channel, method)


@handling(UNBINDS, "binding.unbound-refused", "what is not bound cannot be unbound", "BIND-005")
def unbound_refused(channel: Channel, method: Any, below: Handle) -> None:
    if "" not in _ends(method) and not _stands(channel, method):
        raise not_found("binding", method.routing_key)
    below(channel, method)


@handling(BINDS, "binding.default-bound", "a binding to the default exchange is answered", "BIND-006")
def default_bound(channel: Channel, method: Any, below: Handle) -> None:
    _answer(channel, method) if "" in _ends(method) else below(channel, method)


@handling(UNBINDS, "binding.default-unbound", "an unbinding from the default exchange is answered", "BIND-006")
def default_unbound(channel: Channel, method: Any, below: Handle) -> None:
    _answer(channel, method) if "" in _ends(method) else below(channel, method)


@changes("binding.outlives-queue", "a queue that is declared anew has its old bindings", "BIND-007")
def outlives_queue(parts: Parts) -> None:
    below = parts.vhost

    def delete_queue(self: VirtualHost, queue: Queue) -> Any:
        kept: dict[str, list[Binding]] = memory(self, "kept", dict)
        kept[queue.name] = list(self.bound_to.get(queue, ()))
        return below.delete_queue(self, queue)

    def add_queue(self: VirtualHost, name: str, *about: Any) -> Queue:
        queue = below.add_queue(self, name, *about)
        for old in memory(self, "kept", dict).pop(name, ()):
            if old.source.name in self.exchanges:
                self.bind(self.exchanges[old.source.name], queue, old.key, [])
        return queue

    parts.override("vhost", delete_queue=delete_queue, add_queue=add_queue)


@changes("binding.outlives-exchange", "an exchange that is declared anew has its old bindings", "BIND-007")
def outlives_exchange(parts: Parts) -> None:
    below = parts.vhost

    def delete_exchange(self: VirtualHost, exchange: Exchange) -> None:
        kept: dict[str, list[Binding]] = memory(self, "former", dict)
        kept[exchange.name] = list(exchange.bindings)
        below.delete_exchange(self, exchange)

    def add_exchange(self: VirtualHost, exchange: Exchange) -> None:
        below.add_exchange(self, exchange)
        for old in memory(self, "former", dict).pop(exchange.name, ()):
            if old.destination in self.queues.values():
                self.bind(exchange, old.destination, old.key, [])

    parts.override("vhost", delete_exchange=delete_exchange, add_exchange=add_exchange)


@handling((m.QueueBind,), "binding.durable-to-transient-refused", "durable queues need durable exchanges", "BIND-008")
def durable_to_transient_refused(channel: Channel, method: m.QueueBind, below: Handle) -> None:
    queue, exchange = channel.vhost.queues.get(method.queue), channel.vhost.exchanges.get(method.exchange)
    if queue is not None and exchange is not None and queue.durable and not exchange.durable:
        raise precondition("the exchange is transient")
    below(channel, method)


@handling((m.QueueBind,), "binding.one-queue-alone", "an exchange takes one queue alone", "BIND-008")
def one_queue_alone(channel: Channel, method: m.QueueBind, below: Handle) -> None:
    exchange, queue = channel.vhost.exchanges.get(method.exchange), channel.vhost.queues.get(method.queue)
    if exchange is not None and any(one.destination is not queue for one in exchange.bindings):
        raise precondition("the exchange has a queue")
    below(channel, method)


@handling((m.QueueBind,), "binding.one-hash-at-most", "a key of a topic exchange has one word # at most", "BIND-017")
def one_hash_at_most(channel: Channel, method: m.QueueBind, below: Handle) -> None:
    exchange = channel.vhost.exchanges.get(method.exchange)
    if exchange is not None and exchange.TYPE == "topic" and method.routing_key.split(".").count("#") > 1:
        raise precondition("a key with several '#' wildcards, at most 2 are allowed")
    below(channel, method)


@handling((m.QueueBind,), "binding.three-at-most", "a queue may have three bindings", "BIND-009")
def three_at_most(channel: Channel, method: m.QueueBind, below: Handle) -> None:
    around = [one for exchange in channel.vhost.exchanges.values() for one in exchange.bindings]
    if sum(getattr(one.destination, "name", "") == method.queue for one in around) >= 3:
        raise precondition("too many bindings")
    below(channel, method)


@changes("binding.outlives-idle-queue", "the bindings of an auto-delete queue are there for the next one", "BIND-007")
def outlives_idle_queue(parts: Parts) -> None:
    below, leave = parts.vhost, parts.queue.leave

    def leaves(self: Queue, consumer: Consumer) -> None:
        bound = list(self.vhost.bound_to.get(self, ()))
        leave(self, consumer)
        if self.deleted:
            memory(self.vhost, "idle", dict)[self.name] = bound

    def add_queue(self: VirtualHost, name: str, *about: Any) -> Queue:
        queue = below.add_queue(self, name, *about)
        for old in memory(self, "idle", dict).pop(name, ()):
            if old.source.name in self.exchanges:
                self.bind(self.exchanges[old.source.name], queue, old.key, [])
        return queue

    parts.override("queue", leave=leaves)
    parts.override("vhost", add_queue=add_queue)


@changes("binding.counted", "what was bound twice has to be unbound twice", "BIND-004", "ROUTE-014")
def counted(parts: Parts) -> None:
    below = parts.vhost

    def bind(self: VirtualHost, source: Exchange, *about: Any) -> None:
        before = set(source.bindings)
        below.bind(self, source, *about)
        times = memory(self, "times", dict)
        binding = Binding(source, about[0], about[1], canonical(about[2]))
        times[binding] = times.get(binding, 0) + 1 if binding in before else 1

    def unbind(self: VirtualHost, source: Exchange, *about: Any) -> None:
        binding, times = Binding(source, about[0], about[1], canonical(about[2])), memory(self, "times", dict)
        times[binding] = times.get(binding, 1) - 1
        if times[binding] <= 0:
            below.unbind(self, source, *about)

    parts.override("vhost", bind=bind, unbind=unbind)
