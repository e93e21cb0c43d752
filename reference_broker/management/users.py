"""Users, virtual hosts, permissions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from reference_broker.core.access import RIGHTS, SHA256, InvalidAccess, Permission, User
from reference_broker.core.settings import About
from reference_broker.management.answers import views
from reference_broker.management.route import NOT_FOUND, Answer, Ask, Field, Refusal, Route, bad_request, route

ROUTES: list[Route] = []
USER = {
    "password": Field("string|null", "in clear; either this or a hash, or neither for login by certificate alone"),
    "password_hash": Field("string|null", "salt and hash in base64, as RabbitMQ shows it", ""),
    "hashing_algorithm": Field("string", "of the hash", SHA256),
    "tags": Field(
        "string|array",
        "separated by commas, or a list: administrator, monitoring, policymaker, management",
        required=True,
    ),
}
VHOST = {
    "description": Field("string", "what it is for"),
    "tags": Field("string|array", "separated by commas, or a list; of no meaning here"),
    "default_queue_type": Field("string", "classic or quorum, of queues that are declared without a type"),
    "tracing": Field("boolean", "false"),
    "metadata": Field("object", "description, tags and default_queue_type together, as definitions have them"),
}
RIGHTS_FIELDS: dict[str, Field] = {
    right: Field("string", f"regular expression of the names for {right} access", required=True) for right in RIGHTS
}


def known_user(ask: Ask) -> User:
    user = ask.node.broker.access.users.get(ask.path["user"])
    if user is None:
        raise Refusal(*NOT_FOUND)
    return user


def permissions(ask: Ask, users: Iterable[User], vhost: str | None = None) -> list[dict[str, Any]]:
    return [
        views.permission(user.name, where, one)
        for user in users
        for where, one in user.permissions.items()
        if vhost in (None, where)
    ]


# -- users


@route(ROUTES, "GET", "/api/whoami", "The user who asks.", shape="Whoami")
def whoami(ask: Ask) -> Answer:
    return Answer({"name": ask.user.name, "tags": list(ask.user.tags), "is_internal_user": True})


@route(ROUTES, "GET", "/api/users", "All users.", need="administrator", shape="User[]")
def users(ask: Ask) -> Answer:
    return Answer([views.user(one) for one in ask.node.broker.access.users.values()])


@route(
    ROUTES,
    "GET",
    "/api/users/without-permissions",
    "The users who may enter no virtual host.",
    need="administrator",
    shape="User[]",
)
def users_without_permissions(ask: Ask) -> Answer:
    return Answer([views.user(one) for one in ask.node.broker.access.users.values() if not one.permissions])


@route(ROUTES, "GET", "/api/users/{user}", "One user.", need="administrator", shape="User")
def user(ask: Ask) -> Answer:
    return Answer(views.user(known_user(ask)))


@route(
    ROUTES, "PUT", "/api/users/{user}", "Make or change a user.", need="administrator", fields=USER, statuses=(201, 204)
)
def put_user(ask: Ask) -> Answer:
    given = ask.given
    try:
        new = ask.node.broker.access.put(
            ask.path["user"],
            password=given["password"],
            password_hash=given["password_hash"] or "",
            algorithm=given["hashing_algorithm"],
            tags=tags_in(given["tags"]),
        )
    except InvalidAccess as problem:
        raise bad_request(str(problem)) from None
    return Answer(status=201 if new else 204)


@route(
    ROUTES,
    "DELETE",
    "/api/users/{user}",
    "Remove a user, and close what it has open.",
    need="administrator",
    statuses=(204,),
)
def delete_user(ask: Ask) -> Answer:
    ask.node.broker.delete_user(known_user(ask).name)
    return Answer(status=204)


@route(
    ROUTES,
    "POST",
    "/api/users/bulk-delete",
    "Remove several users; who is not there, is not missed.",
    need="administrator",
    fields={"users": Field("array", "their names", required=True)},
    statuses=(204,),
)
def delete_users(ask: Ask) -> Answer:
    broker = ask.node.broker
    for name in ask.given["users"]:
        if isinstance(name, str) and name in broker.access.users:
            broker.delete_user(name)
    return Answer(status=204)


@route(
    ROUTES, "GET", "/api/users/{user}/permissions", "What one user may do.", need="administrator", shape="Permission[]"
)
def user_permissions(ask: Ask) -> Answer:
    return Answer(permissions(ask, [known_user(ask)]))


# -- virtual hosts


@route(ROUTES, "GET", "/api/vhosts", "The virtual hosts that the user may see.", shape="VirtualHost[]")
def vhosts(ask: Ask) -> Answer:
    return Answer([views.vhost(one) for one in ask.vhosts()])


@route(ROUTES, "GET", "/api/vhosts/{vhost}", "One virtual host.", shape="VirtualHost")
def vhost(ask: Ask) -> Answer:
    return Answer(views.vhost(ask.vhost()))


@route(
    ROUTES,
    "PUT",
    "/api/vhosts/{vhost}",
    "Make a virtual host; who makes it, may do anything in it.",
    need="administrator",
    fields=VHOST,
    statuses=(201, 204),
)
def put_vhost(ask: Ask) -> Answer:
    broker, name, about = ask.node.broker, ask.path["vhost"], described(ask)
    new = name not in broker.vhosts
    if new:
        broker.add_vhost(name)
        broker.permit(ask.user.name, name, Permission())
    broker.describe_vhost(broker.vhosts[name], about(broker.vhosts[name].about))
    return Answer(status=201 if new else 204)


def described(ask: Ask) -> Callable[[About], About]:
    """What is said of it anew, given what is known. Raises Refusal."""
    direct = {name: ask.given[name] for name in VHOST if ask.given[name] is not None}
    given = {**direct.pop("metadata", {}), **direct}
    if given.get("tracing"):
        raise bad_request("tracing: this broker has no exchange amq.rabbitmq.trace; its /x/events tell what passes")
    kind = given.get("default_queue_type")
    if kind not in (None, "", "undefined", "classic", "quorum"):
        raise bad_request(f"default_queue_type is classic or quorum, not {str(kind)[:100]!r}")
    said: dict[str, Any] = {"default_queue_type": "" if kind == "undefined" else kind}
    if "description" in given:
        said["description"] = str(given["description"])
    if "tags" in given:
        said["tags"] = tuple(tags_in(given["tags"]))
    return lambda known: replace(known, **{name: value for name, value in said.items() if value is not None})


def tags_in(given: Any) -> list[str]:
    """From a list, or a text with commas."""
    names = given.split(",") if isinstance(given, str) else given if isinstance(given, list) else []
    return [name for name in (str(one).strip() for one in names) if name]


@route(
    ROUTES,
    "DELETE",
    "/api/vhosts/{vhost}",
    "Remove a virtual host with all that is in it.",
    need="administrator",
    statuses=(204,),
)
def delete_vhost(ask: Ask) -> Answer:
    ask.node.broker.delete_vhost(ask.vhost().name)
    return Answer(status=204)


@route(
    ROUTES,
    "GET",
    "/api/vhosts/{vhost}/permissions",
    "Who may do what in one virtual host.",
    need="administrator",
    shape="Permission[]",
)
def vhost_permissions(ask: Ask) -> Answer:
    return Answer(permissions(ask, ask.node.broker.access.users.values(), ask.vhost().name))


# -- permissions


@route(ROUTES, "GET", "/api/permissions", "Who may do what, anywhere.", need="administrator", shape="Permission[]")
def all_permissions(ask: Ask) -> Answer:
    return Answer(permissions(ask, ask.node.broker.access.users.values()))


@route(
    ROUTES,
    "GET",
    "/api/permissions/{vhost}/{user}",
    "What one user may do in one virtual host.",
    need="administrator",
    shape="Permission",
)
def permission(ask: Ask) -> Answer:
    found = permissions(ask, [known_user(ask)], ask.vhost().name)
    if not found:
        raise Refusal(*NOT_FOUND)
    return Answer(found[0])


@route(
    ROUTES,
    "PUT",
    "/api/permissions/{vhost}/{user}",
    "Say what a user may do in a virtual host.",
    need="administrator",
    fields=RIGHTS_FIELDS,
    statuses=(201, 204),
)
def put_permission(ask: Ask) -> Answer:
    broker, user, vhost = ask.node.broker, ask.path["user"], ask.path["vhost"]
    if user not in broker.access.users or vhost not in broker.vhosts:
        raise bad_request("vhost_or_user_not_found")
    try:
        wanted = Permission(*(ask.given[right] for right in RIGHTS))
    except InvalidAccess as problem:
        raise bad_request(str(problem)) from None
    new = broker.access.permission(user, vhost) is None
    broker.permit(user, vhost, wanted)
    return Answer(status=201 if new else 204)


@route(
    ROUTES,
    "DELETE",
    "/api/permissions/{vhost}/{user}",
    "A user may not enter a virtual host any more.",
    need="administrator",
    statuses=(204,),
)
def delete_permission(ask: Ask) -> Answer:
    permission(ask)
    ask.node.broker.permit(ask.path["user"], ask.path["vhost"], None)
    return Answer(status=204)
