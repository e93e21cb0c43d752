"""Wrong frames: octets that are no frame, frames where none may come, answers that nobody asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import codec
from codec import methods as m
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Intake
from reference_broker.core.connections.outbox import Outbound, Outbox
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import FRAME_OVERHEAD, Entry
from reference_broker.mutants.kinds import changes, handles, memory, replaces


def large(self: Outbox, item: Outbound) -> bool:
    """A content whose body fills several frames."""
    return isinstance(item, tuple) and len(item[1].body) > self.frame_max - FRAME_OVERHEAD


@replaces("outbox.pieces", "frames.stray-body", "a content of several body frames is followed by one more", "ERR-013")
def stray_body(self: Outbox, item: Outbound) -> Sequence[bytes]:
    pieces = Outbox.pieces(self, item)
    if not isinstance(item, tuple) or not large(self, item):
        return pieces
    return *pieces, codec.Body(item[0].channel, b"more").encode()


@replaces("outbox.pieces", "frames.content-cut-short", "of several body frames the last is left out", "ERR-013")
def content_cut_short(self: Outbox, item: Outbound) -> Sequence[bytes]:
    pieces = Outbox.pieces(self, item)
    return pieces[:-1] if large(self, item) else pieces


@replaces("outbox.pieces", "frames.wrong-end", "get-empty ends with another octet than a frame does", "ERR-013")
def wrong_end(self: Outbox, item: Outbound) -> Sequence[bytes]:
    pieces = Outbox.pieces(self, item)
    return (pieces[0][:-1] + b"\x00",) if isinstance(item, m.BasicGetEmpty) else pieces


@replaces(
    "outbox.pieces",
    "frames.heartbeat-on-a-channel",
    "a heartbeat on channel 1 comes with each confirm.select-ok",
    "ERR-013",
)
def heartbeat_on_a_channel(self: Outbox, item: Outbound) -> Sequence[bytes]:
    pieces = Outbox.pieces(self, item)
    return (*pieces, b"\x08\x00\x01\x00\x00\x00\x00\xce") if isinstance(item, m.ConfirmSelectOk) else pieces


@replaces(
    "outbox.pieces",
    "frames.channel-never-opened",
    "with each return goes a flow-ok on a channel that nobody has opened",
    "ERR-013",
)
def channel_never_opened(self: Outbox, item: Outbound) -> Sequence[bytes]:
    pieces = Outbox.pieces(self, item)
    stray = isinstance(item, tuple) and isinstance(item[0], m.BasicReturn)
    return (*pieces, m.ChannelFlowOk(999, True).encode()) if stray else pieces


@handles(m.ChannelFlow, "frames.second-flow-ok", "channel.flow is answered twice", "ERR-013")
def second_flow_ok(channel: Channel, method: m.ChannelFlow) -> None:
    basic.flow(channel, method)
    channel.connection.send(m.ChannelFlowOk(channel.number, method.active))


@changes("frames.second-declare-ok", "a passive queue.declare is answered twice", "ERR-013")
def second_declare_ok(parts: Parts) -> None:
    earlier = parts.handlers[m.QueueDeclare]

    def declare(channel: Channel, method: m.QueueDeclare) -> None:
        earlier(channel, method)
        if method.passive:
            earlier(channel, method)

    parts.handlers[m.QueueDeclare] = declare


@replaces(
    "channel.deliver",
    "frames.channel-in-one-octet",
    "deliveries on channels above 255 bear a smaller number",
    "ERR-013",
    "CAN-009",
    "CHAN-002",
)
def channel_in_one_octet(self: Channel, consumer: Consumer, entry: Entry) -> None:
    Channel.deliver(self, consumer, entry)
    item = self.connection.outbox.items[-1]
    if self.number > 255 and isinstance(item, tuple):
        item[0].channel = self.number & 255


@changes(
    "frames.two-contents-at-most",
    "of three contents under way in a connection the first is lost",
    "CNF-026",
    "CONTENT-001",
)
def two_contents_at_most(parts: Parts) -> None:
    below = parts.intake

    def serve(self: Intake, channel: Channel, method: codec.Method) -> None:
        below.serve(self, channel, method)
        if len(self.assemblies) > 2:
            memory(self, "lost", set).add(next(iter(self.assemblies)))

    def publish(self: Intake, channel: Channel, *content: Any) -> None:
        lost: set[int] = memory(self, "lost", set)
        if channel.number in lost:
            lost.discard(channel.number)
        else:
            below.publish(self, channel, *content)

    parts.override("intake", serve=serve, publish=publish)


@replaces(
    "connection.lost",
    "frames.what-there-is",
    "a body that its connection breaks off comes as it is",
    "MODE-007",
    "CONTENT-001",
)
def what_there_is(self: Connection) -> None:
    for number, part in list(self.intake.assemblies.items()):
        channel, header = self.channels.get(number), part.header
        if channel is None or channel.closing or header is None or not isinstance(part.method, m.BasicPublish):
            continue
        body = b"".join(part.bodies)
        basic.publish(channel, part.method, codec.header(0, len(body), **header.properties()), body)
    Connection.lost(self)
