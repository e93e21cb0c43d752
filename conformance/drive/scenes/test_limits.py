"""QUEUE, EXCH and BIND, where numbers and arguments matter: many things, long queues, nought, conditions that hold."""

from __future__ import annotations

from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import confirming, reopen, stocked
from conformance.drive.scenes.test_exch import ALTERNATE, CLASSIC, declared, delete
from conformance.drive.scenes.test_queue import LENGTH, delete_if, elsewhere, typed
from conformance.drive.stage import Stage

QUEUES, EXCHANGES, MESSAGES = 240, 9, 300


def chosen(stage: Stage, channel: Channel, **arguments: object) -> None:
    """An exclusive queue whose name the broker chooses, on a channel that is open afterwards."""
    channel.declare("", durable=False, exclusive=True, arguments=typed(stage, **arguments) if arguments else None)
    stage.quiesce()
    if channel.state != "open":
        reopen(stage, channel)


@rule("QUEUE-026", queue_types=CLASSIC)
def test_queues_that_expire_at_once(stage: Stage) -> None:
    """Twice; then with a time that is as short as can be."""
    channel = stage.channel()
    for milliseconds in (0, 0, 1):
        chosen(stage, channel, **{"x-expires": milliseconds})


@rule("QUEUE-027", queue_types=CLASSIC)
def test_limits_of_nought(stage: Stage) -> None:
    """Each by itself, and two together."""
    channel = stage.channel()
    for names in ((LENGTH,), ("x-max-length-bytes",), ("x-message-ttl",), (LENGTH, "x-message-ttl")):
        chosen(stage, channel, **dict.fromkeys(names, 0))


@rule("QUEUE-029", queue_types=CLASSIC)
def test_many_queues(stage: Stage) -> None:
    """One after the other, on a connection that takes them along."""
    channel = elsewhere(stage)
    for _ in range(QUEUES):
        channel.declare("", durable=False, exclusive=True)
        stage.quiesce()
        if channel.state != "open":
            return


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


@rule("QUEUE-030", queue_types=CLASSIC)
def test_unused_and_empty_queues_are_deleted(stage: Stage) -> None:
    """Never used; consumed from until now; emptied by a get; emptied by a purge."""
    fresh, left, taken, purged = stage.queue(), stage.queue(), stocked(stage, 1), stocked(stage, 2)
    consumer, channel = elsewhere(stage), stage.channel()
    tag = consumer.consume(left)
    stage.quiesce()
    consumer.cancel(tag)
    stage.quiesce()
    stage.fetch(channel, taken, no_ack=True)
    channel.purge(purged)
    stage.quiesce()
    for queue in (fresh, left, taken, purged):
        delete_if(channel, queue, unused=queue in (fresh, left), empty=queue in (fresh, taken, purged))
        stage.quiesce()
        if channel.state != "open":
            reopen(stage, channel)


@rule("EXCH-022", queue_types=CLASSIC)
def test_unused_exchanges_are_deleted(stage: Stage) -> None:
    """Never bound; bound until now; bound to a queue that was deleted."""
    fresh, left, orphan, queue, other = declared(stage), declared(stage), declared(stage), stage.queue(), stage.queue()
    stage.bind(queue, left, "key")
    stage.unbind(queue, left, "key")
    stage.bind(other, orphan, "key")
    stage.backstage(other).delete(other)
    stage.quiesce()
    for exchange in (fresh, left, orphan):
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


@rule("QUEUE-033", queue_types=CLASSIC)
def test_what_is_switched_off(stage: Stage) -> None:
    """Twice, on two channels."""
    for _ in range(2):
        chosen(stage, stage.channel(), **{"x-single-active-consumer": False})


@rule("QUEUE-034")
def test_purging_a_long_queue(stage: Stage) -> None:
    """The queue is looked at afterwards."""
    queue, channel = stocked(stage, MESSAGES), stage.channel()
    channel.purge(queue)
    stage.quiesce()
    channel.declare(queue, passive=True)
    stage.quiesce()


@rule("BIND-015", queue_types=CLASSIC)
def test_unknown_forms_of_x_match(stage: Stage) -> None:
    """Two that nobody knows, and one that everybody does."""
    stage.require("headers exchange")
    queue, exchange = stage.queue(), declared(stage, "headers")
    for form in ("some", "ALL", "any"):
        channel = stage.channel()
        channel.bind(queue, exchange, "", {"x-match": form, "ink": "red"})
        stage.quiesce()
