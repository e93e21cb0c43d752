"""The description, the routes and the answers say the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import jsonschema
import pika
import pytest

from reference_broker import ReferenceBroker
from reference_broker.management import OURS, THEIRS, Route, Router
from reference_broker.management.answers.shapes import SHAPES
from reference_broker.management.route import ANY

ROUTES = [*THEIRS, *OURS]
NAMES = {
    "vhost": "/",
    "queue": "q",
    "exchange": "ex",
    "source": "ex",
    "user": "guest",
    "name": "policy",
    "node": "reference@localhost",
    "properties_key": "k",
    "component": "operator_policy",
    "limit": "max-queues",
    "protocol": "amqp",
    "within": "1",
    "unit": "weeks",
}
WRONG = {"string": 7, "integer": "x", "number": "x", "boolean": "x", "object": 7, "array": 7, "null": "x"}


@pytest.fixture
def description(manager: Any) -> Any:
    status, found = manager.do("GET", "/api/openapi.json")
    assert status == 200
    return found


@pytest.fixture
def names(broker: ReferenceBroker, manager: Any) -> Iterator[dict[str, str]]:
    """What the names in the paths stand for, where there is one of everything."""
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        channel.queue_declare("q", arguments={"x-max-length": 10})
        channel.exchange_declare("ex", "topic")
        channel.queue_bind("q", "ex", "k")
        channel.exchange_bind("ex", "ex", "k")
        channel.basic_consume("q", lambda *_: None)
        channel.basic_publish("", "q", b"x")
        policy = {"pattern": "^z", "definition": {"max-length": 1}}
        for kind in ("policies", "operator-policies"):
            assert manager.do("PUT", f"/api/{kind}/%2F/policy", policy)[0] == 201
        for path in ("vhost-limits/%2F/max-queues", "user-limits/guest/max-channels", "global-parameters/policy"):
            assert manager.do("PUT", f"/api/{path}", {"value": 1000})[0] in (201, 204)
        assert manager.do("PUT", "/api/users/nobody", {"password": "", "tags": ""})[0] == 201
        topics = {"exchange": "ex", "write": "^k", "read": ".*"}
        assert manager.do("PUT", "/api/topic-permissions/%2F/guest", topics)[0] == 201
        ((_, (shown,)), (_, (one,))) = manager.do("GET", "/api/connections"), manager.do("GET", "/api/channels")
        yield {**NAMES, "port": str(broker.port), "connection": shown["name"], "channel": one["name"]}


def filled(template: str, names: dict[str, str]) -> str:
    return re.sub(r"{(\w+)}", lambda found: quote(names[found[1]], safe=""), template)


def test_the_description_has_exactly_the_routes(description: Any) -> None:
    paths = description["paths"].items()
    described = {(method.upper(), path) for path, item in paths for method in item if method != "parameters"}
    assert described == {(route.method, route.template) for route in ROUTES}
    router = Router(ROUTES)
    for method, path in described:
        assert router.find(method, path.strip("/").split("/"))[0].template == path


def test_it_is_openapi(description: Any) -> None:
    """Its own schemas are schemas, and every reference leads to one of them."""
    assert description["openapi"].startswith("3.1.")
    for schema in description["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    references = re.findall(r"#/components/schemas/(\w+)", str(description))
    assert set(references) <= set(description["components"]["schemas"])
    operations = [one for item in description["paths"].values() for name, one in item.items() if name != "parameters"]
    assert len({one["operationId"] for one in operations}) == len(operations)


def test_every_shape_is_used() -> None:
    assert set(SHAPES) == {"Error"} | {route.shape.removesuffix("[]") for route in ROUTES if route.shape}


def test_answers_are_as_described(manager: Any, description: Any, names: dict[str, str]) -> None:
    for route in ROUTES:
        if route.method != "GET":
            continue
        status, content = manager.do("GET", filled(route.template, names))
        assert status == 200, route.template
        shape = description["paths"][route.template]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        validator = jsonschema.Draft202012Validator({**shape, "components": description["components"]})
        validator.validate(content)
        if route.shape.endswith("[]"):
            may_be_empty = "consumers" in route.template or route.shape == "Nothing[]"
            assert content or may_be_empty, f"{route.template} has an empty list to show"


@pytest.mark.parametrize("route", [one for one in ROUTES if one.fields], ids=lambda one: f"{one.method} {one.template}")
def test_bad_input_is_refused_with_a_reason(manager: Any, names: dict[str, str], route: Route) -> None:
    path, fields = filled(route.template, names), route.fields or {}
    assert manager.do(route.method, path, b"{nonsense") == (400, {"error": "bad_request", "reason": "not_json"})
    assert manager.do(route.method, path, b"[]")[0] == 400
    for name, field in fields.items():
        if field.types == ANY:
            continue
        status, content = manager.do(
            route.method,
            path,
            {
                **{
                    other: required for other, one in fields.items() if one.required for required in [sample(one.types)]
                },
                name: WRONG[field.types.split("|")[-1]] if "null" not in field.types else {"a": 1},
            },
        )
        assert status == 400, name
        assert name in content["reason"], content
    required = [name for name, one in fields.items() if one.required]
    if required:
        status, content = manager.do(route.method, path, {})
        assert (status, content["error"]) == (400, "bad_request")
        assert all(name in content["reason"] for name in required)


def sample(types: str) -> Any:
    samples = {ANY: 1, "string": "x", "integer": 1, "number": 1, "boolean": True, "object": {}, "array": []}
    return samples[types.split("|")[0]]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/none", 404),
        ("POST", "/api/overview", 405),
        ("DELETE", "/api/queues/%2F/none", 404),
        ("GET", "/api/queues/none", 404),
        ("GET", "/api/nodes/none", 404),
        ("GET", "/api/queues?page=x", 400),
        ("GET", "/api/queues?name=(&use_regex=true", 400),
        ("GET", "/x/events?from=x", 400),
        ("DELETE", "/api/exchanges/%2F/amq.topic", 401),
        ("PUT", "/api/queues/%2F/amq.mine", 401),
    ],
)
def test_what_is_not_to_be_had(manager: Any, method: str, path: str, status: int) -> None:
    found, content = manager.do(method, path, {} if method == "PUT" else None)
    assert found == status
    assert content["reason"]


def test_pages(manager: Any) -> None:
    for number in range(5):
        manager.do("PUT", f"/api/queues/%2F/q{number}", {})
    _, page = manager.do("GET", "/api/queues?page=2&page_size=2&sort=name&columns=name")
    assert page["items"] == [{"name": "q2"}, {"name": "q3"}]
    assert (page["total_count"], page["page_count"]) == (5, 3)
    assert len(manager.do("GET", "/api/queues?name=Q3")[1]) == 1
