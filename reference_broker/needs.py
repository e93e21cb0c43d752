"""Which permission each method needs, as RabbitMQ documents and does it.

| method | configure | write | read |
|---|---|---|---|
| exchange.declare, not passive | exchange | alternate exchange, if new | exchange, if new with an alternate |
| exchange.delete | exchange | | |
| queue.declare, not passive | queue | dead-letter exchange, if new | queue, if new with a dead-letter exchange |
| queue.delete | queue | | |
| queue.bind, queue.unbind | | queue | exchange |
| exchange.bind, exchange.unbind | | destination | source |
| basic.publish | | exchange | |
| basic.get, basic.consume, queue.purge | | | queue |

The default exchange goes by the name amq.default. What a method needs is checked before the method is looked at any
further, but for a few refusals that come even earlier in RabbitMQ; where those apply, nothing is needed here and the
handler refuses. Needs come one by one: the first that is not granted is the one that is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import codec
from codec import methods as m
from codec import values
from reference_broker import routing
from reference_broker.access import Permission, Right
from reference_broker.errors import refused

if TYPE_CHECKING:
    from reference_broker.channel import Channel

Need = tuple[Right, Literal["exchange", "queue"], str]
GENERATED = "amq.gen-"
DEFAULT = "amq.default"


def check(permission: Permission, channel: Channel, method: codec.Method) -> None:
    """Raises the exception of the first need that is not granted."""
    found = NEEDS.get(type(method))
    if found is None:
        return
    for right, kind, name in found(channel, method):
        if not permission.grants(right, name):
            which = f"{right} access" if channel.vhost.dialect.refusal_names_right else "access"
            user = channel.connection.user
            raise refused(f"{which} to {kind} '{name}' in vhost '/' refused for user '{user}'")


def exchange_declare(channel: Channel, method: m.ExchangeDeclare) -> Iterator[Need]:
    if method.passive and not channel.vhost.dialect.passive_needs_configure:
        return
    if method.exchange == "" or method.type not in routing.TYPES:
        return
    yield "configure", "exchange", method.exchange
    alternate = values.lookup(method.arguments, "alternate-exchange")
    if isinstance(alternate, str) and not method.passive and method.exchange not in channel.vhost.exchanges:
        yield "read", "exchange", method.exchange
        yield "write", "exchange", alternate or DEFAULT


def exchange_delete(channel: Channel, method: m.ExchangeDelete) -> Iterator[Need]:
    if method.exchange and method.exchange not in routing.PREDECLARED:
        yield "configure", "exchange", method.exchange


def queue_declare(channel: Channel, method: m.QueueDeclare) -> Iterator[Need]:
    if method.passive:
        if channel.vhost.dialect.passive_needs_configure:
            yield "configure", "queue", method.queue or channel.last_queue
        return
    if method.queue.startswith("amq."):
        return
    name = method.queue or GENERATED
    yield "configure", "queue", name
    dead = values.lookup(method.arguments, "x-dead-letter-exchange")
    if isinstance(dead, str) and name not in channel.vhost.queues:
        yield "read", "queue", name
        yield "write", "exchange", dead or DEFAULT


def queue_delete(channel: Channel, method: m.QueueDelete) -> Iterator[Need]:
    name = method.queue or channel.last_queue
    if name:
        yield "configure", "queue", name


def reading(channel: Channel, method: m.BasicGet | m.BasicConsume | m.QueuePurge) -> Iterator[Need]:
    name = method.queue or channel.last_queue
    again = isinstance(method, m.BasicConsume) and method.consumer_tag in channel.consumers
    if name and not again:
        yield "read", "queue", name


def queue_binding(channel: Channel, method: m.QueueBind | m.QueueUnbind) -> Iterator[Need]:
    name = method.queue or channel.last_queue
    if name:
        yield "write", "queue", name
    if name and method.exchange:
        yield "read", "exchange", method.exchange


def exchange_binding(channel: Channel, method: m.ExchangeBind | m.ExchangeUnbind) -> Iterator[Need]:
    yield "write", "exchange", method.destination or DEFAULT
    if method.destination and method.source:
        yield "read", "exchange", method.source


def publishing(channel: Channel, method: m.BasicPublish) -> Iterator[Need]:
    if not method.immediate:
        yield "write", "exchange", method.exchange or DEFAULT


NEEDS: dict[type[codec.Method], Callable[[Channel, Any], Iterator[Need]]] = {
    m.ExchangeDeclare: exchange_declare,
    m.ExchangeDelete: exchange_delete,
    m.ExchangeBind: exchange_binding,
    m.ExchangeUnbind: exchange_binding,
    m.QueueDeclare: queue_declare,
    m.QueueDelete: queue_delete,
    m.QueueBind: queue_binding,
    m.QueueUnbind: queue_binding,
    m.QueuePurge: reading,
    m.BasicGet: reading,
    m.BasicConsume: reading,
    m.BasicPublish: publishing,
}
