"""Queues that are declared, shared or deleted where they must not be, or not where they must."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import codec
from codec import methods as m
from codec import values
from codec.errors import ReplyCode
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.connection import Connection
from reference_broker.core.errors import ChannelException, ConnectionException, not_found, precondition, refused
from reference_broker.core.parts import Parts
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes, memory, replaces, take_away
from reference_broker.mutants.topology.binding import Handle, handling

DECLARE = (m.QueueDeclare,)
USES = (m.QueueDeclare, m.QueueBind, m.QueuePurge, m.QueueDelete, m.BasicGet, m.BasicConsume)


def _there(channel: Channel, method: Any) -> Queue | None:
    return channel.vhost.queues.get(method.queue)


def _found(channel: Channel, name: str) -> None:
    channel.connection.send(m.QueueDeclareOk(channel.number, name, 0, 0))


# -- looking for a queue


@handling(DECLARE, "queues.missing-is-found", "a passive declaration finds every queue", "QUEUE-001")
def missing_is_found(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    if method.passive and method.queue and _there(channel, method) is None:
        _found(channel, method.queue)
    else:
        below(channel, method)


@handling(DECLARE, "queues.passive-makes", "a passive declaration makes the queue", "QUEUE-001")
def passive_makes(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    if method.passive and method.queue and _there(channel, method) is None:
        method = copy(method)
        method.passive = False
    below(channel, method)


@handling(
    DECLARE,
    "queues.missing-ends-all",
    "a passive declaration of nothing ends the connection",
    "QUEUE-001",
    field="https://github.com/rabbitmq/rabbitmq-server/issues/10",
)
def missing_ends_all(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    if method.passive and method.queue and _there(channel, method) is None:
        raise ConnectionException(ReplyCode.NOT_FOUND, "no such queue")
    below(channel, method)


@handling(DECLARE, "queues.passive-compares-durable", "a passive declaration compares durability", "QUEUE-002")
def passive_compares_durable(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    present = _there(channel, method)
    if method.passive and present is not None and present.durable != method.durable:
        raise precondition("another durability")
    below(channel, method)


@handling(
    DECLARE,
    "queues.passive-compares-arguments",
    "a passive declaration compares arguments",
    "QUEUE-002",
    field="https://github.com/rabbitmq/amqp091-go/issues/273",
)
def passive_compares_arguments(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    present = _there(channel, method)
    if method.passive and present is not None and method.arguments and method.arguments != present.table:
        raise precondition("other arguments")
    below(channel, method)


# -- declaring it again


@handling(DECLARE, "queues.taken-names-refused", "a queue may be declared but once", "QUEUE-003")
def taken_names_refused(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    if not method.passive and _there(channel, method) is not None:
        raise precondition(f"queue '{method.queue}' exists")
    below(channel, method)


@handling(DECLARE, "queues.refused-to-others", "only its maker may declare a queue again", "QUEUE-003")
def refused_to_others(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    own: set[str] = memory(channel.connection, "made", set)
    if not method.passive and _there(channel, method) is not None and method.queue not in own:
        raise precondition(f"queue '{method.queue}' exists")
    below(channel, method)
    own.add(method.queue)


def _as_it_is(field: str, name: str, says: str, rule: str) -> None:
    """This is taken from the queue that is there."""

    @handling(DECLARE, name, says, rule)
    def declare(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
        present = _there(channel, method)
        if present is not None and not method.passive:
            method = copy(method)
            found = present.table if field == "arguments" else present.owner is not None
            setattr(method, field, getattr(present, field) if field in ("durable", "auto_delete") else found)
        below(channel, method)


_as_it_is("durable", "queues.durable-not-compared", "a queue may be declared with another durability", "QUEUE-004")
_as_it_is("auto_delete", "queues.auto-delete-not-compared", "auto-delete of queues is not compared", "QUEUE-037")
_as_it_is("arguments", "queues.arguments-not-compared", "arguments of queues are not compared", "QUEUE-005")
_as_it_is("exclusive", "queues.exclusive-not-compared", "the exclusive flag is not compared", "QUEUE-006")


@handling(DECLARE, "queues.missing-arguments-pass", "arguments that are left out are not compared", "QUEUE-005")
def missing_arguments_pass(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    present = _there(channel, method)
    if present is not None and not method.passive:
        given = {name for name, _, _ in method.arguments}
        method = copy(method)
        method.arguments = [*method.arguments, *(one for one in present.table if one[0] not in given)]
    below(channel, method)


# -- sharing it


def _open_to_all(name: str, says: str, *methods: type[codec.Method]) -> None:
    """These do not look whom the queue belongs to."""

    @handling(methods, name, says, "QUEUE-007")
    def use(channel: Channel, method: Any, below: Handle) -> None:
        queue = _there(channel, method)
        owner = queue.owner if queue is not None else None
        if queue is None or owner is None:
            below(channel, method)
            return
        queue.owner = channel.connection
        try:
            below(channel, method)
        finally:
            queue.owner = owner


_open_to_all("queues.others-get", "others may get from an exclusive queue", m.BasicGet)
_open_to_all("queues.others-find", "others may look for an exclusive queue", m.QueueDeclare)
_open_to_all("queues.others-bind", "others may bind an exclusive queue", m.QueueBind)
_open_to_all("queues.others-unbind", "others may unbind an exclusive queue", m.QueueUnbind)
_open_to_all("queues.others-purge", "others may purge an exclusive queue", m.QueuePurge)


@handling(USES, "queues.locked-is-refused", "an exclusive queue is refused to others with 403", "QUEUE-007")
def locked_is_refused(channel: Channel, method: Any, below: Handle) -> None:
    queue = _there(channel, method)
    if queue is not None and queue.owner not in (None, channel.connection):
        raise refused("exclusive")
    below(channel, method)


@changes(
    "queues.outlive-their-connection",
    "exclusive queues stay when their connection is closed",
    "QUEUE-008",
    field="https://github.com/nameko/nameko/issues/359",
)
def outlive_their_connection(parts: Parts) -> None:
    below = parts.handlers[m.QueueDeclare]

    def declare(channel: Channel, method: m.QueueDeclare) -> None:
        below(channel, method)
        for queue in list(channel.connection.exclusive):
            del channel.connection.exclusive[queue]

    parts.handlers[m.QueueDeclare] = declare


@replaces(
    "connection.closed_by_peer",
    "queues.locked-until-hung-up",
    "exclusive queues go when the client hangs up, not when the close is answered",
    "QUEUE-008",
)
def locked_until_hung_up(self: Connection, method: m.ConnectionClose) -> None:
    kept, self.exclusive = self.exclusive, {}
    Connection.closed_by_peer(self, method)
    self.exclusive = kept


@handling(
    DECLARE,
    "queues.redeclared-ones-stay",
    "an exclusive queue that is declared twice stays",
    "QUEUE-008",
    field="https://github.com/rabbitmq/rabbitmq-server/issues/15276",
)
def redeclared_ones_stay(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    present = _there(channel, method)
    below(channel, method)
    if present is not None and not method.passive:
        channel.connection.exclusive.pop(present, None)


# -- names


def _reserved(channel: Channel, method: m.QueueDeclare) -> bool:
    return method.queue.startswith("amq.") and not method.passive and _there(channel, method) is None


@handling(DECLARE, "queues.reserved-granted", "clients may declare queues called amq.", "QUEUE-009")
def reserved_granted(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    if _reserved(channel, method):
        _found(channel, method.queue)
    else:
        below(channel, method)


@handling(DECLARE, "queues.reserved-is-precondition", "a reserved name is refused with 406", "QUEUE-009")
def reserved_is_precondition(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    if _reserved(channel, method):
        raise precondition("reserved")
    below(channel, method)


def _tells(name: str, says: str, rule: str, told: Callable[[Channel, m.QueueDeclare, str], str]) -> None:
    """declare-ok tells this name."""

    @changes(name, says, rule)
    def apply(parts: Parts) -> None:
        below, connection = parts.handlers[m.QueueDeclare], parts.connection

        def declare(channel: Channel, method: m.QueueDeclare) -> None:
            memory(channel.connection, "asked", list).append((channel, method))
            try:
                below(channel, method)
            finally:
                memory(channel.connection, "asked", list).clear()

        def answer(self: Connection, method: codec.Method) -> None:
            asked = memory(self, "asked", list)
            if isinstance(method, m.QueueDeclareOk) and asked:
                channel, question = asked[0]
                method.queue = told(channel, question, method.queue)
            connection.send(self, method)

        parts.handlers[m.QueueDeclare] = declare
        parts.override("connection", send=answer)


_tells(
    "queues.chosen-name-untold",
    "the name that the broker chooses is not told",
    "QUEUE-010",
    lambda channel, method, name: method.queue,
)
_tells(
    "queues.chosen-name-of-none",
    "the name that the broker tells is that of no queue",
    "QUEUE-010",
    lambda channel, method, name: name if method.queue else f"{name}.",
)
_tells(
    "queues.chosen-name-twice",
    "the broker tells each connection one name alone",
    "QUEUE-010",
    lambda channel, method, name: name if method.queue else memory(channel.connection, "name", lambda: name),
)
_tells(
    "queues.name-in-lower-case",
    "declare-ok tells names in lower case",
    "QUEUE-011",
    lambda channel, method, name: name.lower(),
)
_tells(
    "queues.long-names-cut",
    "declare-ok tells the first octets alone",
    "QUEUE-011",
    lambda channel, method, name: name[:60],
)


# -- deleting and using it


@handling((m.QueueDelete,), "queues.used-deleted", "if-unused is not looked at", "QUEUE-012")
def used_deleted(channel: Channel, method: m.QueueDelete, below: Handle) -> None:
    method = copy(method)
    method.if_unused = False
    below(channel, method)


@handling(
    (m.QueueDelete,),
    "queues.refused-and-deleted",
    "a queue whose deletion is refused is deleted all the same",
    "QUEUE-012",
    "QUEUE-013",
)
def refused_and_deleted(channel: Channel, method: m.QueueDelete, below: Handle) -> None:
    try:
        below(channel, method)
    except ChannelException:
        queue = _there(channel, method)
        if queue is not None:
            take_away(queue)
        raise


@handling((m.QueueDelete,), "queues.used-by-own-alone", "consumers of other connections do not count", "QUEUE-012")
def used_by_own_alone(channel: Channel, method: m.QueueDelete, below: Handle) -> None:
    queue = _there(channel, method)
    if queue is not None and not any(one.channel.connection is channel.connection for one in queue.consumers):
        method = copy(method)
        method.if_unused = False
    below(channel, method)


@handling((m.QueueDelete,), "queues.filled-deleted", "if-empty is not looked at", "QUEUE-013")
def filled_deleted(channel: Channel, method: m.QueueDelete, below: Handle) -> None:
    method = copy(method)
    method.if_empty = False
    below(channel, method)


@handling((m.QueuePurge,), "queues.missing-purged", "the purge of a missing queue is answered", "QUEUE-014")
def missing_purged(channel: Channel, method: m.QueuePurge, below: Handle) -> None:
    if method.queue and _there(channel, method) is None:
        channel.connection.send(m.QueuePurgeOk(channel.number, 0))
    else:
        below(channel, method)


@handling(
    (m.QueueDeclare, m.BasicGet, m.QueuePurge, m.BasicConsume, m.QueueBind),
    "queues.last-of-the-connection",
    "the empty name stands for the last queue of the connection",
    "QUEUE-015",
)
def last_of_the_connection(channel: Channel, method: Any, below: Handle) -> None:
    known: dict[str, str] = memory(channel.connection, "last", dict)
    if not isinstance(method, m.QueueDeclare):
        channel.last_queue = channel.last_queue or known.get("queue", "")
    below(channel, method)
    if isinstance(method, m.QueueDeclare):
        known["queue"] = channel.last_queue


@handling((m.BasicGet, m.QueuePurge), "queues.no-last", "get and purge need the name of the queue", "QUEUE-015")
def no_last(channel: Channel, method: Any, below: Handle) -> None:
    if not method.queue:
        raise not_found("queue", "")
    below(channel, method)


def _lenient(name: str, says: str, senseless: Callable[[Any], bool]) -> None:
    """Arguments with such values are left out."""

    @handling(DECLARE, name, says, "QUEUE-016")
    def declare(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
        plain = values.plain(method.arguments) if method.arguments else {}
        method = copy(method)
        method.arguments = [
            one
            for one in method.arguments
            if one[0] not in ("x-max-length", "x-message-ttl", "x-expires") or not senseless(plain[one[0]])
        ]
        below(channel, method)


_lenient("queues.negative-limits", "negative limits are no limits", lambda value: isinstance(value, int) and value < 0)
_lenient("queues.limits-of-text", "a text is no limit", lambda value: isinstance(value, str))


# -- deleting, purging and counting


@handling((m.QueueDelete,), "queues.used-spared", "a queue with consumers is not deleted", "QUEUE-017")
def used_spared(channel: Channel, method: m.QueueDelete, below: Handle) -> None:
    method = copy(method)
    method.if_unused = True
    below(channel, method)


@handling((m.QueueDelete,), "queues.filled-spared", "a queue with messages is not deleted", "QUEUE-017")
def filled_spared(channel: Channel, method: m.QueueDelete, below: Handle) -> None:
    method = copy(method)
    method.if_empty = True
    below(channel, method)


@handling(
    (m.QueueDelete,),
    "queues.gone-not-deleted",
    "a queue that is gone cannot be deleted",
    "QUEUE-018",
    field="https://github.com/spring-projects/spring-boot/issues/7018",
)
def gone_not_deleted(channel: Channel, method: m.QueueDelete, below: Handle) -> None:
    if method.queue and _there(channel, method) is None:
        raise not_found("queue", method.queue)
    below(channel, method)


@handling((m.QueuePurge,), "queues.purge-takes-all", "a purge removes what is unacknowledged as well", "QUEUE-019")
def purge_takes_all(channel: Channel, method: m.QueuePurge, below: Handle) -> None:
    below(channel, method)
    for connection in channel.connection.broker.connections:
        for other in connection.channels.values():
            for delivery in other.unacked.by_tag.values():
                delivery.lost = delivery.lost or delivery.queue.name == method.queue


def _miscounts(name: str, says: str, counts: Callable[[Connection, Queue], int]) -> None:
    """declare-ok tells this number of consumers."""

    @handling(DECLARE, name, says, "QUEUE-020")
    def declare(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
        queue = _there(channel, method)
        if method.passive and queue is not None and not method.no_wait:
            told = m.QueueDeclareOk(channel.number, queue.name, queue.count(), counts(channel.connection, queue))
            channel.connection.send(told)
        else:
            below(channel, method)


_miscounts("queues.consumers-uncounted", "declare-ok tells of no consumers", lambda connection, queue: 0)
_miscounts(
    "queues.own-consumers-counted",
    "declare-ok counts consumers of the same connection alone",
    lambda connection, queue: sum(one.channel.connection is connection for one in queue.consumers),
)


@handling(DECLARE, "queues.unused-goes", "an auto-delete queue goes when it is looked for before use", "QUEUE-021")
def unused_goes(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    queue = _there(channel, method)
    if method.passive and queue is not None and queue.auto_delete and not queue.consumers:
        channel.vhost.delete_queue(queue)
    below(channel, method)
