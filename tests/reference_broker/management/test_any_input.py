"""Whatever is sent, the answer is one of those that are described: never a defect of the broker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reference_broker import ReferenceBroker
from reference_broker.management import OURS, THEIRS, Route

ROUTES = [one for one in [*THEIRS, *OURS] if "clock" not in one.template and "alarm" not in one.template]
TEXT = st.sampled_from(["", "q", "/", "amq.topic", "guest", "é\0", "a" * 300, "(", "none", "k~x"]) | st.text(max_size=5)
NUMBERS = st.sampled_from([0, 1, -1, 2**31, 2**63, 2**70, 1.5, -0.0, 1e300])
SCALARS = st.none() | st.booleans() | NUMBERS | TEXT
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
KNOWN = ["x-max-length", "x-queue-type", "headers", "priority", "message-ttl", "expiration", "delivery_mode"]
OF_TYPE = {
    "string": TEXT,
    "integer": NUMBERS,
    "number": NUMBERS,
    "boolean": st.booleans(),
    "null": st.none(),
    "object": st.dictionaries(TEXT | st.sampled_from(KNOWN), JSON, max_size=3),
    "array": st.lists(JSON, max_size=3),
    "any": JSON,
}


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, bytes]:
    """A route, names for what its path leaves open, and a body that may be what it wants."""
    route: Route = draw(st.sampled_from(ROUTES))
    parts = [draw(TEXT) if part[0] == "{" else part for part in route.parts]
    body = {
        name: draw(OF_TYPE[draw(st.sampled_from(field.types.split("|")))] | JSON)
        for name, field in (route.fields or {}).items()
        if field.required or draw(st.booleans())
    }
    path = "/" + "/".join(quote(part, safe="") for part in parts)
    return route.method, path, json.dumps(body).encode() if route.fields is not None else b""


@pytest.fixture(scope="module")
def living(manager_of: Any) -> Iterator[Any]:
    """Its users are left alone, or nobody could ask any more."""
    with ReferenceBroker(http_port=0, users={"guest": "guest", "keeper": "k"}) as broker:
        yield manager_of(broker.admin_url)


@settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(request=requests())
def test_any_request_has_an_answer(living: Any, request: tuple[str, str, bytes]) -> None:
    method, path, body = request
    if path.startswith(("/api/users/guest", "/api/users/keeper")) and method != "GET":
        return
    status, content = living.do(method, path, body)
    unwell = status == 503 and path.startswith("/api/health") and content["status"] == "failed"
    assert status < 500 or unwell, (method, path, body)
    if 400 <= status < 500:
        assert content["error"]
        assert content["reason"] is not None
