"""A crash that is played in this process: who is connected is cut off, and what is durable is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pika
import pika.exceptions
import pytest

from reference_broker import ReferenceBroker

PERSISTENT = pika.BasicProperties(delivery_mode=2)
ARGUMENTS = {"classic": {}, "quorum": {"x-queue-type": "quorum"}}


@pytest.fixture
def broker() -> Iterator[ReferenceBroker]:
    with ReferenceBroker() as broker:
        yield broker


def channel_on(broker: ReferenceBroker) -> pika.adapters.blocking_connection.BlockingChannel:
    return pika.BlockingConnection(pika.URLParameters(broker.url)).channel()


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_what_is_durable_is_left(broker: ReferenceBroker, kind: str) -> None:
    channel = channel_on(broker)
    channel.confirm_delivery()
    channel.queue_declare("kept", durable=True, arguments=ARGUMENTS[kind])
    channel.queue_declare("gone")
    for number, properties in enumerate((PERSISTENT, None, PERSISTENT)):
        channel.basic_publish("", "kept", str(number).encode(), properties)
    channel.basic_get("kept")
    broker.crash()
    with pytest.raises(pika.exceptions.AMQPConnectionError):
        channel.basic_get("kept")
    after = channel_on(broker)
    left = [body for _, _, body in iter(lambda: after.basic_get("kept", auto_ack=True), (None, None, None))]
    assert left == ([b"0", b"2"] if kind == "classic" else [b"0", b"1", b"2"])
    with pytest.raises(pika.exceptions.ChannelClosedByBroker, match="NOT_FOUND"):
        after.queue_declare("gone", passive=True)


def test_exchanges_and_bindings(broker: ReferenceBroker) -> None:
    channel = channel_on(broker)
    channel.queue_declare("q", durable=True)
    for name, durable in (("kept", True), ("gone", False)):
        channel.exchange_declare(name, "fanout", durable=durable)
        channel.queue_bind("q", name)
    broker.crash()
    after = channel_on(broker)
    after.basic_publish("kept", "", b"1")
    assert after.basic_get("q", auto_ack=True)[2] == b"1"
    with pytest.raises(pika.exceptions.ChannelClosedByBroker, match="NOT_FOUND"):
        after.exchange_declare("gone", passive=True)


def test_only_a_broker_that_runs_and_keeps_nothing_on_disk(tmp_path: Path) -> None:
    with ReferenceBroker(data=tmp_path) as kept, pytest.raises(RuntimeError, match="data directory"):
        kept.crash()
    with pytest.raises(RuntimeError, match="runs"):
        ReferenceBroker().crash()
