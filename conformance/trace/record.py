"""`trace record`: the proxy in this process, the recording in another.

Decoding and writing would hold up the octets that pass meanwhile, so a process of its own does both: it is told what
passed through a pipe, in order, and never answers. If it falls behind, what it has not yet taken waits here, up to
MOST octets; then the proxy waits for it, for a recording with holes is worth little. It ends when the pipe does: after
an interrupt everything is kept, and even when this process is killed, everything that the keeper was told.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from conformance import __version__
from conformance.catalogue import profiles
from conformance.drive.drivers.errors import Unreachable
from conformance.drive.drivers.handshake import introduce, reach
from conformance.drive.drivers.link import RawConnection
from conformance.drive.drivers.proxy import ENDED, OPENED, Proxy
from conformance.drive.drivers.target import BadUrl, Target
from conformance.history.events import TO_BROKER, TO_CLIENT
from conformance.history.recorder import Recorder
from conformance.session.exits import GATE_OPEN, UNREACHABLE, WRONG_USE, Refused
from conformance.session.ticket import Ticket

MOST = 256 << 20
LAST_ROUNDS = 16
"""How often the sockets are read once more at the end: what has come by then belongs to the recording."""

HEAD = struct.Struct(">qIBI")
WHAT = (OPENED, TO_BROKER, TO_CLIENT, ENDED)

Say = Callable[[str], None]


def record(url: str, listen: str, out: Path, say: Say) -> int:
    """Records until interrupted. Raises Refused where it cannot begin."""
    try:
        target = Target.parse(url)
    except BadUrl as bad:
        raise Refused(WRONG_USE, str(bad)) from None
    host, port = address(listen)
    ticket = Ticket.drawn([])
    header = _header(target, ticket)
    order = {"url": f"{'amqps' if target.tls else 'amqp'}://{target.address}", "out": str(out), "header": header}
    keeper = keeping(order)
    assert keeper.stdin is not None
    pipe = Pipe(keeper.stdin.fileno())
    try:
        asyncio.run(_serve(Proxy(target, pipe.tell, say), host, port, say))
    except OSError as problem:
        raise Refused(WRONG_USE, f"Nobody can listen on {listen}: {problem.strerror or problem}.") from None
    finally:
        pipe.drain()
        keeper.stdin.close()
        keeper.wait()
    return GATE_OPEN if keeper.returncode == 0 else keeper.returncode


def keeping(order: Mapping[str, Any]) -> subprocess.Popen[bytes]:
    """The keeper, ready to take what it is told. Raises Refused if it cannot; why, it has said itself."""
    ready, told = os.pipe()
    keeper = subprocess.Popen(
        [sys.executable, "-m", "conformance.trace.keeper", json.dumps({**order, "ready": told})],
        stdin=subprocess.PIPE,
        start_new_session=True,
        pass_fds=[told],
    )
    os.close(told)
    with open(ready, "rb") as answer:
        if not answer.read(1):
            raise Refused(WRONG_USE, f"Cannot record into {order['out']}.")
    return keeper


def address(listen: str) -> tuple[str, int]:
    """PORT or HOST:PORT; without a host, this machine only."""
    host, _, port = listen.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise Refused(WRONG_USE, f"--listen {listen} is no port; give PORT, or HOST:PORT, for example 5673.")
    return host.strip("[]") or "127.0.0.1", int(port)


def _header(target: Target, ticket: Ticket) -> dict[str, Any]:
    """Who is recorded, asked of the broker itself: without a login, and before any client comes."""
    try:
        properties = introduce(RawConnection(reach(target), Recorder("", ""), "introduction", target))
    except Unreachable as failed:
        raise Refused(UNREACHABLE, failed.message) from None
    return {
        "run": ticket.run,
        "started": ticket.started,
        "suite": __version__,
        "broker": named(properties, target),
        "profile": profiles.detect(properties).name,
        "seed": None,
        "server_properties": _plain(properties),
    }


def named(properties: Mapping[str, object], target: Target) -> str:
    """The broker in a few words."""
    words = [str(properties[key]) for key in ("product", "version") if properties.get(key)]
    return " ".join(words) or target.address


def _plain(properties: Mapping[str, object]) -> Any:
    return json.loads(json.dumps(dict(properties), default=str))


async def _serve(proxy: Proxy, host: str, port: int, say: Say) -> None:
    """Until SIGINT or SIGTERM."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    server = await proxy.listen(host, port)
    taken = server.sockets[0].getsockname()[1]
    say(f"Recording what passes {host}:{taken} on its way to {proxy.target.address}. Ctrl-C ends it.")
    await stop.wait()
    server.close()
    for _ in range(LAST_ROUNDS):
        await asyncio.sleep(0)


class Pipe:
    """The way to the keeper. Writing never waits, as long as no more than MOST octets wait to be taken."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._lagging = False
        os.set_blocking(fd, False)

    def tell(self, time_ns: int, number: int, what: str, data: bytes) -> None:
        self._put(HEAD.pack(time_ns, number, WHAT.index(what), len(data)) + data)

    def drain(self) -> None:
        """Everything is taken, however long it takes; a keeper that is gone takes nothing."""
        os.set_blocking(self._fd, True)
        with suppress(BrokenPipeError):
            while self._waiting:
                self._write(self._waiting[0])

    def _put(self, piece: bytes) -> None:
        self._waiting.append(piece)
        self._size += len(piece)
        if not self._lagging:
            self._push()
        elif self._size > MOST:
            self.drain()
            os.set_blocking(self._fd, False)

    def _push(self) -> None:
        """As much as the pipe holds; the rest when it is ready for more."""
        lagged = self._lagging
        try:
            while self._waiting:
                self._write(self._waiting[0])
            self._lagging = False
        except BlockingIOError:
            self._lagging = True
        if self._lagging and not lagged:
            asyncio.get_running_loop().add_writer(self._fd, self._push)
        elif lagged and not self._lagging:
            asyncio.get_running_loop().remove_writer(self._fd)

    def _write(self, piece: bytes) -> None:
        written = os.write(self._fd, piece)
        self._size -= written
        if written == len(piece):
            self._waiting.popleft()
        else:
            self._waiting[0] = piece[written:]
