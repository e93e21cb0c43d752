"""The broker's management interface: a small HTTP server in the loop of the broker.

Where RabbitMQ has a path for something, it is that path and that JSON, so that the same client sets up both. Ours are
`/x/clock` and `/x/settings`. Everything is done between two ticks of the core, and one request is one connection.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

from reference_broker.queue import Queue
from reference_broker.server import Server
from reference_broker.settings import Policy

LARGEST = 1 << 20
REASONS = {200: "OK", 201: "Created", 204: "No Content", 400: "Bad Request", 404: "Not Found"}

Answer = tuple[int, Any]
NOT_FOUND: Answer = 404, {"error": "Object Not Found", "reason": "Not Found"}


class Control:
    """Answers requests for one server; `theirs_only`: none for the paths that RabbitMQ has not."""

    def __init__(self, server: Server, theirs_only: bool = False) -> None:
        self.server = server
        self.theirs_only = theirs_only
        self.vhost = server.broker.vhost
        self.listener: asyncio.Server | None = None

    async def listen(self, host: str, port: int) -> int:
        self.listener = await asyncio.start_server(self.serve, host, port)
        taken: int = self.listener.sockets[0].getsockname()[1]
        return taken

    async def close(self) -> None:
        if self.listener is not None:
            self.listener.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            fields = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
            body = await reader.readexactly(min(int(fields.get("content-length", "0")), LARGEST))
            method, target, _ = head[0].split(" ", 2)
            status, content = self.answer(method, target, body)
        except (ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as problem:
            status, content = 400, {"error": "bad_request", "reason": str(problem)}
        data = b"" if content is None else json.dumps(content).encode()
        writer.write(f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: application/json\r\nContent-Length: "
                     f"{len(data)}\r\nConnection: close\r\n\r\n".encode() + data)
        writer.close()

    def answer(self, method: str, target: str, body: bytes) -> Answer:
        """One request, by its path."""
        path = [unquote(part) for part in urlsplit(target).path.strip("/").split("/")]
        handler = self.handlers().get((method, *path[:2])) if path[0] == "api" or not self.theirs_only else None
        given = json.loads(body) if body.strip() else {}
        if handler is None or not isinstance(given, dict):
            return NOT_FOUND
        self.server.move()
        result = handler(path[2:], given)
        self.server.flush()
        return result

    def handlers(self) -> dict[tuple[str, ...], Callable[[list[str], dict[str, Any]], Answer]]:
        return {
            ("GET", "api", "overview"): self.overview, ("GET", "api", "queues"): self.queues,
            ("GET", "api", "policies"): self.policies, ("PUT", "api", "policies"): self.set_policy,
            ("DELETE", "api", "policies"): self.clear_policy, ("GET", "api", "connections"): self.connections,
            ("GET", "x", "settings"): self.settings, ("PUT", "x", "settings"): self.change_settings,
            ("POST", "x", "clock"): self.advance, ("GET", "x", "clock"): self.clock,
        }

    # -- RabbitMQ's

    def overview(self, path: list[str], given: dict[str, Any]) -> Answer:
        broker = self.server.broker
        known = {name: value.decode() for name, kind, value in broker.server_properties if kind == "S"}
        return 200, {"product_name": known["product"], "product_version": known["version"],
                     "object_totals": {"queues": len(self.vhost.queues), "connections": len(broker.connections)}}

    def queues(self, path: list[str], given: dict[str, Any]) -> Answer:
        if len(path) < 2:
            return 200, [self.shown(queue) for queue in self.vhost.queues.values()]
        queue = self.vhost.queues.get(path[1])
        return (200, self.shown(queue)) if queue is not None else NOT_FOUND

    def shown(self, queue: Queue) -> dict[str, Any]:
        policy = self.vhost.settings.policy_of(queue)
        return {
            "name": queue.name, "vhost": "/", "type": "classic" if queue.quorum is None else "quorum",
            "durable": queue.durable, "messages_ready": queue.count(), "consumers": len(queue.consumers),
            "policy": policy.name if policy else None,
            "effective_policy_definition": dict(policy.definition) if policy else {},
        }

    def policies(self, path: list[str], given: dict[str, Any]) -> Answer:
        return 200, [
            {"vhost": "/", "name": one.name, "pattern": one.pattern, "apply-to": one.apply_to,
             "definition": dict(one.definition), "priority": one.priority}
            for one in self.vhost.settings.policies.values()
        ]

    def set_policy(self, path: list[str], given: dict[str, Any]) -> Answer:
        if len(path) != 2 or not isinstance(given.get("definition"), dict) or "pattern" not in given:
            raise ValueError("a policy has a pattern and a definition")
        self.vhost.settings.policies[path[1]] = Policy(
            path[1], str(given["pattern"]), given["definition"], str(given.get("apply-to", "all")),
            int(given.get("priority", 0)),
        )
        return 201, None

    def clear_policy(self, path: list[str], given: dict[str, Any]) -> Answer:
        known = len(path) == 2 and self.vhost.settings.policies.pop(path[1], None) is not None
        return (204, None) if known else NOT_FOUND

    def connections(self, path: list[str], given: dict[str, Any]) -> Answer:
        return 200, [{"user": one.user, "vhost": "/"} for one in self.server.broker.connections]

    # -- ours

    def settings(self, path: list[str], given: dict[str, Any]) -> Answer:
        return 200, {"consumer_timeout": self.vhost.settings.consumer_timeout}

    def change_settings(self, path: list[str], given: dict[str, Any]) -> Answer:
        timeout = given.get("consumer_timeout")
        if timeout is not None and (not isinstance(timeout, int) or timeout < 0):
            raise ValueError("consumer_timeout is a number of milliseconds, or null for the default")
        self.vhost.settings.consumer_timeout = timeout
        return 204, None

    def clock(self, path: list[str], given: dict[str, Any]) -> Answer:
        return 200, {"now": self.server.broker.clock.now}

    def advance(self, path: list[str], given: dict[str, Any]) -> Answer:
        self.server.advance(float(given.get("seconds", 0)))
        return self.clock(path, given)
