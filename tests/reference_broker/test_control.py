"""The management interface: RabbitMQ's paths, and ours beside them."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from reference_broker import ReferenceBroker

Ask = Callable[..., Any]


def asking(broker: ReferenceBroker) -> Ask:
    base, login = broker.admin_url.replace("guest:guest@", ""), "Basic " + base64.b64encode(b"guest:guest").decode()

    def ask(method: str, path: str, content: object = None) -> Any:
        body = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(base + path, body, {"Authorization": login}, method=method)
        with urllib.request.urlopen(request, timeout=5) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    return ask


@pytest.fixture
def ask() -> Iterator[Ask]:
    with ReferenceBroker(clock="elastic", http_port=0) as broker:
        yield asking(broker)


def test_it_says_who_it_is(ask: Ask) -> None:
    assert ask("GET", "/api/overview")["product_name"] == "amqp-conformance reference"
    assert ask("GET", "/api/queues") == []


def test_policies_come_and_go(ask: Ask) -> None:
    ask("PUT", "/api/policies/%2F/short", {"pattern": "^q", "definition": {"consumer-timeout": 500}, "priority": 2})
    (policy,) = ask("GET", "/api/policies")
    assert (policy["name"], policy["definition"], policy["priority"]) == ("short", {"consumer-timeout": 500}, 2)
    ask("DELETE", "/api/policies/%2F/short")
    assert ask("GET", "/api/policies") == []


def test_settings_and_the_clock_are_ours(ask: Ask) -> None:
    ask("PUT", "/x/settings", {"consumer_timeout": 500})
    assert ask("GET", "/x/settings") == {"consumer_timeout": 500}
    before = ask("GET", "/x/clock")["now"]
    assert ask("POST", "/x/clock", {"seconds": 1800})["now"] >= before + 1800


@pytest.mark.parametrize(("method", "path", "content", "status"), [
    ("GET", "/api/nothing", None, 404), ("GET", "/api/queues/%2F/none", None, 404),
    ("DELETE", "/api/policies/%2F/none", None, 404), ("PUT", "/api/policies/%2F/p", {"pattern": "x"}, 400),
    ("PUT", "/x/settings", {"consumer_timeout": "soon"}, 400),
])
def test_what_it_refuses(ask: Ask, method: str, path: str, content: object, status: int) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(method, path, content)
    assert refused.value.code == status


def test_an_imitation_offers_what_the_imitated_does() -> None:
    """No paths of our own; what is in its configuration nobody can ask for."""
    with ReferenceBroker(dialect="rabbitmq-4.3", http_port=0, theirs_only=True, consumer_timeout=5000) as broker:
        ask = asking(broker)
        assert ask("GET", "/api/overview")["product_name"] == "RabbitMQ"
        for path in ("/x/settings", "/x/clock"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                ask("GET", path)
            assert refused.value.code == 404
