"""The raw-frame driver: one AMQP connection whose every frame, either way, becomes an event.

What is sent is logged before its octets leave, what is received after they came; so the log is one order that the
client can vouch for. A driver sends whatever it is given, valid or broken. It answers by itself only what a live
connection must answer at once: heartbeats, channel.flow, connection.close unless it `lingers`, and channel.close unless
`holding` says to wait; but nothing is said any more on a channel that was closed from here. The end of a connection is
an event like any other and never an exception of `receive`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import codec
from codec import methods as m
from conformance.drive.drivers.errors import ConnectionLost
from conformance.drive.drivers.target import Target
from conformance.drive.drivers.wire import Wire, listens
from conformance.history import events
from conformance.history.events import TO_BROKER, TO_CLIENT, Event
from conformance.history.recorder import Recorder

HEADER = codec.ProtocolHeader().encode()
Content = tuple[m.BasicPublish, bytes, Mapping[str, Any]]
Item = codec.Method | bytes | Content


class Tuned(NamedTuple):
    """The limits that both sides agreed on."""

    channel_max: int = 0
    frame_max: int = 131072
    heartbeat: int = 0


class RawConnection:
    """One connection: frames in and out, each tapped."""

    def __init__(self, wire: Wire, recorder: Recorder, name: str, target: Target) -> None:
        self.name, self.target = name, target
        self.server_properties: Mapping[str, Any] = {}
        self.tuned = Tuned()
        self.holding = False
        self.held: list[int] = []
        self.lingers = False
        """Does not answer connection.close."""
        self.mute = False
        """Sends no heartbeats of its own."""
        self.lingering = False
        """Leaves its socket open when the broker has agreed to the end of the connection."""
        self._wire, self._recorder, self._builder = wire, recorder, recorder.builder(name)
        self._reader = codec.FrameReader()
        self._outgoing: list[bytes] = []
        self._begun = b""
        """Of a protocol header that has come in part."""
        self._last_write = time.monotonic()
        self._end: Event | None = None
        self._closing = False
        self._closed: set[int] = set()
        """Channels that were closed from here, and not opened again."""
        self._left: set[int] = set()
        """Channels whose end was agreed to, and that were not opened again; 0 is the connection."""
        self._emit(self._builder.local(events.OPEN, host=target.host, port=target.port))

    @property
    def alive(self) -> bool:
        return self._end is None

    @property
    def agreed(self) -> bool:
        """Has the broker agreed to its end, or ended it?"""
        return self._end is not None and self._end.args.get("cause") != "aborted"

    @property
    def wire(self) -> Wire:
        return self._wire

    def tune(self, tuned: Tuned) -> None:
        """From now on these limits hold."""
        self.tuned = tuned
        self._reader.frame_max = tuned.frame_max

    def send(self, *items: Item) -> None:
        """Sends all items, and what was queued before, in one write."""
        self.queue(*items)
        self.flush()

    def queue(self, *items: Item) -> None:
        """Logs the items as sent; they leave with the next flush."""
        if not self.alive:
            raise ConnectionLost(f"connection {self.name} has ended")
        for item in items:
            self._closing = self._closing or isinstance(item, m.ConnectionClose)
            raw = self._encode(item)
            for event in self._sent(item, raw):
                self._note_close(self._emit(event))
            self._outgoing.append(raw)

    def _note_close(self, event: Event) -> None:
        if event.method == "channel.close":
            self._closed.add(event.channel)
        elif event.method == "channel.open":
            self._closed.discard(event.channel)
            self._left.discard(event.channel)

    def flush(self) -> None:
        """Writes what is queued, if anything is."""
        if self._outgoing:
            data = b"".join(self._outgoing)
            self._outgoing.clear()
            self._wire.write(data)
            self._last_write = time.monotonic()
            self._notice_end()

    def receive(self, timeout: float = 0.0) -> list[Event]:
        """What has come, after waiting up to `timeout` seconds for something; answers what must be answered."""
        ended = self._end
        self.flush()
        self._keep_alive()
        data = self._wire.read(timeout)
        answers: list[codec.Method] = []
        received = [self._emit(event) for event in self._received(data, answers)] if data else []
        if answers and self.alive:
            self.send(*answers)
        self._notice_end()
        if self._end is not None and ended is None:
            received.append(self._end)
        return received

    def release(self) -> None:
        """Sends the channel.close-ok that were held back."""
        self.holding, held = False, self.held
        self.held = []
        if held and self.alive:
            self.send(*(m.ChannelCloseOk(number) for number in held))

    def close(self, timeout: float = 5.0) -> None:
        """The orderly end: connection.close, and what comes until close-ok."""
        if not self.alive:
            return
        self.send(m.ConnectionClose(0, 200, "normal shutdown", 0, 0))
        until = time.monotonic() + timeout
        while self.alive and time.monotonic() < until:
            self.receive(until - time.monotonic())
        self.abort()

    def hang_up(self) -> None:
        """Ends the TCP connection without a word. It is an orderly FIN if all that came has been read, else a reset."""
        self._outgoing.clear()
        self._wire.close()
        self._notice_end()

    def abort(self) -> None:
        """The rude end: a TCP reset."""
        self._outgoing.clear()
        if self._wire.ended is None:
            self._wire.abort()
        self._notice_end()

    def _encode(self, item: Item) -> bytes:
        if isinstance(item, bytes):
            return item
        if isinstance(item, tuple):
            method, body, properties = item
            return codec.content(method, body, frame_max=self.tuned.frame_max, **properties)
        return item.encode()

    def _sent(self, item: Item, raw: bytes) -> Iterator[Event]:
        """The events of what is about to be sent."""
        if isinstance(item, codec.Method) and not item.HAS_CONTENT:
            event = self._builder.frame(TO_BROKER, item, raw)
            if event:
                yield event
        else:
            yield from self._read(TO_BROKER, codec.FrameReader(self.tuned.frame_max), raw)

    def _received(self, data: bytes, answers: list[codec.Method]) -> Iterator[Event]:
        data, self._begun = self._begun + data, b""
        if not self._reader.pending and len(data) < len(HEADER) and data[:4] == HEADER[: len(data)][:4]:
            self._begun = data
            return
        for event in self._read(TO_CLIENT, self._reader, data):
            yield event
            if event.kind == events.MALFORMED:
                self._wire.abort()
                return
            if event.method in _ANSWERED:
                self._answer(event, answers)

    def _answer(self, event: Event, answers: list[codec.Method]) -> None:
        if event.method in ("connection.close", "channel.close"):
            self._agree(event, answers)
        elif event.method == "connection.close-ok":
            if not self.lingering:
                self._wire.close()
        elif event.channel not in self._closed and not self._closing:
            answers.append(m.ChannelFlowOk(event.channel, bool(event.args.get("active"))))

    def _agree(self, event: Event, answers: list[codec.Method]) -> None:
        """An end is agreed to once: a broker that answers the answer by one more close would never come to an end."""
        whole = event.method == "connection.close"
        self._closing = self._closing or whole
        number = 0 if whole else event.channel
        if number in self._left or (whole and self.lingers):
            return
        self._left.add(number)
        if whole:
            answers.append(m.ConnectionCloseOk(0))
        elif self.holding:
            self.held.append(number)
        else:
            answers.append(m.ChannelCloseOk(number))

    def _read(self, direction: str, reader: codec.FrameReader, data: bytes) -> Iterator[Event]:
        """The events of these octets; what is no frame ends them, as one malformed event."""
        if data[:4] == b"AMQP" and not reader.pending:
            yield self._builder.note(direction, events.PROTOCOL, data[:8])
            data = data[8:]
        whole, problem = _cut(reader, data)
        for raw in whole:
            try:
                event = self._builder.frame(direction, codec.decode(raw), raw)
            except codec.MalformedFrame as unreadable:
                problem = unreadable
                break
            if event:
                yield event
        if problem is None and direction == TO_BROKER and reader.pending:
            found = f"{reader.pending} octets"
            problem = codec.MalformedFrame(reader.pending, "a whole frame", found, data[-reader.pending :])
        if problem is not None:
            yield self._builder.note(
                direction,
                events.MALFORMED,
                problem.raw or data,
                offset=problem.offset,
                expected=problem.expected,
                found=problem.found,
            )

    def _keep_alive(self) -> None:
        interval = self.tuned.heartbeat
        if interval and self.alive and not self.mute and time.monotonic() - self._last_write > interval / 2:
            self.send(codec.Heartbeat().encode())

    def _notice_end(self) -> None:
        """The event of the connection's end, once, after all that came before it."""
        if self.alive and self._wire.ended is not None and not self._wire.waiting:
            cause = self._wire.ended
            if cause in events.UNEXPECTED and not self._closing and not listens(self.target):
                cause = "gone"
            about = {"unfinished": True} if self._builder.unfinished else {}
            self._end = self._builder.local(events.END, cause=cause, **about)
            self._emit(self._end)

    def _emit(self, event: Event) -> Event:
        self._recorder.emit(event)
        return event


_ANSWERED = frozenset({"connection.close", "connection.close-ok", "channel.close", "channel.flow"})


def _cut(reader: codec.FrameReader, data: bytes) -> tuple[list[bytes], codec.MalformedFrame | None]:
    """The whole frames that `data` completes, and what is wrong after them."""
    try:
        return reader.cut(data), None
    except codec.MalformedFrame as problem:
        return problem.frames, problem
