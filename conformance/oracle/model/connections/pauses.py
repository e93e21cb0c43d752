"""When nothing was heard for a while: a broker, a client, or the machine of either may have stood still then.

A broker drops a client of which it has heard nothing. What a client that stood still says afterwards may meet the end
that it has earned before; and a broker that stood still may look at its clock before it looks at what has come
meanwhile. So the end of a connection with heartbeats counts as too early only while both were heard all the time.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from conformance.oracle.model.connections.connection import Connection

SECOND = 1_000_000_000
SHORTEST = SECOND // 2
"""No interval of heartbeats is shorter than a second; half of one is a pause."""
LONG = 3
"""So many intervals before an end are looked at: a broker may notice after two, and the end may be read late."""
KEPT = 16


@dataclass(slots=True)
class Pauses:
    """Of the broker, on whichever connection; and of the clients that agreed to heartbeats."""

    heard_at: int = 0
    """The time of the broker's last frame."""
    of_broker: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=KEPT))
    """When each ended, and how long it was."""
    of_clients: dict[str, deque[tuple[int, int]]] = field(default_factory=dict)

    def broker_speaks(self, now: int) -> None:
        if self.heard_at and now - self.heard_at > SHORTEST:
            self.of_broker.append((now, now - self.heard_at))
        self.heard_at = now

    def client_speaks(self, connection: Connection, now: int) -> None:
        silent = now - connection.heard_at if connection.heard_at else 0
        connection.heard_at = now
        if connection.heartbeat and silent > SHORTEST:
            self.of_clients.setdefault(connection.name, deque(maxlen=KEPT)).append((now, silent))

    def none_before(self, connection: Connection, now: int) -> bool:
        """Was the broker heard every half interval before this, and the client every interval?"""
        interval = connection.heartbeat * SECOND
        since, most = now - LONG * interval, interval // 2
        broker = any(length > most for ended, length in self.of_broker if ended > since)
        client = any(length >= interval for ended, length in self.of_clients.get(connection.name, ()) if ended > since)
        return not (broker or client or now - self.heard_at > most)

    def forget(self, connection: Connection) -> None:
        """It has ended, and nothing more is asked about it."""
        self.of_clients.pop(connection.name, None)
