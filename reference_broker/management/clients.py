"""Connections, channels and consumers: listed, and connections closed."""

from __future__ import annotations

from collections.abc import Iterable

from codec.errors import ReplyCode
from reference_broker.core.connections.connection import Connection
from reference_broker.core.errors import ConnectionException
from reference_broker.management.answers import views
from reference_broker.management.route import NOT_FOUND, Answer, Ask, Refusal, Route, route

ROUTES: list[Route] = []
REASON = "Closed via management plugin"


def visible(ask: Ask, vhost: str | None = None) -> list[Connection]:
    """Those of the user, or all for one who monitors."""
    everybodys = any(tag in ("monitoring", "administrator") for tag in ask.user.tags)
    return [
        one
        for one in views.opened(ask.node.broker)
        if (everybodys or one.user == ask.user.name) and vhost in (None, one.vhost.name)
    ]


def known(ask: Ask) -> Connection:
    for one in visible(ask):
        if one.origin.name == ask.path["connection"]:
            return one
    raise Refusal(*NOT_FOUND)


def channels_of(connections: Iterable[Connection]) -> Answer:
    return Answer([views.channel(one) for each in connections for one in each.channels.values()])


@route(ROUTES, "GET", "/api/connections", "Open connections.", shape="Connection[]")
def connections(ask: Ask) -> Answer:
    return Answer([views.connection(one) for one in visible(ask)])


@route(ROUTES, "GET", "/api/vhosts/{vhost}/connections", "Open connections to one virtual host.", shape="Connection[]")
def vhost_connections(ask: Ask) -> Answer:
    return Answer([views.connection(one) for one in visible(ask, ask.vhost().name)])


@route(ROUTES, "GET", "/api/connections/{connection}", "One connection.", shape="Connection")
def connection(ask: Ask) -> Answer:
    return Answer(views.connection(known(ask)))


@route(
    ROUTES,
    "DELETE",
    "/api/connections/{connection}",
    "Close a connection; the header X-Reason says why.",
    statuses=(204,),
)
def close(ask: Ask) -> Answer:
    reason = ask.headers.get("x-reason") or REASON
    known(ask).close(ConnectionException(ReplyCode.CONNECTION_FORCED, reason), (0, 0))
    return Answer(status=204)


@route(ROUTES, "GET", "/api/connections/{connection}/channels", "The channels of one connection.", shape="Channel[]")
def connection_channels(ask: Ask) -> Answer:
    return channels_of([known(ask)])


@route(ROUTES, "GET", "/api/channels", "Open channels.", shape="Channel[]")
def channels(ask: Ask) -> Answer:
    return channels_of(visible(ask))


@route(ROUTES, "GET", "/api/vhosts/{vhost}/channels", "Open channels in one virtual host.", shape="Channel[]")
def vhost_channels(ask: Ask) -> Answer:
    return channels_of(visible(ask, ask.vhost().name))


@route(
    ROUTES,
    "GET",
    "/api/channels/{channel}",
    "One channel, by the name of its connection and its number.",
    shape="Channel",
)
def channel(ask: Ask) -> Answer:
    for each in visible(ask):
        for one in each.channels.values():
            if views.channel_name(one) == ask.path["channel"]:
                return Answer(views.channel(one))
    raise Refusal(*NOT_FOUND)


@route(ROUTES, "GET", "/api/consumers", "All consumers.", shape="Consumer[]")
def consumers(ask: Ask) -> Answer:
    return Answer(
        [views.consumer(one) for vhost in ask.vhosts() for queue in vhost.queues.values() for one in queue.consumers]
    )


@route(ROUTES, "GET", "/api/consumers/{vhost}", "The consumers in one virtual host.", shape="Consumer[]")
def vhost_consumers(ask: Ask) -> Answer:
    return Answer([views.consumer(one) for queue in ask.vhost().queues.values() for one in queue.consumers])
