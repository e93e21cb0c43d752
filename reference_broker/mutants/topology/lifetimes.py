"""What stays where it should end, ends where it should stay, and does not begin anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codec import methods as m
from codec.values import FieldTable
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.connections.connection import Connection
from reference_broker.core.errors import AmqpException, not_found
from reference_broker.core.parts import Parts
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Destination, Exchange, canonical
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory, replaces, take_away
from reference_broker.mutants.topology.binding import Handle, handling

THREE = 3
RACE = "https://github.com/cloudamqp/lavinmq/issues/1529"
SHARED = "https://github.com/absmach/magistrala/issues/3458"
RESET = "https://github.com/fridujo/rabbitmq-mock/issues/34"

# -- queues and their consumers


@replaces("queue.leave", "lifetimes.auto-delete-ignored", "auto-delete queues stay", "QUEUE-024")
def auto_delete_ignored(self: Queue, consumer: Consumer) -> None:
    before, self.auto_delete = self.auto_delete, False
    Queue.leave(self, consumer)
    self.auto_delete = before


@replaces(
    "queue.leave",
    "lifetimes.auto-delete-by-cancel-alone",
    "an auto-delete queue stays when the channel of its last consumer is closed",
    "QUEUE-024",
    field=RACE,
)
def auto_delete_by_cancel_alone(self: Queue, consumer: Consumer) -> None:
    before, self.auto_delete = self.auto_delete, self.auto_delete and not consumer.channel.closing
    Queue.leave(self, consumer)
    self.auto_delete = before


@replaces(
    "queue.leave", "lifetimes.auto-delete-by-any", "an auto-delete queue goes with its first consumer", "QUEUE-024"
)
def auto_delete_by_any(self: Queue, consumer: Consumer) -> None:
    Queue.leave(self, consumer)
    if self.auto_delete and not self.deleted:
        for other in self.vhost.delete_queue(self)[1]:
            other.channel.consumers.pop(other.tag)


@replaces(
    "connection.close_channel",
    "lifetimes.auto-delete-survives-failures",
    "an auto-delete queue stays when the channel of its last consumer fails",
    "QUEUE-024",
)
def auto_delete_survives_failures(
    self: Connection, channel: Channel, error: AmqpException, offender: tuple[int, int]
) -> None:
    queues = [consumer.queue for consumer in channel.consumers.values() if consumer.queue.auto_delete]
    for queue in queues:
        queue.auto_delete = False
    Connection.close_channel(self, channel, error, offender)
    for queue in queues:
        queue.auto_delete = True


# -- queues and their connections


@replaces("connection.end_channels", "lifetimes.three-go", "of a connection's exclusive queues three go", "QUEUE-008")
def three_go(self: Connection) -> None:
    for queue in list(self.exclusive)[THREE:]:
        del self.exclusive[queue]
    Connection.end_channels(self)


@handling(
    (m.QueueDeclare,),
    "lifetimes.deleted-by-name",
    "what a former connection had is deleted by name, and late",
    "QUEUE-025",
)
def deleted_by_name(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    owners: dict[str, Connection] = memory(channel.vhost, "owners", dict)
    late: set[str] = memory(channel.vhost, "late", set)
    queue = channel.vhost.queues.get(method.queue)
    if method.passive and queue is not None and method.queue in late:
        late.discard(method.queue)
        take_away(queue)
    below(channel, method)
    if method.exclusive and not method.passive:
        former = owners.get(method.queue, channel.connection)
        owners[method.queue] = channel.connection
        if former is not channel.connection:
            late.add(method.queue)


def _own(connection: Connection, what: str) -> list[Any]:
    found: list[Any] = memory(connection, what, list)
    return found


def _noted(kind: type[Any], what: str, thing: Callable[[Channel, Any], Any]) -> Callable[[Parts], None]:
    """What connections declare is remembered by them."""

    def apply(parts: Parts) -> None:
        below = parts.handlers[kind]

        def handle(channel: Channel, method: Any) -> None:
            below(channel, method)
            _own(channel.connection, what).append(thing(channel, method))

        parts.handlers[kind] = handle

    return apply


def _goes(
    kind: type[Any],
    name: str,
    says: str,
    rule: str,
    thing: Callable[[Channel, Any], Any],
    take: Callable[[VirtualHost, Any], None],
    field: str = "",
) -> None:
    """What a connection has declared by this method goes with it."""

    @changes(name, says, rule, field=field)
    def apply(parts: Parts) -> None:
        _noted(kind, name, thing)(parts)
        honest = parts.connection

        def end_channels(self: Connection) -> None:
            honest.end_channels(self)
            for one in _own(self, name):
                take(self.vhost, one)

        parts.override("connection", end_channels=end_channels)


def _delete_queue(host: VirtualHost, name: str) -> None:
    if name in host.queues:
        take_away(host.queues[name])


def _delete_exchange(host: VirtualHost, name: str) -> None:
    if name in host.exchanges and not name.startswith("amq."):
        host.delete_exchange(host.exchanges[name])


def _unbind(host: VirtualHost, method: m.QueueBind) -> None:
    exchange, queue = host.exchanges.get(method.exchange), host.queues.get(method.queue)
    if exchange is not None and queue is not None:
        host.unbind(exchange, queue, method.routing_key, method.arguments)


_goes(
    m.QueueDeclare,
    "lifetimes.queues-go",
    "a connection takes all its queues along",
    "QUEUE-032",
    lambda channel, method: method.queue,
    _delete_queue,
)
_goes(
    m.ExchangeDeclare,
    "lifetimes.exchanges-go",
    "a connection takes its exchanges along",
    "EXCH-021",
    lambda channel, method: method.exchange,
    _delete_exchange,
    SHARED,
)
_goes(
    m.QueueBind,
    "lifetimes.bindings-go",
    "a connection takes its bindings along",
    "BIND-014",
    lambda channel, method: method,
    _unbind,
)

# -- what begins anew


@changes("lifetimes.messages-stay", "a queue that is declared anew has its old messages", "QUEUE-031")
def messages_stay(parts: Parts) -> None:
    below = parts.vhost

    def delete_queue(self: VirtualHost, queue: Queue) -> Any:
        memory(self, "ready", dict)[queue.name] = queue.ready
        return below.delete_queue(self, queue)

    def add_queue(self: VirtualHost, name: str, *about: Any) -> Queue:
        queue = below.add_queue(self, name, *about)
        queue.ready = memory(self, "ready", dict).pop(name, queue.ready)
        return queue

    parts.override("vhost", delete_queue=delete_queue, add_queue=add_queue)


@handling(
    (m.ExchangeDeclare,), "lifetimes.made-anew", "an exchange that is declared again is new", "EXCH-024", field=RESET
)
def made_anew(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    present = channel.vhost.exchanges.get(method.exchange)
    below(channel, method)
    if present is not None and not method.passive and not method.exchange.startswith("amq."):
        for binding in list(present.bindings):
            channel.vhost.drop_binding(binding)


# -- bindings


def _wants(name: str, says: str, missing: Callable[[Channel, Any], str]) -> None:
    @handling((m.QueueUnbind, m.ExchangeUnbind), name, says, "BIND-011")
    def unbind(channel: Channel, method: Any, below: Handle) -> None:
        what = missing(channel, method)
        if what:
            raise not_found(what, "")
        below(channel, method)


def _queue_missing(channel: Channel, method: Any) -> str:
    name = getattr(method, "queue", "")
    return "queue" if name and name not in channel.vhost.queues else ""


def _exchange_missing(channel: Channel, method: Any) -> str:
    name = method.exchange if isinstance(method, m.QueueUnbind) else method.source
    return "exchange" if name and name not in channel.vhost.exchanges else ""


_wants("lifetimes.gone-queue-kept", "the queue of an unbind must be there", _queue_missing)
_wants("lifetimes.gone-exchange-kept", "the exchange of an unbind must be there", _exchange_missing)


def _of_key(source: Exchange, to: Destination, key: str) -> list[Binding]:
    return [one for one in source.bindings if one.destination is to and one.key == key]


@replaces("vhost.unbind", "lifetimes.unbound-by-key", "an unbind does not look at the arguments", "BIND-012")
def unbound_by_key(self: VirtualHost, source: Exchange, to: Destination, key: str, arguments: FieldTable) -> None:
    for binding in _of_key(source, to, key):
        self.drop_binding(binding)


@changes("lifetimes.bound-by-key", "a second binding of one key is none", "BIND-012")
def bound_by_key(parts: Parts) -> None:
    below = parts.vhost

    def bind(self: VirtualHost, source: Exchange, to: Destination, key: str, arguments: FieldTable) -> None:
        if not _of_key(source, to, key):
            below.bind(self, source, to, key, arguments)

    parts.override("vhost", bind=bind)


@handling((m.ExchangeUnbind,), "lifetimes.exchange-unbind-does-nothing", "exchange.unbind does nothing", "BIND-013")
def exchange_unbind_does_nothing(channel: Channel, method: m.ExchangeUnbind, below: Handle) -> None:
    channel.connection.send(m.ExchangeUnbindOk(channel.number))


@replaces("vhost.unbind", "lifetimes.exchanges-unbound-at-all", "exchange.unbind removes all bindings", "BIND-013")
def exchanges_unbound(self: VirtualHost, source: Exchange, to: Destination, key: str, arguments: FieldTable) -> None:
    for binding in list(source.bindings):
        same = binding.key == key and binding.arguments == canonical(arguments)
        if binding.destination is to and (same or isinstance(to, Exchange)):
            self.drop_binding(binding)


@replaces(
    "vhost.unbind_all",
    "lifetimes.exchange-waits-for-unbind",
    "an auto-delete exchange stays when what is bound to it last is an exchange, and is deleted",
    "EXCH-010",
)
def exchange_waits_for_unbind(self: VirtualHost, destination: Destination) -> None:
    for binding in list(self.bound_to.get(destination, ())):
        source = binding.source
        before, source.auto_delete = source.auto_delete, source.auto_delete and isinstance(destination, Queue)
        self.drop_binding(binding)
        source.auto_delete = before


@changes(
    "lifetimes.former-owner-remembers",
    "who had an exclusive queue takes one of that name along that another has declared since",
    "QUEUE-025",
)
def former_owner_remembers(parts: Parts) -> None:
    delete, end = parts.vhost.delete_queue, parts.connection.end_channels

    def delete_queue(self: VirtualHost, queue: Queue) -> tuple[int, list[Consumer]]:
        if queue.owner is not None:
            memory(queue.owner, "owned", dict)[queue.name] = None
        return delete(self, queue)

    def end_channels(self: Connection) -> None:
        end(self)
        former, self.__dict__["mutant_owned"] = list(memory(self, "owned", dict)), {}
        for name in former:
            if name in self.vhost.queues:
                take_away(self.vhost.queues[name])

    parts.override("vhost", delete_queue=delete_queue)
    parts.override("connection", end_channels=end_channels)


@changes(
    "lifetimes.exchange-outlives-connection",
    "an auto-delete exchange stays when its last binding goes with an exclusive queue of a connection that ends",
    "EXCH-010",
)
def exchange_outlives_connection(parts: Parts) -> None:
    connections, vhosts = parts.connection, parts.vhost

    def end_channels(self: Connection) -> None:
        memory(self.vhost, "ending", list).append(self)
        connections.end_channels(self)
        memory(self.vhost, "ending", list).remove(self)

    def drop_binding(self: VirtualHost, binding: Binding) -> None:
        source = binding.source
        stays = source.auto_delete and bool(memory(self, "ending", list))
        source.auto_delete = source.auto_delete and not stays
        vhosts.drop_binding(self, binding)
        source.auto_delete = source.auto_delete or stays

    parts.override("connection", end_channels=end_channels)
    parts.override("vhost", drop_binding=drop_binding)


@replaces(
    "vhost.drop_binding",
    "lifetimes.alternate-keeps-it",
    "an auto-delete exchange with an alternate stays",
    "EXCH-010",
)
def alternate_keeps_it(self: VirtualHost, binding: Binding) -> None:
    source = binding.source
    goes, source.auto_delete = source.auto_delete, source.auto_delete and not source.alternate
    VirtualHost.drop_binding(self, binding)
    source.auto_delete = goes


@changes(
    "lifetimes.auto-delete-by-connection", "an auto-delete queue goes with one connection's consumers", "QUEUE-024"
)
def auto_delete_by_connection(parts: Parts) -> None:
    below = parts.queue

    def leave(self: Queue, consumer: Consumer) -> None:
        below.leave(self, consumer)
        own = any(one.channel.connection is consumer.channel.connection for one in self.consumers)
        if self.auto_delete and not self.deleted and not own:
            take_away(self)

    parts.override("queue", leave=leave)
