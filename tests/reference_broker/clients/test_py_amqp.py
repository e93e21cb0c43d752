"""py-amqp, unchanged: what kombu and celery stand on."""

from __future__ import annotations

from urllib.parse import urlsplit

import amqp
import pytest
from amqp.exceptions import MessageNacked, NotFound, PreconditionFailed


def connect(broker, confirms=True):
    at = urlsplit(broker.url)
    connection = amqp.Connection(f"{at.hostname}:{at.port}", confirm_publish=confirms)
    connection.connect()
    return connection


@pytest.fixture
def connection(broker):
    connection = connect(broker)
    yield connection
    connection.collect()


@pytest.fixture
def channel(connection):
    channel = connection.channel()
    channel.queue_declare("q", auto_delete=False)
    return channel


def test_confirms_and_refusals(channel):
    channel.basic_publish(amqp.Message("1"), routing_key="q")
    channel.queue_declare("full", arguments={"x-max-length": 0, "x-overflow": "reject-publish"}, auto_delete=False)
    with pytest.raises(MessageNacked):
        channel.basic_publish(amqp.Message("2"), routing_key="full")
    assert channel.queue_declare("q", passive=True).message_count == 1


def test_what_nobody_takes_is_returned(channel):
    returned = []
    channel.events["basic_return"].add(lambda problem, *_: returned.append(problem.reply_code))
    channel.basic_publish(amqp.Message("1"), routing_key="nowhere", mandatory=True)
    assert returned == [312]


def test_consume_reject_and_redelivery(connection, channel):
    seen = []

    def take(message):
        seen.append((message.body, message.delivery_info["redelivered"]))
        if len(seen) == 1:
            channel.basic_reject(message.delivery_tag, requeue=True)
        else:
            channel.basic_ack(message.delivery_tag)

    channel.basic_publish(amqp.Message("1"), routing_key="q")
    channel.basic_consume("q", callback=take)
    while len(seen) < 2:
        connection.drain_events(timeout=60)
    assert seen == [("1", False), ("1", True)]


def test_a_deleted_queue_cancels_its_consumer(connection, channel):
    cancelled = []
    channel.basic_consume("q", "c", callback=print, on_cancel=cancelled.append)
    connection.channel().queue_delete("q")
    while not cancelled:
        connection.drain_events(timeout=60)
    assert cancelled == ["c"]


def test_one_comes_back_after_a_kill(broker, connection, channel):
    broker.kill()
    with pytest.raises((OSError, amqp.exceptions.ConnectionError)):
        channel.queue_declare("q", auto_delete=False)
    broker.revive()
    again = connect(broker)
    assert again.channel().queue_declare("q", auto_delete=False).message_count == 0
    again.close()


def test_transactions(broker, channel):
    with connect(broker, confirms=False) as connection:
        other = connection.channel()
        other.tx_select()
        other.basic_publish(amqp.Message("1"), routing_key="q")
        other.tx_rollback()
        other.basic_publish(amqp.Message("2"), routing_key="q")
        other.tx_commit()
    assert channel.basic_get("q", no_ack=True).body == "2"
    assert channel.basic_get("q") is None


def test_mistakes(connection):
    with pytest.raises(NotFound):
        connection.channel().queue_declare("none", passive=True)
    with pytest.raises(PreconditionFailed):
        connection.channel().exchange_declare("amq.direct", "fanout")
