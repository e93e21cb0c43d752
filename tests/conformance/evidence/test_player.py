"""The player compares what comes with what came then: on a wire that says what it is told to."""

from __future__ import annotations

import time
from typing import Any

import pytest

from conformance.evidence.reproducer import sharper
from conformance.evidence.scripts import raw
from conformance.evidence.scripts.player import BROKEN, ELSE, UNCLEAR, Player

QOS = {"n": 1, "who": ">", "on": "c1", "channel": 1, "method": "basic.qos", "prefetch_size": 1}
QOS_OK = {"n": 2, "who": "<", "on": "c1", "channel": 1, "method": "basic.qos-ok"}
CONSUME = {"n": 3, "who": ">", "on": "c1", "channel": 1, "method": "basic.consume", "queue": "q"}
DELIVER = {"n": 4, "who": "<", "on": "c1", "channel": 1, "method": "basic.deliver", "message": "m1", "decisive": True}


class Wire:
    """Says these frames after the first that is sent."""

    def __init__(self, *frames: dict[str, Any]) -> None:
        self._frames = list(frames)

    def connect(self, name: str, capabilities: dict[str, Any]) -> None:
        raise AssertionError("the reproducer has it")

    def send(self, name: str, rows: list[dict[str, Any]]) -> None:
        assert rows[0]["method"] in ("basic.qos", "basic.consume")

    def receive(self, seconds: float) -> list[dict[str, Any]]:
        time.sleep(min(seconds, 0.005))
        said, self._frames = self._frames, []
        return said


def frame_of(method: str, **more: object) -> dict[str, Any]:
    return {"on": "c1", "channel": 1, "method": method, **more}


@pytest.mark.parametrize(
    ("frames", "verdict"),
    [
        ([frame_of("basic.qos-ok"), frame_of("basic.deliver", message="m1")], BROKEN),
        ([frame_of("basic.qos-ok"), frame_of("basic.deliver", message="m2")], ELSE),
        ([frame_of("basic.qos-ok")], ELSE),
        ([frame_of("connection.close", channel=0, reply_code=540)], ELSE),
        ([frame_of("connection.close", channel=0, reply_code=541)], UNCLEAR),
        ([], UNCLEAR),
    ],
)
def test_what_comes_decides(frames: list[dict[str, Any]], verdict: int) -> None:
    player = Player([QOS, QOS_OK, CONSUME, DELIVER], Wire(*frames), "p.", wait=0.2)
    assert player.play() == verdict, player.said


@pytest.mark.parametrize(
    ("headers", "verdict"),
    [
        ({"x-delivery-count": 1, "x-death": [{"count": 1}]}, BROKEN),
        ({"x-acquired-count": 1}, ELSE),
        ({}, ELSE),
        (None, ELSE),
    ],
)
def test_counts_in_headers_are_compared_where_they_are_the_matter(headers: object, verdict: int) -> None:
    came = [frame_of("basic.qos-ok"), frame_of("basic.deliver", message="m1", headers=headers)]
    counting = [QOS, QOS_OK, CONSUME, {**DELIVER, "counts": {"x-delivery-count": 1}}]
    assert Player(counting, Wire(*came), "p.", wait=0.2).play() == verdict
    assert Player([QOS, QOS_OK, CONSUME, DELIVER], Wire(*came), "p.", wait=0.2).play() == BROKEN


@pytest.mark.parametrize(
    ("frames", "verdict"),
    [
        (["basic.deliver"], BROKEN),
        (["basic.deliver", "basic.consume-ok"], BROKEN),
        (["basic.consume-ok", "basic.deliver"], ELSE),
    ],
)
def test_what_had_not_come_before_must_not_come_before(frames: list[str], verdict: int) -> None:
    early = [QOS, QOS_OK, CONSUME, {**DELIVER, "first": [{"method": "basic.consume-ok", "consumer_tag": "c1"}]}]
    came = [frame_of("basic.qos-ok"), *(frame_of(one, consumer_tag="c1", message="m1") for one in frames)]
    assert Player(early, Wire(*came), "p.", wait=0.2).play() == verdict


def test_where_the_order_is_the_matter_all_else_has_come_before() -> None:
    reproducer = [QOS, QOS_OK, CONSUME, {**DELIVER, "message": "m3", "decisive": False}, {**DELIVER, "message": "m2"}]
    overtaken = [{**row, "n": n} for n, row in enumerate(reproducer, 1)]
    for came, verdicts in ((("m3", "m2"), (BROKEN, BROKEN)), (("m2", "m3"), (BROKEN, ELSE))):
        frames = [frame_of("basic.qos-ok"), *(frame_of("basic.deliver", message=one) for one in came)]
        for tale, verdict in zip((overtaken, next(sharper(overtaken))), verdicts, strict=True):
            assert Player(tale, Wire(*frames), "p.", wait=0.2).play() == verdict


def test_words_of_a_close_are_compared_where_nothing_else_tells() -> None:
    close = {**DELIVER, "method": "channel.close", "message": None, "reply_code": 406, "words": "unknown tag 5"}
    for text, verdicts in (("unknown tag 5", (BROKEN, BROKEN)), ("unknown tag 4", (BROKEN, ELSE))):
        frames = [frame_of("basic.qos-ok"), frame_of("channel.close", reply_code=406, reply_text=text)]
        reproducer = [QOS, QOS_OK, CONSUME, close]
        for tale, verdict in zip((reproducer, [*sharper(reproducer)][-1]), verdicts, strict=True):
            assert Player(tale, Wire(*frames), "p.", wait=0.2).play() == verdict


def test_headers_are_read_from_the_wire() -> None:
    table = {"a": 1, "x-delivery-count": 2**40, "b": "text", "c": [1, "d"], "x-acquired-count": -3, "e": {"f": None}}
    header = raw.content({"body": "", "properties": {"headers": table, "message_id": "m1"}}, 1)[7:]
    assert raw.named(header) == ("m1", {"a": 1, "x-delivery-count": 2**40, "x-acquired-count": -3})


def test_what_must_come_soon_is_not_waited_for_longer() -> None:
    reproducer = [QOS, QOS_OK, CONSUME, {**DELIVER, "within": 0.05}]
    began = time.monotonic()
    assert Player(reproducer, Wire(frame_of("basic.qos-ok")), "p.", wait=60).play() == ELSE
    assert time.monotonic() - began < 30
    came = [frame_of("basic.qos-ok"), frame_of("basic.deliver", message="m1")]
    assert Player(reproducer, Wire(*came), "p.", wait=60).play() == BROKEN


@pytest.mark.parametrize(
    ("frames", "verdict"),
    [
        ([], BROKEN),
        ([frame_of("channel.close", reply_code=404)], ELSE),
        ([frame_of("end", channel=0)], ELSE),
        ([frame_of("connection.close", channel=0, reply_code=540)], ELSE),
        ([frame_of("channel.close", reply_code=404) | {"channel": 2}], BROKEN),
        ([frame_of("end", channel=0) | {"on": "c2"}], BROKEN),
    ],
)
def test_who_ends_the_connection_is_not_silent(frames: list[dict[str, Any]], verdict: int) -> None:
    """A broker that answers no mistake was said to behave as one that drops who makes it."""
    awaited = [{"on": "c1", "channel": 1, "methods": ["channel.close"]}]
    silence = {"n": 3, "who": "-", "on": "", "method": "silence", "awaited": awaited}
    player = Player([CONSUME, silence], Wire(*frames), "p.", wait=0.1)
    assert player.play() == verdict, player.said
