"""Frames from octets and back: one frame, a buffer of frames, a stream of frames.

The loop of `decode_many` is the fast path. It takes a whole buffer, as a socket gives it, because turning the buffer
into text once is what makes short strings cheap. What it refuses is explained by `explain`.

With `contents` the loop puts publishes together, and does not read again what comes again (see there).
"""

from __future__ import annotations

import struct
from typing import Any

from codec import wire
from codec.contents import Content, Contents
from codec.emit import PAD, REFUSALS, Refused
from codec.errors import MalformedFrame
from codec.explain import envelope, explain
from codec.kinds import HEADER_DECODERS, Body, Header, Heartbeat, Method, header, header_decoder
from codec.methods import DECODERS

Frame = Method | Header | Body | Heartbeat
FRAME_MAX = 131072
FRAME_END = wire.FRAME_END

_head_and_index = struct.Struct(">BHII").unpack_from
_size_and_flags = struct.Struct(">QH").unpack_from
_CONTENT = wire.BASIC << 16  # class and weight of a content header, read as one number


def decode_many(buffer: bytes, start: int = 0, frame_max: int = FRAME_MAX) -> tuple[list[Frame], int]:
    """Every whole frame from `start` on, and where the first octet is that belongs to none of them.
    A frame_max of 0 means no limit."""
    return _decoded(buffer, start, frame_max, None)


def _decoded(buffer: bytes, start: int, frame_max: int, contents: Contents | None) -> tuple[list[Any], int]:
    frames: list[Any] = []
    at = [start]
    limit = frame_max - 8 if frame_max else 0xFFFFFFFF
    try:
        _decode_many(b"".join((buffer, PAD)), frames, at, limit, contents)
    except REFUSALS:
        problem: MalformedFrame | None = explain(buffer, at[0], frame_max)
    else:
        problem = envelope(buffer, at[0], frame_max)
    if problem is not None:
        problem.frames, problem.start = frames, at[0]
        raise problem
    return frames, at[0]


def _decode_many(b: bytes, frames: list[Any], at: list[int], limit: int, contents: Contents | None) -> None:
    """Appends to `frames`; keeps in `at` where the frame begins that it is working on."""
    p, n, t, add, new = at[0], len(b) - len(PAD), b.decode("latin-1"), frames.append, object.__new__
    known, last, first, second = HEADER_DECODERS.get, n - 8, p, p
    beginning = contents.expect(limit) if contents is not None else None
    frame: Any
    try:
        while p <= last:
            if beginning is not None and contents is not None and b.startswith(beginning, p):
                begin = p + contents.length
                end = begin + contents.size
                if end < n and b[end] == 206:
                    frame = new(Content)
                    frame.channel, frame.method, frame.header = contents.channel, contents.method, contents.header
                    frame.body = b[begin:end]
                    add(frame)
                    p = end + 1
                    continue
            kind, channel, size, index = _head_and_index(b, p)
            begin = p + 7
            end = begin + size
            if size > limit:
                raise Refused
            if end >= n:
                break
            if b[end] != 206:
                raise Refused
            if kind == 1:
                frame = DECODERS[index](b, t, begin + 4, end, channel)
            elif kind == 3:
                frame = new(Body)
                frame.channel = channel
                frame.payload = b[begin:end]
                if contents is not None and contents.join(frames, frame):
                    beginning = contents.keep(b[first:begin])
                    p = end + 1
                    continue
            elif kind == 2 and index == _CONTENT:
                body_size, flags = _size_and_flags(b, begin + 4)
                frame = (known(flags) or header_decoder(flags))(b, t, begin + 14, end, channel, body_size)
            elif kind == 8 and not size:
                frame = new(Heartbeat)
                frame.channel = channel
            else:
                raise Refused
            add(frame)
            first, second, p = second, p, end + 1
    finally:
        at[0] = p


def decode(raw: bytes) -> Frame:
    """Exactly one frame."""
    frames, end = decode_many(raw, 0, 0)
    if not frames:
        raise explain(raw, 0, 0) if len(raw) > 6 else MalformedFrame(len(raw), "a frame", f"{len(raw)} octets", raw)
    if end != len(raw) or len(frames) > 1:
        length = 8 + int.from_bytes(raw[3:7], "big")
        raise MalformedFrame(length, "the end of the frame", f"{len(raw) - length} more octets", raw)
    return frames[0]


class FrameReader:
    """Frames out of a stream that arrives in pieces. Once refused, always refused: the offending octets stay first."""

    _contents: Contents | None = None

    def __init__(self, frame_max: int = FRAME_MAX) -> None:
        self.frame_max = frame_max
        self._rest = b""
        self._more = bytearray()  # what came after `_rest` and did not yet complete a frame
        self._need = 0  # this many octets are needed before another look is worth it

    @property
    def pending(self) -> int:
        """Octets that wait for the rest of their frame."""
        return len(self._rest) + len(self._more)

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that `data` completes."""
        buffer = self._join(data)
        if buffer is None:
            return []
        try:
            frames, end = _decoded(buffer, 0, self.frame_max, self._contents)
        except MalformedFrame as problem:
            self._keep(buffer, problem.start)
            raise
        self._keep(buffer, end)
        return frames

    def cut(self, data: bytes) -> list[bytes]:
        """The same frames as octets; of each only type, size and end are checked."""
        buffer = self._join(data)
        if buffer is None:
            return []
        whole, p, problem = list[bytes](), 0, None
        while problem is None:
            end = p + 7 + int.from_bytes(buffer[p + 3 : p + 7], "big")
            problem = envelope(buffer, p, self.frame_max)
            if problem is not None or len(buffer) < p + 8 or end >= len(buffer):
                break
            if buffer[end] == FRAME_END:
                whole.append(buffer[p : end + 1])
                p = end + 1
            else:
                problem = explain(buffer, p, self.frame_max)
        self._keep(buffer, p)
        if problem is not None:
            problem.frames, problem.start = list(whole), p
            raise problem
        return whole

    def _join(self, data: bytes) -> bytes | None:
        """All octets that are there, if they may complete a frame; a long frame is not put together piece by piece."""
        if not self._rest and not self._more and isinstance(data, bytes):
            return data
        if self.pending + len(data) < self._need:
            self._more += data
            return None
        return b"".join((self._rest, self._more, data))

    def _keep(self, buffer: bytes, end: int) -> None:
        rest = buffer[end:]
        self._rest, self._more = rest, bytearray()
        self._need = 8 + int.from_bytes(rest[3:7], "big") if len(rest) > 6 else 0


class ContentReader(FrameReader):
    """The same, but publishes that came whole are put together (see `contents`)."""

    def __init__(self, frame_max: int = FRAME_MAX) -> None:
        super().__init__(frame_max)
        self._contents = Contents()

    def feed(self, data: bytes) -> list[Frame | Content]:  # type: ignore[override]
        """The frames and contents that `data` completes."""
        return super().feed(data)  # type: ignore[return-value]


def content(method: Method, body: bytes, frame_max: int = FRAME_MAX, **properties: Any) -> bytes:
    """A method with its content: the method, a header, and as many bodies as frame_max asks for."""
    channel, most = method.channel, (frame_max or 0xFFFFFFFF) - 8
    parts = [method.encode(), header(channel, len(body), **properties).encode()]
    parts += [Body(channel, body[i : i + most]).encode() for i in range(0, len(body), most)]
    return b"".join(parts)
