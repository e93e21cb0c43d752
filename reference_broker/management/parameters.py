"""Parameters: what is set for a component of the broker, in a virtual host or for all of it.

Components here are operators' policies and the limits of virtual hosts, which have paths of their own as well. A global
parameter is whatever an operator wants to keep here; the broker makes nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reference_broker.core import quotas
from reference_broker.core.vhost import VirtualHost
from reference_broker.management import policies
from reference_broker.management.answers import views
from reference_broker.management.route import (
    ANY,
    NOT_FOUND,
    Answer,
    Ask,
    Field,
    Refusal,
    Route,
    bad_request,
    route,
    taken,
)

ROUTES: list[Route] = []
OPERATOR, LIMITS, LIMITS_NAME = "operator_policy", "vhost-limits", "limits"
ANYTHING = Field(ANY, "what it is set to", required=True)
PATH = "/api/parameters/{component}/{vhost}/{name}"


def of_vhost(vhost: VirtualHost) -> Iterator[dict[str, Any]]:
    if vhost.quotas:
        yield parameter(LIMITS, vhost, LIMITS_NAME, dict(vhost.quotas))
    for one in vhost.settings.operator_policies.values():
        value = {key: of for key, of in views.policy(vhost.name, one).items() if key not in ("vhost", "name")}
        yield parameter(OPERATOR, vhost, one.name, value)


def parameter(component: str, vhost: VirtualHost, name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    return {"component": component, "vhost": vhost.name, "name": name, "value": value}


def found(vhosts: Iterable[VirtualHost], component: str | None = None) -> list[dict[str, Any]]:
    return [one for vhost in vhosts for one in of_vhost(vhost) if component in (None, one["component"])]


@route(ROUTES, "GET", "/api/parameters", "All parameters.", need="policymaker", shape="Parameter[]")
def parameters(ask: Ask) -> Answer:
    return Answer(found(ask.vhosts()))


@route(ROUTES, "GET", "/api/parameters/{component}", "Those of one component.", need="policymaker", shape="Parameter[]")
def of_component(ask: Ask) -> Answer:
    return Answer(found(ask.vhosts(), ask.path["component"]))


@route(
    ROUTES,
    "GET",
    "/api/parameters/{component}/{vhost}",
    "Those of one component in one virtual host.",
    need="policymaker",
    shape="Parameter[]",
)
def of_component_in(ask: Ask) -> Answer:
    return Answer(found([ask.vhost()], ask.path["component"]))


@route(ROUTES, "GET", PATH, "One parameter.", need="policymaker", shape="Parameter")
def one_parameter(ask: Ask) -> Answer:
    for one in of_component_in(ask).content:
        if one["name"] == ask.path["name"]:
            return Answer(one)
    raise Refusal(*NOT_FOUND)


@route(ROUTES, "PUT", PATH, "Set a parameter.", need="administrator", fields={"value": ANYTHING}, statuses=(201, 204))
def put_parameter(ask: Ask) -> Answer:
    component, value = ask.path["component"], ask.given["value"]
    if component == "policy":
        raise bad_request("policies may not be set using this method")
    if component not in (OPERATOR, LIMITS):
        raise policies.failed(f"component {component[:100]} not found")
    if not isinstance(value, dict):
        raise bad_request(f"value of a {component} is an object, not {str(value)[:100]!r}")
    if component == LIMITS:
        return put_limits(ask, value)
    return policies.put(Ask(ask.node, ask.user, ask.path, {}, taken(policies.POLICY, value)), operator=True)


def put_limits(ask: Ask, value: dict[str, Any]) -> Answer:
    vhost = ask.node.broker.vhosts.get(ask.path["vhost"])
    if vhost is None:
        raise Refusal(404, "not_found", "vhost_not_found")
    if ask.path["name"] != LIMITS_NAME:
        raise bad_request(f"the parameter of {LIMITS} is called {LIMITS_NAME}")
    try:
        wanted = quotas.checked(value, quotas.OF_VHOSTS, "limits")
    except quotas.InvalidQuota as problem:
        raise policies.failed(str(problem)) from None
    new = not vhost.quotas
    ask.node.broker.limit_vhost(vhost, wanted)
    return Answer(status=201 if new else 204)


@route(ROUTES, "DELETE", PATH, "Remove a parameter.", need="administrator", statuses=(204,))
def delete_parameter(ask: Ask) -> Answer:
    one = one_parameter(ask).content
    if one["component"] == LIMITS:
        ask.node.broker.limit_vhost(ask.vhost(), {})
    else:
        ask.vhost().clear_policy(one["name"], True)
    return Answer(status=204)


# -- of the whole broker


def globally(parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"name": name, "value": value} for name, value in parameters.items()]


@route(ROUTES, "GET", "/api/global-parameters", "All global parameters.", need="policymaker", shape="GlobalParameter[]")
def global_parameters(ask: Ask) -> Answer:
    return Answer(globally(ask.node.broker.global_parameters))


@route(
    ROUTES, "GET", "/api/global-parameters/{name}", "One global parameter.", need="policymaker", shape="GlobalParameter"
)
def global_parameter(ask: Ask) -> Answer:
    name, known = ask.path["name"], ask.node.broker.global_parameters
    if name not in known:
        raise Refusal(*NOT_FOUND)
    return Answer({"name": name, "value": known[name]})


@route(
    ROUTES,
    "PUT",
    "/api/global-parameters/{name}",
    "Set a global parameter.",
    need="administrator",
    fields={"value": ANYTHING},
    statuses=(201, 204),
)
def put_global(ask: Ask) -> Answer:
    name, known = ask.path["name"], ask.node.broker.global_parameters
    new = name not in known
    known[name] = ask.given["value"]
    return Answer(status=201 if new else 204)


@route(
    ROUTES,
    "DELETE",
    "/api/global-parameters/{name}",
    "Remove a global parameter.",
    need="administrator",
    statuses=(204,),
)
def delete_global(ask: Ask) -> Answer:
    global_parameter(ask)
    del ask.node.broker.global_parameters[ask.path["name"]]
    return Answer(status=204)
