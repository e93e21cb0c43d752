"""Lawful variations of how a mistake is refused: where the texts name another code than RabbitMQ, or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels.channel import Channel
from reference_broker.core.errors import AmqpException, ChannelException, ConnectionException, not_allowed, precondition
from reference_broker.nondeterminism.kinds import Free, variation

Found = Callable[[Channel, Any, AmqpException], AmqpException | None]


@variation(
    "refusals.as-the-text-has-them",
    "refuse by the codes of the specification, where RabbitMQ has others of its own",
    'AMQP 0-9-1 XML: exchange.declare, type, rule typed: not-allowed; queue.unbind, rule 01: "If a unbind fails, the '
    'server MUST raise a connection exception"; for a basic.get and a basic.consume of no queue no text names a code. '
    "Guide Queues: 406 where a queue is declared with other properties, the exclusive one among them",
    share=(0.5, 1.0),
)
def by_the_text(free: Free) -> None:
    for kind, other in MISTAKES.items():
        free.parts.handlers[kind] = _over(free, free.parts.handlers[kind], other)


def _over(free: Free, below: Callable[[Channel, Any], None], other: Found) -> Callable[[Channel, Any], None]:
    def handle(channel: Channel, method: Any) -> None:
        try:
            below(channel, method)
        except ChannelException as error:
            found = other(channel, method, error)
            if found is None or not free.luck():
                raise
            raise found from None

    return handle


def _another_type(channel: Channel, method: m.ExchangeDeclare, error: AmqpException) -> AmqpException | None:
    present = channel.vhost.exchanges.get(method.exchange)
    differs = present is not None and not method.passive and method.type != present.TYPE
    return not_allowed(error.text) if differs and error.code == ReplyCode.PRECONDITION_FAILED else None


def _no_queue(channel: Channel, method: Any, error: AmqpException) -> AmqpException | None:
    nothing = not (method.queue or channel.last_queue)
    return not_allowed(error.text) if nothing and error.code == ReplyCode.NOT_FOUND else None


def _failed(channel: Channel, method: Any, error: AmqpException) -> AmqpException | None:
    return ConnectionException(error.code, error.text) if error.code == ReplyCode.NOT_FOUND else None


def _another_owner(channel: Channel, method: m.QueueDeclare, error: AmqpException) -> AmqpException | None:
    queue = channel.vhost.queues.get(method.queue)
    own = queue is not None and queue.owner in (None, channel.connection) and not method.passive
    return precondition(error.text) if own and error.code == ReplyCode.RESOURCE_LOCKED else None


MISTAKES: dict[type[Any], Found] = {
    m.ExchangeDeclare: _another_type,
    m.BasicGet: _no_queue,
    m.BasicConsume: _no_queue,
    m.QueueUnbind: _failed,
    m.QueueDeclare: _another_owner,
}
