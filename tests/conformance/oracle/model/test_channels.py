"""The client's view of a channel, as drivers and scenes read it."""

from __future__ import annotations

import pytest

from codec import methods as m


def channel(line):
    return line.model.connections["c"].channel(1)


def test_states(wire) -> None:
    line = wire()
    assert channel(line).state == "open"
    line.sends(m.BasicAck(1, 9))
    assert channel(line).state == "failing"
    line.receives(m.ChannelClose(1, 406, "", 60, 80))
    assert channel(line).state == "closed"
    line.sends(m.ChannelCloseOk(1), m.ChannelOpen(1))
    assert channel(line).state == "opening"
    line.receives(m.ChannelOpenOk(1))
    assert channel(line).state == "open"
    line.sends(m.ChannelClose(1, 200))
    assert channel(line).state == "closing"
    line.receives(m.ChannelCloseOk(1))
    assert channel(line).state == "closed"


def test_each_life_of_a_number_is_another_channel(wire) -> None:
    line = wire()
    line.publish("m1")
    line.get_ok(1, "m1")
    before = channel(line)
    line.sends(m.ChannelClose(1, 200))
    line.receives(m.ChannelCloseOk(1))
    line.sends(m.ChannelOpen(1))
    line.receives(m.ChannelOpenOk(1))
    after = channel(line)
    assert after.incarnation != before.incarnation
    assert (after.last_tag, dict(after.unacked), list(after.settled)) == (0, {}, [])


def test_deliveries_are_outstanding_until_settled(wire) -> None:
    line = wire()
    line.publish("m1", "m2", "m3")
    for tag in (1, 2, 3):
        line.get_ok(tag, f"m{tag}")
    delivery = channel(line).unacked[2]
    assert (delivery.tag, delivery.message, delivery.queue, delivery.consumer_tag) == (2, "m2", "q", None)
    line.sends(m.BasicAck(1, 2))
    assert (list(channel(line).unacked), set(channel(line).settled)) == ([1, 3], {2})
    line.sends(m.BasicAck(1, 3, True))
    assert (list(channel(line).unacked), set(channel(line).settled)) == ([], {1, 2, 3})


def test_consumers_start_live_and_are_cancelled(wire) -> None:
    line = wire()
    line.sends(m.BasicConsume(1, queue="q", consumer_tag="c1"))
    assert channel(line).consumers["c1"].state == "starting"
    line.receives(m.BasicConsumeOk(1, "c1"))
    assert channel(line).consumers["c1"].state == "live"
    line.sends(m.BasicCancel(1, "c1"))
    assert channel(line).consumers["c1"].state == "cancelling"
    line.receives(m.BasicCancelOk(1, "c1"))
    assert channel(line).consumers == {}


def test_a_tag_chosen_by_the_broker(wire) -> None:
    line = wire()
    line.sends(m.BasicConsume(1, queue="q"))
    line.receives(m.BasicConsumeOk(1, "amq.ctag-1"))
    assert list(channel(line).consumers) == ["amq.ctag-1"]


def test_confirms_are_pending_by_number(wire) -> None:
    line = wire()
    line.sends(m.ConfirmSelect(1))
    line.publish("m1", "m2", "m3")
    line.receives(m.ConfirmSelectOk(1), m.BasicNack(1, 2))
    assert list(channel(line).unconfirmed) == [1, 3]


@pytest.mark.parametrize(("prefetch", "possible"), [(0, True), (1, False), (2, True)])
def test_in_flight_possible(wire, prefetch: int, possible: bool) -> None:
    line = wire("rabbitmq-3.10")
    line.sends(m.BasicQos(1, 0, prefetch, False))
    line.receives(m.BasicQosOk(1))
    assert not channel(line).in_flight_possible()
    line.sends(m.BasicConsume(1, queue="q", consumer_tag="c1"))
    assert not channel(line).in_flight_possible()
    line.publish("m1", "m2")
    assert channel(line).in_flight_possible()
    line.receives(m.BasicConsumeOk(1, "c1"))
    line.deliver(1, "m1")
    assert channel(line).in_flight_possible() is possible


def test_a_get_may_be_in_flight_until_it_is_answered(wire) -> None:
    line = wire()
    line.sends(m.BasicGet(1, queue="q"))
    assert channel(line).in_flight_possible()
    line.receives(m.BasicGetEmpty(1))
    assert not channel(line).in_flight_possible()
