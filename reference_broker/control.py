"""The broker's management interface: a small HTTP server in the loop of the broker.

What answers is in `management/`, and HTTP/1.1 is read and written by h11; here is what goes between, and the login. A
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

import h11

from reference_broker import management
from reference_broker.core.access import User
from reference_broker.core.connections.origin import is_loopback
from reference_broker.management import Ask, Refusal, Route, Router
from reference_broker.management.answers import paging
from reference_broker.management.node import Listener
from reference_broker.management.route import SUFFICE, taken_apart
from reference_broker.server import Server

logger = logging.getLogger(__name__)
LARGEST = 1 << 24
"""Octets of a request's body."""
LARGEST_HEAD = 1 << 16
"""Octets of a request's line and header fields."""
PATIENCE = 30.0
"""Seconds that a request may take to come, and a connection to be idle."""
AT_ONCE = 256
REALM = 'Basic realm="RabbitMQ Management"'

Remake = Callable[[Sequence[str], int | Sequence[str] | None], None]


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class Control:
    """Answers requests for one server; `theirs_only`: none for the paths that RabbitMQ has not."""

    def __init__(self, server: Server, remake: Remake, theirs_only: bool = False) -> None:
        self.server = server
        self.node = management.Node(
            server.broker, self.listening, time.time, os.getpid(), server.advance, remake, server.broker.peers_clock.now
        )
        self.router = Router(management.THEIRS if theirs_only else [*management.THEIRS, *management.OURS])
        self.listeners: list[asyncio.Server] = []
        self.open: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}
        """Each connection, and the task that serves it."""

    def listening(self) -> list[Listener]:
        """Where the broker can be reached, here and for AMQP."""
        amqp = [
            Listener("amqp", port) if secure is None else Listener("amqp/ssl", port, secure.expires)
            for port, secure in self.server.ports
        ]
        return [*amqp, *(Listener("http", one.sockets[0].getsockname()[1]) for one in self.listeners if one.sockets)]

    async def listen(self, host: str, port: int) -> int:
        self.listeners.append(await asyncio.start_server(self.accept, host, port))
        taken: int = self.listeners[-1].sockets[0].getsockname()[1]
        return taken

    async def close(self) -> None:
        """Cut off every client, and wait until its task is over: one that the loop has to cancel complains."""
        for listener in self.listeners:
            listener.close()
        for writer in self.open:
            writer.transport.abort()
        if self.open:
            await asyncio.wait(self.open.values())

    # -- HTTP

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The task is noted before it runs, so that `close` knows of it."""
        self.open[writer] = asyncio.ensure_future(self.serve(reader, writer))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if len(self.open) <= AT_ONCE:
                await self.converse(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass
        finally:
            del self.open[writer]
            writer.close()

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = (writer.get_extra_info("peername") or ("127.0.0.1",))[0]
        http = h11.Connection(h11.SERVER, max_incomplete_event_size=LARGEST_HEAD)
        while True:
            try:
                request = await asyncio.wait_for(received(http, reader, writer), PATIENCE)
            except Refusal as refused:
                writer.write(write_response(http, *refusal_answer(refused), last=True))
                return
            if request is None:
                return
            if request.target.startswith(management.X):
                await self.server.take_in()
            status, content = self.answer(request, is_loopback(peer))
            writer.write(write_response(http, status, content, bare=request.method == "HEAD"))
            await asyncio.wait_for(writer.drain(), PATIENCE)
            if http.our_state is not h11.DONE:
                return
            http.start_next_cycle()

    # -- one request

    def answer(self, request: Request, loopback: bool) -> tuple[int, Any]:
        try:
            return self.attempt(request, loopback)
        except Refusal as refused:
            return refusal_answer(refused)
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


async def received(http: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request | None:
    """The next request; None where the client is gone. Raises Refusal where it cannot be read."""
    head = await next_event(http, reader, writer)
    if not isinstance(head, h11.Request):
        return None
    if not head.http_version.startswith(b"1."):
        raise Refusal(400, "bad_request", "this is no request of HTTP/1.1")
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
    body, length = bytearray(), int(headers.get("content-length", "0"))
    while max(length, len(body)) <= LARGEST:
        part = await next_event(http, reader, writer)
        if not isinstance(part, h11.Data):
            return Request(head.method.decode(), head.target.decode("latin-1"), headers, bytes(body))
        body += part.data
    raise Refusal(413, "bad_request", f"a body has {LARGEST} octets at most")


async def next_event(http: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> h11.Event:
    """What comes next of a request. Raises Refusal."""
    try:
        while (found := http.next_event()) is h11.NEED_DATA:
            if http.they_are_waiting_for_100_continue:
                writer.write(send(http, h11.InformationalResponse(status_code=100, headers=[])))
            http.receive_data(await reader.read(LARGEST_HEAD))
    except h11.RemoteProtocolError as problem:
        reason = f"this is no request of HTTP/1.1: {problem}"
        raise Refusal(problem.error_status_hint, "bad_request", reason) from None
    assert isinstance(found, h11.Event), "a request is answered before the next is read"
    return found


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


def refusal_answer(refused: Refusal) -> tuple[int, Any]:
    return refused.status, {"error": refused.error, "reason": refused.reason} if refused.error else None


def write_response(http: h11.Connection, status: int, content: Any, *, bare: bool = False, last: bool = False) -> bytes:
    """An answer; `bare`: as for HEAD, without its body; `last`: the connection ends with it."""
    data = b"" if content is None else json.dumps(content).encode()
    headers = [
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(data))),
        ("Cache-Control", "no-cache"),
        *([("WWW-Authenticate", REALM)] if status == 401 else []),
        *([("Connection", "close")] if last else []),
    ]
    head = h11.Response(status_code=status, headers=headers, reason=HTTPStatus(status).phrase)
    body = [] if bare or status == 204 else [h11.Data(data=data)]
    return b"".join(send(http, part) for part in (head, *body, h11.EndOfMessage()))


def send(http: h11.Connection, part: h11.Event) -> bytes:
    return http.send(part) or b""
