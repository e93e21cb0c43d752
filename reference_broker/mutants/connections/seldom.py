"""Connections and rights, right as long as nobody does what is seldom done: a method without an answer, a second
channel of a blocked connection, a number above 255, a name in capitals."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.access import Permission, Right, Rights, Topics
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Intake
from reference_broker.core.errors import ChannelException, ConnectionException
from reference_broker.core.needs import DEFAULT, Need, Needs
from reference_broker.core.parts import Parts
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes, memory
from reference_broker.mutants.topology.binding import Handle, handling

# -- rights


@changes("seldom.default-heir", "the default exchange may get anybody's dead letters", "AUTH-003")
def default_heir(parts: Parts) -> None:
    below = parts.needs

    def of(self: Needs, channel: Channel, method: codec.Method) -> list[Need]:
        needs = list(below.of(self, channel, method))
        return [one for one in needs if one[2] != DEFAULT] if isinstance(method, m.QueueDeclare) else needs

    parts.override("needs", of=of)


def _topics(name: str, says: str, *rules: str, passes: Any) -> None:
    """What `passes` need not fit the rights for topics."""

    @changes(name, says, *rules)
    def apply(parts: Parts) -> None:
        below = parts.needs

        def check(
            self: Needs, topics: Topics, channel: Channel, method: codec.Method, header: codec.Header | None
        ) -> None:
            if not passes(channel, method):
                below.check_topics(self, topics, channel, method, header)

        parts.override("needs", check_topics=check)


_topics(
    "seldom.topics-between",
    "rights for topics do not bind the keys of bindings between exchanges",
    "AUTH-022",
    passes=lambda channel, method: isinstance(method, m.ExchangeBind),
)
_topics(
    "seldom.topics-committed",
    "rights for topics do not bind the publishes of transactions",
    "AUTH-021",
    passes=lambda channel, method: channel.transaction is not None,
)


@dataclass(frozen=True, slots=True)
class AnyCase(Permission):
    """One that fits names in capitals, too."""

    def grants(self, right: Right, name: str) -> bool:
        pattern: str = getattr(self, right)
        return pattern not in ("", "^$") and re.search(pattern, name, re.IGNORECASE) is not None


@changes("seldom.capitals", "patterns of rights fit names in capitals, too", "AUTH-001", "AUTH-016")
def capitals(parts: Parts) -> None:
    below = parts.connection

    def permit(self: Connection, rights: Rights) -> None:
        may = rights.permission
        below.permit(self, Rights(AnyCase(may.configure, may.write, may.read), rights.topics))

    parts.override("connection", permit=permit)


@changes("seldom.quiet-refusal", "who may not consume is not told so with nowait", "AUTH-012")
def quiet_refusal(parts: Parts) -> None:
    below, consume = parts.needs, parts.handlers[m.BasicConsume]

    def check(
        self: Needs, rights: Rights, channel: Channel, method: codec.Method, header: codec.Header | None = None
    ) -> None:
        try:
            below.check(self, rights, channel, method, header)
        except ChannelException:
            if not (isinstance(method, m.BasicConsume) and method.no_wait):
                raise
            memory(channel, "refused", list).append(method)

    def handle(channel: Channel, method: m.BasicConsume) -> None:
        if method not in memory(channel, "refused", list):
            consume(channel, method)

    parts.override("needs", check=check)
    parts.handlers[m.BasicConsume] = handle


# -- connections and channels


@changes("seldom.ghost-host", "a virtual host that was deleted still opens", "CONN-015")
def ghost_host(parts: Parts) -> None:
    below = parts.connection

    def enter(self: Connection, method: m.ConnectionOpen) -> None:
        broker, name = self.broker, method.virtual_host
        known: dict[str, Any] = memory(broker, "known", dict)
        known.update(broker.vhosts)
        if name in known and name not in broker.vhosts:
            broker.vhosts[name] = known[name]
            broker.access.users[self.user].permissions.setdefault(name, Permission())
        below.enter(self, method)

    parts.override("connection", enter=enter)


@changes("seldom.eight-bits", "numbers of channels have eight bits", "CHAN-002")
def eight_bits(parts: Parts) -> None:
    below = parts.connection

    def open_channel(self: Connection, method: m.ChannelOpen) -> None:
        if any(number % 256 == method.channel % 256 for number in self.channels):
            raise ConnectionException(ReplyCode.CHANNEL_ERROR, "second 'channel.open' seen")
        below.open_channel(self, method)

    parts.override("connection", open_channel=open_channel)


@changes("seldom.own-reason", "a channel that a client closes over a mistake is not answered", "ERR-014", "ERR-008")
def own_reason(parts: Parts) -> None:
    below = parts.connection

    def close(self: Connection, method: m.ChannelClose) -> None:
        if method.reply_code in (0, ReplyCode.REPLY_SUCCESS):
            below.channel_closed_by_peer(self, method)
        else:
            self.channels.pop(method.channel).end()

    parts.override("connection", channel_closed_by_peer=close)


@changes(
    "seldom.goes-on-unheard",
    "consumers without acknowledgements outlive their channel",
    "ERR-006",
    "RQ-011",
    "CHAN-005",
)
def goes_on_unheard(parts: Parts) -> None:
    below, channels = parts.connection, parts.channel

    def close(self: Connection, method: m.ChannelClose) -> None:
        channel = self.channels[method.channel]
        for consumer in [one for one in channel.consumers.values() if one.no_ack]:
            del channel.consumers[consumer.tag]
        below.channel_closed_by_peer(self, method)
        channel.closing = False

    def cancelled(self: Channel, consumer: Consumer) -> None:
        if consumer.tag in self.consumers:
            channels.cancelled(self, consumer)

    parts.override("connection", channel_closed_by_peer=close)
    parts.override("channel", cancelled=cancelled)


@changes("seldom.more-of-it", "a body behind a content that is complete is dropped", "FRAME-004")
def more_of_it(parts: Parts) -> None:
    below = parts.intake

    def publish(self: Intake, channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        memory(self.connection, "whole", set).add(channel.number)
        below.publish(self, channel, method, header, body)

    def serve(self: Intake, channel: Channel, method: codec.Method) -> None:
        memory(self.connection, "whole", set).discard(channel.number)
        below.serve(self, channel, method)

    def on_content(self: Intake, number: int, frame: codec.Header | codec.Body) -> None:
        behind = number not in self.assemblies and number in memory(self.connection, "whole", set)
        if not (behind and isinstance(frame, codec.Body)):
            below.on_content(self, number, frame)

    parts.override("intake", publish=publish, serve=serve, on_content=on_content)


# -- methods without an answer


@handling(
    (m.ExchangeDeclare,),
    "seldom.quiet-alternate",
    "with nowait an exchange forgets its alternate",
    "EXCH-005",
    "NOWAIT-002",
)
def quiet_alternate(channel: Channel, method: m.ExchangeDeclare, below: Handle) -> None:
    if method.no_wait and not method.passive:
        method.arguments = []
    below(channel, method)


@changes(
    "seldom.quiet-lock", "an exclusive queue that was declared with nowait is everybody's", "QUEUE-007", "NOWAIT-002"
)
def quiet_lock(parts: Parts) -> None:
    declare, get = parts.handlers[m.QueueDeclare], parts.handlers[m.BasicGet]

    def declared(channel: Channel, method: m.QueueDeclare) -> None:
        declare(channel, method)
        if method.no_wait and method.exclusive and not method.passive:
            memory(channel.vhost, "open", set).add(channel.last_queue)

    def got(channel: Channel, method: m.BasicGet) -> None:
        queue: Queue | None = channel.vhost.queues.get(method.queue)
        if queue is None or queue.name not in memory(channel.vhost, "open", set):
            get(channel, method)
            return
        owner, queue.owner = queue.owner, channel.connection
        try:
            get(channel, method)
        finally:
            queue.owner = owner

    parts.handlers[m.QueueDeclare], parts.handlers[m.BasicGet] = declared, got


@handling(
    (m.QueueBind,), "seldom.quiet-terms", "with nowait a binding forgets its arguments", "ROUTE-006", "NOWAIT-003"
)
def quiet_terms(channel: Channel, method: m.QueueBind, below: Handle) -> None:
    if method.no_wait:
        method.arguments = []
    below(channel, method)


# -- alarms


@changes("seldom.first-channel-kept", "of a blocked connection what other channels have sent is lost", "BLOCK-005")
def first_channel_kept(parts: Parts) -> None:
    below, intake = parts.connection, parts.intake

    def unblock(self: Connection) -> None:
        late = memory(self, "late", list)
        if self.blocked:
            late.append(True)
        below.unblock(self)
        late.clear()

    def publish(self: Intake, channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        connection = self.connection
        if not memory(connection, "late", list) or channel.number == min(connection.channels):
            intake.publish(self, channel, method, header, body)

    parts.override("connection", unblock=unblock)
    parts.override("intake", publish=publish)


@changes("seldom.false-is-said", "who says that it does not want to be told of an alarm is told", "BLOCK-001")
def false_is_said(parts: Parts) -> None:
    below = parts.connection

    def announces(self: Connection, capability: str) -> bool:
        return below.announces(self, capability) or (
            capability == "connection.blocked" and capability in self.capabilities
        )

    parts.override("connection", announces=announces)


@changes("seldom.nobody-begins", "nobody is let in during an alarm", "CONN-016", "BLOCK-006")
def nobody_begins(parts: Parts) -> None:
    below = parts.connection

    def enter(self: Connection, method: m.ConnectionOpen) -> None:
        if self.broker.alarm is None:
            below.enter(self, method)

    parts.override("connection", enter=enter)
