"""Each nature is seen in the thing that has it, and not in the one that has not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import codec
from codec import methods as m
from reference_broker.core.broker import Broker
from tests.reference_broker.conftest import Client
from tests.tools.mutation.conftest import place
from tools.mutation.install import installed
from tools.mutation.natures import LARGE, NATURES
from tools.mutation.triggers import Trigger

PUSH = place("queue.Queue.publish", "dropped", "self.ready.push(")
NEXT_TAG = place("channel.Channel.next_tag", "constant")

DECLARED: dict[str, dict[str, Any]] = {
    "durable": {"durable": True},
    "exclusive": {"exclusive": True},
    "auto-delete": {"auto_delete": True},
    "limited": {"arguments": {"x-max-length": 9}},
    "with a message ttl": {"arguments": {"x-message-ttl": 60_000}},
    "with an expiry": {"arguments": {"x-expires": 60_000}},
    "with a dead-letter exchange": {"arguments": {"x-dead-letter-exchange": ""}},
    "with priorities": {"arguments": {"x-max-priority": 5}},
    "with a single active consumer": {"arguments": {"x-single-active-consumer": True}},
}
PUBLISHED: dict[str, dict[str, Any]] = {
    "persistent": {"delivery_mode": 2},
    "with headers": {"headers": codec.values.table({"a": 1})},
    "with an expiration": {"expiration": "60000"},
    "with a priority": {"priority": 0},
    "with a reply-to": {"reply_to": "r"},
    "through an exchange": {"exchange": "amq.fanout"},
}
CONSUMED: dict[str, dict[str, Any]] = {
    "without acks": {"no_ack": True},
    "exclusive": {"exclusive": True},
    "with a priority": {"arguments": codec.values.table({"x-priority": 3})},
}


def spoken_to() -> Client:
    client = Client(Broker()).open(1, 2)
    client.queue()
    client.send(m.QueueBind(1, 0, "q", "amq.fanout"))
    return client


def fired(where: Any, scope: str, nature: str, *steps: Callable[[], object]) -> list[int]:
    """How often each step fires."""
    with installed(where, Trigger("nature", nature, scope)) as live:
        seen = [(step(), live.fired)[1] for step in steps]
    return [after - before for before, after in zip([0, *seen], seen, strict=False)]


@pytest.mark.parametrize("nature", DECLARED)
def test_what_a_queue_was_declared_as(nature: str) -> None:
    client = spoken_to()
    client.queue("other", **DECLARED[nature])
    steps = [lambda: client.publish("x"), lambda: client.publish("x", queue="other")]
    assert fired(PUSH, "queue", nature, *steps) == [0, 1]


@pytest.mark.parametrize("nature", PUBLISHED)
def test_what_a_message_was_published_with(nature: str) -> None:
    client = spoken_to()
    steps = [lambda: client.publish("x"), lambda: client.publish("x", **PUBLISHED[nature])]
    assert fired(PUSH, "message", nature, *steps) == [0, 1]


@pytest.mark.parametrize(("nature", "bodies"), [("empty", ("x", "")), ("large", ("x" * LARGE, "x" * (LARGE + 1)))])
def test_how_long_a_body_is(nature: str, bodies: tuple[str, str]) -> None:
    client = spoken_to()
    assert fired(PUSH, "message", nature, *[lambda body=body: client.publish(body) for body in bodies]) == [0, 1]


@pytest.mark.parametrize("nature", CONSUMED)
def test_what_a_consumer_asked_for(nature: str) -> None:
    plain, asked = spoken_to(), spoken_to()
    plain.consume(), asked.consume(**CONSUMED[nature])
    assert fired(NEXT_TAG, "consumer", nature, lambda: plain.publish("x"), lambda: asked.publish("x")) == [0, 1]


@pytest.mark.parametrize("scope", ["queue", "consumer"])
def test_what_the_broker_has_named(scope: str) -> None:
    plain, asked = spoken_to(), spoken_to()
    (declared,) = asked.send(m.QueueDeclare(1))
    plain.consume(), asked.consume("", declared.queue)
    steps = [lambda: plain.publish("x"), lambda: asked.publish("x", queue=declared.queue)]
    where = PUSH if scope == "queue" else NEXT_TAG
    assert fired(where, scope, "named by the broker", *steps) == [0, 1]


def test_how_many_consume_from_a_queue() -> None:
    def fires(nature: str) -> list[int]:
        client = spoken_to()

        def consume_and_publish() -> None:
            client.consume("")
            client.publish("x")

        return fired(PUSH, "queue", nature, lambda: client.publish("x"), consume_and_publish, consume_and_publish)

    assert fires("without consumers") == [1, 0, 0]
    assert fires("with one consumer") == [0, 1, 0]
    assert fires("with several consumers") == [0, 0, 1]


USED: dict[str, list[codec.Method]] = {
    "with confirms": [m.ConfirmSelect(1)],
    "with transactions": [m.TxSelect(1)],
    "with consumers": [m.BasicConsume(1, 0, "new", "c")],
    "with several consumers": [m.BasicConsume(1, 0, "new", "c"), m.BasicConsume(1, 0, "new", "d")],
    "with a limit": [m.BasicQos(1, 0, 5, True)],
    "alone on its connection": [m.ChannelClose(2, 200)],
}


@pytest.mark.parametrize("nature", USED)
def test_how_a_channel_is_used(nature: str) -> None:
    client = spoken_to()
    client.queue("new")
    client.publish("1", "2")

    def use_and_get() -> None:
        client.send(*USED[nature])
        client.get(no_ack=True)

    assert fired(NEXT_TAG, "channel", nature, lambda: client.get(no_ack=True), use_and_get) == [0, 1]


def test_where_a_channel_stands_and_what_it_holds() -> None:
    client = spoken_to()
    client.publish("1", "2", "3")
    steps = [lambda: client.get(), lambda: client.get(channel=2), lambda: client.get(channel=2)]
    assert fired(NEXT_TAG, "channel", "not the first", *steps) == [0, 1, 1]
    client.send(m.BasicRecover(1, True), m.BasicRecover(2, True))
    assert fired(NEXT_TAG, "channel", "with nothing unacked", *steps) == [1, 1, 0]


def test_a_consumer_has_a_limit_of_its_own() -> None:
    client = spoken_to()
    client.consume("c")
    limited = [m.BasicCancel(1, "c"), m.BasicQos(1, 0, 5), m.BasicConsume(1, 0, "q", "d")]
    steps = [lambda: client.publish("x"), lambda: (client.send(*limited), client.publish("x"))]
    assert fired(NEXT_TAG, "consumer", "with a limit of its own", *steps) == [0, 1]


@pytest.mark.parametrize(
    ("scope", "nature"), [("queue", "transient"), ("message", "transient"), ("consumer", "with acks")]
)
def test_the_plain_one_is_of_the_other_nature(scope: str, nature: str) -> None:
    client = spoken_to()
    client.consume()
    assert fired(NEXT_TAG, scope, nature, lambda: client.publish("x")) == [1]
    assert nature in NATURES[scope]
