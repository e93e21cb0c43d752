"""The asyncio shell: sockets and the clock around the pure core.

Octets go in as they arrive; what all connections have to say is written once per tick of the event
loop, one write per connection (`peer.py`). A single timer stands at the core's next due time.

Time can be made to pass at once where the clock is not real. That of peers then goes on by itself, unless it is to leap
as well: who has agreed to heartbeats cannot send them faster. Whatever is told to the broker from beside takes effect
behind what clients have handed over before (`take_in`).
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from reference_broker.core.broker import Broker
from reference_broker.core.connections.connection import Connection
from reference_broker.peer import Peer, origin_of
from reference_broker.tls import Secure

if TYPE_CHECKING:
    from reference_broker.store.keeper import Store

logger = logging.getLogger(__name__)
ClockKind = Literal["real", "virtual", "elastic"]
"""Elastic is real time that can be made to pass faster."""
SHUTDOWN = "broker forced connection closure with reason 'shutdown'"
GOODBYE = 1.0
"""Seconds that are left to those who have handed over much."""
CATCHING_UP = 1_000
"""Turns at most in which what was put off is done before time passes."""


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

    async def restart(self) -> None:
        """Tell everybody that this is the end, cut them off, and go on with what would be on disk."""
        await self.say_goodbye()
        await self.crash()

    async def say_goodbye(self) -> None:
        """Work off what clients have handed over, as far as that takes no time, and tell everybody that this is the
        end."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.take_in(), GOODBYE)
        self.broker.close_those(lambda one: True, SHUTDOWN)
        self.flush()

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
        """Let time pass at once; that of peers, too? What is put off is done before: nobody is idle for so long."""
        self.move()
        for _ in range(CATCHING_UP):
            if not self.broker.dirty:
                break
            self.flush()
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
