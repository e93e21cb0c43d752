"""The OpenAPI description, read off the routes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reference_broker.management.answers.shapes import schema, schemas
from reference_broker.management.route import ANY, Fields, Route

VERSION = "3.1.0"
MEANINGS = {200: "as asked", 201: "made", 204: "done"}


def description(routes: Iterable[Route], product_version: str) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        path = paths.setdefault(route.template, {"parameters": parameters(route)})
        path[route.method.lower()] = operation(route)
    return {
        "openapi": VERSION,
        "info": {
            "title": "Management interface of the AMQP 0-9-1 reference broker",
            "version": product_version,
            "description": "What is under /api is as in RabbitMQ's management API; what is under /x is not in it.",
        },
        "paths": paths,
        "security": [{"basic": []}],
        "components": {"schemas": schemas(), "securitySchemes": {"basic": {"type": "http", "scheme": "basic"}}},
    }


def parameters(route: Route) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in route.parts if part[0] == "{"]
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def operation(route: Route) -> dict[str, Any]:
    refused = content({"$ref": "#/components/schemas/Error"})
    answers: dict[str, Any] = {str(status): {"description": MEANINGS[status]} for status in route.statuses}
    if route.shape:
        name = route.shape.removesuffix("[]")
        shape = schema(f"[{name}]" if route.shape != name else name)
        answers["200"]["content"] = content(shape)["content"]
    answers["4XX"] = {"description": "refused; why is in the answer", **refused}
    found: dict[str, Any] = {
        "summary": route.summary,
        "operationId": f"{route.work.__name__}_{route.template.strip('/')}",
        "responses": answers,
        "x-user-tag": route.need,
    }
    if route.need == "anybody":
        found["security"] = []
    if route.fields is not None:
        found["requestBody"] = {"required": any(one.required for one in route.fields.values()), **body(route.fields)}
    return found


def typed(types: list[str]) -> dict[str, Any]:
    if types == [ANY]:
        return {}
    return {"type": types if len(types) > 1 else types[0]}


def content(shape: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": shape}}}


def body(fields: Fields) -> dict[str, Any]:
    properties = {name: {**typed(one.described()), "description": one.says} for name, one in fields.items()}
    required = [name for name, one in fields.items() if one.required]
    return content({"type": "object", "properties": properties, **({"required": required} if required else {})})
