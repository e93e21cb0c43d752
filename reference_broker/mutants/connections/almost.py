"""Names that are almost those that are there, and are taken for them."""

from __future__ import annotations

from codec import methods as m
from reference_broker.core.connections.connection import Connection
from reference_broker.core.parts import Parts
from reference_broker.mutants.kinds import changes


@changes("almost.virtual-host", "virtual hosts are found without case, and without a slash at the end", "CONN-015")
def virtual_host(parts: Parts) -> None:
    below = parts.connection

    def enter(self: Connection, method: m.ConnectionOpen) -> None:
        wanted = method.virtual_host.lower().rstrip("/")
        alike = (name for name in self.broker.vhosts if name.lower().rstrip("/") == wanted)
        method.virtual_host = next(alike, method.virtual_host)
        below.enter(self, method)

    parts.override("connection", enter=enter)


@changes("almost.user", "users are found without case", "CONN-007")
def user(parts: Parts) -> None:
    below = parts.connection

    def log_in(self: Connection, method: m.ConnectionStartOk) -> None:
        authority, _, rest = method.response.partition(b"\0")
        called, _, password = rest.partition(b"\0")
        known = {name.lower().encode(): name.encode() for name in self.broker.access.users}
        method.response = b"\0".join((authority, known.get(called.lower(), called), password))
        below.log_in(self, method)

    parts.override("connection", log_in=log_in)
