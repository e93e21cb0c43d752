"""Publishes put together while they are read: nothing is lost, changed or let through by that."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import codec
from codec import methods as m
from tests.support.octets import broken, strategies

quiet = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
PLAIN = codec.content(m.BasicPublish(1, 0, "", "q"), b"x" * 40, delivery_mode=1)
KEYS, SIZES, MODES = st.sampled_from(["q", "r"]), st.sampled_from([0, 1, 40]), st.sampled_from([None, 1])


@st.composite
def publishes(draw: st.DrawFn) -> bytes:
    """Often the same as the last one, sometimes in two bodies, sometimes its frames alone or amid others."""
    method, size = m.BasicPublish(draw(st.integers(1, 2)), 0, "", draw(KEYS)), draw(SIZES)
    raw = codec.content(method, draw(st.binary(min_size=size, max_size=size)), delivery_mode=draw(MODES))
    if size > 1 and draw(st.booleans()):
        halves = [codec.Body(method.channel, half).encode() for half in (b"a", b"b" * (size - 1))]
        raw = raw[: len(raw) - size - 8] + b"".join(halves)
    frames = codec.FrameReader().cut(raw)
    return b"".join(frames[draw(st.sampled_from([0, 0, 0, 1, 2])) :])


def as_frames(items: list[codec.Frame | codec.Content]) -> list[codec.Frame]:
    return [part for item in items for part in (item.frames() if isinstance(item, codec.Content) else [item])]


@quiet
@given(st.lists(publishes() | strategies.frames() | st.just(PLAIN), max_size=12), st.data())
def test_the_frames_are_those_of_a_plain_reader(parts: list[bytes], data: st.DataObject) -> None:
    stream, plain, joining = b"".join(parts), codec.FrameReader(), codec.ContentReader()
    p = 0
    while p < len(stream):
        piece = stream[p : p + data.draw(st.integers(1, 200) | st.just(len(stream)))]
        assert as_frames(joining.feed(piece)) == plain.feed(piece)
        assert joining.pending == plain.pending
        p += len(piece)


@quiet
@given(st.data())
def test_what_is_broken_is_refused_where_a_plain_reader_refuses_it(data: st.DataObject) -> None:
    last = codec.FrameReader().cut(PLAIN)
    at = data.draw(st.integers(0, 2))
    wrong = data.draw(st.sampled_from([octets for _, octets in broken.variants(last[at])]))
    stream = PLAIN * 3 + b"".join([*last[:at], wrong, *last[at + 1 :]])
    found = []
    for reader in (codec.FrameReader(), codec.ContentReader()):
        try:
            frames = as_frames(reader.feed(stream))
            found.append((frames, reader.pending, ""))
        except codec.MalformedFrame as problem:
            found.append((as_frames(problem.frames), problem.start, str(problem)))
    assert found[0] == found[1]


def test_contents_that_are_alike_share_what_they_began_with() -> None:
    first, second, other, back = codec.ContentReader().feed(
        PLAIN * 2 + codec.content(m.BasicPublish(1, 0, "", "r"), b"x" * 40) + PLAIN
    )
    assert isinstance(first, codec.Content)
    assert isinstance(second, codec.Content)
    assert second.method is first.method
    assert second.header is first.header
    assert second.body == b"x" * 40
    assert isinstance(other, codec.Content)
    assert other.method.routing_key == "r"
    assert isinstance(back, codec.Content)
    assert back.method == first.method


def test_a_limit_that_is_lowered_holds_for_what_is_known_too() -> None:
    reader = codec.ContentReader(0)
    reader.feed(PLAIN)
    reader.frame_max = 40
    with pytest.raises(codec.MalformedFrame):
        reader.feed(PLAIN)
