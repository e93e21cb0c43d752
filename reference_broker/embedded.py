"""The in-process door: a broker in its own thread, reachable over TCP within milliseconds.

    with ReferenceBroker() as broker:
        connect(broker.url)

Every instance is its own world, on a free port of the loopback interface. With `clock="virtual"`
time stands still until `advance` is called. The same seed gives the same server-made names, except
with a data directory: there may be some of an earlier life. `variations` makes it do what the text
leaves open differently each time, see `nondeterminism`; the number says which variations, and `charter`
tells them. A `dialect` other than "documented" does as that RabbitMQ does, and introduces itself as it.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Self
from urllib.parse import quote

from reference_broker import dialects, personalities
from reference_broker.configuration import Configuration, Nondeterminism, charter
from reference_broker.control import Control
from reference_broker.core.broker import Broker
from reference_broker.core.connections.limits import Limits
from reference_broker.core.settings import Policy
from reference_broker.core.tap import Tap
from reference_broker.dialects import DOCUMENTED
from reference_broker.nondeterminism import Charter
from reference_broker.server import ClockKind, Server
from reference_broker.store.keeper import Store, Sync
from reference_broker.tls import Tls

GUEST = {"guest": "guest"}


class ReferenceBroker:
    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        clock: ClockKind = "real",
        mutants: Iterable[str] = (),
        nondeterminism: Nondeterminism = None,
        liberties: Nondeterminism = None,
        dialect: str = DOCUMENTED.name,
        product: str | None = None,
        version: str | None = None,
        seed: int = 0,
        http_port: int | None = None,
        theirs_only: bool = False,
        consumer_timeout: int | None = None,
        tls: Tls | None = None,
        tls_port: int = 0,
        limits: Limits | None = None,
        users: Mapping[str, str] | None = None,
        data: str | Path | None = None,
        sync: Sync = "fsync",
        tap: Tap | None = None,
        personality: str | int | None = None,
    ) -> None:
        """`http_port`: also serve the management interface there, 0 for a free port; `theirs_only`: only what RabbitMQ
        has, too. `consumer_timeout`: the broker's own, in milliseconds. `tls`: also listen for amqps, on `tls_port`.
        `users`: names and passwords of who may do anything, instead of guest. `data`: keep what is durable in this
        directory, as safely as `sync` says, and begin with what is there. `tap`: overhears all connections.
        `personality`: deviate in several ways at once, as the stranger of that name does or of that seed. `liberties`:
        the same as `nondeterminism`."""
        self.host = host
        self.http_port = http_port
        self.theirs_only = theirs_only
        self.port = port
        self.clock = clock
        nondeterminism = liberties if nondeterminism is None else nondeterminism
        self._data, self._sync = data, sync
        self._store: Store | None = None
        self._tls, self.tls_port = tls, tls_port
        self._secure = tls.context() if tls is not None else None
        self._login = next(iter((users or GUEST).items()))
        limits = limits or Limits()
        self._configuration = Configuration(
            mutants=tuple(mutants),
            nondeterminism=nondeterminism,
            dialect=dialects.dialect(dialect),
            personality=personalities.personality(personality) if personality is not None else None,
            tap=tap,
            product=product,
            version=version,
            seed=seed if data is None else None,
            users=users,
            limits=replace(limits, heartbeat=0) if clock == "virtual" else limits,
            consumer_timeout=consumer_timeout,
            external=tls is not None and tls.external,
        )
        self._configuration.parts()
        self._now = self._configuration
        """With the mutants and variations that it was last told; a start begins with those that it was made with."""
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: Server | None = None
        self._stop: asyncio.Event | None = None

    @property
    def url(self) -> str:
        return f"amqp://{self._who}@{self._address}:{self.port}/%2F"

    @property
    def tls_url(self) -> str:
        """With the broker's own certificate as authority; a client certificate is for the client to add."""
        assert self._tls is not None, "this broker was made without tls"
        authority = quote(self._tls.ca or self._tls.cert)
        return f"amqps://{self._who}@{self._address}:{self.tls_port}/%2F?cacertfile={authority}"

    @property
    def admin_url(self) -> str:
        return f"http://{self._who}@{self._address}:{self.http_port}"

    @property
    def _address(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def _who(self) -> str:
        return ":".join(quote(word, safe="") for word in self._login)

    @property
    def running(self) -> bool:
        return self._thread is not None

    def start(self) -> Self:
        """An empty broker, listening when this returns; an address that cannot be had raises OSError.

        With a data directory it is the broker that this last was; Unusable, where it cannot be.
        """
        if self._thread is not None:
            return self
        self._store = Store.open(Path(self._data), self._sync) if self._data is not None else None
        core = self._configuration.core(self._store)
        listening: Future[int] = Future()
        self._thread = threading.Thread(target=self._run, args=(core, listening), name="reference-broker", daemon=True)
        self._thread.start()
        try:
            self.port = listening.result()
        except BaseException:
            self._thread.join()
            self._thread = None
            raise
        return self

    def stop(self) -> None:
        """Close the port and every connection; harmless when not running, or when another thread stops it as well."""
        thread = self._thread
        if thread is None or self._loop is None or self._stop is None:
            return
        with contextlib.suppress(RuntimeError):  # the loop is closed by now
            self._loop.call_soon_threadsafe(self._stop.set)
        thread.join()
        self._thread = None

    def advance(self, seconds: float = 0, *, minutes: float = 0, hours: float = 0) -> None:
        """Let time pass for messages, queues and consumers, after all that clients have handed over before.

        What is due has been sent when this returns, or put off where that is a variation. Heartbeats go by real time.
        """
        self._pass(seconds + 60 * minutes + 3600 * hours, peers=False)

    def leap(self, seconds: float) -> None:
        """The same, and for peers as well: who has agreed to heartbeats has sent none in all that time."""
        self._pass(seconds, peers=True)

    def _pass(self, seconds: float, peers: bool) -> None:
        if self.clock == "real":
            raise ValueError("only a clock that is virtual or elastic can be advanced")
        if not 0 <= seconds < inf:
            raise ValueError(f"time passes forwards, and ends somewhere: not {seconds:g} s")
        self._inside(lambda server: server.advance(seconds, peers))

    def take_in(self) -> None:
        """Wait until all that clients have handed over before is worked off."""
        self._inside(lambda server: None)

    def crash(self) -> None:
        """As if it were killed and started again: who is connected is cut off, and what is durable is left.

        Only without a data directory; who keeps his data there kills the process. Raises RuntimeError.
        """
        if self._thread is None or self._loop is None or self._server is None or self._store is not None:
            raise RuntimeError("only a broker that runs, and has no data directory, can play a crash")
        asyncio.run_coroutine_threadsafe(self._server.crash(), self._loop).result()

    def restart(self) -> None:
        """As if it were shut down in good order and started again: who is connected is told so (320), and what is
        durable is left. Raises RuntimeError, as `crash` does."""
        if self._thread is None or self._loop is None or self._server is None or self._store is not None:
            raise RuntimeError("only a broker that runs, and has no data directory, can play a restart")
        asyncio.run_coroutine_threadsafe(self._server.restart(), self._loop).result()

    def alarm(self, reason: str | None) -> None:
        """Resources are low: who publishes from now on is blocked, and told why (connection.blocked); None: no more."""
        self._inside(lambda server: server.alarm(reason))

    def nondeterminism(self, seed: int | Sequence[str] | None) -> Charter | None:
        """Take these variations from now on, on new connections and in new queues; none with None. Tells which."""
        self._remake(self._now.mutants, seed)
        return None if seed is None else charter(seed)

    liberties = nondeterminism

    def mutate(self, *mutants: str) -> None:
        """Misbehave in these ways from now on, on new connections and in new queues; in none without names.

        Raises UnknownMutant.
        """
        self._remake(mutants, self._now.nondeterminism)

    def _remake(self, mutants: Sequence[str], nondeterminism: Nondeterminism) -> None:
        self._now = self._now.otherwise(mutants, nondeterminism)
        parts = self._now.parts(self._store)
        self._inside(lambda server: server.broker.remake(parts))

    # -- policies of the default virtual host

    @property
    def policies(self) -> dict[str, Policy]:
        """A copy: by name."""
        assert self._server is not None
        return dict(self._server.broker.vhost.settings.policies)

    def set_policy(self, policy: Policy) -> None:
        """It holds from now on, for queues that are there, too."""
        self._inside(lambda server: server.broker.vhost.set_policy(policy))

    def clear_policy(self, name: str) -> None:
        """Raises KeyError where there is none of that name."""
        self._inside(lambda server: server.broker.vhost.clear_policy(name))

    def _inside(self, action: Callable[[Server], None]) -> None:
        """Do something in the thread of the broker, behind all that clients have handed over before, and wait for it.

        Raises RuntimeError if that does not run.
        """
        if self._thread is None or self._loop is None or self._server is None:
            raise RuntimeError("the broker is not running")
        asyncio.run_coroutine_threadsafe(self._do(action), self._loop).result()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()

    async def _do(self, action: Callable[[Server], None]) -> None:
        assert self._server is not None
        await self._server.take_in()
        action(self._server)

    def _run(self, core: Broker, listening: Future[int]) -> None:
        asyncio.run(self._serve(core, listening))

    async def _serve(self, core: Broker, listening: Future[int]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._server = Server(core, self.clock, self._now.connections)
        try:
            if self._store is not None:
                self._store.attach(self._server)
            port = await self._server.listen(self.host, self.port)
            if self._secure is not None:
                self.tls_port = await self._server.listen(self.host, self.tls_port, self._secure)
            control = await self._control()
        except Exception as error:
            await self._server.close()
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
        remake = self._now.remaking(self._server.broker, self._store)
        control = Control(self._server, remake, self.theirs_only)
        self.http_port = await control.listen(self.host, self.http_port)
        return control
