"""Wrong hard errors: which close, for what, and on channels that are not open."""

from __future__ import annotations

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker import basic
from reference_broker.channel import Channel
from reference_broker.connection import Connection
from reference_broker.errors import AmqpException
from reference_broker.mutants.errors import Ids
from reference_broker.mutants.kinds import Mutant, changes, replaces
from reference_broker.parts import Parts

MUTANTS: list[Mutant] = []


@replaces(
    "connection.close",
    MUTANTS,
    "errors.not-implemented-is-soft",
    "what is not implemented costs only the channel",
    "ERR-009",
)
def _(self: Connection, error: AmqpException, offender: Ids) -> None:
    soft = [channel for channel in self.channels.values() if not channel.closing]
    if error.code is ReplyCode.NOT_IMPLEMENTED and soft:
        self.close_channel(soft[0], error, offender)
    else:
        Connection.close(self, error, offender)


@changes(
    MUTANTS,
    "errors.consumer-tag-reusable",
    "a second consumer may take a tag that is in use",
    "ERR-009",
)
def _(parts: Parts) -> None:
    def consume(channel: Channel, method: m.BasicConsume) -> None:
        channel.cancel(method.consumer_tag)
        basic.consume(channel, method)

    parts.handlers[m.BasicConsume] = consume


def on_unopened(connection: Connection, number: int, frame: codec.Frame) -> bool:
    return number not in connection.channels and not isinstance(frame, m.ChannelOpen)


@replaces(
    "connection.on_channel",
    MUTANTS,
    "errors.opens-by-itself",
    "a method on a channel that is not open opens it",
    "ERR-010",
)
def _(self: Connection, number: int, frame: codec.Frame) -> None:
    if on_unopened(self, number, frame):
        self.channels[number] = self.broker.parts.channel(self, number)
    Connection.on_channel(self, number, frame)


@replaces(
    "connection.on_channel",
    MUTANTS,
    "errors.unopened-ignored",
    "a method on a channel that is not open is silently ignored",
    "ERR-010",
)
def _(self: Connection, number: int, frame: codec.Frame) -> None:
    if not on_unopened(self, number, frame):
        Connection.on_channel(self, number, frame)


@replaces(
    "connection.on_channel",
    MUTANTS,
    "errors.unopened-is-soft",
    "a method on a channel that is not open is answered with channel.close",
    "ERR-010",
)
def _(self: Connection, number: int, frame: codec.Frame) -> None:
    if isinstance(frame, m.ChannelCloseOk) and number not in self.channels:
        return
    if on_unopened(self, number, frame):
        self.send(m.ChannelClose(number, 504, "CHANNEL_ERROR - expected 'channel.open'", *self.offender(frame)))
    else:
        Connection.on_channel(self, number, frame)
