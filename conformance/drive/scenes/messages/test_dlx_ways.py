"""DLX: where dead letters go: by more keys than one, over more exchanges than one, and in which virtual host."""

from __future__ import annotations

import pytest

from codec import values
from conformance.drive.around import wait
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.messages.test_dlx import ARRIVED, EXCHANGE, KEY, look, reject, sent, to
from conformance.drive.scenes.props import confirming, patiently
from conformance.drive.scenes.topology.test_queue import typed
from conformance.drive.stage import Stage

CHAIN = 12
"""More queues in a row than anybody may have thought of."""


@rule("DLX-010")
def test_more_keys(stage: Stage) -> None:
    """From a queue that gives another key, and from ones that do not; by one of the further keys it goes to a queue.
    And over two such queues, one after the other."""
    grave, copies, holder = stage.queue(), stage.queue(), stage.channel()
    exchange, by_copy = stage.exchange(grave), stage.exchange(copies, kind="direct", key="amqpconf.nobody")
    headers = values.table({"CC": ["amqpconf.nobody"], "BCC": ["amqpconf.none"]})
    for arguments in (to(grave), {EXCHANGE: exchange}, {EXCHANGE: by_copy}):
        queue = stage.queue(arguments)
        sent(stage, queue, headers=headers)
        reject(stage, holder, queue)
    second = stage.queue({EXCHANGE: by_copy})
    first = stage.queue({EXCHANGE: stage.exchange(second)})
    sent(stage, first, headers=headers)
    for queue in (first, second):
        reject(stage, holder, queue)
        wait(stage, ARRIVED)
    look(stage, grave, copies, gets=3)


def _long_chain(stage: Stage) -> None:
    """A message that dies in many queues, one after the other, and lives in the last of them."""
    grave = queue = stage.queue()
    for _ in range(CHAIN):
        queue = stage.queue(to(queue, x_message_ttl=0))
    publisher = confirming(stage)
    publisher.publish(queue)
    stage.confirmed(publisher)
    wait(stage, ARRIVED)
    look(stage, grave)


@rule("DLX-014", queue_types=("classic",))
@pytest.mark.parametrize("kind", ["fanout", "headers", "elsewhere", "topic", "direct"])
def test_over_more_exchanges(stage: Stage, kind: str) -> None:
    """Two queues are bound to it, and a second exchange: there a key of its own matches, or else that has an alternate.
    Another exchange has nothing but an alternate. And one leads back to the queue where they have died, and beyond. Or
    all is in a virtual host of its own, by the default exchange. Or all goes by keys: those of the messages, or others
    that their queues give. Once it is an internal exchange, and once one that comes later than the queue."""
    if kind in ("topic", "direct"):
        _by_keys(stage, kind)
        return
    if kind == "elsewhere":
        _elsewhere(stage)
        return
    if kind == "fanout":
        _long_chain(stage)
        _internal(stage)
        _comes_later(stage)
    red = {"x-match": "all", "ink": "red"} if kind == "headers" else {}
    graves, (home, beyond) = [stage.queue() for _ in "123456"], _round(stage)
    known, last, spare = graves[0], stage.exchange(graves[1]), stage.exchange(graves[2])
    second = stage.exchange(known, kind="direct", key="known", arguments={"alternate-exchange": last})
    first, bare = stage.exchange(kind=kind), stage.exchange(kind="direct", arguments={"alternate-exchange": spare})
    for grave in graves[3:5]:
        stage.bind(grave, first, "", red)
    channel = stage.channel()
    channel.bind_exchange(second, first, "", red)
    channel.bind_exchange(second, first, "known", red)
    stage.quiesce()
    dying = [stage.queue(one) for one in ({EXCHANGE: first}, {EXCHANGE: first, KEY: "known"}, {EXCHANGE: bare})]
    publisher = confirming(stage)
    for queue in (home, *dying):
        publisher.publish(queue, 2, properties={"headers": values.table({"ink": "red"})})
        stage.confirmed(publisher)
        for tag in stage.fetch(channel, queue, 2):
            channel.reject(tag, requeue=False)
        stage.barrier(channel)
    wait(stage, ARRIVED)
    look(stage, *graves, gets=5)
    look(stage, home, beyond)
    if kind == "fanout":
        _anew(stage)


def _internal(stage: Stage) -> None:
    """Clients cannot publish to it; messages that die can go there."""
    grave, exchange, channel = stage.queue(), stage.recorder.private_name(), stage.channel()
    stage.belongings.exchanges[exchange] = None
    channel.declare_exchange(exchange, internal=True)
    channel.bind(grave, exchange)
    stage.quiesce()
    queue = stage.queue({EXCHANGE: exchange})
    sent(stage, queue)
    reject(stage, channel, queue)
    wait(stage, ARRIVED)
    look(stage, grave)


def _comes_later(stage: Stage) -> None:
    """It is declared when the queue is there already, one message has died in it, and another one waits."""
    grave, exchange, channel = stage.queue(), stage.recorder.private_name(), stage.channel()
    queue = stage.queue({EXCHANGE: exchange})
    sent(stage, queue, 2)
    reject(stage, channel, queue)
    stage.belongings.exchanges[exchange] = None
    channel.declare_exchange(exchange, "fanout")
    channel.bind(grave, exchange)
    stage.quiesce()
    reject(stage, channel, queue)
    wait(stage, ARRIVED)
    look(stage, grave)


def _by_keys(stage: Stage, kind: str) -> None:
    """One queue keeps the keys, and one gives another. Some lead to a queue, and others nowhere but to an alternate."""
    stage.require(f"{kind} exchange")
    kept, given, other, spare = (stage.queue() for _ in "1234")
    graves = stage.exchange(kind=kind, arguments={"alternate-exchange": stage.exchange(spare)})
    keys = ("red.*", "blue.#", "#.none") if kind == "topic" else ("red.1", "blue.sky", "none")
    for grave, key in zip((kept, given, other), keys, strict=True):
        stage.bind(grave, graves, key)
    dying = [stage.queue(about) for about in ({EXCHANGE: graves}, {EXCHANGE: graves, KEY: "blue.sky"})]
    publisher, holder = confirming(stage), stage.channel()
    for queue, leading in [(queue, stage.exchange(queue)) for queue in dying]:
        for key in ("red.1", "green"):
            publisher.publish(key, exchange=leading)
            stage.confirmed(publisher)
            reject(stage, holder, queue)
    wait(stage, ARRIVED)
    look(stage, kept, given, other, spare, gets=5)


def _anew(stage: Stage) -> None:
    """The exchange is deleted, and declared and bound again before somebody needs it."""
    grave, holder = stage.queue(), stage.channel()
    exchange = stage.exchange(grave)
    queue, hand = stage.queue({EXCHANGE: exchange}), stage.backstage()
    hand.delete_exchange(exchange)
    stage.quiesce()
    stage.belongings.exchanges[exchange] = None
    hand.declare_exchange(exchange, "fanout")
    stage.quiesce()
    stage.bind(grave, exchange)
    publisher = confirming(stage)
    publisher.publish(queue)
    stage.confirmed(publisher)
    reject(stage, holder, queue)
    wait(stage, ARRIVED)
    look(stage, grave)


def _round(stage: Stage) -> tuple[str, str]:
    """A queue whose dead letters come to it again, and to another queue."""
    beyond = stage.queue()
    exchange = stage.exchange(beyond)
    home = stage.queue({EXCHANGE: exchange})
    stage.bind(home, exchange)
    return home, beyond


def _elsewhere(stage: Stage) -> None:
    if stage.around.admin is None:
        return
    channel = stage.channel(connection=stage.connect("elsewhere", vhost=stage.around.vhost(stage)))
    queue, grave = stage.recorder.private_name(), stage.recorder.private_name()
    channel.confirm()
    channel.declare(grave, arguments=typed(stage))
    channel.declare(queue, arguments=typed(stage, **to(grave)))
    stage.quiesce()
    channel.publish(queue)
    stage.confirmed(channel)
    reject(stage, channel, queue)
    wait(stage, ARRIVED)

    def look_there() -> None:
        for _ in "12":
            stage.get(channel, grave, no_ack=True)

    patiently(stage, look_there)
