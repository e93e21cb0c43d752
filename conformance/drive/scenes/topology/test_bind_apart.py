"""BIND: empty names, keys of full length and many hashes, forms of x-match, and which bindings stay where others go."""

from __future__ import annotations

import pytest

from codec import values
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import BAD_TAG, confirming, reopen
from conformance.drive.scenes.topology.test_exch import CLASSIC, declared
from conformance.drive.scenes.topology.test_queue import elsewhere, leave
from conformance.drive.scenes.topology.test_queue_names import SHORT_STRING
from conformance.drive.scenes.topology.test_route import MANY, Headers
from conformance.drive.stage import Stage


def unbind(stage: Stage, queue: str, exchange: str) -> None:
    """On a new channel."""
    stage.channel().unbind(queue, exchange, "key")
    stage.quiesce()


@rule("BIND-010", queue_types=CLASSIC)
def test_unbinding_the_last_queue(stage: Stage) -> None:
    """Where the channel has declared one and none; then a message is published to the exchange."""
    queue, exchange, publisher = stage.queue(), declared(stage), confirming(stage)
    for key in ("red", "blue"):
        stage.bind(queue, exchange, key)
    channel = stage.channel()
    channel.declare(queue, passive=True)
    channel.unbind("", exchange, "red")
    stage.quiesce()
    for key in ("red", "blue"):
        publisher.publish(key, exchange=exchange)
    stage.quiesce()
    stage.channel().unbind("", exchange, "blue")
    stage.quiesce()


@rule("BIND-016", queue_types=CLASSIC)
def test_long_keys(stage: Stage) -> None:
    """As many octets as there can be, of letters that are one octet and of such that are two; a message for each, by
    way of another exchange where those can be bound."""
    queue, exchange, channel = stage.queue(), declared(stage), confirming(stage)
    source = declared(stage) if stage.offers("exchange.bind") else ""
    for key in ("k" * SHORT_STRING, "ü" * (SHORT_STRING // 2)):
        channel.bind(queue, exchange, key)
        if source:
            channel.bind_exchange(exchange, source, key)
        stage.quiesce()
        channel.publish(key, exchange=source or exchange)
        stage.quiesce()


@rule("BIND-017", queue_types=CLASSIC)
def test_several_hashes(stage: Stage) -> None:
    """Two, and three, which some do not like; of a queue and, where those can be bound, of an exchange."""
    stage.require("topic exchange")
    queue, exchange = stage.queue(), declared(stage, "topic")
    source = declared(stage, "topic") if stage.offers("exchange.bind") else ""
    for key in ("#.a.#", "#.a.#.b.#"):
        stage.channel().bind(queue, exchange, key)
        stage.quiesce()
        if source:
            stage.channel().bind_exchange(exchange, source, key)
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


@rule("BIND-012", queue_types=CLASSIC)
@pytest.mark.parametrize("kind", ["headers", "direct", "topic", "fanout"])
def test_bindings_that_differ_in_arguments(stage: Stage, kind: str) -> None:
    """Two of one key, where the first is removed; the same again, where the second is. Where arguments say nothing of
    the way, the other one is removed as well. Once two differ in the type of a value alone, and once in the last of
    many arguments."""
    if kind != "direct":
        stage.require(f"{kind} exchange")
    matches = {"x-match": "all"} if kind == "headers" else {}
    for gone, left in (("ink", "paper"), ("paper", "ink")):
        queue, exchange, channel = stage.queue(), declared(stage, kind), confirming(stage)
        for name in ("ink", "paper"):
            stage.bind(queue, exchange, "key", {**matches, name: "red"})
        for removed in (gone,) if matches else (gone, left):
            stage.unbind(queue, exchange, "key", {**matches, removed: "red"})
            for name in (gone, left):
                channel.publish("key", exchange=exchange, properties={"headers": values.table({name: "red"})})
                stage.quiesce()
    if matches:
        many = {f"h{number}": number for number in range(MANY)}
        for one, other in (({"ink": 1}, {"ink": "1"}), ({**many, "ink": "red"}, {**many, "ink": "blue"})):
            _almost_alike(stage, {**matches, **one}, {**matches, **other})


def _almost_alike(stage: Stage, one: Headers, other: Headers) -> None:
    """A queue has both bindings. One is removed, then the other, its arguments named in another order; two messages
    that fit one each come after each."""
    queue, exchange, channel = stage.queue(), declared(stage, "headers"), confirming(stage)
    for arguments in (one, other):
        stage.bind(queue, exchange, "key", arguments)
    for gone in (None, one, other):
        if gone is not None:
            stage.unbind(queue, exchange, "key", {name: gone[name] for name in reversed(list(gone))})
        for headers in (one, other):
            channel.publish("key", exchange=exchange, properties={"headers": values.table(headers)})
            stage.quiesce()


@rule("BIND-013", queue_types=CLASSIC)
def test_exchanges_that_are_unbound(stage: Stage) -> None:
    """One of two bindings between exchanges is removed, then the other with nowait; a message for each after each. A
    binding the other way stays. And two that differ in their arguments alone."""
    stage.require("exchange.bind")
    source, queue, channel = declared(stage), stage.queue(), confirming(stage)
    onward = stage.exchange(queue)
    for key in ("red", "blue"):
        stage.bind_exchange(onward, source, key)
    for gone in ("red", "blue"):
        channel.unbind_exchange(onward, source, gone, no_wait=gone == "blue")
        stage.quiesce()
        for key in ("red", "blue"):
            channel.publish(key, exchange=source)
            stage.quiesce()
    stage.bind(stage.queue(), source, "back")
    for ends in ((source, onward), (onward, source)):
        stage.bind_exchange(*ends, "back")
    channel.unbind_exchange(onward, source, "back")
    stage.quiesce()
    for exchange in (onward, source):
        channel.publish("back", exchange=exchange)
        stage.quiesce()
    for kind in ("direct", "headers"):
        if kind == "direct" or stage.offers(f"{kind} exchange"):
            _between_by_arguments(stage, kind, onward, channel)


def _between_by_arguments(stage: Stage, kind: str, onward: str, channel: Channel) -> None:
    """Two bindings of one key lead from an exchange of this type to another. One is removed, then the other."""
    source = declared(stage, kind)
    matches = {"x-match": "all"} if kind == "headers" else {}
    names = ("ink", "paper")
    for name in names:
        channel.bind_exchange(onward, source, "key", {**matches, name: "red"})
        stage.quiesce()
    for gone in names:
        channel.unbind_exchange(onward, source, "key", {**matches, gone: "red"})
        stage.quiesce()
        for name in names:
            channel.publish("key", exchange=source, properties={"headers": values.table({name: "red"})})
            stage.quiesce()


@rule("BIND-014", queue_types=CLASSIC)
def test_bindings_outlive_their_connection(stage: Stage) -> None:
    """It is closed as agreed, and two messages are published. Before, its channel was closed; and another one that has
    made a binding has failed."""
    exchange, queue, channel, publisher = declared(stage), stage.queue(), elsewhere(stage), confirming(stage)
    for end in ("closed", "failed"):
        channel.bind(queue, exchange, end)
        stage.quiesce()
        channel.close() if end == "closed" else channel.ack(BAD_TAG)
        reopen(stage, channel)
        publisher.publish(end, exchange=exchange)
        stage.quiesce()
    channel.bind(queue, exchange, "key")
    stage.quiesce()
    leave(stage, channel.connection)
    for _ in range(2):
        publisher.publish("key", exchange=exchange)
        stage.quiesce()
