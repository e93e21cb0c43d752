"""ROUTE: publishes to exchanges with several queues, and what each queue then holds.

A scene binds, publishes, and waits for the confirms; at its end every queue is drained, so each shows what came to it
and that no more is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from codec import values
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import QueueType, rule
from conformance.drive.scenes.props import confirming
from conformance.drive.scenes.topology.test_queue import elsewhere
from conformance.drive.stage import Stage

CLASSIC: tuple[QueueType, ...] = ("classic",)
Headers = Mapping[str, Any]
HOPS = 4
"""So many exchanges follow one another beside three that differ."""
MANY = 20
"""More queues, words, headers and keys than somebody may have thought of."""
NEARLY = "xtag", "X-tag", "x"
NOON = datetime(2020, 1, 1, 12, tzinfo=UTC)
LONG = "red" * 100
LENGTHS = (31, 63, 127, 254)
TERMS, TURNS = (("direct", "a.b"), ("fanout", ""), ("topic", "a.*")), 4
"""Types of exchanges, each with a key that "a.b" goes by; and how often a binding is made and removed. What comes by an
exchange of headers without arguments the texts leave open: then nothing of the history is certain."""
ALIKE: tuple[Any, ...] = (
    *(Decimal("1.5"), Decimal("15"), NOON, NOON.replace(second=30), True, False),
    *([1, 2], [1, 3], [2, 1], [1], [[1], 2], [[2], 2]),
    *({"a": 1}, {"a": 2}, {"b": 1}, {"a": {"b": 1}}, {"a": {"b": 2}}),
    *(1, 0, 2.5, 2.25, -2.5, 7, -7, 7 + (1 << 32), 7 + (1 << 33)),
    *(f"{LONG}a", f"{LONG}b", "", "red", "Red", "red "),
)
"""Values of headers: those of one type differ in something that is easily passed over, and a number is neither true nor
false."""


def spread(stage: Stage, kind: str, keys: Iterable[str]) -> tuple[Channel, str]:
    """An exchange of this type, and for each key a queue of its own bound with that; a channel in confirm mode."""
    exchange = stage.exchange(kind=kind)
    for key in keys:
        stage.bind(stage.queue(), exchange, key)
    return confirming(stage), exchange


def publish(channel: Channel, exchange: str, *keys: str) -> None:
    """One publish with each key."""
    for key in keys:
        channel.publish(key, exchange=exchange)


def made_again(stage: Stage, channel: Channel, kind: str) -> None:
    """A binding is removed and made again, twice; then it leads on as before."""
    queue = stage.queue()
    exchange = stage.exchange(queue, kind=kind, key="red")
    for _ in "12":
        stage.unbind(queue, exchange, "red")
        stage.bind(queue, exchange, "red")
        publish(channel, exchange, "red")
        stage.quiesce()


@rule("ROUTE-001", queue_types=CLASSIC)
def test_direct_keys_are_compared_octet_by_octet(stage: Stage) -> None:
    """Keys that begin alike, that differ in case, in a space, the empty one, and one with a wildcard in it; two that
    look alike, the accent of one being a letter of its own; and one by which three queues are bound. And keys of all
    lengths that differ in their last octet alone."""
    keys = ["red", "Red", "re", "red.", "red ", "", "*", "ros\u00e9", "rose\u0301", "red", "red"]
    keys += (f"{'k' * length}{end}" for length in LENGTHS for end in "ab")
    channel, exchange = spread(stage, "direct", keys)
    publish(channel, exchange, *keys, "reds", "#")
    stage.quiesce()
    made_again(stage, channel, "direct")


@rule("ROUTE-002", queue_types=CLASSIC)
def test_fanout_disregards_keys(stage: Stage) -> None:
    """Three queues, bound with different keys; publishes with one of these, with another, and with none. Then many
    queues are bound, of which another connection deletes one."""
    channel, exchange = spread(stage, "fanout", ("", "red", "#"))
    stage.queue()
    publish(channel, exchange, "red", "blue", "")
    stage.quiesce()
    for _ in range(MANY):
        stage.bind(queue := stage.queue(), exchange)
    publish(channel, exchange, "red")
    stage.quiesce()
    elsewhere(stage).delete(queue)
    stage.quiesce()
    publish(channel, exchange, "red")
    stage.quiesce()
    made_again(stage, channel, "fanout")


@rule("ROUTE-003", queue_types=CLASSIC)
def test_topic_keys_without_wildcards(stage: Stage) -> None:
    """Words in full: with more words, fewer, in another order, in another case; and many words: each of them counts. A
    dot is no letter. Two queues are bound by one key."""
    long, five = "a." * MANY, ["red", "hot", "iron", "rod", "bent"]
    keys = ("red", "red.hot", "Red.hot", "hot.red", "red.hot.iron", ".".join(five), f"{long}b", "red.hot")
    channel, exchange = spread(stage, "topic", keys)
    publish(channel, exchange, *(".".join((*five[:at], "x", *five[at + 1 :])) for at in range(5)), ".".join(five))
    publish(channel, exchange, f"{long}b", f"{long}c", f"{long}b.b")
    publish(channel, exchange, "red", "red.hot", "Red.hot", "re", "red.hot.iron", "hot", "iron.hot.red", "redhot")
    publish(channel, exchange, "red-hot", "redxhot", "r.d")
    stage.quiesce()
    made_again(stage, channel, "topic")


@rule("ROUTE-004", queue_types=CLASSIC)
def test_a_star_is_one_word(stage: Stage) -> None:
    """At the beginning, in the middle, at the end, twice; and as a part of a word. A word may be of any letters, and
    long, and be one that stands for others elsewhere."""
    channel, exchange = spread(stage, "topic", ("*", "*.b", "a.*.c", "a.*", "*.*", "a*", "a.*"))
    publish(channel, exchange, "a", "a.b", "a.b.c", "a.c", "a.b.b.c", "", "x.b", "a*", "ab", "*")
    publish(channel, exchange, "ä", "日本.b", "a.é \U0001d11e.c", "a.#", "1.-_/", "a." + "w" * 253)
    publish(channel, exchange, "a.B", "A.b", "A.b.c", "a.b.C", "a .b", "a. b", "a.b ", "a.bb", "aa.b", "axb")
    stage.quiesce()


@rule("ROUTE-005", queue_types=CLASSIC)
def test_a_hash_is_any_number_of_words(stage: Stage) -> None:
    """At the beginning, in the middle, at the end, alone, twice, beside a star; and as a part of a word. And before
    words that come several times, of which the last ones are meant."""
    channel, exchange = spread(stage, "topic", ("#", "a.#", "#.c", "a.#.c", "#.b.#", "*.#", "#.#", "a.#.b.#.c", "a#"))
    publish(channel, exchange, "a", "a.c", "a.b.c", "a.x.b.y.c", "b", "c", "", "a.b", "b.c.d", "a#", "x.y.z", "c.a")
    stage.quiesce()
    channel, exchange = spread(stage, "topic", ("#.a.b", "a.#.b.c", "#.a.*.b", "*.#.b"))
    publish(channel, exchange, "a.b", "a.a.b", "a.c.a.b", "a.b.a.b", "a.b.b.c", "a.b.c.b.c", "a.a.c.b", "b.b", "a.b.a")
    stage.quiesce()


def sort(stage: Stage, bindings: Iterable[Headers], messages: Iterable[Headers]) -> None:
    """A queue for each binding of a headers exchange, and a publish with each of these headers."""
    exchange = stage.exchange(kind="headers")
    for arguments in bindings:
        stage.bind(stage.queue(), exchange, "", arguments)
    channel = confirming(stage)
    for headers in messages:
        channel.publish("", exchange=exchange, properties={"headers": values.table(headers)})
    stage.quiesce()


@rule("ROUTE-006", queue_types=CLASSIC)
def test_all_headers_of_a_binding(stage: Stage) -> None:
    """One missing, one with another value, one of another type, more than enough; and one that only has to be there.
    Of many the last one is another. And values of other types, and names, which look alike, or begin almost with x-."""
    many = {f"h{number}": "red" for number in range(MANY)}
    sort(
        stage,
        [{"x-match": "all", "ink": "red", "size": 3}, {"ink": "red"}, {"x-match": "all", "ink": None, "size": 3}, many],
        [
            many,
            {**many, f"h{MANY - 1}": "blue"},
            {"ink": "red", "size": 3},
            {"ink": "red", "size": 3, "more": True},
            {"ink": "red"},
            {"size": 3},
            {"ink": "blue", "size": 3},
            {"ink": "red", "size": "3"},
            {"other": "red"},
        ],
    )
    alike = [{"value": one} for one in ALIKE]
    sort(stage, alike, alike)
    named = [{name: 1} for name in ("ink", "Ink", "ink ", "inks", "in", "ros\u00e9", "rose\u0301", "", *NEARLY)]
    sort(stage, named, named)


@rule("ROUTE-007", queue_types=CLASSIC)
def test_any_header_of_a_binding(stage: Stage) -> None:
    """Both, one, the other, one with another value, none; and one that only has to be there. Who names no header gets
    nothing."""
    sort(
        stage,
        [{"x-match": "any", "ink": "red", "size": 3}, {"x-match": "any", "more": None, "size": 4}, {"x-match": "any"}],
        [
            {"ink": "red", "size": 3},
            {"ink": "red"},
            {"size": 3, "ink": "blue"},
            {"ink": "blue"},
            {"size": "3"},
            {"more": 3},
            {},
        ],
    )


@rule("ROUTE-008", queue_types=CLASSIC)
def test_headers_that_begin_with_x(stage: Stage) -> None:
    """Bindings with one of these and another, and one with it alone: as if it were not there."""
    sort(
        stage,
        [
            {"x-match": "all", "ink": "red", "x-tag": "a"},
            {"x-match": "any", "ink": "red", "x-tag": "a"},
            {"x-match": "any", "x-tag": "a"},
        ],
        [{"ink": "red"}, {"x-tag": "a"}, {"ink": "red", "x-tag": "a"}, {"ink": "red", "x-tag": "b"}],
    )


@rule("ROUTE-009", queue_types=CLASSIC)
def test_one_copy_for_each_queue(stage: Stage) -> None:
    """Two bindings that match, of a topic and of a fanout exchange, and two ways over other exchanges."""
    queue, topic, fanout = stage.queue(), stage.exchange(kind="topic"), stage.exchange()
    for key in ("a.*", "#", "a.b"):
        stage.bind(queue, topic, key)
    for key in ("one", "two"):
        stage.bind(queue, fanout, key)
    channel = confirming(stage)
    publish(channel, topic, "a.b", "a.c", "c")
    publish(channel, fanout, "one")
    stage.quiesce()
    consumer = stage.channel()
    stage.fetch(consumer, queue, 4)


@rule("ROUTE-010", queue_types=CLASSIC)
def test_a_message_goes_on_by_the_next_exchange(stage: Stage) -> None:
    """From a fanout exchange to a topic one, and on to a direct one, whose keys are compared with the publish's; and on
    along a chain of more exchanges. A queue that is called like an exchange is bound beside it, and then deleted. An
    exchange of headers leads on to another by what it compares. Far from where publishes come in, one binding is made,
    and one is removed. One of each type leads to several others."""
    first, second, third = stage.exchange(), stage.exchange(kind="topic"), stage.exchange(kind="direct")
    near, far, other = stage.queue(), stage.queue(), stage.queue()
    stage.bind(near, second, "a.*")
    stage.bind(far, third, "a.b")
    stage.bind(other, third, "far")
    stage.bind_exchange(second, first, "near")
    stage.bind_exchange(third, second, "a.#")
    last = third
    for _ in range(HOPS):
        link = stage.exchange()
        stage.bind_exchange(link, last, "a.b")
        last = link
    stage.bind(stage.queue(), last)
    channel = confirming(stage)
    publish(channel, first, "a.b", "a.c", "b", "far", "near")
    stage.quiesce()
    namesake = stage.queue(name=second)
    for key in ("near", "a.b"):
        stage.bind(namesake, first, key)
    publish(channel, first, "a.b")
    stage.quiesce()
    stage.backstage(namesake).delete(namesake)
    stage.quiesce()
    publish(channel, first, "a.b")
    stage.quiesce()
    late = stage.queue()
    stage.bind(late, last)
    publish(channel, first, "a.b")
    stage.quiesce()
    stage.unbind(late, last)
    stage.unbind(far, third, "a.b")
    publish(channel, first, "a.b", "a.b")
    stage.quiesce()
    if stage.offers("headers exchange"):
        _onward_by_headers(stage, channel)
    for kind in ("fanout", "direct", "topic"):
        branching = stage.exchange(stage.queue(), kind=kind, key="a")
        for _ in range(HOPS):
            stage.bind_exchange(stage.exchange(stage.queue()), branching, "a")
        publish(channel, branching, "a")
        stage.quiesce()


def _onward_by_headers(stage: Stage, channel: Channel) -> None:
    onward = stage.exchange(stage.queue())
    exchange = stage.exchange(kind="headers")
    channel.bind_exchange(onward, exchange, "", {"x-match": "all", "ink": "red", "size": 3})
    channel.bind_exchange(onward, exchange, "", {"x-match": "any", "ink": "green", "size": 4})
    stage.quiesce()
    for ink, size in (("red", 3), ("red", 2), ("green", 3), ("blue", 4), ("blue", 3), ("green", 4)):
        channel.publish("", exchange=exchange, properties={"headers": values.table({"ink": ink, "size": size})})
    stage.confirmed(channel)


@rule("ROUTE-011", queue_types=CLASSIC)
def test_circles_of_exchanges(stage: Stage) -> None:
    """An exchange bound to itself, and two bound to each other, with a queue at each."""
    first, second = stage.exchange(), stage.exchange()
    near, far = stage.queue(), stage.queue()
    stage.bind(near, first)
    stage.bind(far, second)
    for destination, source in ((first, first), (second, first), (first, second)):
        stage.bind_exchange(destination, source)
    channel = confirming(stage)
    publish(channel, first, "a", "b")
    publish(channel, second, "c")
    stage.quiesce()


@rule("ROUTE-014", queue_types=CLASSIC)
def test_a_binding_that_was_removed(stage: Stage) -> None:
    """One of two bindings of a queue, which was made twice, and that of another queue with the same key stays. So do
    those of a topic exchange whose keys begin like it. Once a message comes in one write with that. And one is made and
    removed again and again, of an exchange of each type that has keys."""
    queue, other = stage.queue(), stage.queue()
    exchange = stage.exchange(kind="direct")
    for key in ("a", "b", "a"):
        stage.bind(queue, exchange, key)
    stage.bind(other, exchange, "a")
    channel = confirming(stage)
    publish(channel, exchange, "a", "b")
    stage.quiesce()
    stage.unbind(queue, exchange, "a")
    publish(channel, exchange, "a", "b", "a")
    stage.quiesce()
    near, topics = stage.queue(), stage.exchange(kind="topic")
    keys = ("a", "a.b", "a.b.#", "a.b.*", "a.b.c")
    for key in keys:
        stage.bind(near, topics, key)
        stage.bind(other, topics, key)
    for key in ("a.b", "a.b.*", "a"):
        stage.unbind(near, topics, key)
        publish(channel, topics, "a", "a.b", "a.b.c", "a.b.d")
        stage.quiesce()
    stage.unbind(near, topics, "a.b.#")
    publish(channel, topics, "a.b", "a.b.c", "a.b.d")
    stage.quiesce()
    with stage.batch():
        channel.unbind(near, topics, "a.b.c")
        publish(channel, topics, "a.b.c", "a.b")
    stage.quiesce()
    for kind, key in TERMS:
        if kind in ("direct", "fanout") or stage.offers(f"{kind} exchange"):
            _bound_by_turns(stage, channel, stage.exchange(kind=kind), key)


def _bound_by_turns(stage: Stage, channel: Channel, exchange: str, key: str) -> None:
    """A queue; and, where that is to be had, an exchange. What is not bound is unbound meanwhile; and in turn the
    binding is removed by the connection that has made it, and by another one."""
    queue, beyond, hands = stage.queue(), stage.queue(), (stage.channel(), elsewhere(stage))
    onward = stage.exchange(beyond) if stage.offers("exchange.bind") else ""
    for turn in range(TURNS):
        stage.bind(queue, exchange, key)
        if onward:
            stage.bind_exchange(onward, exchange, key)
        stage.unbind(queue, exchange, "another.key")
        publish(channel, exchange, "a.b")
        stage.quiesce()
        hands[turn % 2].unbind(queue, exchange, key)
        stage.quiesce()
        if onward:
            channel.unbind_exchange(onward, exchange, key)
        stage.quiesce()
        publish(channel, exchange, "a.b")
        stage.quiesce()


@rule("ROUTE-016", queue_types=CLASSIC)
def test_empty_words(stage: Stage) -> None:
    """At the beginning, in the middle, at the end; the empty key; and wildcards beside them. They come to the exchange
    itself, and by way of another."""
    channel, exchange = spread(stage, "topic", ("a", "a.", "a..b", ".a", "", "*", "*.b", "a.*", "#.b"))
    keys = ("a", "a.", "a..b", ".a", "", ".b", "a.b", "..b")
    publish(channel, exchange, *keys)
    stage.quiesce()
    if stage.offers("exchange.bind"):
        first = stage.exchange()
        stage.bind_exchange(exchange, first)
        publish(channel, first, *keys)
        stage.quiesce()


@rule("ROUTE-017", queue_types=CLASSIC)
def test_forms_that_count_headers_with_x(stage: Stage) -> None:
    """Bindings with one of these and another: both are compared."""
    sort(
        stage,
        [
            {"x-match": "all-with-x", "ink": "red", "x-tag": "a"},
            {"x-match": "any-with-x", "ink": "red", "x-tag": "a"},
        ],
        [{"ink": "red"}, {"x-tag": "a"}, {"ink": "red", "x-tag": "a"}, {"ink": "red", "x-tag": "b"}],
    )
