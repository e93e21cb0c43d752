"""Rows of Parquet that are named and not packed: the same shards, from any row groups, and only where that is cheap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from conformance.history import recording
from conformance.history.events import Event
from reports import parquet
from reports.pipeline import blocks, check, ingest, places

HEADER = {"run": "r", "profile": "documented", "broker": "Birch 2.9"}
PLACED = pa.schema(
    [
        ("run", pa.string()),
        ("shard", pa.int32()),
        ("history", pa.string()),
        ("island", pa.string()),
        ("first", pa.int64()),
        ("octets", pa.int32()),
        ("packed", pa.binary()),
    ]
)


def events(history: str, numbers: Iterable[int]) -> list[Event]:
    common = {"run": "r", "broker": "b", "history": history, "connection": "c", "direction": ">", "kind": "method"}
    return [recording.to_event({**common, "seq": seq, "raw": "ab" * (seq % 5)}) for seq in numbers]


def recorded(file: Path, groups: Sequence[Sequence[Event]]) -> Path:
    """A recording in Parquet with these row groups."""
    parquet.write(file, [HEADER], [])
    with pq.ParquetWriter(file, pq.read_schema(file)) as writer:
        for group in groups:
            (batch,) = ingest.blocks(map(recording.to_row, group), len(group))
            writer.write_batch(batch.cast(writer.schema))
    return file


def silver(files: Iterable[Path], directory: Path) -> list[Event]:
    rows = [row for file in files for batch in blocks.of_file(file) for row in batch.to_pylist()]
    rows.sort(key=lambda row: (row["history"], row["first"]))
    shuffled = pa.RecordBatch.from_pylist([{**row, "shard": 0, "island": ""} for row in rows], schema=PLACED)
    (told,) = (row for batch in blocks.written([shuffled], directory) for row in batch.to_pylist())
    found = check.read(str(directory / told["path"]), "r")
    read = [event for batch in found for event in ingest.to_events(batch)]
    assert len(read) == told["rows"]
    return read


def packed(file: Path) -> list[bool]:
    """Of each block of the file: is it packed?"""
    return [octets > 0 for batch in blocks.of_file(file) for octets in batch.column("octets").to_pylist()]


ODD, EVEN = events("a", range(1, 400, 2)), events("a", range(2, 400, 2))
OTHER = events("b", range(1, 300))
NEAR, FAR = list(reversed(ODD)), events("a", (7 * number % 2000 for number in range(1, 400)))
"""Out of order: numbers that are near each other, and numbers from all over a history."""


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([ODD], [False]),
        ([ODD, EVEN], [False, False]),
        ([[*ODD[:50], *OTHER[:70]]], [False, False]),
        ([[*ODD[:50], *OTHER, *EVEN[:50]]], [True, True]),
        ([NEAR], [False]),
        ([NEAR, list(reversed(EVEN))], [False, False]),
        ([[*NEAR, *OTHER[200:], *OTHER[:100]]], [False, False]),
        ([[*NEAR, *reversed(OTHER)]], [False, False]),
        ([FAR], [True]),
        ([OTHER, FAR], [False, True]),
    ],
)
def test_what_lies_near_each_other_is_named_and_all_of_it_arrives(
    tmp_path: Path,
    groups: list[list[Event]],
    expected: list[bool],
) -> None:
    file = recorded(tmp_path / "events-a.parquet", groups)
    assert packed(file) == expected
    every = [event for group in groups for event in group]
    assert silver([file], tmp_path) == sorted(every, key=lambda event: (event.history, event.seq))


def test_files_that_overlap_are_merged_named_or_packed(tmp_path: Path) -> None:
    files = [
        recorded(tmp_path / "events-a.parquet", [ODD[:90], ODD[90:]]),
        recorded(tmp_path / "events-b.parquet", [list(reversed(EVEN)), OTHER]),
        recorded(tmp_path / "events-c.parquet", [events("a", (7 * number % 2000 + 400 for number in range(400)))]),
    ]
    assert [packed(file) for file in files] == [[False, False], [False, False], [True]]
    every = [*ODD, *EVEN, *OTHER, *recording.events(files[2])]
    assert silver(files, tmp_path) == sorted(every, key=lambda event: (event.history, event.seq))


def test_a_row_group_that_is_too_large_to_hold_is_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = recorded(tmp_path / "events-a.parquet", [ODD])
    monkeypatch.setattr(places, "ROWS", len(ODD) - 1)
    assert packed(file) == [True]


def test_a_file_that_was_written_again_is_opened_again(tmp_path: Path) -> None:
    for group in (ODD, OTHER):
        file = recorded(tmp_path / "events-a.parquet", [group])
        assert silver([file], tmp_path) == group
