"""Consumer timeouts of the core, on a clock that the test moves."""

from __future__ import annotations

import pytest

from codec import methods as m
from codec import values
from reference_broker.core.queues.timeouts import ARGUMENT
from reference_broker.core.settings import Policy

FLOW = m.ChannelFlow(1, True)


def quorum(client, name="t", **arguments):
    return client.queue(name, durable=True, arguments={"x-queue-type": "quorum", **arguments})


def eat(client, tag="c", queue="t", timeout=None):
    arguments = [] if timeout is None else values.table({ARGUMENT: timeout})
    return client.consume(tag, queue, arguments=arguments)


def after(client, seconds):
    """What the broker says until then, and the answer to a method that changes nothing."""
    client.core.move_to(client.core.clock.now + seconds)
    return [frame for frame in [*client.read(), *client.send(FLOW)] if not isinstance(frame, m.ChannelFlowOk)]


@pytest.mark.parametrize(
    ("own", "argument", "policy", "general", "expected"),
    [
        (None, None, None, None, 1800),
        (None, None, None, 700, 0.7),
        (None, 3000, None, 700, 3),
        (None, None, 3000, 700, 3),
        (None, 3000, 1500, 700, 1.5),
        (None, 1000, 3000, 700, 1),
        (4000, 1000, 2000, 700, 4),
        (100, 1000, 2000, 700, 0.1),
    ],
)
def test_which_level_counts(client, own, argument, policy, general, expected):
    settings = client.core.vhost.settings
    settings.consumer_timeout = general
    if policy is not None:
        settings.policies["p"] = Policy("p", "^t$", {"consumer-timeout": policy})
    quorum(client, **({} if argument is None else {ARGUMENT: argument}))
    client.publish("1", queue="t")
    eat(client, timeout=own)
    assert after(client, expected - 0.01) == []
    assert isinstance(after(client, 0.02)[0], m.BasicCancel)


def test_the_consumer_waits_until_the_last_stale_tag_is_settled(client):
    quorum(client)
    client.publish("1", "2", "3", queue="t")
    client.send(m.BasicQos(1, prefetch_count=2))
    assert len(eat(client, timeout=1000)) == 2
    assert [type(frame) for frame in after(client, 1)] == [m.BasicCancel]
    assert client.depth("t") == 3
    assert len(client.send(m.BasicAck(1, 1), FLOW)) == 1
    served = client.send(m.BasicAck(1, 2), FLOW)
    assert [frame.delivery_tag for frame in served if isinstance(frame, m.BasicDeliver)] == [3, 4]


def test_a_client_that_cannot_be_notified_loses_its_channel(core, connect):
    client = connect(capabilities={}).open()
    quorum(client)
    client.publish("1", queue="t")
    eat(client, timeout=1000)
    (close,) = after(client, 1)
    assert (close.reply_code, close.class_id, close.method_id) == (406, 0, 0)
    assert "timed out" in close.reply_text


def test_a_classic_queue_has_no_timeout(client):
    client.core.vhost.settings.consumer_timeout = 100
    client.publish("1")
    client.consume()
    assert after(client, 3600) == []


def test_up_to_4_2_the_channel_looks_at_its_oldest_delivery_once_a_minute(speaking):
    client = speaking("rabbitmq-4.0")
    client.core.vhost.settings.consumer_timeout = 2000
    client.publish("1", queue="q", channel=1)
    client.consume()
    assert after(client, 59) == []
    (close,) = after(client, 2)
    assert close.reply_code == 406
    assert "2000 ms" in close.reply_text
