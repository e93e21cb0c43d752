"""The in-process door: a broker in its own thread, reachable over TCP within milliseconds.

    with ReferenceBroker() as broker:
        connect(broker.url)

Every instance is its own world, on a free port of the loopback interface. With `clock="virtual"`
time stands still until `advance` is called. The same seed gives the same server-made names. A
`dialect` other than "documented" does as that RabbitMQ does, and introduces itself as it.
"""

from __future__ import annotations

import asyncio
import random
import string
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from importlib import metadata
from types import TracebackType
from typing import Self

from reference_broker import dialects
from reference_broker.broker import Broker
from reference_broker.control import Control
from reference_broker.dialects import DOCUMENTED
from reference_broker.mutants import parts_with
from reference_broker.server import ClockKind, Server

NAME_LETTERS = string.ascii_letters + string.digits + "-_"


def installed_version() -> str:
    try:
        return metadata.version("amqp-conformance")
    except metadata.PackageNotFoundError:
        return "0"


def random_names(seed: int | None) -> Callable[[], str]:
    chance = random.Random(seed)
    return lambda: "".join(chance.choices(NAME_LETTERS, k=22))


def make_core(
    *,
    mutants: Iterable[str] = (),
    dialect: str = DOCUMENTED.name,
    product: str | None = None,
    version: str | None = None,
    seed: int | None = 0,
    heartbeat: int = 60,
    consumer_timeout: int | None = None,
) -> Broker:
    speaks = dialects.dialect(dialect)
    broker = Broker(
        product=product,
        version=version or speaks.version or installed_version(),
        dialect=speaks,
        heartbeat=heartbeat,
        parts=parts_with(mutants),
        unique=random_names(seed),
    )
    broker.vhost.settings.consumer_timeout = consumer_timeout
    return broker


class ReferenceBroker:
    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        clock: ClockKind = "real",
        mutants: Iterable[str] = (),
        dialect: str = DOCUMENTED.name,
        product: str | None = None,
        version: str | None = None,
        seed: int = 0,
        http_port: int | None = None,
        theirs_only: bool = False,
        consumer_timeout: int | None = None,
    ) -> None:
        """`http_port`: also serve the management interface there, 0 for a free port; `theirs_only`: only what RabbitMQ
        has, too. `consumer_timeout`: the broker's own, in milliseconds."""
        self.host = host
        self.http_port = http_port
        self.theirs_only = theirs_only
        self.port = port
        self.clock = clock
        mutants = tuple(mutants)
        parts_with(mutants)
        dialects.dialect(dialect)
        heartbeat = 0 if clock == "virtual" else 60
        self._core = partial(
            make_core, mutants=mutants, dialect=dialect, product=product, version=version, seed=seed,
            heartbeat=heartbeat, consumer_timeout=consumer_timeout,
        )
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: Server | None = None
        self._stop: asyncio.Event | None = None

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@{self.host}:{self.port}/%2F"

    @property
    def admin_url(self) -> str:
        return f"http://guest:guest@{self.host}:{self.http_port}"

    def start(self) -> Self:
        """An empty broker, listening when this returns; an address that cannot be had raises OSError."""
        if self._thread is not None:
            return self
        core = self._core()
        listening: Future[int] = Future()
        self._thread = threading.Thread(
            target=self._run, args=(core, listening), name="reference-broker", daemon=True
        )
        self._thread.start()
        try:
            self.port = listening.result()
        except BaseException:
            self._thread.join()
            self._thread = None
            raise
        return self

    def stop(self) -> None:
        """Close the port and every connection; harmless when not running."""
        if self._thread is None or self._loop is None or self._stop is None:
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._thread = None

    def advance(self, seconds: float) -> None:
        """Let time pass; what is due has been sent when this returns."""
        if self.clock == "real":
            raise ValueError("only a clock that is virtual or elastic can be advanced")
        if self._loop is None or self._server is None:
            raise RuntimeError("the broker is not running")
        passed: Future[None] = Future()
        self._loop.call_soon_threadsafe(self._advance, seconds, passed)
        passed.result()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _advance(self, seconds: float, passed: Future[None]) -> None:
        assert self._server is not None
        try:
            self._server.advance(seconds)
        except BaseException as error:
            passed.set_exception(error)
        else:
            passed.set_result(None)

    def _run(self, core: Broker, listening: Future[int]) -> None:
        asyncio.run(self._serve(core, listening))

    async def _serve(self, core: Broker, listening: Future[int]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._server = Server(core, self.clock)
        try:
            port = await self._server.listen(self.host, self.port)
            control = await self._control()
        except OSError as error:
            listening.set_exception(error)
            return
        listening.set_result(port)
        await self._stop.wait()
        if control is not None:
            await control.close()
        await self._server.close()

    async def _control(self) -> Control | None:
        if self.http_port is None or self._server is None:
            return None
        control = Control(self._server, self.theirs_only)
        self.http_port = await control.listen(self.host, self.http_port)
        return control
