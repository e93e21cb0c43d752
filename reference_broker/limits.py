"""What a peer can cost at most: how long it may take to say who it is, how much it may send and leave unread.

All of them hold for every connection, so that a hostile one costs a bounded amount and nobody else anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_broker.clock import Clock
    from reference_broker.connection import Connection


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
PATIENCE = 10.0
"""Seconds that a peer has to answer connection.close."""


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
