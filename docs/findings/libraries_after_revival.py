"""What becomes of deliveries to a consumer that timed out and was revived, in pika and in py-amqp?

    python libraries_after_revival.py amqp://guest:guest@localhost:5672/%2F ...

A consumer of a quorum queue with a window of one holds the first of two messages until RabbitMQ 4.3 cancels it for its
timeout of a second, and then acknowledges it; RabbitMQ goes on delivering to it (revival.py). Printed is what the
application was told until five seconds later, how often the library rejected a delivery by itself, how the
application's close of the channel ended, and how many of the two messages the queue still has three seconds after.
"""

from __future__ import annotations

import contextlib
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

import amqp
import pika

DECLARED = {"x-queue-type": "quorum", "x-consumer-timeout": 1000}
SECONDS = 5.0
PATIENCE = 30.0


def by_pika(url: str, queue: str) -> str:
    given: list[int] = []
    cancelled: list[str] = []
    rejected: list[int] = []
    connection = pika.BlockingConnection(pika.URLParameters(url))
    channel = connection.channel()
    _counted(channel._impl, rejected)
    channel.basic_qos(prefetch_count=1)
    channel.add_on_cancel_callback(lambda frame: cancelled.append(frame.method.consumer_tag))
    channel.basic_consume(queue, lambda _, method, properties, body: given.append(method.delivery_tag))
    _until(cancelled, lambda: connection.process_data_events(0.1))
    channel.basic_ack(given[0])
    lost = _for(SECONDS, lambda: connection.process_data_events(0.1))
    said = _said(given, cancelled, rejected)
    return f"{said}, {lost or _ended(channel.close)}"


def by_py_amqp(url: str, queue: str) -> str:
    given: list[int] = []
    cancelled: list[str] = []
    rejected: list[int] = []
    parts = urlsplit(url)
    connection = amqp.Connection(
        f"{parts.hostname}:{parts.port or 5672}",
        unquote(parts.username or "guest"),
        unquote(parts.password or "guest"),
        virtual_host=unquote(parts.path[1:]) or "/",
        read_timeout=PATIENCE,
    )
    connection.connect()
    channel = connection.channel()
    _counted(channel, rejected)
    channel.basic_qos(0, 1, False)
    channel.basic_consume(
        queue,
        callback=lambda message: given.append(message.delivery_tag),
        on_cancel=cancelled.append,
    )
    drain = _patient(connection)
    _until(cancelled, drain)
    channel.basic_ack(given[0])
    lost = _for(SECONDS, drain)
    said = _said(given, cancelled, rejected)
    return f"{said}, {lost or _ended(channel.close)}"


def _counted(channel: Any, rejected: list[int]) -> None:
    """The library's own rejects are noted; the application says none."""
    reject = channel.basic_reject

    def noted(tag: int, *words: Any, **names: Any) -> None:
        rejected.append(tag)
        reject(tag, *words, **names)

    channel.basic_reject = noted


def _patient(connection: Any) -> Callable[[], None]:
    def drain() -> None:
        with contextlib.suppress(TimeoutError):
            connection.drain_events(timeout=0.1)

    return drain


def _until(seen: list[str], step: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not seen and time.monotonic() < end:
        step()


def _for(seconds: float, step: Callable[[], object]) -> str:
    """The error that ended it early, in words."""
    begun = time.monotonic()
    while time.monotonic() < begun + seconds:
        try:
            step()
        except Exception as error:
            return f"connection lost after {time.monotonic() - begun:.1f} s: {error!r}"
    return ""


def _said(given: list[int], cancelled: list[str], rejected: list[int]) -> str:
    return f"told of deliveries {given} and {len(cancelled)} cancellation; {len(rejected)} rejects by the library"


def _ended(close: Callable[[], object]) -> str:
    begun = time.monotonic()
    try:
        close()
    except Exception as error:
        return f"close failed after {time.monotonic() - begun:.1f} s: {error!r}"
    return f"close took {time.monotonic() - begun:.1f} s"


def _left(channel: Any, queue: str) -> int:
    """How many messages are ready, three seconds later."""
    time.sleep(3)
    return int(channel.queue_declare(queue, passive=True).method.message_count)


def main() -> None:
    for url in sys.argv[1:]:
        keeper = pika.BlockingConnection(pika.URLParameters(url))
        channel = keeper.channel()
        for name, play in ((f"pika {pika.__version__}", by_pika), (f"py-amqp {amqp.__version__}", by_py_amqp)):
            queue = f"finding-{uuid.uuid4().hex[:12]}"
            channel.queue_declare(queue, durable=True, arguments=DECLARED)
            for body in (b"first", b"second"):
                channel.basic_publish("", queue, body)
            try:
                print(f"{name}: {play(url, queue)}; the queue has {_left(channel, queue)} of 2", flush=True)
            finally:
                channel.queue_delete(queue)
        keeper.close()


if __name__ == "__main__":
    main()
