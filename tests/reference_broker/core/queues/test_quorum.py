"""Quorum queues: what they refuse to be, the line of returned messages, counts and limits, windows."""

from __future__ import annotations

import pytest

from codec import methods as m
from codec import values


def returned(client, *tags, queue="q"):
    """Get eight messages, return those given, one by one, and see what order they are in now."""
    client.publish(*"12345678", queue=queue)
    client.gets(5, queue)
    for tag in tags:
        client.send(m.BasicNack(1, tag, False, True))
    return "".join(client.gets(8, queue))


def headers_of(client, queue="q"):
    frames = client.send(m.BasicGet(1, 0, queue, False))
    tag = frames[0].delivery_tag
    return tag, values.plain(frames[1].headers or [])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"durable": False}, "invalid property 'non-durable' for queue 'r' in vhost '/'"),
        ({"durable": True, "exclusive": True}, "invalid property 'exclusive-owner' for queue 'r' in vhost '/'"),
        ({"durable": True, "auto_delete": True}, "invalid property 'auto-delete' for queue 'r' in vhost '/'"),
        ({"durable": True, "queue": ""}, "Cannot declare a server-named queue for type rabbit_quorum_queue"),
    ],
)
def test_what_a_quorum_queue_cannot_be(client, options, why):
    name = options.pop("queue", "r")
    arguments = values.table({"x-queue-type": "quorum"})
    (close,) = client.send(m.QueueDeclare(1, 0, name, arguments=arguments, **options))
    assert (close.reply_code, close.reply_text) == (406, f"PRECONDITION_FAILED - {why}")


def test_a_quorum_queue_knows_no_priorities(client):
    arguments = values.table({"x-queue-type": "quorum", "x-max-priority": 3})
    (close,) = client.send(m.QueueDeclare(1, 0, "r", durable=True, arguments=arguments))
    assert close.reply_text.endswith(
        "invalid arg 'x-max-priority' for queue 'r' in vhost '/' of queue type rabbit_quorum_queue"
    )


@pytest.mark.parametrize(
    ("dialect", "arguments", "order"),
    [
        ("documented", {}, "425678"),
        ("rabbitmq-3.8", {}, "425678"),
        ("rabbitmq-3.10", {}, "678425"),
        ("rabbitmq-3.10", {"delivery_limit": 5}, "425678"),
        ("rabbitmq-4.0", {}, "425678"),
        ("rabbitmq-4.0", {"delivery_limit": -1}, "678425"),
        ("rabbitmq-4.3", {}, "425678"),
        ("rabbitmq-4.3", {"delivery_limit": -1}, "425678"),
    ],
)
def test_where_returned_messages_go(speaking, dialect, arguments, order):
    client = speaking(dialect, **arguments)
    assert returned(client, 4, 2, 5) == order


def test_what_returns_together_keeps_its_order(speaking):
    client = speaking()
    client.publish(*"1234")
    client.gets(3)
    client.send(m.BasicNack(1, 0, True, True))
    assert "".join(client.gets(4)) == "1234"


@pytest.mark.parametrize(
    ("dialect", "failing", "deliveries"),
    [
        ("documented", True, 21),
        ("documented", False, 30),
        ("rabbitmq-3.8", True, 30),
        ("rabbitmq-3.10", False, 30),
        ("rabbitmq-4.0", True, 21),
        ("rabbitmq-4.0", False, 21),
        ("rabbitmq-4.3", True, 21),
        ("rabbitmq-4.3", False, 30),
    ],
)
def test_the_default_limit_and_what_counts(speaking, dialect, failing, deliveries):
    client = speaking(dialect)
    client.publish("m")
    seen = 0
    while seen < 30 and (found := client.get()) is not None:
        seen += 1
        tag = found[0]
        client.send(m.BasicReject(1, tag, True) if failing else m.BasicNack(1, tag, False, True))
    assert seen == deliveries


@pytest.mark.parametrize("end", [m.ChannelClose(1), m.ConnectionClose(0)])
def test_the_end_of_a_channel_counts(speaking, end):
    client = speaking(delivery_limit=0)
    client.publish("m")
    client.get()
    client.send(end)
    assert client.core.vhost.queues["q"].count() == 0


def test_recover_does_not_count(speaking):
    client = speaking(delivery_limit=0)
    client.publish("m")
    client.get()
    client.send(m.BasicRecover(1, True))
    assert client.gets(1) == ["m"]


@pytest.mark.parametrize(("dialect", "left"), [("rabbitmq-3.8", 0), ("rabbitmq-3.10", 0), ("rabbitmq-4.0", 1)])
def test_a_limit_of_minus_one(speaking, dialect, left):
    client = speaking(dialect, delivery_limit=-1)
    client.publish("m")
    client.get()
    client.send(m.BasicReject(1, 1, True))
    assert client.core.vhost.queues["q"].count() == left


def test_beyond_the_limit_a_message_is_dead(speaking):
    client = speaking(delivery_limit=1, dead_letter_exchange="", dead_letter_routing_key="dead")
    client.queue("dead")
    client.publish("m")
    for tag in (1, 2):
        client.get()
        client.send(m.BasicReject(1, tag, True))
    _, headers = headers_of(client, "dead")
    assert headers["x-first-death-reason"] == "delivery_limit"
    assert "x-delivery-count" not in headers


@pytest.mark.parametrize(
    ("dialect", "seen"),
    [
        ("rabbitmq-3.8", [{"x-delivery-count": 0}, {"x-delivery-count": 1}, {"x-delivery-count": 2}]),
        ("rabbitmq-3.10", [{"x-delivery-count": 0}, {"x-delivery-count": 1}, {"x-delivery-count": 2}]),
        ("rabbitmq-4.0", [{}, {"x-delivery-count": 1}, {"x-delivery-count": 2}]),
        ("rabbitmq-4.3", [{}, {"x-acquired-count": 1}, {"x-acquired-count": 2, "x-delivery-count": 1}]),
        ("documented", [{}, {"x-acquired-count": 1}, {"x-acquired-count": 2, "x-delivery-count": 1}]),
    ],
)
def test_counts_in_the_headers(speaking, dialect, seen):
    client = speaking(dialect)
    client.publish("m", headers=values.table({"mine": 7, "x-delivery-count": 99}))
    found = []
    for answer in (m.BasicNack(1, 1, False, True), m.BasicReject(1, 2, True), m.BasicAck(1, 3)):
        _, headers = headers_of(client)
        assert headers.pop("mine") == 7
        found.append({name: count for name, count in headers.items() if count != 99})
        client.send(answer)
    assert found == seen


def test_a_window_without_a_limit_is_two_thousand(speaking):
    client = speaking()
    client.publish(*["m"] * 2005)
    assert len(client.consume()) == 2000
    assert len([f for f in client.send(m.BasicAck(1, 3, True)) if isinstance(f, m.BasicDeliver)]) == 3


def test_automatic_deliveries_have_no_window(speaking):
    client = speaking()
    client.publish(*["m"] * 2005)
    assert len(client.consume(no_ack=True)) == 2005


def test_a_channels_limit_is_refused(speaking):
    client = speaking()
    client.send(m.BasicQos(1, 0, 5, True))
    close = client.send(m.BasicConsume(1, 0, "q", "c"))[-1]
    assert isinstance(close, m.ConnectionClose)
    assert close.reply_code == 540
    assert close.reply_text == "NOT_IMPLEMENTED - queue 'q' in vhost '/' does not support global qos"
