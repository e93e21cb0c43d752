"""ROUTE: copies by the headers CC and BCC, and who is told of them; and publishes to queues by their names."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from codec import values
from conformance.drive.channel import Channel
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


def _in_a_transaction(stage: Stage) -> None:
    queues, reader = [stage.queue() for _ in "123"], stage.channel()
    _committed(stage, "", queues[0], CC=[queues[1]], BCC=[queues[2]])
    for queue in queues:
        stage.get(reader, queue, no_ack=True)


def _by_other_ways(stage: Stage) -> None:
    """By a binding between exchanges, by an alternate exchange, and in a transaction; and given back."""
    queue = stage.queue()
    last = stage.exchange(queue)
    ways = [last]
    if stage.offers("exchange.bind"):
        ways.append(stage.exchange())
        stage.bind_exchange(last, ways[-1])
    if stage.offers(ALTERNATE):
        ways.append(stage.exchange(kind="direct", arguments={ALTERNATE: last}))
    properties = {"headers": values.table({"CC": [NOBODY], "BCC": [NOBODY]})}
    channel, reader = confirming(stage), stage.channel()
    for way in ways:
        channel.publish(NOBODY, exchange=way, properties=properties)
    stage.confirmed(channel)
    _committed(stage, last, NOBODY, CC=[NOBODY], BCC=[NOBODY])
    for _ in range(len(ways) + 1):
        stage.get(reader, queue)
    for tag in reader.unacked:
        reader.reject(tag)
    stage.barrier(reader)
    for _ in range(len(ways) + 1):
        stage.get(reader, queue, no_ack=True)


def _committed(stage: Stage, exchange: str, key: str, **headers: Sequence[str]) -> None:
    """A message that one commit publishes, where that is offered."""
    if stage.offers("tx.select"):
        channel = stage.channel()
        channel.tx_select()
        stage.quiesce()
        channel.publish(key, exchange=exchange, properties={"headers": values.table(headers)})
        channel.tx_commit()
        stage.quiesce()


@rule("ROUTE-018")
@pytest.mark.parametrize("by", ["name", "direct", "topic", "fanout"])
def test_more_keys_in_headers(stage: Stage, by: str) -> None:
    """One queue by CC, one by BCC, one by both, and one by the routing key as well; and with a routing key that leads
    nowhere. Once CC names nobody many times before, once it is empty, and once it is a transaction that publishes. None
    of it comes back that has found a way."""
    if by == "name":
        _mailed(stage, CC=["cc"], BCC=["bcc"])
        _mailed(stage, CC=["cc", "bcc"], BCC=["bcc"])
        _mailed(stage, CC=["to", "cc"], BCC=["to"])
        _mailed(stage, CC=[], BCC=["bcc"])
        _mailed(stage, CC=[])
        _mailed(stage, CC=[*[NOBODY] * MANY, "cc"], BCC=["bcc"])
        _in_a_transaction(stage)
    else:
        _routed(stage, by)


@rule("ROUTE-019")
def test_who_gets_a_blind_copy(stage: Stage) -> None:
    """All who get the message look at its headers, whichever way it comes."""
    _mailed(stage, CC=["cc"], BCC=["bcc", "to"])
    _by_other_ways(stage)


@rule("ROUTE-020")
def test_queues_are_reached_by_their_names(stage: Stage) -> None:
    """Two queues, with confirms and without; beside an exchange of clients, and when that is gone again; one of them
    when it was declared anew."""
    queues = [stage.queue(), stage.queue()]
    plain, channel = stage.channel(), confirming(stage)
    _by_name(stage, queues, plain, channel)
    other = stage.exchange(queues[0])
    _by_name(stage, queues, plain, channel)
    stage.backstage().delete_exchange(other)
    stage.quiesce()
    stage.backstage(queues[0]).delete(queues[0])
    stage.quiesce()
    stage.queue(name=queues[0])
    _by_name(stage, queues, plain, channel)


def _by_name(stage: Stage, queues: Sequence[str], *channels: Channel) -> None:
    for channel in channels:
        for queue in queues:
            channel.publish(queue)
    stage.quiesce()
    for queue in queues:
        stage.fetch(stage.channel(), queue, len(channels), no_ack=True)
