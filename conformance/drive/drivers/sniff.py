"""What kind of server listens on a port: asked only when AMQP got no useful answer, to give better advice."""

from __future__ import annotations

import contextlib
import socket
import ssl
from typing import Literal

from conformance.drive.drivers.target import Target

PATIENCE = 2.0
Tongue = Literal["amqp", "tls", "http", "other", "nothing"]


def what_listens(target: Target) -> Tongue:
    """The first of the tongues AMQP, TLS and HTTP in which the port gives an answer."""
    try:
        with _dial(target):
            pass
    except OSError:
        return "nothing"
    if _ask(target, b"AMQP\x00\x00\x09\x01")[:1] == b"\x01":
        return "amqp"
    if _speaks_tls(target):
        return "tls"
    if _ask(target, b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n").startswith(b"HTTP/"):
        return "http"
    return "other"


def _dial(target: Target) -> socket.socket:
    return socket.create_connection((target.host, target.port), timeout=min(target.timeout, PATIENCE))


def _ask(target: Target, question: bytes) -> bytes:
    with contextlib.suppress(OSError), _dial(target) as sock:
        sock.sendall(question)
        return sock.recv(64)
    return b""


def _speaks_tls(target: Target) -> bool:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with _dial(target) as sock, context.wrap_socket(sock):
            return True
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")
    except OSError:
        return False
