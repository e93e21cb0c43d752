"""Room for too little, arguments refused without need or taken without sense, and conditions that never hold."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

from codec import methods as m
from codec import values
from codec.errors import ReplyCode
from codec.values import FieldTable
from reference_broker.core.channels.channel import Channel
from reference_broker.core.errors import ConnectionException, not_found, precondition
from reference_broker.core.queues.arguments import Arguments, QueueArguments, invalid
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Exchange
from reference_broker.mutants.kinds import memory, replaces
from reference_broker.mutants.topology.binding import Handle, handling

PURGE = "https://github.com/cloudamqp/lavinmq/pull/577"
FALSE = "https://github.com/cloudamqp/lavinmq/issues/1429"
CRASH = "https://github.com/rabbitmq/rabbitmq-server/pull/8629"
QUEUES, EXCHANGES, LONG = 200, 12, 200


def _plain(table: FieldTable) -> dict[str, Any]:
    return dict(values.plain(table)) if table else {}


@handling((m.QueueDeclare,), "limits.expires-at-once", "x-expires may be 0", "QUEUE-026")
def expires_at_once(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    method = copy(method)
    method.arguments = [one for one in method.arguments if not (one[0] == "x-expires" and not one[2])]
    below(channel, method)


def _positive(name: str, says: str, *arguments: str) -> None:
    @handling((m.QueueDeclare,), name, says, "QUEUE-027")
    def declare(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
        given = _plain(method.arguments)
        if any(given.get(one) == 0 for one in arguments):
            raise precondition("a limit is a positive number")
        below(channel, method)


def _narrow(name: str, says: str, most: int, *arguments: str) -> None:
    @handling((m.QueueDeclare,), name, says, "QUEUE-036")
    def declare(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
        given = _plain(method.arguments)
        if any(isinstance(given.get(one), int) and given[one] > most for one in arguments):
            raise precondition("the number is too large")
        below(channel, method)


_narrow("limits.32-bit-lengths", "lengths are below 2^31", (1 << 31) - 1, "x-max-length", "x-max-length-bytes")
_narrow("limits.32-bit-times", "times are below 2^32 milliseconds", (1 << 32) - 1, "x-message-ttl", "x-expires")
_positive("limits.positive-lengths", "limits of length are positive", "x-max-length", "x-max-length-bytes")
_positive("limits.positive-times", "x-message-ttl is positive", "x-message-ttl")


@replaces(
    "arguments.parse", "limits.false-refused", "x-single-active-consumer can only be true", "QUEUE-033", field=FALSE
)
def false_refused(self: Arguments, table: FieldTable, queue: str) -> QueueArguments:
    if _plain(table).get("x-single-active-consumer") is False:
        raise invalid("x-single-active-consumer", queue, "it is false")
    return Arguments.parse(self, table, queue)


@handling((m.QueueDeclare,), "limits.200-queues", "a virtual host has room for 200 queues", "QUEUE-029")
def few_queues(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    if not method.passive and len(channel.vhost.queues) >= QUEUES and method.queue not in channel.vhost.queues:
        raise precondition("too many queues")
    below(channel, method)


@handling((m.ExchangeDeclare,), "limits.12-exchanges", "a virtual host has room for twelve exchanges", "EXCH-020")
def few_exchanges(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    known = channel.vhost.exchanges
    if not method.passive and len(known) >= EXCHANGES and method.exchange not in known:
        raise precondition("too many exchanges")
    below(channel, method)


def _never(name: str, says: str, rule: str, kind: type[Any], holds: Callable[[Channel, Any], bool]) -> None:
    """A deletion with a condition is refused where this says that it does not hold."""

    @handling((kind,), name, says, rule)
    def delete(channel: Channel, method: Any, below: Handle) -> None:
        if not holds(channel, method):
            raise precondition("in use, or not empty")
        below(channel, method)


_never(
    "limits.never-deleted",
    "a deletion with if-unused or if-empty is always refused",
    "QUEUE-030",
    m.QueueDelete,
    lambda channel, method: not (method.if_unused or method.if_empty),
)
_never(
    "limits.exchanges-never-deleted",
    "a deletion of an exchange with if-unused is always refused",
    "EXCH-022",
    m.ExchangeDelete,
    lambda channel, method: not method.if_unused,
)


@handling((m.QueueDelete, m.BasicConsume), "limits.former-consumers", "former consumers are use", "QUEUE-030")
def former_consumers(channel: Channel, method: Any, below: Handle) -> None:
    used: set[str] = memory(channel.vhost, "used", set)
    if isinstance(method, m.BasicConsume):
        used.add(method.queue)
    elif method.if_unused and method.queue in used:
        raise precondition("in use")
    below(channel, method)


@handling((m.QueueDelete, m.BasicGet), "limits.former-messages", "messages that were got are still there", "QUEUE-030")
def former_messages(channel: Channel, method: Any, below: Handle) -> None:
    emptied: set[str] = memory(channel.vhost, "emptied", set)
    if isinstance(method, m.BasicGet):
        emptied.add(method.queue)
    elif method.if_empty and method.queue in emptied:
        raise precondition("not empty")
    below(channel, method)


@handling(
    (m.QueueDelete,),
    "limits.lender-stays",
    "a deletion with if-empty is answered and not done while a message is out",
    "QUEUE-001",
)
def lender_stays(channel: Channel, method: m.QueueDelete, below: Handle) -> None:
    queue = channel.vhost.queues.get(method.queue)
    if queue is None or not method.if_empty or queue.count() or not _lends(channel, queue):
        below(channel, method)
    else:
        channel.connection.send(m.QueueDeleteOk(channel.number, 0))


def _lends(channel: Channel, queue: Queue) -> bool:
    channels = [one for connection in channel.connection.broker.connections for one in connection.channels.values()]
    return any(held.queue is queue for one in channels for held in one.unacked.by_tag.values())


@handling((m.ExchangeDelete, m.QueueBind), "limits.former-bindings", "former bindings are use", "EXCH-022")
def former_bindings(channel: Channel, method: Any, below: Handle) -> None:
    bound: set[str] = memory(channel.vhost, "bound", set)
    if isinstance(method, m.QueueBind):
        bound.add(method.exchange)
    elif method.if_unused and method.exchange in bound:
        raise precondition("in use")
    below(channel, method)


@handling((m.ExchangeDeclare,), "limits.alternate-wanted", "an alternate exchange must be there", "EXCH-023")
def alternate_wanted(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    alternate = _plain(method.arguments).get("alternate-exchange")
    if alternate is not None and alternate not in channel.vhost.exchanges:
        raise not_found("exchange", str(alternate))
    below(channel, method)


@handling((m.QueueBind,), "limits.any-form", "an x-match that nobody knows is taken for all", "BIND-015")
def any_form(channel: Channel, method: m.QueueBind, below: Handle) -> None:
    exchange, form = channel.vhost.exchanges.get(method.exchange), _plain(method.arguments).get("x-match", "all")
    if isinstance(exchange, Exchange) and exchange.TYPE == "headers" and form not in ("all", "any"):
        method = copy(method)
        method.arguments = [one for one in method.arguments if one[0] != "x-match"]
    below(channel, method)


@handling((m.QueuePurge,), "limits.long-purge", "the purge of a long queue never ends", "QUEUE-034", field=PURGE)
def long_purge(channel: Channel, method: m.QueuePurge, below: Handle) -> None:
    queue = channel.vhost.queues.get(method.queue)
    if queue is None or queue.count() < LONG:
        below(channel, method)


@handling(
    (m.QueueDeclare,), "limits.declaration-crashes", "a classic queue that is there crashes", "QUEUE-003", field=CRASH
)
def declaration_crashes(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    queue = channel.vhost.queues.get(method.queue)
    if queue is not None and not method.passive and queue.quorum is None:
        raise ConnectionException(ReplyCode.INTERNAL_ERROR)
    below(channel, method)


@handling((m.QueueDeclare,), "limits.widths-compared", "a number in another width is another number", "QUEUE-003")
def widths_compared(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    queue = channel.vhost.queues.get(method.queue)
    letters = {name: letter for name, letter, _ in queue.table} if queue is not None else {}
    if not method.passive and any(letters.get(name, letter) != letter for name, letter, _ in method.arguments):
        raise precondition("another type")
    below(channel, method)


@replaces(
    "arguments.parse",
    "limits.false-is-true",
    "a queue with x-single-active-consumer serves one consumer, be it false",
    "QOS-027",
    "QUEUE-033",
)
def false_is_true(self: Arguments, table: FieldTable, queue: str) -> QueueArguments:
    there = any(name == "x-single-active-consumer" for name, _, _ in table)
    return replace(Arguments.parse(self, table, queue), single_active_consumer=there)
