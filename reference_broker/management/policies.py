"""Policies: what users, and operators, set for queues and exchanges by their names."""

from __future__ import annotations

from collections.abc import Iterable

from reference_broker.core.policies import InvalidPolicy
from reference_broker.core.settings import APPLIES, Policy
from reference_broker.core.vhost import VirtualHost
from reference_broker.management.answers import views
from reference_broker.management.route import NOT_FOUND, Answer, Ask, Field, Need, Refusal, Route, bad_request, route

ROUTES: list[Route] = []
POLICY = {
    "pattern": Field("string", "regular expression for names", required=True),
    "definition": Field("object", "what is set", required=True),
    "priority": Field("integer", "of several that fit, the highest holds", 0),
    "apply-to": Field("string", "queues, classic_queues, quorum_queues, streams, exchanges or all", "all"),
}


def failed(reason: str) -> Refusal:
    return bad_request(f"Validation failed\n\n{reason}\n")


def listed(vhosts: Iterable[VirtualHost], operator: bool) -> Answer:
    return Answer([views.policy(vhost.name, one) for vhost in vhosts for one in vhost.policies(operator).values()])


def known(ask: Ask, operator: bool) -> Policy:
    found = ask.vhost().policies(operator).get(ask.path["name"])
    if found is None:
        raise Refusal(*NOT_FOUND)
    return found


def put(ask: Ask, operator: bool) -> Answer:
    given, name, vhost = ask.given, ask.path["name"], ask.vhost()
    if given["apply-to"] not in APPLIES:
        things = ", ".join(f"'{one}'" for one in APPLIES)
        raise failed(f"apply-to '{given['apply-to'][:100]}' unrecognised; should be one of: {things}")
    new = name not in vhost.policies(operator)
    try:
        vhost.set_policy(
            Policy(name, given["pattern"], given["definition"], given["apply-to"], given["priority"]), operator
        )
    except InvalidPolicy as problem:
        raise failed(str(problem)) from None
    return Answer(status=201 if new else 204)


def serve(base: str, policy: str, operator: bool, need: Need) -> None:
    """The routes of one kind of them; `need`: to see one, or to change it."""

    @route(ROUTES, "GET", f"/api/{base}", f"All {policy} policies.", need="policymaker", shape="Policy[]")
    def policies(ask: Ask) -> Answer:
        return listed(ask.vhosts(), operator)

    @route(
        ROUTES,
        "GET",
        f"/api/{base}/{{vhost}}",
        f"The {policy} policies of one virtual host.",
        need="policymaker",
        shape="Policy[]",
    )
    def vhost_policies(ask: Ask) -> Answer:
        return listed([ask.vhost()], operator)

    @route(ROUTES, "GET", f"/api/{base}/{{vhost}}/{{name}}", f"One {policy} policy.", need=need, shape="Policy")
    def policy_(ask: Ask) -> Answer:
        return Answer(views.policy(ask.vhost().name, known(ask, operator)))

    @route(
        ROUTES,
        "PUT",
        f"/api/{base}/{{vhost}}/{{name}}",
        f"Set a {policy} policy.",
        need=need,
        fields=POLICY,
        statuses=(201, 204),
    )
    def put_policy(ask: Ask) -> Answer:
        return put(ask, operator)

    @route(
        ROUTES, "DELETE", f"/api/{base}/{{vhost}}/{{name}}", f"Remove a {policy} policy.", need=need, statuses=(204,)
    )
    def delete_policy(ask: Ask) -> Answer:
        ask.vhost().clear_policy(known(ask, operator).name, operator)
        return Answer(status=204)


serve("policies", "user", operator=False, need="policymaker")
serve("operator-policies", "operator", operator=True, need="administrator")
