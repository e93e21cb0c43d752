"""Test programs that try again later, as applications build that: the retry patterns of frameworks, on small queues.

Celery runs itself, with a worker of its own process: tasks with a countdown, which the worker holds until then, and
its native delayed delivery, where they go from queue to queue of different times to live. The others are not Python;
pika plays what they declare and publish. Spring AMQP rejects, reads x-death, and parks what has come too often.
Sneakers, a worker in the manner of Sidekiq, has an exchange each for retry, requeue and error. MassTransit has
exchanges before its queues, and publishes anew what failed, with an expiration that grows.

Each declares what it needs under names of its own, and leaves nothing behind.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pika
from pika.adapters.blocking_connection import BlockingChannel

ATTEMPTS = 3
DELAY, GROWTH = 200, 2
"""Milliseconds of the first retry, and by what each further one is longer."""
PATIENCE = 240.0
"""Seconds in which a program must be over."""
Headers = Mapping[str, object]


@dataclass
class Broker:
    """A connection with a channel in confirm mode, and all that it has declared."""

    channel: BlockingChannel
    prefix: str

    def name(self, short: str) -> str:
        return f"{self.prefix}.{short}"

    def queue(self, short: str, **arguments: object) -> str:
        name = self.name(short)
        told = {f"x-{key.replace('_', '-')}": value for key, value in arguments.items()}
        self.channel.queue_declare(name, durable=True, arguments=told)
        return name

    def exchange(self, short: str, kind: str) -> str:
        self.channel.exchange_declare(self.name(short), kind, durable=True)
        return self.name(short)

    def send(
        self, exchange: str, key: str, body: bytes, headers: Headers | None = None, life: int | None = None
    ) -> None:
        """Always under the id of the body, be it the first time or again."""
        properties = pika.BasicProperties(
            message_id=body.decode(),
            delivery_mode=2,
            headers=dict(headers or {}),
            expiration=None if life is None else str(life),
        )
        self.channel.basic_publish(exchange, key, body, properties, mandatory=True)

    def leave(self, *queues: str, exchanges: tuple[str, ...] = ()) -> None:
        for queue in queues:
            self.channel.queue_delete(self.name(queue))
        for exchange in exchanges:
            self.channel.exchange_delete(self.name(exchange))


@contextmanager
def connected(port: int) -> Iterator[Broker]:
    with pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        channel.basic_qos(prefetch_count=5)
        yield Broker(channel, f"retries-{uuid4()}")


def deliveries(channel: BlockingChannel, queue: str, count: int) -> Iterator[tuple[int, Headers, bytes]]:
    """Until so many are done; whoever takes one settles it."""
    end = time.monotonic() + PATIENCE
    for method, properties, body in channel.consume(queue, inactivity_timeout=1):
        assert time.monotonic() < end, "some never come"
        if method is not None and properties is not None and body is not None:
            yield method.delivery_tag, properties.headers or {}, body
            count -= 1
        if not count:
            break
    channel.cancel()


def emptied(channel: BlockingChannel, queue: str) -> list[bytes]:
    """All that is in it, one after the other."""
    found = []
    while (got := channel.basic_get(queue, auto_ack=True))[0] is not None:
        found.append(got[2] or b"")
    return found


def deaths(headers: Headers, queue: str) -> int:
    """How often x-death says that it died there."""
    told = headers.get("x-death")
    return sum(int(one["count"]) for one in (told if isinstance(told, list) else []) if one.get("queue") == queue)


def spring(port: int, count: int) -> None:
    """Rejected messages wait in a queue with a time to live, come back, and are parked when they died too often."""
    with connected(port) as broker:
        retry, dead = broker.exchange("retry", "direct"), broker.exchange("dead", "direct")
        work = broker.queue("work", dead_letter_exchange=dead, dead_letter_routing_key="again")
        waiting = broker.queue("wait", dead_letter_exchange=retry, dead_letter_routing_key="work", message_ttl=DELAY)
        parked = broker.queue("parked")
        broker.channel.queue_bind(work, retry, "work")
        broker.channel.queue_bind(waiting, dead, "again")
        for number in range(count):
            broker.send(retry, "work", b"%d" % number)
        failing = [number for number in range(count) if number % 2]
        seen = count + ATTEMPTS * len(failing)
        for tag, headers, body in deliveries(broker.channel, work, seen):
            if int(body) not in failing:
                broker.channel.basic_ack(tag)
            elif deaths(headers, work) < ATTEMPTS:
                broker.channel.basic_reject(tag, requeue=False)
            else:
                broker.send("", parked, body, {"x-original-queue": work})
                broker.channel.basic_ack(tag)
        assert sorted(map(int, emptied(broker.channel, parked))) == failing
        assert emptied(broker.channel, waiting) == []
        broker.leave("work", "wait", "parked", exchanges=("retry", "dead"))


def sneakers(port: int, count: int) -> None:
    """The handler for most retries: topic exchanges for what waits, what comes back, and what is given up."""
    with connected(port) as broker:
        retry, error, requeue = (broker.exchange(name, "topic") for name in ("work-retry", "work-error", "requeue"))
        work = broker.queue("work", dead_letter_exchange=retry)
        waiting = broker.queue("work-retry", dead_letter_exchange=requeue, message_ttl=DELAY)
        given_up = broker.queue("work-error")
        for queue, exchange in ((waiting, retry), (given_up, error), (work, requeue)):
            broker.channel.queue_bind(queue, exchange, "#")
        for number in range(count):
            broker.send("", work, b"%d" % number)
        for tag, headers, body in deliveries(broker.channel, work, count * ATTEMPTS):
            if deaths(headers, work) + 1 < ATTEMPTS:
                broker.channel.basic_reject(tag, requeue=False)
            else:
                broker.send(error, work, body, {"retry_info": "too many"})
                broker.channel.basic_ack(tag)
        assert len(emptied(broker.channel, given_up)) == count
        broker.leave("work", "work-retry", "work-error", exchanges=("work-retry", "work-error", "requeue"))


def masstransit(port: int, count: int) -> None:
    """A message type's exchange leads to the endpoint's, and that to its queue. What fails is published anew, waits
    longer each time, and goes to the queue for errors in the end; what nobody understands is skipped."""
    with connected(port) as broker:
        kind, endpoint = broker.exchange("Order", "fanout"), broker.exchange("orders", "fanout")
        work, waiting = broker.queue("orders"), broker.queue("orders_delay", dead_letter_exchange=endpoint)
        error, skipped = broker.queue("orders_error"), broker.queue("orders_skipped")
        broker.channel.exchange_bind(endpoint, kind)
        broker.channel.queue_bind(work, endpoint)
        for number in range(count):
            broker.send(kind, "", b"%d" % number)
        failing = [number for number in range(count) if number % 3 == 1]
        for tag, headers, body in deliveries(broker.channel, work, count + ATTEMPTS * len(failing)):
            tries = headers.get("MT-Redelivery-Count", 0)
            assert isinstance(tries, int)
            if int(body) % 3 == 2:
                broker.send("", skipped, body, {"MT-Reason": "skipped"})
            elif int(body) in failing and tries < ATTEMPTS:
                life = DELAY * GROWTH**tries
                broker.send("", waiting, body, {"MT-Redelivery-Count": tries + 1}, life)
            elif int(body) in failing:
                broker.send("", error, body, {"MT-Reason": "fault"})
            broker.channel.basic_ack(tag)
        assert len(emptied(broker.channel, error)) == len(failing)
        assert len(emptied(broker.channel, skipped)) == len(range(2, count, 3))
        broker.leave("orders", "orders_delay", "orders_error", "orders_skipped", exchanges=("Order", "orders"))


# -- Celery

TASKS = """
import os
from pathlib import Path

from celery import Celery
from kombu import Exchange, Queue

kind, name = os.environ["KIND"], os.environ["QUEUE"]
app = Celery("tasks", broker=os.environ["BROKER"])
exchange = Exchange(name, type="topic" if kind == "quorum" else "direct")
app.conf.update(
    task_acks_late=True,
    worker_prefetch_multiplier=2,
    broker_transport_options={"confirm_publish": True},
    task_default_queue=name,
    task_default_exchange=name,
    task_default_exchange_type=exchange.type,
    task_default_routing_key=name,
    task_queues=[Queue(name, exchange, routing_key=name, queue_arguments={"x-queue-type": kind})],
)


@app.task(bind=True, name="tasks.work", max_retries=3)
def work(self, folder, number):
    if number % 2 and self.request.retries < 2:
        raise self.retry(countdown=1)
    Path(folder, str(number)).touch()


if __name__ == "__main__":
    for number in range(int(os.environ["COUNT"])):
        work.apply_async((os.environ["FOLDER"], number), countdown=1 + number % 2)
"""
LEVELS = 28
"""Celery's native delayed delivery has a queue for each binary digit of the seconds."""


def celery_countdown(port: int, count: int) -> None:
    """Tasks with a countdown and with retries: the worker holds them until it is time."""
    _celery(port, count, "classic")


def celery_delayed(port: int, count: int) -> None:
    """Native delayed delivery: a task goes through queues whose times to live add up to its countdown."""
    _celery(port, count, "quorum")
    with connected(port) as broker:
        for level in range(LEVELS):
            broker.channel.queue_delete(f"celery_delayed_{level}")
            broker.channel.exchange_delete(f"celery_delayed_{level}")
        broker.channel.exchange_delete("celery_delayed_delivery")


def _celery(port: int, count: int, kind: str) -> None:
    name = f"retries-{uuid4()}"
    with tempfile.TemporaryDirectory() as folder:
        here, done = Path(folder), Path(folder, "done")
        done.mkdir()
        (here / "tasks.py").write_text(TASKS)
        told = {"KIND": kind, "QUEUE": name, "FOLDER": str(done), "COUNT": str(count), "PYTHONPATH": folder}
        environment = {**os.environ, **told, "BROKER": f"amqp://guest:guest@127.0.0.1:{port}//"}
        command = [sys.executable, "-m", "celery", "-A", "tasks", "worker", "--pool", "solo", "--loglevel", "ERROR"]
        with connected(port) as broker:
            broker.channel.queue_declare(name, durable=True, arguments={"x-queue-type": kind})
            worker = subprocess.Popen(command, cwd=folder, env=environment)
            try:
                _consumed(broker, name)
                subprocess.run([sys.executable, "tasks.py"], cwd=folder, env=environment, check=True, timeout=PATIENCE)
                end = time.monotonic() + PATIENCE
                while len(list(done.iterdir())) < count:
                    assert time.monotonic() < end, "some tasks are never done"
                    assert worker.poll() is None, "the worker has ended"
                    broker.channel.connection.sleep(0.1)
                worker.send_signal(signal.SIGTERM)
                assert worker.wait(PATIENCE) == 0
                broker.channel.queue_delete(name)
                broker.channel.exchange_delete(name)
            finally:
                worker.kill()
                worker.wait()


def _consumed(broker: Broker, queue: str) -> None:
    """Waits until the worker consumes."""
    end = time.monotonic() + PATIENCE
    while not broker.channel.queue_declare(queue, passive=True).method.consumer_count:
        assert time.monotonic() < end, "no worker comes"
        broker.channel.connection.sleep(0.2)


ALL = (spring, sneakers, masstransit, celery_countdown, celery_delayed)
