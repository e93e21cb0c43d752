"""Permissions for topics: which routing keys a user may publish and bind with, for one exchange at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reference_broker.core.access import InvalidAccess, TopicPermission, User
from reference_broker.management.route import NOT_FOUND, Answer, Ask, Field, Refusal, Route, bad_request, route
from reference_broker.management.users import known_user

ROUTES: list[Route] = []
TOPIC = {
    "exchange": Field("string", "name of the topic exchange", required=True),
    "write": Field("string", "regular expression of the routing keys to publish with", required=True),
    "read": Field("string", "regular expression of the routing keys to bind with", required=True),
}


def topics(users: Iterable[User], vhost: str | None = None) -> list[dict[str, Any]]:
    return [
        {"user": user.name, "vhost": where, "exchange": exchange, "write": one.write, "read": one.read}
        for user in users
        for where, granted in user.topics.items()
        if vhost in (None, where)
        for exchange, one in granted.items()
    ]


def granted(ask: Ask) -> Mapping[str, TopicPermission]:
    """Raises Refusal where there is none."""
    found = known_user(ask).topics.get(ask.vhost().name)
    if not found:
        raise Refusal(*NOT_FOUND)
    return found


@route(
    ROUTES,
    "GET",
    "/api/topic-permissions",
    "All permissions for topics.",
    need="administrator",
    shape="TopicPermission[]",
)
def all_topics(ask: Ask) -> Answer:
    return Answer(topics(ask.node.broker.access.users.values()))


@route(
    ROUTES,
    "GET",
    "/api/users/{user}/topic-permissions",
    "Those of one user.",
    need="administrator",
    shape="TopicPermission[]",
)
def user_topics(ask: Ask) -> Answer:
    return Answer(topics([known_user(ask)]))


@route(
    ROUTES,
    "GET",
    "/api/vhosts/{vhost}/topic-permissions",
    "Those in one virtual host.",
    need="administrator",
    shape="TopicPermission[]",
)
def vhost_topics(ask: Ask) -> Answer:
    return Answer(topics(ask.node.broker.access.users.values(), ask.vhost().name))


@route(
    ROUTES,
    "GET",
    "/api/topic-permissions/{vhost}/{user}",
    "Those of one user in one virtual host.",
    need="administrator",
    shape="TopicPermission[]",
)
def some_topics(ask: Ask) -> Answer:
    granted(ask)
    return Answer(topics([known_user(ask)], ask.path["vhost"]))


@route(
    ROUTES,
    "PUT",
    "/api/topic-permissions/{vhost}/{user}",
    "Say which routing keys of a topic exchange a user may use; of an exchange without any, all.",
    need="administrator",
    fields=TOPIC,
    statuses=(201, 204),
)
def put_topics(ask: Ask) -> Answer:
    broker, user, vhost = ask.node.broker, ask.path["user"], ask.path["vhost"]
    if user not in broker.access.users or vhost not in broker.vhosts:
        raise bad_request("vhost_or_user_not_found")
    exchange = ask.given["exchange"]
    if exchange not in broker.vhosts[vhost].exchanges:
        raise bad_request(["no_such_exchange", exchange])
    known = broker.access.users[user].topics.get(vhost, {})
    try:
        wanted = TopicPermission(ask.given["write"], ask.given["read"])
    except InvalidAccess as problem:
        raise bad_request(str(problem)) from None
    broker.permit_topics(user, vhost, {**known, exchange: wanted})
    return Answer(status=204 if exchange in known else 201)


@route(
    ROUTES,
    "DELETE",
    "/api/topic-permissions/{vhost}/{user}",
    "Remove all of a user in a virtual host.",
    need="administrator",
    statuses=(204,),
)
def delete_topics(ask: Ask) -> Answer:
    granted(ask)
    ask.node.broker.permit_topics(ask.path["user"], ask.path["vhost"], {})
    return Answer(status=204)


@route(
    ROUTES,
    "DELETE",
    "/api/topic-permissions/{vhost}/{user}/{exchange}",
    "Remove the one for an exchange.",
    need="administrator",
    statuses=(204,),
)
def delete_topic(ask: Ask) -> Answer:
    rest = dict(granted(ask))
    rest.pop(ask.path["exchange"], None)
    ask.node.broker.permit_topics(ask.path["user"], ask.path["vhost"], rest)
    return Answer(status=204)
