"""NOWAIT: methods with nowait, and on the same channel what shows that they were carried out."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from codec import Method, values
from codec import methods as m
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import confirming, reopen, stocked
from conformance.drive.stage import NotOffered, Stage

AGAIN = m.QueueDeclare, m.QueueBind, m.QueueDelete, m.ExchangeBind, m.ExchangeUnbind, m.ExchangeDelete, m.ConfirmSelect
"""What can be asked for twice."""


@rule("NOWAIT-001", queue_types=("classic",))
def test_nothing_is_answered(stage: Stage) -> None:
    """Each method with nowait, then one that is answered. What is there is made once more, and what is gone is removed
    once more."""
    queue, doomed, exchange, other = stage.queue(), stage.queue(), stage.exchange(), stage.exchange()
    channel = stage.channel()
    n = channel.number
    quiet: tuple[Method, ...] = (
        m.QueueDeclare(n, queue=queue, durable=stage.durable, passive=True, no_wait=True),
        m.QueueBind(n, queue=queue, exchange=exchange, routing_key="key", no_wait=True),
        m.QueuePurge(n, queue=queue, no_wait=True),
        m.QueueDelete(n, queue=doomed, no_wait=True),
        m.ExchangeDeclare(n, exchange=exchange, type="fanout", no_wait=True),
        m.ExchangeBind(n, destination=other, source=exchange, routing_key="key", no_wait=True),
        m.ExchangeUnbind(n, destination=other, source=exchange, routing_key="key", no_wait=True),
        m.ExchangeDelete(n, exchange=other, no_wait=True),
        m.ConfirmSelect(n, no_wait=True),
    )
    once = (
        m.BasicConsume(n, queue=queue, consumer_tag="quiet", no_wait=True),
        *(m.BasicCancel(n, consumer_tag="quiet", no_wait=True) for _ in "12"),
    )
    for method in (*(one for one in quiet for _ in range(1 + (type(one) in AGAIN))), *once):
        with contextlib.suppress(NotOffered):
            channel.send(method)
        stage.barrier(channel)


@rule("NOWAIT-002")
def test_what_is_declared_is_there(stage: Stage) -> None:
    """A queue and an exchange, declared with nowait, and looked for in the same write. Then such that have arguments:
    they are declared once more, with an answer; and an exclusive queue, of which another connection wants a message."""
    channel = stage.channel()
    with stage.batch():
        queue = stage.recorder.private_name()
        stage.belongings.queues[queue] = channel.connection
        kind = {"x-queue-type": stage.queue_type} if stage.profile.typed else {}
        channel.declare(queue, no_wait=True, arguments=kind)
        channel.declare(queue, passive=True)
        exchange = stage.recorder.private_name()
        stage.belongings.exchanges[exchange] = None
        channel.declare_exchange(exchange, "direct", no_wait=True)
        channel.find_exchange(exchange)
    stage.quiesce()
    _with_arguments(stage, channel, kind)
    if stage.queue_type == "classic":
        own = stage.recorder.private_name()
        stage.belongings.queues[own] = channel.connection
        channel.declare(own, durable=False, exclusive=True, no_wait=True, arguments=kind)
        stage.barrier(channel)
        stage.channel(connection=stage.connect("other")).get(own)
        stage.quiesce()


def _with_arguments(stage: Stage, channel: Channel, kind: Mapping[str, object]) -> None:
    queue, exchange, alternate = stage.recorder.private_name(), stage.recorder.private_name(), stage.exchange()
    stage.belongings.queues[queue] = channel.connection
    stage.belongings.exchanges[exchange] = None
    for no_wait in (True, False):
        if stage.offers("x-max-length"):
            channel.declare(queue, no_wait=no_wait, arguments={**kind, "x-max-length": 3})
        if stage.offers("alternate-exchange"):
            channel.declare_exchange(exchange, no_wait=no_wait, arguments={"alternate-exchange": alternate})
        stage.barrier(channel)


@rule("NOWAIT-003", queue_types=("classic",))
def test_new_bindings_lead_on(stage: Stage) -> None:
    """To a queue, and where it is offered from exchange to exchange; published to in the same write. And one that has
    arguments, by which it leads some messages on, and not others."""
    queue, exchange, source = stage.queue(), stage.exchange(), stage.exchange()
    channel = confirming(stage)
    with stage.batch():
        channel.send(m.QueueBind(channel.number, queue=queue, exchange=exchange, no_wait=True))
        channel.publish("", exchange=exchange, mandatory=True)
    stage.barrier(channel)
    with contextlib.suppress(NotOffered), stage.batch():
        channel.send(m.ExchangeBind(channel.number, destination=exchange, source=source, no_wait=True))
        channel.publish("", exchange=source, mandatory=True)
    stage.barrier(channel)
    if stage.offers("headers exchange"):
        chooses, chosen = stage.exchange(kind="headers"), stage.queue()
        wants = values.table({"x-match": "all", "ink": "red"})
        channel.send(m.QueueBind(channel.number, queue=chosen, exchange=chooses, no_wait=True, arguments=wants))
        for ink in ("green", "red"):
            channel.publish("", exchange=chooses, mandatory=True, properties={"headers": values.table({"ink": ink})})
        stage.barrier(channel)


@rule("NOWAIT-004", queue_types=("classic",))
def test_what_is_removed_is_gone(stage: Stage) -> None:
    """A queue is purged, and got from; a queue and an exchange are deleted, and looked for; an exchange is unbound from
    another one, and published to. What was deleted twice is declared once more, and is there."""
    queue, exchange = stocked(stage, 3), stage.exchange(kind="direct")
    channel = stage.channel()
    with stage.batch():
        channel.send(m.QueuePurge(channel.number, queue=queue, no_wait=True))
        channel.get(queue)
    stage.quiesce()
    with stage.batch():
        channel.delete(queue, no_wait=True)
        channel.declare(queue, passive=True)
    reopen(stage, channel)
    with stage.batch():
        channel.send(m.ExchangeDelete(channel.number, exchange=exchange, no_wait=True))
        channel.find_exchange(exchange)
    stage.quiesce()
    if stage.offers("exchange.bind"):
        onward, source, publisher = stage.exchange(stage.queue()), stage.exchange(), confirming(stage)
        stage.bind_exchange(onward, source)
        with stage.batch():
            publisher.send(m.ExchangeUnbind(publisher.number, destination=onward, source=source, no_wait=True))
            publisher.publish("", exchange=source)
        stage.quiesce()
    _deleted_twice(stage)


def _deleted_twice(stage: Stage) -> None:
    queue, exchange, channel = stage.queue(), stage.exchange(), stage.channel()
    with stage.batch():
        for _ in "12":
            channel.delete(queue, no_wait=True)
            channel.send(m.ExchangeDelete(channel.number, exchange=exchange, no_wait=True))
    stage.barrier(channel)
    stage.queue(name=queue)
    stage.belongings.exchanges[exchange] = None
    channel.declare_exchange(exchange, "fanout")
    channel.bind(queue, exchange)
    channel.publish("", exchange=exchange, mandatory=True)
    channel.get(queue, no_ack=True)
    stage.quiesce()


@rule("NOWAIT-005")
def test_consumers_without_an_answer(stage: Stage) -> None:
    """One on a queue that holds messages, one on a queue that gets them later, one that has a limit, and two that leave
    their tags to the broker."""
    channel, unnamed = stage.channel(), stage.channel()
    for queue in (stocked(stage, 1), stocked(stage, 1)):
        unnamed.consume(queue, tag="", no_wait=True)
        stage.barrier(unnamed)
    channel.consume(stocked(stage, 2), no_wait=True)
    stage.quiesce()
    queue = stage.queue()
    channel.consume(queue, no_wait=True)
    publisher, limited, bounded = confirming(stage), stage.queue(), stage.channel()
    publisher.publish(queue, 2)
    if stage.offers("basic.qos"):
        bounded.qos(1)
        bounded.consume(limited, no_wait=True)
        stage.barrier(bounded)
    publisher.publish(limited, 3)
    stage.quiesce()


@rule("NOWAIT-006", queue_types=("classic",), last=True)
def test_errors_are_told(stage: Stage) -> None:
    """Methods with nowait for a queue and an exchange that have been deleted, one of them a mere look; declarations of
    what is there, and otherwise; deletions of a queue and an exchange that are in use, unless they are not; and a
    consumer beside an exclusive one."""
    queue, kept, exchange, channel = stage.queue(), stage.queue(), stage.exchange(), stage.channel()
    used, taken, gone = stage.queue(), stage.queue(), stage.exchange()
    stage.bind(used, exchange)
    present = stage.channel()
    present.consume(used)
    present.consume(taken, exclusive=True)
    stage.backstage(queue).delete(queue)
    stage.backstage().delete_exchange(gone)
    stage.quiesce()
    stage.barrier(present)
    conditions = (
        m.QueueDelete(channel.number, queue=used, if_unused=True, no_wait=True),
        m.ExchangeDelete(channel.number, exchange=exchange, if_unused=True, no_wait=True),
        m.BasicConsume(channel.number, queue=taken, consumer_tag="beside", no_wait=True),
    )
    onward = _onward(channel, exchange, gone) if stage.offers("exchange.bind") else ()
    for method in (
        *_mistakes(channel, queue, exchange, gone),
        *_other(stage, channel, kept, exchange),
        *onward,
        *conditions,
    ):
        channel.send(method)
        stage.quiesce()
        if channel.state != "open":
            reopen(stage, channel)


def _onward(channel: Channel, exchange: str, gone: str) -> tuple[Method, ...]:
    """Bindings from and to an exchange that has been deleted."""
    return (
        m.ExchangeBind(channel.number, destination=exchange, source=gone, routing_key="key", no_wait=True),
        m.ExchangeBind(channel.number, destination=gone, source=exchange, routing_key="key", no_wait=True),
    )


def _mistakes(channel: Channel, queue: str, exchange: str, gone: str) -> tuple[Method, ...]:
    return (
        m.QueuePurge(channel.number, queue=queue, no_wait=True),
        m.QueueDeclare(channel.number, queue=queue, passive=True, no_wait=True),
        m.BasicConsume(channel.number, queue=queue, consumer_tag="none", no_wait=True),
        m.QueueBind(channel.number, queue=queue, exchange=exchange, routing_key="key", no_wait=True),
        m.ExchangeDeclare(channel.number, exchange=gone, type="fanout", passive=True, no_wait=True),
    )


def _other(stage: Stage, channel: Channel, queue: str, exchange: str) -> tuple[Method, ...]:
    """A durable queue as one that is not and with a limit, and a fanout exchange as a direct one."""
    limit = [("x-max-length", "l", 7)] if stage.offers("x-max-length") else []
    return (
        m.QueueDeclare(channel.number, queue=queue, no_wait=True),
        m.QueueDeclare(channel.number, queue=queue, durable=stage.durable, arguments=limit, no_wait=True),
        m.ExchangeDeclare(channel.number, exchange=exchange, type="direct", no_wait=True),
    )
