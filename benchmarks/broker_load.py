"""The reference broker beside real ones under one load: `python -m benchmarks.broker_load [AMQP_URL...]`

One producer in confirm mode, one consumer with prefetch 200 that acknowledges each message, 1 KiB bodies, transient.
The loop is closed, the producer never runs further ahead than 1000 messages, so one rate describes both. Rounds are
interleaved, and only the ratio within a round is a result. The reference broker runs as a process of its own.
"""

from __future__ import annotations

import argparse
import os
import selectors
import socket
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter
from urllib.parse import unquote, urlsplit

import codec
from codec import methods as m

AHEAD = 1000
BATCH = 16
BODY = b"x" * 1024
TICKS = os.sysconf("SC_CLK_TCK")


class Line:
    """A logged-in connection with channel 1 open."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        login = f"\0{unquote(parts.username or 'guest')}\0{unquote(parts.password or 'guest')}".encode()
        self.socket = socket.create_connection((parts.hostname, parts.port or 5672))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = codec.FrameReader()
        self.call(codec.ProtocolHeader())
        self.call(m.ConnectionStartOk(0, [], "PLAIN", login, "en_US"))
        self.call(m.ConnectionTuneOk(0, 2047, 131072), m.ConnectionOpen(0, unquote(parts.path[1:]) or "/"))
        self.call(m.ChannelOpen(1))

    def call(self, *items: codec.Method | codec.ProtocolHeader) -> codec.Frame:
        """Send, and wait for the one frame that answers."""
        self.socket.sendall(b"".join(item.encode() for item in items))
        while not (frames := self.read()):
            pass
        return frames[0]

    def read(self) -> list[codec.Frame]:
        data = self.socket.recv(1 << 18)
        if not data:
            raise ConnectionError("the broker hung up")
        return self.reader.feed(data)


class Load:
    """One producer and one consumer on a queue of their own."""

    def __init__(self, url: str) -> None:
        self.producer, self.consumer = Line(url), Line(url)
        self.queue = f"amqp-conformance.bench.{os.getpid()}.{id(self)}"
        self.consumer.call(m.QueueDeclare(1, 0, self.queue, exclusive=True))
        self.consumer.call(m.BasicQos(1, 0, 200))
        self.consumer.call(m.BasicConsume(1, 0, self.queue, "c"))
        self.producer.call(m.ConfirmSelect(1))
        self.publishes = BATCH * codec.content(m.BasicPublish(1, 0, "", self.queue), BODY, delivery_mode=1)
        self.sent = self.received = self.confirmed = 0

    def run(self, seconds: float) -> float:
        """Messages per second that went all the way through."""
        before, start = self.received, perf_counter()
        with selectors.DefaultSelector() as selector:
            selector.register(self.producer.socket, selectors.EVENT_READ, self.read_confirms)
            selector.register(self.consumer.socket, selectors.EVENT_READ, self.read_deliveries)
            while (now := perf_counter()) - start < seconds:
                if self.sent - min(self.received, self.confirmed) <= AHEAD - BATCH:
                    self.producer.socket.sendall(self.publishes)
                    self.sent += BATCH
                    timeout = 0.0
                else:
                    timeout = 1.0
                for key, _ in selector.select(timeout):
                    key.data()
        return (self.received - before) / (now - start)

    def read_confirms(self) -> None:
        for frame in self.producer.read():
            if isinstance(frame, m.BasicAck):
                self.confirmed = max(self.confirmed, frame.delivery_tag)

    def read_deliveries(self) -> None:
        tags = [frame.delivery_tag for frame in self.consumer.read() if isinstance(frame, m.BasicDeliver)]
        self.received += len(tags)
        self.consumer.socket.sendall(b"".join(m.BasicAck(1, tag).encode() for tag in tags))

    def close(self) -> None:
        for line in (self.producer, self.consumer):
            line.socket.close()


def cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def one_round(url: str, seconds: float) -> float:
    load = Load(url)
    try:
        load.run(seconds / 4)
        return load.run(seconds)
    finally:
        load.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("urls", nargs="*", metavar="AMQP_URL", help="brokers to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    command = [sys.executable, "-m", "reference_broker", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as reference:
        assert reference.stdout is not None
        ours = reference.stdout.readline().split()[-1]
        rates: dict[str, list[float]] = {url: [] for url in (ours, *options.urls)}
        used = 0.0
        for _ in range(options.rounds):
            for url, found in rates.items():
                before = cpu_seconds(reference.pid)
                found.append(one_round(url, options.seconds))
                used += cpu_seconds(reference.pid) - before
        reference.terminate()
    messages = sum(rates[ours]) * options.seconds * 1.25
    print(f"reference broker: {median(rates[ours]):,.0f} messages/s, {used / messages * 1e6:.0f} us CPU per message")
    for url in options.urls:
        ratio = median(mine / theirs for mine, theirs in zip(rates[ours], rates[url], strict=True))
        peer = urlsplit(url)
        print(f"{peer.hostname}:{peer.port}: {median(rates[url]):,.0f} messages/s, ours x {ratio:.2f}")


if __name__ == "__main__":
    main()
