"""The pure core: connections come and go, octets go in, octets and times come out.

There is no socket, clock or chance in here. The driver moves the clock before each input, feeds the
octets of a connection, and then takes what the `dirty` connections have to say. `unique` is the
source of server-made names; a driver that wants other names on each start passes another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count

from codec import values
from reference_broker.clock import Clock
from reference_broker.connection import Connection
from reference_broker.dialects import DOCUMENTED, Dialect
from reference_broker.parts import Parts

CAPABILITIES = {
    "publisher_confirms": True,
    "exchange_exchange_bindings": True,
    "basic.nack": True,
    "consumer_cancel_notify": True,
    "consumer_priorities": True,
    "authentication_failure_close": True,
    "per_consumer_qos": True,
}


def counted_names() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"{next(numbers):022d}"


class Broker:
    def __init__(
        self,
        *,
        product: str | None = None,
        version: str | None = None,
        dialect: Dialect = DOCUMENTED,
        heartbeat: int = 60,
        users: Mapping[str, str] | None = None,
        parts: Parts | None = None,
        unique: Callable[[], str] | None = None,
        now: float = 0.0,
    ) -> None:
        self.parts = parts or Parts()
        self.dialect = dialect
        self.clock = Clock(now)
        self.heartbeat = heartbeat
        self.users = dict(users or {"guest": "guest"})
        self.vhost = self.parts.vhost(self.parts, self.clock, unique or counted_names(), dialect)
        self.connections: dict[Connection, None] = {}
        self.dirty: dict[Connection, None] = {}
        self.server_properties = values.table(
            {
                "product": product or dialect.product,
                "version": version or dialect.version or "0",
                "platform": "Python",
                "copyright": "",
                "information": "The conformance suite's own broker.",
                "capabilities": CAPABILITIES,
            }
        )

    def remake(self, parts: Parts) -> None:
        """From now on make connections and queues of these parts. What is there stays as it is."""
        self.parts = self.vhost.parts = parts

    def connect(self) -> Connection:
        connection = self.parts.connection(self)
        self.connections[connection] = None
        return connection

    def forget(self, connection: Connection) -> None:
        self.connections.pop(connection, None)
        self.dirty.pop(connection, None)

    def move_to(self, now: float) -> None:
        self.clock.move_to(now)

    def next_due(self) -> float | None:
        return self.clock.next_due()

    def take_dirty(self) -> Iterable[Connection]:
        """The connections that have something to say since the last call."""
        dirty, self.dirty = self.dirty, {}
        return dirty
