"""connection.blocked: who publishes while resources are low is told so, and heard no further until they are not."""

import pytest

from codec import methods as m
from tests.reference_broker.conftest import Client


@pytest.fixture
def publisher(core):
    client = Client(core, {"connection.blocked": True}).open()
    client.queue()
    return client


def test_the_publisher_is_told_and_waits(core, publisher):
    core.raise_alarm("low on memory")
    assert publisher.publish("1") == [m.ConnectionBlocked(0, "low on memory")]
    assert publisher.send(m.BasicGet(1, 0, "q", True)) == []
    core.clear_alarm()
    unblocked, got, *_ = publisher.read()
    assert (unblocked, got.message_count) == (m.ConnectionUnblocked(0), 0)


def test_one_that_does_not_publish_is_left_alone(core, publisher):
    core.raise_alarm("low on memory")
    assert publisher.send(m.BasicGet(1, 0, "q", True)) == [m.BasicGetEmpty(1)]
    core.clear_alarm()
    assert publisher.read() == []


def test_one_that_does_not_understand_waits_without_a_word(core, client):
    core.raise_alarm("low on memory")
    assert client.publish("1") == []
    assert client.get() is None
    core.clear_alarm()
    assert [type(frame) for frame in client.read()[:1]] == [m.BasicGetOk]


def test_silence_while_blocked_is_no_missed_heartbeat(core):
    client = Client(core, log_in=False)
    client.log_in({"connection.blocked": True})
    client.connection.heartbeat = 10
    client.open()
    core.raise_alarm("low on memory")
    client.publish("1")
    client.send(m.BasicGet(1, 0, "q", True))
    client.connection.beat()
    core.move_to(100.0)
    assert not client.connection.finished
