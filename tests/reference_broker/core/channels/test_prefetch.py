"""Limits on unsettled deliveries: of each consumer and of the channel, both at once."""

import pytest

from codec import methods as m


def bodies(deliveries):
    return [body for _, body, _ in deliveries]


@pytest.fixture
def full(client):
    client.publish(*map(str, range(1, 31)))
    return client


def test_a_consumer_takes_its_limit_and_one_more_per_settlement(full, found_in):
    full.send(m.BasicQos(1, 0, 3))
    assert bodies(full.consume()) == ["1", "2", "3"]
    assert bodies(found_in(full.send(m.BasicAck(1, 2)))) == ["4"]
    assert bodies(found_in(full.send(m.BasicReject(1, 1)))) == ["5"]
    assert bodies(found_in(full.send(m.BasicAck(1, 5, True)))) == ["6", "7", "8"]
    assert bodies(found_in(full.send(m.BasicNack(1, 6, False, True)))) == ["6"]


def test_each_consumer_has_its_own_limit_and_keeps_it(full):
    full.send(m.BasicQos(1, 0, 2))
    assert len(full.consume("a")) == 2
    full.send(m.BasicQos(1, 0, 4))
    assert len(full.consume("b")) == 4
    assert full.send(m.BasicQos(1, 0, 0)) == [m.BasicQosOk(1)]


@pytest.mark.parametrize("order", [0, 1])
def test_channel_and_consumer_limits_bind_together_in_either_order(full, order):
    calls = [m.BasicQos(1, 0, 3, False), m.BasicQos(1, 0, 5, True)]
    full.send(*(calls[::-1] if order else calls))
    assert len(full.consume("a")) == 3
    assert len(full.consume("b")) == 2


def test_slots_go_back_to_their_owner(full, found_in):
    full.send(m.BasicQos(1, 0, 3), m.BasicQos(1, 0, 5, True))
    full.consume("a")
    full.consume("b")
    frames = full.send(m.BasicAck(1, 0, True))
    receivers = [frame.consumer_tag for frame in frames if isinstance(frame, m.BasicDeliver)]
    assert len(receivers) == 5
    assert max(receivers.count("a"), receivers.count("b")) <= 3


def test_raising_and_removing_the_channel_limit_delivers_at_once(full, found_in):
    full.send(m.BasicQos(1, 0, 2, True))
    assert len(full.consume()) == 2
    assert len(found_in(full.send(m.BasicQos(1, 0, 5, True)))) == 3
    assert len(found_in(full.send(m.BasicQos(1, 0, 0, True)))) == 25


def test_lowering_the_channel_limit_counts_what_is_out(full, found_in):
    full.send(m.BasicQos(1, 0, 6, True))
    full.consume()
    full.send(m.BasicQos(1, 0, 2, True))
    assert found_in(full.send(m.BasicAck(1, 5, True))) != []
    assert len(full.connection.channels[1].unacked) == 2


def test_gets_neither_obey_limits_nor_use_them_up(full):
    full.send(m.BasicQos(1, 0, 2), m.BasicQos(1, 0, 2, True))
    assert full.gets(3) == ["1", "2", "3"]
    assert bodies(full.consume()) == ["4", "5"]
    assert full.get()[1] == "6"
    assert full.send(m.BasicAck(1, 3, True)) == []


def test_auto_ack_has_no_limit_and_uses_none(full):
    full.send(m.BasicQos(1, 0, 1), m.BasicQos(1, 0, 1, True))
    assert len(full.consume("manual")) == 1
    assert len(full.consume("auto", no_ack=True)) == 29


def test_a_full_consumer_does_not_hold_up_others(full, connect):
    full.send(m.BasicQos(1, 0, 1))
    full.consume()
    other = connect().open()
    assert len(other.consume()) == 29


def test_a_room_in_the_channel_goes_to_whoever_has_messages(client, found_in):
    """Two consumers wait for the one slot; the queue of the first is empty by the time it is free."""
    client.queue("a")
    client.queue("b")
    client.send(m.BasicQos(1, 0, 1, True))
    client.publish("a1", "a2", queue="a")
    client.publish("b1", queue="b")
    assert bodies(client.consume("a", "a")) == ["a1"]
    client.consume("b", "b")
    client.send(m.QueuePurge(1, 0, "a"))
    assert bodies(found_in(client.send(m.BasicAck(1, 1)))) == ["b1"]


def test_a_cancelled_consumer_still_counts_for_the_channel(full):
    full.send(m.BasicQos(1, 0, 3, True))
    full.consume("a")
    full.send(m.BasicCancel(1, "a"))
    assert full.consume("a") == []
    assert full.send(m.BasicAck(1, 1)) != []


def test_acks_in_a_transaction_free_nothing_before_commit(full, found_in):
    full.send(m.TxSelect(1), m.BasicQos(1, 0, 2))
    full.consume()
    assert full.send(m.BasicAck(1, 2, True)) == []
    assert bodies(found_in(full.send(m.TxCommit(1)))) == ["3", "4"]


def test_limits_do_not_leak(full, found_in):
    full.send(m.BasicQos(1, 0, 4))
    held = [tag for tag, _, _ in full.consume()]
    for turn in range(40):
        tag = held.pop(turn * 7 % len(held))
        frames = full.send([m.BasicAck(1, tag), m.BasicNack(1, tag, False, True)][turn % 2])
        held += [tag for tag, _, _ in found_in(frames)]
        assert len(held) == len(full.connection.channels[1].unacked)
        full.publish("more")
        assert len(held) == 4


def test_acks_that_come_together_are_all_taken_before_anybody_is_served(client):
    client.queue()
    client.send(m.BasicQos(1, 0, 2))
    for tag in "xy":
        client.consume(tag)
    client.publish(*"abcdefg")
    frames = client.send(*[m.BasicAck(1, tag) for tag in (1, 2, 3)])
    assert [frame.consumer_tag for frame in frames if isinstance(frame, m.BasicDeliver)] == ["x", "x", "y"]


def test_what_an_ack_made_room_for_is_delivered_before_a_later_one_fails(client):
    client.queue()
    client.send(m.BasicQos(1, 0, 1))
    client.consume()
    client.publish(*"ab")
    frames = client.send(m.BasicAck(1, 1), m.BasicAck(1, 1))
    assert [type(frame) for frame in (frames[0], frames[-1])] == [m.BasicDeliver, m.ChannelClose]
