"""Messages with ids of their own: the same events, whatever the ids, however frames lie in segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import codec
from benchmarks import packets
from benchmarks.packets import Seg, Talk
from codec import methods as m
from conformance.history.events import TO_BROKER, TO_CLIENT, Event, EventBuilder, Labels
from reports.capture.capture import Capture
from reports.capture.columns import batch
from reports.capture.identity import CUT, cut
from reports.capture.reader import Reader
from reports.capture.rows import HOLE, Place, Rows
from reports.pipeline.ingest import to_events
from tests.support.octets import strategies

LABELS = Labels("r", "b", "h", "c")
IDS = [
    "m1",
    "m2",
    "a longer id, with spaces",
    "x" * 255,
    'a "quoted" one',
    "back\\slash",
    "é",
    "",
    "\x7f",
    HOLE,
    '"message_id": "m1"',
    "m1m2",
]
EVERY: dict[str, Any] = {
    "content_type": "text/plain",
    "content_encoding": "e",
    "headers": [("message_id", "S", b"m1")],
    "delivery_mode": 2,
    "priority": 3,
    "correlation_id": "m1",
    "reply_to": "q",
    "expiration": "60000",
    "timestamp": 1_700_000_000,
    "type": "t",
    "user_id": "guest",
    "app_id": "m1",
}


def built(raws: Sequence[bytes]) -> list[Event]:
    builder = EventBuilder(LABELS, lambda: 0, lambda: 0)
    return [event for raw in raws if (event := builder.frame(TO_CLIENT, codec.decode(raw), raw)) is not None]


def made(pieces: Sequence[bytes], most: int = 1 << 20) -> Rows:
    """Frames that come in pieces of whole frames, as a connection gives them to its reader."""
    rows = Rows("a.pcap")
    reader = Reader(LABELS, TO_CLIENT, rows, Place(), lambda _: None)
    for piece in pieces:
        rest = piece[reader.known(piece, most) :]
        assert reader.frames(codec.FrameReader(0).cut(rest)) is None
    return rows


def still(events: Sequence[Event]) -> list[Event]:
    """Without what the place in a capture decides."""
    return [event._replace(seq=0, time_ns=0) for event in events]


@pytest.mark.parametrize("named", IDS)
@pytest.mark.parametrize("others", [(), ("headers", "priority"), tuple(EVERY)])
def test_what_is_cut_out_is_the_id_and_nothing_else(named: str, others: tuple[str, ...]) -> None:
    frame = codec.header(1, 10, message_id=named, **{name: EVERY[name] for name in others})
    words, found = cut(frame.encode())
    if words.startswith(CUT):
        assert found == named
        plain = codec.header(1, 10, message_id="other", **{name: EVERY[name] for name in others})
        assert cut(plain.encode()) == (words, "other")
    else:
        assert found is None
        assert named in IDS[4:-1]


@given(strategies.headers())
def test_headers_of_any_kind_keep_all_that_is_not_the_id(raw: bytes) -> None:
    words, found = cut(raw)
    known = codec.decode(raw).properties().get("message_id")
    assert found in (None, known)
    assert len(words) == len(raw) - 15 + (0 if found is None else len(CUT) - 1 - len(found))


MESSAGES = st.builds(
    lambda channel, tag, body, name, more: codec.content(
        m.BasicDeliver(channel, "c", tag, False, "x", "k"),
        body,
        **({} if name is None else {"message_id": name}),
        **{key: EVERY[key] for key in more},
    ),
    st.integers(1, 2),
    st.integers(1, 2**64 - 1),
    st.sampled_from([b"", b"body", b"\xce" * 40]),
    st.none() | st.sampled_from(IDS),
    st.sampled_from([(), ("headers",), ("correlation_id", "app_id"), tuple(EVERY)]),
)
OTHERS = st.sampled_from([one.encode() for one in (m.BasicAck(1, 7, True), codec.Heartbeat(), m.BasicCancelOk(2, "c"))])


@settings(deadline=None)
@given(st.lists(MESSAGES | OTHERS, max_size=10), st.lists(st.integers(1, 4), min_size=1, max_size=5))
def test_rows_are_the_builders_events_however_they_come(parts: list[bytes], sizes: list[int]) -> None:
    pieces, rest = [], [*parts, *parts, *parts]
    for number in range(len(rest)):
        if not rest:
            break
        many = sizes[number % len(sizes)]
        pieces.append(b"".join(rest[:many]))
        rest = rest[many:]
    block = made(pieces).take()
    expected = built(codec.FrameReader(0).cut(b"".join(pieces)))
    assert still(list(block.events())) == expected
    if block.rows:
        assert still(list(to_events(batch(block)))) == expected


def test_one_template_serves_all_ids() -> None:
    pieces = [
        codec.content(m.BasicPublish(1, 0, "x", "k", False, False), b"body", message_id=f"m{n}", priority=1)
        for n in range(100)
    ]
    block = made(pieces).take()
    assert len(block.templates) == 1
    assert [event.message_id for event in block.events()] == [f"m{n}" for n in range(100)]
    assert [event.args["properties"] for event in block.events()] == [
        {"message_id": f"m{n}", "priority": 1} for n in range(100)
    ]


def test_frames_larger_than_agreed_are_left_to_the_splitter() -> None:
    message = codec.content(m.BasicPublish(1, 0, "x", "k", False, False), b"b" * 50)
    reader = Reader(LABELS, TO_BROKER, Rows(), Place(), lambda _: None)
    assert reader.frames(codec.FrameReader(0).cut(message)) is None
    assert reader.known(message, len(message)) == len(message)
    assert reader.known(message, len(message) - 1) == 0


@settings(max_examples=15, deadline=None)
@given(st.lists(MESSAGES | OTHERS, min_size=1, max_size=8), st.integers(5, 300))
def test_segments_of_any_size_hold_the_same_events(
    tmp_path_factory: pytest.TempPathFactory,
    parts: list[bytes],
    mss: int,
) -> None:
    segments: list[Seg] = []
    talk = Talk(segments, mss=mss).open().client(codec.ProtocolHeader().encode())
    talk.broker(m.ConnectionStart(0, 0, 9, [], b"PLAIN", b"en_US").encode())
    for _ in range(3):
        talk.broker(*parts)
        for part in parts:
            talk.broker(part)
    talk.close()
    path = tmp_path_factory.mktemp("ids") / "ids.pcap"
    path.write_bytes(packets.pcap(packets.packets(segments)))
    told = [event for event in Capture([path]).events() if event.direction == TO_CLIENT][1:]
    expected = built(codec.FrameReader(0).cut(b"".join(parts * 6)))
    assert [event[4:5] + event[9:] for event in told] == [event[4:5] + event[9:] for event in expected]
