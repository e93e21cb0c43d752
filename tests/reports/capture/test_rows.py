"""Rows made from templates are the events that EventBuilder makes, frame by frame, in Python and in Arrow."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import codec
from codec import methods as m
from conformance.history.events import TO_CLIENT, Event, EventBuilder, Labels
from conformance.history.recording import to_row
from reports.capture import rows as subject
from reports.capture.columns import batch
from reports.capture.reader import Reader
from reports.capture.rows import Place, Rows
from reports.pipeline import ingest
from tests.support.octets import strategies

LABELS = Labels("r", "b", "h", "c")


def built(raws: Sequence[bytes]) -> list[Event]:
    """By the builder that drivers use."""
    count = itertools.count(1)
    builder = EventBuilder(LABELS, count.__next__, lambda: 7)
    events = (builder.frame(TO_CLIENT, codec.decode(raw), raw) for raw in raws)
    return [event for event in events if event is not None]


def made(raws: Sequence[bytes], rows: Rows) -> None:
    place = Place()
    place.packet, place.time_ns = 3, 7
    assert Reader(LABELS, TO_CLIENT, rows, place, lambda _: None).frames(list(raws)) is None


def cut(*pieces: bytes) -> list[bytes]:
    return codec.FrameReader(0).cut(b"".join(pieces))


def busy(count: int = 50) -> list[bytes]:
    """Every method with a tag, content of all kinds, on channels that take turns."""
    out: list[bytes] = []
    for n in range(count):
        channel, tag = 1 + n % 3, 2**63 + n if n % 7 else n
        body, key = b"b" * (n % 5 * 3), f"k{n % 4}"
        out += cut(
            m.BasicAck(channel, tag, n % 2 == 0).encode(),
            m.BasicNack(channel, tag, False, n % 2 == 0).encode(),
            m.BasicReject(channel, tag, True).encode(),
            codec.Heartbeat().encode(),
            codec.content(m.BasicDeliver(channel, "é" * (n % 3), tag, n % 2 == 0, "x", key), body, priority=n % 3),
            codec.content(m.BasicGetOk(channel, tag, False, "x", "k", n), body * 9, frame_max=16, message_id=key),
            codec.content(m.BasicPublish(channel, 0, "x", "k", False, False), body),
            codec.content(m.BasicReturn(channel, 312, "NO_ROUTE", "x", "k"), body, headers=[("a", "I", n % 3)]),
            m.QueueDeclareOk(channel, f"q{n % 2}", n, 0).encode(),
        )
    return out


def test_rows_are_the_builders_events() -> None:
    raws = busy()
    rows = Rows("a.pcap")
    made(raws, rows)
    block = rows.take()
    assert list(block.events()) == built(raws)
    assert len(block.templates) < len(block.rows)
    assert list(block.recorded()) == [{**to_row(e), "file": "a.pcap", "packet": 3} for e in built(raws)]


CONTENT = st.sampled_from(cut(codec.content(m.BasicPublish(1, 0, "x", "k", False, False), b"body", priority=1)))


@given(st.lists(strategies.frames() | strategies.headers() | CONTENT, max_size=12))
def test_rows_are_the_builders_events_whatever_the_frames(frames: list[bytes]) -> None:
    raws = frames * 2
    rows = Rows()
    made(raws, rows)
    assert list(rows.take().events()) == built(raws)


def test_interleaved_and_incomplete_content() -> None:
    one = cut(codec.content(m.BasicDeliver(1, "c", 1, False, "", "k"), b"first" * 9, frame_max=20))
    two = cut(codec.content(m.BasicDeliver(2, "c", 1, False, "", "k"), b"second", frame_max=20))
    raws = [one[0], two[0], one[1], two[1], *one[2:4], *two[2:], *one[4:], one[2], one[0], one[1], two[0], one[0]]
    rows = Rows()
    made(raws, rows)
    assert list(rows.take().events()) == built(raws)
    assert [event.kind for event in built(raws)] == ["method", "method", "malformed", "malformed"]


def test_after_a_loss_content_may_lack_its_method() -> None:
    message = cut(codec.content(m.BasicDeliver(1, "c", 1, False, "", "k"), b"body"))
    rows, place = Rows(), Place()
    reader = Reader(LABELS, TO_CLIENT, rows, place, lambda _: None)
    reader.frames(message[:2])
    reader.lose()
    reader.frames(message[1:])
    assert rows.rows == []
    reader.frames([*message, message[2]])
    assert [event.kind for event in rows.take().events()] == ["method", "malformed"]


def test_too_many_templates_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "MOST_TEMPLATES", 20)
    raws = busy(20)
    rows, place = Rows(), Place()
    place.time_ns = 7
    reader = Reader(LABELS, TO_CLIENT, rows, place, lambda _: None)
    events: list[Event] = []
    for raw in raws:
        reader.frames([raw])
        block = rows.take()
        events += block.events()
        assert len(block.templates) <= 22
    assert events == built(raws)


def test_arrow_has_what_the_rows_of_a_recording_would_have() -> None:
    rows = Rows("a.pcap")
    made(busy(), rows)
    block = rows.take()
    found = batch(block)
    assert found.schema == ingest.ARROW
    assert found.to_pylist() == pa.Table.from_batches(list(ingest.blocks(block.recorded()))).to_pylist()
    assert list(ingest.to_events(found)) == list(block.events())
    assert batch(rows.take()).num_rows == 0


def test_a_method_that_cannot_be_decoded_is_the_codecs_problem() -> None:
    rows = Rows()
    reader = Reader(LABELS, TO_CLIENT, rows, Place(), lambda _: None)
    bad = b"\x01\0\1\0\0\0\4\0\x3c\0\xff\xce"
    problem = reader.frames([m.BasicAck(1, 1, False).encode(), bad])
    assert problem is not None
    assert problem.expected == "a method of AMQP 0-9-1"
    assert len(rows.rows) == 1
