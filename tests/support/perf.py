"""The patterns of RabbitMQ's PerfTest, played by our own clients: PerfTest itself is Java and would be a download.

Producers with a rate and a number of confirms in flight, consumers with a prefetch and acks of several at a time, on
queues that they share. A `Pattern` is what PerfTest's options say; `play` returns when every message is settled;
a wrong broker may deliver some of them twice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pika

EVERY = 0.01
"""Seconds between two looks of a producer at what it may send, and of a consumer at whether all is done."""

PATIENCE = 240.0
"""Seconds in which a pattern must be over."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """PerfTest's --producers, --consumers, --confirm, --rate, --qos, --multi-ack-every, --autoack, --size,
    --consumer-rate left free, and the type of the queue."""

    producers: int = 1
    consumers: int = 1
    confirm: int = 0
    rate: int = 2000
    qos: int = 0
    multi_ack_every: int = 1
    autoack: bool = False
    size: int = 12
    queue_type: str = "classic"
    persistent: bool = False


PATTERNS: Sequence[Pattern] = (
    Pattern(),
    Pattern(producers=2, consumers=3, confirm=100, qos=50, multi_ack_every=10),
    Pattern(producers=2, consumers=2, confirm=1, qos=1, size=4000),
    Pattern(consumers=2, autoack=True, rate=10000),
    Pattern(producers=2, consumers=2, confirm=30, qos=100, multi_ack_every=25, queue_type="quorum", persistent=True),
)


def play(port: int, pattern: Pattern, count: int) -> None:
    """Every producer sends `count` messages."""
    queue = f"perf-{uuid4()}"
    arguments = {"x-queue-type": pattern.queue_type}
    parameters = pika.ConnectionParameters("127.0.0.1", port)
    with pika.BlockingConnection(parameters) as connection:
        connection.channel().queue_declare(queue, durable=True, arguments=arguments)
        left = Left(count * pattern.producers)
        sides = [Consumer(parameters, queue, pattern, left) for _ in range(pattern.consumers)]
        sides += [Producer(parameters, queue, pattern, count) for _ in range(pattern.producers)]
        threads = [threading.Thread(target=side.run, daemon=True) for side in sides]
        end = time.monotonic() + PATIENCE
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        connection.channel().queue_delete(queue)
    assert left.count <= 0, f"{left.count} messages never came"
    assert not any(thread.is_alive() for thread in threads), "somebody still waits for a confirm"


class Left:
    """How many messages have not been received yet."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._lock = threading.Lock()

    def received(self) -> None:
        with self._lock:
            self.count -= 1


class Side:
    """One connection with one channel, in a thread of its own."""

    def __init__(self, parameters: pika.ConnectionParameters, queue: str, pattern: Pattern) -> None:
        self.queue, self.pattern = queue, pattern
        self.connection = pika.SelectConnection(
            parameters,
            on_open_callback=lambda connection: connection.channel(on_open_callback=self.begin),
            on_close_callback=lambda connection, _: connection.ioloop.stop(),
        )

    def run(self) -> None:
        self.connection.ioloop.start()

    def begin(self, channel: Any) -> None:
        raise NotImplementedError


class Producer(Side):
    """Sends at its rate, with no more than so many confirms outstanding; done when the last is confirmed."""

    def __init__(self, parameters: pika.ConnectionParameters, queue: str, pattern: Pattern, count: int) -> None:
        super().__init__(parameters, queue, pattern)
        self.count, self.sent, self.confirmed = count, 0, 0
        self.properties = pika.BasicProperties(delivery_mode=2 if pattern.persistent else 1)

    def begin(self, channel: Any) -> None:
        self.channel = channel
        if self.pattern.confirm:
            channel.confirm_delivery(self.confirm, callback=lambda _: self.send())
        else:
            self.send()

    def send(self) -> None:
        room = self.confirmed + self.pattern.confirm - self.sent if self.pattern.confirm else self.count
        burst = max(1, int(self.pattern.rate * EVERY))
        for _ in range(max(0, min(burst, room, self.count - self.sent))):
            self.sent += 1
            body = (b"%d " % self.sent).ljust(self.pattern.size, b"x")
            self.channel.basic_publish("", self.queue, body, self.properties)
        if self.sent < self.count or (self.pattern.confirm and self.confirmed < self.count):
            self.connection.ioloop.call_later(EVERY, self.send)
        else:
            self.connection.close()

    def confirm(self, frame: Any) -> None:
        method = frame.method
        self.confirmed = method.delivery_tag if method.multiple else self.confirmed + 1


class Consumer(Side):
    """Acknowledges every so many deliveries at once, and the rest when all has come."""

    def __init__(self, parameters: pika.ConnectionParameters, queue: str, pattern: Pattern, left: Left) -> None:
        super().__init__(parameters, queue, pattern)
        self.left, self.last, self.acked = left, 0, 0

    def begin(self, channel: Any) -> None:
        self.channel = channel
        if self.pattern.qos:
            channel.basic_qos(prefetch_count=self.pattern.qos)
        channel.basic_consume(self.queue, self.receive, auto_ack=self.pattern.autoack)
        self.look()

    def receive(self, channel: Any, method: Any, properties: Any, body: bytes) -> None:
        self.left.received()
        self.last = method.delivery_tag
        if self.last - self.acked >= self.pattern.multi_ack_every:
            self.ack()

    def ack(self) -> None:
        if not self.pattern.autoack and self.last > self.acked:
            self.channel.basic_ack(self.last, multiple=self.last - self.acked > 1)
            self.acked = self.last

    def look(self) -> None:
        if self.left.count > 0:
            self.connection.ioloop.call_later(EVERY, self.look)
        else:
            self.ack()
            self.connection.close()
