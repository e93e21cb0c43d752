"""One connection: bytes in, effects out, the tables of `lifecycle.py` in between.

`feed` takes whatever octets arrived. What is to be said to the peer collects in the outbox (`outbox.py`) and is
encoded by `take`, once per tick, so that many small answers leave as one write. `finished` says that
the transport is to be closed once the outbox is empty. The connection does not know what carries it.

An exception closes the channel or the connection: what is unsettled is requeued, the close is sent,
and from then on only the peer's close and close-ok count.

A frame may be larger than agreed by its own eight octets: clients get that wrong, and RabbitMQ lets them.

Frames are worked off as they come, until there is too much to say or too much unread (see `limits.py`): then the rest
waits, and the driver reads no more of this peer until it does not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import codec
from codec import methods as m
from codec import values
from codec.errors import ReplyCode
from reference_broker import needs, sasl
from reference_broker.access import Rights
from reference_broker.channel import Channel
from reference_broker.content import Assembly
from reference_broker.errors import AmqpException, ChannelException, ConnectionException, not_allowed
from reference_broker.lifecycle import ChannelPhase, Phase, channel_step, connection_step
from reference_broker.limits import PATIENCE, UNREAD, UNSAID
from reference_broker.message import FRAME_OVERHEAD
from reference_broker.origin import Origin
from reference_broker.outbox import Outbox
from reference_broker.queue import Queue

if TYPE_CHECKING:
    from reference_broker.broker import Broker

class Connection(Outbox):
    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        self.parts = broker.parts
        self.vhost = broker.vhost
        self.origin = Origin()
        self.phase = Phase.GREETING
        self.finished = False
        self.reader = codec.FrameReader(broker.limits.first_frame_max)
        self.greeting = b""
        self.channels: dict[int, Channel] = {}
        self.assemblies: dict[int, Assembly] = {}
        self.exclusive: dict[Queue, None] = {}
        self.waiting: deque[codec.Frame] = deque()
        self.broken: codec.MalformedFrame | None = None
        self.last_size = 0
        """Of a body. Most are like the one before: the same number takes no place of its own in each message."""
        self.blocked = False
        """It has published during an alarm: the rest of what it sends waits until that is over."""
        self.user = ""
        self.mechanism = ""
        self.restricted: Rights | None = None
        """What this user may do here; None: everything."""
        self.client_properties: values.FieldTable = []
        self.capabilities: dict[str, object] = {}
        self.channel_max = broker.limits.channel_max
        self.heartbeat = 0
        self.came_at = self.heard_at = self.wrote_at = broker.clock.now

    # -- octets in

    def feed(self, data: bytes) -> None:
        self.heard_at = self.broker.clock.now
        if self.phase is Phase.GREETING:
            data = self.greet(data)
        if not data:
            return
        try:
            frames = self.reader.feed(data)
        except codec.MalformedFrame as error:
            frames, self.broken = error.frames, error.with_traceback(None)
            error.__context__ = None
        if self.broker.memory is not None:
            self.broker.memory.heard(len(data))
        if self.waiting or self.blocked:
            self.waiting.extend(frames)
        else:
            self.work(iter(frames))

    def work(self, frames: Iterator[codec.Frame]) -> None:
        """Take these frames, as far as there is room for what they have us say."""
        for frame in frames:
            try:
                if frame.channel and self.phase is Phase.RUNNING:
                    self.on_channel(frame.channel, frame)
                else:
                    self.beside_channels(frame)
            except ChannelException as error:
                self.close_channel(self.channels[frame.channel], error, self.offender(frame))
            except ConnectionException as error:
                self.close(error, self.offender(frame))
            if len(self.outbox) > UNSAID or self.outgoing.held > self.outgoing.count or self.blocked:
                self.waiting.extend(frames)
                self.broker.dirty[self] = None
        if self.broken is not None and not self.waiting:
            broken, self.broken = self.broken, None  # without its traceback, which would keep what was read
            if not self.finished:
                self.close(ConnectionException(ReplyCode.FRAME_ERROR, str(broken)), claimed_method(broken.raw))

    def go_on(self) -> None:
        """With the frames that had to wait."""
        if self.waiting and self.unread <= UNREAD and not self.blocked:
            frames, self.waiting = self.waiting, deque()
            self.work(iter(frames))

    def greet(self, data: bytes) -> bytes:
        """Wait for the eight octets of the protocol header; answer a wrong one with ours."""
        self.greeting += data
        expected = codec.ProtocolHeader().encode()
        if len(self.greeting) < len(expected) and expected.startswith(self.greeting):
            return b""
        if not self.greeting.startswith(expected):
            self.send(codec.ProtocolHeader())
            self.finish()
            return b""
        self.phase = Phase.LOGIN
        self.send(
            m.ConnectionStart(
                0, 0, 9, self.broker.server_properties, " ".join(sasl.offered(self.origin)).encode(), b"en_US"
            )
        )
        return self.greeting[len(expected) :]

    # -- frames in

    def beside_channels(self, frame: codec.Frame) -> None:
        """On channel 0, or on another while the connection is not open."""
        if frame.channel == 0:
            self.control(frame)
        elif self.phase not in (Phase.CLOSING, Phase.CLOSED):
            raise ConnectionException(ReplyCode.CHANNEL_ERROR, "connection is not open yet")

    def offender(self, frame: codec.Frame) -> tuple[int, int]:
        """The method to blame: the one whose content is under way, else the frame itself."""
        assembly = self.assemblies.pop(frame.channel, None)
        method = assembly.method if assembly is not None else frame
        return (method.CLASS_ID, method.METHOD_ID) if isinstance(method, codec.Method) else (0, 0)

    def control(self, frame: codec.Frame) -> None:
        if isinstance(frame, codec.Method):
            step = connection_step(self.phase, type(frame))
            if step is not None:
                action, self.phase = step
                getattr(self, action)(frame)
        elif not isinstance(frame, codec.Heartbeat) and self.phase not in (Phase.CLOSING, Phase.CLOSED):
            raise ConnectionException(
                ReplyCode.UNEXPECTED_FRAME, "expected method frame, got non method frame instead"
            )

    def on_channel(self, number: int, frame: codec.Frame) -> None:
        channel = self.channels.get(number)
        if isinstance(frame, codec.Method):
            if channel is not None and not channel.closing:
                self.serve(channel, frame)
            else:
                phase = ChannelPhase.ABSENT if channel is None else ChannelPhase.CLOSING
                action = channel_step(phase, type(frame))
                if action is not None:
                    getattr(self, action)(frame)
        elif isinstance(frame, codec.Heartbeat):
            raise ConnectionException(ReplyCode.UNEXPECTED_FRAME, "heartbeat on a channel other than 0")
        elif channel is None or not channel.closing:
            self.on_content(number, frame)

    def serve(self, channel: Channel, method: codec.Method) -> None:
        if channel.number in self.assemblies:
            raise self.assemblies[channel.number].interrupted()
        handler = self.parts.handlers.get(type(method))
        if handler is not None:
            if self.restricted is not None:
                needs.check(self.restricted, channel, method)
            handler(channel, method)
        elif method.HAS_CONTENT:
            self.assemblies[channel.number] = Assembly(method, self.broker.max_message)
        else:
            action = channel_step(ChannelPhase.OPEN, type(method))
            if action is None:
                raise ConnectionException(ReplyCode.COMMAND_INVALID, "unimplemented method")
            getattr(self, action)(method)

    def on_content(self, number: int, frame: codec.Header | codec.Body) -> None:
        assembly = self.assemblies.get(number)
        if assembly is None:
            raise ConnectionException(
                ReplyCode.UNEXPECTED_FRAME, "expected method frame, got non method frame instead"
            )
        if not assembly.add(frame):
            return
        header, bodies = assembly.header, assembly.bodies
        assert header is not None
        if header.body_size == self.last_size:
            header.body_size = self.last_size
        self.last_size = header.body_size
        body = bodies[0] if len(bodies) == 1 else b"".join(bodies)
        if isinstance(assembly.method, m.BasicPublish):
            if self.restricted is not None:
                needs.check(self.restricted, self.channels[number], assembly.method, header)
            self.parts.publish(self.channels[number], assembly.method, header, body)
            del self.assemblies[number]
            if self.broker.alarm is not None:
                self.block(self.broker.alarm)
        else:
            raise ConnectionException(ReplyCode.COMMAND_INVALID, "unimplemented method")

    # -- effects out (see `outbox`)

    def take(self) -> bytes:
        """End of the tick: everything to be written now, as octets."""
        for channel in self.confirming:
            if not channel.closing:
                channel.flush()
        self.confirming.clear()
        data = b"".join([self.encode(item) for item in self.leaving()])
        self.outgoing.held = 0
        if data:
            self.wrote_at = self.broker.clock.now
        if self.outgoing.parked:
            self.outgoing.wake()
        if self.waiting:
            self.go_on()
        return data

    def keeps(self) -> int:
        """Octets of bodies that are unacked here, or have arrived in part."""
        unacked = (one.entry.message for channel in self.channels.values() for one in channel.unacked.by_tag.values())
        arriving = (len(part) for assembly in self.assemblies.values() for part in assembly.bodies)
        return sum(len(message.body) for message in unacked) + sum(arriving)

    def block(self, reason: str) -> None:
        self.blocked = True
        if self.announces("connection.blocked"):
            self.send(m.ConnectionBlocked(0, reason))

    def unblock(self) -> None:
        """The alarm is over."""
        if self.blocked:
            self.blocked = False
            self.heard_at = self.broker.clock.now
            self.broker.dirty[self] = None
            if self.announces("connection.blocked"):
                self.send(m.ConnectionUnblocked(0))
            self.go_on()

    # -- actions of the connection table

    def log_in(self, method: m.ConnectionStartOk) -> None:
        self.client_properties, self.mechanism = method.client_properties, method.mechanism
        announced = values.lookup(method.client_properties, "capabilities")
        self.capabilities = announced if isinstance(announced, dict) else {}
        try:
            self.user = sasl.log_in(method.mechanism, method.response, self.broker.access, self.origin)
        except sasl.LoginRefused:
            if self.announces("authentication_failure_close"):
                raise
            self.finish()
            return
        self.send(m.ConnectionTune(0, self.channel_max, self.frame_max, self.broker.limits.heartbeat))

    def tune(self, method: m.ConnectionTuneOk) -> None:
        """Who wants more than was offered is closed without a word, as the specification has it and RabbitMQ does."""
        dialect = self.broker.dialect
        asked = (
            fits(method.channel_max, self.channel_max, 1, dialect.tune_needs_limits),
            fits(method.frame_max, self.frame_max, dialect.smallest_frame_max, dialect.tune_needs_limits),
        )
        if not all(asked):
            self.finish()
            return
        self.channel_max = method.channel_max or self.channel_max
        self.frame_max = method.frame_max or self.frame_max
        self.reader.frame_max = self.frame_max + FRAME_OVERHEAD
        self.heartbeat = method.heartbeat
        if self.heartbeat:
            self.broker.clock.at(self.broker.clock.now + self.heartbeat / 2, type(self).beat, self)

    def enter(self, method: m.ConnectionOpen) -> None:
        name = method.virtual_host
        if name not in self.broker.vhosts:
            raise not_allowed(f"vhost {name} not found")
        rights = self.broker.access.rights(self.user, name)
        if rights is None:
            raise not_allowed(f"access to vhost '{name}' refused for user '{self.user}'")
        self.vhost = self.broker.vhosts[name]
        self.permit(rights)
        self.broker.newcomers.left(self)
        self.send(m.ConnectionOpenOk(0))

    def permit(self, rights: Rights) -> None:
        """From now on this is what the user may do."""
        self.restricted = None if rights.unlimited else rights

    def update_secret(self, method: m.ConnectionUpdateSecret) -> None:
        self.send(m.ConnectionUpdateSecretOk(0))

    def closed_by_peer(self, method: m.ConnectionClose) -> None:
        self.end_channels()
        self.send(m.ConnectionCloseOk(0))
        self.finish()

    def answer_close(self, method: m.ConnectionClose) -> None:
        self.send(m.ConnectionCloseOk(0))

    def finish(self, method: Any = None) -> None:
        self.phase = Phase.CLOSED
        if self.finished:
            return
        self.finished = True
        self.waiting.clear()
        self.broker.dirty[self] = None

    # -- actions of the channel table

    def open_channel(self, method: m.ChannelOpen) -> None:
        if len(self.channels) >= self.channel_max:
            raise not_allowed(
                f"number of channels opened ({len(self.channels)}) has reached the negotiated "
                f"channel_max ({self.channel_max})",
                offender=(0, 0),
            )
        self.channels[method.channel] = self.parts.channel(self, method.channel)
        self.send(m.ChannelOpenOk(method.channel))

    def second_open(self, method: m.ChannelOpen) -> None:
        raise ConnectionException(ReplyCode.CHANNEL_ERROR, "second 'channel.open' seen")

    def channel_closed_by_peer(self, method: m.ChannelClose) -> None:
        self.channels.pop(method.channel).end()
        self.send(m.ChannelCloseOk(method.channel))

    def answer_channel_close(self, method: m.ChannelClose) -> None:
        self.send(m.ChannelCloseOk(method.channel))

    def forget_channel(self, method: m.ChannelCloseOk) -> None:
        channel = self.channels.pop(method.channel)
        if channel.unacked:
            channel.end()

    # -- the ends

    def close_channel(self, channel: Channel, error: AmqpException, offender: tuple[int, int]) -> None:
        self.assemblies.pop(channel.number, None)
        channel.fail()
        text = error.reply_text(self.vhost.name)
        self.send(m.ChannelClose(channel.number, error.code, text, *(error.offender or offender)))

    def close(self, error: AmqpException, offender: tuple[int, int]) -> None:
        if self.phase in (Phase.CLOSING, Phase.CLOSED):
            self.finish()
            return
        self.end_channels()
        self.phase = Phase.CLOSING
        text = error.reply_text(self.vhost.name)
        self.send(m.ConnectionClose(0, error.code, text, *(error.offender or offender)))
        self.broker.clock.at(self.broker.clock.now + PATIENCE, type(self).finish, self)

    def lost(self) -> None:
        """The transport is gone. What was to be said or read is let go at once, not only by a collector of garbage."""
        self.end_channels()
        self.finish()
        self.broker.forget(self)
        self.outbox.clear()
        self.reader = codec.FrameReader()

    def end_channels(self) -> None:
        """Requeue everything; none of it may go to a consumer of this same connection."""
        self.outgoing.stalled = True
        channels, self.channels = self.channels, {}
        for channel in channels.values():
            if channel.unacked or not channel.closing:
                channel.end()
        self.assemblies.clear()
        for queue in list(self.exclusive):
            self.vhost.delete_queue(queue)

    def beat(self) -> None:
        """Twice per heartbeat interval: say something if nothing was said, give up on a silent peer."""
        now = self.broker.clock.now
        if self.finished:
            return
        if now - self.heard_at > 2 * self.heartbeat and not self.waiting:
            self.end_channels()
            self.finish()
            return
        if now - self.wrote_at >= self.heartbeat / 2:
            self.send(codec.Heartbeat())
        self.broker.clock.at(now + self.heartbeat / 2, type(self).beat, self)

    # -- what the peer announced

    def announces(self, capability: str) -> bool:
        return self.capabilities.get(capability) is True

    def announces_cancel(self) -> bool:
        return self.announces("consumer_cancel_notify")


def claimed_method(raw: bytes) -> tuple[int, int]:
    """The class and method a broken frame says it is; 0, 0 if it is no method or is not known."""
    index = int.from_bytes(raw[7:11], "big")
    return (index >> 16, index & 0xFFFF) if raw[:1] == b"\x01" and index in m.BY_INDEX else (0, 0)


def fits(wanted: int, most: int, least: int, needed: bool) -> bool:
    """Is this a limit that was to be had? 0 stands for none of the client's own."""
    return least <= wanted <= most or (wanted == 0 and not needed)
