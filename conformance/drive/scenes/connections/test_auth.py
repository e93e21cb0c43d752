"""AUTH: users of the scene's own, who try what they may do and what they may not.

Queues and exchanges are made and removed by the user of the run, who may do anything. A user of the scene gets patterns
that fit certain names and no others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from copy import copy
from typing import Any

from codec import Method, values
from codec import methods as m
from conformance.drive.channel import Channel
from conformance.drive.clerks import EVERYTHING, NOTHING, enter, exactly, patterns, user
from conformance.drive.scenes.marks import QueueType, rule
from conformance.drive.scenes.props import large, reopen, stocked
from conformance.drive.scenes.topology.test_queue import typed
from conformance.drive.stage import NotOffered, Stage

CLASSIC: tuple[QueueType, ...] = ("classic",)
DEAD_LETTERS, ALTERNATE = "x-dead-letter-exchange", "alternate-exchange"


def clerk(stage: Stage, may: Mapping[str, str]) -> Channel:
    """A channel of a user who may do this."""
    return enter(stage, user(stage, may))


def attempt(stage: Stage, channel: Channel, *methods: Method) -> None:
    """Each by itself; the channel is opened again where that has closed it. What is refused is asked for once more,
    without an answer."""
    for method in methods:
        channel.send(method)
        stage.quiesce()
        if channel.state != "open":
            reopen(stage, channel)
            if getattr(method, "no_wait", None) is False and stage.offers("nowait"):
                quietly: Any = copy(method)
                quietly.no_wait = True
                attempt(stage, channel, quietly)


def publish(stage: Stage, channel: Channel, exchange: str, *keys: str, **properties: object) -> None:
    """To this exchange, each with a round trip behind it."""
    for key in keys:
        channel.publish(key, exchange=exchange, properties=properties)
        with contextlib.suppress(NotOffered):
            channel.flow()
        stage.quiesce()
        if channel.state != "open":
            reopen(stage, channel)


def deleted(stage: Stage) -> str:
    """The name of a queue that is gone."""
    queue = stage.queue()
    remove(stage, queue)
    return queue


def remove(stage: Stage, queue: str) -> None:
    home = stage.belongings.queues[queue]
    stage.backstage(queue).delete(queue)
    stage.quiesce()
    stage.belongings.queues[queue] = home


def declare(stage: Stage, channel: Channel, queue: str, **arguments: object) -> Method:
    return m.QueueDeclare(
        channel.number, queue=queue, durable=stage.durable, arguments=values.table(typed(stage, **arguments))
    )


def absent_exchange(stage: Stage) -> str:
    """The name of an exchange that is gone."""
    exchange = stage.exchange()
    stage.backstage().delete_exchange(exchange)
    stage.quiesce()
    stage.belongings.exchanges[exchange] = None
    return exchange


def last(channel: Channel, queue: str, *methods: Method) -> tuple[Method, ...]:
    """These methods, for the queue that was declared last: this one."""
    return m.QueueDeclare(channel.number, queue=queue, passive=True), *methods


def exchange_of(channel: Channel, name: str, alternate: str = "") -> Method:
    arguments = values.table({ALTERNATE: alternate} if alternate else {})
    return m.ExchangeDeclare(channel.number, exchange=name, type="fanout", durable=False, arguments=arguments)


@rule("AUTH-001", queue_types=CLASSIC)
def test_declaring_a_queue(stage: Stage) -> None:
    """A queue that is new, and one that is there; the user may write and read both, and configure another."""
    there, new, own = stage.queue(), deleted(stage), stage.queue()
    channel = clerk(stage, {**EVERYTHING, "configure": exactly(own)})
    for queue in (new, there, own):
        attempt(stage, channel, declare(stage, channel, queue))


@rule("AUTH-002", queue_types=CLASSIC)
def test_deleting_a_queue(stage: Stage) -> None:
    """A queue that the user may write and read, after another one that it may delete; by its name, and as the last that
    was declared, with an answer and without."""
    queue, own = stage.queue(), stage.queue()
    channel = clerk(stage, {**EVERYTHING, "configure": exactly(own)})
    attempt(stage, channel, *(m.QueueDelete(channel.number, queue=one) for one in (own, queue)))
    attempt(stage, channel, m.QueueDelete(channel.number, queue=queue, no_wait=True))
    attempt(stage, channel, *last(channel, queue, m.QueueDelete(channel.number)))


@rule("AUTH-003", queue_types=CLASSIC)
def test_dead_letter_exchanges(stage: Stage) -> None:
    """The user may not write the exchange; then it may not read the queue. Whoever may write that one may not write the
    default exchange, nor one that is not there."""
    stage.require(DEAD_LETTERS)
    exchange, blind, free = stage.exchange(), deleted(stage), deleted(stage)
    absent = absent_exchange(stage)
    for may in (
        {**EVERYTHING, "write": exactly(blind, free)},
        {**EVERYTHING, "read": exactly(exchange)},
        patterns([free], [exchange], [free]),
    ):
        channel = clerk(stage, may)
        queue = free if may["configure"] != ".*" else blind
        attempt(
            stage, channel, *(declare(stage, channel, queue, **{DEAD_LETTERS: heir}) for heir in ("", absent, exchange))
        )


@rule("AUTH-004", queue_types=CLASSIC)
def test_declaring_an_exchange(stage: Stage) -> None:
    """An exchange that is new, and one that is there."""
    there, new = stage.exchange(), absent_exchange(stage)
    channel = clerk(stage, {**EVERYTHING, "configure": NOTHING})
    for exchange in (new, there):
        attempt(stage, channel, exchange_of(channel, exchange))


@rule("AUTH-005", queue_types=CLASSIC)
def test_deleting_an_exchange(stage: Stage) -> None:
    """An exchange that the user may write and read, after another one that it may delete; if it is unused, and in any
    case."""
    exchange, own = stage.exchange(), stage.exchange()
    channel = clerk(stage, {**EVERYTHING, "configure": exactly(own)})
    for one, unused in ((own, False), (exchange, True), (exchange, False)):
        attempt(stage, channel, m.ExchangeDelete(channel.number, exchange=one, if_unused=unused))


@rule("AUTH-006", queue_types=CLASSIC)
def test_alternate_exchanges(stage: Stage) -> None:
    """The user may not write the alternate one; then it may not read the new one; then all is well."""
    stage.require(ALTERNATE)
    heir, new = stage.exchange(), absent_exchange(stage)
    for may in (
        patterns([new], [new], [new, heir]),
        patterns([new], [new, heir], [heir]),
        patterns([new], [heir], [new]),
    ):
        channel = clerk(stage, may)
        attempt(stage, channel, exchange_of(channel, new, heir))


@rule("AUTH-007", queue_types=CLASSIC)
def test_binding_a_queue(stage: Stage) -> None:
    """The user may do all but write the queue, all but read the exchange, and just what it takes."""
    _bindings(stage, m.QueueBind)


@rule("AUTH-008", queue_types=CLASSIC)
def test_unbinding_a_queue(stage: Stage) -> None:
    """Likewise, of a binding that is there."""
    _bindings(stage, m.QueueUnbind)


def _bindings(stage: Stage, method: type[m.QueueBind] | type[m.QueueUnbind]) -> None:
    queue = stage.queue()
    exchange = stage.exchange(queue, key="k")
    for may in (
        {**EVERYTHING, "write": exactly(exchange)},
        {**EVERYTHING, "read": exactly(queue)},
        patterns((), [queue], [exchange]),
    ):
        channel = clerk(stage, may)
        attempt(stage, channel, method(channel.number, queue=queue, exchange=exchange, routing_key="k"))
        attempt(stage, channel, *last(channel, queue, method(channel.number, exchange=exchange, routing_key="k")))


@rule("AUTH-009", queue_types=CLASSIC)
def test_binding_exchanges(stage: Stage) -> None:
    """The user may do all but write the destination, all but read the source, and just what it takes."""
    stage.require("exchange.bind")
    destination, source = stage.exchange(), stage.exchange()
    for may in (
        {**EVERYTHING, "write": exactly(source)},
        {**EVERYTHING, "read": exactly(destination)},
        patterns((), [destination], [source]),
    ):
        channel = clerk(stage, may)
        for method in (m.ExchangeBind, m.ExchangeUnbind):
            attempt(stage, channel, method(channel.number, destination=destination, source=source, routing_key="k"))


@rule("AUTH-010", queue_types=CLASSIC)
def test_publishing(stage: Stage) -> None:
    """The user may write the queue behind the exchange, but not the exchange, and has a large body as well; another may
    write the exchange alone, and tries others after it."""
    queue = stage.queue()
    exchange, other = stage.exchange(queue), stage.exchange(queue)
    channel = clerk(stage, {**EVERYTHING, "write": exactly(queue)})
    publish(stage, channel, exchange, "k", "k")
    channel.publish("k", exchange=exchange, body=large(channel))
    reopen(stage, channel)
    channel = clerk(stage, patterns((), [exchange]))
    for one in (exchange, other, exchange, "", exchange):
        publish(stage, channel, one, queue)


@rule("AUTH-011")
def test_getting(stage: Stage) -> None:
    """From a queue with messages that the user may configure and write, after another one that it may read."""
    queue, own = stocked(stage, 2), stocked(stage, 1)
    channel = clerk(stage, {**EVERYTHING, "read": exactly(own)})
    for one, no_ack in ((queue, False), (own, True), (queue, True)):
        attempt(stage, channel, m.BasicGet(channel.number, queue=one, no_ack=no_ack))
    attempt(stage, channel, *last(channel, queue, m.BasicGet(channel.number, no_ack=True)))
    stage.fetch(stage.channel(), queue, 2)


@rule("AUTH-012")
def test_consuming(stage: Stage) -> None:
    """From a queue with messages that the user may configure and write, after another one that it may read; with an
    answer and without."""
    queue, own = stocked(stage, 2), stage.queue()
    channel = clerk(stage, {**EVERYTHING, "read": exactly(own)})
    for one in (own, queue):
        attempt(stage, channel, m.BasicConsume(channel.number, queue=one, consumer_tag=f"of {one}"))
    attempt(stage, channel, m.BasicConsume(channel.number, queue=queue, consumer_tag="quiet", no_wait=True))
    attempt(stage, channel, *last(channel, queue, m.BasicConsume(channel.number, consumer_tag="of the last")))
    stage.fetch(stage.channel(), queue, 2)


@rule("AUTH-013")
def test_purging(stage: Stage) -> None:
    """A queue with messages that the user may configure and write, after another one that it may read."""
    queue, own = stocked(stage, 2), stocked(stage, 1)
    channel = clerk(stage, {**EVERYTHING, "read": exactly(own)})
    attempt(stage, channel, *(m.QueuePurge(channel.number, queue=one) for one in (own, queue)))
    attempt(stage, channel, m.QueuePurge(channel.number, queue=queue, no_wait=True))
    attempt(stage, channel, *last(channel, queue, m.QueuePurge(channel.number)))
    stage.fetch(stage.channel(), queue, 2)


@rule("AUTH-014", queue_types=CLASSIC)
def test_what_may_be_done_is_done(stage: Stage) -> None:
    """One user for each right, who does all that this right alone is enough for."""
    queue, doomed, exchange, gone = stage.queue(), stage.queue(), stage.exchange(), stage.exchange()
    maker, reader = clerk(stage, patterns([queue, doomed, exchange, gone])), clerk(stage, patterns((), (), [queue]))
    attempt(
        stage,
        maker,
        declare(stage, maker, queue),
        m.ExchangeDeclare(maker.number, exchange=exchange, type="fanout", durable=True),
        m.QueueDelete(maker.number, queue=doomed),
        m.ExchangeDelete(maker.number, exchange=gone),
    )
    attempt(
        stage,
        reader,
        m.BasicGet(reader.number, queue=queue),
        m.QueuePurge(reader.number, queue=queue),
        m.BasicConsume(reader.number, queue=queue, consumer_tag="c"),
    )
    publish(stage, clerk(stage, patterns((), [exchange])), exchange, "k")


@rule("AUTH-015", queue_types=CLASSIC)
def test_empty_patterns(stage: Stage) -> None:
    """A user without any right is let in, and tries one method for each."""
    queue, new = stage.queue(), deleted(stage)
    exchange = stage.exchange(queue)
    channel = clerk(stage, {"configure": "", "write": "", "read": ""})
    attempt(stage, channel, declare(stage, channel, new), m.BasicGet(channel.number, queue=queue))
    publish(stage, channel, exchange, "k")


@rule("AUTH-016", queue_types=CLASSIC)
def test_patterns_fit_parts_of_names(stage: Stage) -> None:
    """The beginning of a name, its end, and what lies between. In capitals it is another name."""
    queue = stage.queue()
    for part in ("^" + queue[:-2], queue[2:] + "$", queue[2:-2]):
        channel = clerk(stage, {**EVERYTHING, "configure": part.replace(".", "[.]")})
        attempt(stage, channel, declare(stage, channel, queue))
    new = deleted(stage)
    channel = clerk(stage, {**EVERYTHING, "configure": exactly(new.upper())})
    attempt(stage, channel, declare(stage, channel, new))


@rule("AUTH-017", queue_types=CLASSIC)
def test_rights_to_names_that_the_broker_chooses(stage: Stage) -> None:
    """One user may configure these names, the other may configure others."""
    for pattern in (r"^amq\.gen-", NOTHING):
        channel = clerk(stage, {**EVERYTHING, "configure": pattern})
        attempt(stage, channel, m.QueueDeclare(channel.number, exclusive=True))


@rule("AUTH-018", queue_types=CLASSIC)
def test_the_default_exchange(stage: Stage) -> None:
    """One user may write the queue, the other may write amq.default; outside of transactions, and in one."""
    queue = stage.queue()
    for name in (queue, "amq.default"):
        channel = clerk(stage, {**EVERYTHING, "write": exactly(name)})
        publish(stage, channel, "", queue)
        if stage.offers("tx.select"):
            channel.tx_select()
            stage.quiesce()
            publish(stage, channel, "", queue)


@rule("AUTH-019", queue_types=CLASSIC)
def test_looking_takes_one_right(stage: Stage) -> None:
    """Three users, each with one of the rights, look for a queue and an exchange."""
    queue, exchange = stage.queue(), stage.exchange()
    for right in EVERYTHING:
        _look(stage, patterns(**{right: [queue, exchange]}), queue, exchange)


@rule("AUTH-020", queue_types=CLASSIC)
def test_looking_without_a_right(stage: Stage) -> None:
    """The user has rights on other names."""
    queue, exchange = stage.queue(), stage.exchange()
    _look(stage, patterns([DEAD_LETTERS], [DEAD_LETTERS], [DEAD_LETTERS]), queue, exchange)


def _look(stage: Stage, may: Mapping[str, str], queue: str, exchange: str) -> None:
    channel = clerk(stage, may)
    attempt(
        stage,
        channel,
        m.QueueDeclare(channel.number, queue=queue, passive=True),
        m.ExchangeDeclare(channel.number, exchange=exchange, type="fanout", passive=True),
    )


def of_topics(stage: Stage, exchange: str, write: str, read: str) -> Channel:
    """A channel of a user who may use only these routing keys with the exchange."""
    login = user(stage, None)
    stage.around.permit(stage, login[0], EVERYTHING, topics={exchange: {"write": write, "read": read}})
    return enter(stage, login)


@rule("AUTH-021", queue_types=CLASSIC)
def test_routing_keys_of_publishes(stage: Stage) -> None:
    """Keys that may be written, that may only be read, and that may not be used, the empty one among them; two of them
    in a transaction. And keys that are to have the name of the user in them."""
    stage.require("topic exchange", "topic permissions")
    queue = stage.queue()
    exchange = stage.exchange(queue, kind="topic", key="#")
    named = user(stage, None)
    topics = {"write": r"^{username}\.w$", "read": r"^{username}\.r$"}
    stage.around.permit(stage, named[0], EVERYTHING, topics={exchange: topics})
    keys = (f"{named[0]}.w", f"{named[0]}.r", "guest.w", "{username}.w", f"{named[0]}.w")
    publish(stage, enter(stage, named), exchange, *keys)
    channel = of_topics(stage, exchange, r"^w\.", r"^r\.")
    publish(stage, channel, exchange, "w.a", "r.a", "a.w.a", "", "w.b")
    if stage.offers("tx.select"):
        channel.tx_select()
        stage.quiesce()
        publish(stage, channel, exchange, "w.a", "r.a")


@rule("AUTH-031", queue_types=CLASSIC)
def test_keys_in_cc_and_bcc(stage: Stage) -> None:
    """The routing key may be written. Of the others all may, one may not, or none may."""
    stage.require("topic exchange", "topic permissions", "sender-selected distribution")
    queue = stage.queue()
    exchange = stage.exchange(queue, kind="topic", key="#")
    channel = of_topics(stage, exchange, r"^w\.", r"^r\.")
    for name in ("CC", "BCC"):
        for keys in (("w.b", "w.c"), ("r.b",), ("w.b", "a.w.b")):
            publish(stage, channel, exchange, "w.a", headers=[(name, "A", [("S", key.encode()) for key in keys])])


@rule("AUTH-022", queue_types=CLASSIC)
def test_routing_keys_of_bindings(stage: Stage) -> None:
    """Likewise, of a queue and of an exchange."""
    stage.require("topic exchange", "topic permissions")
    queue, exchange, onward = stage.queue(), stage.exchange(kind="topic"), stage.exchange()
    channel = of_topics(stage, exchange, r"^w\.", r"^r\.")
    n = channel.number
    for key in ("r.a", "w.a", "a.r.a"):
        attempt(stage, channel, m.QueueBind(n, queue=queue, exchange=exchange, routing_key=key))
        if stage.offers("exchange.bind"):
            attempt(stage, channel, m.ExchangeBind(n, destination=onward, source=exchange, routing_key=key))


@rule("AUTH-023", queue_types=CLASSIC)
def test_other_exchanges_than_that_of_the_topics(stage: Stage) -> None:
    """Another topic exchange, and one of another type."""
    stage.require("topic exchange", "topic permissions")
    exchange, queue = stage.exchange(kind="topic"), stage.queue()
    channel = of_topics(stage, exchange, r"^w\.", r"^r\.")
    for kind in ("topic", "direct"):
        other = stage.exchange(queue, kind=kind, key="k")
        publish(stage, channel, other, "k")
        attempt(stage, channel, m.QueueBind(channel.number, queue=queue, exchange=other, routing_key="other"))
