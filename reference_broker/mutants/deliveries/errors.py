"""Wrong errors: what is refused, with which close, and what still happens afterwards."""

from __future__ import annotations

from typing import Any

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels import basic, topology
from reference_broker.core.channels.channel import RETURNS, Channel, Fate
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Intake
from reference_broker.core.errors import AmqpException, ChannelException, ConnectionException, precondition
from reference_broker.core.parts import HANDLERS, Handler, Parts
from reference_broker.mutants.kinds import changes, handles, memory, replaces

Ids = tuple[int, int]
SETTLEMENTS = {m.BasicAck, m.BasicNack, m.BasicReject}


@handles(m.QueuePurge, "errors.purge-of-nothing", "the purge of an empty queue ends in an internal error", "ERR-012")
def purge_of_nothing(channel: Channel, method: m.QueuePurge) -> None:
    if not len(topology.named_queue(channel, method.queue).ready):
        raise ConnectionException(ReplyCode.INTERNAL_ERROR)
    topology.queue_purge(channel, method)


@handles(m.QueuePurge, "errors.purge-without-a-word", "the purge of an empty queue ends the connection", "ERR-012")
def purge_without_a_word(channel: Channel, method: m.QueuePurge) -> None:
    if len(topology.named_queue(channel, method.queue).ready):
        topology.queue_purge(channel, method)
    else:
        channel.connection.finish()


@handles(m.QueueBind, "errors.bind-without-a-word", "a queue that is missing ends who binds it", "BIND-001")
def bind_without_a_word(channel: Channel, method: m.QueueBind) -> None:
    if not method.queue or method.queue in channel.connection.vhost.queues:
        topology.queue_bind(channel, method)
    else:
        channel.connection.finish()


# -- double and unknown tags


@handles(m.BasicAck, "errors.double-ack-accepted", "a second ack of the same tag is silently accepted", "ERR-001")
def double_ack_accepted(channel: Channel, method: m.BasicAck) -> None:
    if was_settled(channel, method.delivery_tag) and not method.multiple:
        return
    basic.ack(channel, method)


def was_settled(channel: Channel, tag: int) -> bool:
    return 0 < tag <= channel.last_tag and tag not in channel.unacked.by_tag


@changes(
    "errors.double-ack-after-recover",
    "a tag that was delivered since basic.recover may be acked twice until the channel answers something else",
    "ERR-001",
)
def double_ack_after_recover(parts: Parts) -> None:
    def recover(channel: Channel, method: m.BasicRecover) -> None:
        vars(channel)["mutant_lenient_above"] = channel.last_tag
        basic.recover(channel, method)

    def ack(channel: Channel, method: m.BasicAck) -> None:
        tag, above = method.delivery_tag, vars(channel).get("mutant_lenient_above")
        if above is None or tag <= above or method.multiple or not was_settled(channel, tag):
            basic.ack(channel, method)

    def strict(handler: Handler) -> Handler:
        def handle(channel: Channel, method: Any) -> None:
            vars(channel).pop("mutant_lenient_above", None)
            handler(channel, method)

        return handle

    for kind, handler in parts.handlers.items():
        if kind not in SETTLEMENTS:
            parts.handlers[kind] = strict(handler)
    parts.handlers[m.BasicRecover], parts.handlers[m.BasicAck] = recover, ack


@changes(
    "errors.ack-after-nack-accepted",
    "an ack of a tag that was requeued is accepted and takes the message out of the queue again",
    "ERR-001",
)
def ack_after_nack_accepted(parts: Parts) -> None:
    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        if fate in RETURNS:
            memory(self, "requeued", dict).update({d.tag: d for d in deliveries})
        Channel.finish(self, deliveries, fate)

    def ack(channel: Channel, method: m.BasicAck) -> None:
        delivery = memory(channel, "requeued", dict).pop(method.delivery_tag, None)
        if delivery is None:
            basic.ack(channel, method)
        else:
            remove_ready(delivery)

    parts.override("channel", finish=finish)
    parts.handlers[m.BasicAck] = ack


def remove_ready(delivery: Delivery) -> None:
    ready = delivery.queue.ready
    kept = [entry for entry in (ready.pop() for _ in range(len(ready))) if entry is not delivery.entry]
    for entry in kept:
        ready.push(entry)


@changes(
    "errors.only-double-ack-noticed",
    "nack and reject of a tag that was settled before are silently accepted",
    "ERR-001",
)
def only_double_ack_noticed(parts: Parts) -> None:
    def careless(handler: Any) -> Any:
        def settle(channel: Channel, method: m.BasicNack | m.BasicReject) -> None:
            if not was_settled(channel, method.delivery_tag):
                handler(channel, method)

        return settle

    for method in (m.BasicNack, m.BasicReject):
        parts.handlers[method] = careless(HANDLERS[method])


def unknown_tag_raises(parts: Parts, error: type[AmqpException], code: ReplyCode, more: int = 0) -> None:
    def collect(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
        try:
            return Channel.collect(self, tag, multiple)
        except ChannelException:
            raise error(code, f"unknown delivery tag {tag + more}") from None

    parts.override("channel", collect=collect)


@changes("errors.unknown-tag-is-404", "an unknown tag closes the channel with 404", "ERR-002")
def unknown_tag_is_404(parts: Parts) -> None:
    unknown_tag_raises(parts, ChannelException, ReplyCode.NOT_FOUND)


@changes(
    "errors.unknown-tag-is-hard",
    "an unknown tag closes the whole connection",
    "ERR-002",
    "ERR-004",
    field="https://issues.apache.org/jira/browse/QPID-5551",
)
def unknown_tag_is_hard(parts: Parts) -> None:
    unknown_tag_raises(parts, ConnectionException, ReplyCode.NOT_ALLOWED)


@changes("errors.names-wrong-tag", "the error text names the next tag", "ERR-002")
def names_wrong_tag(parts: Parts) -> None:
    unknown_tag_raises(parts, ChannelException, ReplyCode.PRECONDITION_FAILED, more=1)


@replaces(
    "intake.offender", "errors.names-no-method", "closes name no class and method", "ERR-002", "ERR-009", "ERR-010"
)
def names_no_method(self: Intake, frame: codec.Frame) -> Ids:
    return 0, 0


@replaces(
    "intake.offender",
    "errors.names-exchanged",
    "closes name the number as the class, and the class as the number",
    "ERR-015",
)
def names_exchanged(self: Intake, frame: codec.Frame) -> Ids:
    of_class, number = Intake.offender(self, frame)
    return number, of_class


# -- which channel, which connection


@replaces(
    "channel.collect",
    "errors.tags-belong-to-connection",
    "a tag may be settled on any channel of its connection",
    "ERR-003",
)
def tags_belong_to_connection(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    others = [c for c in self.connection.channels.values() if c is not self and tag in c.unacked.by_tag]
    channel = self if tag in self.unacked.by_tag or not others else others[0]
    return Channel.collect(channel, tag, multiple)


@replaces(
    "connection.close_channel",
    "errors.closes-delivering-channel",
    "settling a tag of another channel closes that other channel",
    "ERR-003",
)
def closes_delivering_channel(self: Connection, channel: Channel, error: AmqpException, offender: Ids) -> None:
    others = [c for c in self.channels.values() if c is not channel and not c.closing and len(c.unacked)]
    Connection.close_channel(self, others[0] if others else channel, error, offender)


@replaces(
    "connection.close_channel",
    "errors.connection-dies-too",
    "a channel exception is followed by a connection.close",
    "ERR-004",
)
def connection_dies_too(self: Connection, channel: Channel, error: AmqpException, offender: Ids) -> None:
    Connection.close_channel(self, channel, error, offender)
    self.close(ConnectionException(ReplyCode.INTERNAL_ERROR), offender)


@replaces(
    "connection.close_channel",
    "errors.other-consumers-stall",
    "after a channel exception the consumers of the other channels receive nothing more",
    "ERR-004",
)
def other_consumers_stall(self: Connection, channel: Channel, error: AmqpException, offender: Ids) -> None:
    Connection.close_channel(self, channel, error, offender)
    self.outbox.limit.stalled = True


# -- what an error leaves behind


@replaces(
    "channel.collect",
    "errors.failing-multiple-settles",
    "a multiple that is refused has settled the tags below it",
    "ERR-005",
)
def failing_multiple_settles(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    if multiple and tag and tag not in self.unacked.by_tag:
        for lower in [each for each in self.unacked.by_tag if each < tag]:
            self.unacked.one(lower)
    return Channel.collect(self, tag, multiple)


@replaces(
    "intake.on_channel",
    "errors.serves-publishes-after-close",
    "publishes that arrive after the broker closed the channel are still carried out",
    "ERR-006",
)
def serves_publishes_after_close(self: Intake, number: int, frame: codec.Frame) -> None:
    channel = self.connection.channels.get(number)
    if channel is None or not channel.closing or isinstance(frame, (m.ChannelClose, m.ChannelCloseOk)):
        Intake.on_channel(self, number, frame)
    elif isinstance(frame, m.BasicPublish) or not isinstance(frame, (codec.Method, codec.Heartbeat)):
        channel.closing = False
        Intake.on_channel(self, number, frame)
        channel.closing = True


@replaces(
    "intake.on_channel",
    "errors.answers-after-close",
    "synchronous methods that arrive after the broker closed the channel are still answered",
    "ERR-006",
)
def answers_after_close(self: Intake, number: int, frame: codec.Frame) -> None:
    channel = self.connection.channels.get(number)
    if channel is not None and channel.closing and isinstance(frame, (m.ChannelFlow, m.QueueDeclare, m.BasicGet)):
        HANDLERS[type(frame)](channel, frame)
    else:
        Intake.on_channel(self, number, frame)


@replaces(
    "connection.close_channel",
    "errors.delivers-after-close",
    "the consumers of a channel go on receiving after the broker closed it",
    "ERR-006",
    field="https://github.com/datastax/starlight-for-rabbitmq/issues/47",
)
def delivers_after_close(self: Connection, channel: Channel, error: AmqpException, offender: Ids) -> None:
    channel.closing = True
    self.send(m.ChannelClose(channel.number, error.code, error.reply_text(self.vhost.name), *offender))
    deliveries = channel.unacked.everything()
    channel.requeue(deliveries)


@changes("errors.reopen-keeps-confirm-mode", "a channel reopened after an error is still in confirm mode", "ERR-007")
def reopen_keeps_confirm_mode(parts: Parts) -> None:
    def open_channel(self: Connection, method: m.ChannelOpen) -> None:
        Connection.open_channel(self, method)
        if method.channel in memory(self, "confirmed", set):
            self.channels[method.channel].confirms = self.broker.parts.confirms()

    def forget_channel(self: Connection, method: m.ChannelCloseOk) -> None:
        if self.channels[method.channel].confirms is not None:
            memory(self, "confirmed", set).add(method.channel)
        Connection.forget_channel(self, method)

    parts.override("connection", open_channel=open_channel, forget_channel=forget_channel)


@changes(
    "errors.reopen-keeps-prefetch", "a channel reopened after an error still has its old prefetch count", "ERR-007"
)
def reopen_keeps_prefetch(parts: Parts) -> None:
    def open_channel(self: Connection, method: m.ChannelOpen) -> None:
        Connection.open_channel(self, method)
        self.channels[method.channel].prefetch = memory(self, "prefetch", dict).get(method.channel, 0)

    def forget_channel(self: Connection, method: m.ChannelCloseOk) -> None:
        memory(self, "prefetch", dict)[method.channel] = self.channels[method.channel].prefetch
        Connection.forget_channel(self, method)

    parts.override("connection", open_channel=open_channel, forget_channel=forget_channel)


@replaces(
    "connection.answer_channel_close",
    "errors.crossing-close-unanswered",
    "a channel.close that crosses the broker's own is not answered",
    "ERR-008",
)
def crossing_close_unanswered(self: Connection, method: m.ChannelClose) -> None:
    pass


@replaces(
    "connection.answer_channel_close",
    "errors.crossing-close-is-hard",
    "a channel.close that crosses the broker's own closes the connection",
    "ERR-008",
)
def crossing_close_is_hard(self: Connection, method: m.ChannelClose) -> None:
    raise ConnectionException(ReplyCode.CHANNEL_ERROR, "expected 'channel.close-ok'")


@changes(
    "errors.crossing-close-ok-is-hard",
    "the close-ok of a client whose close had crossed the broker's own closes the connection",
    "ERR-008",
)
def crossing_close_ok_is_hard(parts: Parts) -> None:
    below = parts.connection

    def answer_channel_close(self: Connection, method: m.ChannelClose) -> None:
        below.answer_channel_close(self, method)
        below.forget_channel(self, m.ChannelCloseOk(method.channel))

    parts.override("connection", answer_channel_close=answer_channel_close)


# -- too late


@changes("errors.checked-late", "settlements are checked after what arrived with them was answered", "ERR-011")
def checked_late(parts: Parts) -> None:
    below = parts.channel

    def collect(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
        try:
            return Channel.collect(self, tag, multiple)
        except ChannelException:
            memory(self, "late", list).append((precondition(f"unknown delivery tag {tag}"), (60, 80)))
            self.connection.confirm(self)
            return []

    def flush(self: Channel) -> None:
        below.flush(self)
        late = memory(self, "late", list)
        if late and not self.closing:
            error, offender = late[0]
            late.clear()
            self.connection.close_channel(self, error, offender)

    parts.override("channel", collect=collect, flush=flush)


@replaces("connection.close_channel", "errors.closed-twice", "a mistake closes its channel twice", "ERR-006")
def closed_twice(self: Connection, channel: Channel, error: AmqpException, offender: tuple[int, int]) -> None:
    Connection.close_channel(self, channel, error, offender)
    self.send(m.ChannelClose(channel.number, error.code, error.reply_text(self.vhost.name), *offender))
