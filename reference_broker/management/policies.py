"""Policies: what an operator sets for queues by their names."""

from __future__ import annotations

import re

from reference_broker.management import views
from reference_broker.management.route import NOT_FOUND, Answer, Ask, Field, Refusal, Route, bad_request, route
from reference_broker.settings import APPLIES, Policy

ROUTES: list[Route] = []
POLICY = {
    "pattern": Field("string", "regular expression for names", required=True),
    "definition": Field("object", "what is set", required=True),
    "priority": Field("integer", "of several that fit, the highest holds", 0),
    "apply-to": Field("string", "queues, classic_queues, quorum_queues, exchanges or all", "all"),
}
THINGS = (*APPLIES, "exchanges", "streams")


def failed(reason: str) -> Refusal:
    return bad_request(f"Validation failed\n\n{reason}\n")


@route(ROUTES, "GET", "/api/policies", "All policies.", need="policymaker", shape="Policy[]")
def policies(ask: Ask) -> Answer:
    return Answer([views.policy(vhost.name, one) for vhost in ask.vhosts() for one in vhost.settings.policies.values()])


@route(ROUTES, "GET", "/api/policies/{vhost}", "The policies of one virtual host.", need="policymaker",
       shape="Policy[]")
def vhost_policies(ask: Ask) -> Answer:
    vhost = ask.vhost()
    return Answer([views.policy(vhost.name, one) for one in vhost.settings.policies.values()])


@route(ROUTES, "GET", "/api/policies/{vhost}/{name}", "One policy.", need="policymaker", shape="Policy")
def policy(ask: Ask) -> Answer:
    vhost = ask.vhost()
    found = vhost.settings.policies.get(ask.path["name"])
    if found is None:
        raise Refusal(*NOT_FOUND)
    return Answer(views.policy(vhost.name, found))


@route(ROUTES, "PUT", "/api/policies/{vhost}/{name}", "Set a policy.", need="policymaker", fields=POLICY,
       statuses=(201, 204))
def put_policy(ask: Ask) -> Answer:
    given, name, known = ask.given, ask.path["name"], ask.vhost().settings.policies
    try:
        re.compile(given["pattern"])
    except re.error as problem:
        raise failed(f"pattern should be regular expression but is invalid: {problem}") from None
    if not given["definition"]:
        raise failed("no policy provided")
    if given["apply-to"] not in THINGS:
        raise failed(f"apply-to '{given['apply-to'][:100]}' unrecognised; should be one of: {', '.join(THINGS)}")
    new = name not in known
    ask.vhost().set_policy(
        Policy(name, given["pattern"], given["definition"], given["apply-to"], given["priority"])
    )
    return Answer(status=201 if new else 204)


@route(ROUTES, "DELETE", "/api/policies/{vhost}/{name}", "Remove a policy.", need="policymaker", statuses=(204,))
def delete_policy(ask: Ask) -> Answer:
    policy(ask)
    ask.vhost().clear_policy(ask.path["name"])
    return Answer(status=204)
