"""The asyncio shell: sockets and the clock around the pure core.

Octets go in as they arrive; what all connections have to say is written once per tick of the event
loop, one write per connection. A single timer stands at the core's next due time. A peer that does
not read makes its connection stall in the core, which stops its consumers and nobody else's.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Literal

from codec.errors import ReplyCode
from reference_broker.broker import Broker
from reference_broker.connection import Connection
from reference_broker.errors import ConnectionException

logger = logging.getLogger(__name__)
ClockKind = Literal["real", "virtual", "elastic"]
"""Elastic is real time that can be made to pass faster."""


class Peer(asyncio.Protocol):
    """One TCP connection."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.connection: Connection | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.connection = self.server.joined(self)

    def data_received(self, data: bytes) -> None:
        assert self.connection is not None
        self.server.move()
        try:
            self.connection.feed(data)
        except Exception:
            logger.exception("a defect in the broker; the connection is closed")
            self.connection.close(ConnectionException(ReplyCode.INTERNAL_ERROR), (0, 0))
        self.server.schedule_flush()

    def connection_lost(self, exc: Exception | None) -> None:
        assert self.connection is not None
        self.server.left(self.connection)

    def pause_writing(self) -> None:
        assert self.connection is not None
        self.connection.stall(True)

    def resume_writing(self) -> None:
        assert self.connection is not None
        self.server.move()
        self.connection.stall(False)
        self.server.schedule_flush()

    def write(self) -> None:
        assert self.connection is not None
        assert self.transport is not None
        data = self.connection.take()
        if data:
            self.transport.write(data)
        if self.connection.finished:
            self.transport.close()


class Server:
    """A broker core on a listening socket, inside a running event loop."""

    def __init__(self, broker: Broker, clock: ClockKind = "real") -> None:
        self.broker = broker
        self.clock = clock
        self.ahead = 0.0
        self.loop = asyncio.get_running_loop()
        self.peers: dict[Connection, Peer] = {}
        self.listener: asyncio.Server | None = None
        self.flushing = False
        self.timer: asyncio.TimerHandle | None = None

    async def listen(self, host: str, port: int) -> int:
        """Start to listen; the port that was taken, when asked for a free one with 0."""
        self.move()
        self.listener = await self.loop.create_server(lambda: Peer(self), host, port)
        taken: int = self.listener.sockets[0].getsockname()[1]
        return taken

    async def close(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if self.listener is not None:
            self.listener.close()
        for peer in self.peers.values():
            assert peer.transport is not None
            peer.transport.abort()
        while self.peers:
            await asyncio.sleep(0)

    # -- time

    def move(self) -> None:
        if self.clock != "virtual":
            self.broker.move_to(self.loop.time() + self.ahead)

    def advance(self, seconds: float) -> None:
        """Let time pass at once."""
        if self.clock == "elastic":
            self.move()
            self.ahead += seconds
        self.broker.move_to(self.broker.clock.now + seconds)
        self.flush()

    def watch(self) -> None:
        """Keep one timer at the time the core wants to be called next."""
        due = self.broker.next_due() if self.clock != "virtual" else None
        if due is not None:
            due -= self.ahead
        if self.timer is not None:
            if self.timer.when() == due:
                return
            self.timer.cancel()
        self.timer = self.loop.call_at(due, self.due) if due is not None else None

    def due(self) -> None:
        self.timer = None
        self.move()
        self.flush()

    # -- connections

    def joined(self, peer: Peer) -> Connection:
        self.move()
        connection = self.broker.connect()
        self.peers[connection] = peer
        return connection

    def left(self, connection: Connection) -> None:
        self.move()
        connection.lost()
        del self.peers[connection]
        self.schedule_flush()

    # -- writing

    def schedule_flush(self) -> None:
        if not self.flushing:
            self.flushing = True
            self.loop.call_soon(self.flush)

    def flush(self) -> None:
        self.flushing = False
        for connection in self.broker.take_dirty():
            peer = self.peers.get(connection)
            if peer is not None:
                peer.write()
        if self.broker.dirty:
            self.schedule_flush()
        self.watch()
