"""Definitions: all that an operator has set up, as one document that can be carried to another broker, or to RabbitMQ.

A document is read in the order in which things need each other, each as the request that would set it up; so what a
request refuses, a document is refused for, and what came before it stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reference_broker.core import routing
from reference_broker.core.vhost import VirtualHost
from reference_broker.management import bindings, limits, parameters, policies, topics, topology, users
from reference_broker.management.answers import views
from reference_broker.management.route import Answer, Ask, Field, Refusal, Route, Router, bad_request, route

ROUTES: list[Route] = []
ROOMS = (users, policies, topology, bindings, topics, limits, parameters)
ROUTER = Router([one for room in ROOMS for one in room.ROUTES])
KINDS = (
    "vhosts",
    "users",
    "permissions",
    "policies",
    "parameters",
    "global_parameters",
    "queues",
    "exchanges",
    "bindings",
    "topic_permissions",
    "limits",
)
"""In the order in which they are set up; limits are part of users and virtual hosts, and hold from the end on."""
OF_A_VHOST = ("policies", "parameters", "queues", "exchanges", "bindings")
FIELDS = {kind: Field("array", f"all {kind}", []) for kind in KINDS}
KEPT = {
    "queues": ("name", "vhost", "durable", "auto_delete", "arguments"),
    "exchanges": ("name", "vhost", "type", "durable", "auto_delete", "internal", "arguments"),
    "bindings": ("source", "vhost", "destination", "destination_type", "routing_key", "arguments"),
}


def only(kind: str, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: one[name] for name in KEPT[kind]} for one in found]


def of_vhosts(vhosts: list[VirtualHost]) -> dict[str, Any]:
    """What outlives connections: no exclusive queues, nothing that is there from the beginning."""
    queues = [views.queue(one, 0) for vhost in vhosts for one in vhost.queues.values() if one.owner is None]
    exchanges = [
        views.exchange(one, vhost)
        for vhost in vhosts
        for one in vhost.exchanges.values()
        if one.name not in routing.PREDECLARED
    ]
    bound = [one for vhost in vhosts for one in bindings.bindings_of(vhost) if one["source"]]
    return {
        "policies": [views.policy(vhost.name, one) for vhost in vhosts for one in vhost.settings.policies.values()],
        "parameters": parameters.found(vhosts),
        "queues": only("queues", queues),
        "exchanges": only("exchanges", exchanges),
        "bindings": only("bindings", bound),
    }


@route(ROUTES, "GET", "/api/definitions", "All that was set up.", need="administrator", shape="Definitions")
def definitions(ask: Ask) -> Answer:
    broker = ask.node.broker
    known = list(broker.access.users.values())
    return Answer(
        {
            **ask.node.product,
            "rabbitmq_version": ask.node.product["product_version"],
            "users": [views.user(one) for one in known],
            "vhosts": [vhost_view(one) for one in broker.vhosts.values()],
            "global_parameters": parameters.globally(broker.global_parameters),
            "permissions": users.permissions(ask, known),
            "topic_permissions": topics.topics(known),
            **of_vhosts(list(broker.vhosts.values())),
        }
    )


@route(
    ROUTES,
    "GET",
    "/api/definitions/{vhost}",
    "All that was set up in one virtual host, whose name is left out.",
    need="administrator",
    shape="VirtualHostDefinitions",
)
def vhost_definitions(ask: Ask) -> Answer:
    found = of_vhosts([ask.vhost()])
    for listed in found.values():
        for one in listed:
            del one["vhost"]
    return Answer({**ask.node.product, "rabbitmq_version": ask.node.product["product_version"], **found})


@route(ROUTES, "POST", "/api/definitions", "Set all of this up.", need="administrator", fields=FIELDS, statuses=(204,))
def take(ask: Ask) -> Answer:
    for kind in KINDS:
        for one in [*(ask.given[kind] or []), *(limits_in(ask.given) if kind == "limits" else [])]:
            set_up(ask, kind, one)
    return Answer(status=204)


def vhost_view(vhost: VirtualHost) -> dict[str, Any]:
    """Its limits are among the parameters, too, where older versions look for them."""
    return {"name": vhost.name, "limits": dict(vhost.quotas), **views.about(vhost)}


def limits_in(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One by one, from where they are part of something else."""
    for kind, whose in (("users", "user"), ("vhosts", "vhost")):
        for one in given[kind] or []:
            found = one.get("limits") if isinstance(one, dict) else None
            for name, value in (found or {}).items() if isinstance(found, dict) else ():
                yield {whose: one["name"], "name": name, "value": value}


@route(
    ROUTES,
    "POST",
    "/api/definitions/{vhost}",
    "Set all of this up in one virtual host.",
    need="administrator",
    fields={kind: FIELDS[kind] for kind in OF_A_VHOST},
    statuses=(204,),
)
def take_into(ask: Ask) -> Answer:
    vhost = ask.vhost().name
    for kind in OF_A_VHOST:
        for one in ask.given[kind] or []:
            set_up(ask, kind, {**one, "vhost": vhost} if isinstance(one, dict) else one)
    return Answer(status=204)


def set_up(ask: Ask, kind: str, one: Any) -> None:
    if not isinstance(one, dict):
        raise bad_request(f"{kind} are objects, not {str(one)[:100]!r}")
    try:
        method, path = request(kind, one)
    except KeyError as missing:
        raise bad_request(f"[{{key_missing,{missing.args[0]}}}] in one of {kind}") from None
    if kind == "exchanges" and keep_reserved(ask, one):
        return
    found, names = ROUTER.find(method, [str(part) for part in path])
    try:
        found.work(Ask(ask.node, ask.user, names, {}, found.taken(one)))
    except Refusal as refused:
        where = "/".join(map(str, path[2:]))
        raise Refusal(refused.status, refused.error, f"{kind}, {where}: {refused.reason}") from None


def keep_reserved(ask: Ask, one: Mapping[str, Any]) -> bool:
    """An exchange that RabbitMQ itself declares, for its log or its trace: nobody can, but it may be carried here."""
    vhost, name = ask.node.broker.vhosts.get(one["vhost"]), str(one["name"])
    kind = routing.TYPES.get(str(one.get("type")))
    if vhost is None or kind is None or not name.startswith("amq.rabbitmq.") or name in vhost.exchanges:
        return False
    vhost.add_exchange(kind(name, True, False, one.get("internal") is True, []))
    return True


def request(kind: str, one: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """The request that sets this up."""
    match kind:
        case "vhosts" | "users":
            return "PUT", ["api", kind, one["name"]]
        case "permissions":
            return "PUT", ["api", kind, one["vhost"], one["user"]]
        case "topic_permissions":
            return "PUT", ["api", "topic-permissions", one["vhost"], one["user"]]
        case "parameters":
            return "PUT", ["api", kind, one["component"], one["vhost"], one["name"]]
        case "global_parameters":
            return "PUT", ["api", "global-parameters", one["name"]]
        case "limits":
            whose = "user" if "user" in one else "vhost"
            return "PUT", ["api", f"{whose}-limits", one[whose], one["name"]]
        case "bindings":
            end = "q" if one["destination_type"] == "queue" else "e"
            return "POST", ["api", kind, one["vhost"], "e", one["source"], end, one["destination"]]
    return "PUT", ["api", kind, one["vhost"], one["name"]]
