"""Recordings: what is written is read back exactly, whatever the writer had to suffer."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import conformance
from conformance.history import recording
from conformance.history.events import Event
from conformance.history.recording import BadRecording, Recording, RecordingWriter, to_event, to_row

HEADER = {"run": "r1", "profile": "documented", "seed": 7, "suite": "0.1.0", "server_properties": {"product": "X"}}
SCHEMA = Path(conformance.__file__).parent / "schemas" / "recording.json"


def event(seq: int = 1, **changes: Any) -> Event:
    plain = Event(
        "r1",
        "X",
        "h1",
        "c1",
        1,
        seq,
        1000 + seq,
        ">",
        "method",
        60,
        80,
        "basic.ack",
        seq,
        False,
        None,
        None,
        None,
        None,
        None,
        "",
        "",
        None,
        None,
        bytes.fromhex("01000100"),
    )
    return plain._replace(**changes)


optional_text = st.none() | st.text()
events = st.builds(
    Event,
    run=st.text(min_size=1),
    broker=st.text(),
    history=st.text(min_size=1),
    connection=st.text(),
    channel=st.integers(0, 65535),
    seq=st.integers(0, 2**53),
    time_ns=st.integers(0, 2**62),
    direction=st.sampled_from("<>-"),
    kind=st.sampled_from(["method", "end"]),
    class_id=st.integers(0, 65535),
    method_id=st.integers(0, 65535),
    method=st.text(),
    delivery_tag=st.none() | st.integers(0, 2**64 - 1),
    multiple=st.none() | st.booleans(),
    consumer_tag=optional_text,
    queue=optional_text,
    exchange=optional_text,
    routing_key=optional_text,
    message_id=optional_text,
    flags=st.text(),
    arguments=st.text(),
    body_size=st.none() | st.integers(0, 2**63),
    body_hash=st.none() | st.from_regex(r"\A[0-9a-f]{16}\Z"),
    raw=st.binary(),
)


@given(events)
def test_an_event_survives_the_trip(one: Event) -> None:
    again = to_event(json.loads(json.dumps(to_row(one))))
    assert again == one
    assert list(map(type, again)) == list(map(type, one))


@given(events)
def test_every_row_follows_the_published_schema(one: Event) -> None:
    validator.validate(to_row(one))


validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))


def test_a_file_follows_the_published_schema_line_by_line(tmp_path: Path) -> None:
    path = recording.write(tmp_path, HEADER, [event()])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        validator.validate(line)
    assert lines[0]["schema"] == recording.SCHEMA
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**lines[0], "schema": "amqp-conformance/recording/2"})


def test_the_largest_delivery_tag_is_exact(tmp_path: Path) -> None:
    tags = [2**53 + 1, 2**63, 2**64 - 1]
    recording.write(tmp_path, HEADER, [event(seq, delivery_tag=tag) for seq, tag in enumerate(tags)])
    assert [one.delivery_tag for one in Recording(tmp_path).events()] == tags


def test_a_block_reaches_the_file_when_it_is_full_or_a_second_old(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path, HEADER) as writer:
        writer.write(event(1))
        assert len(list(Recording(writer.path).rows())) == 0
        writer.write(event(2, time_ns=1001 + 10**9))
        assert len(list(Recording(writer.path).rows())) == 2
        for seq in range(3, 3 + 512):
            writer.write(event(seq))
        assert len(list(Recording(writer.path).rows())) == 514
    assert writer.rows == 514


def test_several_workers_make_one_recording(tmp_path: Path) -> None:
    recording.write(tmp_path, HEADER, [event(1)], worker="gw1")
    recording.write(tmp_path, HEADER, [event(2)], worker="gw0")
    assert [one.seq for one in Recording(tmp_path).events()] == [2, 1]


def test_writing_again_appends_a_section(tmp_path: Path) -> None:
    recording.write(tmp_path, HEADER, [event(1)])
    recording.write(tmp_path, {**HEADER, "run": "r2"}, [event(2, run="r2")])
    found = Recording(tmp_path)
    assert found.runs == ["r1", "r2"]
    assert [(one.run, one.seq) for one in found.events()] == [("r1", 1), ("r2", 2)]


def test_a_torn_tail_is_skipped_and_reported(tmp_path: Path) -> None:
    path = recording.write(tmp_path, HEADER, [event(1), event(2)])
    path.write_bytes(path.read_bytes()[:-30])
    found = Recording(tmp_path)
    assert [one.seq for one in found.events()] == [1]
    assert found.torn == ["events-main.jsonl:3"]


def test_a_section_after_a_torn_tail_is_read_too(tmp_path: Path) -> None:
    path = recording.write(tmp_path, HEADER, [event(1), event(2)])
    path.write_bytes(path.read_bytes()[:-30])
    recording.write(tmp_path, HEADER, [event(3)])
    found = Recording(tmp_path)
    assert [one.seq for one in found.events()] == [1, 3]
    assert found.torn == ["events-main.jsonl:3"]


def test_headers_and_torn_lines_are_told_in_the_same_pass(tmp_path: Path) -> None:
    for seq, run in ((1, "r1"), (3, "r2")):
        path = recording.write(tmp_path, {**HEADER, "run": run}, [event(seq, run=run), event(seq + 1, run=run)])
        path.write_bytes(path.read_bytes()[:-30])
    headers, torn = list[dict[str, Any]](), list[str]()
    told = [(one.seq, one.run, headers[-1]["run"]) for one in recording.at_once(path, headers, torn)]
    assert told == [(1, "r1", "r1"), (3, "r2", "r2")]
    assert (headers, torn) == recording.scan(path)
    assert len(torn) == 2


def test_a_broken_row_in_the_middle_is_an_error(tmp_path: Path) -> None:
    path = recording.write(tmp_path, HEADER, [event(1), event(2), event(3)])
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:2], lines[2][:40] + "\n", lines[3]]))
    with pytest.raises(BadRecording, match=r"events-main.jsonl:3: broken row"):
        list(Recording(path).rows())


def test_unknown_columns_are_kept(tmp_path: Path) -> None:
    path = recording.write(tmp_path, HEADER, [])
    row = {**to_row(event()), "rtt_ns": 12, "note": {"a": 1}}
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")
    found = Recording(tmp_path)
    assert [recording.extra(one) for one in found.rows()] == [{"rtt_ns": 12, "note": {"a": 1}}]
    assert list(found.events()) == [event()]


def test_columns_that_are_left_out_have_their_defaults() -> None:
    row = {"run": "r", "history": "h", "connection": "", "seq": 3, "direction": "-", "kind": "scene"}
    made = to_event(row)
    assert (made.channel, made.method, made.delivery_tag, made.arguments, made.raw) == (0, "", None, "", b"")
    del row["history"]
    with pytest.raises(BadRecording, match="no 'history'"):
        to_event(row)


def test_an_unknown_version_is_refused_by_name(tmp_path: Path) -> None:
    path = recording.write(tmp_path, HEADER, [event()])
    path.write_text(path.read_text().replace("recording/1", "recording/9"))
    with pytest.raises(BadRecording, match=r"recording/9.*reads 'amqp-conformance/recording/1'"):
        Recording(tmp_path)


@pytest.mark.parametrize("content", ["", "hello\n", '{"run": "r1"}\n'])
def test_what_is_no_recording_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "events-main.jsonl").write_text(content)
    with pytest.raises(BadRecording, match="not a recording"):
        Recording(tmp_path)


def test_places_without_a_recording_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadRecording, match="no recording here"):
        Recording(tmp_path)
    with pytest.raises(BadRecording, match=r"missing: no such recording"):
        Recording(tmp_path / "missing")


def zstd(path: Path, content: bytes) -> None:
    with pa.output_stream(str(path), compression="zstd") as stream:
        stream.write(content)


def gz(path: Path, content: bytes) -> None:
    path.write_bytes(gzip.compress(content))


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gz), (".zst", zstd)])
def test_packed_recordings_are_read(tmp_path: Path, suffix: str, pack: Callable[[Path, bytes], None]) -> None:
    path = recording.write(tmp_path, HEADER, [event(1), event(2)])
    pack(path.with_name(path.name + suffix), path.read_bytes())
    path.unlink()
    assert [one.seq for one in Recording(tmp_path).events()] == [1, 2]
