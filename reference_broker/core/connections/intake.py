"""What a connection hears: octets become frames, and frames what is asked of its channels.

Frames are worked off as they come, until there is too much to say or too much unread (see `limits.py`): then the rest
waits, and the driver reads no more of this peer until it does not. What a frame does on an open channel is decided
here; what it does to the connection itself is an action of `Connection`, named in the tables of `lifecycle.py`.

A publish that came whole is one `Content` and goes to its channel at once; one in pieces is put together frame by frame
(`content.py`). An exception closes the channel or the connection: what is unsettled is requeued, the close is sent, and
from then on only the peer's close and close-ok count.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

import codec
from codec import Content, Heartbeat, Method
from codec import methods as m
from codec.errors import ReplyCode
from codec.methods import BasicAck
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.content import Assembly, too_large
from reference_broker.core.connections.lifecycle import ChannelPhase, Phase, channel_step, connection_step
from reference_broker.core.errors import ChannelException, ConnectionException

if TYPE_CHECKING:
    from reference_broker.core.channels.prefetch import Consumer
    from reference_broker.core.connections.connection import Connection

HEADER_FRAME = b"\x02"
RUNNING = Phase.RUNNING
Inbound = codec.Frame | Content


class Intake:
    """The incoming side of one connection."""

    __slots__ = (
        "assemblies",
        "broken",
        "broker",
        "connection",
        "gathering",
        "last_size",
        "parts",
        "reader",
        "thirsty",
        "waiting",
    )

    READER: type[codec.FrameReader] = codec.ContentReader
    """One that puts nothing together shows every frame to `serve` and `on_content`."""

    def __init__(self, connection: Connection) -> None:
        self.connection, self.broker, self.parts = connection, connection.broker, connection.parts
        self.reader = self.READER(self.broker.limits.first_frame_max)
        self.assemblies: dict[int, Assembly] = {}
        self.waiting: deque[Inbound] = deque()
        self.broken: codec.MalformedFrame | None = None
        self.last_size = 0
        """Of a body. Most are like the one before: the same number takes no place of its own in each message."""
        self.gathering = False
        self.thirsty: dict[Consumer, None] = {}
        """Who has more room since the acks that are gathered."""

    # -- octets in

    def feed(self, data: bytes) -> None:
        frames: list[Inbound]
        try:
            frames = self.reader.feed(data)  # type: ignore[assignment]
        except codec.MalformedFrame as error:
            frames, self.broken = error.frames, error.with_traceback(None)
            error.__context__ = None
        if self.broker.memory is not None:
            self.broker.memory.heard(len(data))
        if self.waiting or self.connection.blocked:
            self.waiting.extend(frames)
        else:
            self.work(iter(frames))

    def work(self, frames: Iterator[Inbound]) -> None:
        """Take these frames, as far as there is room for what they have us say."""
        connection, outbox = self.connection, self.connection.outbox
        for frame in frames:
            if (type(frame) is BasicAck) is not self.gathering:
                self.gather(not self.gathering)
            try:
                if frame.channel and connection.phase is RUNNING:
                    self.on_channel(frame.channel, frame)
                else:
                    self.beside_channels(frame)
            except ChannelException as error:
                self.gather(False)
                connection.refuse(connection.channels[frame.channel], error, self.offender(frame))
            except ConnectionException as error:
                self.gather(False)
                connection.close(error, self.offender(frame))
            if outbox.full() or connection.blocked:
                self.waiting.extend(frames)
                self.broker.dirty[connection] = None
        self.gather(False)
        if self.broken is not None and not self.waiting:
            self.complain()

    def complain(self) -> None:
        """What came before it has been handled."""
        broken, self.broken = self.broken, None
        if broken is not None and not self.connection.finished:
            self.connection.close(*self.complaint(broken))

    def complaint(self, broken: codec.MalformedFrame) -> tuple[ConnectionException, tuple[int, int]]:
        """About a frame that cannot be read; but a header that has no place is told to have none, whatever it says."""
        raw, number = broken.raw, int.from_bytes(broken.raw[1:3], "big")
        channel = self.connection.channels.get(number)
        if raw[:1] == HEADER_FRAME and channel is not None and not channel.closing:
            assembly = self.assemblies.get(number)
            if assembly is None:
                return misplaced(), (0, 0)
            problem = assembly.refuses_header(int.from_bytes(raw[7:9], "big"))
            if problem is not None:
                return problem, (assembly.method.CLASS_ID, assembly.method.METHOD_ID)
        return ConnectionException(ReplyCode.FRAME_ERROR, str(broken)), claimed_method(raw)

    def gather(self, acks: bool) -> None:
        """Acks that come one behind the other take effect in turn; whom they make room for is served after the last."""
        self.gathering = acks
        if self.thirsty and not acks:
            consumers, self.thirsty = self.thirsty, {}
            for consumer in consumers:
                consumer.wake()

    def go_on(self) -> None:
        """With the frames that had to wait."""
        frames, self.waiting = self.waiting, deque()
        self.work(iter(frames))

    def forget(self) -> None:
        """What has come of a frame that is not whole; no more of it will."""
        self.reader = self.READER()

    # -- frames in

    def beside_channels(self, frame: Inbound) -> None:
        """On channel 0, or on another while the connection is not open."""
        if frame.channel == 0:
            self.control(frame)
        elif self.connection.phase not in (Phase.CLOSING, Phase.CLOSED):
            raise ConnectionException(ReplyCode.CHANNEL_ERROR, "connection is not open yet")

    def offender(self, frame: Inbound) -> tuple[int, int]:
        """The method to blame: the one whose content is under way, else the frame itself."""
        assembly = self.assemblies.pop(frame.channel, None)
        method = frame.method if isinstance(frame, Content) else frame
        if assembly is not None:
            method = assembly.method
        return (method.CLASS_ID, method.METHOD_ID) if isinstance(method, Method) else (0, 0)

    def control(self, frame: Inbound) -> None:
        if isinstance(frame, Content):
            frame = frame.method
        if isinstance(frame, Method):
            step = connection_step(self.connection.phase, type(frame))
            if step is not None:
                action, self.connection.phase = step
                getattr(self.connection, action)(frame)
        elif not isinstance(frame, Heartbeat) and self.connection.phase not in (Phase.CLOSING, Phase.CLOSED):
            raise misplaced()

    def on_channel(self, number: int, frame: Inbound) -> None:
        channel = self.connection.channels.get(number)
        if channel is None or channel.closing:
            self.on_no_channel(number, channel, frame)
        elif isinstance(frame, Content):
            self.on_whole(channel, frame)
        elif isinstance(frame, Method):
            self.serve(channel, frame)
        elif isinstance(frame, Heartbeat):
            raise heartbeat_elsewhere()
        else:
            self.on_content(number, frame)

    def on_no_channel(self, number: int, closing: Channel | None, frame: Inbound) -> None:
        """There is none of that number, or it is closing: what is no method is not expected, or comes too late."""
        if isinstance(frame, Content):
            for part in frame.frames():
                self.on_channel(number, part)
        elif isinstance(frame, Method):
            phase = ChannelPhase.ABSENT if closing is None else ChannelPhase.CLOSING
            action = channel_step(phase, type(frame))
            if action is not None:
                getattr(self.connection, action)(frame)
        elif isinstance(frame, Heartbeat):
            raise heartbeat_elsewhere()
        elif closing is None:
            self.on_content(number, frame)

    def serve(self, channel: Channel, method: Method) -> None:
        if self.assemblies and channel.number in self.assemblies:
            raise self.assemblies[channel.number].interrupted()
        handler = self.parts.handlers.get(type(method))
        if handler is not None:
            if self.connection.restricted is not None:
                self.parts.needs().check(self.connection.restricted, channel, method)
            handler(channel, method)
        elif method.HAS_CONTENT:
            self.assemblies[channel.number] = Assembly(method, self.broker.max_message)
        else:
            action = channel_step(ChannelPhase.OPEN, type(method))
            if action is None:
                raise ConnectionException(ReplyCode.COMMAND_INVALID, "unimplemented method")
            getattr(self.connection, action)(method)

    def on_whole(self, channel: Channel, content: Content) -> None:
        """A publish, all of it at once."""
        if self.assemblies and channel.number in self.assemblies:
            raise self.assemblies[channel.number].interrupted()
        header = content.header
        if header.body_size > self.broker.max_message:
            raise too_large(header, self.broker.max_message)
        self.publish(channel, content.method, header, content.body)

    def on_content(self, number: int, frame: codec.Header | codec.Body) -> None:
        assembly = self.assemblies.get(number)
        if assembly is None:
            raise misplaced()
        if not assembly.add(frame):
            return
        header, bodies = assembly.header, assembly.bodies
        assert header is not None
        if header.body_size == self.last_size:
            header.body_size = self.last_size
        self.last_size = header.body_size
        if not isinstance(assembly.method, m.BasicPublish):
            raise ConnectionException(ReplyCode.COMMAND_INVALID, "unimplemented method")
        body = bodies[0] if len(bodies) == 1 else b"".join(bodies)
        self.publish(self.connection.channels[number], assembly.method, header, body)
        del self.assemblies[number]

    def publish(self, channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        if self.connection.restricted is not None:
            self.parts.needs().check(self.connection.restricted, channel, method, header)
        publish = self.parts.publish
        publish(channel, method, header, body)
        if self.broker.alarm is not None:
            self.connection.block(self.broker.alarm)


def heartbeat_elsewhere() -> ConnectionException:
    return ConnectionException(ReplyCode.UNEXPECTED_FRAME, "heartbeat on a channel other than 0")


def misplaced() -> ConnectionException:
    return ConnectionException(ReplyCode.UNEXPECTED_FRAME, "expected method frame, got non method frame instead")


def claimed_method(raw: bytes) -> tuple[int, int]:
    """The class and method a broken frame says it is; 0, 0 if it is no method or is not known."""
    index = int.from_bytes(raw[7:11], "big")
    return (index >> 16, index & 0xFFFF) if raw[:1] == b"\x01" and index in m.BY_INDEX else (0, 0)
