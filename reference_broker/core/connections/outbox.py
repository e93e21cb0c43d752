"""What a connection has to say, until its driver takes it.

Methods and whole messages collect here in the order of the core's effects; nothing is encoded before it leaves. The
octets of bodies that wait count towards a limit which stops the connection's consumers. An outbox does not know its
connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import codec
from codec.methods import BasicDeliver
from reference_broker.core.channels.deliveries import Deliveries
from reference_broker.core.channels.prefetch import Outgoing
from reference_broker.core.connections.limits import UNSAID, Limits
from reference_broker.core.queues.message import Message

Outbound = codec.Method | codec.Heartbeat | codec.ProtocolHeader | tuple[codec.Method, Message]


class Outbox:
    """The outgoing side of one connection."""

    __slots__ = ("deliveries", "frame_max", "items", "limit")

    def __init__(self, limits: Limits) -> None:
        self.items: list[Outbound] = []
        self.deliveries = Deliveries()
        self.limit = Outgoing(limits.outgoing)
        self.frame_max = limits.frame_max

    def put(self, item: Outbound) -> None:
        self.items.append(item)

    def put_content(self, method: codec.Method, message: Message) -> None:
        self.limit.held += len(message.body)
        self.items.append((method, message))

    def full(self) -> bool:
        """Is there so much to say that nothing more is to be heard for now?"""
        return len(self.items) > UNSAID or self.limit.held > self.limit.count

    def take(self) -> list[Outbound]:
        """Everything, in its order; the outbox is empty then."""
        items, self.items = self.items, []
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
