"""RabbitMQ's management API, as far as the suite needs it: policies for queues, vhosts to go on in, users of a
scene's own, and what our own broker adds.

The reference broker serves the same paths, and beside them `/x/clock` and `/x/settings`, which RabbitMQ has not: a
broker that does not answer there offers neither.
"""

from __future__ import annotations

import base64
import json
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlsplit

TIMEOUT = 10.0


class AdminRefused(Exception):
    """The management API cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Admin:
    """One broker's management API, and one virtual host of it."""

    url: str
    vhost: str = "/"

    def policy(self, name: str, queue: str, definition: dict[str, object] | None) -> None:
        """Sets a policy for this queue alone, or removes it, and waits until the queue has it."""
        path = f"/api/policies/{quote(self.vhost, safe='')}/{quote(name, safe='')}"
        if definition is None:
            self._ask("DELETE", path)
            return
        pattern = "^" + queue.replace(".", "[.]") + "$"
        self._ask("PUT", path, {"pattern": pattern, "definition": definition, "apply-to": "queues", "priority": 7})

    def set_policy(self, vhost: str, name: str, about: Mapping[str, object], *, operator: bool = False) -> None:
        """`about`: pattern, definition, apply-to and priority."""
        self._ask("PUT", _policy_path(vhost, name, operator), dict(about))

    def clear_policy(self, vhost: str, name: str, *, operator: bool = False) -> None:
        self._ask("DELETE", _policy_path(vhost, name, operator))

    def policies(self, vhost: str, *, operator: bool = False) -> dict[str, dict[str, Any]]:
        """Those of this virtual host by name, as the broker shows them."""
        kind = "operator-policies" if operator else "policies"
        found = self._ask("GET", f"/api/{kind}/{quote(vhost, safe='')}").get("items") or []
        return {str(one.get("name")): dict(one) for one in found}

    def policy_of(self, queue: str) -> str:
        """The name of the policy that is in force for the queue; empty without one."""
        path = f"/api/queues/{quote(self.vhost, safe='')}/{quote(queue, safe='')}?disable_stats=true"
        return str(self._ask("GET", path).get("policy") or "")

    def make_vhost(self, name: str, user: str) -> None:
        """Makes a vhost in which this user may do anything."""
        self._ask("PUT", f"/api/vhosts/{quote(name, safe='')}", {})
        rights = {"configure": ".*", "write": ".*", "read": ".*"}
        self._ask("PUT", f"/api/permissions/{quote(name, safe='')}/{quote(user, safe='')}", rights)

    def remove_vhost(self, name: str) -> None:
        self._ask("DELETE", f"/api/vhosts/{quote(name, safe='')}")

    def make_user(self, name: str, password: str, tags: str = "") -> None:
        """Makes a user who may not enter any vhost yet."""
        self._ask("PUT", f"/api/users/{quote(name, safe='')}", {"password": password, "tags": tags})

    def permit(self, user: str, patterns: Mapping[str, str] | None, vhost: str) -> None:
        """Lets the user configure, write and read what fits these patterns, or no longer enter the vhost."""
        path = f"/api/permissions/{quote(vhost, safe='')}/{quote(user, safe='')}"
        if patterns is None:
            self._ask("DELETE", path)
        else:
            self._ask("PUT", path, dict(patterns))

    def permit_topics(self, user: str, exchange: str, patterns: Mapping[str, str], vhost: str) -> None:
        """Lets the user write and read only these routing keys, where they are for this topic exchange."""
        path = f"/api/topic-permissions/{quote(vhost, safe='')}/{quote(user, safe='')}"
        self._ask("PUT", path, {"exchange": exchange, **patterns})

    def refused(self, path: str) -> str:
        """Why this is not to be had, such as /api/topic-permissions; empty: it is."""
        try:
            self._ask("GET", path)
        except AdminRefused as refused:
            return str(refused)
        return ""

    def remove_user(self, name: str) -> None:
        self._ask("DELETE", f"/api/users/{quote(name, safe='')}")

    def settings(self) -> dict[str, Any] | None:
        """The settings of a broker that lets them be changed; None: it does not."""
        try:
            return self._ask("GET", "/x/settings")
        except AdminRefused:
            return None

    def set(self, **settings: object) -> None:
        self._ask("PUT", "/x/settings", settings)

    def check(self) -> None:
        """Raises AdminRefused where nobody answers."""
        self._ask("GET", "/api/overview")

    def _ask(self, method: str, path: str, content: object = None) -> dict[str, Any]:
        parts = urlsplit(self.url)
        body = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(self._address() + path, data=body, method=method)
        login = f"{unquote(parts.username or 'guest')}:{unquote(parts.password or 'guest')}"
        request.add_header("Authorization", "Basic " + base64.b64encode(login.encode()).decode())
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                text = answer.read()
        except (OSError, ValueError) as problem:
            raise AdminRefused(f"{method} {path} at {self._address()}: {problem}") from None
        found = json.loads(text) if text.strip() else {}
        return found if isinstance(found, dict) else {"items": found}

    def _address(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme or 'http'}://{parts.hostname}:{parts.port or 15672}{parts.path.rstrip('/')}"


def _policy_path(vhost: str, name: str, operator: bool) -> str:
    kind = "operator-policies" if operator else "policies"
    return f"/api/{kind}/{quote(vhost, safe='')}/{quote(name, safe='')}"
