"""What is owed: never less than a driver must wait for, never more than the broker must send."""

from __future__ import annotations

from codec import methods as m


def test_nothing_at_rest(wire) -> None:
    assert wire().owed() == []


def test_a_reply_until_it_comes(wire) -> None:
    line = wire()
    line.sends(m.ChannelFlow(1, True))
    assert line.owed() == ["the answer to channel.flow"]
    line.receives(m.ChannelFlowOk(1, True))
    assert line.owed() == []


def test_nowait_owes_nothing(wire) -> None:
    line = wire()
    line.sends(m.ConfirmSelect(1, True))
    assert line.owed() == []


def test_a_confirm_for_each_publish(wire) -> None:
    line = wire()
    line.sends(m.ConfirmSelect(1, True))
    line.publish("m1", "m2")
    line.receives(m.BasicAck(1, 1))
    assert line.owed() == ["the confirm of publish 2"]
    line.receives(m.BasicAck(1, 2, True))
    assert line.owed() == []


def test_a_delivery_while_the_window_has_room(wire) -> None:
    line = wire()
    line.sends(m.BasicQos(1, 0, 1, False))
    line.receives(m.BasicQosOk(1))
    line.sends(m.BasicConsume(1, queue="q", consumer_tag="c1"))
    line.receives(m.BasicConsumeOk(1, "c1"))
    line.publish("m1", "m2")
    assert line.owed() == ["a delivery to c1"]
    line.deliver(1, "m1")
    assert line.owed() == []
    line.sends(m.BasicAck(1, 1))
    assert line.owed() == ["a delivery to c1"]


def test_no_delivery_beyond_a_shared_limit(wire) -> None:
    line = wire()
    line.sends(m.BasicQos(1, 0, 1, True))
    line.receives(m.BasicQosOk(1))
    line.sends(m.BasicConsume(1, queue="q", consumer_tag="c1"))
    line.receives(m.BasicConsumeOk(1, "c1"))
    line.publish("m1", "m2")
    assert line.owed() == ["a delivery to c1"]
    line.deliver(1, "m1")
    assert line.owed() == []
    line.sends(m.BasicQos(1, 0, 2, True))
    line.receives(m.BasicQosOk(1))
    assert line.owed() == ["a delivery to c1"]


def test_no_delivery_while_paused(wire) -> None:
    line = wire()
    line.sends(m.ChannelFlow(1, False))
    line.receives(m.ChannelFlowOk(1, False))
    line.sends(m.BasicConsume(1, queue="q", consumer_tag="c1"))
    line.receives(m.BasicConsumeOk(1, "c1"))
    line.publish("m1")
    assert line.owed() == []


def test_a_close_after_a_mistake_and_nothing_else(wire) -> None:
    line = wire()
    line.sends(m.BasicAck(1, 9), m.ChannelFlow(1, True))
    assert line.owed() == ["channel.close"]
    line.receives(m.ChannelClose(1, 406, "", 60, 80))
    assert line.owed() == []


def test_close_ok_alone_once_we_close(wire) -> None:
    line = wire()
    line.sends(m.BasicConsume(1, queue="q", consumer_tag="c1"), m.ChannelClose(1, 200))
    assert line.owed() == ["channel.close-ok"]
    line.receives(m.ChannelCloseOk(1))
    assert line.owed() == []


def test_both_closes_when_they_cross(wire) -> None:
    line = wire()
    line.sends(m.BasicAck(1, 9), m.ChannelClose(1, 200))
    assert line.owed() == ["channel.close", "channel.close-ok"]
    line.receives(m.ChannelClose(1, 406, "", 60, 80))
    line.sends(m.ChannelCloseOk(1))
    assert line.owed() == ["channel.close-ok"]
    line.receives(m.ChannelCloseOk(1))
    assert line.owed() == []


def test_the_end_of_the_connection_after_a_hard_mistake(wire) -> None:
    line = wire()
    line.sends(m.BasicAck(7, 1))
    assert line.owed() == ["connection.close"]
    line.receives(m.ConnectionClose(0, 504, "", 60, 80))
    assert line.owed() == []


def test_where_a_mistake_may_be_implemented_the_reply_will_do(wire) -> None:
    line = wire()
    line.sends(m.BasicQos(1, 1, 0, False))
    assert line.owed() == ["the answer to basic.qos"]
    line.receives(m.BasicQosOk(1))
    assert line.owed() == []
