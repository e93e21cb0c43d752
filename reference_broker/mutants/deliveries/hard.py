"""Wrong hard errors: which close, for what, and on channels that are not open."""

from __future__ import annotations

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Intake
from reference_broker.core.errors import AmqpException
from reference_broker.mutants.deliveries.errors import Ids
from reference_broker.mutants.kinds import handles, replaces


@replaces(
    "connection.close", "errors.not-implemented-is-soft", "what is not implemented costs only the channel", "ERR-009"
)
def not_implemented_is_soft(self: Connection, error: AmqpException, offender: Ids) -> None:
    soft = [channel for channel in self.channels.values() if not channel.closing]
    if error.code is ReplyCode.NOT_IMPLEMENTED and soft:
        self.close_channel(soft[0], error, offender)
    else:
        Connection.close(self, error, offender)


@handles(m.BasicConsume, "errors.consumer-tag-reusable", "a second consumer may take a tag that is in use", "ERR-009")
def consumer_tag_reusable(channel: Channel, method: m.BasicConsume) -> None:
    channel.cancel(method.consumer_tag)
    basic.consume(channel, method)


def on_unopened(connection: Connection, number: int, frame: codec.Frame) -> bool:
    return number not in connection.channels and not isinstance(frame, m.ChannelOpen)


@replaces("intake.on_channel", "errors.opens-by-itself", "a method on a channel that is not open opens it", "ERR-010")
def opens_by_itself(self: Intake, number: int, frame: codec.Frame) -> None:
    if on_unopened(self.connection, number, frame):
        self.connection.channels[number] = self.parts.channel(self.connection, number)
    Intake.on_channel(self, number, frame)


@replaces(
    "intake.on_channel",
    "errors.unopened-ignored",
    "a method on a channel that is not open is silently ignored",
    "ERR-010",
)
def unopened_ignored(self: Intake, number: int, frame: codec.Frame) -> None:
    if not on_unopened(self.connection, number, frame):
        Intake.on_channel(self, number, frame)


@replaces(
    "intake.on_channel",
    "errors.unopened-is-soft",
    "a method on a channel that is not open is answered with channel.close",
    "ERR-010",
)
def unopened_is_soft(self: Intake, number: int, frame: codec.Frame) -> None:
    if isinstance(frame, m.ChannelCloseOk) and number not in self.connection.channels:
        return
    if on_unopened(self.connection, number, frame):
        offender = self.offender(frame)
        self.connection.send(m.ChannelClose(number, 504, "CHANNEL_ERROR - expected 'channel.open'", *offender))
    else:
        Intake.on_channel(self, number, frame)
