"""Brokers that say ok and do nothing, and brokers that call whatever they have not foreseen an internal error.

Such come of other systems with AMQP put before them, and of young projects: a method is known, its answer is sent, and
what it asks for was left for later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Intake
from reference_broker.core.errors import ChannelException, ConnectionException
from reference_broker.core.parts import Handler, Parts
from reference_broker.core.queues.message import Message
from reference_broker.core.routing import Headers, Topic
from reference_broker.personalities.kinds import around, around_handler, changes, memory, wrap, wrap_handler
from reference_broker.personalities.minding import CLOSED_IN_WORDS

Wanted = Callable[[Channel, Any], bool]

# -- errors that nobody has foreseen: that they cost the channel alone ERR-004 says as well


def otherwise(
    *methods: type[codec.Method], code: int, hard: bool, only: ReplyCode | None = None
) -> Callable[[Parts], None]:
    """What costs the channel when one of these is refused, costs by this code the channel or the connection."""
    kind = ConnectionException if hard else ChannelException

    def handle(earlier: Handler, channel: Channel, method: Any) -> None:
        try:
            earlier(channel, method)
        except ChannelException as error:
            if only is not None and error.code != only:
                raise
            raise kind(ReplyCode(code), error.text) from error

    def apply(parts: Parts) -> None:
        for method in methods:
            wrap_handler(parts, method, handle)

    return apply


# What is not found (EXCH-001), not the same (EXCH-002 to EXCH-004) or in use (EXCH-009) costs the channel, by its code.
changes(
    "unforeseen.exchanges",
    "whatever is wrong with exchange.declare or exchange.delete brings connection.close 541",
    breaks="EXCH-001 EXCH-002 EXCH-009",
    may="ERR-004 EXCH-003 EXCH-004 EXCH-008 EXCH-011 EXCH-012 EXCH-014 ERR-012 AUTH-0* NOWAIT-006 NOWAIT-004",
    hides="DUR-* POLICY-* EXCH-010",
    about="errors-of-exchanges",
)(otherwise(m.ExchangeDeclare, m.ExchangeDelete, code=541, hard=True))
changes(
    "unforeseen.missing-queues",
    "to get from a missing queue brings connection.close 541",
    breaks="GET-001",
    may="ERR-004 GET-002 QUEUE-015 CHAN-007 ERR-012 NOWAIT-004",
    about="gets",
)(otherwise(m.BasicGet, code=541, hard=True, only=ReplyCode.NOT_FOUND))
changes(
    "unforeseen.commits",
    "a commit or a rollback without a transaction brings connection.close 541",
    breaks="TX-004",
    may="ERR-004 CHAN-008 ERR-012",
    about="transactions",
)(otherwise(m.TxCommit, m.TxRollback, code=541, hard=True))
changes(
    "unforeseen.commits-503",
    "a commit or a rollback without a transaction brings channel.close 503",
    breaks="TX-004",
    may="CHAN-008",
    about="transactions",
)(otherwise(m.TxCommit, m.TxRollback, code=503, hard=False))
changes(
    "hard.missing-queues",
    "to get from a missing queue brings connection.close 404",
    breaks="GET-001",
    may="ERR-004 GET-002 QUEUE-015 CHAN-007 DRT-011",
    about="gets",
)(otherwise(m.BasicGet, code=404, hard=True, only=ReplyCode.NOT_FOUND))
changes(
    "hard.company",
    "an exclusive consumer beside others, or the other way round, costs the connection: 403",
    breaks="CONSUME-001 CONSUME-002",
    may="ERR-004 SAC-004 AUTH-012 NOWAIT-006 CONSUME-006",
    about="company",
)(otherwise(m.BasicConsume, code=403, hard=True, only=ReplyCode.ACCESS_REFUSED))
OF_QUEUES = (m.QueueDeclare, m.QueueBind, m.QueueUnbind, m.QueuePurge, m.QueueDelete, m.BasicGet, m.BasicConsume)
# QUEUE-006 lets 405 and 406 close the channel where a queue becomes exclusive, or ceases to be.
changes(
    "hard.locks",
    "who uses an exclusive queue of another connection is closed by connection.close 530",
    breaks="QUEUE-007",
    may="ERR-004 QUEUE-006 QUEUE-025",
    about="locks",
)(otherwise(*OF_QUEUES, code=530, hard=True, only=ReplyCode.RESOURCE_LOCKED))


# Methods of the connection come on channel 0 (ERR-013); whose words are about such a close may take it for none.
@changes(
    "closes.on-the-offending-channel",
    "connection.close comes on the channel of the method that caused it",
    breaks="ERR-013",
    may=f"ERR-009 ERR-010 CAN-018 CAN-017 QOS-023 QOS-025 EXCH-014 CONN-0* {CLOSED_IN_WORDS}",
    about="close",
)
def on_the_offending_channel(parts: Parts) -> None:
    def serve(earlier: Any, self: Intake, number: int, frame: Any) -> None:
        memory(self.connection, "at", lambda: [0])[0] = number
        earlier(self, number, frame)

    def send(earlier: Any, self: Connection, item: Any) -> None:
        if isinstance(item, m.ConnectionClose):
            item.channel = memory(self, "at", lambda: [0])[0]
        earlier(self, item)

    wrap(parts, "intake.on_channel", serve)
    wrap(parts, "connection.send", send)


# -- settlements that name nothing


# What comes of a settlement of an unknown tag each of these rules says, for tags of its own kind. Who takes no offence
# settles what is below a multiple all the same. Errors of channels can be had otherwise, and perhaps are not.
@around(
    "channel.collect",
    "settle.unknown-tags-passed-over",
    "a settlement of an unknown tag is passed over, and settles what is below where it is multiple",
    breaks="ERR-001 ERR-002 ERR-003 ACK-010 MODE-006 TX-001",
    may="ACK-009 ACK-005 ACK-011 ERR-004 ERR-005 ERR-006 ERR-007 ERR-008 ERR-011 AUTO-004 TAG-006 TAG-007 TAG-008 "
    "TAG-009 RQ-014 TMO-016 TMO-021 MODE-001",
    hides="ERR-* AUTO-004 AUTO-012 CHAN-005 TAG-* TX-008 CONN-019",
    about="settle errors nack crash channel.collect tags",
)
def unknown_tags_passed_over(earlier: Any, self: Channel, tag: int, multiple: bool) -> Any:
    if multiple and tag:
        return self.unacked.those(lambda one: one.tag <= tag)
    return self.unacked.everything() if multiple else self.unacked.one(tag) or []


# -- contents


@around(
    "intake.on_content",
    "bodies.of-one-frame",
    "a body in several frames brings connection.close 501",
    breaks="CONTENT-001",
    may="CNF-026 CNF-009 CONTENT-013 CONTENT-014 RETURN-006 RQ-016 RQ-011 CONN-012 CONN-013 LEN-005 LEN-014 MODE-002 "
    "CONTENT-007 TX-* FRAME-*",
    hides="CNF-* CONTENT-* RETURN-006 FRAME-*",
    about="contents",
)
def of_one_frame(earlier: Any, self: Intake, number: int, frame: Any) -> None:
    assembly = self.assemblies.get(number)
    if assembly is not None and isinstance(frame, codec.Body) and len(frame.payload) < assembly.missing:
        raise ConnectionException(ReplyCode.FRAME_ERROR, "body size is not correct")
    earlier(self, number, frame)


# -- answers, and nothing else


# What no transaction holds back is there at once (TX-003), cannot be undone (TX-002, TX-005), and no end undoes it
# (TX-008). Both modes can be had together (CNF-016), and nobody asks whether there is a transaction (TX-004).
@changes(
    "answered.transactions",
    "tx.select, tx.commit and tx.rollback are answered, and nothing comes of them",
    breaks="TX-002 TX-003 TX-004 TX-005 TX-008 TX-009 TX-013 CNF-016 QOS-026",
    may="TX-006 TX-012 TX-014 TX-010 CNF-024 AUTO-006 CHAN-008 DUR-020 RQ-011",
    hides="TX-* AUTO-006",
    about="transactions",
)
def transactions(parts: Parts) -> None:
    def answered(made: Callable[[int], codec.Method]) -> Callable[[Handler, Channel, Any], None]:
        return lambda earlier, channel, method: channel.connection.send(made(channel.number))

    for method, answer in ((m.TxSelect, m.TxSelectOk), (m.TxCommit, m.TxCommitOk), (m.TxRollback, m.TxRollbackOk)):
        wrap_handler(parts, method, answered(answer))


# That the ready messages are removed is QUEUE-019. What is still there is counted and delivered.
@around_handler(
    m.QueuePurge,
    "answered.purges",
    "queue.purge is answered with a count of 0, and removes nothing",
    breaks="QUEUE-019",
    may="MODE-007 MODE-008 NOWAIT-004 CNF-017 RQ-011 LEN-003 LEN-009 QUEUE-030 QUEUE-034 QUEUE-031",
    hides="CNF-017",
    about="purges method:queue.purge",
)
def purges(earlier: Handler, channel: Channel, method: m.QueuePurge) -> None:
    queue = channel.vhost.queues.get(method.queue or channel.last_queue)
    if queue is None or queue.owner not in (None, channel.connection):
        earlier(channel, method)
    elif not method.no_wait:
        channel.connection.send(m.QueuePurgeOk(channel.number, 0))


@around(
    "connection.send",
    "counts.nothing",
    "declare-ok and delete-ok tell of no messages and of no consumers",
    breaks="MODE-007 MODE-008 QUEUE-020",
    may="LEN-001 LEN-003 LEN-005 QUEUE-003 DRT-008",
    hides="QUEUE-031 MODE-*",
    about="counts",
)
def counts_nothing(earlier: Any, self: Connection, item: Any) -> None:
    if isinstance(item, m.QueueDeclareOk):
        item.message_count = item.consumer_count = 0
    elif isinstance(item, m.QueueDeleteOk):
        item.message_count = 0
    earlier(self, item)


@changes(
    "answered.nowait",
    "whatever is declared, bound, removed or emptied is answered with nowait, too",
    breaks="NOWAIT-001",
    may="ERR-013",
    about="nowait",
)
def answered_nowait(parts: Parts) -> None:
    def loud(earlier: Handler, channel: Channel, method: Any) -> None:
        method.no_wait = False
        earlier(channel, method)

    for method in (m.QueueDeclare, m.QueueBind, m.QueuePurge, m.QueueDelete, m.ExchangeDeclare, m.ExchangeDelete):
        wrap_handler(parts, method, loud)


@changes(
    "answered.unbindings",
    "queue.unbind from a topic exchange is answered, and removes nothing",
    breaks="ROUTE-014",
    may="BIND-004 BIND-010 BIND-012 EXCH-010 EXCH-022 ROUTE-005 ROUTE-009 CNF-010 DUR-011 RQ-011",
    about="method:queue.unbind",
)
def unbindings(parts: Parts) -> None:
    def handle(earlier: Handler, channel: Channel, method: m.QueueUnbind) -> None:
        if isinstance(channel.vhost.exchanges.get(method.exchange), Topic):
            channel.connection.send(m.QueueUnbindOk(channel.number))
        else:
            earlier(channel, method)

    wrap_handler(parts, m.QueueUnbind, handle)


# -- what is not looked at


@changes(
    "overlooked.flags",
    "whoever declares what is there is answered with declare-ok, whatever flags and arguments it names",
    breaks="QUEUE-004 QUEUE-005 EXCH-002",
    may="QUEUE-037 EXCH-003 EXCH-004 DUR-002 DUR-004 NOWAIT-006 QUEUE-016 QUEUE-026",
    about="comparing",
)
def flags(parts: Parts) -> None:
    def queue_declare(earlier: Handler, channel: Channel, method: m.QueueDeclare) -> None:
        there = channel.vhost.queues.get(method.queue)
        if there is not None and method.exclusive is (there.owner is not None):
            method.passive = True
        earlier(channel, method)

    def exchange_declare(earlier: Handler, channel: Channel, method: m.ExchangeDeclare) -> None:
        method.passive = method.passive or bool(method.exchange and method.exchange in channel.vhost.exchanges)
        earlier(channel, method)

    wrap_handler(parts, m.QueueDeclare, queue_declare)
    wrap_handler(parts, m.ExchangeDeclare, exchange_declare)


@changes(
    "overlooked.conditions",
    "if-unused and if-empty are not looked at",
    breaks="QUEUE-012 QUEUE-013 EXCH-009",
    may="NOWAIT-006 TTL-012",
    hides="GET-004 QUEUE-030 EXCH-022",
    about="conditions",
)
def conditions(parts: Parts) -> None:
    def unconditional(earlier: Handler, channel: Channel, method: Any) -> None:
        method.if_unused = False
        if isinstance(method, m.QueueDelete):
            method.if_empty = False
        earlier(channel, method)

    wrap_handler(parts, m.QueueDelete, unconditional)
    wrap_handler(parts, m.ExchangeDelete, unconditional)


@around(
    "channel.give_back",
    "overlooked.mandatory",
    "nothing is ever returned to who published it as mandatory",
    breaks="CNF-009 RETURN-001",
    may="RETURN-005 RETURN-006 TX-003 TX-012 TTL-* ",
    hides="RETURN-* TX-012",
    about="returns confirms",
)
def mandatory(earlier: Any, self: Channel, exchange: str, message: Message) -> None:
    return


# -- publishes that go nowhere


def diverted(wanted: Wanted, divert: Callable[[Channel, m.BasicPublish], None]) -> Callable[[Parts], None]:
    """Of publishes that are `wanted` this comes instead."""

    def apply(parts: Parts) -> None:
        earlier = parts.publish

        def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
            if wanted(channel, method):
                divert(channel, method)
            else:
                earlier(channel, method, header, body)

        parts.publish = publish

    return apply


def astray(channel: Channel, method: m.BasicPublish) -> bool:
    return bool(method.exchange and method.exchange not in channel.vhost.exchanges)


def homeless(channel: Channel, method: m.BasicPublish) -> bool:
    key = method.routing_key
    return not method.exchange and key not in channel.vhost.queues and key not in channel.vhost.replies


def not_found(channel: Channel, method: m.BasicPublish) -> None:
    raise ChannelException(ReplyCode.NOT_FOUND, f"no such queue: {method.routing_key}")


changes(
    "astray.unknown-exchanges",
    "a publish to a missing exchange vanishes, and is never answered",
    breaks="CNF-019 TX-015",
    may="CNF-004 CNF-020 EXCH-012 EXCH-013 CONTENT-006 ERR-006 NOWAIT-006",
    hides="ERR-* AUTO-004 CONN-019",
    about="publishes publish",
)(diverted(astray, lambda channel, method: None))
# CNF-008 has it confirmed, CNF-009 and RETURN-001 returned where it is mandatory.
changes(
    "astray.default-exchange",
    "a publish by the default exchange to a missing queue closes the channel with 404",
    breaks="CNF-008 CNF-009 RETURN-001",
    may="RETURN-* TX-003 TX-012 TX-017 CNF-004 CNF-017 CNF-022 CNF-006 RQ-011 ROUTE-018 TTL-008 DRT-* QUEUE-008 "
    "DLX-* BIND-007 ERR-012 NOWAIT-* TAG-010",
    hides="RETURN-* TX-* CNF-*",
    about="publishes publish confirms",
)(diverted(homeless, not_found))


# -- bindings to what was declared all the same


@around_handler(
    m.QueueBind,
    "unbound.headers",
    "headers exchanges are declared, and binding to one brings channel.close 540",
    may="BIND-008 BIND-012 BIND-015 ROUTE-006 ROUTE-007 ROUTE-008 ROUTE-017 ROUTE-009",
    hides="BIND-* ROUTE-* EXCH-017",
    about="headers",
)
def headers(earlier: Handler, channel: Channel, method: m.QueueBind) -> None:
    if isinstance(channel.vhost.exchanges.get(method.exchange), Headers):
        raise ChannelException(ReplyCode.NOT_IMPLEMENTED, "exchange has unsupported type 'headers'")
    earlier(channel, method)
