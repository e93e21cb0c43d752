"""Captures and recordings as data sources of Spark: the same rows that the readers give, however the files lie."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks import packets
from benchmarks.packets import BEGIN_NS, Seg, moved
from conformance.history import recording
from conformance.history.recording import BadRecording
from reports import parquet
from reports.capture.capture import Capture
from reports.pipeline import ingest, sources

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    """All rows in the order of histories."""
    found = [tuple(row[name] for name in ingest.COLUMNS) for row in frame.collect()]
    return sorted(found, key=lambda row: (row[0], row[2], row[5]))


def write(path: Path, segments: list[Seg], begin: int = 0) -> Path:
    timed = [moved(seg, time_ns=BEGIN_NS + (begin + n) * 1000) for n, seg in enumerate(segments)]
    path.write_bytes(packets.pcap(packets.packets(timed)))
    return path


def test_captures_are_read_as_the_reader_reads_them(spark: SparkSession, tmp_path: Path, talks: Any) -> None:
    one = write(tmp_path / "one.pcap", talks.whole())
    two = write(tmp_path / "two.pcap", talks.whole(broker=("10.0.0.2", 5672)))
    (tmp_path / "notes.txt").write_text("not a capture")
    found = rows(sources.captures(spark, [one, two]))
    assert [row[:24] for row in found] == [
        tuple(event) for path in (one, two) for event in Capture([path], name=path.name).events()
    ]
    assert '"packet": ' in found[-1][24]
    sources.register(spark)
    assert rows(spark.read.format("amqp_capture").load(str(tmp_path))) == found
    by_pattern = sources.CaptureSource({"path": str(tmp_path / "*.pcap"), "ports": "5672,1"}).reader(None)
    assert [Path(part.value.file) for part in by_pattern.partitions()] == [one, two]


def test_recordings_are_read_from_lines_and_columns(spark: SparkSession, tmp_path: Path, talks: Any) -> None:
    events = list(Capture([write(tmp_path / "one.pcap", talks.whole())]).events())
    recording.write(tmp_path / "lines", {"run": "r1"}, events)
    parquet.convert(tmp_path / "lines", tmp_path / "columns" / "events-main.parquet")
    sources.register(spark)
    reader: Callable[[str], DataFrame] = spark.read.format("amqp_recording").load
    lines, columns = (rows(reader(str(tmp_path / name))) for name in ("lines", "columns"))
    assert lines == columns
    assert [row[:24] for row in lines] == list(map(tuple, events))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "name what to read"),
        ({"path": "/nowhere/at/all.pcap"}, "No capture in"),
        ({"path": "/", "ports": "amqp"}, "ports=amqp: give TCP ports"),
    ],
)
def test_wrong_use_is_refused_in_words(options: dict[str, str], words: str) -> None:
    with pytest.raises(BadRecording, match=words):
        sources.CaptureSource(options).reader(None).partitions()


def split(path: Path, segments: list[Seg], cuts: list[int]) -> list[Path]:
    """A ring of files, cut at these packets."""
    ends = [0, *cuts, len(segments)]
    return [
        write(path.with_name(f"{path.name}{number}"), segments[begin:end], begin)
        for number, (begin, end) in enumerate(pairwise(ends))
    ]


def test_a_ring_is_read_file_by_file_and_tied(spark: SparkSession, tmp_path: Path, talks: Any) -> None:
    segments = talks.many()
    files = split(tmp_path / "ring.pcap", segments, [31, 200, 333])
    found = rows(sources.captures(spark, files))
    expected = [tuple(event) for event in Capture(files, name="ring.pcap").events()]
    told = [row[:3] + row[4:5] + row[6:24] for row in found if row[8] != "observed"]
    assert told == [row[:3] + row[4:5] + row[6:] for row in expected if row[8] != "observed"]
    assert len({row[3] for row in found}) == len({row[3] for row in expected})
