"""Turns the octets of one connection, as they passed, into events: a proxy's view in a driver's words.

Each direction is a separate stream: perhaps protocol headers at its beginning, then frames, under the frame_max of
tune-ok. Octets that are not a frame end the stream as one malformed event; what comes after them is ignored. Nothing
here answers, delays or changes anything.
"""

from __future__ import annotations

from collections.abc import Callable

import codec
from conformance.drive.drivers.target import Target
from conformance.history import events
from conformance.history.events import TO_BROKER, TO_CLIENT, Event, EventBuilder

MAGIC = b"AMQP"


class _Stream:
    """One direction: how far it has been understood."""

    def __init__(self) -> None:
        self.reader = codec.FrameReader()
        self.early: bytes | None = b""
        self.readable = True


class Tap:
    """One connection between a client and the broker, from its first octet."""

    def __init__(self, builder: EventBuilder, emit: Callable[[Event], None]) -> None:
        self._builder, self._emit = builder, emit
        self._streams = {TO_BROKER: _Stream(), TO_CLIENT: _Stream()}

    def open(self, target: Target, client: str) -> None:
        self._emit(self._builder.local(events.OPEN, host=target.host, port=target.port, client=client))

    def octets(self, direction: str, data: bytes) -> None:
        """These octets passed."""
        stream = self._streams[direction]
        if stream.early is not None:
            data = self._beginning(stream, direction, data)
        if data and stream.readable:
            self._frames(stream, direction, data)

    def end(self, cause: str) -> None:
        self._emit(self._builder.local(events.END, cause=cause))

    def cut(self, reason: str) -> None:
        self._emit(self._builder.local(events.CUT, reason=reason))

    def _beginning(self, stream: _Stream, direction: str, data: bytes) -> bytes:
        """What follows the protocol header; nothing while there is not enough to tell it from a frame."""
        held = (stream.early or b"") + data
        if held[:4] == MAGIC[: len(held)] and len(held) < 8:
            stream.early = held
            return b""
        stream.early = None
        if held[:4] != MAGIC:
            return held
        self._emit(self._builder.note(direction, events.PROTOCOL, held[:8]))
        return held[8:]

    def _frames(self, stream: _Stream, direction: str, data: bytes) -> None:
        problem: codec.MalformedFrame | None = None
        try:
            whole = stream.reader.cut(data)
        except codec.MalformedFrame as found:
            whole, problem = found.frames, found
        for raw in whole:
            try:
                frame = codec.decode(raw)
            except codec.MalformedFrame as found:
                problem = found
                break
            self._frame(direction, frame, raw)
        if problem is not None:
            stream.readable = False
            self._emit(
                self._builder.note(
                    direction,
                    events.MALFORMED,
                    problem.raw or data,
                    offset=problem.offset,
                    expected=problem.expected,
                    found=problem.found,
                )
            )

    def _frame(self, direction: str, frame: codec.Frame, raw: bytes) -> None:
        if isinstance(frame, codec.methods.ConnectionTuneOk):
            for stream in self._streams.values():
                stream.reader.frame_max = frame.frame_max
        event = self._builder.frame(direction, frame, raw)
        if event is not None:
            self._emit(event)
