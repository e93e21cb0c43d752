"""Recordings as Parquet hold what JSONL holds, to the last column."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from conformance.history import recording
from conformance.history.events import Event
from conformance.history.recording import BadRecording, Recording
from reports import parquet
from reports.pipeline import ingest

HEADER = {"run": "r1", "profile": "documented", "broker": "Birch 2.9"}


@pytest.fixture
def lines(tmp_path: Path, mixed: list[Event]) -> Path:
    """A recording as lines, in two sections, with a column that we do not know and the largest tag there is."""
    first, *rest = mixed
    recording.write(tmp_path / "lines", HEADER, rest)
    path = recording.write(tmp_path / "lines", {**HEADER, "run": "r2"}, [first._replace(delivery_tag=2**64 - 1)])
    row = {**recording.to_row(first), "seq": 10**6, "packet": 17, "file": "a.pcap"}
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")
    return path.parent


def test_what_is_converted_is_the_same_rows_and_headers(lines: Path, tmp_path: Path) -> None:
    written = parquet.convert(lines, tmp_path / "columns" / "events-main.parquet")
    before, after = Recording(lines), Recording(tmp_path / "columns")
    assert after.files == [written]
    assert after.headers == before.headers
    assert list(after.rows()) == list(before.rows())
    assert any(row.get("packet") == 17 for row in after.rows())
    assert list(after.events()) == list(before.events())


def test_columns_reach_the_pipeline_as_lines_do(lines: Path, tmp_path: Path) -> None:
    written = parquet.convert(lines, tmp_path / "events-main.parquet")
    files = Recording(lines).files
    expected = pa.Table.from_batches([batch for file in files for batch in ingest.batches_of(file)])
    assert pa.Table.from_batches(list(ingest.batches_of(written))).equals(expected)


def test_parquet_that_is_no_recording_is_refused_in_words(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "events-a.parquet")
    with pytest.raises(BadRecording, match="Parquet, but no recording"):
        Recording(tmp_path)
    (tmp_path / "events-a.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(BadRecording, match="cannot be read as Parquet"):
        Recording(tmp_path)


def test_another_schema_is_refused_by_name(tmp_path: Path) -> None:
    path = parquet.write(tmp_path / "events-a.parquet", [{**HEADER, "schema": "amqp-conformance/recording/9"}], [])
    with pytest.raises(BadRecording, match="recording/9"):
        Recording(path)


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(BadRecording, match="has no"):
        parquet.write(tmp_path / "events-a.parquet", [HEADER], [{"run": "r1"}])
    assert list(tmp_path.iterdir()) == []
