"""Hostile peers of a broker over TCP and TLS, all at once, while a well-behaved client measures how it is served.

Besides a storm of broken inputs there are peers that say nothing, that say one octet at a time, that log in and then
read nothing of what they ask for, that begin large messages on many channels and leave them there, and that send header
fields to the management port without end. When all are gone, the broker must be as it was.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import codec
from benchmarks.fuzz.inputs import HANDSHAKE, Breaker, corpus
from codec import methods as m

ASSAULTS = 4
AT_ONCE = 40
STORM = 50.0
"""Seconds that the storm of one assault may take; on a slow machine it has fewer inputs."""
CROWD = 25
"""Peers of each bad kind."""
GRACE = 20.0
"""Seconds until a connection that was ended must be closed."""
SETTLING = 10
"""Looks at the memory, until it must have come down."""
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Report:
    """`worst_ms` and `usual_ms` are what the well-behaved client waited for a message to come round."""

    inputs: int = 0
    crashes: int = 0
    hangs: int = 0
    rounds: list[float] = field(default_factory=list)
    peak_mb: float = 0.0
    leaks_mb: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def usual_ms(self) -> float:
        return sorted(self.rounds)[len(self.rounds) // 2] * 1000 if self.rounds else 0.0

    @property
    def worst_ms(self) -> float:
        return max(self.rounds, default=0.0) * 1000


@dataclass
class Target:
    """A broker in a process of its own."""

    process: asyncio.subprocess.Process
    port: int
    tls_port: int
    http_port: int
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    """Of bad peers."""

    def resident_mb(self) -> float:
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * 4096 / 1e6

    async def connect(self, secure: bool = False) -> Stream:
        context = None
        if secure:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        port = self.tls_port if secure else self.port
        return await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port, ssl=context), GRACE)

    async def assault(self, http: bool = False) -> Stream:
        """A connection that is cut off when its peer has gone."""
        port = self.http_port if http else self.port
        reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), GRACE)
        self.writers.append(writer)
        return reader, writer

    def cut_off(self) -> None:
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()


@contextlib.asynccontextmanager
async def broker(folder: Path) -> AsyncIterator[Target]:
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-keyout",
            str(key),
            "-out",
            str(cert),
        ],
        check=True,
        capture_output=True,
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "reference_broker",
        "--port",
        "0",
        "--http",
        "0",
        "--tls-port",
        "0",
        "--tls-cert",
        str(cert),
        "--tls-key",
        str(key),
        stdout=asyncio.subprocess.PIPE,
        stderr=(folder / "broker.log").open("wb"),
    )
    assert process.stdout is not None
    ports: dict[str, int] = {}
    while "amqp" not in ports:
        line = (await asyncio.wait_for(process.stdout.readline(), GRACE)).decode()
        scheme, _, rest = line.split(" on ")[-1].partition("://")
        ports[scheme] = int(rest.strip().removesuffix("/%2F").rpartition(":")[2])
    try:
        yield Target(process, ports["amqp"], ports["amqps"], ports["http"])
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


# -- peers


async def storm(target: Target, breaker: Breaker, count: int, report: Report) -> None:
    """Broken inputs, each on a connection of its own, every fourth over TLS."""

    async def one(number: int) -> None:
        given = breaker.input()
        reader, writer = await target.connect(secure=number % 4 == 0)
        with contextlib.suppress(OSError):
            for piece in (given.beginning, *given.pieces):
                writer.write(piece)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
                await asyncio.wait_for(reader.read(-1), GRACE)
        writer.close()
        report.inputs += 1

    until = time.monotonic() + STORM

    async def some(numbers: range) -> None:
        for number in numbers:
            if time.monotonic() > until:
                return
            try:
                await one(number)
            except TimeoutError:
                report.hangs += 1
                report.notes.append("a connection that was ended was not closed")

    await asyncio.gather(*(some(range(first, count, AT_ONCE)) for first in range(AT_ONCE)))


async def mute(target: Target) -> None:
    reader, _ = await target.assault()
    await reader.read(-1)


async def slow(target: Target) -> None:
    """Slow-loris: the handshake, one octet at a time."""
    _, writer = await target.assault()
    for octet in b"".join(HANDSHAKE):
        if writer.is_closing():
            return
        writer.write(bytes([octet]))
        await asyncio.sleep(0.1)


async def deaf(target: Target) -> None:
    """Asks for more and more, and reads nothing of it."""
    _, writer = await target.assault()
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    writer.write(b"".join(HANDSHAKE))
    writer.write(codec.content(m.BasicPublish(1, 0, "", "q"), bytes(60_000), frame_max=65536))
    again = (
        m.BasicGet(1, 0, "q").encode()
        + m.BasicNack(1, 0, True, True).encode()
        + m.BasicPublish(1, 0, "", "nowhere", True).encode()
        + codec.header(1, 0).encode()
    )
    while not writer.is_closing():
        writer.write(again * 100)
        await writer.drain()
        await asyncio.sleep(0.01)


async def unfinished(target: Target) -> None:
    """Begins a large message on each of a hundred channels."""
    _, writer = await target.assault()
    writer.write(b"".join(HANDSHAKE))
    for number in range(2, 100):
        writer.write(m.ChannelOpen(number).encode() + m.BasicPublish(number, 0, "", "q").encode())
        writer.write(codec.header(number, 100_000_000).encode() + codec.Body(number, bytes(1000)).encode())
    await writer.drain()
    await asyncio.sleep(3600)


async def endless_headers(target: Target) -> None:
    _, writer = await target.assault(http=True)
    writer.write(b"GET /api/overview HTTP/1.1\r\n")
    while not writer.is_closing():
        writer.write(b"X-More: " + b"x" * 1000 + b"\r\n")
        await writer.drain()
        await asyncio.sleep(0.01)


BAD: tuple[Callable[[Target], Awaitable[None]], ...] = (mute, slow, deaf, unfinished, endless_headers)


async def bad(peer: Callable[[Target], Awaitable[None]], target: Target) -> None:
    """Comes again whenever it is thrown out."""
    while True:
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            await peer(target)
        await asyncio.sleep(0.2)


# -- the one who is to be served


async def witness(target: Target, report: Report) -> None:
    reader, writer = await target.connect()
    frames = codec.FrameReader()
    writer.write(b"".join(HANDSHAKE) + m.QueueDeclare(1, 0, "witness", exclusive=True).encode())
    writer.write(m.BasicConsume(1, 0, "witness", "w", no_ack=True).encode())
    number = 0
    while True:
        number += 1
        begin, body = time.monotonic(), str(number).encode()
        writer.write(codec.content(m.BasicPublish(1, 0, "", "witness"), body))
        arrived = False
        while not arrived:
            data = await asyncio.wait_for(reader.read(65536), GRACE)
            if not data:
                raise ConnectionError("the broker closed the connection of a client that did nothing wrong")
            arrived = any(isinstance(frame, codec.Body) and frame.payload == body for frame in frames.feed(data))
        report.rounds.append(time.monotonic() - begin)
        report.peak_mb = max(report.peak_mb, target.resident_mb())
        await asyncio.sleep(0.02)


async def settled(target: Target) -> float:
    """Memory when the broker has had time to forget; the smallest of some looks."""
    looks = []
    for _ in range(SETTLING):
        await asyncio.sleep(0.2)
        looks.append(target.resident_mb())
    return min(looks)


async def siege(folder: Path, count: int, seconds: float, seed: int = 0) -> Report:
    """Assaults alike, with `count` inputs in all. A leak is what each of them leaves behind, and not only one: memory
    that waits for a collector, or lies between what is in use, comes and goes."""
    report, breaker = Report(), Breaker(corpus(seed, 300), random.Random(seed))
    async with broker(folder) as target:
        watching = asyncio.create_task(witness(target, report))
        after = [await assault(target, breaker, count // ASSAULTS, seconds / ASSAULTS, report) for _ in range(ASSAULTS)]
        report.leaks_mb = max(0.0, min(later - earlier for earlier, later in pairwise(after)))
        if watching.done():
            report.hangs += 1
            report.notes.append(f"the well-behaved client: {watching.exception()!r}")
        watching.cancel()
        if target.process.returncode is not None:
            report.crashes += 1
            report.notes.append(f"the broker ended: {target.process.returncode}")
    log = (folder / "broker.log").read_text()
    report.crashes += log.count("a defect in")
    report.notes += log.splitlines()[-10:] if "Traceback" in log else []
    return report


async def assault(target: Target, breaker: Breaker, count: int, seconds: float, report: Report) -> float:
    """A storm of inputs, and all the others for at least so long; the broker's memory afterwards."""
    begin = time.monotonic()
    crowd = [asyncio.create_task(bad(peer, target)) for peer in BAD for _ in range(CROWD)]
    await storm(target, breaker, count, report)
    await asyncio.sleep(max(0.0, begin + seconds - time.monotonic()))
    for task in crowd:
        task.cancel()
    await asyncio.gather(*crowd, return_exceptions=True)
    target.cut_off()
    return await settled(target)
