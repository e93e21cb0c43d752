"""pika, unchanged: blocking connections with everything that an application does."""

from __future__ import annotations

import pika
import pytest
from pika.exceptions import (
    AMQPConnectionError,
    ChannelClosedByBroker,
    ConnectionClosedByBroker,
    NackError,
    UnroutableError,
)


@pytest.fixture
def connection(broker):
    connection = pika.BlockingConnection(pika.URLParameters(broker.url))
    yield connection
    if connection.is_open:
        connection.close()


@pytest.fixture
def channel(connection):
    channel = connection.channel()
    channel.queue_declare("q")
    return channel


def test_confirms_returns_and_refusals(channel):
    channel.confirm_delivery()
    channel.basic_publish("", "q", b"1", mandatory=True)
    with pytest.raises(UnroutableError) as returned:
        channel.basic_publish("", "nowhere", b"2", mandatory=True)
    assert returned.value.messages[0].method.reply_code == 312
    channel.queue_declare("full", arguments={"x-max-length": 0, "x-overflow": "reject-publish"})
    with pytest.raises(NackError):
        channel.basic_publish("", "full", b"3")


def test_consume_nack_and_redelivery(channel):
    for body in (b"1", b"2"):
        channel.basic_publish("", "q", body)
    channel.basic_qos(prefetch_count=1)
    seen = []
    for method, _, body in channel.consume("q"):
        seen.append((body, method.redelivered))
        if len(seen) == 1:
            channel.basic_nack(method.delivery_tag)
        else:
            channel.basic_ack(method.delivery_tag)
        if len(seen) == 3:
            break
    channel.cancel()
    assert seen == [(b"1", False), (b"1", True), (b"2", False)]


def test_a_deleted_queue_cancels_its_consumer(connection, channel):
    cancelled = []
    channel.add_on_cancel_callback(cancelled.append)
    channel.basic_consume("q", print, consumer_tag="c")
    connection.channel().queue_delete("q")
    connection.process_data_events(time_limit=10)
    assert cancelled[0].method.consumer_tag == "c"


def test_one_comes_back_after_a_kill(broker, connection, channel):
    broker.kill()
    with pytest.raises(AMQPConnectionError):
        channel.queue_declare("q")
    broker.revive()
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as again:
        assert again.channel().queue_declare("q").method.message_count == 0


def test_a_body_of_twenty_mebibytes(channel):
    body = b"0123456789abcdef" * (20 << 16)
    channel.confirm_delivery()
    channel.basic_publish("", "q", body)
    assert channel.basic_get("q", auto_ack=True)[2] == body


@pytest.mark.parametrize(
    ("do", "code"),
    [
        (lambda channel: channel.queue_declare("none", passive=True), 404),
        (lambda channel: channel.queue_declare("q", durable=True), 406),
        (lambda channel: channel.queue_declare("amq.mine"), 403),
        (lambda channel: channel.basic_ack(7) or channel.queue_declare("q"), 406),
        (lambda channel: channel.exchange_declare("amq.direct", "fanout"), 406),
    ],
)
def test_mistakes_cost_the_channel(connection, channel, do, code):
    with pytest.raises(ChannelClosedByBroker) as closed:
        do(channel)
    assert closed.value.reply_code == code
    assert connection.channel().is_open


def test_what_is_exclusive_is_so_for_one_connection(broker, channel):
    channel.queue_declare("mine", exclusive=True)
    with (
        pika.BlockingConnection(pika.URLParameters(broker.url)) as other,
        pytest.raises(ChannelClosedByBroker) as closed,
    ):
        other.channel().queue_declare("mine", passive=True)
    assert closed.value.reply_code == 405


def test_the_secret_of_a_connection_can_be_renewed(connection):
    connection.update_secret("guest", "test")
    assert connection.is_open


def test_a_publisher_is_blocked_and_unblocked(broker, connection, channel):
    told = []
    connection.add_on_connection_blocked_callback(lambda _, method: told.append(method.method.reason))
    connection.add_on_connection_unblocked_callback(lambda *_: told.append("over"))
    broker.broker.alarm("low on memory")
    channel.basic_publish("", "q", b"1")
    while told != ["low on memory"]:
        connection.process_data_events(time_limit=1)
    broker.broker.alarm(None)
    while told[-1] != "over":
        connection.process_data_events(time_limit=1)
    assert channel.queue_declare("q", passive=True).method.message_count == 1


def test_direct_reply_to(channel):
    answers = []
    channel.basic_consume("amq.rabbitmq.reply-to", lambda *delivery: answers.append(delivery[3]), auto_ack=True)
    channel.basic_publish("", "q", b"?", pika.BasicProperties(reply_to="amq.rabbitmq.reply-to"))
    asked = channel.basic_get("q", auto_ack=True)[1]
    channel.basic_publish("", asked.reply_to, b"!")
    while not answers:
        channel.connection.process_data_events(time_limit=1)
    assert answers == [b"!"]


def test_a_wrong_password(broker):
    wrong = pika.URLParameters(broker.url.replace("guest:guest", "guest:wrong"))
    with pytest.raises((ConnectionClosedByBroker, AMQPConnectionError)):
        pika.BlockingConnection(wrong)
