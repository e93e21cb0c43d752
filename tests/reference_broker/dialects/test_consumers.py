"""What dialects do differently about consumers: the limits they are served within, their ends, and their timeouts.

Each test plays the same on the texts' broker and on real series, and says what each of them does. What is returned to
quorum queues has a file of its own, `test_quorum`.
"""

from __future__ import annotations

import pytest

import codec
from codec import methods as m
from tests.reference_broker.dialects.speech import REAL, bodies, classic, closes


@pytest.mark.parametrize(
    ("dialect", "expected"), [("documented", 5), ("rabbitmq-3.8", 6), ("rabbitmq-4.0", 6), ("rabbitmq-4.3", 6)]
)
def test_the_order_of_the_two_limits(speaking, dialect, expected):
    """A channel's limit of 5, then 3 for each consumer: up to 4.2 the second call ends the first one's effect."""
    client = classic(speaking, dialect, *"abcdefgh")
    client.send(m.BasicQos(1, 0, 5, True), m.BasicQos(1, 0, 3, False))
    client.consume("c1", "cq")
    client.consume("c2", "cq")
    assert len(client.connection.channels[1].unacked) == expected


@pytest.mark.parametrize(("dialect", "expected"), [("documented", 3), ("rabbitmq-4.0", 0), ("rabbitmq-4.3", 3)])
def test_gets_before_a_channels_limit(speaking, dialect, expected):
    client = classic(speaking, dialect, *"abcdefgh")
    client.gets(3, "cq")
    client.send(m.BasicQos(1, 0, 3, True))
    client.send(m.BasicAck(1, 0, True))
    assert len(client.consume("c", "cq")) == expected


@pytest.mark.parametrize(("dialect", "expected"), [("documented", 4), ("rabbitmq-3.10", 0), ("rabbitmq-4.3", 4)])
def test_a_full_channel_and_automatic_deliveries(speaking, dialect, expected):
    client = classic(speaking, dialect, *"abcdef")
    client.send(m.BasicQos(1, 0, 2, True))
    client.consume("manual", "cq")
    assert len(client.consume("auto", "cq", no_ack=True)) == expected
    left = client.send(m.BasicAck(1, 1))
    assert len(bodies(left)) == (0 if expected else 1)


@pytest.mark.parametrize("dialect", ["documented", "rabbitmq-3.10"])
def test_automatic_deliveries_go_on_when_the_channel_has_room(speaking, dialect):
    client = classic(speaking, dialect, *"ab")
    client.send(m.BasicQos(1, 0, 2, True))
    client.consume("manual", "cq")
    client.consume("auto", "cq", no_ack=True)
    client.send(m.BasicAck(1, 0, True), m.BasicCancel(1, "manual"))
    client.publish(*"cdef", queue="cq")
    assert len(client.connection.channels[1].unacked) == 0
    assert client.core.vhost.queues["cq"].count() == 0


@pytest.mark.parametrize(("dialect", "expected"), [("documented", 3), ("rabbitmq-3.8", 0), ("rabbitmq-4.3", 0)])
def test_a_tag_used_again_on_a_quorum_queue(speaking, dialect, expected):
    client = speaking(dialect)
    client.publish(*"abcdefgh")
    client.send(m.BasicQos(1, 0, 3, False))
    client.consume("c")
    client.send(m.BasicCancel(1, "c"))
    assert len(client.consume("c")) == expected
    assert len(bodies(client.send(m.BasicAck(1, 2, True)))) == (0 if expected else 2)


@pytest.mark.parametrize(("dialect", "code"), [("documented", None), ("rabbitmq-3.8", 541), ("rabbitmq-4.3", 541)])
def test_a_cancel_at_once_after_the_deletion_of_its_queue(speaking, dialect, code):
    client = speaking(dialect)
    client.consume("c")
    frames = client.send(m.QueueDelete(1, 0, "q"), m.BasicCancel(1, "c"))
    assert [close.reply_code for close in closes(frames)] == ([code] if code else [])


@pytest.mark.parametrize("dialect", REAL)
def test_a_cancel_a_little_later_is_fine(speaking, dialect):
    client = speaking(dialect)
    client.consume("c")
    client.send(m.QueueDelete(1, 0, "q"))
    assert [type(frame) for frame in client.send(m.BasicCancel(1, "c"))] == [m.BasicCancelOk]


@pytest.mark.parametrize(("dialect", "late"), [("rabbitmq-3.8", True), ("rabbitmq-3.10", False), ("documented", False)])
@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_deliveries_on_their_way_when_their_consumer_is_cancelled(speaking, dialect, kind, late):
    client = speaking(dialect)
    client.queue("x", durable=True, arguments={"x-queue-type": kind})
    client.consume("c", "x")
    publish = codec.content(m.BasicPublish(1, 0, "", "x"), b"1")
    methods = [type(one) for one in client.send(publish, m.BasicCancel(1, "c")) if isinstance(one, codec.Method)]
    expected = [m.BasicDeliver, m.BasicCancelOk]
    assert methods == (expected[::-1] if late and kind == "quorum" else expected)


@pytest.mark.parametrize(("dialect", "heeded"), [("rabbitmq-3.10", False), ("rabbitmq-4.0", True)])
def test_the_timeout_of_a_queue_where_channels_watch(speaking, dialect, heeded):
    client = speaking(dialect)
    client.queue("x", arguments={"x-consumer-timeout": 500})
    client.publish("1", queue="x")
    client.get("x")
    client.core.move_to(client.core.clock.now + 61)
    assert bool(closes(client.read())) is heeded


@pytest.mark.parametrize(("dialect", "expected"), [("documented", 0), *((name, 1) for name in REAL)])
def test_what_an_earlier_consumer_of_the_tag_had(speaking, dialect, expected):
    """Its acknowledgement frees a slot of the one that has the tag now."""
    client = classic(speaking, dialect, *"abcd")
    client.send(m.BasicQos(1, 0, 1, False))
    client.consume("c", "cq")
    client.send(m.BasicCancel(1, "c"))
    assert len(client.consume("c", "cq")) == 1
    assert len(bodies(client.send(m.BasicAck(1, 1)))) == expected
    assert len(bodies(client.send(m.BasicAck(1, 2)))) == 1
