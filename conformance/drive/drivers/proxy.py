"""A proxy that forwards octets and reports what passed: between any client and any broker, also with TLS to the broker.

Octets are forwarded as soon as they come, and only then reported. One thread does everything, so the reports have one
order over all connections: what a client sends is reported before the broker can have answered it. A side that does
not read slows the other side down, as it would without a proxy. The end of a side is passed on: an orderly end as
such, a reset as a reset. Only a `change` alters octets, on purpose.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
import time
from collections.abc import Callable

from conformance.drive.drivers.target import Target
from conformance.drive.drivers.wire import tls_context
from conformance.history.events import TO_BROKER, TO_CLIENT

OPENED, ENDED = "open", "end"

Tell = Callable[[int, int, str, bytes], None]
"""(nanoseconds, number of the connection, OPENED, ENDED or a direction, octets: the client's address, the cause)"""


Change = Callable[[int, str, bytes], bytes]
"""(number of the connection, a direction, octets) to the octets that go on in their place"""


class Proxy:
    """Listens, and connects each client to the target. `complain` is told, in words, of a broker out of reach."""

    def __init__(
        self,
        target: Target,
        tell: Tell,
        complain: Callable[[str], None],
        change: Change | None = None,
    ) -> None:
        self.target, self.tell, self.complain, self.change = target, tell, complain, change
        self.opened = 0
        self._tls = tls_context(target.options) if target.tls else None
        self._tasks: set[asyncio.Task[None]] = set()

    async def listen(self, host: str, port: int) -> asyncio.Server:
        """Serves until the server is closed. Raises OSError where the address cannot be had."""
        return await asyncio.get_running_loop().create_server(lambda: _Side(self), host, port)

    def join(self, client: _Side) -> None:
        """A client has come: it gets a connection of its own to the broker."""
        task = asyncio.ensure_future(self._join(client))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _join(self, client: _Side) -> None:
        self.opened += 1
        pair = _Pair(self, self.opened)
        name = self.target.options.get("server_name_indication", self.target.host) if self._tls else None
        try:
            _, broker = await asyncio.wait_for(
                asyncio.get_running_loop().create_connection(
                    lambda: _Side(self, pair),
                    self.target.host,
                    self.target.port,
                    ssl=self._tls,
                    server_hostname=name,
                ),
                self.target.timeout,
            )
        except (OSError, ssl.SSLError, TimeoutError) as problem:
            self.complain(
                f"{self.target.address} cannot be reached for a client: {str(problem) or 'no answer in time'}."
            )
            client.abort()
            return
        pair.begin(client, broker)


class _Pair:
    """The two sides of one connection."""

    def __init__(self, proxy: Proxy, number: int) -> None:
        self.proxy, self.number = proxy, number
        self._cause = ""
        self._left = 2

    def begin(self, client: _Side, broker: _Side) -> None:
        client.pair = self
        client.direction, client.other, client.causes = TO_BROKER, broker, ("closed", "aborted")
        broker.direction, broker.other, broker.causes = TO_CLIENT, client, ("fin", "reset")
        self.tell(OPENED, client.peer().encode())
        client.start()
        broker.start()

    def tell(self, what: str, data: bytes) -> None:
        self.proxy.tell(time.time_ns(), self.number, what, data)

    def ending(self, cause: str) -> None:
        """A side ends. The first that does is why the connection ends."""
        self._cause = self._cause or cause

    def gone(self) -> None:
        self._left -= 1
        if not self._left:
            self.tell(ENDED, self._cause.encode())


class _Side(asyncio.Protocol):
    """One side of a connection: what it says goes to the other."""

    def __init__(self, proxy: Proxy, pair: _Pair | None = None) -> None:
        self.proxy, self.pair = proxy, pair
        self.direction = ""
        self.causes = "", ""
        self.other: _Side | None = None
        self.transport: asyncio.Transport | None = None
        self._ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # some Pythons (3.11.2) begin to read after this call, whatever was said in it
        asyncio.get_running_loop().call_soon(transport.pause_reading)
        if self.pair is None:
            self.proxy.join(self)

    def start(self) -> None:
        """The other side is there: from now on octets are forwarded."""
        assert self.transport is not None
        if self.transport.is_closing():
            self.connection_lost(None)
        else:
            self.transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        assert self.pair is not None
        if self.proxy.change is not None:
            data = self.proxy.change(self.pair.number, self.direction, data)
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(data)
        self.pair.tell(self.direction, data)

    def eof_received(self) -> bool:
        """Half-closed: the other side is told, and may still say what it has to say. TLS knows no half."""
        assert self.pair is not None
        self.pair.ending(self.causes[0])
        self._ended = True
        other = self.other
        if other is None or other.transport is None or other._ended or not other.transport.can_write_eof():
            return False
        other.transport.write_eof()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        if self.pair is None or self.other is None:
            return
        self.pair.ending(self.causes[1 if exc else 0])
        other, self.other = self.other, None
        if exc is not None:
            other.abort()
        elif other.transport is not None:
            other.transport.close()
        self.pair.gone()

    def pause_writing(self) -> None:
        self._sources("pause_reading")

    def resume_writing(self) -> None:
        self._sources("resume_reading")

    def _sources(self, action: str) -> None:
        transport = self.other.transport if self.other is not None else None
        if transport is not None and not transport.is_closing():
            getattr(transport, action)()

    def peer(self) -> str:
        assert self.transport is not None
        host, port = (self.transport.get_extra_info("peername") or ("", 0))[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def abort(self) -> None:
        """Ends the connection with a reset."""
        if self.transport is not None:
            with contextlib.suppress(OSError):
                self.transport.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET,
                    socket.SO_LINGER,
                    struct.pack("ii", 1, 0),
                )
            self.transport.abort()
