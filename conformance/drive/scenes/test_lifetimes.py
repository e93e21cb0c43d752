"""QUEUE, EXCH and BIND, where time matters: what ends with something else, what stays, and what begins anew."""

from __future__ import annotations

from codec import values
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import confirming, reopen, stocked
from conformance.drive.scenes.test_exch import CLASSIC, declared
from conformance.drive.scenes.test_queue import elsewhere, leave, owned, typed
from conformance.drive.stage import Stage

PATIENCE = 50
"""How often a name is asked for that a former connection may still have."""
HEIRS = 5


def look(stage: Stage, queue: str) -> None:
    """A new channel looks for the queue."""
    stage.channel().declare(queue, passive=True)
    stage.quiesce()


@rule("QUEUE-024", queue_types=CLASSIC)
def test_auto_delete_queues_go(stage: Stage) -> None:
    """Two consumers are cancelled, one after the other; a channel with one is closed; a connection with one is."""
    cancelled, closed, left = (stage.queue(auto_delete=True) for _ in range(3))
    consumers = [(channel, channel.consume(cancelled)) for channel in (stage.channel(), elsewhere(stage))]
    stage.quiesce()
    for channel, tag in consumers:
        channel.cancel(tag)
        stage.quiesce()
        look(stage, cancelled)
    for queue in (closed, left):
        channel = elsewhere(stage)
        channel.consume(queue)
        stage.quiesce()
        channel.close() if queue is closed else leave(stage, channel.connection)
        stage.quiesce()
        look(stage, queue)


@rule("QUEUE-025", queue_types=CLASSIC)
def test_exclusive_queues_have_heirs(stage: Stage) -> None:
    """One connection after the other is closed, and the next one declares a queue of the same name and keeps it."""
    queue, owner = owned(stage)
    for _ in range(HEIRS):
        leave(stage, owner.connection)
        owner = elsewhere(stage)
        inherit(stage, owner, queue)
        for _ in range(3):
            owner.declare(queue, passive=True)
            reopen(stage, owner) if owner.state != "open" else stage.barrier(owner)


def inherit(stage: Stage, channel: Channel, queue: str) -> None:
    """Asks for the name until it is free."""
    stage.belongings.queues[queue] = channel.connection
    for _ in range(PATIENCE):
        channel.declare(queue, durable=False, exclusive=True, arguments=typed(stage))
        stage.quiesce()
        if channel.state == "open":
            return
        reopen(stage, channel)


@rule("QUEUE-031")
def test_new_queues_are_empty(stage: Stage) -> None:
    """Deleted with messages and declared anew, twice; the second time some of them are out with a client."""
    queue = stocked(stage, 3)
    for held in (0, 2):
        if held:
            confirming(stage).publish(queue, 3)
            stage.quiesce()
            stage.fetch(stage.channel(), queue, held)
        stage.backstage(queue).delete(queue)
        stage.quiesce()
        stage.queue(name=queue)
        stage.quiesce()


@rule("QUEUE-032")
def test_shared_queues_outlive_their_connection(stage: Stage) -> None:
    """It is closed as agreed, and the queue is looked for twice."""
    channel, queue = elsewhere(stage), stage.recorder.private_name()
    stage.belongings.queues[queue] = stage.connection
    channel.declare(queue, arguments=typed(stage))
    stage.quiesce()
    leave(stage, channel.connection)
    for _ in range(2):
        look(stage, queue)


def made_elsewhere(stage: Stage) -> tuple[str, Channel]:
    """An exchange that a connection of its own has declared."""
    channel, exchange = elsewhere(stage), stage.recorder.private_name()
    stage.belongings.exchanges[exchange] = None
    channel.declare_exchange(exchange, "direct")
    stage.quiesce()
    return exchange, channel


@rule("EXCH-021", queue_types=CLASSIC)
def test_exchanges_outlive_their_connection(stage: Stage) -> None:
    """It is closed as agreed, and the exchange is looked for twice."""
    exchange, channel = made_elsewhere(stage)
    leave(stage, channel.connection)
    for _ in range(2):
        stage.channel().find_exchange(exchange)
        stage.quiesce()


@rule("EXCH-024", queue_types=CLASSIC)
def test_an_exchange_again_and_its_bindings(stage: Stage) -> None:
    """Declared again by the same channel, and by another connection; a message is published after each."""
    exchange, queue, publisher = declared(stage), stage.queue(), confirming(stage)
    stage.bind(queue, exchange, "key")
    for channel in (stage.backstage(), elsewhere(stage)):
        channel.declare_exchange(exchange, "direct")
        stage.quiesce()
        publisher.publish("key", exchange=exchange)
        stage.quiesce()


@rule("BIND-011", queue_types=CLASSIC)
def test_unbinding_what_is_gone(stage: Stage) -> None:
    """The queue is gone, then the exchange as well; and exchanges, where those can be bound."""
    exchange, queue, other = declared(stage), stage.queue(), declared(stage)
    stage.bind(queue, exchange, "key")
    stage.backstage(queue).delete(queue)
    stage.quiesce()
    unbind(stage, queue, exchange)
    stage.backstage().delete_exchange(exchange)
    stage.quiesce()
    unbind(stage, stage.queue(), exchange)
    unbind(stage, queue, exchange)
    if stage.offers("exchange.bind"):
        for ends in ((other, exchange), (exchange, other)):
            stage.channel().unbind_exchange(*ends, "key")
            stage.quiesce()


def unbind(stage: Stage, queue: str, exchange: str) -> None:
    """On a new channel."""
    stage.channel().unbind(queue, exchange, "key")
    stage.quiesce()


@rule("BIND-012", queue_types=CLASSIC)
def test_bindings_that_differ_in_arguments(stage: Stage) -> None:
    """Two of one key at a headers exchange, where the first is removed; the same again, where the second is."""
    stage.require("headers exchange")
    for gone, left in (("ink", "paper"), ("paper", "ink")):
        queue, exchange, channel = stage.queue(), declared(stage, "headers"), confirming(stage)
        for name in ("ink", "paper"):
            stage.bind(queue, exchange, "key", {"x-match": "all", name: "red"})
        stage.unbind(queue, exchange, "key", {"x-match": "all", gone: "red"})
        for name in (gone, left):
            channel.publish("key", exchange=exchange, properties={"headers": values.table({name: "red"})})
            stage.quiesce()


@rule("BIND-013", queue_types=CLASSIC)
def test_exchanges_that_are_unbound(stage: Stage) -> None:
    """One of two bindings between two exchanges is removed, then the other; a message for each after each."""
    stage.require("exchange.bind")
    source, queue, channel = declared(stage), stage.queue(), confirming(stage)
    onward = stage.exchange(queue)
    for key in ("red", "blue"):
        stage.bind_exchange(onward, source, key)
    for gone in ("red", "blue"):
        channel.unbind_exchange(onward, source, gone)
        stage.quiesce()
        for key in ("red", "blue"):
            channel.publish(key, exchange=source)
            stage.quiesce()


@rule("BIND-014", queue_types=CLASSIC)
def test_bindings_outlive_their_connection(stage: Stage) -> None:
    """It is closed as agreed, and two messages are published."""
    exchange, queue, channel = declared(stage), stage.queue(), elsewhere(stage)
    channel.bind(queue, exchange, "key")
    stage.quiesce()
    leave(stage, channel.connection)
    publisher = confirming(stage)
    for _ in range(2):
        publisher.publish("key", exchange=exchange)
        stage.quiesce()
