"""One request to RabbitMQ's management API, for the findings that need it: nothing but the standard library."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from urllib.parse import urlsplit


def ask(admin: str, verb: str, path: str, content: object = None) -> tuple[int, str]:
    """The status and what it says, also where it refuses. `admin` is a URL with user and password."""
    parts = urlsplit(admin)
    body = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(f"http://{parts.hostname}:{parts.port}{path}", data=body, method=verb)
    login = base64.b64encode(f"{parts.username}:{parts.password}".encode()).decode()
    request.add_header("Authorization", f"Basic {login}")
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
