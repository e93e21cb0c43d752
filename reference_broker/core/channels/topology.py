"""Handlers of the exchange and queue classes: declare, delete, bind, unbind, purge."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core import quotas, routing
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.replies import REPLY_TO
from reference_broker.core.errors import ChannelException, locked, precondition, raised, refused
from reference_broker.core.queues import arguments
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Exchange

# -- names


def named_queue(channel: Channel, name: str) -> Queue:
    """The queue of that name, or for "" the last one declared, if it is `accessible`."""
    name = name or channel.last_queue
    if not name:
        raise ChannelException(ReplyCode.NOT_FOUND, "no previously declared queue")
    return accessible(channel, name)


def accessible(channel: Channel, name: str) -> Queue:
    """The queue of that name: 404 if there is none, 405 if it belongs to another connection."""
    queue = channel.vhost.queue(name)
    if queue.owner is not None and queue.owner is not channel.connection:
        raise locked(name)
    return queue


def not_default(name: str) -> None:
    if name == "":
        raise refused("operation not permitted on the default exchange")


def not_reserved(what: str, name: str) -> None:
    if name.startswith("amq."):
        raise refused(f"{what} name '{name}' contains reserved prefix 'amq.*'")


def truth(value: bool) -> str:
    return f"'{str(value).lower()}'"


def equal(what: str, thing: str, received: bool, current: bool) -> None:
    if received != current:
        raise arguments.unequal(f"arg '{what}'", thing, truth(received), truth(current))


LINE_BREAKS = dict.fromkeys(map(ord, "\r\n"))


def one_line(handler: Callable[[Channel, Any], None]) -> Callable[[Channel, Any], None]:
    """RabbitMQ takes the line breaks out of names."""

    def handle(channel: Channel, method: Any) -> None:
        for part in ("queue", "exchange", "source", "destination"):
            name = getattr(method, part, "")
            if "\n" in name or "\r" in name:
                setattr(method, part, name.translate(LINE_BREAKS))
        handler(channel, method)

    return handle


# -- exchanges


@one_line
def exchange_declare(channel: Channel, method: m.ExchangeDeclare) -> None:
    not_default(method.exchange)
    if method.passive:
        channel.vhost.exchange(method.exchange)
    elif method.exchange in channel.vhost.exchanges:
        check_same_exchange(channel, channel.vhost.exchanges[method.exchange], method)
    else:
        create_exchange(channel, method)
    if not method.no_wait:
        channel.connection.send(m.ExchangeDeclareOk(channel.number))


def exchange_type(channel: Channel, name: str) -> type[Exchange]:
    if name not in routing.TYPES:
        code = channel.connection.parts.edition.unknown_exchange_type
        raise raised(code, f"unknown exchange type '{name}'")
    return routing.TYPES[name]


def create_exchange(channel: Channel, method: m.ExchangeDeclare) -> None:
    kind = exchange_type(channel, method.type)
    not_reserved("exchange", method.exchange)
    arguments.check_exchange(method.arguments, method.exchange)
    channel.vhost.add_exchange(
        kind(method.exchange, method.durable, method.auto_delete, method.internal, method.arguments)
    )


def check_same_exchange(channel: Channel, exchange: Exchange, method: m.ExchangeDeclare) -> None:
    thing = f"exchange '{method.exchange}'"
    exchange_type(channel, method.type)
    if method.type != exchange.TYPE:
        raise arguments.unequal("arg 'type'", thing, f"'{method.type}'", f"'{exchange.TYPE}'")
    equal("durable", thing, method.durable, exchange.durable)
    equal("auto_delete", thing, method.auto_delete, exchange.auto_delete)
    equal("internal", thing, method.internal, exchange.internal)
    arguments.check_equal(method.arguments, exchange.arguments, thing, ["alternate-exchange"])


@one_line
def exchange_delete(channel: Channel, method: m.ExchangeDelete) -> None:
    not_default(method.exchange)
    if method.exchange.startswith("amq."):
        raise refused(f"deletion of system exchange '{method.exchange}' in vhost '/' not allowed")
    exchange = channel.vhost.exchanges.get(method.exchange)
    if exchange is not None:
        if method.if_unused and exchange.bindings:
            raise precondition(f"exchange '{method.exchange}' in vhost '/' in use")
        channel.vhost.delete_exchange(exchange)
    if not method.no_wait:
        channel.connection.send(m.ExchangeDeleteOk(channel.number))


@one_line
def exchange_bind(channel: Channel, method: m.ExchangeBind) -> None:
    source, destination = exchange_pair(channel, method.source, method.destination)
    channel.vhost.bind(source, destination, method.routing_key, method.arguments)
    if not method.no_wait:
        channel.connection.send(m.ExchangeBindOk(channel.number))


@one_line
def exchange_unbind(channel: Channel, method: m.ExchangeUnbind) -> None:
    """Taking away a binding that does not exist is fine, also when its ends do not."""
    not_default(method.source)
    not_default(method.destination)
    unbind(channel, method.source, channel.vhost.exchanges.get(method.destination), method)
    if not method.no_wait:
        channel.connection.send(m.ExchangeUnbindOk(channel.number))


def exchange_pair(channel: Channel, source: str, destination: str) -> tuple[Exchange, Exchange]:
    not_default(source)
    not_default(destination)
    return channel.vhost.exchange(source), channel.vhost.exchange(destination)


def unbind(
    channel: Channel,
    source: str,
    destination: Queue | Exchange | None,
    method: m.QueueUnbind | m.ExchangeUnbind,
) -> None:
    if destination is not None and source in channel.vhost.exchanges:
        exchange = channel.vhost.exchanges[source]
        channel.vhost.unbind(exchange, destination, method.routing_key, method.arguments)


# -- queues


@one_line
def queue_declare(channel: Channel, method: m.QueueDeclare) -> None:
    if method.queue.startswith(REPLY_TO):
        channel.vhost.take_apart(method.queue)
    if method.queue == REPLY_TO or channel.vhost.awaits(method.queue):
        channel.connection.send(m.QueueDeclareOk(channel.number, method.queue, 0, 1))
        return
    if method.passive:
        queue = accessible(channel, method.queue)
        queue.used_at = channel.vhost.clock.now
    else:
        queue = declared(channel, method)
    channel.last_queue = queue.name
    if not method.no_wait:
        reply = m.QueueDeclareOk(channel.number, queue.name, queue.count(), len(queue.consumers))
        channel.connection.send(reply)


def declared(channel: Channel, method: m.QueueDeclare) -> Queue:
    not_reserved("queue", method.queue)
    method = typed(channel, method)
    name = method.queue or f"amq.gen-{channel.vhost.unique()}"
    existing = channel.vhost.queues.get(name)
    if existing is not None:
        check_same_queue(channel, existing, method)
        existing.used_at = channel.vhost.clock.now
        return existing
    quotas.check_queue(channel.vhost, name)
    known = channel.connection.parts.arguments()
    settings = known.parse(method.arguments, name)
    if settings.quorum:
        known.check_quorum(method)
    owner = channel.connection if method.exclusive else None
    queue = channel.vhost.add_queue(name, method.durable, method.auto_delete, owner, method.arguments, settings)
    if owner is not None:
        owner.exclusive[queue] = None
    return queue


def typed(channel: Channel, method: m.QueueDeclare) -> m.QueueDeclare:
    """With the queue type that its virtual host gives to those that name none, where that can be had like this."""
    kind = channel.vhost.about.default_queue_type
    given = any(name == "x-queue-type" for name, _, _ in method.arguments)
    if given or kind != "quorum" or not method.durable or method.exclusive or method.auto_delete:
        return method
    method = copy(method)
    method.arguments = [*method.arguments, ("x-queue-type", "S", kind.encode())]
    return method


def check_same_queue(channel: Channel, queue: Queue, method: m.QueueDeclare) -> None:
    thing = f"queue '{queue.name}'"
    if queue.owner is not (channel.connection if method.exclusive else None):
        raise locked(queue.name)
    if not method.exclusive:
        equal("durable", thing, method.durable, queue.durable)
    equal("auto_delete", thing, method.auto_delete, queue.auto_delete)
    arguments.check_equal(method.arguments, queue.table, thing)


@one_line
def queue_bind(channel: Channel, method: m.QueueBind) -> None:
    not_default(method.exchange)
    queue = named_queue(channel, method.queue)
    channel.vhost.bind(channel.vhost.exchange(method.exchange), queue, queue_key(queue, method), method.arguments)
    if not method.no_wait:
        channel.connection.send(m.QueueBindOk(channel.number))


def queue_key(queue: Queue, method: m.QueueBind | m.QueueUnbind) -> str:
    """Where neither queue nor key is named, the name of the last queue stands for both."""
    return method.routing_key or ("" if method.queue else queue.name)


@one_line
def queue_unbind(channel: Channel, method: m.QueueUnbind) -> None:
    not_default(method.exchange)
    if not (method.queue or channel.last_queue):
        raise ChannelException(ReplyCode.NOT_FOUND, "no previously declared queue")
    queue = channel.vhost.queues.get(method.queue or channel.last_queue)
    if queue is not None:
        method.routing_key = queue_key(queue, method)
    if queue is not None and channel.vhost.is_bound(method.exchange, queue, method.routing_key, method.arguments):
        accessible(channel, queue.name)
    unbind(channel, method.exchange, queue, method)
    channel.connection.send(m.QueueUnbindOk(channel.number))


@one_line
def queue_purge(channel: Channel, method: m.QueuePurge) -> None:
    count = named_queue(channel, method.queue).purge()
    if not method.no_wait:
        channel.connection.send(m.QueuePurgeOk(channel.number, count))


@one_line
def queue_delete(channel: Channel, method: m.QueueDelete) -> None:
    count, consumers = remove_queue(channel, method)
    if not method.no_wait:
        channel.connection.send(m.QueueDeleteOk(channel.number, count))
    for consumer in consumers:
        consumer.channel.cancelled(consumer)


def remove_queue(channel: Channel, method: m.QueueDelete) -> tuple[int, list[Consumer]]:
    """Deleting what does not exist is fine."""
    if method.queue and method.queue not in channel.vhost.queues:
        return 0, []
    queue = named_queue(channel, method.queue)
    if method.if_unused and queue.consumers:
        raise precondition(f"queue '{queue.name}' in vhost '/' in use")
    if method.if_empty and queue.count():
        raise precondition(f"queue '{queue.name}' in vhost '/' not empty")
    return channel.delete(queue)
