"""kombu, unchanged: virtual names for the same things, and a pool that comes back by itself."""

from __future__ import annotations

import socket

import kombu
import pytest
from kombu.exceptions import OperationalError


@pytest.fixture
def connection(broker):
    with kombu.Connection(broker.url, transport_options={"confirm_publish": True}) as connection:
        yield connection


def drained(connection, queue, count, take):
    """Consume until so many messages were seen."""
    seen = []

    def on_message(body, message):
        seen.append((body, message.delivery_info["redelivered"]))
        take(message, len(seen))

    with connection.Consumer(queue, callbacks=[on_message]):
        while len(seen) < count:
            connection.drain_events(timeout=60)
    return seen


def test_objects_go_through_and_come_back(connection):
    exchange = kombu.Exchange("tasks", "topic", durable=False, auto_delete=True)
    queue = kombu.Queue("q", exchange, routing_key="a.#", durable=False, auto_delete=True)
    producer = connection.Producer()
    producer.publish({"n": 1}, exchange=exchange, routing_key="a.b", declare=[queue], priority=3)
    seen = drained(connection, queue, 2, lambda message, times: message.requeue() if times == 1 else message.ack())
    assert seen == [({"n": 1}, False), ({"n": 1}, True)]


def test_a_simple_queue(connection):
    with connection.SimpleQueue("simple") as simple:
        simple.put("hello")
        message = simple.get(timeout=60)
        message.ack()
        assert message.payload == "hello"
        assert simple.qsize() == 0


def test_what_nobody_takes_is_returned(connection):
    returned = []
    producer = connection.Producer(on_return=lambda *told: returned.append(told[0]))
    producer.publish("lost", routing_key="nowhere", mandatory=True)
    assert getattr(returned[0], "reply_code", returned[0]) == 312


def test_a_producer_comes_back_after_a_kill(broker, connection):
    producer = connection.Producer()
    queue = kombu.Queue("q", durable=False)
    producer.publish("before", routing_key="q", declare=[queue])
    broker.kill()
    with pytest.raises((OperationalError, socket.error)):
        connection.clone().ensure_connection(max_retries=1, interval_start=0)
    broker.revive()
    producer.publish("after", routing_key="q", declare=[queue], retry=True, retry_policy={"interval_start": 0.01})
    assert [body for body, _ in drained(connection, queue, 1, lambda message, _: message.ack())] == ["after"]
