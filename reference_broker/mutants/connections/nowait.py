"""Methods with nowait that are answered, not carried out, or fail in silence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels import basic, topology
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.intake import Intake
from reference_broker.core.errors import ChannelException, ConnectionException, precondition
from reference_broker.core.parts import HANDLERS, Handler, Parts
from reference_broker.mutants.kinds import changes, handles


@handles(m.QueueBind, "nowait.bind-answered", "queue.bind with nowait is answered", "NOWAIT-001")
def bind_answered(channel: Channel, method: m.QueueBind) -> None:
    method.no_wait = False
    topology.queue_bind(channel, method)


@handles(m.QueueDelete, "nowait.delete-answered", "queue.delete with nowait is answered", "NOWAIT-001")
def delete_answered(channel: Channel, method: m.QueueDelete) -> None:
    method.no_wait = False
    topology.queue_delete(channel, method)


@handles(m.BasicConsume, "nowait.consume-answered", "basic.consume with nowait is answered", "NOWAIT-001")
def consume_answered(channel: Channel, method: m.BasicConsume) -> None:
    method.no_wait = False
    basic.consume(channel, method)


def _ignored(kind: type[Any]) -> Handler:
    """What it does without nowait; with it, nothing."""

    def handle(channel: Channel, method: Any) -> None:
        if not method.no_wait:
            HANDLERS[kind](channel, method)

    return handle


def _entered(kind: type[Any], name: str, rule: str) -> None:
    method = kind.NAME

    @changes(name, f"{method} with nowait does nothing", rule)
    def apply(parts: Parts) -> None:
        parts.handlers[kind] = _ignored(kind)


_entered(m.QueueDeclare, "nowait.queue-not-declared", "NOWAIT-002")
_entered(m.ExchangeDeclare, "nowait.exchange-not-declared", "NOWAIT-002")
_entered(m.QueueBind, "nowait.queue-not-bound", "NOWAIT-003")
_entered(m.ExchangeBind, "nowait.exchange-not-bound", "NOWAIT-003")
_entered(m.QueuePurge, "nowait.not-purged", "NOWAIT-004")
_entered(m.QueueDelete, "nowait.queue-not-deleted", "NOWAIT-004")
_entered(m.ExchangeDelete, "nowait.exchange-not-deleted", "NOWAIT-004")
_entered(m.BasicConsume, "nowait.no-consumer", "NOWAIT-005")


@changes("nowait.silent-errors", "what cannot be done with nowait is not done, and nobody is told", "NOWAIT-006")
def silent_errors(parts: Parts) -> None:
    def serve(self: Intake, channel: Channel, method: Any) -> None:
        try:
            Intake.serve(self, channel, method)
        except ChannelException:
            if not getattr(method, "no_wait", False):
                raise

    parts.override("intake", serve=serve)


@changes("nowait.errors-end-all", "what cannot be done with nowait ends the connection", "NOWAIT-006")
def errors_end_all(parts: Parts) -> None:
    def serve(self: Intake, channel: Channel, method: Any) -> None:
        try:
            Intake.serve(self, channel, method)
        except ChannelException as error:
            if not getattr(method, "no_wait", False):
                raise
            raise ConnectionException(ReplyCode.NOT_FOUND, str(error)) from None

    parts.override("intake", serve=serve)


def _answers(kind: type[Any], name: str, says: str, rule: str, when: Callable[[Channel, Any], bool]) -> None:
    """It is answered in this case, also with nowait."""

    @changes(name, says, rule)
    def apply(parts: Parts) -> None:
        below = parts.handlers[kind]

        def handle(channel: Channel, method: Any) -> None:
            method.no_wait = method.no_wait and not when(channel, method)
            below(channel, method)

        parts.handlers[kind] = handle


_answers(
    m.ExchangeBind,
    "nowait.known-binding-answered",
    "exchange.bind with nowait is answered where the binding is there already",
    "NOWAIT-001",
    lambda channel, method: channel.vhost.is_bound(
        method.source, channel.vhost.exchange(method.destination), method.routing_key, method.arguments
    ),
)
_answers(
    m.ExchangeDelete,
    "nowait.missing-deletion-answered",
    "exchange.delete with nowait is answered where there is no such exchange",
    "NOWAIT-001",
    lambda channel, method: method.exchange not in channel.vhost.exchanges,
)
_answers(
    m.ConfirmSelect,
    "nowait.second-select-answered",
    "a second confirm.select is answered, also with nowait",
    "CNF-001",
    lambda channel, method: channel.confirms is not None,
)
_answers(
    m.BasicCancel,
    "nowait.unknown-cancel-answered",
    "basic.cancel with nowait is answered where nobody has the tag",
    "CAN-014",
    lambda channel, method: method.consumer_tag not in channel.consumers,
)


def _refuses(kind: type[Any], name: str, says: str, rule: str, when: Callable[[Channel, Any], bool]) -> None:
    """It costs the channel in this case, where it wants no answer."""

    @changes(name, says, rule)
    def apply(parts: Parts) -> None:
        below = parts.handlers[kind]

        def handle(channel: Channel, method: Any) -> None:
            if method.no_wait and when(channel, method):
                raise precondition("this cannot be done without an answer")
            below(channel, method)

        parts.handlers[kind] = handle


_refuses(
    m.QueueDelete,
    "nowait.gone-not-deleted",
    "with nowait a queue that is gone cannot be deleted",
    "QUEUE-018",
    lambda channel, method: method.queue not in channel.vhost.queues,
)
_refuses(
    m.ExchangeDelete,
    "nowait.gone-exchange-not-deleted",
    "with nowait an exchange that is gone cannot be deleted",
    "EXCH-015",
    lambda channel, method: method.exchange not in channel.vhost.exchanges,
)
_refuses(
    m.ExchangeDeclare,
    "nowait.exchange-not-again",
    "with nowait an exchange that is there cannot be declared",
    "EXCH-005",
    lambda channel, method: not method.passive and method.exchange in channel.vhost.exchanges,
)
_refuses(
    m.QueueBind,
    "nowait.not-bound-again",
    "with nowait what is bound cannot be bound",
    "BIND-004",
    lambda channel, method: channel.vhost.is_bound(
        method.exchange, channel.vhost.queue(method.queue), method.routing_key, method.arguments
    ),
)
