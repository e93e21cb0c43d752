"""Wrong frames: octets that are no frame, frames where none may come, answers that nobody asked for."""

from __future__ import annotations

from collections.abc import Sequence

import codec
from codec import methods as m
from reference_broker import basic
from reference_broker.channel import Channel
from reference_broker.connection import Connection
from reference_broker.message import FRAME_OVERHEAD
from reference_broker.mutants.kinds import Mutant, changes, replaces
from reference_broker.outbox import Outbound
from reference_broker.parts import Parts

MUTANTS: list[Mutant] = []


def large(self: Connection, item: Outbound) -> bool:
    """A content whose body fills several frames."""
    return isinstance(item, tuple) and len(item[1].body) > self.frame_max - FRAME_OVERHEAD


@replaces(
    "connection.pieces",
    MUTANTS,
    "frames.stray-body",
    "a content of several body frames is followed by one more",
    "ERR-013",
)
def _(self: Connection, item: Outbound) -> Sequence[bytes]:
    pieces = Connection.pieces(self, item)
    if not isinstance(item, tuple) or not large(self, item):
        return pieces
    return *pieces, codec.Body(item[0].channel, b"more").encode()


@replaces(
    "connection.pieces", MUTANTS, "frames.content-cut-short", "of several body frames the last is left out", "ERR-013"
)
def _(self: Connection, item: Outbound) -> Sequence[bytes]:
    pieces = Connection.pieces(self, item)
    return pieces[:-1] if large(self, item) else pieces


@replaces(
    "connection.pieces", MUTANTS, "frames.wrong-end", "get-empty ends with another octet than a frame does", "ERR-013"
)
def _(self: Connection, item: Outbound) -> Sequence[bytes]:
    pieces = Connection.pieces(self, item)
    return (pieces[0][:-1] + b"\x00",) if isinstance(item, m.BasicGetEmpty) else pieces


@replaces(
    "connection.pieces",
    MUTANTS,
    "frames.heartbeat-on-a-channel",
    "a heartbeat on channel 1 comes with each confirm.select-ok",
    "ERR-013",
)
def _(self: Connection, item: Outbound) -> Sequence[bytes]:
    pieces = Connection.pieces(self, item)
    return (*pieces, b"\x08\x00\x01\x00\x00\x00\x00\xce") if isinstance(item, m.ConfirmSelectOk) else pieces


@replaces(
    "connection.pieces",
    MUTANTS,
    "frames.channel-never-opened",
    "with each return goes a flow-ok on a channel that nobody has opened",
    "ERR-013",
)
def _(self: Connection, item: Outbound) -> Sequence[bytes]:
    pieces = Connection.pieces(self, item)
    stray = isinstance(item, tuple) and isinstance(item[0], m.BasicReturn)
    return (*pieces, m.ChannelFlowOk(999, True).encode()) if stray else pieces


@changes(MUTANTS, "frames.second-flow-ok", "channel.flow is answered twice", "ERR-013")
def _(parts: Parts) -> None:
    def flow(channel: Channel, method: m.ChannelFlow) -> None:
        basic.flow(channel, method)
        channel.connection.send(m.ChannelFlowOk(channel.number, method.active))

    parts.handlers[m.ChannelFlow] = flow


@changes(MUTANTS, "frames.second-declare-ok", "a passive queue.declare is answered twice", "ERR-013")
def _(parts: Parts) -> None:
    earlier = parts.handlers[m.QueueDeclare]

    def declare(channel: Channel, method: m.QueueDeclare) -> None:
        earlier(channel, method)
        if method.passive:
            earlier(channel, method)

    parts.handlers[m.QueueDeclare] = declare
