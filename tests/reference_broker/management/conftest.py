"""A management client of few lines, for our broker and for a real one, and a virtual host of its own on each."""

from __future__ import annotations

import base64
import json
import os
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pika
import pytest

from reference_broker import ReferenceBroker

REAL = os.environ.get("AMQP_RABBITMQ_URL", "")
WAIT = 20.0
"""Seconds until statistics of a real node must show what there is."""


class Manager:
    """`do` gives status and content, whatever they are."""

    def __init__(self, url: str) -> None:
        login, _, place = url.removeprefix("http://").rpartition("@")
        self.base, self.login = f"http://{place}", login

    def do(self, method: str, path: str, content: object = None, login: str | None = None, **headers: str) -> Any:
        data = content if isinstance(content, bytes) else None if content is None else json.dumps(content).encode()
        who = base64.b64encode((login or self.login).encode()).decode()
        request = urllib.request.Request(
            self.base + path,
            data,
            {"Authorization": f"Basic {who}", "Content-Type": "application/json", **headers},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            status, text = refused.code, refused.read()
        return status, json.loads(text) if text else None


@pytest.fixture(scope="session")
def manager_of() -> Callable[[str], Manager]:
    return Manager


@pytest.fixture
def broker() -> Iterator[ReferenceBroker]:
    with ReferenceBroker(clock="elastic", http_port=0) as broker:
        yield broker


@pytest.fixture
def manager(broker: ReferenceBroker) -> Manager:
    return Manager(broker.admin_url)


class Both:
    """One broker: its manager, and where to connect to."""

    def __init__(self, manager: Any, host: str, port: int) -> None:
        self.manager, self.host, self.port = manager, host, port
        unique = uuid.uuid4().hex[:8]
        self.vhost, self.user = f"amqpconf.{unique}", f"amqpconf-{unique}"

    def do(self, method: str, path: str, content: object = None, **how: Any) -> Any:
        return self.manager.do(method, path.format(v=self.vhost, u=self.user), content, **how)

    def connect(self, user: str | None = None, password: str = "pw") -> pika.BlockingConnection:
        login = pika.PlainCredentials(user or self.user, password)
        return pika.BlockingConnection(pika.ConnectionParameters(self.host, self.port, self.vhost, login))

    def eventually(self, path: str, *names: str) -> Any:
        """The first content that is not empty, and knows this of each thing: RabbitMQ counts every few seconds."""
        until = time.monotonic() + WAIT
        while True:
            found = self.do("GET", path)[1]
            if time.monotonic() > until or (found and all(name in one for one in found for name in names)):
                return found
            time.sleep(0.2)

    def __enter__(self) -> Both:
        assert self.do("PUT", "/api/vhosts/{v}") == (201, None)
        assert self.do("PUT", "/api/users/{u}", {"password": "pw", "tags": "management"}) == (201, None)
        everything = {"configure": ".*", "write": ".*", "read": ".*"}
        assert self.do("PUT", "/api/permissions/{v}/{u}", everything) == (201, None)
        return self

    def __exit__(self, *_: object) -> None:
        self.do("DELETE", "/api/users/{u}")
        self.do("DELETE", "/api/vhosts/{v}")


@pytest.fixture(params=["ours", pytest.param("theirs", marks=pytest.mark.rabbitmq)])
def both(request: pytest.FixtureRequest) -> Iterator[Both]:
    if request.param == "ours":
        with ReferenceBroker(http_port=0) as ours, Both(Manager(ours.admin_url), ours.host, ours.port) as one:
            yield one
        return
    if not REAL:
        pytest.skip("AMQP_RABBITMQ_URL is not set")
    real = urlsplit(REAL)
    manager = Manager(f"http://guest:guest@{real.hostname}:{(real.port or 5672) + 10000}")
    try:
        manager.do("GET", "/api/overview")
    except OSError:
        pytest.skip("the node of AMQP_RABBITMQ_URL has no management interface where ours have it")
    with Both(manager, str(real.hostname), real.port or 5672) as one:
        yield one
