"""What ends by a mistake is not ended as what is closed, and what is refused or allowed once is so for ever after."""

from __future__ import annotations

from collections.abc import Iterable

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.access import Topics
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Inbound, Intake
from reference_broker.core.connections.lifecycle import Phase
from reference_broker.core.errors import AmqpException, ConnectionException, not_allowed
from reference_broker.core.needs import Need, Needs
from reference_broker.core.parts import Parts
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes, handles, memory, replaces


@changes("failures.still-count", "channels that the broker closed still count", "CHAN-003")
def still_count(parts: Parts) -> None:
    below = parts.connection

    def close_channel(self: Connection, channel: Channel, error: AmqpException, offender: tuple[int, int]) -> None:
        memory(self, "failed", list).append(channel.number)
        below.close_channel(self, channel, error, offender)

    def open_channel(self: Connection, method: m.ChannelOpen) -> None:
        if len(self.channels) + len(memory(self, "failed", list)) >= self.channel_max:
            raise not_allowed("number of channels opened has reached the negotiated channel_max")
        below.open_channel(self, method)

    parts.override("connection", close_channel=close_channel, open_channel=open_channel)


@changes("failures.still-exclusive", "a queue stays with an exclusive consumer whose channel failed", "CONSUME-006")
def still_exclusive(parts: Parts) -> None:
    below = parts.connection

    def close_channel(self: Connection, channel: Channel, error: AmqpException, offender: tuple[int, int]) -> None:
        memory(channel, "failing", list).append(True)
        below.close_channel(self, channel, error, offender)

    def leave(self: Queue, consumer: Consumer) -> None:
        before = self.exclusive_consumer
        Queue.leave(self, consumer)
        self.exclusive_consumer = before and bool(memory(consumer.channel, "failing", list))

    parts.override("connection", close_channel=close_channel)
    parts.override("queue", leave=leave)


@replaces(
    "connection.close",
    "failures.exclusive-stay",
    "exclusive queues stay when the broker closes their connection over a mistake",
    "QUEUE-008",
)
def exclusive_stay(self: Connection, error: AmqpException, offender: tuple[int, int]) -> None:
    self.exclusive = {}
    Connection.close(self, error, offender)


@replaces(
    "connection.channel_closed_by_peer",
    "failures.equal-tags-end",
    "with a channel all consumers of its tags end, on other channels as well",
    "CHAN-005",
    "QUEUE-020",
    "QOS-002",
)
def equal_tags_end(self: Connection, method: m.ChannelClose) -> None:
    tags = list(self.channels[method.channel].consumers)
    Connection.channel_closed_by_peer(self, method)
    for other in self.channels.values():
        for tag in tags:
            other.cancel(tag)


@replaces("intake.control", "failures.channel-0-closes", "channel.close on channel 0 is answered", "CHAN-009")
def channel_0_closes(self: Intake, frame: Inbound) -> None:
    if isinstance(frame, m.ChannelClose) and self.connection.phase is Phase.RUNNING:
        self.connection.send(m.ChannelCloseOk(0))
    else:
        Intake.control(self, frame)


@replaces("intake.control", "failures.heartbeat-amid", "no heartbeat may come amid a content", "CONTENT-001")
def heartbeat_amid(self: Intake, frame: Inbound) -> None:
    if isinstance(frame, codec.Heartbeat) and self.assemblies:
        raise ConnectionException(ReplyCode.UNEXPECTED_FRAME, "heartbeat where a body was expected")
    Intake.control(self, frame)


@replaces("needs.of", "failures.once-allowed", "who may publish to one exchange may do so to all", "AUTH-010")
def once_allowed(self: Needs, channel: Channel, method: codec.Method) -> Iterable[Need]:
    needs, rights = list(Needs.of(self, channel, method)), channel.connection.restricted
    allowed = memory(channel, "allowed", list)
    if isinstance(method, m.BasicPublish) and allowed:
        return ()
    if isinstance(method, m.BasicPublish) and rights is not None:
        allowed += [True] * all(rights.permission.grants(right, name) for right, _, name in needs)
    return needs


@handles(m.BasicConsume, "failures.excluded-in-silence", "a consumer with nowait is excluded in silence", "NOWAIT-006")
def excluded_in_silence(channel: Channel, method: m.BasicConsume) -> None:
    queue = channel.vhost.queues.get(method.queue)
    if not (method.no_wait and queue is not None and queue.excludes(method.exclusive)):
        basic.consume(channel, method)


@changes("failures.anew-with-former-rights", "a user who is made anew has the rights of the former one", "AUTH-025")
def anew_with_former_rights(parts: Parts) -> None:
    below = parts.connection

    def enter(self: Connection, method: m.ConnectionOpen) -> None:
        place = self.user, method.virtual_host
        known, user = memory(self.broker, "known", dict), self.broker.access.users.get(self.user)
        former = known.get(place)
        if user is not None and place[1] in user.permissions:
            known[place] = user, user.permissions[place[1]]
        elif user is not None and former is not None and former[0] is not user:
            user.permissions[place[1]] = former[1]
        below.enter(self, method)

    parts.override("connection", enter=enter)


@changes("failures.topics-asked-once", "a channel is asked for its rights to topics once for each exchange", "AUTH-021")
def topics_asked_once(parts: Parts) -> None:
    below = parts.needs

    def check_topics(
        self: Needs, topics: Topics, channel: Channel, method: codec.Method, header: codec.Header | None
    ) -> None:
        exchange, asked = getattr(method, "exchange", ""), memory(channel, "asked", set)
        if not isinstance(method, m.BasicPublish) or exchange not in asked:
            below.check_topics(self, topics, channel, method, header)
        asked.update([exchange] if isinstance(method, m.BasicPublish) else [])

    parts.override("needs", check_topics=check_topics)
