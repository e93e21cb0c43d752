"""Publisher confirms: every number once, as few frames as the truth allows."""

import pytest

import codec
from codec import methods as m
from reference_broker.core.channels.confirms import Confirms, coalesce


@pytest.fixture
def confirming(client):
    client.send(m.ConfirmSelect(1))
    return client


def test_numbers_start_at_the_first_select(client):
    client.publish("1", "2")
    assert client.send(m.ConfirmSelect(1)) == [m.ConfirmSelectOk(1)]
    assert client.publish("3") == [m.BasicAck(1, 1)]
    assert client.send(m.ConfirmSelect(1, True)) == []
    assert client.publish("4") == [m.BasicAck(1, 2)]


def test_what_arrives_together_is_confirmed_together(confirming):
    assert confirming.publish("1", "2", "3") == [m.BasicAck(1, 3, True)]


def test_return_comes_before_the_confirm(confirming):
    frames = confirming.publish("1", queue="nowhere", mandatory=True)
    assert [type(frame) for frame in frames] == [m.BasicReturn, type(frames[1]), codec.Body, m.BasicAck]


def test_unroutable_and_not_mandatory_is_confirmed(confirming):
    assert confirming.publish("1", queue="nowhere") == [m.BasicAck(1, 1)]


def test_a_publish_that_fails_is_not_confirmed_but_earlier_ones_are(confirming):
    good, bad = m.BasicPublish(1, 0, "", "q"), m.BasicPublish(1, 0, "none", "q")
    frames = confirming.send(*[codec.content(method, b"x") for method in (good, bad, good)])
    assert frames[0] == m.BasicAck(1, 1)
    assert [frame.reply_code for frame in frames[1:]] == [404]
    assert confirming.drain() == [("x", False)]


def test_one_queue_that_refuses_makes_it_a_nack(confirming):
    confirming.queue("full", arguments={"x-max-length": 0, "x-overflow": "reject-publish"})
    for queue in ("q", "full"):
        confirming.send(m.QueueBind(1, 0, queue, "amq.fanout", ""))
    assert confirming.publish("1", exchange="amq.fanout") == [m.BasicNack(1, 1)]
    assert confirming.drain() == [("1", False)]


def test_deliveries_and_confirms_are_numbered_apart(confirming):
    confirming.consume()
    frames = confirming.publish("1", "2")
    assert [frame.delivery_tag for frame in frames if isinstance(frame, m.BasicDeliver)] == [1, 2]
    assert frames[-1] == m.BasicAck(1, 2, True)


def test_channels_confirm_apart(confirming):
    confirming.open(2)
    confirming.publish("1")
    assert confirming.publish("2", channel=2) == []
    assert confirming.publish("3") == [m.BasicAck(1, 2)]


def test_confirms_leave_before_close_ok(confirming):
    publish = codec.content(m.BasicPublish(1, 0, "", "q"), b"x")
    assert confirming.send(publish, m.ChannelClose(1, 200)) == [m.BasicAck(1, 1), m.ChannelCloseOk(1)]


@pytest.mark.parametrize(
    ("numbers", "limit", "shapes"),
    [
        ([], 5, []),
        ([1], 5, [(1, False)]),
        ([1, 2, 3], 4, [(3, True)]),
        ([1, 2, 5, 6], 3, [(2, True), (5, False), (6, False)]),
        ([5, 6], 3, [(5, False), (6, False)]),
    ],
)
def test_coalesce(numbers, limit, shapes):
    assert coalesce(numbers, limit) == shapes


def test_a_multiple_never_covers_an_unresolved_number():
    confirms = Confirms()
    for _ in range(5):
        confirms.next()
    for number in (1, 2, 4, 5):
        confirms.accept(number)
    assert confirms.flush(1) == [m.BasicAck(1, 2, True), m.BasicAck(1, 4), m.BasicAck(1, 5)]
    confirms.refuse(3)
    assert confirms.flush(1) == [m.BasicNack(1, 3)]


def test_a_multiple_never_covers_the_other_verdict_of_its_tick():
    confirms = Confirms()
    for _ in range(4):
        confirms.next()
    for number in (1, 2, 4):
        confirms.accept(number)
    confirms.refuse(3)
    assert confirms.flush(1) == [m.BasicAck(1, 2, True), m.BasicAck(1, 4), m.BasicNack(1, 3)]
