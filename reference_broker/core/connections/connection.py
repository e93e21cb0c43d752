"""One connection: bytes in, effects out, the tables of `lifecycle.py` in between.

`feed` takes whatever octets arrived; its `Intake` makes frames of them, and calls the actions below. What is to be said
to the peer collects in its `Outbox` and is encoded by `take`, once per tick, so that many small answers leave as one
write. `finished` says that the transport is to be closed once the outbox is empty. The connection does not know what
carries it.

A frame may be larger than agreed by its own eight octets: clients get that wrong, and RabbitMQ lets them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import codec
from codec import methods as m
from codec import values
from codec.errors import ReplyCode
from reference_broker.core import quotas
from reference_broker.core.access import Rights
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections import sasl
from reference_broker.core.connections.lifecycle import Phase
from reference_broker.core.connections.limits import PATIENCE, UNREAD
from reference_broker.core.connections.origin import Origin
from reference_broker.core.connections.outbox import Outbound
from reference_broker.core.errors import AmqpException, ConnectionException, not_allowed
from reference_broker.core.queues.message import FRAME_OVERHEAD, Message
from reference_broker.core.queues.queue import Queue

if TYPE_CHECKING:
    from reference_broker.core.broker import Broker

GREETING = Phase.GREETING


class Connection:
    def __init__(self, broker: Broker) -> None:
        self.broker, self.parts = broker, broker.parts
        self.outbox = self.parts.outbox(broker.limits)
        self.intake = self.parts.intake(self)
        self.phase = Phase.GREETING
        self.finished = False
        self.parted = False
        """Did the peer itself close it? Then the peer hangs up."""
        self.blocked = False
        """It has published during an alarm: the rest of what it sends waits until that is over."""
        self.unread = 0
        """Octets that were written and that the peer has not taken, as far as the driver knows."""
        self.channels: dict[int, Channel] = {}
        self.confirming: dict[Channel, None] = {}
        """Those that have something to confirm when the tick ends."""
        self.restricted: Rights | None = None
        """What this user may do here; None: everything."""
        self.vhost = broker.vhost
        self.entered = False
        """Is it open: does it count among the connections of its user and virtual host?"""
        self.origin = Origin()
        self.greeting = b""
        self.exclusive: dict[Queue, None] = {}
        self.user = ""
        self.mechanism = ""
        self.client_properties: values.FieldTable = []
        self.capabilities: dict[str, object] = {}
        self.channel_max = broker.limits.channel_max
        self.heartbeat = 0
        self.heard_at = self.wrote_at = broker.peers_clock.now

    # -- octets in

    def feed(self, data: bytes) -> None:
        self.heard_at = self.broker.peers_clock.now
        if self.phase is GREETING:
            data = self.greet(data)
        if data:
            self.intake.feed(data)

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
        mechanisms = " ".join(sasl.offered(self.origin, self.broker.access)).encode()
        self.send(m.ConnectionStart(0, 0, 9, self.broker.server_properties, mechanisms, b"en_US"))
        return self.greeting[len(expected) :]

    def go_on(self) -> None:
        """With the frames that had to wait, where nothing stands against it any more."""
        if self.intake.waiting and self.unread <= UNREAD and not self.blocked:
            self.intake.go_on()

    # -- effects out

    def send(self, item: Outbound) -> None:
        self.outbox.put(item)
        self.broker.dirty[self] = None

    def send_content(self, method: codec.Method, message: Message) -> None:
        self.outbox.put_content(method, message)
        self.broker.dirty[self] = None

    def confirm(self, channel: Channel) -> None:
        self.confirming[channel] = None
        self.broker.dirty[self] = None

    def leaving(self) -> list[Outbound]:
        """What is to be written now, taken out of the outbox."""
        return self.outbox.take()

    def stall(self, stalled: bool) -> None:
        """The transport cannot take more for now, or can again."""
        self.outbox.limit.stalled = stalled
        if not stalled:
            self.unread = 0
            self.outbox.limit.wake()
            self.broker.dirty[self] = None

    def take(self) -> bytes:
        """End of the tick: everything to be written now, as octets."""
        for channel in self.confirming:
            if not channel.closing:
                channel.flush()
        self.confirming.clear()
        data = self.outbox.encoded(self.leaving())
        self.outbox.limit.held = 0
        if data:
            self.wrote_at = self.broker.peers_clock.now
        if self.outbox.limit.parked:
            self.outbox.limit.wake()
        self.go_on()
        return data

    def keeps(self) -> int:
        """Octets of bodies that are unacked here, or have arrived in part."""
        unacked = (one.entry.message for channel in self.channels.values() for one in channel.unacked.by_tag.values())
        arriving = (len(part) for assembly in self.intake.assemblies.values() for part in assembly.bodies)
        return sum(len(message.body) for message in unacked) + sum(arriving)

    def block(self, reason: str) -> None:
        self.blocked = True
        if self.announces("connection.blocked"):
            self.send(m.ConnectionBlocked(0, reason))

    def unblock(self) -> None:
        """The alarm is over."""
        if self.blocked:
            self.blocked = False
            self.heard_at = self.broker.peers_clock.now
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
        self.send(m.ConnectionTune(0, self.channel_max, self.outbox.frame_max, self.broker.limits.heartbeat))

    def tune(self, method: m.ConnectionTuneOk) -> None:
        """Who wants more than was offered is closed without a word, as the specification has it and RabbitMQ does."""
        largest = self.outbox.frame_max
        smallest = min(self.broker.edition.smallest_frame_max, largest)
        channels = self.tolerates(method.channel_max, 1, self.channel_max)
        if not channels or not self.tolerates(method.frame_max, smallest, largest):
            self.finish()
            return
        self.channel_max = method.channel_max or self.channel_max
        self.outbox.frame_max = method.frame_max or largest
        self.intake.reader.frame_max = self.outbox.frame_max + FRAME_OVERHEAD
        self.heartbeat = method.heartbeat
        if self.heartbeat:
            clock = self.broker.peers_clock
            clock.at(clock.now + self.heartbeat / 2, type(self).beat, self)

    def tolerates(self, wanted: int, least: int, most: int) -> bool:
        """Is this a limit that was to be had? 0 stands for none of the client's own."""
        return least <= wanted <= most or wanted == 0

    def enter(self, method: m.ConnectionOpen) -> None:
        name = method.virtual_host
        if name not in self.broker.vhosts:
            raise not_allowed(f"vhost {name} not found")
        rights = self.broker.access.rights(self.user, name)
        if rights is None:
            raise not_allowed(f"access to vhost '{name}' refused for user '{self.user}'")
        quotas.check_entry(self, self.broker.vhosts[name])
        self.vhost, self.entered = self.broker.vhosts[name], True
        self.permit(rights)
        self.broker.newcomers.left(self)
        self.send(m.ConnectionOpenOk(0))

    def permit(self, rights: Rights) -> None:
        """From now on this is what the user may do."""
        self.restricted = None if rights.unlimited else rights

    def update_secret(self, method: m.ConnectionUpdateSecret) -> None:
        self.recheck()
        self.send(m.ConnectionUpdateSecretOk(0))

    def recheck(self) -> None:
        """Ends the consumers of queues that the user may no longer read."""
        rights = self.restricted
        for channel in self.channels.values() if rights is not None else ():
            for consumer in list(channel.consumers.values()):
                if rights is not None and not rights.permission.grants("read", consumer.queue.name):
                    channel.cancelled(consumer)
                    consumer.queue.leave(consumer)

    def closed_by_peer(self, method: m.ConnectionClose) -> None:
        self.end_channels()
        self.send(m.ConnectionCloseOk(0))
        self.parted = True
        self.finish()

    def answer_close(self, method: m.ConnectionClose) -> None:
        self.send(m.ConnectionCloseOk(0))

    def finish(self, method: Any = None) -> None:
        self.phase = Phase.CLOSED
        if self.finished:
            return
        self.finished = True
        self.intake.waiting.clear()
        self.broker.dirty[self] = None

    # -- actions of the channel table

    def open_channel(self, method: m.ChannelOpen) -> None:
        if len(self.channels) >= self.channel_max:
            raise not_allowed(
                f"number of channels opened ({len(self.channels)}) has reached the negotiated "
                f"channel_max ({self.channel_max})",
                offender=(0, 0),
            )
        quotas.check_channel(self)
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

    def refuse(self, channel: Channel, error: AmqpException, offender: tuple[int, int]) -> None:
        """The peer has made a mistake that costs the channel."""
        self.close_channel(channel, error, offender)

    def close_channel(self, channel: Channel, error: AmqpException, offender: tuple[int, int]) -> None:
        self.intake.assemblies.pop(channel.number, None)
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
        clock = self.broker.peers_clock
        clock.at(clock.now + PATIENCE, type(self).finish, self)

    def lost(self) -> None:
        """The transport is gone. What was to be said or read is let go at once, not only by a collector of garbage."""
        self.end_channels()
        self.finish()
        self.broker.forget(self)
        self.outbox.take()
        self.intake.forget()

    def end_channels(self) -> None:
        """Requeue everything; none of it may go to a consumer of this same connection."""
        self.outbox.limit.stalled = True
        channels, self.channels = self.channels, {}
        for channel in channels.values():
            if channel.unacked or not channel.closing:
                channel.end()
        self.intake.assemblies.clear()
        for queue in list(self.exclusive):
            self.vhost.delete_queue(queue)

    def beat(self) -> None:
        """Twice per heartbeat interval: say something if nothing was said, give up on a silent peer."""
        now = self.broker.peers_clock.now
        if self.finished:
            return
        if now - self.heard_at > 2 * self.heartbeat and not self.intake.waiting:
            self.end_channels()
            self.finish()
            return
        if now - self.wrote_at >= self.heartbeat / 2:
            self.send(codec.Heartbeat())
        self.broker.peers_clock.at(now + self.heartbeat / 2, type(self).beat, self)

    # -- what the peer announced

    def announces(self, capability: str) -> bool:
        return self.capabilities.get(capability) is True

    def announces_cancel(self) -> bool:
        return self.announces("consumer_cancel_notify")
