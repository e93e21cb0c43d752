"""Frames broken on purpose are broken, each in the way its name says, and nobody accepts them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import codec
from codec import methods as m
from tests.support.octets import broken, strategies

FRAMES = [
    m.ConnectionStart(0, 0, 9, [("a", "A", [("S", b"x")])], b"PLAIN", b"en_US"),
    m.BasicPublish(1, 0, "ex", "key"),
    m.BasicAck(1, 7),
    codec.header(1, 5, content_type="text", headers=[]),
    codec.Body(1, b"x"),
    codec.Heartbeat(),
]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__name__)
def test_every_defect_is_refused_by_the_declaration_and_by_the_codec(frame: codec.Frame, verdicts_on: Any) -> None:
    names = []
    for name, raw in broken.variants(frame.encode()):
        assert verdicts_on(raw) == (False, False), name
        names.append(name)
    assert {"wrong frame end", "unknown frame type", "cut short"} <= set(names)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(defect=strategies.broken())
def test_any_frame_with_a_defect_is_refused(defect: tuple[str, bytes], verdicts_on: Any) -> None:
    assert verdicts_on(defect[1]) == (False, False), defect[0]


def test_together_they_have_every_defect() -> None:
    names = {name for frame in FRAMES for name, _ in broken.variants(frame.encode())}
    assert names == {
        "wrong frame end",
        "unknown frame type",
        "size too large by one",
        "size of 4 GiB",
        "cut short",
        "size too small by one",
        "trailing octets",
        "payload ends early",
        "unknown class",
        "unknown method",
        "text longer than the frame",
        "octets longer than the frame",
        "items longer than the frame",
        "bad UTF-8",
        "undefined bits",
        "unknown letter",
        "tables nested too deep",
        "content header with another class_id",
        "content header with another weight",
        "undefined property flags",
    }


def test_a_frame_cannot_have_every_defect() -> None:
    with pytest.raises(LookupError, match="unknown letter"):
        broken.defect("unknown letter", codec.Heartbeat().encode())


def test_any_frame_can_be_laid_out() -> None:
    assert broken.frame(8, 0, b"") == codec.Heartbeat().encode()
    assert broken.frame(9, 1, b"ab", size=7, end=0) == b"\x09\0\1\0\0\0\7ab\0"


def test_only_good_frames_can_be_broken() -> None:
    with pytest.raises(codec.MalformedFrame):
        next(broken.variants(b"\1\0\0\0\0\0\0\xce"))
