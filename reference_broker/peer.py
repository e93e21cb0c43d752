"""One TCP connection of the shell: octets to the core as it is this peer's turn, and what the core says to the socket.

A peer that does not read makes its connection stall in the core, which stops its consumers and nobody else's; one that
takes nothing at all for a while is cut off, and one whose frames wait is not read any further.

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
from typing import TYPE_CHECKING

from codec.errors import ReplyCode
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.limits import LINGER, LINGERS, PARTING, STALL, UNREAD
from reference_broker.core.connections.origin import Origin
from reference_broker.core.errors import ConnectionException
from reference_broker.tls import certificate

if TYPE_CHECKING:
    from reference_broker.server import Server

logger = logging.getLogger(__name__)

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
        while at < len(self.arrived) and not self.connection.intake.waiting:
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
        if self.connection.finished and not self.connection.outbox.items:
            self.depart()
            return
        if self.arrived and not self.connection.intake.waiting:
            self.server.loop.call_soon(self.go_on)
        if self.reading is bool(self.connection.intake.waiting or self.arrived):
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
        return bool(self.arrived or self.connection.intake.waiting) or (self.heard < ceiling and self.unread())

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


def origin_of(transport: asyncio.BaseTransport) -> Origin:
    here, there = (transport.get_extra_info(name) or ("127.0.0.1", 0) for name in ("sockname", "peername"))
    secure = transport.get_extra_info("ssl_object")
    if secure is None:
        return Origin(there[0], there[1], here[0], here[1])
    cipher = secure.cipher()
    shown = certificate(secure.getpeercert())
    return Origin(there[0], there[1], here[0], here[1], secure.version() or "", cipher[0] if cipher else "", shown)
