"""Wrong beginnings and ends of channels, and numbers that mean too much."""

from __future__ import annotations

from typing import Any

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.confirms import Confirms
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Intake
from reference_broker.core.errors import AmqpException, ChannelException, ConnectionException
from reference_broker.core.parts import Parts
from reference_broker.mutants.kinds import changes, handles, memory, replaces

OPEN = 20, 10


@replaces("connection.second_open", "channels.opened-twice", "an open channel can be opened", "CHAN-001")
def opened_twice(self: Connection, method: m.ChannelOpen) -> None:
    self.send(m.ChannelOpenOk(method.channel))


@replaces("connection.second_open", "channels.twice-costs-one", "a second open costs the channel alone", "CHAN-001")
def twice_costs_one(self: Connection, method: m.ChannelOpen) -> None:
    raise ChannelException(ReplyCode.CHANNEL_ERROR, "second 'channel.open' seen")


@replaces("connection.open_channel", "channels.highest-refused", "the highest number is not for use", "CHAN-002")
def highest_refused(self: Connection, method: m.ChannelOpen) -> None:
    if method.channel == self.channel_max:
        raise ConnectionException(ReplyCode.CHANNEL_ERROR, "no such channel")
    Connection.open_channel(self, method)


@replaces("connection.open_channel", "channels.numbers-rise", "a new number is higher than those in use", "CHAN-002")
def numbers_rise(self: Connection, method: m.ChannelOpen) -> None:
    used = memory(self, "used", set)
    if method.channel not in used and any(number > method.channel for number in self.channels):
        raise ConnectionException(ReplyCode.CHANNEL_ERROR, "numbers rise")
    used.add(method.channel)
    Connection.open_channel(self, method)


@replaces("connection.open_channel", "channels.closed-ones-count", "channels count that were closed", "CHAN-003")
def closed_ones_count(self: Connection, method: m.ChannelOpen) -> None:
    ever = memory(self, "ever", list)
    if len(ever) >= self.channel_max:
        raise ConnectionException(ReplyCode.NOT_ALLOWED, "number of channels opened has reached channel_max")
    ever.append(method.channel)
    Connection.open_channel(self, method)


@replaces("connection.open_channel", "channels.without-limit", "more channels can be opened than agreed", "CHAN-004")
def without_limit(self: Connection, method: m.ChannelOpen) -> None:
    most, self.channel_max = self.channel_max, 65535
    Connection.open_channel(self, method)
    self.channel_max = most


@replaces("connection.open_channel", "channels.too-many-closed", "one channel too many is closed alone", "CHAN-004")
def too_many_closed(self: Connection, method: m.ChannelOpen) -> None:
    try:
        Connection.open_channel(self, method)
    except AmqpException as error:
        channel = self.channels[method.channel] = self.parts.channel(self, method.channel)
        self.close_channel(channel, ChannelException(error.code, "too many channels"), OPEN)


@replaces("connection.channel_closed_by_peer", "channels.close-ends-others", "a close ends all channels", "CHAN-005")
def close_ends_others(self: Connection, method: m.ChannelClose) -> None:
    Connection.channel_closed_by_peer(self, method)
    for number in list(self.channels):
        self.channels.pop(number).end()


@replaces("connection.channel_closed_by_peer", "channels.close-closes-others", "a close closes them all", "CHAN-005")
def close_closes_others(self: Connection, method: m.ChannelClose) -> None:
    Connection.channel_closed_by_peer(self, method)
    for channel in [one for one in self.channels.values() if not one.closing]:
        self.close_channel(channel, ChannelException(ReplyCode.CHANNEL_ERROR, "closed with another"), (20, 40))


@replaces("intake.serve", "channels.close-silences-others", "a close leaves the others without answer", "CHAN-005")
def close_silences_others(self: Intake, channel: Channel, method: codec.Method) -> None:
    deaf = memory(self.connection, "deaf", set)
    if isinstance(method, m.ChannelClose):
        deaf.update(one for one in self.connection.channels.values() if one is not channel)
    elif channel in deaf and not isinstance(method, m.QueueDelete):
        return
    Intake.serve(self, channel, method)


@handles(m.ChannelFlow, "channels.never-active", "channel.flow-ok says that the channel is paused", "CHAN-006")
def never_active(channel: Channel, method: m.ChannelFlow) -> None:
    channel.connection.send(m.ChannelFlowOk(channel.number, False))


@handles(m.ChannelFlow, "channels.always-active", "channel.flow-ok says that the channel goes on", "CHAN-006")
def always_active(channel: Channel, method: m.ChannelFlow) -> None:
    channel.connection.send(m.ChannelFlowOk(channel.number, True))


def _keeps(name: str, says: str, rule: str, **attributes: Any) -> None:
    """What the closed channel of a number had of these, the next one has."""

    def closed(self: Connection, method: m.ChannelClose) -> None:
        channel = self.channels[method.channel]
        memory(self, "kept", dict)[method.channel] = {name: getattr(channel, name) for name in attributes}
        Connection.channel_closed_by_peer(self, method)

    def opened(self: Connection, method: m.ChannelOpen) -> None:
        Connection.open_channel(self, method)
        channel = self.channels[method.channel]
        for attribute, value in memory(self, "kept", dict).get(method.channel, {}).items():
            renew = attributes[attribute]
            setattr(channel, attribute, renew(channel) if renew and value is not None else value)

    @changes(name, says, rule)
    def apply(parts: Parts) -> None:
        parts.override("connection", channel_closed_by_peer=closed, open_channel=opened)


_keeps("channels.last-queue-kept", "the last queue is remembered by the number", "CHAN-007", last_queue=None)
_keeps(
    "channels.transaction-kept",
    "a transaction goes on in the next channel of the number",
    "CHAN-008",
    transaction=lambda channel: channel.connection.parts.transaction(),
)
_keeps(
    "channels.confirms-kept",
    "confirm mode goes on in the next channel of the number",
    "CHAN-008",
    confirms=lambda channel: Confirms(),
)


@replaces("intake.control", "channels.zero-opened", "channel 0 can be opened", "CHAN-009")
def zero_opened(self: Intake, frame: Any) -> None:
    if isinstance(frame, m.ChannelOpen):
        self.connection.send(m.ChannelOpenOk(0))
    else:
        Intake.control(self, frame)


@replaces("intake.control", "channels.zero-passed-over", "methods of channels are passed over on channel 0", "CHAN-009")
def zero_passed_over(self: Intake, frame: Any) -> None:
    if not isinstance(frame, codec.Method) or frame.NAME.startswith("connection."):
        Intake.control(self, frame)


@changes("channels.tags-stay-taken", "a consumer tag of a channel that failed is taken on the next", "ERR-007")
def tags_stay_taken(parts: Parts) -> None:
    def close_channel(self: Connection, channel: Channel, error: AmqpException, offender: tuple[int, int]) -> None:
        taken = memory(self, "taken", dict)
        taken[channel.number] = taken.get(channel.number, set()) | set(channel.consumers)
        Connection.close_channel(self, channel, error, offender)

    def consume(channel: Channel, method: m.BasicConsume) -> None:
        if method.consumer_tag in memory(channel.connection, "taken", dict).get(channel.number, ()):
            raise ConnectionException(ReplyCode.NOT_ALLOWED, f"consumer tag '{method.consumer_tag}' is in use")
        basic.consume(channel, method)

    parts.override("connection", close_channel=close_channel)
    parts.handlers[m.BasicConsume] = consume


@changes(
    "channels.waits-for-a-body",
    "when a publish to a missing exchange has closed a channel, the next one of its number waits for a content",
    "ERR-007",
)
def waits_for_a_body(parts: Parts) -> None:
    def close_channel(self: Connection, channel: Channel, error: AmqpException, offender: tuple[int, int]) -> None:
        if (error.code, offender) == (ReplyCode.NOT_FOUND, (m.BasicPublish.CLASS_ID, m.BasicPublish.METHOD_ID)):
            memory(self, "half", set).add(channel.number)
        Connection.close_channel(self, channel, error, offender)

    def serve(self: Intake, channel: Channel, method: codec.Method) -> None:
        half: set[int] = memory(self.connection, "half", set)
        if channel.number in half:
            half.discard(channel.number)
            raise ConnectionException(ReplyCode.UNEXPECTED_FRAME, "expected content header")
        Intake.serve(self, channel, method)

    parts.override("connection", close_channel=close_channel)
    parts.override("intake", serve=serve)
