"""The load of the broker benchmarks: one producer with confirms, one consumer that acknowledges each message, closed.

The generator must not be what is measured, so it decodes nothing on its way: deliveries of one consumer are equally
long, and so are confirms; what it sends is made before the clock starts. Prefetch is 200, and the producer is never
more than `AHEAD` messages before the consumer or the confirms.
"""

from __future__ import annotations

import os
import selectors
import socket
from functools import cache
from itertools import count as counting
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import codec
from benchmarks.processes import cpu
from codec import methods as m
from codec import values

AHEAD = 1000
BATCH = 16
PREFETCH = 200
BODY = b"x" * 1024
ACK_LENGTH = len(m.BasicAck(1, 1).encode())
NUMBERS = counting(1)
ACKS = 1 << 20
"""As many acknowledgements are made in advance."""


class Round(NamedTuple):
    """What one round measured."""

    rate: float
    """Messages a second."""
    cost: float
    """Microseconds of the broker's CPU for each."""
    generator: float
    """The share of a core that the load generator took."""

    @property
    def cores(self) -> float:
        """So many the broker was busy on."""
        return self.rate * self.cost / 1e6


class Line:
    """A logged-in connection with channel 1 open."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        login = f"\0{unquote(parts.username or 'guest')}\0{unquote(parts.password or 'guest')}".encode()
        self.socket = socket.create_connection((parts.hostname, parts.port or 5672), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = codec.FrameReader()
        self.start = self.call(codec.ProtocolHeader())
        self.call(m.ConnectionStartOk(0, [], "PLAIN", login, "en_US"))
        self.call(m.ConnectionTuneOk(0, 2047, 131072), m.ConnectionOpen(0, unquote(parts.path[1:]) or "/"))
        self.call(m.ChannelOpen(1))

    def call(self, *items: codec.Method | codec.ProtocolHeader) -> codec.Frame:
        """Send, and wait for the one frame that answers. Raises ConnectionError where that is a refusal."""
        self.socket.sendall(b"".join(item.encode() for item in items))
        while not (frames := self.read()):
            pass
        if isinstance(frames[0], m.ChannelClose | m.ConnectionClose):
            raise ConnectionError(frames[0].reply_text)
        return frames[0]

    def read(self) -> list[codec.Frame]:
        data = self.socket.recv(1 << 18)
        if not data:
            raise ConnectionError("the broker hung up")
        return self.reader.feed(data)


@cache
def acks() -> bytes:
    """Of all tags, one after the other."""
    return b"".join([m.BasicAck(1, tag).encode() for tag in range(1, ACKS + 1)])


class Load:
    """One producer and one consumer on a queue of their own, which goes with the consumer, or is deleted by `close`."""

    def __init__(self, url: str, persistent: bool) -> None:
        self.url, self.persistent, self.acks = url, persistent, acks()
        self.producer, self.consumer = Line(url), Line(url)
        self.queue = f"amqp-conformance.bench.{os.getpid()}.{next(NUMBERS)}"
        self.consumer.call(m.QueueDeclare(1, 0, self.queue, durable=persistent, exclusive=not persistent))
        self.consumer.call(m.BasicQos(1, 0, PREFETCH))
        self.consumer.call(m.BasicConsume(1, 0, self.queue, "c"))
        self.producer.call(m.ConfirmSelect(1))
        mode = 2 if persistent else 1
        self.publishes = BATCH * codec.content(m.BasicPublish(1, 0, "", self.queue), BODY, delivery_mode=mode)
        delivery = codec.content(m.BasicDeliver(1, "c", 1, False, "", self.queue), BODY, delivery_mode=mode)
        self.delivery_length = len(delivery)
        self.sent = self.received = self.confirmed = self.octets = 0
        self.rest = b""
        self.unread = bytearray(1 << 18)
        """Where deliveries are put, and not looked at."""

    def run(self, seconds: float) -> int:
        """How many messages went all the way through in that time."""
        before, start = self.received, perf_counter()
        with selectors.DefaultSelector() as selector:
            selector.register(self.producer.socket, selectors.EVENT_READ, self.read_confirms)
            selector.register(self.consumer.socket, selectors.EVENT_READ, self.read_deliveries)
            while perf_counter() - start < seconds:
                timeout = 1.0
                if self.sent - min(self.received, self.confirmed) <= AHEAD - BATCH:
                    self.producer.socket.sendall(self.publishes)
                    self.sent += BATCH
                    timeout = 0.0
                for key, _ in selector.select(timeout):
                    key.data()
        return self.received - before

    def read_confirms(self) -> None:
        """The last of them tells how far they are: its number ends twelve octets before its end."""
        data = self.rest + self.producer.socket.recv(1 << 16)
        whole = len(data) - len(data) % ACK_LENGTH
        self.rest = data[whole:]
        if whole:
            self.confirmed = max(self.confirmed, int.from_bytes(data[whole - 10 : whole - 2], "big"))

    def read_deliveries(self) -> None:
        self.octets += self.consumer.socket.recv_into(self.unread)
        received = self.octets // self.delivery_length
        acks = self.acks[self.received * ACK_LENGTH : received * ACK_LENGTH]
        self.received = received
        self.consumer.socket.sendall(acks)

    def close(self) -> None:
        self.consumer.socket.close()
        self.producer.socket.close()
        if self.persistent:
            sweeper = Line(self.url)
            sweeper.call(m.QueueDelete(1, 0, self.queue))
            sweeper.socket.close()


def listener(port: int) -> int:
    """The process that listens on this port of the loopback interface. Raises LookupError if there is none."""
    sockets = set()
    for table in ("tcp", "tcp6"):
        for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = row.split()
            if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                sockets.add(f"socket:[{fields[9]}]")
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and sockets & descriptors(entry / "fd"):
            return int(entry.name)
    raise LookupError(f"no process of this user listens on port {port}")


def descriptors(folder: Path) -> set[str]:
    try:
        return {os.readlink(one) for one in folder.iterdir()}
    except OSError:
        return set()


def name_of(url: str) -> str:
    """What a broker says of itself."""
    line = Line(url)
    line.socket.close()
    assert isinstance(line.start, m.ConnectionStart)
    return " ".join(str(values.lookup(line.start.server_properties, key)) for key in ("product", "version"))


def one_round(url: str, process: int, seconds: float, persistent: bool) -> Round:
    """After a fourth of the time to warm up."""
    load = Load(url, persistent)
    try:
        load.run(seconds / 4)
        before, ours, start = cpu([process]), process_time(), perf_counter()
        count = load.run(seconds)
        passed, spent, generated = perf_counter() - start, cpu([process]) - before, process_time() - ours
    finally:
        load.close()
    return Round(count / passed, spent / max(count, 1) * 1e6, generated / passed)
