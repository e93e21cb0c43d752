"""Which permission each method needs, as RabbitMQ documents and does it.

| method | configure | write | read |
|---|---|---|---|
| any declare, passive | any one of the three | | |
| exchange.declare, not passive | exchange | alternate exchange, if new | exchange, if new with an alternate |
| exchange.delete | exchange | | |
| queue.declare, not passive | queue | dead-letter exchange, if new | queue, if new with a dead-letter exchange |
| queue.delete | queue | | |
| queue.bind, queue.unbind | | queue | exchange |
| exchange.bind, exchange.unbind | | destination | source |
| basic.publish | | exchange | |
| basic.get, basic.consume, queue.purge | | | queue |

Who has permissions for the topics of an exchange needs one for each routing key, too, to publish or to bind with it.
The default exchange goes by the name amq.default. What a method needs is checked before the method is looked at any
further, but for a few refusals that come even earlier in RabbitMQ; where those apply, nothing is needed here and the
handler refuses. Needs come one by one: the first that is not granted is the one that is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import codec
from codec import methods as m
from codec import values
from reference_broker.core import routing
from reference_broker.core.access import RIGHTS, Right, Rights, Topics
from reference_broker.core.errors import ChannelException, refused
from reference_broker.core.queues.message import listed

if TYPE_CHECKING:
    from reference_broker.core.channels.channel import Channel

Need = tuple[Right, Literal["exchange", "queue"], str]
GENERATED = "amq.gen-"
DEFAULT = "amq.default"


class Needs:
    """What is checked before a method is looked at."""

    def check(self, rights: Rights, channel: Channel, method: codec.Method, header: codec.Header | None = None) -> None:
        """Raises the exception of the first need that is not granted. `header`: of what is published."""
        for right, kind, name in self.of(channel, method):
            if not rights.permission.grants(right, name):
                raise self.denied(channel, right, f"{kind} '{name}'")
        if rights.topics:
            self.check_topics(rights.topics, channel, method, header)
        if isinstance(method, m.QueueDeclare | m.ExchangeDeclare) and method.passive:
            self.check_looking(rights, channel, method)

    def check_looking(self, rights: Rights, channel: Channel, method: m.QueueDeclare | m.ExchangeDeclare) -> None:
        """Whoever looks for a queue or an exchange has one of the three rights, whichever."""
        kind, name = looked_for(channel, method)
        if name and not any(rights.permission.grants(right, name) for right in RIGHTS):
            raise self.denied(channel, "configure", f"{kind} '{name}'")

    def of(self, channel: Channel, method: codec.Method) -> Iterable[Need]:
        found = NEEDS.get(type(method))
        return found(channel, method) if found is not None else ()

    def denied(self, channel: Channel, right: Right, what: str) -> ChannelException:
        return denied(channel, f"{right} access", what)

    def check_topics(self, topics: Topics, channel: Channel, method: codec.Method, header: codec.Header | None) -> None:
        """The routing keys, where they are for an exchange that the user has permissions of its own for."""
        need = self.topic_need(channel, method, header)
        if need is None or need[1] not in topics or not isinstance(channel.vhost.exchanges.get(need[1]), routing.Topic):
            return
        right, name, keys = need
        for key in keys:
            if not topics[name].grants(right, key, channel.connection.user, channel.vhost.name):
                raise self.denied(channel, right, f"topic '{key}' in exchange '{name}'")

    def topic_need(
        self, channel: Channel, method: codec.Method, header: codec.Header | None
    ) -> tuple[Right, str, list[str]] | None:
        """The right, the exchange and the routing keys it is needed for."""
        match method:
            case m.BasicPublish():
                exchange = channel.vhost.exchanges.get(method.exchange)
                internal = exchange is not None and exchange.internal
                return None if internal else ("write", method.exchange, self.published_keys(method, header))
            case m.QueueBind() | m.QueueUnbind():
                shortcut = "" if method.queue else channel.last_queue
                return "read", method.exchange, [method.routing_key or shortcut]
            case m.ExchangeBind() | m.ExchangeUnbind():
                return "read", method.source, [method.routing_key]
        return None

    def published_keys(self, method: m.BasicPublish, header: codec.Header | None) -> list[str]:
        if header is None or not header.headers:
            return [method.routing_key]
        return [method.routing_key, *listed(header.headers, "CC"), *listed(header.headers, "BCC")]


def denied(channel: Channel, which: str, what: str) -> ChannelException:
    return refused(f"{which} to {what} in vhost '/' refused for user '{channel.connection.user}'")


def looked_for(channel: Channel, method: m.QueueDeclare | m.ExchangeDeclare) -> tuple[str, str]:
    """What a passive declaration is about; without a name where it is refused for another reason."""
    if isinstance(method, m.QueueDeclare):
        return "queue", method.queue or channel.last_queue
    return "exchange", method.exchange if method.type in routing.TYPES else ""


def exchange_declare(channel: Channel, method: m.ExchangeDeclare) -> Iterator[Need]:
    if method.passive or method.exchange == "" or method.type not in routing.TYPES:
        return
    yield "configure", "exchange", method.exchange
    alternate = values.lookup(method.arguments, "alternate-exchange")
    if isinstance(alternate, str) and method.exchange not in channel.vhost.exchanges:
        yield "read", "exchange", method.exchange
        yield "write", "exchange", alternate or DEFAULT


def exchange_delete(channel: Channel, method: m.ExchangeDelete) -> Iterator[Need]:
    if method.exchange and method.exchange not in routing.PREDECLARED:
        yield "configure", "exchange", method.exchange


def queue_declare(channel: Channel, method: m.QueueDeclare) -> Iterator[Need]:
    if method.passive or method.queue.startswith("amq."):
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
