"""What is read in one step and what is read frame by frame give the same rows, on captures of every kind.

The slow way is the same reader with a memory that never knows anything.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import codec
from benchmarks import packets
from benchmarks.packets import BEGIN_NS, MASK, Seg, Talk, moved
from codec import methods as m
from conformance.history.events import Event
from reports.capture.capture import Capture, NoTraffic
from reports.capture.reader import Reader

IDS = st.sampled_from(["", "a1", "b2", "00ff-17", "ü", 'q"', "a much longer one"])
BODIES = st.sampled_from([b"", b"x", b"\xce" * 40, bytes(range(256)) * 6, b"long" * 900])


@st.composite
def messages(draw: st.DrawFn) -> tuple[int, bytes]:
    """Who says it, and its octets: few words, so that most come again."""
    side, channel, tag = draw(st.sampled_from([0, 1])), draw(st.sampled_from([1, 2])), draw(st.integers(0, 3))
    body, name = draw(BODIES), draw(IDS)
    method = draw(
        st.sampled_from(
            [
                m.BasicPublish(channel, 0, "x", "k", False, False),
                m.BasicDeliver(channel, "c", tag, False, "x", "k"),
                m.BasicDeliver(channel, "tag", 2**63 + tag, True, "x", "k"),
                m.BasicGetOk(channel, tag, False, "x", "k", 1),
                m.BasicAck(channel, tag, False),
                m.BasicNack(channel, tag, True, False),
                m.BasicGetEmpty(channel, ""),
                m.QueueDeclareOk(channel, "q", 2, 1),
                None,
            ]
        )
    )
    if method is None:
        return side, codec.Heartbeat().encode()
    if not method.HAS_CONTENT:
        return side, method.encode()
    properties: dict[str, Any] = {"message_id": name} if name else draw(st.sampled_from([{}, {"priority": 3}]))
    return side, codec.content(method, body, frame_max=draw(st.sampled_from([64, 2000, 131072])), **properties)


@st.composite
def talks(draw: st.DrawFn) -> list[Seg]:
    """Two connections that take turns, in segments of any size."""
    segments: list[Seg] = []
    pool = [
        Talk(segments, client=("10.0.0.7", 40000), numbers=(MASK - 500, MASK - 9), mss=draw(st.integers(30, 1448))),
        Talk(segments, client=("fe80::7", 40001), broker=("fe80::1", 5672)),
    ]
    for talk in pool[: draw(st.integers(0, 2))]:
        talk.open().client(codec.ProtocolHeader().encode())
        talk.broker(codec.Heartbeat().encode())
    vocabulary = draw(st.lists(messages(), min_size=1, max_size=4))
    for talk, (side, raw) in draw(st.lists(st.tuples(st.sampled_from(pool), st.sampled_from(vocabulary)), max_size=25)):
        (talk.broker if side else talk.client)(raw)
    for talk in pool:
        if draw(st.booleans()):
            talk.close()
    return segments


@st.composite
def harmed(draw: st.DrawFn) -> list[Seg]:
    """What a network and a capture may make of that."""
    segments = draw(talks())
    for _ in range(draw(st.integers(0, 4)) if len(segments) > 4 else 0):
        at = draw(st.integers(0, len(segments) - 1))
        seg, what = segments[at], draw(st.sampled_from(["drop", "twice", "swap", "overlap", "damage"]))
        half = len(seg.data) // 2
        if what == "drop":
            del segments[at]
        elif what == "twice":
            segments.insert(draw(st.integers(at, len(segments))), seg)
        elif what == "swap":
            other = min(at + 3, len(segments) - 1)
            segments[at], segments[other] = segments[other], seg
        elif what == "overlap" and half:
            segments[at : at + 1] = [
                moved(seg, data=seg.data[: half + 1]),
                moved(seg, seq=(seg.seq + half - 1) & MASK, data=seg.data[half - 1 :]),
            ]
        elif half:
            place = draw(st.sampled_from([half, -1]))
            segments[at] = moved(seg, data=seg.data[:place] + b"\xff" + seg.data[place:][1:])
    return [moved(seg, time_ns=BEGIN_NS + 1001 * number) for number, seg in enumerate(segments)]


def read(path: Path, part: tuple[int, int] | None = None) -> list[tuple[Event, int]]:
    """All events, each with its packet."""
    found = list[tuple[Event, int]]()
    with suppress(NoTraffic):
        for block in Capture([path], part=part).blocks():
            found += zip(block.events(), (row[-1] for row in block.rows), strict=True)
    return found


def slowly(path: Path, part: tuple[int, int] | None = None) -> list[tuple[Event, int]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reader, "known", lambda self, data, most: 0)
        return read(path, part)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("paths") / "test.pcap"


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    segments=harmed(),
    link=st.sampled_from(["ethernet", "vlan", "cooked2"]),
    nano=st.booleans(),
    part=st.sampled_from([None, (0, 2), (1, 3)]),
)
def test_both_ways_give_the_same_rows(
    file: Path,
    segments: list[Seg],
    link: str,
    nano: bool,
    part: tuple[int, int] | None,
) -> None:
    file.write_bytes(packets.pcap(packets.packets(segments, link), packets.LINKS[link][0], nano=nano))
    assert read(file, part) == slowly(file, part)


@pytest.mark.parametrize("body", [b"", b"body"])
@pytest.mark.parametrize(
    "method",
    [
        m.BasicPublish(1, 0, "x", "k", False, False),
        m.BasicDeliver(1, "c", 7, False, "x", "k"),
    ],
)
def test_a_wrong_octet_anywhere_is_seen_both_ways(file: Path, method: codec.Method, body: bytes) -> None:
    raw = codec.content(method, body, message_id="m#", priority=3)
    for at in range(len(raw)):
        segments: list[Seg] = []
        talk = Talk(segments).open().client(codec.ProtocolHeader().encode())
        for said in (raw, raw, raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :], raw):
            talk.client(said)
        file.write_bytes(packets.pcap(packets.packets(segments)))
        assert read(file) == slowly(file)


def test_an_empty_body_is_no_part_of_a_message_without_one(file: Path) -> None:
    method = m.BasicPublish(1, 0, "x", "k", False, False)
    full, empty = (codec.content(method, body, message_id="m1") for body in (b"body", b""))
    segments: list[Seg] = []
    talk = Talk(segments).open().client(codec.ProtocolHeader().encode())
    for said in (full, full, empty + codec.Body(1, b"").encode(), full):
        talk.client(said)
    file.write_bytes(packets.pcap(packets.packets(segments)))
    assert read(file) == slowly(file)
    assert [event.kind for event, _ in read(file)].count("malformed") == 1


def test_most_of_what_is_said_again_is_read_in_one_step(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segments: list[Seg] = []
    talk = Talk(segments).open()
    for tag in range(20):
        body = bytes([tag]) * 3000
        talk.client(codec.content(m.BasicPublish(1, 0, "x", "k", False, False), body, message_id=f"m{tag:02}"))
        talk.broker(m.BasicAck(1, tag, False).encode())
    file.write_bytes(packets.pcap(packets.packets(segments)))
    slow = list[int]()
    monkeypatch.setattr(Reader, "frames", lambda self, raws, frames=Reader.frames: slow.append(1) or frames(self, raws))
    assert len(read(file)) == 43
    assert len(slow) <= 5
