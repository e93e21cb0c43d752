"""What dialects do differently about settlements: which are lost, and which reach what they were not meant for.

A settlement that is lost shows by its message: it is back in the queue when the channel has ended. So most tests
settle, end the channel, and count.
"""

from __future__ import annotations

import pytest

from codec import methods as m
from codec import values
from tests.reference_broker.dialects.speech import REAL, bodies, classic, closes

# -- whose messages are back before the close-ok to an exception


@pytest.mark.parametrize(
    ("dialect", "soon"),
    [
        ("documented", {"live", "got", "quorum"}),
        ("rabbitmq-3.8", {"live", "got"}),
        ("rabbitmq-3.10", {"live"}),
        ("rabbitmq-4.3", {"live"}),
    ],
)
def test_after_an_exception(speaking, dialect, soon):
    client = speaking(dialect)
    client.queue("live")
    client.queue("got")
    for name in ("live", "got", "q"):
        client.publish("m", queue=name)
    client.consume("c", "live")
    client.consume("d", "q")
    client.get("got")
    queues = client.core.vhost.queues
    names = {"live": "live", "got": "got", "quorum": "q"}
    (close,) = client.send(m.BasicAck(1, 99))
    assert close.reply_code == 406
    assert {label for label, name in names.items() if queues[name].count()} == soon
    client.send(m.ChannelCloseOk(1))
    assert {label for label, name in names.items() if queues[name].count()} == set(names)


@pytest.mark.parametrize("dialect", ["documented", "rabbitmq-4.0"])
def test_a_peer_that_never_answers_an_exception_keeps_nothing_for_ever(speaking, dialect):
    client = speaking(dialect)
    client.publish("m")
    client.get()
    client.send(m.BasicAck(1, 99))
    client.connection.lost()
    assert client.core.vhost.queues["q"].count() == 1


# -- settlements held up behind the soft limit


@pytest.mark.parametrize("end", [m.ChannelClose(1), m.ConnectionClose(0), m.BasicAck(1, 999)])
@pytest.mark.parametrize(("dialect", "back"), [("documented", 0), *[(name, 67) for name in REAL]])
def test_settling_a_hundred_and_closing_in_one_write(speaking, dialect, back, end):
    client = speaking(dialect)
    client.publish(*["m"] * 100)
    client.gets(100)
    client.send(*[m.BasicAck(1, tag) for tag in range(1, 101)], end)
    client.send(m.ChannelCloseOk(1))
    assert client.core.vhost.queues["q"].count() == back


@pytest.mark.parametrize("how", ["few", "multiple", "answered", "classic", "transaction"])
def test_what_is_never_lost(speaking, how):
    client = speaking("rabbitmq-4.3")
    client.queue("cq")
    name, count = "cq" if how == "classic" else "q", 33 if how == "few" else 100
    client.publish(*["m"] * count, queue=name)
    client.gets(count, name)
    acks = [m.BasicAck(1, tag) for tag in range(1, count + 1)]
    if how == "multiple":
        acks = [m.BasicAck(1, 0, True)]
    if how == "transaction":
        acks = [m.TxSelect(1), *acks, m.TxCommit(1)]
    if how == "answered":
        client.send(*acks)
        acks = []
    client.send(*acks, m.ChannelClose(1))
    assert client.core.vhost.queues[name].count() == 0


def test_a_tag_that_is_held_up_is_settled_all_the_same(speaking):
    client = speaking("rabbitmq-4.0")
    client.publish(*["m"] * 100)
    client.gets(100)
    acks = [m.BasicAck(1, tag) for tag in range(1, 101)]
    (close,) = closes(client.send(*acks, m.BasicAck(1, 100)))
    assert close.reply_text == "PRECONDITION_FAILED - unknown delivery tag 100"


# -- what settling a stale tag does, once its delivery has timed out


def timed_out(speaking, dialect):
    client = speaking(dialect)
    client.publish("a")
    client.send(m.BasicQos(1, 0, 1, False))
    client.consume("c", arguments=values.table({"x-consumer-timeout": 1000}))
    client.core.move_to(2.0)
    client.read()
    client.gets(1, no_ack=True)
    return client


@pytest.mark.parametrize(
    ("dialect", "settle", "served"),
    [
        ("documented", m.BasicNack(1, 1, False, True), 1),
        ("rabbitmq-4.3", m.BasicNack(1, 1, False, True), 0),
        ("rabbitmq-4.3", m.BasicReject(1, 1, True), 1),
        ("rabbitmq-4.3", m.BasicAck(1, 1), 1),
    ],
)
def test_what_revives_a_consumer(speaking, dialect, settle, served):
    client = timed_out(speaking, dialect)
    client.send(settle)
    assert len(bodies(client.publish("b"))) == served


@pytest.mark.parametrize(("dialect", "left"), [("documented", 1), ("rabbitmq-4.3", 0)])
def test_a_stale_ack_and_the_next_consumer_of_the_tag(speaking, dialect, left):
    client = timed_out(speaking, dialect)
    client.send(m.BasicCancel(1, "c"))
    client.publish("b")
    assert [body for _, body, _ in client.consume("c")] == ["b"]
    client.send(m.BasicAck(1, 1))
    client.send(m.ChannelClose(1))
    assert client.core.vhost.queues["q"].count() == left


@pytest.mark.parametrize(
    ("dialect", "settle", "back"),
    [
        ("rabbitmq-3.8", m.BasicAck(1, 1), ["2"]),
        ("documented", m.BasicAck(1, 1), ["2"]),
        ("rabbitmq-3.10", m.BasicAck(1, 1), []),
        ("rabbitmq-4.3", m.BasicNack(1, 1, False, True), ["2"]),
    ],
)
def test_a_namesake_takes_settlements(speaking, dialect, settle, back):
    """Tag 1 is from a queue that was deleted, tag 2 from the next one of that name: does settling 1 touch 2?"""
    client = classic(speaking, dialect, "1")
    client.get("cq")
    client.send(m.QueueDelete(1, 0, "cq"))
    client.queue("cq")
    client.publish("2", queue="cq")
    client.get("cq")
    client.send(settle)
    early = [body for body, _ in client.drain("cq")]
    client.send(m.ChannelClose(1, 200), m.ChannelOpen(1))
    assert early == (back if isinstance(settle, m.BasicNack) else [])
    assert [body for body, _ in client.drain("cq")] == ([] if early else back)
