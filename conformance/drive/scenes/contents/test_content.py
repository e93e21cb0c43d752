"""CONTENT: bodies in odd frames, headers of all types, properties of odd values, and dead letters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from math import inf, nan
from random import Random
from typing import Any

import pytest

import codec
from codec import Heartbeat, values
from codec import methods as m
from conformance.drive.around import wait
from conformance.drive.channel import Channel
from conformance.drive.contents import every_type, frames, largest
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import BAD_TAG, confirming, neighbours, reopen
from conformance.drive.stage import Stage

ODD_SIZES = (1, 700, 3, 256, 1, 2)
TRIPS = 2
"""So many round trips later a broker has seen that a client is gone."""
MANY, FRAMES = 8, 300
"""Channels, and frames of one body: more than an octet can count."""


def settle(stage: Stage, channel: Channel) -> None:
    """Waits until all publishes of the channel are taken; without a further method, where they are confirmed."""
    stage.quiesce()
    if not stage.offers("confirm.select"):
        stage.barrier(channel)


def split(channel: Channel, queue: str, body: bytes, sizes: Iterable[int], message: str) -> list[bytes]:
    """A persistent publish to the queue, in frames of these sizes."""
    method = m.BasicPublish(channel.number, exchange=channel.by_name, routing_key=queue)
    return frames(method, channel.fit(body), sizes, {"message_id": message, "delivery_mode": 2})


@rule("CONTENT-001")
def test_bodies_in_frames_of_odd_sizes(stage: Stage) -> None:
    """Small frames before large ones; octet by octet; as large as was agreed; and those of two channels in turn.
    In the middle of one another channel fails, or is closed, and heartbeats come between the frames of others.
    Some bodies fill their frames to the last octet, or nearly, and one of several frames comes to two queues. Those of
    many channels come in turn. Of some bodies one half comes, and their client goes."""
    queue = stage.queue()
    channel, other = confirming(stage), confirming(stage)
    body = Random(1).randbytes(1000)
    channel.send(*split(channel, queue, body, ODD_SIZES, "odd"))
    settle(stage, channel)
    channel.send(*split(channel, queue, body[:FRAMES], (1,) * FRAMES, "octets"))
    settle(stage, channel)
    room = largest(channel)
    channel.send(*split(channel, queue, bytes(room + 4), (3, room), "whole"))
    settle(stage, channel)
    _weave(stage, (channel, other), queue, body, "woven")
    for end in ("failure", "close"):
        pieces, ending = split(channel, queue, body, ODD_SIZES, f"beside a {end}"), stage.channel()
        channel.send(*pieces[:4])
        ending.ack(BAD_TAG) if end == "failure" else ending.close()
        stage.quiesce()
        channel.send(*pieces[4:])
        settle(stage, channel)
    for place in (1, 2, 5):
        pieces = split(channel, queue, body, ODD_SIZES, f"beside a heartbeat {place}")
        channel.send(*pieces[:place], Heartbeat().encode(), *pieces[place:])
        settle(stage, channel)
    for octets in (room - 1, room, room + 1, 2 * room):
        channel.publish(queue, body=bytes(octets))
        settle(stage, channel)
    channel.publish("", exchange=stage.exchange(stage.queue(), stage.queue()), body=Random(2).randbytes(room + 4))
    settle(stage, channel)
    for closes in (False, True):
        leaving = confirming(stage, stage.connect("leaving"))
        leaving.send(*split(leaving, queue, body, ODD_SIZES, f"never whole {closes}")[:5])
        if closes:
            leaving.connection.close(stage.deadline)
        else:
            leaving.connection.abort()
        for _ in range(TRIPS):
            stage.barrier(other)
        channel.publish(queue)
        settle(stage, channel)
    stage.fetch(channel, queue, 16)
    _of_many_channels(stage, channel, queue, body)
    _broken_off(stage, channel, queue, body)


def _of_many_channels(stage: Stage, reader: Channel, queue: str, body: bytes) -> None:
    channels = [confirming(stage) for _ in range(MANY)]
    _weave(stage, channels, queue, body, "one of many")
    stage.fetch(reader, queue, MANY)


def _weave(stage: Stage, channels: Sequence[Channel], queue: str, body: bytes, message: str) -> None:
    """One publish on each channel, frame by frame in turn; in one write, where they are all of one connection."""
    each = [split(one, queue, body, ODD_SIZES, f"{message} {number}") for number, one in enumerate(channels, 1)]
    with stage.batch():
        for turn in zip(*each, strict=True):
            for one, piece in zip(channels, turn, strict=True):
                one.send(piece)
    for one in channels:
        settle(stage, one)


def _broken_off(stage: Stage, reader: Channel, queue: str, body: bytes) -> None:
    """All but the last frames have come, and been read. Before and after it the empty queue says what it holds."""
    for tag in reader.unacked:
        reader.ack(tag)
    stage.barrier(reader)
    for name in ("broken off", ""):
        reader.declare(queue, passive=True)
        stage.quiesce()
        if name:
            link = stage.connect(name)
            channel, other = stage.channels(2, link)
            channel.send(*split(channel, queue, body, ODD_SIZES, name)[:5])
            stage.barrier(other)
            link.abort()
            stage.quiesce()


def every_property(user: str) -> Mapping[str, Any]:
    """All that a content may have, beside its message id and its delivery mode."""
    words = "content_type", "content_encoding", "correlation_id", "reply_to", "type", "app_id", "cluster_id"
    numbers = {"priority": 5, "timestamp": 1_700_000_000, "expiration": "3600000"}
    return {**{word: f"a {word}" for word in words}, **numbers, "user_id": user, "headers": every_type()}


@rule("CONTENT-002")
def test_headers_of_all_types(stage: Stage) -> None:
    """Published with all types, alone and beside all other properties; got, returned to the queue, consumed; and
    returned to the publisher."""
    queue = stage.queue()
    channel = confirming(stage)
    for properties in ({"headers": every_type()}, every_property(stage.target.user)):
        channel.publish(queue, properties=properties)
        channel.publish(f"nowhere {queue}", mandatory=True, properties=properties)
        settle(stage, channel)
    for tag in stage.fetch(channel, queue, 2):
        channel.reject(tag)
    stage.barrier(channel)
    channel.consume(queue)
    stage.quiesce()


@rule("CONTENT-003", queue_types=("classic",))
def test_an_empty_table_and_none(stage: Stage) -> None:
    """With an empty table of headers, and with no property at all; a quorum queue may add headers to both."""
    queue = stage.queue()
    channel = confirming(stage)
    channel.publish(queue, properties={"headers": []})
    channel.send((m.BasicPublish(channel.number, routing_key=queue), b"with no property", {}))
    settle(stage, channel)
    stage.fetch(channel, queue, 2)


def publish_each(stage: Stage, *properties: Mapping[str, Any]) -> None:
    """One publish after the other, each with some of these properties, and each of them got."""
    queue, channel = stage.queue(), confirming(stage)
    for some in properties:
        channel.publish(queue, properties=some)
        settle(stage, channel)
        if channel.state != "open":
            reopen(stage, channel)
    stage.fetch(channel, queue, stage.judge.ready(queue))


@rule("CONTENT-004")
def test_timestamps_of_any_value(stage: Stage) -> None:
    """The beginning of time, milliseconds, and the largest that every client can hold."""
    late = int(datetime(2100, 1, 1, tzinfo=UTC).timestamp())
    publish_each(stage, *({"timestamp": time} for time in (0, late * 1000, 2**63 - 1, 2**64 - 1)))


@rule("CONTENT-005")
def test_priorities_of_any_value(stage: Stage) -> None:
    """Priorities that no text knows."""
    publish_each(stage, *({"priority": number} for number in (10, 128, 255)))


@rule("CONTENT-006")
@pytest.mark.parametrize("whose", ["own", "somebody else's", "nobody's"])
def test_user_ids(stage: Stage, whose: str) -> None:
    """A publish in the own name, and one in that of somebody else; also after one in the own name. And some in names
    that are almost the own one, and in the empty one."""
    user = stage.target.user
    named = {"own": (user,), "somebody else's": (f"not {user}",)}
    for name in named.get(whose, ("", *neighbours(user))):
        queue, channel = stage.queue(), confirming(stage)
        channel.publish(queue, properties={"user_id": name})
        stage.quiesce()
    if whose == "somebody else's":
        queue, channel = stage.queue(), confirming(stage)
        for name in (user, f"not {user}"):
            channel.publish(queue, properties={"user_id": name})
            stage.quiesce()


LETTER = {
    "content_type": "application/octet-stream",
    "priority": 3,
    "correlation_id": "c-1",
    "expiration": "3600000",
    "timestamp": 1_700_000_000,
    "app_id": "amqp-conformance",
}


EMPTY_TEXTS: Mapping[str, Any] = dict.fromkeys(("content_type", "correlation_id", "reply_to", "type", "app_id"), "")
NOUGHTS: Mapping[str, Any] = {"priority": 0, "timestamp": 0}
MOST: Mapping[str, Any] = {"priority": 255, "timestamp": 2**63 - 1, "content_type": "t" * 255, "app_id": "ü" * 127}


@rule("CONTENT-007")
def test_dead_letters(stage: Stage) -> None:
    """Messages with properties and headers of all types are rejected, one alone and two together, and got again; and
    so are some whose properties say nothing, or as much as they can. One of all types expires, in a queue of each kind.
    """
    heir = stage.queue()
    to_heir: dict[str, Any] = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": heir}
    queue = stage.queue(to_heir)
    channel = confirming(stage)
    for letter in ({**LETTER, "reply_to": "reply", "headers": every_type()}, {**EMPTY_TEXTS, **NOUGHTS}, MOST):
        channel.publish(queue, 3, properties=letter)
        settle(stage, channel)
        tags = stage.fetch(channel, queue, 3)
        channel.reject(tags[0], requeue=False)
        channel.nack(tags[2], multiple=True, requeue=False) if stage.offers("basic.nack") else None
        stage.barrier(channel)
        stage.fetch(channel, heir, stage.judge.ready(heir))
    if stage.profile.queue(stage.queue_type).messages_expire:
        ranked = stage.queue_type == "classic" and stage.offers("x-max-priority")
        queues = [queue, *([stage.queue({**to_heir, "x-max-priority": 5})] if ranked else [])]
        for one in queues:
            channel.publish(one, properties={**LETTER, "priority": 3, "headers": every_type(), "expiration": "100"})
        settle(stage, channel)
        wait(stage, 1.0)
        for _ in queues:
            stage.get(channel, heir)


@rule("CONTENT-008")
def test_words_of_applications(stage: Stage) -> None:
    """Short texts that are empty, as long as can be, and not ASCII."""
    names = "content_type", "content_encoding", "correlation_id", "reply_to", "type", "app_id", "cluster_id"
    odd = "", "no slash", "ä€𝄞", "x" * 255
    publish_each(stage, *(dict.fromkeys(names, text) for text in odd))


@rule("CONTENT-009", queue_types=("classic",))
def test_properties_that_say_nothing(stage: Stage) -> None:
    """Empty texts, numbers that are 0, both, and no property at all; got and returned to the queue, and got again."""
    queue, channel = stage.queue(), confirming(stage)
    for properties in (EMPTY_TEXTS, NOUGHTS, {**EMPTY_TEXTS, **NOUGHTS}):
        channel.publish(queue, properties=properties)
    channel.send((m.BasicPublish(channel.number, routing_key=queue), b"with no property", {}))
    settle(stage, channel)
    for tag in stage.fetch(channel, queue, 4):
        channel.reject(tag)
    stage.barrier(channel)
    stage.fetch(channel, queue, stage.judge.ready(queue))


EXTREMES: values.FieldTable = [
    *(
        (f"{letter} {number}", letter, number)
        for letter, bits in (("b", 8), ("s", 16), ("I", 32), ("l", 64))
        for number in (-(1 << bits - 1), (1 << bits - 1) - 1)
    ),
    *((f"{letter} most", letter, (1 << bits) - 1) for letter, bits in (("B", 8), ("u", 16), ("i", 32))),
    ("odd", "l", 2**53 + 1),
    ("late", "T", 2**63 - 1),
    ("d", "d", 0.1),
    ("tiny", "d", 5e-324),
    ("huge", "d", 1.7976931348623157e308),
    ("f", "f", 0.15625),
    ("D", "D", (2, 314)),
    ("D zeros", "D", (4, 31400)),
    ("D negative", "D", (1, -5)),
    ("D whole", "D", (0, 7)),
]
"""The least and the greatest of each size, what floats do not hold, and what is rounded easily."""


@rule("CONTENT-010")
def test_numbers_among_the_headers(stage: Stage) -> None:
    """The extremes of all sizes, alone and in tables and lists; got, and consumed after they were returned."""
    queue, channel = stage.queue(), confirming(stage)
    listed = [(letter, value) for _, letter, value in EXTREMES]
    deep: values.FieldTable = [("table", "F", EXTREMES), ("list", "A", [*listed, ("F", EXTREMES)])]
    for headers in (EXTREMES, deep):
        channel.publish(queue, properties={"headers": headers})
    settle(stage, channel)
    for tag in stage.fetch(channel, queue, 2):
        channel.reject(tag)
    stage.barrier(channel)
    channel.consume(queue)
    stage.quiesce()


@rule("CONTENT-011", queue_types=("classic",))
@pytest.mark.parametrize("value", [inf, -inf, nan], ids=["infinite", "negative", "no number"])
def test_floats_that_are_no_numbers(stage: Stage, value: float) -> None:
    """Of both sizes, each on a connection of its own."""
    queue = stage.queue()
    for letter in "df":
        channel = confirming(stage, stage.connect(f"publishing {letter}"))
        channel.publish(queue, properties={"headers": [("float", letter, value)]})
        settle(stage, channel)
    stage.fetch(stage.channel(), queue, stage.judge.ready(queue))


MANY_LEVELS = 28
"""Far more than applications have, and as many as our codec goes along with."""


@rule("CONTENT-012", queue_types=("classic",))
def test_tables_in_tables(stage: Stage) -> None:
    """Many levels of tables, of lists, and of both in turn."""
    queue, channel = stage.queue(), confirming(stage)
    for letters in ("F", "A", "FA"):
        letter, value = "I", 1
        inner: Any = value
        for level in range(MANY_LEVELS):
            inner, letter = _around(letters[level % len(letters)], letter, inner), letters[level % len(letters)]
        channel.publish(queue, properties={"headers": [("outermost", letter, inner)]})
        settle(stage, channel)
        if channel.state != "open":
            reopen(stage, channel)
    stage.fetch(channel, queue, stage.judge.ready(queue))


def _around(outer: str, letter: str, value: Any) -> Any:
    """A table, or a list, with this in it."""
    return [("inner", letter, value)] if outer == "F" else [(letter, value)]


@rule("CONTENT-013")
def test_octets_that_end_frames(stage: Stage) -> None:
    """The octet that ends frames, alone, first, in the middle and often, and what looks like whole frames."""
    queue, channel = stage.queue(), confirming(stage)
    end, beat = b"\xce", codec.Heartbeat(0).encode()
    for body in (end, end + b"a", b"a" + end + b"b", end * 50, beat * 3, b"a" + end + m.ChannelFlow(1, True).encode()):
        channel.publish(queue, body=body)
        settle(stage, channel)
    stage.fetch(channel, queue, stage.judge.ready(queue))


LEFT = 1024
"""So many octets of a frame are left to what brokers add."""


@rule("CONTENT-014")
def test_headers_as_long_as_a_frame(stage: Stage) -> None:
    """One long text, many short ones, and octets; got, returned to the queue, and got again."""
    queue, channel = stage.queue(), confirming(stage)
    room = largest(channel) - LEFT
    short = [(f"header {number}", "S", b"x" * 50) for number in range(room // 80)]
    for headers in ([("text", "S", b"t" * room)], short, [("octets", "x", bytes(room))]):
        channel.publish(queue, properties={"headers": headers})
        settle(stage, channel)
        if channel.state != "open":
            reopen(stage, channel)
    for tag in stage.fetch(channel, queue, stage.judge.ready(queue)):
        channel.reject(tag)
    stage.barrier(channel)
    stage.fetch(channel, queue, stage.judge.ready(queue))
