"""Handlers of the basic class: publish, get, consume, cancel, settle, recover, qos."""

from __future__ import annotations

import re

import codec
from codec import methods as m
from codec import wire
from reference_broker.core.channels import channel as fates
from reference_broker.core.channels import replies
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.topology import named_queue
from reference_broker.core.errors import not_implemented, precondition, refused, reused
from reference_broker.core.queues.arguments import LARGEST, integer
from reference_broker.core.queues.message import Message, addressed

IMPERSONATOR = "impersonator"

LOOKED_AT = sum(wire.FLAGS[name] for name in ("headers", "reply_to", "expiration", "user_id"))
"""The properties of a publish that mean something to a broker. Most have none of them, and need no look."""

# -- publishing


def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    if method.exchange or method.immediate or header.flags & LOOKED_AT:
        check_publish(channel, method, header)
        message = addressed(method.exchange, method.routing_key, header, body)
        if header.reply_to == replies.REPLY_TO:
            message = replies.with_address(channel, message)
    else:
        message = Message(method.exchange, method.routing_key, header, body)
    confirms = channel.confirms
    if channel.transaction is not None:
        channel.transaction.publish(channel, method.exchange, message, method.mandatory)
    elif confirms is None:
        channel.publish(method.exchange, message, method.mandatory)
    else:
        number = confirms.next()
        if channel.publish(method.exchange, message, method.mandatory):
            confirms.accept(number)
        else:
            confirms.refuse(number)
        channel.connection.confirm(channel)


def check_publish(channel: Channel, method: m.BasicPublish, header: codec.Header) -> None:
    if method.immediate:
        raise not_implemented("immediate=true")
    if method.exchange and channel.vhost.exchange(method.exchange).internal:
        raise refused(f"cannot publish to internal exchange '{method.exchange}' in vhost '/'")
    if header.user_id is not None and header.user_id != channel.connection.user and not impersonates(channel):
        raise precondition(
            f"user_id property set to '{header.user_id}' but authenticated user was '{channel.connection.user}'"
        )
    if header.expiration is not None:
        check_expiration(header.expiration)


def impersonates(channel: Channel) -> bool:
    """Is this a user who may speak for others?"""
    known = channel.connection.broker.access.users.get(channel.connection.user)
    return known is not None and IMPERSONATOR in known.tags


def check_expiration(text: str) -> None:
    number = re.match(r"[+-]?\d+", text, re.ASCII)
    if number is None:
        why = "no_integer"
    elif rest := text[number.end() :]:
        why = f'{{leftover_string,"{rest}"}}'
    elif int(text) < 0:
        why = f"{{value_negative,{int(text)}}}"
    elif int(text) > LARGEST:
        why = f"{{value_too_large,{int(text)}}}"
    else:
        return
    raise precondition(f"invalid expiration '{text}': {why}")


# -- receiving


def get(channel: Channel, method: m.BasicGet) -> None:
    channel.get(named_queue(channel, method.queue), method.no_ack)


def consume(channel: Channel, method: m.BasicConsume) -> None:
    if method.queue == replies.REPLY_TO:
        replies.consume(channel, method)
        return
    parts, connection = channel.connection.parts, channel.connection
    if method.consumer_tag in channel.consumers:
        raise reused(method.consumer_tag)
    queue = named_queue(channel, method.queue)
    if queue.excludes(method.exclusive):
        raise refused(f"queue '{queue.name}' in vhost '/' in exclusive use")
    if queue.quorum is not None and channel.limit.count:
        raise not_implemented(f"queue '{queue.name}' in vhost '/' does not support global qos")
    tag = method.consumer_tag or f"amq.ctag-{channel.vhost.unique()}"
    ranks = priority(method, queue.name)
    timeout = parts.arguments().consumer_timeout(method.arguments, queue.name, queue.quorum is not None)
    consumer = parts.consumer(tag, channel, queue, method.no_ack, channel.limit_of(queue, tag))
    consumer.priority, consumer.arguments = ranks, method.arguments
    channel.consumers[tag] = consumer
    if not method.no_wait:
        connection.send(m.BasicConsumeOk(channel.number, tag))
    channel.timeouts.join(consumer, timeout)
    queue.join(consumer, method.exclusive)


def priority(method: m.BasicConsume, queue: str) -> int:
    for name, letter, value in method.arguments:
        if name == "x-priority":
            return integer(name, letter, value, queue)
    return 0


def cancel(channel: Channel, method: m.BasicCancel) -> None:
    """A tag nobody uses is answered like any other: the consumer may have ended a moment ago."""
    consumer = channel.consumer_of(method.consumer_tag)
    channel.cancel(method.consumer_tag)
    if not method.no_wait:
        channel.answer_cancel(m.BasicCancelOk(channel.number, method.consumer_tag), consumer)


def cancel_ok(channel: Channel, method: m.BasicCancelOk) -> None:
    """Nobody asked: the broker's own basic.cancel wants no answer. One that has timed out it ends."""
    consumer = channel.consumers.get(method.consumer_tag)
    if consumer is not None and consumer.pause.held:
        channel.cancel(method.consumer_tag)
        return
    raise channel.unasked()


def qos(channel: Channel, method: m.BasicQos) -> None:
    if method.prefetch_size:
        raise not_implemented(f"prefetch_size!=0 ({method.prefetch_size})")
    channel.connection.send(m.BasicQosOk(channel.number))
    if method.global_:
        channel.limit_together(method.prefetch_count)
    else:
        channel.limit_each(method.prefetch_count)


# -- settling


def ack(channel: Channel, method: m.BasicAck) -> None:
    channel.settle(channel.collect(method.delivery_tag, method.multiple), fates.acked)


def nack(channel: Channel, method: m.BasicNack) -> None:
    fate = fates.requeued if method.requeue else fates.discarded
    channel.settle(channel.collect(method.delivery_tag, method.multiple), fate)


def reject(channel: Channel, method: m.BasicReject) -> None:
    fate = fates.failed if method.requeue else fates.discarded
    channel.settle(channel.collect(method.delivery_tag, False), fate)


def recover(channel: Channel, method: m.BasicRecover | m.BasicRecoverAsync) -> None:
    if not method.requeue:
        raise not_implemented("requeue=false")
    if isinstance(method, m.BasicRecover):
        channel.connection.send(m.BasicRecoverOk(channel.number))
    channel.requeue(channel.unacked.everything())


# -- modes


def confirm_select(channel: Channel, method: m.ConfirmSelect) -> None:
    if channel.transaction is not None:
        raise precondition("cannot switch from tx to confirm mode")
    if channel.confirms is None:
        channel.select_confirms()
    if not method.no_wait:
        channel.connection.send(m.ConfirmSelectOk(channel.number))


def tx_select(channel: Channel, method: m.TxSelect) -> None:
    if channel.confirms is not None:
        raise precondition("cannot switch from confirm to tx mode")
    if channel.transaction is None:
        channel.transaction = channel.connection.parts.transaction()
    channel.connection.send(m.TxSelectOk(channel.number))


def tx_commit(channel: Channel, method: m.TxCommit) -> None:
    if channel.transaction is None:
        raise precondition("channel is not transactional")
    channel.transaction.commit(channel)
    channel.connection.send(m.TxCommitOk(channel.number))


def tx_rollback(channel: Channel, method: m.TxRollback) -> None:
    if channel.transaction is None:
        raise precondition("channel is not transactional")
    channel.transaction.rollback(channel)
    channel.connection.send(m.TxRollbackOk(channel.number))


def flow(channel: Channel, method: m.ChannelFlow) -> None:
    if not method.active:
        raise not_implemented("active=false")
    channel.connection.send(m.ChannelFlowOk(channel.number, True))


def access_request(channel: Channel, method: m.AccessRequest) -> None:
    """A relic of earlier versions: everybody gets the same ticket, and nobody looks at it."""
    channel.connection.send(m.AccessRequestOk(channel.number, 1))
