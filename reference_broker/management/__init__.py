"""The management API without its sockets: RabbitMQ's paths, and our own under `/x`."""

from reference_broker.management import (
    bindings,
    clients,
    definitions,
    events,
    health,
    limits,
    messages,
    ours,
    overview,
    parameters,
    policies,
    topics,
    topology,
    users,
)
from reference_broker.management.node import Node
from reference_broker.management.openapi import description
from reference_broker.management.route import Answer, Ask, Refusal, Route, Router, route

ROOMS = (
    overview,
    health,
    users,
    limits,
    topics,
    policies,
    parameters,
    topology,
    bindings,
    messages,
    clients,
    definitions,
)
THEIRS: list[Route] = [one for room in ROOMS for one in room.ROUTES]
X = "/x/"
"""Where the paths begin that only this broker has."""
OURS: list[Route] = [*ours.ROUTES, *events.ROUTES]


@route(OURS, "GET", "/api/openapi.json", "This description.", need="anybody", shape="Description")
def openapi(ask: Ask) -> Answer:
    return Answer(description([*THEIRS, *OURS], ask.node.product["product_version"]))


__all__ = ["OURS", "THEIRS", "Answer", "Ask", "Node", "Refusal", "Route", "Router", "X", "description", "route"]
