"""What a connection has to say, until its driver takes it.

Methods and whole messages collect here in the order of the core's effects; nothing is encoded before it leaves. The
octets of bodies that wait count towards a limit (`outgoing`) which stops the connection's consumers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import codec
from codec import methods as m
from codec.methods import BasicDeliver
from reference_broker.deliveries import Deliveries
from reference_broker.message import Message
from reference_broker.prefetch import Outgoing

if TYPE_CHECKING:
    from reference_broker.broker import Broker
    from reference_broker.channel import Channel

Outbound = codec.Method | codec.Heartbeat | codec.ProtocolHeader | tuple[codec.Method, Message]


class Outbox:
    """The outgoing side of one connection."""

    __slots__ = ("broker", "confirming", "deliveries", "frame_max", "outbox", "outgoing", "unread")

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.outbox: list[Outbound] = []
        self.deliveries = Deliveries()
        self.outgoing = Outgoing(broker.limits.outgoing)
        self.confirming: dict[Channel, None] = {}
        self.unread = 0
        """Octets that were written and that the peer has not taken, as far as the driver knows."""
        self.frame_max = broker.limits.frame_max

    def send(self, item: Outbound) -> None:
        self.outbox.append(item)
        self.broker.dirty[self] = None

    def send_ahead(self, ok: m.BasicCancelOk) -> None:
        """Before what is on its way to the consumer."""
        for place, item in enumerate(self.outbox):
            method = item[0] if isinstance(item, tuple) else None
            if isinstance(method, BasicDeliver) and (
                (method.channel, method.consumer_tag) == (ok.channel, ok.consumer_tag)
            ):
                self.outbox.insert(place, ok)
                self.broker.dirty[self] = None
                return
        self.send(ok)

    def send_content(self, method: codec.Method, message: Message) -> None:
        self.outgoing.held += len(message.body)
        self.outbox.append((method, message))
        self.broker.dirty[self] = None

    def confirm(self, channel: Channel) -> None:
        self.confirming[channel] = None
        self.broker.dirty[self] = None

    def leaving(self) -> list[Outbound]:
        """What is to be written now, taken out of the outbox."""
        items, self.outbox = self.outbox, []
        return items

    def encoded(self, items: Iterable[Outbound]) -> bytes:
        """All of them, one behind the other."""
        out: list[bytes] = []
        for item in items:
            out += self.pieces(item)
        return b"".join(out)

    def pieces(self, item: Outbound) -> Sequence[bytes]:
        """The octets of one."""
        if not isinstance(item, tuple):
            return (item.encode(),)
        method, message = item
        if isinstance(method, BasicDeliver):
            return self.deliveries.pieces(method, message, self.frame_max)
        return method.encode(), *message.frames(method.channel, self.frame_max)

    def stall(self, stalled: bool) -> None:
        """The transport cannot take more for now, or can again."""
        self.outgoing.stalled = stalled
        if not stalled:
            self.unread = 0
            self.outgoing.wake()
            self.broker.dirty[self] = None
