"""Things taken for one another: of one name, of one key, of one connection; and what only some exchanges do wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from codec import methods as m
from codec.values import FieldTable
from reference_broker.core.channels import basic, topology
from reference_broker.core.channels.channel import RETURNS, Channel, Fate
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.replies import ReplyTo
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Inbound, Intake
from reference_broker.core.errors import locked
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Destination, Exchange, Headers, Topic
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, fails, handles, memory, replaces, take_away


@replaces(
    "vhost.route",
    "namesakes.empty-key-of-all",
    "the empty key leads to whatever is bound with it, to whichever topic exchange",
    "ROUTE-015",
)
def empty_key_of_all(self: VirtualHost, exchange: str, message: Message) -> Iterable[Queue | ReplyTo]:
    found = list(VirtualHost.route(self, exchange, message))
    if message.routing_key or not isinstance(self.exchanges.get(exchange), Topic):
        return found
    bindings = (one for other in self.exchanges.values() if isinstance(other, Topic) for one in other.bindings)
    more = [one.destination for one in bindings if not one.key and isinstance(one.destination, Queue)]
    return list(dict.fromkeys((*found, *more)))


@changes(
    "namesakes.one-takes-the-place",
    "a queue and an exchange of one name cannot both be bound with one key",
    "ROUTE-010",
)
def one_takes_the_place(parts: Parts) -> None:
    below = parts.vhost

    def bind(self: VirtualHost, source: Exchange, to: Destination, key: str, arguments: FieldTable) -> None:
        for other in list(source.bindings):
            if other.destination is not to and (other.destination.name, other.key) == (to.name, key):
                self.drop_binding(other)
        below.bind(self, source, to, key, arguments)

    parts.override("vhost", bind=bind)


@replaces(
    "vhost.drop_binding",
    "namesakes.arguments-count-for-headers",
    "an unbind looks at arguments only where those say which messages match",
    "BIND-012",
)
def arguments_count_for_headers(self: VirtualHost, binding: Binding) -> None:
    VirtualHost.drop_binding(self, binding)
    for other in list(binding.source.bindings) if not isinstance(binding.source, Headers) else ():
        if (other.destination, other.key) == (binding.destination, binding.key):
            VirtualHost.drop_binding(self, other)


@handles(
    m.QueueUnbind,
    "namesakes.topics-know-what-is-bound",
    "unbinding what is not bound to a topic exchange is an internal error",
    "BIND-005",
    "ERR-012",
)
def topics_know_what_is_bound(channel: Channel, method: m.QueueUnbind) -> None:
    queue, exchange = channel.vhost.queues.get(method.queue), channel.vhost.exchanges.get(method.exchange)
    about = method.routing_key, method.arguments
    if queue is not None and isinstance(exchange, Topic) and not channel.vhost.is_bound(exchange.name, queue, *about):
        raise fails()
    topology.queue_unbind(channel, method)


@handles(
    m.QueueDeclare,
    "namesakes.letters-of-others",
    "looking for a queue that has an argument beyond ASCII is an internal error",
    "QUEUE-002",
)
def letters_of_others(channel: Channel, method: m.QueueDeclare) -> None:
    queue = channel.vhost.queues.get(method.queue)
    table = queue.table if method.passive and queue is not None else []
    if any(isinstance(value, bytes) and not value.isascii() for _, _, value in table):
        raise fails()
    topology.queue_declare(channel, method)


@handles(
    m.BasicConsume,
    "namesakes.one-channel-owns",
    "an exclusive queue is consumed from on the first channel of its connection alone",
    "QUEUE-007",
)
def one_channel_owns(channel: Channel, method: m.BasicConsume) -> None:
    queue = channel.vhost.queues.get(method.queue)
    if queue is not None and queue.owner is channel.connection and channel.number != 1:
        raise locked(queue.name)
    basic.consume(channel, method)


@handles(
    m.QueueDeclare,
    "namesakes.deliveries-for-consumers",
    "declare-ok tells how many deliveries are out instead of how many consumers there are",
    "QUEUE-020",
)
def deliveries_for_consumers(channel: Channel, method: m.QueueDeclare) -> None:
    topology.queue_declare(channel, method)
    answer = channel.connection.outbox.items[-1] if channel.connection.outbox.items else None
    if isinstance(answer, m.QueueDeclareOk):
        channels = [one for connection in channel.connection.broker.connections for one in connection.channels.values()]
        out = (held.queue.name == answer.queue for one in channels for held in one.unacked.by_tag.values())
        answer.consumer_count = sum(out)


@replaces(
    "vhost.restart",
    "namesakes.plain-bindings-last",
    "after a restart no binding is there that has arguments, but for those of headers exchanges",
    "DUR-005",
)
def plain_bindings_last(self: VirtualHost) -> None:
    VirtualHost.restart(self)
    for exchange in self.exchanges.values():
        for binding, arguments in list(exchange.bindings.items()):
            if arguments and not isinstance(exchange, Headers):
                self.drop_binding(binding)


@replaces(
    "channel.finish",
    "namesakes.returned-to-the-next",
    "what a queue had given out before it was deleted is given back to the next one of its name",
    "QUEUE-031",
)
def returned_to_the_next(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
    for delivery in deliveries if fate in RETURNS else ():
        heir = self.vhost.queues.get(delivery.queue.name) if delivery.queue.deleted else None
        if heir is not None:
            heir.published += 1
            delivery.queue, delivery.entry.position = heir, heir.published
    Channel.finish(self, deliveries, fate)


@replaces(
    "channel.finish",
    "namesakes.settled-in-the-next",
    "an acknowledgement of what a deleted queue had given out removes a message of the next one of its name",
    "RQ-011",
)
def settled_in_the_next(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
    Channel.finish(self, deliveries, fate)
    for delivery in deliveries if fate not in RETURNS else ():
        heir = self.vhost.queues.get(delivery.queue.name) if delivery.queue.deleted else None
        if heir is not None and len(heir.ready):
            heir.ready.pop()


@changes(
    "namesakes.in-one-write",
    "a queue that is deleted and declared in one write has its messages still",
    "QUEUE-031",
)
def in_one_write(parts: Parts) -> None:
    def delete_queue(self: VirtualHost, queue: Queue) -> tuple[int, list[Consumer]]:
        memory(self, "just", dict)[queue.name] = queue.ready.entries()
        return VirtualHost.delete_queue(self, queue)

    def add_queue(self: VirtualHost, name: str, *about: Any) -> Queue:
        queue = VirtualHost.add_queue(self, name, *about)
        for entry in memory(self, "just", dict).pop(name, ()):
            queue.publish(entry.message)
        return queue

    def work(self: Intake, frames: Iterator[Inbound]) -> None:
        Intake.work(self, frames)
        memory(self.connection.vhost, "just", dict).clear()

    parts.override("vhost", delete_queue=delete_queue, add_queue=add_queue)
    parts.override("intake", work=work)


@handles(
    m.ExchangeDelete,
    "namesakes.of-every-vhost",
    "the deletion of an exchange takes the bindings of those that have its name in other virtual hosts",
    "ROUTE-001",
    "BIND-007",
)
def of_every_vhost(channel: Channel, method: m.ExchangeDelete) -> None:
    topology.exchange_delete(channel, method)
    for vhost in channel.connection.broker.vhosts.values():
        namesake = vhost.exchanges.get(method.exchange)
        for binding in list(namesake.bindings) if namesake is not None else ():
            vhost.drop_binding(binding)


@changes(
    "namesakes.former-type",
    "an exchange that is declared anew leads on as the former of its name",
    "ROUTE-001",
    "ROUTE-002",
)
def former_type(parts: Parts) -> None:
    below = parts.vhost

    def add_exchange(self: VirtualHost, exchange: Exchange) -> None:
        kind: type[Exchange] = memory(self, "kinds", dict).setdefault(exchange.name, type(exchange))
        said, flags = exchange.TYPE, (exchange.durable, exchange.auto_delete, exchange.internal)
        if kind is not type(exchange):
            exchange = kind(exchange.name, *flags, exchange.arguments)
            exchange.TYPE = said
        below.add_exchange(self, exchange)

    parts.override("vhost", add_exchange=add_exchange)


@changes(
    "namesakes.goes-with-the-former-owner",
    "a shared queue goes with the connection that had an exclusive one of its name, which was deleted",
    "QUEUE-002",
)
def goes_with_the_former_owner(parts: Parts) -> None:
    hosts, connections = parts.vhost, parts.connection

    def delete_queue(self: VirtualHost, queue: Queue) -> tuple[int, list[Consumer]]:
        if queue.owner is not None:
            memory(queue.owner, "deleted", set).add(queue.name)
        return hosts.delete_queue(self, queue)

    def end_channels(self: Connection) -> None:
        names = {*memory(self, "deleted", set)}
        connections.end_channels(self)
        for queue in [self.vhost.queues[name] for name in names if name in self.vhost.queues]:
            if queue.owner is None:
                take_away(queue)

    parts.override("vhost", delete_queue=delete_queue)
    parts.override("connection", end_channels=end_channels)


@changes(
    "namesakes.lock-stays",
    "a name stays locked when its exclusive queue is deleted, as long as the connection of that is open",
    "QUEUE-022",
)
def lock_stays(parts: Parts) -> None:
    for kind in (m.QueueDeclare, m.QueueBind, m.QueuePurge, m.BasicGet, m.BasicConsume):
        parts.handlers[kind] = _heeds_locks(parts.handlers[kind])


def _heeds_locks(below: Callable[[Channel, Any], None]) -> Callable[[Channel, Any], None]:
    def handle(channel: Channel, method: Any) -> None:
        locks = memory(channel.vhost, "locks", dict)
        owner = locks.get(method.queue)
        if owner is not None and owner is not channel.connection and not owner.finished:
            raise locked(method.queue)
        below(channel, method)
        if isinstance(method, m.QueueDeclare) and method.exclusive:
            locks[channel.last_queue] = channel.connection

    return handle
