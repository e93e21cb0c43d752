"""Whose turn it is: consumers with priorities, single active consumers, queues with priorities."""

from __future__ import annotations

import pytest

from codec import methods as m
from codec import values


@pytest.fixture(params=["classic", "quorum"])
def queue_type(request):
    return request.param


@pytest.fixture
def declare(client):
    def declare_queue(queue_type, **arguments):
        return client.queue("t", durable=True, arguments={"x-queue-type": queue_type, **arguments})

    return declare_queue


def consume(client, tag, priority=None, channel=1, **how):
    arguments = values.table({} if priority is None else {"x-priority": priority})
    return client.consume(tag, "t", channel, arguments=arguments, **how)


def served(frames):
    return [frame.consumer_tag for frame in frames if isinstance(frame, m.BasicDeliver)]


def test_the_highest_priority_is_served_while_it_can_take(client, declare, queue_type):
    declare(queue_type)
    client.send(m.BasicQos(1, 0, 2, False))
    for tag, priority in (("plain", None), ("low", -5), ("high", 7)):
        consume(client, tag, priority)
    assert served(client.publish(*"abcdefg", queue="t")) == ["high", "high", "plain", "plain", "low", "low"]
    assert served(client.send(m.BasicAck(1, 1))) == ["high"]


def test_equal_priorities_take_turns(client, declare, queue_type):
    declare(queue_type)
    for tag in ("a", "b"):
        consume(client, tag, 3)
    assert served(client.publish(*"abcd", queue="t")) == ["a", "b", "a", "b"]


def test_a_priority_must_be_a_number(client, declare, queue_type):
    declare(queue_type)
    (close,) = client.send(m.BasicConsume(1, 0, "t", "c", arguments=values.table({"x-priority": "high"})))
    assert close.reply_text.endswith("'x-priority' for queue 't' in vhost '/': \"expected integer, got longstr\"")


# -- single active consumer


def test_one_consumer_is_active_until_it_leaves(client, declare, queue_type):
    declare(queue_type, **{"x-single-active-consumer": True})
    client.send(m.BasicQos(1, 0, 1, False))
    for tag in ("first", "second", "third"):
        consume(client, tag)
    assert served(client.publish(*"abcd", queue="t")) == ["first"]
    assert served(client.send(m.BasicAck(1, 1))) == ["first"]
    assert served(client.send(m.BasicCancel(1, "second"))) == []
    assert served(client.send(m.BasicCancel(1, "first"))) == ["third"]


def test_the_next_is_active_when_the_channel_of_the_first_ends(client, declare, queue_type):
    declare(queue_type, **{"x-single-active-consumer": True})
    client.open(2)
    consume(client, "first")
    consume(client, "also-first")
    consume(client, "second", channel=2)
    assert served(client.publish("a", queue="t", channel=2)) == ["first"]
    frames = client.send(m.ChannelClose(1))
    assert served(frames) == ["second"]
    assert [frame.redelivered for frame in frames if isinstance(frame, m.BasicDeliver)] == [True]


def test_gets_do_not_ask_who_is_active(client, declare, queue_type):
    declare(queue_type, **{"x-single-active-consumer": True})
    client.send(m.BasicQos(1, 0, 1, False))
    consume(client, "first")
    client.publish(*"ab", queue="t")
    assert client.get("t")[1] == "b"


def test_the_flag_is_a_truth_value(client):
    arguments = values.table({"x-single-active-consumer": "yes"})
    (close,) = client.send(m.QueueDeclare(1, 0, "t", arguments=arguments))
    assert close.reply_text.endswith("{unacceptable_type,longstr}")


# -- queues with priorities


def test_messages_leave_by_priority_and_then_by_age(client):
    client.queue("t", arguments={"x-max-priority": 5})
    for body, priority in (("a", None), ("b", 3), ("c", 9), ("d", 5), ("e", 0), ("f", 3)):
        how = {} if priority is None else {"priority": priority}
        client.publish(body, queue="t", **how)
    assert "".join(client.gets(6, "t")) == "cdbfae"
    for tag in (5, 2, 4, 1):
        client.send(m.BasicNack(1, tag, False, True))
    assert "".join(client.gets(4, "t")) == "cdfa"


@pytest.mark.parametrize(
    ("value", "why"),
    [(256, "{max_value_exceeded,256}"), ("3", "expected integer, got longstr"), (-1, "{value_negative,-1}")],
)
def test_how_many_priorities_there_may_be(client, value, why):
    (close,) = client.send(m.QueueDeclare(1, 0, "t", arguments=values.table({"x-max-priority": value})))
    assert why in close.reply_text
