"""What a peer can cost at most: how long it may take to say who it is, how much it may send and leave unread.

All of them hold for every connection, so that a hostile one costs a bounded amount and nobody else anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_broker.core.broker import Broker
    from reference_broker.core.clock import Clock
    from reference_broker.core.connections.connection import Connection


@dataclass(frozen=True, slots=True)
class Limits:
    frame_max: int = 131072
    """Octets of a frame, offered in connection.tune."""
    first_frame_max: int = 8192
    """Octets of a frame of somebody who has not logged in."""
    channel_max: int = 2047
    heartbeat: int = 60
    """Seconds, offered in connection.tune; 0 for none."""
    max_message: int | None = None
    """Octets of a body; None: as many as the dialect allows."""
    memory: int | None = None
    """Octets of message bodies, ready, unacked or still arriving, from which on publishers are blocked."""
    handshake: float = 10.0
    """Seconds from the connection to connection.open."""
    outgoing: int = 1 << 20
    """Octets of message bodies that wait to be written to one peer, before its input has to wait, too."""


SMALLEST_FRAME_MAX = 4096
UNSAID = 512
"""Frames and messages that wait to be encoded for a peer, before what it sent has to wait."""
UNREAD = 1 << 24
"""Octets that a peer may leave unread, before what it sends has to wait."""
STALL = 15.0
"""Seconds in which a peer has to take at least something of what waits for it."""
LINGER, LINGERS = 1.0, 10
"""Seconds in which a peer whose connection is over has to say nothing more, and how often they may begin again."""
PARTING = 30.0
"""Seconds that a peer which closed its connection has to hang up, after close-ok, before the broker does."""
PATIENCE = 10.0
"""Seconds that a peer has to answer connection.close."""


class Memory:
    """The watch over message bodies. Counting them is expensive. So it is done once for this many octets that arrive,
    and several times a second while there are too many. Publishers continue when a tenth is free again."""

    AGAIN = 0.2
    """Seconds."""

    def __init__(self, broker: Broker, limit: int) -> None:
        self.broker, self.limit = broker, limit
        self.arrived = 0
        self.low = self.watching = False

    def heard(self, octets: int) -> None:
        self.arrived += octets
        if self.arrived * 32 > self.limit:
            self.look()

    def used(self) -> int:
        ready = sum(queue.ready.octets for vhost in self.broker.vhosts.values() for queue in vhost.queues.values())
        return ready + sum(connection.keeps() for connection in self.broker.connections)

    def look(self) -> None:
        self.arrived = 0
        used, broker = self.used(), self.broker
        if not self.low and used > self.limit and broker.alarm is None:
            self.low = True
            broker.raise_alarm("low on memory")
        elif self.low and used < 0.9 * self.limit:
            self.low = False
            broker.clear_alarm()
        if self.low:
            for connection in broker.connections:
                if connection.intake.assemblies and not connection.blocked:
                    connection.block("low on memory")
            self.watch()

    def watch(self) -> None:
        if not self.watching:
            self.watching = True
            clock = self.broker.peers_clock
            clock.at(clock.now + self.AGAIN, self.look_again)

    def look_again(self) -> None:
        self.watching = False
        self.look()


class Newcomers:
    """Connections that are not open yet. All have equally long, so the oldest is due first and one timer is enough."""

    def __init__(self, clock: Clock, patience: float, give_up: Callable[[Connection], None]) -> None:
        self.clock, self.patience, self.give_up = clock, patience, give_up
        self.due: dict[Connection, float] = {}
        self.watching = False

    def came(self, connection: Connection) -> None:
        self.due[connection] = self.clock.now + self.patience
        self.watch()

    def left(self, connection: Connection) -> None:
        """It is open, or gone."""
        self.due.pop(connection, None)

    def watch(self) -> None:
        if self.due and not self.watching:
            self.watching = True
            self.clock.at(next(iter(self.due.values())), self.look)

    def look(self) -> None:
        self.watching = False
        late = [connection for connection, due in self.due.items() if due <= self.clock.now]
        for connection in late:
            del self.due[connection]
            self.give_up(connection)
        self.watch()
