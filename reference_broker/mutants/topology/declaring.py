"""Exchanges that are declared, found or deleted where they must not be, or not where they must."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels.channel import Channel
from reference_broker.core.errors import ChannelException, ConnectionException, not_found, precondition, refused
from reference_broker.core.parts import Parts
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Exchange
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory
from reference_broker.mutants.topology.binding import handling

Handle = Callable[[Channel, Any], None]
PASSIVE = "https://github.com/streamnative/aop/issues/43"


def declares(name: str, says: str, *rules: str, field: str = "") -> Callable[[Callable[..., None]], Any]:
    """The decorated function handles exchange.declare; it is given what lies below as well."""

    def add(wrong: Callable[[Channel, m.ExchangeDeclare, Handle], None]) -> object:
        @changes(name, says, *rules, field=field)
        def apply(parts: Parts) -> None:
            below = parts.handlers[m.ExchangeDeclare]
            parts.handlers[m.ExchangeDeclare] = lambda channel, method: wrong(channel, method, below)

        return apply

    return add


def deletes(name: str, says: str, *rules: str) -> Callable[[Callable[..., None]], Any]:
    """The same for exchange.delete."""

    def add(wrong: Callable[[Channel, m.ExchangeDelete, Handle], None]) -> object:
        @changes(name, says, *rules)
        def apply(parts: Parts) -> None:
            below = parts.handlers[m.ExchangeDelete]
            parts.handlers[m.ExchangeDelete] = lambda channel, method: wrong(channel, method, below)

        return apply

    return add


def _there(channel: Channel, name: str) -> Exchange | None:
    return channel.vhost.exchanges.get(name)


@declares("declaring.missing-is-found", "a passive declaration finds every exchange", "EXCH-001", field=PASSIVE)
def missing_is_found(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    if method.passive and _there(channel, method.exchange) is None and method.exchange:
        channel.connection.send(m.ExchangeDeclareOk(channel.number))
    else:
        below(channel, method)


@declares("declaring.passive-makes", "a passive declaration makes the exchange", "EXCH-001")
def passive_makes(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    if method.passive and _there(channel, method.exchange) is None:
        method = copy(method)
        method.passive = False
    below(channel, method)


@declares("declaring.missing-ends-all", "a passive declaration of nothing ends the connection", "EXCH-001")
def missing_ends_all(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    if method.passive and _there(channel, method.exchange) is None and method.exchange:
        raise ConnectionException(ReplyCode.NOT_FOUND, "no such exchange")
    below(channel, method)


def _as_it_is(*fields: str) -> Callable[[Channel, m.ExchangeDeclare, Handle], None]:
    """These are taken from the exchange that is there."""

    def declare(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
        present = _there(channel, method.exchange)
        if present is not None:
            method = copy(method)
            for field in fields:
                setattr(method, field, present.TYPE if field == "type" else getattr(present, field))
        below(channel, method)

    return declare


declares("declaring.type-not-compared", "an exchange may be declared with another type", "EXCH-002")(_as_it_is("type"))
declares("declaring.durable-not-compared", "an exchange may be declared with another durability", "EXCH-002")(
    _as_it_is("durable")
)
declares("declaring.auto-delete-not-compared", "auto-delete of exchanges is not compared", "EXCH-003")(
    _as_it_is("auto_delete")
)
declares("declaring.internal-not-compared", "the internal flag is not compared", "EXCH-003")(_as_it_is("internal"))
declares("declaring.arguments-not-compared", "arguments of exchanges are not compared", "EXCH-004")(
    _as_it_is("arguments")
)


@declares("declaring.taken-names-refused", "an exchange may be declared but once", "EXCH-005")
def taken_names_refused(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    if not method.passive and _there(channel, method.exchange) is not None:
        raise precondition(f"exchange '{method.exchange}' exists")
    below(channel, method)


@declares("declaring.predeclared-refused", "a predeclared exchange cannot be declared", "EXCH-005")
def predeclared_refused(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    if not method.passive and method.exchange.startswith("amq."):
        raise refused("reserved")
    below(channel, method)


@declares("declaring.passive-compares", "a passive declaration compares the type", "EXCH-006")
def passive_compares(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    present = _there(channel, method.exchange)
    if method.passive and present is not None and method.type != present.TYPE and method.exchange[:4] != "amq.":
        raise precondition("another type")
    below(channel, method)


@declares(
    "declaring.exchanges-by-connection",
    "a connection finds its own exchanges alone",
    "EXCH-006",
    field="https://github.com/absmach/magistrala/issues/3458",
)
def exchanges_by_connection(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    known: set[str] = memory(channel.connection, "own", set)
    name = method.exchange
    if method.passive and name not in known and not name.startswith("amq.") and _there(channel, name):
        raise not_found("exchange", name)
    known.add(name)
    below(channel, method)


@declares("declaring.no-fanout", "there is no amq.fanout", "EXCH-007")
def no_fanout(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    if method.exchange == "amq.fanout":
        raise not_found("exchange", method.exchange)
    below(channel, method)


def _new_and_reserved(channel: Channel, method: m.ExchangeDeclare) -> bool:
    return method.exchange.startswith("amq.") and not method.passive and _there(channel, method.exchange) is None


@declares("declaring.reserved-granted", "clients may declare names that begin with amq.", "EXCH-008")
def reserved_granted(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    if _new_and_reserved(channel, method):
        channel.connection.send(m.ExchangeDeclareOk(channel.number))
    else:
        below(channel, method)


@declares("declaring.reserved-not-found", "a reserved name is not found", "EXCH-008")
def reserved_not_found(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    if _new_and_reserved(channel, method):
        raise not_found("exchange", method.exchange)
    below(channel, method)


@deletes("declaring.used-deleted", "if-unused is not looked at", "EXCH-009")
def used_deleted(channel: Channel, method: m.ExchangeDelete, below: Handle) -> None:
    method = copy(method)
    method.if_unused = False
    below(channel, method)


@deletes("declaring.used-refused-and-deleted", "an exchange in use is refused, and deleted all the same", "EXCH-009")
def used_refused_and_deleted(channel: Channel, method: m.ExchangeDelete, below: Handle) -> None:
    try:
        below(channel, method)
    except ChannelException:
        present = _there(channel, method.exchange)
        if present is not None and not method.exchange.startswith("amq."):
            channel.vhost.delete_exchange(present)
        raise


@deletes("declaring.used-by-queues-alone", "bindings of exchanges are no use", "EXCH-009")
def used_by_queues_alone(channel: Channel, method: m.ExchangeDelete, below: Handle) -> None:
    present = _there(channel, method.exchange)
    if present is not None and not any(isinstance(one.destination, Queue) for one in present.bindings):
        method = copy(method)
        method.if_unused = False
    below(channel, method)


@deletes("declaring.unused-kept", "if-unused deletes nothing", "EXCH-001")
def unused_kept(channel: Channel, method: m.ExchangeDelete, below: Handle) -> None:
    present = _there(channel, method.exchange)
    if method.if_unused and present is not None and not present.bindings:
        channel.connection.send(m.ExchangeDeleteOk(channel.number))
    else:
        below(channel, method)


def _keeps(name: str, says: str, spared: Callable[[VirtualHost, Binding], bool]) -> None:
    """An auto-delete exchange stays when a binding of this kind is its last."""

    @changes(name, says, "EXCH-010")
    def apply(parts: Parts) -> None:
        below = parts.vhost

        def drop_binding(self: VirtualHost, binding: Binding) -> None:
            source = binding.source
            before, source.auto_delete = source.auto_delete, source.auto_delete and not spared(self, binding)
            below.drop_binding(self, binding)
            source.auto_delete = before

        parts.override("vhost", drop_binding=drop_binding)


_keeps("declaring.auto-delete-ignored", "auto-delete exchanges stay", lambda host, binding: True)
_keeps(
    "declaring.auto-delete-by-unbind-alone",
    "an auto-delete exchange stays when its last queue is deleted",
    lambda host, binding: isinstance(binding.destination, Queue) and binding.destination.deleted,
)
_keeps(
    "declaring.auto-delete-by-queues-alone",
    "an auto-delete exchange stays when its last exchange is unbound",
    lambda host, binding: isinstance(binding.destination, Exchange),
)


@declares("declaring.default-declared", "the default exchange can be declared", "EXCH-011")
def default_declared(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    if method.exchange:
        below(channel, method)
    else:
        channel.connection.send(m.ExchangeDeclareOk(channel.number))


@deletes("declaring.default-deleted", "the deletion of the default exchange is answered", "EXCH-011")
def default_deleted(channel: Channel, method: m.ExchangeDelete, below: Handle) -> None:
    if method.exchange:
        below(channel, method)
    else:
        channel.connection.send(m.ExchangeDeleteOk(channel.number))


@deletes("declaring.predeclared-deleted", "predeclared exchanges can be deleted", "EXCH-012")
def predeclared_deleted(channel: Channel, method: m.ExchangeDelete, below: Handle) -> None:
    present = _there(channel, method.exchange)
    if method.exchange.startswith("amq.") and present is not None:
        channel.connection.send(m.ExchangeDeleteOk(channel.number))
    else:
        below(channel, method)


def _not_internal(name: str, says: str, *, drops: bool) -> None:
    @changes(name, says, "EXCH-013")
    def apply(parts: Parts) -> None:
        below = parts.publish

        def publish(channel: Channel, method: m.BasicPublish, header: Any, body: bytes) -> None:
            present = _there(channel, method.exchange)
            if present is None or not present.internal:
                below(channel, method, header, body)
                return
            present.internal = False
            below(channel, method, header, body)
            present.internal = True

        def drop(channel: Channel, method: m.BasicPublish, header: Any, body: bytes) -> None:
            present = _there(channel, method.exchange)
            if present is None or not present.internal:
                below(channel, method, header, body)

        parts.publish = drop if drops else publish


_not_internal("declaring.internal-routed", "clients may publish to internal exchanges", drops=False)
_not_internal("declaring.internal-dropped", "a publish to an internal exchange vanishes", drops=True)


@declares("declaring.any-type", "an exchange of an unknown type is a direct one", "EXCH-014")
def any_type(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    if method.type not in ("direct", "fanout", "topic", "headers") and not method.passive:
        method = copy(method)
        method.type = "direct"
    below(channel, method)


@deletes("declaring.gone-not-deleted", "an exchange that is gone cannot be deleted", "EXCH-015")
def gone_not_deleted(channel: Channel, method: m.ExchangeDelete, below: Handle) -> None:
    if method.exchange and _there(channel, method.exchange) is None:
        raise not_found("exchange", method.exchange)
    below(channel, method)


def _lacks(name: str, exchange: str, rule: str) -> None:
    @declares(name, f"there is no {exchange}", rule)
    def declare(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
        if method.passive and method.exchange == exchange:
            raise not_found("exchange", exchange)
        below(channel, method)


_lacks("declaring.no-topic", "amq.topic", "EXCH-016")
_lacks("declaring.no-match", "amq.match", "EXCH-017")


@deletes("declaring.bound-spared", "an exchange with bindings is not deleted", "EXCH-018")
def bound_spared(channel: Channel, method: m.ExchangeDelete, below: Handle) -> None:
    method = copy(method)
    method.if_unused = True
    below(channel, method)


@handling(
    (m.QueueDeclare,),
    "declaring.refused-makes",
    "a declaration that is refused for its arguments makes a queue",
    "QUEUE-001",
)
def refused_makes(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    try:
        below(channel, method)
    except ChannelException as error:
        if error.code == ReplyCode.PRECONDITION_FAILED and method.queue not in channel.vhost.queues:
            settings = channel.connection.parts.arguments().parse([], method.queue)
            channel.vhost.add_queue(method.queue, method.durable, False, None, [], settings)
        raise
