"""Octets that are no lawful frame, and that are taken, skipped or complained of wrongly."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

import codec
from codec import Heartbeat, Method
from codec.errors import ReplyCode
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.content import Assembly
from reference_broker.core.connections.intake import HEADER_FRAME, Inbound, Intake
from reference_broker.core.errors import ChannelException, ConnectionException
from reference_broker.core.parts import Parts
from reference_broker.mutants.kinds import changes, replaces

HEAD, OVERHEAD = 7, 8
END = b"\xce"
TYPES = frozenset({1, 2, 3, 8})
METHOD_FRAME, HEARTBEAT_FRAME = b"\x01", b"\x08"
LEAST = {1: 4, 2: 12}
"""So many octets of payload a method has at least, and a content header before its flags."""
Mend = Callable[[bytes], bytes]


def split(data: bytes) -> Iterator[bytes]:
    """Frame by frame; what is not whole stays as it is."""
    at = 0
    while data[at : at + 4] != b"AMQP" and at + HEAD <= len(data):
        size = int.from_bytes(data[at + 3 : at + HEAD], "big") + OVERHEAD
        yield data[at : at + size]
        at += size
    if at < len(data):
        yield data[at:]


def mends(name: str, says: str, *rules: str, field: str = "") -> Callable[[Mend], Mend]:
    """The decorated function makes of each frame what the broker reads."""

    def add(mend: Mend) -> Mend:
        def feed(self: Intake, data: bytes) -> None:
            Intake.feed(self, b"".join(map(mend, split(data))))

        replaces("intake.feed", name, says, *rules, field=field)(feed)
        return mend

    return add


def whole(raw: bytes) -> bool:
    return len(raw) >= OVERHEAD and len(raw) == int.from_bytes(raw[3:HEAD], "big") + OVERHEAD


@mends(
    "octets.end-unseen",
    "the last octet of a frame is not looked at",
    "FRAME-001",
    field="https://github.com/cloudamqp/lavinmq/issues/1813",
)
def end_unseen(raw: bytes) -> bytes:
    return raw[:-1] + END if whole(raw) else raw


@replaces(
    "intake.feed", "octets.end-seen-too-late", "what a frame asks for is done before its end is seen", "FRAME-001"
)
def end_seen_too_late(self: Intake, data: bytes) -> None:
    """Methods as they should be first, then everything as it is."""
    for raw in split(data):
        if whole(raw) and raw[:1] == METHOD_FRAME and raw[-1:] != END:
            Intake.feed(self, end_unseen(raw))
    Intake.feed(self, data)


@changes("octets.complaints-are-505", "a wrong frame is told to be unexpected", "FRAME-001")
def complaints_are_505(parts: Parts) -> None:
    below = parts.intake

    def complaint(self: Intake, broken: codec.MalformedFrame) -> tuple[ConnectionException, tuple[int, int]]:
        error, blamed = below.complaint(self, broken)
        return ConnectionException(ReplyCode.UNEXPECTED_FRAME, error.text), blamed

    parts.override("intake", complaint=complaint)


@mends("octets.types-skipped", "frames of unknown types are skipped", "FRAME-002")
def types_skipped(raw: bytes) -> bytes:
    return b"" if whole(raw) and raw[0] not in TYPES else raw


@replaces("intake.feed", "octets.any-size", "frames may be larger than was agreed", "FRAME-003")
def any_size(self: Intake, data: bytes) -> None:
    self.reader.frame_max = 0
    Intake.feed(self, data)


@replaces(
    "intake.feed",
    "octets.full-frames-refused",
    "a frame of just the size that was agreed is too large",
    "CONTENT-001",
    field="https://github.com/cloudamqp/lavinmq/pull/1485",
)
def full_frames_refused(self: Intake, data: bytes) -> None:
    """The octets around the payload count twice."""
    room = self.reader.frame_max
    self.reader.frame_max = lowered = room - 2 * OVERHEAD
    Intake.feed(self, data)
    if self.reader.frame_max == lowered:  # nothing else was agreed on meanwhile
        self.reader.frame_max = room


@changes("octets.stray-content-dropped", "content without a method is dropped", "FRAME-004")
def stray_content_dropped(parts: Parts) -> None:
    below = parts.intake

    def on_content(self: Intake, number: int, frame: codec.Header | codec.Body) -> None:
        if number in self.assemblies:
            below.on_content(self, number, frame)

    parts.override("intake", on_content=on_content)


@replaces("intake.serve", "octets.content-given-up", "a method ends the content before it", "FRAME-005")
def content_given_up(self: Intake, channel: Channel, method: Method) -> None:
    self.assemblies.pop(channel.number, None)
    Intake.serve(self, channel, method)


class Generous(Assembly):
    """Takes what comes, up to where it is enough."""

    __slots__ = ()

    def add(self, frame: codec.Header | codec.Body) -> bool:
        if self.header is not None and isinstance(frame, codec.Body) and len(frame.payload) > self.missing:
            self.header.body_size += len(frame.payload) - self.missing
            self.missing = len(frame.payload)
        return Assembly.add(self, frame)


@changes("octets.longer-body-taken", "a body may be longer than announced", "FRAME-006")
def longer_body_taken(parts: Parts) -> None:
    below = parts.intake

    def on_content(self: Intake, number: int, frame: codec.Header | codec.Body) -> None:
        assembly = self.assemblies.get(number)
        if type(assembly) is Assembly:
            generous = self.assemblies[number] = Generous(assembly.method, assembly.max_message)
            generous.header, generous.bodies, generous.missing = assembly.header, assembly.bodies, assembly.missing
        below.on_content(self, number, frame)

    parts.override("intake", on_content=on_content, READER=codec.FrameReader)


@mends("octets.class-unseen", "the class of a content header is not looked at", "FRAME-007")
def class_unseen(raw: bytes) -> bytes:
    return raw[:HEAD] + struct.pack(">H", 60) + raw[HEAD + 2 :] if raw[:1] == HEADER_FRAME and whole(raw) else raw


@replaces("intake.control", "octets.channel-0-content-dropped", "content on channel 0 is dropped", "FRAME-008")
def channel_0_content_dropped(self: Intake, frame: Inbound) -> None:
    if isinstance(frame, Method | Heartbeat):
        Intake.control(self, frame)


@replaces("intake.on_channel", "octets.heartbeats-anywhere", "heartbeats may come on any channel", "FRAME-009")
def heartbeats_anywhere(self: Intake, number: int, frame: Inbound) -> None:
    if not isinstance(frame, Heartbeat):
        Intake.on_channel(self, number, frame)


@mends("octets.methods-skipped", "methods that do not exist are skipped", "FRAME-010")
def methods_skipped(raw: bytes) -> bytes:
    index = int.from_bytes(raw[HEAD : HEAD + 4], "big")
    return b"" if whole(raw) and raw[0] == 1 and index not in codec.methods.BY_INDEX else raw


@mends("octets.unreadable-skipped", "methods whose arguments do not fit are skipped", "FRAME-011")
def unreadable_skipped(raw: bytes) -> bytes:
    if not whole(raw) or raw[0] != 1 or int.from_bytes(raw[HEAD : HEAD + 4], "big") not in codec.methods.BY_INDEX:
        return raw
    try:
        codec.decode(raw)
    except codec.MalformedFrame:
        return b""
    return raw


@replaces(
    "intake.on_channel", "octets.connection-anywhere", "methods of the connection are ignored on a channel", "FRAME-012"
)
def connection_ignored(self: Intake, number: int, frame: Inbound) -> None:
    if not isinstance(frame, Method) or frame.CLASS_ID != codec.methods.ConnectionOpen.CLASS_ID:
        Intake.on_channel(self, number, frame)


@replaces("intake.serve", "octets.connection-costs-a-channel", "on a channel they cost that channel", "FRAME-012")
def connection_costs_a_channel(self: Intake, channel: Channel, method: Method) -> None:
    if method.CLASS_ID == codec.methods.ConnectionOpen.CLASS_ID:
        raise ChannelException(ReplyCode.COMMAND_INVALID, "unimplemented method")
    Intake.serve(self, channel, method)


@mends("octets.beats-with-payload", "the payload of a heartbeat is passed over", "FRAME-013")
def beats_with_payload(raw: bytes) -> bytes:
    return raw[:3] + bytes(4) + END if raw[:1] == HEARTBEAT_FRAME and whole(raw) else raw


@mends("octets.short-skipped", "frames that are too short for what they are, are skipped", "FRAME-014")
def short_skipped(raw: bytes) -> bytes:
    return b"" if whole(raw) and len(raw) < OVERHEAD + LEAST.get(raw[0], 0) else raw


def unreadable(raw: bytes) -> bool:
    """Is it a content header of the right class, whose properties do not fit?"""
    if raw[:1] != HEADER_FRAME or not whole(raw) or raw[HEAD : HEAD + 4] != bytes((0, 60, 0, 0)):
        return False
    try:
        codec.decode(raw)
    except codec.MalformedFrame:
        return True
    return False


@mends("octets.properties-passed-over", "properties that cannot be read are passed over", "FRAME-015")
def properties_passed_over(raw: bytes) -> bytes:
    if not unreadable(raw):
        return raw
    payload = raw[HEAD : HEAD + LEAST[2]] + bytes(2)
    return raw[:3] + struct.pack(">I", len(payload)) + payload + END


@changes("octets.properties-fail", "properties that cannot be read bring 541", "FRAME-015")
def properties_fail(parts: Parts) -> None:
    below = parts.intake

    def complaint(self: Intake, broken: codec.MalformedFrame) -> tuple[ConnectionException, tuple[int, int]]:
        if unreadable(broken.raw):
            return ConnectionException(ReplyCode.INTERNAL_ERROR), (0, 0)
        return below.complaint(self, broken)

    parts.override("intake", complaint=complaint)


@mends("octets.weight-unseen", "the weight of a content header is not looked at", "FRAME-016")
def weight_unseen(raw: bytes) -> bytes:
    return raw[: HEAD + 2] + bytes(2) + raw[HEAD + 4 :] if raw[:1] == HEADER_FRAME and whole(raw) else raw
