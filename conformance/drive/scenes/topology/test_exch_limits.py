"""EXCH: names of full length, room for several, conditions that hold, and what lasts."""

from __future__ import annotations

from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import confirming, reopen
from conformance.drive.scenes.topology.test_exch import ALTERNATE, CLASSIC, declared, delete
from conformance.drive.scenes.topology.test_queue import elsewhere, leave
from conformance.drive.scenes.topology.test_queue_names import SIGNS, of_length
from conformance.drive.stage import Stage

EXCHANGES = 9


def made_elsewhere(stage: Stage) -> tuple[str, Channel]:
    """An exchange that a connection of its own has declared."""
    channel, exchange = elsewhere(stage), stage.recorder.private_name()
    stage.belongings.exchanges[exchange] = None
    channel.declare_exchange(exchange, "direct")
    stage.quiesce()
    return exchange, channel


@rule("EXCH-019", queue_types=CLASSIC)
def test_plain_names_of_exchanges(stage: Stage) -> None:
    """All signs that the text lets them have, and as many octets."""
    channel = stage.channel()
    for name in (of_length(stage, 0, SIGNS), of_length(stage, 127, SIGNS), of_length(stage, 127)):
        channel.find_exchange(name)
        reopen(stage, channel)
        stage.belongings.exchanges[name] = None
        channel.declare_exchange(name, "direct")
        stage.quiesce()
        if channel.state != "open":
            reopen(stage, channel)


@rule("EXCH-020", queue_types=CLASSIC)
def test_several_exchanges(stage: Stage) -> None:
    """Each is looked for first, so that it is certainly not there."""
    channel = stage.channel()
    for _ in range(EXCHANGES):
        name = stage.recorder.private_name()
        channel.find_exchange(name)
        reopen(stage, channel)
        stage.belongings.exchanges[name] = None
        channel.declare_exchange(name, "direct")
        stage.quiesce()
        if channel.state != "open":
            return


@rule("EXCH-022", queue_types=CLASSIC)
def test_unused_exchanges_are_deleted(stage: Stage) -> None:
    """Never bound; bound until now; bound to a queue that was deleted. To one another leads, and one is the alternate
    of another: from neither anything leads on."""
    fresh, left, orphan, queue, other = declared(stage), declared(stage), declared(stage), stage.queue(), stage.queue()
    stage.bind(queue, left, "key")
    stage.unbind(queue, left, "key")
    stage.bind(other, orphan, "key")
    stage.backstage(other).delete(other)
    stage.quiesce()
    exchanges = [fresh, left, orphan]
    if stage.offers("exchange.bind"):
        exchanges.append(declared(stage))
        stage.bind_exchange(exchanges[-1], declared(stage), "key")
    if stage.offers(ALTERNATE):
        exchanges.append(declared(stage))
        stage.exchange(kind="direct", arguments={ALTERNATE: exchanges[-1]})
    for exchange in exchanges:
        channel = stage.channel()
        delete(channel, exchange, if_unused=True)
        stage.quiesce()


@rule("EXCH-023", queue_types=CLASSIC)
def test_alternates_that_are_not_there(stage: Stage) -> None:
    """Both the exchange and its alternate are looked for first; then a message is published, which finds no way."""
    stage.require(ALTERNATE)
    channel, exchange, alternate = confirming(stage), stage.recorder.private_name(), stage.recorder.private_name()
    for name in (alternate, exchange):
        seeker = stage.channel()
        seeker.find_exchange(name)
        stage.quiesce()
    stage.belongings.exchanges[exchange] = None
    channel.declare_exchange(exchange, "direct", arguments={ALTERNATE: alternate})
    stage.quiesce()
    if channel.state == "open":
        channel.publish("key", exchange=exchange)
        stage.quiesce()


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
