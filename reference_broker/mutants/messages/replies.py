"""Replies without a queue: who may ask for them, which addresses there are, and who gets what is sent there."""

from __future__ import annotations

from copy import copy

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels import basic, replies, topology
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.replies import REPLY_TO, ReplyTo
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.errors import ConnectionException, not_found
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, handles, memory, replaces

PREFIX = f"{REPLY_TO}."
LONGEST, LARGE = 255, 1 << 17
ISSUES = "https://github.com/rabbitmq/rabbitmq-server/issues/"


# -- who may ask


@handles(m.BasicConsume, "replies.with-acks", "replies may be consumed with acknowledgements", "DRT-001")
def with_acks(channel: Channel, method: m.BasicConsume) -> None:
    if method.queue == REPLY_TO:
        method = copy(method)
        method.no_ack = True
    basic.consume(channel, method)


@handles(m.BasicConsume, "replies.second-requester", "a channel may consume replies twice", "DRT-002")
def second_requester(channel: Channel, method: m.BasicConsume) -> None:
    if method.queue == REPLY_TO and channel.reply_to is not None:
        channel.connection.send(m.BasicConsumeOk(channel.number, method.consumer_tag))
    else:
        basic.consume(channel, method)


@handles(m.BasicConsume, "replies.tag-in-use", "who consumes replies may take a tag that is in use", "CAN-018")
def tag_in_use(channel: Channel, method: m.BasicConsume) -> None:
    if method.queue == REPLY_TO:
        replies.consume(channel, method)
    else:
        basic.consume(channel, method)


@handles(m.BasicPublish, "replies.nobody-waits", "a request needs nobody who takes its reply", "DRT-003")
def nobody_waits(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    if header.reply_to == REPLY_TO and channel.reply_to is None:
        message = Message(method.exchange, method.routing_key, header, body)
        header = message.copy(method.exchange, method.routing_key, reply_to=None).header
    basic.publish(channel, method, header, body)


@handles(
    m.BasicPublish, "replies.requester-elsewhere", "a request may count on the requester of another channel", "DRT-003"
)
def requester_elsewhere(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    other = next(iter(channel.vhost.replies), None)
    if header.reply_to == REPLY_TO and channel.reply_to is None and other is not None:
        message = Message(method.exchange, method.routing_key, header, body)
        header = message.copy(method.exchange, method.routing_key, reply_to=other).header
    basic.publish(channel, method, header, body)


# -- addresses


@replaces("channel.publish", "replies.unaddressed", "a request keeps the reply-to that it was sent with", "DRT-004")
def unaddressed(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
    if (message.header.reply_to or "").startswith(PREFIX):
        message = message.copy(exchange, message.routing_key, reply_to=REPLY_TO)
    return Channel.publish(self, exchange, message, mandatory)


def renamed(channel: Channel, name: str) -> None:
    """Gives its requester another address."""
    assert channel.reply_to is not None
    known = channel.vhost.replies
    del known[channel.reply_to.name]
    channel.reply_to.name = name
    known[name] = channel.reply_to


@handles(
    m.BasicConsume,
    "replies.address-by-tag",
    "the address of a requester is the tag of its consumer, whoever else has the same",
    "DRT-004",
)
def address_by_tag(channel: Channel, method: m.BasicConsume) -> None:
    basic.consume(channel, method)
    if method.queue == REPLY_TO and channel.reply_to is not None:
        renamed(channel, f"{PREFIX}{channel.reply_to.tag}"[:LONGEST])


@replaces(
    "channel.publish",
    "replies.long-address-lost",
    "an address that has a long tag in it does not fit into reply-to, and is left out",
    "DRT-004",
    field=f"{ISSUES}2842",
)
def long_address_lost(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
    if self.reply_to is not None and len(self.reply_to.name) + len(self.reply_to.tag) > LONGEST:
        message = message.copy(exchange, message.routing_key, reply_to=None)
    return Channel.publish(self, exchange, message, mandatory)


# -- replies


def routed_to(channel: Channel, exchange: str, message: Message) -> ReplyTo | None:
    """Whose reply is it?"""
    return None if exchange else channel.vhost.replies.get(message.routing_key)


@replaces("channel.publish", "replies.of-strangers-dropped", "a reply of another connection is dropped", "DRT-005")
def of_strangers_dropped(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
    to = routed_to(self, exchange, message)
    if to is not None and to.channel.connection is not self.connection:
        return True
    return Channel.publish(self, exchange, message, mandatory)


@replaces("channel.publish", "replies.one-each", "an address takes one reply, and drops all others", "DRT-005")
def one_each(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
    to = routed_to(self, exchange, message)
    if to is not None:
        served: set[str] = memory(self.vhost, "served", set)
        if to.name in served:
            return True
        served.add(to.name)
    return Channel.publish(self, exchange, message, mandatory)


@replaces("channel.publish", "replies.twice", "a reply is delivered twice", "DRT-006", field=f"{ISSUES}17071")
def twice(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
    to = routed_to(self, exchange, message)
    if to is not None:
        to.publish(message)
    return Channel.publish(self, exchange, message, mandatory)


@replaces("channel.publish", "replies.to-all", "all requesters get each reply", "DRT-006")
def to_all(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
    to = routed_to(self, exchange, message)
    for other in list(self.vhost.replies.values()) if to is not None else ():
        if other is not to:
            other.publish(message)
    return Channel.publish(self, exchange, message, mandatory)


@replaces(
    "channel.publish",
    "replies.next-of-the-connection",
    "a reply comes to the latest requester of its connection",
    "DRT-006",
)
def next_of_the_connection(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
    to = routed_to(self, exchange, message)
    if to is None:
        return Channel.publish(self, exchange, message, mandatory)
    mine = [one for one in self.vhost.replies.values() if one.channel.connection is to.channel.connection]
    return mine[-1].publish(message)


# -- the end of a requester


@replaces("channel.publish", "replies.late-refused", "a reply that comes too late is refused", "DRT-007")
def late_refused(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
    if not exchange and message.routing_key.startswith(PREFIX) and message.routing_key not in self.vhost.replies:
        raise not_found("queue", message.routing_key)
    return Channel.publish(self, exchange, message, mandatory)


@changes("replies.kept-for-the-next", "a reply that comes too late is for the next requester", "DRT-007")
def kept_for_the_next(parts: Parts) -> None:
    below = parts.handlers[m.BasicConsume]

    def publish(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
        if not exchange and message.routing_key.startswith(PREFIX) and message.routing_key not in self.vhost.replies:
            memory(self.vhost, "late", list).append(message)
        return Channel.publish(self, exchange, message, mandatory)

    def consume(channel: Channel, method: m.BasicConsume) -> None:
        below(channel, method)
        late: list[Message] = memory(channel.vhost, "late", list)
        while late and method.queue == REPLY_TO and channel.reply_to is not None:
            channel.reply_to.publish(late.pop(0))

    parts.override("channel", publish=publish)
    parts.handlers[m.BasicConsume] = consume


@replaces(
    "channel.cancel",
    "replies.cancelled-all-the-same",
    "a requester that was cancelled gets replies",
    "DRT-007",
    "DRT-008",
)
def cancelled_all_the_same(self: Channel, tag: str) -> None:
    if self.reply_to is None or self.reply_to.tag != tag:
        Channel.cancel(self, tag)


# -- who looks


@replaces("vhost.awaits", "replies.nobody-there", "a declaration knows no address", "DRT-008")
def nobody_there(self: VirtualHost, name: str) -> bool:
    return False


@replaces("vhost.awaits", "replies.always-there", "a declaration does not see that a requester has gone", "DRT-008")
def always_there(self: VirtualHost, name: str) -> bool:
    seen: set[str] = memory(self, "seen", set)
    seen.update([name] if VirtualHost.awaits(self, name) else [])
    return name in seen


@replaces(
    "vhost.awaits",
    "replies.made-up-crashes",
    "a declaration of a name that only begins like an address ends the connection",
    "DRT-009",
)
def made_up_crashes(self: VirtualHost, name: str) -> bool:
    if name.startswith(PREFIX) and " " in name:
        raise ConnectionException(ReplyCode.INTERNAL_ERROR, offender=(0, 0))
    return VirtualHost.awaits(self, name)


@handles(
    m.QueueBind, "replies.bound", "amq.rabbitmq.reply-to can be bound to an exchange", "DRT-010", field=f"{ISSUES}15935"
)
def bound(channel: Channel, method: m.QueueBind) -> None:
    if method.queue == REPLY_TO:
        channel.connection.send(m.QueueBindOk(channel.number))
    else:
        topology.queue_bind(channel, method)


@handles(m.QueueBind, "replies.address-bound", "an address can be bound", "DRT-010", field=f"{ISSUES}15935")
def address_bound(channel: Channel, method: m.QueueBind) -> None:
    if method.queue.startswith(PREFIX):
        channel.connection.send(m.QueueBindOk(channel.number))
    else:
        topology.queue_bind(channel, method)


@handles(m.QueuePurge, "replies.purged", "amq.rabbitmq.reply-to can be purged", "DRT-011")
def purged(channel: Channel, method: m.QueuePurge) -> None:
    if method.queue == REPLY_TO:
        channel.connection.send(m.QueuePurgeOk(channel.number, 0))
    else:
        topology.queue_purge(channel, method)


@handles(m.BasicGet, "replies.fetched", "a get from amq.rabbitmq.reply-to finds it empty", "DRT-011")
def fetched(channel: Channel, method: m.BasicGet) -> None:
    if method.queue == REPLY_TO:
        channel.connection.send(m.BasicGetEmpty(channel.number))
    else:
        basic.get(channel, method)


@replaces("channel.publish", "replies.mandatory-returned", "a mandatory reply is returned as well", "DRT-012")
def mandatory_returned(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
    accepted = Channel.publish(self, exchange, message, mandatory)
    if mandatory and routed_to(self, exchange, message) is not None:
        self.give_back(exchange, message)
    return accepted


@replaces("vhost.route", "replies.large-lost", "replies of several frames are lost", "DRT-005")
def large_lost(self: VirtualHost, exchange: str, message: Message) -> list[Queue | ReplyTo]:
    found = VirtualHost.route(self, exchange, message)
    return [one for one in found if not (isinstance(one, ReplyTo) and len(message.body) > LARGE)]


@replaces("transaction.publish", "replies.committed-lost", "replies in a transaction are lost", "DRT-005")
def committed_lost(self: Transaction, channel: Channel, exchange: str, message: Message, mandatory: bool) -> None:
    if exchange or not channel.vhost.awaits(message.routing_key):
        Transaction.publish(self, channel, exchange, message, mandatory)


@changes("replies.chosen-tag-untold", "a reply names no tag that the broker has chosen", "DRT-005")
def chosen_tag_untold(parts: Parts) -> None:
    below = parts.handlers[m.BasicConsume]

    def consume(channel: Channel, method: m.BasicConsume) -> None:
        chosen = method.consumer_tag
        below(channel, method)
        if method.queue == REPLY_TO and not chosen and channel.reply_to is not None:
            channel.reply_to.tag = ""

    parts.handlers[m.BasicConsume] = consume


@changes("replies.failed-still-there", "a requester whose channel has failed is found", "DRT-008")
def failed_still_there(parts: Parts) -> None:
    channels, hosts = parts.channel, parts.vhost

    def fail(self: Channel) -> None:
        if self.reply_to is not None:
            memory(self.vhost, "ghosts", set).add(self.reply_to.name)
        channels.fail(self)

    def awaits(self: VirtualHost, name: str) -> bool:
        return name in memory(self, "ghosts", set) or hosts.awaits(self, name)

    parts.override("channel", fail=fail)
    parts.override("vhost", awaits=awaits)


@handles(
    m.BasicCancel,
    "replies.quiet-cancel-leaves-it",
    "a requester that is cancelled with nowait stays",
    "DRT-002",
    "DRT-008",
)
def quiet_cancel_leaves_it(channel: Channel, method: m.BasicCancel) -> None:
    asks = channel.reply_to is not None and channel.reply_to.tag == method.consumer_tag
    if not (method.no_wait and asks):
        basic.cancel(channel, method)
