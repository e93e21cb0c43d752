"""Frames in octets whose beginning is known, and in octets whose beginning is lost: found by proof only."""

from __future__ import annotations

import random

import pytest

import codec
from codec import methods as m
from reports.capture.frames import ATTEMPTS, Splitter, proven

HEADER = codec.ProtocolHeader().encode()
START = m.ConnectionStart(0, 0, 9, [("product", "S", b"Birch")], b"PLAIN", b"en_US").encode()
FRAMES = [
    m.BasicAck(3, n, False).encode() if n % 3 else codec.content(m.BasicDeliver(3, "c", n, False, "x", "k"), b"b" * n)
    for n in range(1, 60)
]
STREAM = b"".join(FRAMES)
SINGLE = codec.FrameReader().cut(STREAM)


def fed(splitter: Splitter, data: bytes, size: int) -> list[bytes]:
    return [raw for at in range(0, len(data), size) for raw in splitter.feed(data[at : at + size])]


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 20, 21, 1000, 10**6])
def test_a_whole_stream_is_cut_the_same_however_it_comes(size: int) -> None:
    splitter = Splitter(whole=True)
    assert fed(splitter, HEADER + STREAM, size) == [HEADER, *SINGLE]
    assert (splitter.problem, splitter.rest, splitter.blind) == (None, b"", False)


@pytest.mark.parametrize("size", [1, 5, 21, 10**6])
@pytest.mark.parametrize(
    "bad",
    [
        b"HTTP/1.1 400",
        b"\x04\0\0\0\0\0\0\xce",
        b"\x01\0\0\0\0\0\4\0\x0a\0\x0bX" + b"\0" * 8,
        b"\x01\0\0\x7f\xff\xff\xff\0\0\0\0\0",
    ],
)
def test_what_is_no_frame_is_the_same_problem_that_the_codec_finds(bad: bytes, size: int) -> None:
    splitter = Splitter(whole=True)
    assert fed(splitter, SINGLE[0] + bad, size) == SINGLE[:1]
    with pytest.raises(codec.MalformedFrame) as expected:
        codec.FrameReader().cut(bad)
    assert splitter.problem is not None
    assert (splitter.problem.offset, splitter.problem.expected) == (expected.value.offset, expected.value.expected)
    assert splitter.feed(STREAM) == []


def test_a_lower_limit_is_kept() -> None:
    splitter = Splitter(whole=True)
    splitter.limit = 40
    assert splitter.feed(codec.Body(1, b"x" * 32).encode()) != []
    assert splitter.feed(codec.Body(1, b"x" * 33).encode()) == []
    assert splitter.problem is not None
    assert "at most 32 octets" in splitter.problem.expected


@pytest.mark.parametrize("size", [1, 21, 300, 10**6])
@pytest.mark.parametrize("seed", range(12))
def test_frames_are_found_again_where_they_really_are(seed: int, size: int) -> None:
    begin = random.Random(seed).randrange(len(STREAM) // 2)
    splitter = Splitter(whole=False)
    found = fed(splitter, STREAM[begin:] + STREAM, size)
    assert not splitter.blind
    assert not splitter.sure
    assert splitter.problem is None
    kept = b"".join(found)
    assert (STREAM[begin:] + STREAM).endswith(kept)
    assert splitter.skipped == len(STREAM) - begin + len(STREAM) - len(kept)
    assert found == [*SINGLE, *SINGLE][-len(found) :]
    assert len(found) > len(SINGLE)


@pytest.mark.parametrize("first", [HEADER, START])
def test_the_beginning_of_a_connection_needs_no_other_proof(first: bytes) -> None:
    splitter = Splitter(whole=False)
    assert splitter.feed(first) == [first]
    assert splitter.sure
    assert splitter.skipped == 0


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(5000),
        random.Random(1).randbytes(50_000),
        codec.Body(1, bytes(900)).encode() * 9,
        b"".join(codec.Heartbeat().encode() for _ in range(20)),
        SINGLE[0],
        SINGLE[0] + SINGLE[1][:-1],
        b"".join(SINGLE[:3])[:-1] + b"\xcd" + b"".join(SINGLE[:1]),
    ],
    ids=["nothing", "zeros", "noise", "bodies", "heartbeats", "one", "one-and-a-half", "broken"],
)
def test_what_is_not_enough_proves_nothing(data: bytes) -> None:
    assert proven(data) is None


def test_a_chain_that_does_not_go_on_is_no_proof() -> None:
    chain = b"".join(SINGLE[:4])
    assert proven(chain) == 0
    assert proven(chain, len(chain) - 1) == len(chain) - len(SINGLE[3])
    assert proven(chain, len(chain)) == len(chain)
    assert proven(chain + b"\x09 and something that begins no frame") is None


def test_frames_in_a_body_are_not_taken_for_frames_of_the_stream() -> None:
    inner = codec.Body(1, b"".join(SINGLE[:6])).encode()
    outer = b"".join([*SINGLE[:2], inner, *SINGLE[2:6]])
    assert proven(outer) == 0
    assert proven(inner[7:]) is None


def test_a_loss_drops_what_was_not_whole() -> None:
    splitter = Splitter(whole=True)
    splitter.feed(STREAM + SINGLE[0][:9])
    splitter.lose()
    assert (splitter.blind, splitter.skipped, splitter.rest) == (True, 9, b"")
    splitter.feed(SINGLE[0][15:] + STREAM)
    assert not splitter.blind


def test_distrust_comes_to_an_end() -> None:
    splitter = Splitter(whole=False)
    tries = 0
    for _ in range(ATTEMPTS):
        splitter.feed(STREAM)
        splitter.feed(b"\x09" * 20)
        assert splitter.problem is not None
        tries += splitter.distrust()
    assert tries == ATTEMPTS - 1
    assert splitter.problem is not None
