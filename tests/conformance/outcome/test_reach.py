"""Reach: what counts as a deed, in which state it is done, and how runs are joined."""

from __future__ import annotations

import pytest

import codec
from codec import Method
from codec import methods as m
from conformance.history.events import TO_BROKER, TO_CLIENT
from conformance.history.recorder import EventBuilder, Labels
from conformance.outcome.reach import DEEDS, STATES, TOTAL, Reach, count, joined, missing, packed, unpacked


class Wire:
    """Connections of one history, and what they reach."""

    def __init__(self) -> None:
        self.reach = Reach()
        self._seq = 0

    def client(self, *methods: Method, on: str = "c1", history: str = "h") -> None:
        for method in methods:
            self._say(TO_BROKER, method, on, history)

    def broker(self, *methods: Method) -> None:
        for method in methods:
            self._say(TO_CLIENT, method, "c1", "h")

    def _say(self, direction: str, method: Method, on: str, history: str) -> None:
        frames = [method, codec.header(1, 0)] if isinstance(method, m.BasicPublish | m.BasicDeliver) else [method]
        self._seq += 1
        builder = EventBuilder(Labels("run", "broker", history, on), lambda: self._seq, lambda: 0)
        for event in [builder.frame(direction, frame, frame.encode()) for frame in frames]:
            if event is not None:
                self.reach.step(event)

    def states(self, deed: str) -> set[str]:
        return {state for state in STATES if (deed, state) not in set(missing(self.reach.rows))}


@pytest.fixture
def wire() -> Wire:
    wire = Wire()
    wire.client(m.ChannelOpen(1), m.BasicQos(1, prefetch_size=0, prefetch_count=9, global_=False))
    wire.client(m.BasicConsume(1, queue="q", consumer_tag="c"))
    return wire


def deliver(tag: int) -> m.BasicDeliver:
    return m.BasicDeliver(1, "c", tag, False, "", "q")


def test_what_a_channel_holds_and_did_is_its_state(wire: Wire) -> None:
    wire.broker(*map(deliver, range(1, 6)))
    wire.client(m.BasicAck(1, 2, True))
    assert wire.states("basic.ack multiple") == {
        "unacked 4",
        "window 8",
        "tag 4",
        "channel used qos",
        "connection used qos",
        "consumers 1",
        "after basic.consume",
    }
    wire.client(m.BasicNack(1, delivery_tag=4, multiple=False, requeue=True))
    assert {"unacked 2", "after basic.ack multiple"} <= wire.states("basic.nack requeue")
    assert wire.states("basic.ack") == set()


def test_a_bit_of_a_method_makes_another_deed(wire: Wire) -> None:
    wire.client(m.BasicConsume(1, queue="q", consumer_tag="d", no_ack=True))
    wire.client(m.BasicQos(1, prefetch_size=0, prefetch_count=1, global_=True))
    wire.client(m.QueueDeclare(1, queue="q", passive=True), m.BasicGet(1, queue="q", no_ack=True))
    for deed in ("basic.consume no_ack", "basic.qos global_", "queue.declare passive", "basic.get no_ack"):
        assert wire.states(deed)


def test_confirms_that_are_owed_are_counted(wire: Wire) -> None:
    wire.client(m.ConfirmSelect(1), *[m.BasicPublish(1, routing_key="q")] * 5)
    wire.broker(m.BasicAck(1, 4, True))
    wire.client(m.ChannelFlow(1, True))
    assert {"unconfirmed 1", "channel used confirm"} <= wire.states("channel.flow")
    assert {"unconfirmed 4", "ready 4"} <= wire.states("basic.publish")


def test_a_connection_keeps_what_its_channels_were_used_for(wire: Wire) -> None:
    wire.client(m.ChannelClose(1, 200, "", 0, 0), m.ChannelOpen(1), m.BasicRecover(1, True))
    assert wire.states("basic.recover") == {
        "connection used qos",
        "connection used reopening",
        "channel used reopening",
    }


def test_another_connection_is_a_later_one_and_another_history_a_new_world(wire: Wire) -> None:
    wire.client(m.ChannelOpen(1), m.TxSelect(1), on="c2")
    assert wire.states("tx.select") == {"later connection"}
    wire.client(m.ChannelOpen(1), m.TxCommit(1), on="c2", history="another")
    assert wire.states("tx.commit") == set()


def test_what_runs_reached_is_joined_and_travels_as_text(wire: Wire) -> None:
    other = Wire()
    other.client(m.ChannelOpen(1), m.TxSelect(1), m.TxCommit(1))
    rows = joined([wire.reach.rows, other.reach.rows, wire.reach.rows])
    assert count(rows) == count(wire.reach.rows) + count(other.reach.rows)
    assert unpacked(packed(rows)) == rows
    assert len(list(missing(rows))) == TOTAL - count(rows)
    assert (packed([0] * len(DEEDS)), unpacked("")) == ("", [0] * len(DEEDS))
