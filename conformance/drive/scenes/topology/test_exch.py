"""EXCH: exchanges declared, declared again, looked for and deleted, lawfully and not."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from codec import methods as m
from conformance.catalogue.rules.features import RESERVED
from conformance.drive.around import wait
from conformance.drive.channel import Channel
from conformance.drive.scenes.endings import ENDS, ended
from conformance.drive.scenes.marks import QueueType, rule
from conformance.drive.scenes.props import reopen
from conformance.drive.scenes.topology.test_queue import GONE, owned
from conformance.drive.stage import NotOffered, Stage

CLASSIC: tuple[QueueType, ...] = ("classic",)
ALTERNATE = "alternate-exchange"
TYPES = "direct", "fanout", "topic", "headers"


def declared(
    stage: Stage, kind: str = "direct", arguments: Mapping[str, Any] | None = None, name: str = "", **flags: bool
) -> str:
    """A fresh exchange with these arguments and flags."""
    name, hand = name or stage.recorder.private_name(), stage.backstage()
    stage.belongings.exchanges[name] = None
    hand.declare_exchange(name, kind, no_wait=False, arguments=arguments, **flags)
    stage.quiesce()
    return name


def delete(channel: Channel, exchange: str, *, if_unused: bool = False) -> None:
    """By this channel."""
    channel.send(m.ExchangeDelete(channel.number, exchange=exchange, if_unused=if_unused))


@rule("EXCH-001", queue_types=CLASSIC)
def test_missing_exchanges_are_not_found(stage: Stage) -> None:
    """Deleted by another channel, and by the one that asks, with if-unused; each is looked for twice. Others
    are there, of the same names but for their case."""
    for own in (False, True):
        exchange, channel = declared(stage), stage.channel()
        declared(stage, name=exchange.swapcase())
        delete(channel if own else stage.backstage(), exchange, if_unused=own)
        stage.quiesce()
        channel.find_exchange(exchange)
        reopen(stage, channel)
        channel.find_exchange(exchange)
        stage.quiesce()


@rule("EXCH-002", queue_types=CLASSIC)
def test_another_type_or_durability(stage: Stage) -> None:
    """A transient exchange as a durable one and the other way round, a direct one as a fanout; then as it is."""
    for durable, kind, again in ((False, "direct", True), (True, "direct", False), (True, "fanout", True)):
        exchange, channel = declared(stage, durable=durable), stage.channel()
        channel.declare_exchange(exchange, kind, durable=again)
        reopen(stage, channel)
        channel.declare_exchange(exchange, "direct", durable=durable)
        stage.quiesce()


@rule("EXCH-003", queue_types=CLASSIC)
def test_other_flags_of_an_exchange(stage: Stage) -> None:
    """With auto-delete or internal where it was declared without, and the other way round."""
    for first in (False, True):
        exchange, channel = declared(stage, auto_delete=first), stage.channel()
        channel.declare_exchange(exchange, "direct", auto_delete=not first)
        stage.quiesce()
        exchange, channel = declared(stage, internal=first), stage.channel()
        channel.declare_exchange(exchange, "direct", internal=not first)
        stage.quiesce()


@rule("EXCH-004", queue_types=CLASSIC)
def test_another_alternate_exchange(stage: Stage) -> None:
    """With another one, with none, and with one where there was none."""
    stage.require(ALTERNATE)
    one, other = stage.exchange(), stage.exchange()
    for before, after in ((one, other), (one, ""), ("", other)):
        exchange = stage.exchange(kind="direct", arguments={ALTERNATE: before} if before else None)
        stage.channel().declare_exchange(exchange, "direct", arguments={ALTERNATE: after} if after else None)
        stage.quiesce()


@rule("EXCH-005", queue_types=CLASSIC)
def test_the_same_exchange_again(stage: Stage) -> None:
    """On the same channel, on another connection, with each flag; bound meanwhile; and two that are always there. Once
    it is without an answer."""
    channel = stage.channel(connection=stage.connect("other"))
    for flag in ("", "durable", "auto_delete", "internal"):
        flags: dict[str, Any] = {flag: True} if flag else {}
        exchange = declared(stage, "direct", **flags)
        stage.bind(stage.queue(), exchange, "key")
        channel.declare_exchange(exchange, "direct", no_wait=False, arguments=None, **flags)
        stage.quiesce()
    if stage.offers(RESERVED):
        channel.declare_exchange("amq.direct", "direct", durable=True)
        channel.declare_exchange("amq.fanout", "fanout", durable=True)
        stage.quiesce()
    if stage.offers("nowait"):
        channel.declare_exchange(exchange, "direct", no_wait=True, arguments=None, **flags)
        stage.barrier(channel)


@rule("EXCH-006", queue_types=CLASSIC)
def test_exchanges_are_found_by_name(stage: Stage) -> None:
    """Exchanges of several types and flags, looked for as direct ones on another connection. One of them was to be
    deleted, and is in use; one that goes by itself still leads to another, when its last queue is unbound."""
    used = stage.exchange(stage.queue())
    delete(stage.channel(), used, if_unused=True)
    stage.quiesce()
    exchanges = [declared(stage, "fanout", durable=True), declared(stage, auto_delete=True), used]
    if stage.offers("exchange.bind"):
        onward, queue = declared(stage, auto_delete=True), stage.queue()
        stage.bind(queue, onward, "key")
        stage.bind_exchange(used, onward, "key")
        stage.unbind(queue, onward, "key")
        exchanges.append(onward)
    channel = stage.channel(connection=stage.connect("other"))
    for exchange in exchanges:
        channel.find_exchange(exchange)
        stage.quiesce()


@rule("EXCH-007", queue_types=CLASSIC)
def test_two_exchanges_are_always_there(stage: Stage) -> None:
    """Looked for by name and type."""
    for kind in ("direct", "fanout"):
        stage.channel().find_exchange(f"amq.{kind}", kind)
        stage.quiesce()


@rule("EXCH-008", queue_types=CLASSIC)
def test_reserved_names_of_exchanges(stage: Stage) -> None:
    """Two names that nobody has declared: one is looked for before and afterwards, for nothing was made."""
    for kind in ("direct", "fanout"):
        channel, exchange = stage.channel(), "amq." + stage.recorder.private_name()
        stage.belongings.exchanges[exchange] = None
        if kind == "fanout":
            channel.find_exchange(exchange)
            reopen(stage, channel)
        channel.declare_exchange(exchange, kind)
        stage.quiesce()
        if kind == "fanout" and channel.state != "open":
            reopen(stage, channel)
            channel.find_exchange(exchange)
            stage.quiesce()


@rule("EXCH-009", queue_types=CLASSIC)
def test_exchanges_in_use_are_spared(stage: Stage) -> None:
    """One of each type with a queue, and one with an exchange where those can be bound; each is there afterwards."""
    kinds = [kind for kind in TYPES if kind in ("direct", "fanout") or stage.offers(f"{kind} exchange")]
    exchanges = [declared(stage, kind) for kind in kinds]
    for kind, exchange in zip(kinds, exchanges, strict=True):
        stage.bind(stage.queue(), exchange, "key", {"ink": "red"} if kind == "headers" else {})
    if stage.offers("exchange.bind"):
        by_exchange = declared(stage)
        stage.bind_exchange(declared(stage), by_exchange, "key")
        exchanges.append(by_exchange)
    for exchange in exchanges:
        channel = stage.channel()
        delete(channel, exchange, if_unused=True)
        stage.quiesce()
        stage.channel().find_exchange(exchange)
        stage.quiesce()


@rule("EXCH-010", queue_types=CLASSIC)
def test_auto_delete_exchanges_go(stage: Stage) -> None:
    """Two bindings, one of which was made twice, removed one by one; queues that come to their end in each way; a
    binding to an exchange, which is removed, and which goes with that exchange. Some have other flags and arguments
    beside. When the exchanges must have gone, they are looked for; and some are declared anew, and go again. One that
    has had no binding, of which one is removed all the same, is there."""
    exchange, queue, channel = declared(stage, auto_delete=True), stage.queue(), stage.channel()
    for key in ("red", "blue", "red"):
        stage.bind(queue, exchange, key)
    for key in ("red", "blue"):
        stage.unbind(queue, exchange, key)
        if key == "red":
            channel.find_exchange(exchange)
            stage.quiesce()
    exchanges = [exchange, *_with_more(stage), *_lose_their_queues(stage)]
    if stage.offers("exchange.bind"):
        for deleted in (False, True):
            exchanges.append(declared(stage, auto_delete=True))
            other = declared(stage)
            stage.bind_exchange(other, exchanges[-1], "key")
            delete(channel, other) if deleted else channel.unbind_exchange(other, exchanges[-1], "key")
            stage.quiesce()
        led_to, source = declared(stage, auto_delete=True), declared(stage)
        stage.bind_exchange(led_to, source, "key")
        channel.unbind_exchange(led_to, source, "key")
        stage.quiesce()
        exchanges.append(led_to)
    never = declared(stage, auto_delete=True)
    stage.channel().unbind(queue, never, "red")
    stage.quiesce()
    wait(stage, GONE)
    for one in (*exchanges, never):
        stage.channel().find_exchange(one)
        stage.quiesce()
    _go_again(stage, queue, exchanges[:2])


def _go_again(stage: Stage, queue: str, exchanges: Sequence[str]) -> None:
    """Exchanges of these names, which have gone, are there again, and lose their bindings again."""
    for exchange in exchanges:
        declared(stage, name=exchange, auto_delete=True)
        stage.bind(queue, exchange, "red")
        stage.unbind(queue, exchange, "red")
    wait(stage, GONE)
    for exchange in exchanges:
        stage.channel().find_exchange(exchange)
        stage.quiesce()


def _with_more(stage: Stage) -> Iterator[str]:
    """Auto-delete exchanges that are something else as well: of each type, with an alternate, durable, internal."""
    queue, about = stage.queue(), {ALTERNATE: declared(stage)} if stage.offers(ALTERNATE) else {}
    kinds: tuple[tuple[str, dict[str, str], dict[str, Any]], ...] = (
        ("direct", about, {}),
        ("fanout", {}, {"durable": True}),
        ("topic", {}, {"internal": True}),
        ("headers", about, {"durable": True}),
    )
    for kind, arguments, flags in kinds:
        if stage.offers(f"{kind} exchange"):
            exchange = declared(stage, kind, arguments, auto_delete=True, **flags)
            for change in (stage.bind, stage.unbind):
                change(queue, exchange, "key", {"ink": "red"} if kind == "headers" else {})
            yield exchange


def _lose_their_queues(stage: Stage) -> Iterator[str]:
    """Auto-delete exchanges, each of which had one queue, which has come to its end; one with a connection
    that is lost. Beside each is one to which another exchange leads."""
    source = declared(stage)
    for how in ENDS:
        exchanges = [declared(stage, auto_delete=True) for _ in range(1 + stage.offers("exchange.bind"))]
        for led_to in exchanges[1:]:
            stage.bind_exchange(led_to, source, "key")

        def bind(queue: str, exchanges: Sequence[str] = exchanges) -> None:
            for exchange in exchanges:
                stage.backstage(queue).bind(queue, exchange)
                stage.quiesce()

        with contextlib.suppress(NotOffered):
            ended(stage, how, bind)
            yield from exchanges
    exchange = declared(stage, auto_delete=True)
    with contextlib.suppress(NotOffered):
        queue, owner = owned(stage)
        stage.backstage(queue).bind(queue, exchange)
        stage.quiesce()
        owner.connection.abort()
        yield exchange


def put_back(stage: Stage, channel: Channel, exchange: str) -> None:
    """Declares an exchange that everybody uses, if its deletion by this channel has come to pass."""
    stage.quiesce()
    if channel.state == "open":
        channel.declare_exchange(exchange, "direct", durable=True)
        stage.quiesce()


@rule("EXCH-011", queue_types=CLASSIC, last=True)
def test_the_default_exchange_is_nobodys(stage: Stage) -> None:
    """Declared as what it is, looked for, and deleted. A broker may then have none, and take no publish to a queue."""
    channel = stage.channel()
    channel.declare_exchange("", "direct", durable=True)
    reopen(stage, channel)
    channel.find_exchange("")
    reopen(stage, channel)
    delete(channel, "")
    put_back(stage, channel, "")


@rule("EXCH-012", queue_types=CLASSIC, last=True)
def test_predeclared_exchanges_stay(stage: Stage) -> None:
    """With if-unused, so that a broker that does so does not harm others who use it; looked for afterwards, and put
    back, for not every broker looks at if-unused."""
    queue, channel = stage.queue(), stage.channel()
    stage.bind(queue, "amq.direct", queue)
    delete(channel, "amq.direct", if_unused=True)
    stage.quiesce()
    stage.channel().find_exchange("amq.direct")
    put_back(stage, channel, "amq.direct")


@rule("EXCH-013", queue_types=CLASSIC)
def test_internal_exchanges_take_no_publish(stage: Stage) -> None:
    """One with a queue and one without; and in a transaction. And one to which the channel has published before: then
    it was deleted, and declared anew as internal."""
    exchange = declared(stage, "fanout", internal=True)
    for bound in (False, True):
        if bound:
            stage.bind(stage.queue(), exchange)
        channel = stage.channel()
        channel.publish("any", exchange=exchange)
        reopen(stage, channel)
    if stage.offers("tx.select"):
        channel.tx_select()
        stage.quiesce()
        channel.publish("any", exchange=exchange)
        reopen(stage, channel)
    known = declared(stage, "fanout")
    channel.publish("any", exchange=known)
    stage.barrier(channel)
    delete(stage.backstage(), known)
    declared(stage, "fanout", name=known, internal=True)
    channel.publish("any", exchange=known)
    stage.quiesce()


@rule("EXCH-014", queue_types=CLASSIC)
def test_unknown_types(stage: Stage) -> None:
    """Of no standard type; each on a connection of its own. They are looked for before and afterwards, for nothing was
    made."""
    for number, kind in enumerate(("amqpconf", "Direct", "fan-out")):
        channel, exchange = stage.channel(connection=stage.connect(f"other{number}")), stage.recorder.private_name()
        stage.channel().find_exchange(exchange)
        stage.quiesce()
        stage.belongings.exchanges[exchange] = None
        channel.declare_exchange(exchange, kind)
        stage.quiesce()
        stage.channel().find_exchange(exchange)
        stage.quiesce()


@rule("EXCH-015", queue_types=CLASSIC)
def test_deleting_what_is_gone(stage: Stage) -> None:
    """By the channel that had deleted it, and by another one; at last without an answer."""
    exchange, channel = declared(stage), stage.channel()
    for one in (channel, channel, stage.channel()):
        delete(one, exchange)
        stage.quiesce()
    if stage.offers("nowait"):
        channel.send(m.ExchangeDelete(channel.number, exchange=exchange, no_wait=True))
        stage.barrier(channel)


@rule("EXCH-016", queue_types=CLASSIC)
def test_a_topic_exchange_is_there(stage: Stage) -> None:
    """Looked for by name and type."""
    stage.channel().find_exchange("amq.topic", "topic")
    stage.quiesce()


@rule("EXCH-017", queue_types=CLASSIC)
def test_a_headers_exchange_is_there(stage: Stage) -> None:
    """Looked for by name and type."""
    stage.channel().find_exchange("amq.match", "headers")
    stage.quiesce()


@rule("EXCH-018", queue_types=CLASSIC)
def test_bound_exchanges_are_deleted(stage: Stage) -> None:
    """One with a queue, and one with an exchange where those can be bound; then looked for."""
    by_queue = declared(stage)
    stage.bind(stage.queue(), by_queue, "key")
    exchanges = [by_queue]
    if stage.offers("exchange.bind"):
        exchanges.append(declared(stage))
        stage.bind_exchange(by_queue, exchanges[-1], "key")
    for exchange in reversed(exchanges):
        channel = stage.channel()
        delete(channel, exchange)
        stage.quiesce()
        if channel.state == "open":
            channel.find_exchange(exchange)
            stage.quiesce()
