"""BIND: bindings made, made again, and removed, between what is there and what is not."""

from __future__ import annotations

import pytest

from codec import methods as m
from codec import values
from conformance.drive.channel import Channel
from conformance.drive.scenes.endings import ENDS, ended
from conformance.drive.scenes.marks import QueueType, rule
from conformance.drive.scenes.props import confirming, reopen
from conformance.drive.scenes.topology.test_exch import declared, delete
from conformance.drive.scenes.topology.test_queue import elsewhere
from conformance.drive.stage import Stage

CLASSIC: tuple[QueueType, ...] = ("classic",)
MANY = 260
"""Bindings of one queue, more than an octet can count."""


def gone_queue(stage: Stage) -> str:
    """A queue that has been deleted."""
    queue = stage.queue()
    stage.backstage(queue).delete(queue)
    stage.quiesce()
    return queue


def gone_exchange(stage: Stage) -> str:
    """An exchange that has been deleted; another one, of almost its name, is there."""
    exchange = declared(stage)
    declared(stage, name=exchange.swapcase())
    delete(stage.backstage(), exchange)
    stage.quiesce()
    return exchange


@rule("BIND-001")
def test_binding_a_missing_queue(stage: Stage) -> None:
    """To an exchange that is there; then the name is looked for."""
    exchange, queue, channel = stage.exchange(), gone_queue(stage), stage.channel()
    channel.bind(queue, exchange, "key")
    reopen(stage, channel)
    channel.declare(queue, passive=True)
    stage.quiesce()


@rule("BIND-002", queue_types=CLASSIC)
def test_binding_to_a_missing_exchange(stage: Stage) -> None:
    """A queue that is there; then the exchange is looked for."""
    exchange, queue, channel = gone_exchange(stage), stage.queue(), stage.channel()
    channel.bind(queue, exchange, "key")
    reopen(stage, channel)
    channel.find_exchange(exchange)
    stage.quiesce()


@rule("BIND-003", queue_types=CLASSIC)
def test_binding_missing_exchanges(stage: Stage) -> None:
    """The source is missing, then the destination."""
    stage.require("exchange.bind")
    there, gone, channel = declared(stage), gone_exchange(stage), stage.channel()
    channel.bind_exchange(there, gone, "key")
    reopen(stage, channel)
    channel.bind_exchange(gone, there, "key")
    stage.quiesce()


@rule("BIND-004", queue_types=CLASSIC)
def test_the_same_binding_again(stage: Stage) -> None:
    """Of a queue, with and without arguments, and once more without an answer; of an exchange; then a message, which
    comes once. What was bound twice is gone when it is unbound."""
    queue, exchange, channel = stage.queue(), stage.exchange(), confirming(stage)
    for arguments in ({}, {"note": "red"}):
        for _ in range(2):
            channel.bind(queue, exchange, "key", arguments)
            stage.quiesce()
    if stage.offers("nowait"):
        channel.send(m.QueueBind(channel.number, queue=queue, exchange=exchange, routing_key="key", no_wait=True))
        stage.barrier(channel)
    if stage.offers("exchange.bind"):
        source = stage.exchange()
        for _ in range(2):
            channel.bind_exchange(exchange, source, "key")
            stage.quiesce()
    channel.publish("key", exchange=exchange)
    stage.quiesce()
    for arguments in ({}, {"note": "red"}):
        stage.unbind(queue, exchange, "key", arguments)
        channel.publish("key", exchange=exchange)
        stage.quiesce()


@rule("BIND-005", queue_types=CLASSIC)
@pytest.mark.parametrize("kind", ["direct", "fanout", "topic", "headers"])
def test_unbinding_what_is_not_bound(stage: Stage, kind: str) -> None:
    """A queue that never was, one that is bound with another key, one that was unbound; and exchanges."""
    if kind != "direct":
        stage.require(f"{kind} exchange")
    queue, exchange = stage.queue(), declared(stage, kind)
    channel = stage.channel()
    channel.unbind(queue, exchange, "key.a.b")
    stage.bind(queue, exchange, "key.a")
    channel.unbind(queue, exchange, "key.a.b")
    channel.unbind(queue, exchange, "key")
    stage.unbind(queue, exchange, "key.a")
    channel.unbind(queue, exchange, "key.a")
    stage.quiesce()
    if stage.offers("exchange.bind"):
        channel.unbind_exchange(exchange, declared(stage), "key")
        channel.unbind_exchange(declared(stage), exchange, "key")
        stage.quiesce()


@rule("BIND-006", queue_types=CLASSIC)
def test_the_default_exchange_is_not_bound(stage: Stage) -> None:
    """A queue is bound to it with another key, and unbound with its own name; an exchange, as source and as end."""
    queue, exchange, channel = stage.queue(), declared(stage), stage.channel()
    channel.bind(queue, "", "key")
    reopen(stage, channel)
    channel.unbind(queue, "", queue)
    if stage.offers("exchange.bind"):
        for ends in (("", exchange), (exchange, "")):
            reopen(stage, channel)
            channel.bind_exchange(*ends, "key")
    stage.quiesce()


@rule("BIND-007", queue_types=CLASSIC)
@pytest.mark.parametrize("how", ENDS)
def test_bindings_go_with_what_they_bind(stage: Stage, how: str) -> None:
    """A queue ends and is declared anew, then an exchange; a message is published to the exchange each time, and
    at last to another one that had led there. The queue has three bindings, by two keys. Queues are deleted by others,
    too. Where an exchange of the same name goes in another virtual host, all stays."""
    exchange, channel = declared(stage), confirming(stage)
    source = declared(stage, "fanout") if stage.offers("exchange.bind") else ""
    if source:
        stage.bind_exchange(exchange, source)

    def bind(queue: str) -> None:
        for key, arguments in (("key", None), ("other", None), ("key", {"note": "red"})):
            stage.backstage(queue).bind(queue, exchange, key, arguments)
            stage.quiesce()

    queue = ended(stage, how, bind)
    stage.queue(name=queue)
    for key in ("key", "other"):
        channel.publish(key, exchange=exchange)
        stage.quiesce()
    stage.bind(queue, exchange, "key")
    hand = stage.backstage()
    delete(hand, exchange)
    stage.quiesce()
    stage.belongings.exchanges[exchange] = None
    hand.declare_exchange(exchange, "direct")
    stage.quiesce()
    channel.publish("key", exchange=exchange)
    stage.quiesce()
    if how == "deletion":
        for kind in ("fanout", "topic", "headers"):
            _by_another_type(stage, kind, channel)
        for kind in ("direct", "fanout", "topic", "headers"):
            _by_somebody_else(stage, kind, channel)
    if source:
        stage.bind(queue, exchange, "key")
        channel.publish("key", exchange=source)
        stage.quiesce()
    if how == "deletion" and stage.around.admin is not None:
        _namesake_goes(stage, exchange)
        channel.publish("key", exchange=exchange)
        stage.quiesce()


def _namesake_goes(stage: Stage, exchange: str) -> None:
    """In another virtual host it is declared, a queue is bound to it, and it is deleted."""
    away = stage.channel(connection=stage.connect("away", vhost=stage.around.vhost(stage)))
    queue = stage.recorder.private_name()
    away.declare(queue, durable=False, exclusive=True)
    away.declare_exchange(exchange, "direct")
    stage.quiesce()
    away.bind(queue, exchange, "key")
    stage.quiesce()
    delete(away, exchange)
    stage.quiesce()


def _by_another_type(stage: Stage, kind: str, channel: Channel) -> None:
    """A queue, and an exchange that leads on, are bound to one of this type. The queue is deleted and declared anew, or
    the exchange, or the source."""
    if not stage.offers(f"{kind} exchange"):
        return
    source, queue, onward, hand = declared(stage, kind), stage.queue(), declared(stage, "fanout"), stage.backstage()
    arguments = {"x-match": "all", "ink": "red"} if kind == "headers" else None
    for gone in (queue, onward, source) if stage.offers("exchange.bind") else (queue, source):
        stage.bind(queue, source, "key", arguments)
        if stage.offers("exchange.bind"):
            channel.bind_exchange(onward, source, "key", arguments)
            stage.quiesce()
            stage.bind(queue, onward)
        if gone == queue:
            stage.backstage(queue).delete(queue)
            stage.quiesce()
            stage.queue(name=queue)
        else:
            delete(hand, gone)
            stage.quiesce()
            stage.belongings.exchanges[gone] = None
            hand.declare_exchange(gone, kind if gone == source else "fanout")
            stage.quiesce()
        channel.publish("key", exchange=source, properties={"headers": values.table({"ink": "red"})})
        stage.quiesce()


def _by_somebody_else(stage: Stage, kind: str, channel: Channel) -> None:
    """Three queues are bound to one of this type, and deleted one after the other by a connection that has not declared
    them; at last one is declared anew. After each step a message is to go there."""
    if kind != "direct" and not stage.offers(f"{kind} exchange"):
        return
    exchange, queues, other = declared(stage, kind), [stage.queue() for _ in "123"], elsewhere(stage)
    arguments = {"x-match": "all", "ink": "red"} if kind == "headers" else None
    for queue in queues:
        stage.bind(queue, exchange, "key", arguments)
    for gone in (queues[1], queues[0], queues[2], ""):
        if gone:
            other.delete(gone)
        else:
            stage.queue(name=queues[1])
        stage.quiesce()
        headers = {"headers": values.table({"ink": "red"})}
        channel.publish("key", exchange=exchange, mandatory=True, properties=headers)
        stage.quiesce()


@rule("BIND-008", queue_types=CLASSIC)
def test_what_is_there_can_be_bound(stage: Stage) -> None:
    """Durable and transient queues to durable and transient exchanges; two queues and two keys each. Tables and lists
    may be among the arguments. And exchanges of which one is internal."""
    channel = stage.channel()
    queues = [stage.queue(), stage.queue(), stage.queue(durable=False, exclusive=True)]
    for durable in (False, True):
        exchange = declared(stage, durable=durable)
        for queue in queues:
            for key in ("red", "blue"):
                channel.bind(queue, exchange, key)
                stage.quiesce()
    for held in ({"table": {"a": 1}}, {"list": [1, "b"]}):
        channel.bind(queues[0], exchange, "red", held)
        stage.quiesce()
    if stage.offers("exchange.bind"):
        inner = declared(stage, "fanout", internal=True)
        for ends in ((inner, exchange), (exchange, inner)):
            channel.bind_exchange(*ends, "key")
            stage.quiesce()


@rule("BIND-009", queue_types=CLASSIC)
def test_several_bindings_of_a_queue(stage: Stage) -> None:
    """Three keys at each of three exchanges; then many at one, of which the last leads on as well."""
    queue, channel = stage.queue(), confirming(stage)
    for exchange in [declared(stage) for _ in range(3)]:
        for key in ("red", "green", "blue"):
            channel.bind(queue, exchange, key)
            stage.quiesce()
    exchange = declared(stage)
    with stage.batch():
        for number in range(MANY):
            channel.bind(queue, exchange, f"key {number}")
    stage.quiesce()
    for number in (0, MANY - 1):
        channel.publish(f"key {number}", exchange=exchange, mandatory=True)
    stage.quiesce()
