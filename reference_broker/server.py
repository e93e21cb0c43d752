"""The asyncio shell: sockets and the clock around the pure core.

Octets go in as they arrive; what all connections have to say is written once per tick of the event
loop, one write per connection. A single timer stands at the core's next due time. A peer that does
not read makes its connection stall in the core, which stops its consumers and nobody else's; one that takes nothing
at all for a while is cut off, and one whose frames wait is not read any further.

Time can be made to pass at once where the clock is not real. That of peers then goes on by itself, unless it is to leap
as well: who has agreed to heartbeats cannot send them faster. Whatever is told to the broker from beside takes effect
behind what clients have handed over before (`take_in`).

A connection that is over is closed for writing, and read until the peer is quiet: to close it with something unread
would take from the peer what it has not read itself, the close-ok first of all. Where the peer asked for the end, it is
the one to hang up; clients take a connection that ends beside close-ok for a failure.
"""

from __future__ import annotations

import asyncio
import logging
import selectors
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from codec.errors import ReplyCode
from reference_broker.broker import Broker
from reference_broker.connection import Connection
from reference_broker.errors import ConnectionException
from reference_broker.limits import LINGER, LINGERS, PARTING, STALL, UNREAD
from reference_broker.origin import Origin
from reference_broker.tls import Secure, certificate

if TYPE_CHECKING:
    from reference_broker.store.keeper import Store

logger = logging.getLogger(__name__)
ClockKind = Literal["real", "virtual", "elastic"]
"""Elastic is real time that can be made to pass faster."""


SLICE = 1 << 16
"""Octets that are worked off before anybody looks at the clock."""
UNDER_WAY = 1 << 24
"""Octets of one connection that operating systems hold at most: 4 MiB at one end and 6 at the other, as Linux
comes."""
TURN = 0.005
"""Seconds that a peer may keep the others waiting, about."""


class Peer(asyncio.Protocol):
    """One TCP connection."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.connection: Connection | None = None
        self.transport: asyncio.Transport | None = None
        self.reading = True
        self.arrived = b""
        self.heard = 0
        """Octets that were worked off."""
        self.departed = self.still_talks = False
        self.linger_timer: asyncio.TimerHandle | None = None
        self.stall_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.connection = self.server.joined(self)

    def data_received(self, data: bytes) -> None:
        if self.departed:
            self.still_talks = True
            return
        self.server.move()
        if self.arrived or len(data) > SLICE:
            self.arrived += data
            self.work()
        else:
            self.feed(data)
        self.server.schedule_flush()

    def feed(self, data: bytes) -> None:
        assert self.connection is not None
        self.heard += len(data)
        try:
            self.connection.feed(data)
        except Exception:
            logger.exception("a defect in the broker; the connection is closed")
            self.connection.close(ConnectionException(ReplyCode.INTERNAL_ERROR), (0, 0))

    def work(self) -> None:
        """What has arrived, for as long as it is this peer's turn; the rest when the others have had theirs."""
        assert self.connection is not None
        at, until = 0, self.server.loop.time() + TURN
        while at < len(self.arrived) and not self.connection.waiting:
            self.feed(self.arrived[at : at + SLICE])
            at += SLICE
            if self.server.loop.time() > until:
                break
        self.arrived = b"" if self.connection.finished else self.arrived[at:]
        self.server.touch(self.connection)

    def connection_lost(self, exc: Exception | None) -> None:
        assert self.connection is not None
        self.stop_watching()
        if self.linger_timer is not None:
            self.linger_timer.cancel()
        self.arrived = b""
        self.server.left(self.connection)

    def pause_writing(self) -> None:
        assert self.connection is not None
        self.connection.stall(True)
        self.watch()

    def resume_writing(self) -> None:
        assert self.connection is not None
        self.stop_watching()
        self.server.move()
        self.connection.stall(False)
        self.server.schedule_flush()

    def write(self) -> None:
        """What there is to say. A defect costs this peer its connection, and nobody else anything."""
        assert self.transport is not None
        try:
            self.say()
        except Exception:
            logger.exception("a defect in the broker; the connection is cut off")
            self.transport.abort()

    def say(self) -> None:
        assert self.connection is not None
        assert self.transport is not None
        data = self.connection.take()
        if data:
            self.transport.write(data)
            self.connection.unread = self.transport.get_write_buffer_size()
        if self.connection.finished and not self.connection.outbox:
            self.depart()
            return
        if self.arrived and not self.connection.waiting:
            self.server.loop.call_soon(self.go_on)
        if self.reading is bool(self.connection.waiting or self.arrived):
            self.reading = not self.reading
            (self.transport.resume_reading if self.reading else self.transport.pause_reading)()

    def go_on(self) -> None:
        if self.arrived:
            self.server.move()
            self.work()
            self.server.schedule_flush()

    def depart(self) -> None:
        """Close the transport, once, when the peer has taken what was said to it, and has nothing more to say."""
        assert self.connection is not None
        assert self.transport is not None
        if not self.departed:
            self.departed = True
            self.watch()
            if not self.reading:
                self.transport.resume_reading()
            if self.connection.parted:
                self.linger_timer = self.server.loop.call_later(PARTING, self.transport.close)
                return
            if self.transport.can_write_eof():
                with suppress(OSError):  # the peer may have gone
                    self.transport.write_eof()
            self.linger_timer = self.server.loop.call_later(LINGER, self.listen_on, LINGERS)

    def listen_on(self, times: int) -> None:
        assert self.transport is not None
        if self.still_talks and times:
            self.still_talks = False
            self.linger_timer = self.server.loop.call_later(LINGER, self.listen_on, times - 1)
        else:
            self.transport.close()

    # -- what it has handed over

    def ceiling(self) -> int:
        """When so much has been worked off, all has been that is under way now."""
        return self.heard + len(self.arrived) + UNDER_WAY

    def owes(self, ceiling: int) -> bool:
        """Has it handed over anything that can be worked off, and has not been?"""
        assert self.connection is not None
        assert self.transport is not None
        if self.connection not in self.server.peers:
            return False
        if self.transport.is_closing():
            return not self.departed and not self.transport.get_write_buffer_size()
        if self.connection.blocked or self.connection.unread > UNREAD:
            return False
        return bool(self.arrived or self.connection.waiting) or (self.heard < ceiling and self.unread())

    def unread(self) -> bool:
        """Is anything in the socket? What the peer holds back until the rest is acknowledged (Nagle), comes."""
        assert self.transport is not None
        line = self.transport.get_extra_info("socket")
        if hasattr(socket, "TCP_QUICKACK"):
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        with selectors.DefaultSelector() as selector:
            selector.register(line.fileno(), selectors.EVENT_READ)
            return bool(selector.select(0))

    # -- a peer that takes nothing

    def watch(self) -> None:
        """From now on it has to take something in a while, if there is anything."""
        assert self.transport is not None
        unread = self.transport.get_write_buffer_size()
        if unread and self.stall_timer is None:
            self.stall_timer = self.server.loop.call_later(STALL, self.look, unread)

    def look(self, before: int) -> None:
        assert self.transport is not None
        self.stall_timer = None
        if self.transport.get_write_buffer_size() >= before:
            self.transport.abort()
        else:
            self.watch()

    def stop_watching(self) -> None:
        if self.stall_timer is not None:
            self.stall_timer.cancel()
            self.stall_timer = None


class Server:
    """A broker core on a listening socket, inside a running event loop."""

    def __init__(self, broker: Broker, clock: ClockKind = "real", connections: int | None = None) -> None:
        """`connections`: how many are taken before all is over, which is a way to be wrong; None: any number."""
        self.broker = broker
        self.connections_left = connections
        self.clock = clock
        broker.clock.flows = clock != "virtual"
        self.ahead = self.peers_ahead = 0.0
        """Seconds by which the clocks of the broker have been made to leap."""
        if clock != "real":
            broker.part_clocks()
        self.loop = asyncio.get_running_loop()
        self.peers: dict[Connection, Peer] = {}
        self.listeners: list[asyncio.Server] = []
        self.ports: list[tuple[int, Secure | None]] = []
        self.flushing = False
        self.timer: asyncio.TimerHandle | None = None
        self.store: Store | None = None

    async def listen(self, host: str, port: int, secure: Secure | None = None) -> int:
        """Start to listen, with TLS where it is `secure`; the port that was taken, when asked for a free one with 0."""
        self.move()
        patience = self.broker.limits.handshake if secure is not None else None
        listener = await self.loop.create_server(
            lambda: Peer(self), host, port, ssl=secure, ssl_handshake_timeout=patience, ssl_shutdown_timeout=patience
        )
        self.listeners.append(listener)
        taken: int = listener.sockets[0].getsockname()[1]
        self.ports.append((taken, secure))
        return taken

    async def close(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.die()
        while self.peers:
            await asyncio.sleep(0)
        if self.store is not None:
            self.store.close()

    def die(self) -> None:
        """Listen no more, and cut off everybody."""
        for listener in self.listeners:
            listener.close()
        for peer in self.peers.values():
            assert peer.transport is not None
            peer.transport.abort()

    async def crash(self) -> None:
        """Cut everybody off, unheard, and go on with what would be on disk. A broker with a store has a real one."""
        assert self.store is None
        for peer in self.peers.values():
            assert peer.transport is not None
            peer.arrived = b""
            peer.transport.abort()
        while self.peers:
            await asyncio.sleep(0)
        self.broker.restart()

    # -- time

    def move(self) -> None:
        now = self.loop.time()
        try:
            if self.clock == "real":
                self.broker.move_to(now)
                return
            self.broker.peers_clock.move_to(now + self.peers_ahead)
            if self.clock == "elastic":
                self.broker.clock.move_to(now + self.ahead)
        except Exception:
            logger.exception("a defect in the broker, in something that was due")

    def advance(self, seconds: float, peers: bool = False) -> None:
        """Let time pass at once; that of peers, too?"""
        self.move()
        if peers:
            self.peers_ahead += seconds
            self.broker.peers_clock.move_to(self.broker.peers_clock.now + seconds)
        self.ahead += seconds
        self.broker.clock.move_to(self.broker.clock.now + seconds)
        self.flush()

    async def take_in(self) -> None:
        """What clients have handed over until now is worked off when this returns, as far as they are heard at all."""
        owing = {peer: peer.ceiling() for peer in self.peers.values()}
        while owing := {peer: most for peer, most in owing.items() if peer.owes(most)}:
            await asyncio.sleep(0)

    def alarm(self, reason: str | None) -> None:
        """Raise it, or clear it with None."""
        if reason is None:
            self.broker.clear_alarm()
        else:
            self.broker.raise_alarm(reason)
        self.flush()

    def watch(self) -> None:
        """Keep one timer at the time the core wants to be called next."""
        due = self.next_due()
        if self.timer is not None:
            if self.timer.when() == due:
                return
            self.timer.cancel()
        self.timer = self.loop.call_at(due, self.due) if due is not None else None

    def next_due(self) -> float | None:
        """By the clock of the loop."""
        clocks = [(self.broker.peers_clock, self.peers_ahead)]
        if self.clock == "elastic":
            clocks.append((self.broker.clock, self.ahead))
        return min((due - ahead for clock, ahead in clocks if (due := clock.next_due()) is not None), default=None)

    def due(self) -> None:
        self.timer = None
        self.move()
        self.flush()

    # -- connections

    def joined(self, peer: Peer) -> Connection:
        self.move()
        assert peer.transport is not None
        connection = self.broker.connect(origin_of(peer.transport))
        self.peers[connection] = peer
        if self.connections_left is not None:
            self.connections_left -= 1
            if self.connections_left <= 0:
                self.die()
        self.schedule_flush()
        return connection

    def left(self, connection: Connection) -> None:
        self.move()
        connection.lost()
        del self.peers[connection]
        self.schedule_flush()

    # -- writing

    def touch(self, connection: Connection) -> None:
        """Look at this one in the next flush, even if it has nothing to say."""
        self.broker.dirty[connection] = None

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
        if self.store is not None:
            self.store.flush()
        if self.broker.dirty:
            self.schedule_flush()
        self.watch()


def origin_of(transport: asyncio.BaseTransport) -> Origin:
    here, there = (transport.get_extra_info(name) or ("127.0.0.1", 0) for name in ("sockname", "peername"))
    secure = transport.get_extra_info("ssl_object")
    if secure is None:
        return Origin(there[0], there[1], here[0], here[1])
    cipher = secure.cipher()
    shown = certificate(secure.getpeercert())
    return Origin(there[0], there[1], here[0], here[1], secure.version() or "", cipher[0] if cipher else "", shown)
