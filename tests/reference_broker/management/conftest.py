"""A management client of few lines, for our broker and for a real one."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from reference_broker import ReferenceBroker


class Manager:
    """`do` gives status and content, whatever they are."""

    def __init__(self, url: str) -> None:
        login, _, place = url.removeprefix("http://").rpartition("@")
        self.base, self.login = f"http://{place}", login

    def do(self, method: str, path: str, content: object = None, login: str | None = None, **headers: str) -> Any:
        data = content if isinstance(content, bytes) else None if content is None else json.dumps(content).encode()
        who = base64.b64encode((login or self.login).encode()).decode()
        request = urllib.request.Request(
            self.base + path, data, {"Authorization": f"Basic {who}", "Content-Type": "application/json", **headers},
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
