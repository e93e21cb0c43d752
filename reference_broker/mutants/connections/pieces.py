"""Contents in pieces, and frames: right for the first of them, or where nothing else is under way."""

from __future__ import annotations

from collections.abc import Sequence

import codec
from codec import Body, Heartbeat, Method
from codec import methods as m
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Inbound, Intake
from reference_broker.core.connections.outbox import Outbound, Outbox
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import FRAME_OVERHEAD
from reference_broker.mutants.kinds import changes, replaces
from reference_broker.mutants.topology.binding import Handle, handling

OFFERED, MOST = 131072, 32


@changes("pieces.redelivered-uncut", "what is delivered again comes in frames as large as was offered", "CONN-013")
def redelivered_uncut(parts: Parts) -> None:
    below = parts.outbox

    def pieces(self: Outbox, item: Outbound) -> Sequence[bytes]:
        if isinstance(item, tuple) and getattr(item[0], "redelivered", False):
            return item[0].encode(), *item[1].frames(item[0].channel, OFFERED)
        return below.pieces(self, item)

    parts.override("outbox", pieces=pieces)


@replaces("connection.beat", "pieces.no-beats-amid-content", "no heartbeats come amid a client's content", "CONN-022")
def no_beats_amid_content(self: Connection) -> None:
    wrote, clock = self.wrote_at, self.broker.peers_clock
    amid = bool(self.intake.assemblies)
    if amid:
        self.wrote_at = clock.now
    Connection.beat(self)
    self.wrote_at = wrote if amid else self.wrote_at


@replaces(
    "connection.tune", "pieces.measured-by-the-offer", "a frame may be as large as the broker has offered", "FRAME-003"
)
def measured_by_the_offer(self: Connection, method: m.ConnectionTuneOk) -> None:
    offered = self.outbox.frame_max
    Connection.tune(self, method)
    self.intake.reader.frame_max = offered + FRAME_OVERHEAD


@replaces("intake.serve", "pieces.broken-off", "a method behind a first body frame ends its content", "FRAME-005")
def broken_off(self: Intake, channel: Channel, method: Method) -> None:
    begun = self.assemblies.get(channel.number)
    if begun is not None and begun.bodies:
        del self.assemblies[channel.number]
    Intake.serve(self, channel, method)


@changes("pieces.excess-cut", "what a second body frame has too much is cut off", "FRAME-006")
def excess_cut(parts: Parts) -> None:
    below = parts.intake

    def on_content(self: Intake, number: int, frame: codec.Header | Body) -> None:
        begun = self.assemblies.get(number)
        if begun is not None and begun.bodies and isinstance(frame, Body):
            frame = Body(number, frame.payload[: begun.missing])
        below.on_content(self, number, frame)

    parts.override("intake", on_content=on_content)


@changes("pieces.thirty-two", f"of a body in more than {MOST} frames the rest is empty", "RQ-016", "CONTENT-001")
def thirty_two(parts: Parts) -> None:
    below = parts.intake

    def on_content(self: Intake, number: int, frame: codec.Header | Body) -> None:
        begun = self.assemblies.get(number)
        if begun is not None and len(begun.bodies) >= MOST and isinstance(frame, Body):
            frame = Body(number, bytes(len(frame.payload)))
        below.on_content(self, number, frame)

    parts.override("intake", on_content=on_content)


@changes(
    "pieces.beats-on-closed-channels",
    "heartbeats pass on channels that are not open",
    "FRAME-009",
)
def beats_on_closed_channels(parts: Parts) -> None:
    below = parts.intake

    def on_no_channel(self: Intake, number: int, closing: Channel | None, frame: Inbound) -> None:
        if not isinstance(frame, Heartbeat):
            below.on_no_channel(self, number, closing, frame)

    parts.override("intake", on_no_channel=on_no_channel)


@changes("pieces.close-ends-contents", "a channel that is closed ends contents on others", "CONTENT-001")
def close_ends_contents(parts: Parts) -> None:
    below = parts.connection

    def channel_closed_by_peer(self: Connection, method: m.ChannelClose) -> None:
        below.channel_closed_by_peer(self, method)
        self.intake.assemblies.clear()

    parts.override("connection", channel_closed_by_peer=channel_closed_by_peer)


@handling(
    (m.ChannelFlow,),
    "pieces.no-flow-in-a-mode",
    "channel.flow is not answered on a channel in a mode",
    "ERR-014",
    "CHAN-006",
)
def no_flow_in_a_mode(channel: Channel, method: m.ChannelFlow, below: Handle) -> None:
    if channel.confirms is None and channel.transaction is None:
        below(channel, method)
