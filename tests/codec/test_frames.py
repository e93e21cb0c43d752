"""One frame, a buffer of frames, a stream of frames: limits, what is left over, and what comes before a fault."""

from __future__ import annotations

import contextlib
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import codec
from codec import methods as m
from tests.support.octets import broken, strategies

quiet = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
ACK, BEAT, BODY = m.BasicAck(1, 7), codec.Heartbeat(), codec.Body(1, b"payload")
THREE = ACK.encode() + BEAT.encode() + BODY.encode()


def test_decode_takes_exactly_one_frame() -> None:
    assert codec.decode(BODY.encode()) == BODY
    for raw, offset in ((THREE, 21), (ACK.encode() + b"\1", 21), (ACK.encode()[:-1], 20), (b"", 0), (b"\1\0", 2)):
        with pytest.raises(codec.MalformedFrame) as caught:
            codec.decode(raw)
        assert caught.value.offset == offset


def test_a_buffer_gives_every_whole_frame_and_where_it_stopped() -> None:
    assert codec.decode_many(THREE + BODY.encode()[:9]) == ([ACK, BEAT, BODY], len(THREE))
    assert codec.decode_many(THREE, start=21) == ([BEAT, BODY], len(THREE))
    assert codec.decode_many(b"") == ([], 0)


def test_a_fault_in_a_buffer_keeps_what_came_before_it() -> None:
    with pytest.raises(codec.MalformedFrame) as caught:
        codec.decode_many(THREE + broken.defect("wrong frame end", BODY.encode()) + THREE)
    problem = caught.value
    assert problem.frames == [ACK, BEAT, BODY]
    assert (problem.start, problem.offset) == (len(THREE), 14)
    assert problem.raw == broken.defect("wrong frame end", BODY.encode())


@quiet
@given(frames=st.lists(strategies.frames(), max_size=5), data=st.data())
def test_a_stream_in_any_pieces_gives_the_same_frames(frames: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(frames)
    reader, cutter, got, cut = codec.FrameReader(), codec.FrameReader(), list[codec.Frame](), list[bytes]()
    p = 0
    while p < len(stream):
        piece = stream[p : p + data.draw(st.integers(1, 40) | st.just(len(stream)))]
        got += reader.feed(piece)
        cut += cutter.cut(piece)
        p += len(piece)
        assert reader.pending == cutter.pending == p - sum(map(len, cut))
    assert cut == frames
    assert [frame.encode() for frame in got] == frames


def test_a_long_frame_in_many_pieces() -> None:
    body = codec.Body(1, random.Random(1).randbytes(130_000))
    raw, reader = body.encode(), codec.FrameReader()
    got = [frame for i in range(0, len(raw), 1460) for frame in reader.feed(raw[i : i + 1460])]
    assert got == [body]
    assert reader.pending == 0


@pytest.mark.parametrize("frame_max", [4096, 131072])
def test_the_largest_frame_and_one_octet_more(frame_max: int) -> None:
    largest = codec.Body(1, bytes(frame_max - 8)).encode()
    assert len(codec.FrameReader(frame_max).feed(largest)) == 1
    assert codec.FrameReader(frame_max).cut(largest) == [largest]
    for feed in (codec.FrameReader(frame_max).feed, codec.FrameReader(frame_max).cut):
        with pytest.raises(codec.MalformedFrame, match=f"frame_max {frame_max}"):
            feed(broken.oversized(frame_max))


def test_a_frame_that_will_be_too_large_is_refused_at_its_size() -> None:
    with pytest.raises(codec.MalformedFrame) as caught:
        codec.FrameReader(4096).feed(broken.oversized(4096)[:7])
    assert caught.value.offset == 3


def test_the_limit_can_change_and_be_lifted() -> None:
    reader = codec.FrameReader(4096)
    reader.frame_max = 0
    assert len(reader.feed(broken.oversized(131072))) == 1


@pytest.mark.parametrize("octets", [b"AMQP\0\0\x09\1", b"HTTP/1.1 400 Bad Request\r\n", b"\x16\x03\1", b"\0"])
def test_what_is_no_frame_is_refused_at_the_first_octet(octets: bytes) -> None:
    for feed in (codec.FrameReader().feed, codec.FrameReader().cut):
        with pytest.raises(codec.MalformedFrame) as caught:
            feed(octets[:1])
        assert caught.value.offset == 0


def test_once_refused_always_refused() -> None:
    reader = codec.FrameReader()
    with pytest.raises(codec.MalformedFrame) as caught:
        reader.feed(ACK.encode() + b"\x09")
    assert caught.value.frames == [ACK]
    with pytest.raises(codec.MalformedFrame) as caught:
        reader.feed(ACK.encode())
    assert caught.value.frames == []


def test_cutting_looks_at_the_envelope_only() -> None:
    wrong_inside = broken.defect("unknown method", ACK.encode())
    assert codec.FrameReader().cut(wrong_inside + BEAT.encode()) == [wrong_inside, BEAT.encode()]
    with pytest.raises(codec.MalformedFrame, match="frame end") as caught:
        codec.FrameReader().cut(ACK.encode() + broken.defect("wrong frame end", ACK.encode()))
    assert caught.value.frames == [ACK.encode()]


@given(octets=st.binary(max_size=60), frame_max=st.sampled_from([0, 8, 20, 4096]))
def test_no_octets_raise_anything_else(octets: bytes, frame_max: int) -> None:
    for feed in (codec.FrameReader(frame_max).feed, codec.FrameReader(frame_max).cut, codec.decode):
        with contextlib.suppress(codec.MalformedFrame):
            feed(octets)


@pytest.mark.parametrize(("size", "sizes"), [(0, []), (1, [1]), (4088, [4088]), (4089, [4088, 1]), (8176, [4088] * 2)])
def test_content_is_cut_to_the_frame_size(size: int, sizes: list[int]) -> None:
    body = random.Random(size).randbytes(size)
    raw = codec.content(m.BasicPublish(3, exchange="e", routing_key="k"), body, 4096, delivery_mode=2, priority=None)
    method, header, *bodies = codec.decode_many(raw)[0]
    assert method == m.BasicPublish(3, 0, "e", "k")
    assert header == codec.header(3, size, delivery_mode=2)
    assert [len(b.payload) for b in bodies if isinstance(b, codec.Body)] == sizes
    assert b"".join(b.payload for b in bodies if isinstance(b, codec.Body)) == body
