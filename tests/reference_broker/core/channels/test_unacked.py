"""Which deliveries a settlement is about."""

from codec import methods as m


def unknown(tag, method=80, channel=1):
    return m.ChannelClose(channel, 406, f"PRECONDITION_FAILED - unknown delivery tag {tag}", 60, method)


def outstanding(client, *bodies):
    client.publish(*bodies)
    client.gets(len(bodies))


def test_single_settles_exactly_one(client):
    outstanding(client, "1", "2", "3")
    assert client.send(m.BasicAck(1, 2)) == []
    client.send(m.ChannelClose(1, 200))
    assert client.drain() == [("1", True), ("3", True)]


def test_multiple_settles_up_to_its_tag_and_over_gaps(client):
    outstanding(client, "1", "2", "3", "4", "5")
    assert client.send(m.BasicAck(1, 2), m.BasicAck(1, 4, True)) == []
    client.send(m.ChannelClose(1, 200))
    assert client.drain() == [("5", True)]


def test_multiple_must_hit_an_outstanding_tag(client):
    outstanding(client, "1", "2", "3")
    assert client.send(m.BasicAck(1, 2), m.BasicAck(1, 2, True)) == [unknown(2)]
    client.send(m.ChannelCloseOk(1))
    assert client.drain() == [("1", True), ("3", True)]


def test_multiple_above_the_last_tag_settles_nothing(client):
    outstanding(client, "1", "2")
    assert client.send(m.BasicNack(1, 9, True, False)) == [unknown(9, 120)]
    assert client.drain() == [("1", True), ("2", True)]


def test_tag_zero_with_multiple_settles_everything(client):
    outstanding(client, "1", "2")
    assert client.send(m.BasicAck(1, 0, True)) == []
    client.send(m.ChannelClose(1, 200))
    assert client.drain() == []


def test_tag_zero_with_multiple_on_nothing_is_no_error(client):
    assert client.send(m.BasicAck(1, 0, True), m.BasicNack(1, 0, True), m.ChannelFlow(1, True)) == [
        m.ChannelFlowOk(1, True)
    ]


def test_tag_zero_alone_is_unknown(client):
    outstanding(client, "1")
    assert client.send(m.BasicReject(1, 0, True)) == [unknown(0, 90)]


def test_a_tag_cannot_be_settled_twice(client):
    for first in (m.BasicAck, m.BasicNack, m.BasicReject):
        for second, number in ((m.BasicAck, 80), (m.BasicNack, 120), (m.BasicReject, 90)):
            outstanding(client, "x")
            assert client.send(first(1, 1), second(1, 1)) == [unknown(1, number)]
            client.send(m.ChannelCloseOk(1), m.ChannelOpen(1))
            client.drain()


def test_the_largest_tag_is_unsigned_in_the_text(client):
    assert client.send(m.BasicAck(1, 2**64 - 1, True)) == [unknown(2**64 - 1)]


def test_an_auto_ack_delivery_cannot_be_settled(client):
    client.publish("1")
    assert client.get(no_ack=True) == (1, "1", False)
    assert client.send(m.BasicAck(1, 1)) == [unknown(1)]


def test_a_tag_belongs_to_its_channel(client):
    client.open(2)
    outstanding(client, "1")
    assert client.send(m.BasicAck(2, 1)) == [unknown(1, channel=2)]
    assert client.send(m.BasicAck(1, 1), m.ChannelFlow(1, True)) == [m.ChannelFlowOk(1, True)]


def test_one_multiple_spans_queues_consumers_and_gets(client):
    client.queue("other")
    client.publish("1")
    client.publish("2", queue="other")
    assert client.consume("a") == [(1, "1", False)]
    assert client.consume("b", "other") == [(2, "2", False)]
    client.send(m.BasicCancel(1, "a"))
    client.publish("3")
    assert client.get() == (3, "3", False)
    client.send(m.BasicAck(1, 3, True), m.ChannelClose(1, 200))
    assert client.drain() == client.drain("other") == []


def test_settling_after_cancel_and_after_the_queue_is_gone(client):
    client.publish("1", "2")
    client.consume()
    client.send(m.BasicCancel(1, "c"))
    assert client.send(m.BasicAck(1, 1), m.QueueDelete(1, 0, "q"), m.BasicNack(1, 2)) == [m.QueueDeleteOk(1, 0)]
