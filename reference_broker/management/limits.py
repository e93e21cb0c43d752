"""Limits: how much each virtual host, and each user, may have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reference_broker.core import quotas
from reference_broker.core.access import User
from reference_broker.core.vhost import VirtualHost
from reference_broker.management.route import ANY, Answer, Ask, Field, Refusal, Route, bad_request, route
from reference_broker.management.users import known_user

ROUTES: list[Route] = []
LIMIT = {"value": Field(ANY, "how many; below zero: any number", required=True)}


def vhost_limits_of(vhosts: Iterable[VirtualHost]) -> list[dict[str, Any]]:
    return [{"vhost": one.name, "value": dict(one.quotas)} for one in vhosts if one.quotas]


def user_limits_of(users: Iterable[User]) -> list[dict[str, Any]]:
    return [{"user": one.name, "value": dict(one.quotas)} for one in users if one.quotas]


@route(ROUTES, "GET", "/api/vhost-limits", "The limits of virtual hosts that have some.", shape="VirtualHostLimits[]")
def vhost_limits(ask: Ask) -> Answer:
    return Answer(vhost_limits_of(ask.vhosts()))


@route(ROUTES, "GET", "/api/vhost-limits/{vhost}", "The limits of one virtual host.", shape="VirtualHostLimits[]")
def limits_of_vhost(ask: Ask) -> Answer:
    return Answer(vhost_limits_of([ask.vhost()]))


@route(
    ROUTES,
    "PUT",
    "/api/vhost-limits/{vhost}/{limit}",
    "Set max-connections or max-queues of a virtual host.",
    need="administrator",
    fields=LIMIT,
    statuses=(204,),
)
def put_vhost_limit(ask: Ask) -> Answer:
    vhost = ask.node.broker.vhosts.get(ask.path["vhost"])
    if vhost is None:
        raise Refusal(404, "not_found", "vhost_not_found")
    try:
        new = quotas.checked({ask.path["limit"]: ask.given["value"]}, quotas.OF_VHOSTS, "limits")
    except quotas.InvalidQuota as problem:
        raise bad_request(f"Validation failed\n\n{problem}\n") from None
    ask.node.broker.limit_vhost(vhost, {**vhost.quotas, **new})
    return Answer(status=204)


@route(
    ROUTES,
    "DELETE",
    "/api/vhost-limits/{vhost}/{limit}",
    "Remove a limit of a virtual host, where there is one.",
    need="administrator",
    statuses=(204,),
)
def delete_vhost_limit(ask: Ask) -> Answer:
    vhost = ask.vhost()
    ask.node.broker.limit_vhost(vhost, without(vhost.quotas, ask.path["limit"]))
    return Answer(status=204)


def without(limits: quotas.Quotas, name: str) -> quotas.Quotas:
    return {known: value for known, value in limits.items() if known != name}


@route(
    ROUTES,
    "GET",
    "/api/user-limits",
    "The limits of all users that have some.",
    need="administrator",
    shape="UserLimits[]",
)
def user_limits(ask: Ask) -> Answer:
    return Answer(user_limits_of(ask.node.broker.access.users.values()))


@route(ROUTES, "GET", "/api/user-limits/{user}", "The limits of one user.", need="administrator", shape="UserLimits[]")
def limits_of_user(ask: Ask) -> Answer:
    return Answer(user_limits_of([known_user(ask)]))


@route(
    ROUTES,
    "PUT",
    "/api/user-limits/{user}/{limit}",
    "Set max-connections or max-channels of a user.",
    need="administrator",
    fields=LIMIT,
    statuses=(204,),
)
def put_user_limit(ask: Ask) -> Answer:
    user = ask.node.broker.access.users.get(ask.path["user"])
    if user is None:
        raise bad_request(["no_such_user", ask.path["user"]])
    try:
        new = quotas.checked({ask.path["limit"]: ask.given["value"]}, quotas.OF_USERS, "user-limits")
    except quotas.InvalidQuota as problem:
        raise bad_request(str(problem)) from None
    ask.node.broker.access.limit(user, {**user.quotas, **new})
    return Answer(status=204)


@route(
    ROUTES,
    "DELETE",
    "/api/user-limits/{user}/{limit}",
    "Remove a limit of a user, where there is one.",
    need="administrator",
    statuses=(204,),
)
def delete_user_limit(ask: Ask) -> Answer:
    user = known_user(ask)
    ask.node.broker.access.limit(user, without(user.quotas, ask.path["limit"]))
    return Answer(status=204)
