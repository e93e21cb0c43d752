"""A TCP or TLS connection that carries octets, and says how it ended.

The socket never blocks. A write that does not fit reads meanwhile, so that two sides with full buffers cannot wait
for each other; what was read that way is handed out first by the next `read`. `ended` is None while the connection
lives, then one of the causes that END events carry: fin, reset, closed, aborted.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import struct
import time
from collections.abc import Mapping

from conformance.drive.drivers.target import Target

CHUNK = 1 << 18
_RETRY = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Wire:
    """Octets to and from one socket."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setblocking(False)
        self._sock = sock
        self._early: list[bytes] = []
        self.ended: str | None = None
        self.alert = ""
        """What the other side had against our TLS, when it ended it; with TLS 1.3 that comes after the handshake."""

    @classmethod
    def connect(cls, target: Target) -> Wire:
        """Opens the connection, with TLS where the target wants it. Raises OSError or ssl.SSLError."""
        sock = socket.create_connection((target.host, target.port), timeout=target.timeout)
        if target.tls:
            try:
                sock = tls_context(target.options).wrap_socket(
                    sock,
                    server_hostname=target.options.get("server_name_indication", target.host),
                )
            except BaseException:
                sock.close()
                raise
        return cls(sock)

    def fileno(self) -> int:
        return self._sock.fileno()

    @property
    def waiting(self) -> bool:
        """Is there something that `read` hands out without asking the kernel?"""
        return bool(self._early) or (isinstance(self._sock, ssl.SSLSocket) and self._sock.pending() > 0)

    def read(self, timeout: float = 0.0) -> bytes:
        """What has come, after waiting up to `timeout` seconds for something. Empty: nothing, or `ended`."""
        if self._early:
            data = b"".join(self._early)
            self._early.clear()
            return data
        if self.ended or not (self.waiting or self._ready(timeout, write=False)):
            return b""
        return self._receive()

    def write(self, data: bytes, timeout: float = 10.0) -> None:
        """Sends all of it; gives up, as aborted, when the other side takes nothing for `timeout` seconds."""
        rest, last = memoryview(data), time.monotonic()
        while rest and not self.ended:
            try:
                rest = rest[self._sock.send(rest) :]
                last = time.monotonic()
            except _RETRY:
                self._make_room(timeout)
                if time.monotonic() - last > timeout:
                    self.abort()
            except OSError:
                self._read_remains()

    def close(self) -> None:
        self._end("closed")

    def abort(self) -> None:
        """Ends the connection with a reset: what is under way in either direction is lost."""
        if not self.ended:
            with contextlib.suppress(OSError):
                self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._end("aborted")

    def _receive(self) -> bytes:
        try:
            data = self._sock.recv(CHUNK)
        except _RETRY:
            return b""
        except OSError as error:
            self.alert = str(error) if isinstance(error, ssl.SSLError) else ""
            self._end("reset")
            return b""
        if not data:
            self._end("fin")
        return data

    def _ready(self, timeout: float, *, write: bool) -> bool:
        poll = select.poll()
        poll.register(self._sock, select.POLLIN | (select.POLLOUT if write else 0))
        return bool(poll.poll(timeout * 1000))

    def _make_room(self, timeout: float) -> None:
        """Waits until more can be written, and takes in what comes meanwhile."""
        self._ready(timeout, write=True)
        data = self._receive()
        if data:
            self._early.append(data)

    def _read_remains(self) -> None:
        """The other side takes no more. What it said before is still worth reading: usually it says why."""
        while not self.ended:
            data = self._receive()
            if data:
                self._early.append(data)
            elif not self.ended:
                self._end("reset")

    def _end(self, cause: str) -> None:
        if self.ended is None:
            self.ended = cause
            self._sock.close()


def listens(target: Target) -> bool:
    """Does anybody still accept connections there? Only a refusal says no."""
    try:
        socket.create_connection((target.host, target.port), timeout=1.0).close()
    except ConnectionRefusedError:
        return False
    except OSError:
        return True
    return True


def tls_context(options: Mapping[str, str]) -> ssl.SSLContext:
    """The TLS client that the options of a URL describe; certificates are verified unless they say otherwise."""
    context = ssl.create_default_context(cafile=options.get("cacertfile"))
    if options.get("verify") == "verify_none":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if "certfile" in options:
        context.load_cert_chain(options["certfile"], options.get("keyfile"))
    return context


def wait_any(wires: list[Wire], timeout: float) -> None:
    """Returns when one of these wires has something to read, or after `timeout` seconds."""
    poll = select.poll()
    for wire in wires:
        if wire.waiting:
            return
        if not wire.ended:
            poll.register(wire.fileno(), select.POLLIN)
    poll.poll(timeout * 1000)
