"""ROUTE: alternate exchanges, which get what finds no way."""

from __future__ import annotations

from codec import methods as m
from codec import values
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import confirming
from conformance.drive.scenes.topology.test_route import CLASSIC, publish
from conformance.drive.stage import Stage

IN_A_ROW = 8
"""Exchanges, each the alternate of the next."""


@rule("ROUTE-012", queue_types=CLASSIC)
def test_what_finds_no_way_goes_to_the_alternate(stage: Stage) -> None:
    """By the alternate exchange's own type and bindings; and an alternate of that one gets what that cannot route. One
    more alternate is declared after it was named, and once more after it was deleted. Two are each other's. One is that
    of an exchange to which another one leads, and one is internal. And of many in a row only the last knows a way."""
    last, later = stage.exchange(), stage.recorder.private_name()
    early = stage.exchange(kind="direct", arguments={"alternate-exchange": later})
    stage.belongings.exchanges[later] = None
    stage.backstage().declare_exchange(later, "fanout")
    stage.quiesce()
    stage.bind(stage.queue(), later)
    alternate = stage.exchange(kind="direct", arguments={"alternate-exchange": last})
    exchange = stage.exchange(kind="direct", arguments={"alternate-exchange": alternate})
    for name, key in ((exchange, "a"), (alternate, "b"), (last, "")):
        stage.bind(stage.queue(), name, key)
    channel = confirming(stage)
    publish(channel, exchange, "b", "c", "a")
    publish(channel, early, "a")
    stage.quiesce()
    stage.backstage().delete_exchange(later)
    stage.quiesce()
    publish(channel, early, "a")
    stage.quiesce()
    stage.backstage().declare_exchange(later, "fanout")
    stage.quiesce()
    stage.bind(stage.queue(), later)
    publish(channel, early, "a")
    stage.quiesce()
    if stage.offers("exchange.bind"):
        entrance = stage.exchange()
        stage.bind_exchange(exchange, entrance)
        publish(channel, entrance, "b", "c", "a")
        stage.quiesce()
    other = stage.recorder.private_name()
    one = stage.exchange(stage.queue(), kind="direct", key="a", arguments={"alternate-exchange": other})
    stage.belongings.exchanges[other] = None
    stage.backstage().declare_exchange(other, "direct", arguments={"alternate-exchange": one})
    stage.quiesce()
    publish(channel, other, "a", "b")
    stage.quiesce()
    inner = stage.recorder.private_name()
    stage.belongings.exchanges[inner] = None
    stage.backstage().declare_exchange(inner, "fanout", internal=True)
    stage.quiesce()
    stage.bind(stage.queue(), inner)
    publish(channel, stage.exchange(kind="direct", arguments={"alternate-exchange": inner}), "a")
    stage.quiesce()
    _of_each_type(stage, channel)
    last = stage.exchange(stage.queue())
    for _ in range(IN_A_ROW):
        last = stage.exchange(kind="direct", arguments={"alternate-exchange": last})
    publish(channel, last, "a")
    stage.quiesce()


def _of_each_type(stage: Stage, channel: Channel) -> None:
    """Exchanges that have bindings, to a queue and to an exchange, none of which fits, and an alternate."""
    fits = {"x-match": "all", "ink": "red"}
    for kind in ("direct", "topic", "headers"):
        if kind == "direct" or stage.offers(f"{kind} exchange"):
            arguments = {"alternate-exchange": stage.exchange(stage.queue())}
            exchange = stage.exchange(kind=kind, arguments=arguments)
            stage.bind(stage.queue(), exchange, "b", fits if kind == "headers" else {})
            if stage.offers("exchange.bind"):
                channel.bind_exchange(stage.exchange(), exchange, "b", fits if kind == "headers" else {})
                stage.quiesce()
            channel.publish("a", exchange=exchange, properties={"headers": values.table({"ink": "blue"})})
            stage.quiesce()


@rule("ROUTE-013", queue_types=CLASSIC)
def test_the_alternate_gets_nothing_that_was_routed(stage: Stage) -> None:
    """A topic exchange whose binding matches most."""
    alternate = stage.exchange()
    exchange = stage.exchange(kind="topic", arguments={"alternate-exchange": alternate})
    stage.bind(stage.queue(), exchange, "a.#")
    stage.bind(stage.queue(), alternate, "a")
    channel = confirming(stage)
    publish(channel, exchange, "a", "a.b", "b", "a.b.c")
    stage.quiesce()


def _without_the_alternate_of_its_namesake(stage: Stage) -> None:
    """It had one, was deleted, and is declared anew with none. It is looked for as one that has it, and declared as one
    that has it, which is refused."""
    channel, queue = confirming(stage), stage.queue()
    about = {"alternate-exchange": stage.exchange(queue)}
    exchange, table = stage.exchange(kind="direct", arguments=about), values.table(about)
    publish(channel, exchange, "a")
    stage.quiesce()
    stage.backstage().delete_exchange(exchange)
    stage.backstage().declare_exchange(exchange, "direct")
    stage.quiesce()
    other = stage.channel()
    for passive in (True, False):
        asked = m.ExchangeDeclare(other.number, exchange=exchange, type="direct", passive=passive, arguments=table)
        other.send(asked)
        stage.quiesce()
        publish(channel, exchange, "c")
        stage.quiesce()
    publish(channel, exchange, "a", "b")
    stage.quiesce()
    for _ in range(4):
        stage.get(stage.channel(), queue, no_ack=True)


@rule("ROUTE-015", queue_types=CLASSIC)
def test_exchanges_share_nothing(stage: Stage) -> None:
    """Two exchanges of each type with a queue each; keys that are the names of queues, and the other's keys. Then two
    of each type with the same keys, the empty one among them. And one whose namesake had an alternate."""
    queues = [stage.queue() for _ in range(4)]
    topics, directs = [stage.exchange(kind="topic") for _ in "12"], [stage.exchange(kind="direct") for _ in "12"]
    for queue, exchange, key in zip(queues, topics + directs, ("#", "a", "a", "b"), strict=True):
        stage.bind(queue, exchange, key)
    channel = confirming(stage)
    for exchange in (topics[1], *directs):
        publish(channel, exchange, "a", "b", "", *queues)
    stage.quiesce()
    for kind in ("topic", "direct"):
        alike = [stage.exchange(kind=kind) for _ in "12"]
        for exchange in alike:
            queue = stage.queue()
            for key in ("", "a.b"):
                stage.bind(queue, exchange, key)
        publish(channel, alike[0], "", "a.b", "")
        publish(channel, alike[1], "a.b")
        stage.quiesce()
    if stage.offers("alternate-exchange"):
        _without_the_alternate_of_its_namesake(stage)
