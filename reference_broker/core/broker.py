"""The pure core: connections come and go, octets go in, octets and times come out.

There is no socket, clock or chance in here. The driver moves the clock before each input, feeds the
octets of a connection, and then takes what the `dirty` connections have to say. `unique` is the
source of server-made names; a driver that wants other names on each start passes another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any, cast

from codec import values
from codec.errors import ReplyCode
from reference_broker.core.access import SALT, Access, Permission, Rights, Topics
from reference_broker.core.clock import Clock
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.limits import Limits, Memory, Newcomers
from reference_broker.core.connections.origin import Origin
from reference_broker.core.edition import Edition
from reference_broker.core.errors import ConnectionException
from reference_broker.core.parts import Parts
from reference_broker.core.settings import About
from reference_broker.core.vhost import VirtualHost

CAPABILITIES = {
    "publisher_confirms": True,
    "exchange_exchange_bindings": True,
    "basic.nack": True,
    "consumer_cancel_notify": True,
    "connection.blocked": True,
    "consumer_priorities": True,
    "authentication_failure_close": True,
    "per_consumer_qos": True,
    "direct_reply_to": True,
}


DEFAULT_VHOST = "/"
NOTHING = Rights(Permission("", "", ""))


def counted_salt() -> Callable[[], bytes]:
    numbers = count(1)
    return lambda: next(numbers).to_bytes(SALT, "big")


def counted_names() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"{next(numbers):022d}"


class Broker:
    def __init__(
        self,
        *,
        product: str | None = None,
        version: str | None = None,
        limits: Limits | None = None,
        users: Mapping[str, str] | None = None,
        parts: Parts | None = None,
        unique: Callable[[], str] | None = None,
        salt: Callable[[], bytes] | None = None,
        now: float = 0.0,
    ) -> None:
        """`users`: names and passwords of those who may do anything in the default virtual host."""
        self.parts = parts or Parts()
        self.clock = Clock(now)
        self.peers_clock = self.clock
        """The time in which peers have to log in, answer and send heartbeats."""
        self.limits = limits or Limits()
        self.unique = unique or counted_names()
        self.access = Access(users or {"guest": "guest"}, DEFAULT_VHOST, salt or counted_salt())
        self.vhosts: dict[str, VirtualHost] = {}
        self.vhost = self.add_vhost(DEFAULT_VHOST)
        self.newcomers = Newcomers(self.peers_clock, self.limits.handshake, Connection.finish)
        self.max_message = self.limits.max_message or self.edition.max_message
        self.memory = Memory(self, self.limits.memory) if self.limits.memory is not None else None
        self.global_parameters: dict[str, Any] = {}
        """What operators keep here for themselves."""
        self.alarm: str | None = None
        """Why nobody may publish for now."""
        self.connections: dict[Connection, None] = {}
        self.dirty: dict[Connection, None] = {}
        self.server_properties = values.table(
            {
                "product": product or self.edition.product,
                "version": version or self.edition.version or "0",
                "platform": "Python",
                "copyright": "",
                "information": "The conformance suite's own broker.",
                "capabilities": CAPABILITIES,
            }
        )

    @property
    def edition(self) -> Edition:
        """What it says that it is, and the numbers of that."""
        return self.parts.edition

    def remake(self, parts: Parts) -> None:
        """From now on make connections and queues of these parts. What is there stays as it is."""
        self.parts = parts
        for vhost in self.vhosts.values():
            vhost.parts = parts

    # -- connections

    def connect(self, origin: Origin | None = None) -> Connection:
        connection = self.parts.connection(self)
        connection.origin = origin or connection.origin
        self.connections[connection] = None
        self.newcomers.came(connection)
        return connection

    def forget(self, connection: Connection) -> None:
        self.connections.pop(connection, None)
        self.dirty.pop(connection, None)
        self.newcomers.left(connection)

    def close_those(self, concerned: Callable[[Connection], bool], text: str) -> None:
        """Close connections because somebody wants it so."""
        for connection in [one for one in self.connections if concerned(one)]:
            connection.close(ConnectionException(ReplyCode.CONNECTION_FORCED, text), (0, 0))

    def restart(self) -> None:
        """As if it had ended and been started again, when everybody has been cut off."""
        for vhost in self.vhosts.values():
            vhost.restart()

    def raise_alarm(self, reason: str) -> None:
        """Resources are low: from now on who publishes is told so (connection.blocked) and is heard no further."""
        self.alarm = reason

    def clear_alarm(self) -> None:
        self.alarm = None
        for connection in self.connections:
            connection.unblock()

    # -- virtual hosts and who may enter them

    def add_vhost(self, name: str) -> VirtualHost:
        """The virtual host of that name, made if there is none; the settings of a node hold in all of them."""
        if name not in self.vhosts:
            vhost = self.parts.vhost(self.parts, self.clock, self.unique, name)
            for other in self.vhosts.values():
                vhost.settings.consumer_timeout = other.settings.consumer_timeout
            self.vhosts[name] = vhost
        return self.vhosts[name]

    def limit_vhost(self, vhost: VirtualHost, quotas: Mapping[str, int]) -> None:
        """From now on there may be so much in it, and no more."""
        vhost.quotas = quotas
        self.vhosts[vhost.name] = vhost

    def describe_vhost(self, vhost: VirtualHost, about: About) -> None:
        vhost.about = about
        self.vhosts[vhost.name] = vhost

    def delete_vhost(self, name: str) -> None:
        """With everything in it, and everybody."""
        vhost = self.vhosts.pop(name)
        self.close_those(lambda one: one.vhost is vhost, f"vhost '{name}' is deleted")
        vhost.delete_everything()
        self.access.forget_vhost(name)

    def delete_user(self, name: str) -> None:
        del self.access.users[name]
        self.close_those(lambda one: one.user == name, f"user '{name}' is deleted")

    def permit(self, user: str, vhost: str, permission: Permission | None) -> None:
        """Grant or revoke; who is there already, is held to it, too."""
        known = self.access.users[user].permissions
        if permission is None:
            known.pop(vhost, None)
        else:
            known[vhost] = permission
        self.hold_to_rights(user, vhost)

    def permit_topics(self, user: str, vhost: str, topics: Topics) -> None:
        """Likewise, all of them at once."""
        if topics:
            self.access.users[user].topics[vhost] = topics
        else:
            self.access.users[user].topics.pop(vhost, None)
        self.hold_to_rights(user, vhost)

    def hold_to_rights(self, user: str, vhost: str) -> None:
        for connection in self.connections:
            if (connection.user, connection.vhost.name) == (user, vhost):
                connection.permit(self.access.rights(user, vhost) or NOTHING)

    def part_clocks(self) -> None:
        """From now on the time of peers is another one; before any of them comes."""
        self.peers_clock = self.newcomers.clock = Clock(self.clock.now)

    def move_to(self, now: float) -> None:
        """All time passes, up to that."""
        self.clock.move_to(now)
        if self.peers_clock is not self.clock:
            self.peers_clock.move_to(now)

    def take_dirty(self) -> Iterable[Connection]:
        """The connections that have something to say since the last call."""
        dirty, self.dirty = self.dirty, {}
        return cast("Iterable[Connection]", dirty)
