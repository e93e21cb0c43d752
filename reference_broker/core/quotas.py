"""How much a virtual host and a user may have: what an operator sets, and what is refused for it.

A quota below zero is none; zero forbids everything. What is there when it is set stays. Texts and codes are RabbitMQ's,
measured on 3.10; 3.8 knows none for users, and 4.0 names the node where the user is meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reference_broker.core.errors import not_allowed, precondition

if TYPE_CHECKING:
    from reference_broker.core.connections.connection import Connection
    from reference_broker.core.vhost import VirtualHost

Quotas = Mapping[str, int]
CONNECTIONS, QUEUES, CHANNELS = "max-connections", "max-queues", "max-channels"
OF_VHOSTS = (CONNECTIONS, QUEUES)
OF_USERS = (CONNECTIONS, CHANNELS)


class InvalidQuota(ValueError):
    """A quota that cannot be; the message says why, as RabbitMQ does."""


def checked(given: Mapping[str, Any], known: tuple[str, ...], called: str) -> dict[str, int]:
    """Quotas of that kind, `called` so. Raises Invalid."""
    for name, value in given.items():
        if name not in known:
            raise InvalidQuota(f'Unrecognised terms [{{<<"{name[:100]}">>,{print_as_erlang(value)}}}] in {called}')
        if not isinstance(value, int) or isinstance(value, bool):
            raise InvalidQuota(f"{name} should be a number, actually was {print_as_erlang(value)}")
    return dict(given)


def print_as_erlang(value: Any) -> str:
    """As Erlang prints it."""
    return f'<<"{value[:100]}">>' if isinstance(value, str) else str(value)[:100]


def reached(quotas: Quotas, name: str, count: int) -> bool:
    return 0 <= quotas.get(name, -1) <= count


def check_entry(connection: Connection, vhost: VirtualHost) -> None:
    """May one more connection enter? Raises ConnectionException."""
    broker, user = connection.broker, connection.user
    inside = [one for one in broker.connections if one is not connection and counts(one)]
    if reached(vhost.quotas, CONNECTIONS, sum(one.vhost is vhost for one in inside)):
        raise not_allowed(
            f"access to vhost '{vhost.name}' refused for user '{user}': "
            f"connection limit ({vhost.quotas[CONNECTIONS]}) is reached"
        )
    own = quotas_of(connection)
    if reached(own, CONNECTIONS, sum(one.user == user for one in inside)):
        raise not_allowed(
            f"connection refused for user '{user}': user connection limit ({own[CONNECTIONS]}) is reached"
        )


def check_channel(connection: Connection) -> None:
    """May this one open one more channel? Raises ConnectionException."""
    own = quotas_of(connection)
    if not own:
        return
    open_channels = sum(
        len(one.channels) for one in connection.broker.connections if one.user == connection.user and counts(one)
    )
    if reached(own, CHANNELS, open_channels):
        raise not_allowed(
            f"number of channels opened for user '{connection.user}' has reached the maximum allowed "
            f"user limit of ({own[CHANNELS]})",
            offender=(0, 0),
        )


def check_queue(vhost: VirtualHost, name: str) -> None:
    """May there be one more queue? Raises ChannelException."""
    if reached(vhost.quotas, QUEUES, len(vhost.queues)):
        raise precondition(
            f"cannot declare queue '{name}': queue limit in vhost '{vhost.name}' ({vhost.quotas[QUEUES]}) is reached"
        )


def counts(connection: Connection) -> bool:
    return connection.entered and not connection.finished


def quotas_of(connection: Connection) -> Quotas:
    user = connection.broker.access.users.get(connection.user)
    return {} if user is None else user.quotas
