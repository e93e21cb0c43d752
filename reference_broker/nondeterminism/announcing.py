"""What a broker may lawfully tell its clients unasked: that it has run short of something, or that it can go on."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from codec import methods as m
from reference_broker.core.connections.lifecycle import Phase
from reference_broker.nondeterminism.kinds import SHARES, TICKS, Free, variation

if TYPE_CHECKING:
    from reference_broker.core.channels.channel import Channel
    from reference_broker.core.connections.connection import Connection
    from reference_broker.core.queues.message import Message


@variation(
    "blocked.announced",
    "tell a client that asked for it that it is short of something, and when it is not",
    'guide: Blocked Connections, "Connection Blocked Notifications": connection.blocked is sent when the broker is low '
    "on resources, connection.unblocked when all is back to normal; when that is, is the broker's to know",
    share=SHARES,
    ticks=TICKS,
    times=(1, 3, 20),
)
def announced(free: Free) -> None:
    honest, stop = free.parts.connection.take, free.parts.connection.block
    told: Counter[Connection] = Counter()
    short: set[Connection] = set()

    def take(self: Connection) -> bytes:
        """What it says makes it be looked at again, so it says that only so many times."""
        calm = self.phase is Phase.RUNNING and not self.blocked and self not in short
        if calm and told[self] < free.given["times"] and self.announces("connection.blocked") and free.luck():
            told[self] += 1
            short.add(self)
            self.send(m.ConnectionBlocked(0, "low on memory"))
            free.put_off(lambda: relieve(self))
        return honest(self)

    def block(self: Connection, reason: str) -> None:
        """Who was told already is not told again, and is told of the end when the alarm is over."""
        if self in short:
            short.discard(self)
            self.blocked = True
        else:
            stop(self, reason)

    def relieve(connection: Connection) -> None:
        if connection in short:
            short.discard(connection)
            if connection.phase is Phase.RUNNING:
                connection.send(m.ConnectionUnblocked(0))

    free.parts.override("connection", take=take, block=block)


@variation(
    "flow.restarts",
    "ask a client to go on with a channel that it never had to stop",
    "AMQP 0-9-1 XML: channel.flow, by which a peer asks the other to pause or restart the flow of content; the server "
    "may send it, too",
    share=SHARES,
)
def restarts(free: Free) -> None:
    honest = free.parts.channel.publish

    def publish(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
        if free.luck():
            self.connection.send(m.ChannelFlow(self.number, True))
        return honest(self, exchange, message, mandatory)

    free.parts.override("channel", publish=publish)
    free.parts.handlers[m.ChannelFlowOk] = lambda channel, method: None
