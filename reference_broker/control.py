"""The broker's management interface: a small HTTP server in the loop of the broker.

What answers is in `management/`; here is HTTP/1.1 itself, as much as clients of such interfaces speak, and the login. A
request is answered between two ticks of the core; one of ours behind what clients have handed over before. Who is slow,
sends too much or comes with too many connections is turned away and costs nobody else anything.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import logging
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from reference_broker import management
from reference_broker.access import User
from reference_broker.management import Ask, Refusal, Route, Router, paging
from reference_broker.management.node import Listener
from reference_broker.management.route import SUFFICE, taken_apart
from reference_broker.origin import is_loopback
from reference_broker.server import Server

logger = logging.getLogger(__name__)
LARGEST = 1 << 24
"""Octets of a request's body."""
PATIENCE = 30.0
"""Seconds that a request may take to come, and a connection to be idle."""
AT_ONCE = 256
REALM = 'Basic realm="RabbitMQ Management"'

Remake = Callable[[Sequence[str], int | Sequence[str] | None], None]


@dataclass(slots=True)
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def stays(self) -> bool:
        """Does the client want the connection to live on?"""
        return self.headers.get("connection", "").lower() != "close"


class Control:
    """Answers requests for one server; `theirs_only`: none for the paths that RabbitMQ has not."""

    def __init__(self, server: Server, remake: Remake, theirs_only: bool = False) -> None:
        self.server = server
        self.node = management.Node(
            server.broker, self.listening, time.time, os.getpid(), server.advance, remake, server.broker.peers_clock.now
        )
        self.router = Router(management.THEIRS if theirs_only else [*management.THEIRS, *management.OURS])
        self.listeners: list[asyncio.Server] = []
        self.open: set[asyncio.StreamWriter] = set()

    def listening(self) -> list[Listener]:
        """Where the broker can be reached, here and for AMQP."""
        amqp = [
            Listener("amqp", port) if secure is None else Listener("amqp/ssl", port, secure.expires)
            for port, secure in self.server.ports
        ]
        return [*amqp, *(Listener("http", one.sockets[0].getsockname()[1]) for one in self.listeners if one.sockets)]

    async def listen(self, host: str, port: int) -> int:
        self.listeners.append(await asyncio.start_server(self.serve, host, port))
        taken: int = self.listeners[-1].sockets[0].getsockname()[1]
        return taken

    async def close(self) -> None:
        for listener in self.listeners:
            listener.close()
        for writer in self.open:
            writer.transport.abort()

    # -- HTTP

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open.add(writer)
        try:
            if len(self.open) <= AT_ONCE:
                await self.converse(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open.discard(writer)
            writer.close()

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = (writer.get_extra_info("peername") or ("127.0.0.1",))[0]
        stays = True
        while stays:
            try:
                request = await asyncio.wait_for(received(reader, writer), PATIENCE)
            except Refusal as refused:
                writer.write(told(*shown(refused), stays=False))
                return
            stays = request.stays
            if request.target.startswith(management.X):
                await self.server.take_in()
            status, content = self.answer(request, is_loopback(peer))
            writer.write(told(status, content, stays, head=request.method == "HEAD"))
            await asyncio.wait_for(writer.drain(), PATIENCE)

    # -- one request

    def answer(self, request: Request, loopback: bool) -> tuple[int, Any]:
        try:
            return self.attempt(request, loopback)
        except Refusal as refused:
            return shown(refused)
        except Exception:
            logger.exception("a defect in the management interface: %s %s", request.method, request.target)
            return 500, {"error": "internal_error", "reason": "a defect in the broker; its log tells more"}

    def attempt(self, request: Request, loopback: bool) -> tuple[int, Any]:
        path, query = taken_apart(request.target)
        route, names = self.router.find("GET" if request.method == "HEAD" else request.method, path)
        user = self.user(request.headers.get("authorization"), route, loopback)
        given = route.taken(parsed(request.body)) if route.fields is not None else {}
        self.server.move()
        answer = route.work(Ask(self.node, user, names, query, given, request.headers))
        self.server.flush()
        return answer.status, paging.listed(answer.content, query) if answer.status < 400 else answer.content

    def user(self, authorization: str | None, route: Route, loopback: bool) -> User:
        if route.need == "anybody":
            return User("")
        if authorization is None:
            raise Refusal(401, "", "")
        name, password = credentials(authorization)
        user = self.server.broker.access.by_password(name, password, loopback)
        if user is None:
            raise Refusal(401, "not_authorized", "Login failed")
        if not any(tag in SUFFICE[route.need] for tag in user.tags):
            raise Refusal(401, "not_authorised", f"Not {route.need} user")
        return user


async def received(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request:
    """The next request. Raises Refusal where it cannot be read, IncompleteReadError where none comes."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.LimitOverrunError:
        raise Refusal(431, "bad_request", "too many header fields") from None
    words = head[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise Refusal(400, "bad_request", "this is no request of HTTP/1.1")
    fields = (line.partition(":") for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in fields}
    if "transfer-encoding" in headers:
        raise Refusal(411, "length_required", "a body is sent with its Content-Length")
    length = headers.get("content-length", "0")
    if not length.isdecimal():
        raise Refusal(400, "bad_request", "Content-Length is no number")
    if len(length) > 12 or int(length) > LARGEST:
        raise Refusal(413, "bad_request", f"a body has {LARGEST} octets at most")
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    return Request(words[0], words[1], headers, await reader.readexactly(int(length)))


def parsed(body: bytes) -> Any:
    """Numbers beyond all bounds, and halves of characters, are no JSON: they could not be told again."""
    if not body.strip():
        return {}
    try:
        content = json.loads(body)
        json.dumps(content, allow_nan=False, ensure_ascii=False).encode()
        return content
    except (ValueError, RecursionError):
        raise Refusal(400, "bad_request", "not_json") from None


def credentials(authorization: str) -> tuple[str, str]:
    scheme, _, secret = authorization.partition(" ")
    try:
        name, _, password = base64.b64decode(secret.strip(), validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        name, password = "", ""
    return (name, password) if scheme.lower() == "basic" else ("", "")


def shown(refused: Refusal) -> tuple[int, Any]:
    return refused.status, {"error": refused.error, "reason": refused.reason} if refused.error else None


def told(status: int, content: Any, stays: bool, head: bool = False) -> bytes:
    data = b"" if content is None else json.dumps(content).encode()
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "Content-Type: application/json",
        f"Content-Length: {len(data)}",
        "Cache-Control: no-cache",
        f"Connection: {'keep-alive' if stays else 'close'}",
    ]
    if status == 401:
        lines.append(f"WWW-Authenticate: {REALM}")
    return "\r\n".join([*lines, "", ""]).encode() + (b"" if head or status == 204 else data)
