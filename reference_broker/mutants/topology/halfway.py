"""Names and routes, right in most cases: one argument, condition, type or end of a queue that was not thought of."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import codec
from codec import methods as m
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.topology import declared
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.outbox import Outbound
from reference_broker.core.errors import AmqpException, ChannelException, precondition
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Direct, Exchange
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory, replaces
from reference_broker.mutants.topology.binding import Handle, handling

USUAL = 127

# -- queues


def _not_compared(argument: str) -> None:
    """This one is taken from the queue that is there."""

    @handling((m.QueueDeclare,), f"halfway.{argument}-not-compared", f"{argument} is not compared", "QUEUE-005")
    def declare(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
        present = channel.vhost.queues.get(method.queue)
        if present is not None and not method.passive:
            method = copy(method)
            method.arguments = [one for one in method.arguments if one[0] != argument]
            method.arguments += [one for one in present.table if one[0] == argument]
        below(channel, method)


for _argument in ("x-message-ttl", "x-overflow", "x-dead-letter-exchange", "x-dead-letter-routing-key"):
    _not_compared(_argument)


def _alone(name: str, first: str, other: str, rule: str) -> None:
    """Of two conditions this one counts alone."""

    @handling((m.QueueDelete,), name, f"{other} is not looked at beside {first}", rule)
    def delete(channel: Channel, method: m.QueueDelete, below: Handle) -> None:
        if getattr(method, first):
            setattr(method, other, False)
        below(channel, method)


_alone("halfway.if-unused-alone", "if_unused", "if_empty", "QUEUE-013")
_alone("halfway.if-empty-alone", "if_empty", "if_unused", "QUEUE-012")


@handling((m.QueueDeclare,), "halfway.chosen-not-last", "the empty name stands for no chosen name", "QUEUE-015")
def chosen_not_last(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    before, chosen = channel.last_queue, not method.queue
    below(channel, method)
    if chosen:
        channel.last_queue = before


@handling((m.QueueDeclare,), "halfway.reserved-queue-made", "a reserved queue is refused, and made", "QUEUE-001")
def reserved_queue_made(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    try:
        below(channel, method)
    except ChannelException:
        name, queues = method.queue, channel.vhost.queues
        if not method.passive and name.startswith("amq.") and name not in queues:
            made = copy(method)
            made.queue = f"x{name}"
            queue = declared(channel, made)
            queue.name = name
            queues[name] = queues.pop(made.queue)
        raise


# -- exchanges


@handling((m.ExchangeDeclare,), "halfway.reserved-made", "a reserved exchange is refused, and made", "EXCH-001")
def reserved_made(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    try:
        below(channel, method)
    except AmqpException:
        if method.exchange.startswith("amq."):
            _make(channel, method)
        raise


@handling((m.ExchangeDeclare,), "halfway.unknown-type-made", "an unknown type is refused, and made", "EXCH-014")
def unknown_type_made(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    try:
        below(channel, method)
    except AmqpException:
        if method.exchange and not method.exchange.startswith("amq."):
            _make(channel, method)
        raise


def _make(channel: Channel, method: m.ExchangeDeclare) -> None:
    if not method.passive and method.exchange not in channel.vhost.exchanges:
        channel.vhost.add_exchange(Direct(method.exchange, method.durable, method.auto_delete, method.internal, []))


@changes(
    "halfway.auto-delete-not-by-auto-delete",
    "an auto-delete exchange stays when its last queue goes with its last consumer",
    "EXCH-010",
)
def auto_delete_not_by_auto_delete(parts: Parts) -> None:
    leave, below = parts.queue.leave, parts.vhost

    def leaves(self: Queue, consumer: Consumer) -> None:
        leaving: list[Queue] = memory(self.vhost, "leaving", list)
        leaving.append(self)
        leave(self, consumer)
        leaving.pop()

    def drop_binding(self: VirtualHost, binding: Binding) -> None:
        source, before = binding.source, binding.source.auto_delete
        source.auto_delete = before and not memory(self, "leaving", list)
        below.drop_binding(self, binding)
        source.auto_delete = before

    parts.override("queue", leave=leaves)
    parts.override("vhost", drop_binding=drop_binding)


# -- bindings


@changes("halfway.outlives-destination", "bindings stay where the exchange that they lead to is deleted", "BIND-007")
def outlives_destination(parts: Parts) -> None:
    below = parts.vhost

    def delete_exchange(self: VirtualHost, exchange: Exchange) -> None:
        memory(self, "leading", dict)[exchange.name] = list(self.bound_to.get(exchange, ()))
        below.delete_exchange(self, exchange)

    def add_exchange(self: VirtualHost, exchange: Exchange) -> None:
        below.add_exchange(self, exchange)
        for old in memory(self, "leading", dict).pop(exchange.name, ()):
            source = self.exchanges.get(old.source.name)
            if source is not None:
                self.bind(source, exchange, old.key, [])

    parts.override("vhost", delete_exchange=delete_exchange, add_exchange=add_exchange)


@handling((m.ExchangeBind,), "halfway.short-keys-between", "keys between exchanges have 127 octets at most", "BIND-016")
def short_keys_between(channel: Channel, method: m.ExchangeBind, below: Handle) -> None:
    if len(method.routing_key.encode()) > USUAL:
        raise precondition("the key is too long")
    below(channel, method)


# -- mandatory publishes


@replaces("channel.publish", "halfway.mandatory-by-type", "mandatory counts at direct and fanout alone", "RETURN-001")
def mandatory_by_type(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
    found: Any = self.vhost.exchanges.get(exchange)
    counts = found is None or found.TYPE in ("direct", "fanout")
    return Channel.publish(self, exchange, message, mandatory and counts)


def keeps(name: str, says: str, when: Callable[[Queue, Consumer], bool]) -> None:
    """An auto-delete queue stays when its last consumer leaves it so."""

    @changes(name, says, "QUEUE-024")
    def apply(parts: Parts) -> None:
        below = parts.queue

        def leave(self: Queue, consumer: Consumer) -> None:
            auto_delete = self.auto_delete
            self.auto_delete = auto_delete and not when(self, consumer)
            below.leave(self, consumer)
            self.auto_delete = auto_delete

        parts.override("queue", leave=leave)


keeps(
    "halfway.held-keeps-it",
    "an auto-delete queue stays when its last consumer leaves while its channel holds deliveries of it",
    lambda queue, consumer: any(one.queue is queue for one in consumer.channel.unacked.by_tag.values()),
)
keeps(
    "halfway.filled-keeps-it",
    "an auto-delete queue with messages stays when its last consumer leaves",
    lambda queue, consumer: len(queue.ready) > 0,
)


keeps(
    "halfway.exclusive-keeps-it",
    "an auto-delete queue stays when its last consumer was an exclusive one",
    lambda queue, consumer: queue.exclusive_consumer,
)


@changes(
    "halfway.refusal-keeps-it",
    "an auto-delete queue stays once its deletion was refused",
    "QUEUE-024",
)
def refusal_keeps_it(parts: Parts) -> None:
    below, queues = parts.handlers[m.QueueDelete], parts.queue

    def delete(channel: Channel, method: m.QueueDelete) -> None:
        try:
            below(channel, method)
        except ChannelException:
            memory(channel.vhost, "refused", set).add(method.queue)
            raise

    def leave(self: Queue, consumer: Consumer) -> None:
        auto_delete = self.auto_delete
        self.auto_delete = auto_delete and self.name not in memory(self.vhost, "refused", set)
        queues.leave(self, consumer)
        self.auto_delete = auto_delete

    parts.handlers[m.QueueDelete] = delete
    parts.override("queue", leave=leave)


@handling((m.QueueDelete,), "halfway.automatic-is-no-use", "consumers without acknowledgements are no use", "QUEUE-012")
def automatic_is_no_use(channel: Channel, method: m.QueueDelete, below: Handle) -> None:
    queue = channel.vhost.queues.get(method.queue)
    method.if_unused = method.if_unused and queue is not None and any(not one.no_ack for one in queue.consumers)
    below(channel, method)


@changes("halfway.automatic-uncounted", "declare-ok does not count consumers without acknowledgements", "QUEUE-020")
def automatic_uncounted(parts: Parts) -> None:
    below = parts.connection

    def send(self: Connection, item: Outbound) -> None:
        queue = self.vhost.queues.get(item.queue) if isinstance(item, m.QueueDeclareOk) else None
        if isinstance(item, m.QueueDeclareOk) and queue is not None:
            item.consumer_count = sum(not one.no_ack for one in queue.consumers)
        below.send(self, item)

    parts.override("connection", send=send)


@handling(
    (m.QueueDeclare,),
    "halfway.own-not-compared",
    "a channel that declares its last queue again, which it has made, has nothing compared",
    "QUEUE-004",
    "QUEUE-005",
)
def own_not_compared(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    made = memory(channel, "made", set)
    if method.queue and method.queue == channel.last_queue and method.queue in made:
        method.passive = True
    new = method.queue not in channel.vhost.queues
    below(channel, method)
    if new:
        made.add(channel.last_queue)


@changes(
    "halfway.goes-with-its-channel",
    "an exclusive queue goes when the channel fails that has declared it",
    "QUEUE-002",
    "QUEUE-007",
)
def goes_with_its_channel(parts: Parts) -> None:
    below = parts.channel

    def fail(self: Channel) -> None:
        below.fail(self)
        queue = self.vhost.queues.get(self.last_queue)
        if queue is not None and queue.owner is self.connection and not queue.consumers:
            self.vhost.delete_queue(queue)

    parts.override("channel", fail=fail)


# -- exchanges, continued


@handling(
    (m.ExchangeDeclare,),
    "halfway.alternate-of-a-look",
    "an exchange that is looked for takes the alternate that is named",
    "ROUTE-015",
    "EXCH-004",
)
def alternate_of_a_look(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    below(channel, method)
    exchange = channel.vhost.exchanges.get(method.exchange)
    if exchange is not None and method.passive and method.arguments:
        exchange.arguments = method.arguments
        exchange.heed({})


@handling(
    (m.ExchangeDeclare,),
    "halfway.refused-alternate",
    "a declaration with another alternate is refused, and done",
    "ROUTE-015",
)
def refused_alternate(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    try:
        below(channel, method)
    except ChannelException:
        exchange = channel.vhost.exchanges.get(method.exchange)
        if exchange is not None and method.arguments:
            exchange.arguments = method.arguments
            exchange.heed({})
        raise


def _internal(name: str, says: str, open_to: Callable[[Channel, str], bool]) -> None:
    """Such a channel may publish to internal exchanges."""

    @changes(name, says, "EXCH-013")
    def apply(parts: Parts) -> None:
        below = parts.publish

        def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
            exchange = channel.vhost.exchanges.get(method.exchange)
            internal, may = exchange is not None and exchange.internal, open_to(channel, method.exchange)
            if exchange is not None:
                exchange.internal = internal and not may
            try:
                below(channel, method, header, body)
            finally:
                if exchange is not None:
                    exchange.internal = internal

        parts.publish = publish


_internal(
    "halfway.internal-by-commit",
    "what a transaction publishes may go to an internal exchange",
    lambda channel, exchange: channel.transaction is not None,
)


def _known(channel: Channel, exchange: str) -> bool:
    """Has it published there before?"""
    known: set[str] = memory(channel, "known", set)
    before = exchange in known
    known.add(exchange)
    return before


_internal("halfway.internal-asked-once", "who has published to an exchange before it was internal goes on", _known)


@handling((m.ExchangeDelete,), "halfway.headers-unused", "if-unused does not spare headers exchanges", "EXCH-009")
def headers_unused(channel: Channel, method: m.ExchangeDelete, below: Handle) -> None:
    exchange = channel.vhost.exchanges.get(method.exchange)
    method.if_unused = method.if_unused and exchange is not None and exchange.TYPE != "headers"
    below(channel, method)
