"""ROUTE: copies by the headers CC and BCC, and who is told of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from codec import values
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import confirming
from conformance.drive.scenes.topology.test_exch import ALTERNATE
from conformance.drive.scenes.topology.test_route import MANY
from conformance.drive.stage import Stage

NOBODY = "amqpconf.nobody"


def _mailed(stage: Stage, **headers: Sequence[str]) -> None:
    """A message to a queue, and to others by these headers; then all of them are asked for it."""
    queues = {name: stage.queue() for name in ("to", "cc", "bcc", "nobody")}
    channel = confirming(stage)
    named = {name: [queues.get(one, one) for one in keys] for name, keys in headers.items()}
    for key in (queues["to"], NOBODY):
        channel.publish(key, mandatory=True, properties={"headers": values.table({**named, "note": "red"})})
    stage.confirmed(channel)
    reader = stage.channel()
    for queue in queues.values():
        for _ in range(3):
            stage.get(reader, queue, no_ack=True)


def _routed(stage: Stage, kind: str) -> None:
    """By an exchange of this type, and by way of another: one queue for each key, one for two of them, and one for what
    finds no way."""
    queues, spare = {name: stage.queue() for name in ("to", "cc", "bcc", "nobody")}, stage.queue()
    arguments = {ALTERNATE: stage.exchange(spare)} if stage.offers(ALTERNATE) else None
    exchange, both = stage.exchange(kind=kind, arguments=arguments), stage.queue()
    ways = [exchange]
    if stage.offers("exchange.bind"):
        ways.append(stage.exchange())
        stage.bind_exchange(exchange, ways[-1])
    bindings = [*queues.items(), ("cc", both), ("bcc", both)]
    for name, queue in bindings:
        stage.bind(queue, exchange, f"*.{name}" if kind == "topic" else f"a.{name}")
    channel = confirming(stage)
    named = {"CC": ["a.cc", "a.to"], "BCC": ["a.bcc"]}
    for way in ways:
        for key in ("a.to", "a.nowhere"):
            channel.publish(key, exchange=way, properties={"headers": values.table(named)})
    stage.confirmed(channel)
    reader = stage.channel()
    for queue in (*queues.values(), both, spare):
        for _ in range(2 * len(ways) + 1):
            stage.get(reader, queue, no_ack=True)


@rule("ROUTE-018")
@pytest.mark.parametrize("by", ["name", "direct", "topic", "fanout"])
def test_more_keys_in_headers(stage: Stage, by: str) -> None:
    """One queue by CC, one by BCC, one by both, and one by the routing key as well; and with a routing key that leads
    nowhere. Once CC names nobody many times before. None of it comes back."""
    if by == "name":
        _mailed(stage, CC=["cc"], BCC=["bcc"])
        _mailed(stage, CC=["cc", "bcc"], BCC=["bcc"])
        _mailed(stage, CC=["to", "cc"], BCC=["to"])
        _mailed(stage, CC=[*[NOBODY] * MANY, "cc"], BCC=["bcc"])
    else:
        _routed(stage, by)


@rule("ROUTE-019")
def test_who_gets_a_blind_copy(stage: Stage) -> None:
    """All who get the message look at its headers."""
    _mailed(stage, CC=["cc"], BCC=["bcc", "to"])
