"""Blocks: what goes into the shuffle comes out as shards, in order, in little memory, and whole or not at all."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from conformance.history import recording
from conformance.history.events import Event
from reports.pipeline import blocks, check, ingest

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


def arrow(events: Sequence[Event], size: int) -> Iterable[pa.RecordBatch]:
    return ingest.blocks(map(recording.to_row, events), size)


def shuffled(found: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    """Rows of blocks as Spark brings them to the task that writes their shard."""
    rows: list[dict[str, Any]] = [row for batch in found for row in batch.to_pylist()]
    rows.sort(key=lambda row: (row["run"], row["history"], row["first"]))
    return pa.RecordBatch.from_pylist([{**row, "shard": 0, "island": ""} for row in rows], schema=PLACED)


def through(events: Sequence[Event], size: int, directory: Path, apart: bool = False) -> list[Event]:
    told = list(blocks.written([shuffled(blocks.packed(arrow(events, size), apart))], directory))
    rows = [row for batch in told for row in batch.to_pylist()]
    found: list[Event] = []
    for row in rows:
        run = json.loads(row["part"])["run"]
        own = [event for batch in check.read(str(directory / row["path"]), run) for event in ingest.to_events(batch)]
        assert (len(own), (directory / row["path"]).stat().st_size) == (row["rows"], row["bytes"])
        found += own
    return found


def in_order(events: Iterable[Event]) -> list[Event]:
    return sorted(events, key=lambda event: (event.run, event.history, event.seq))


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(("size", "most"), [(1, 150), (7, 400), (4096, 10_000)])
def test_events_in_any_order_come_out_in_order(
    tmp_path: Path,
    mixed: list[Event],
    size: int,
    most: int,
    apart: bool,
) -> None:
    events = mixed[:most]
    for seed in range(3):
        order = random.Random(seed).sample(events, len(events)) if seed else events
        assert through(order, size, tmp_path / str(seed), apart) == in_order(events)


def long(numbers: Iterable[int], history: str = "h") -> list[Event]:
    common = {
        "run": "r/1 %",
        "broker": "b",
        "history": history,
        "connection": "c",
        "direction": "to_broker",
        "kind": "method",
    }
    return [recording.to_event({**common, "seq": seq, "delivery_tag": 2**64 - 1 - seq}) for seq in numbers]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 2**40), max_size=60, unique=True), max_size=6), st.integers(1, 30))
def test_blocks_that_overlap_are_merged(
    tmp_path_factory: pytest.TempPathFactory,
    parts: list[list[int]],
    size: int,
) -> None:
    events = [event for at, part in enumerate(parts) for event in long(part, f"h{at // 3}")]
    found = through(events, size, tmp_path_factory.mktemp("silver"))
    assert [event.seq for event in found] == [event.seq for event in in_order(events)]
    assert Counter(found) == Counter(events)


def test_what_waits_is_cut_where_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_PENDING", 50)
    kept = list[int]()
    cut = blocks._cut

    def watched(waiting: list[pa.RecordBatch], first: int) -> Any:
        early, late = cut(waiting, first)
        kept.append(sum(batch.num_rows for batch in late))
        return early, late

    monkeypatch.setattr(blocks, "_cut", watched)
    chain = [seq for at in range(0, 8_000, 40) for seq in (*range(at, at + 40, 2), *range(at + 21, at + 61, 2))]
    assert [event.seq for event in through(long(chain), 20, tmp_path)] == sorted(chain)
    assert kept
    assert max(kept) < 100


def test_out_of_order_no_more_than_a_band_waits() -> None:
    numbers = random.Random(1).sample(range(4 << blocks.BAND), 5_000)
    rows = [row for batch in blocks.packed(arrow(long(numbers), 4096)) for row in batch.to_pylist()]
    for row in rows:
        seqs = blocks.unpacked(row["packed"], row["octets"]).column("seq").to_pylist()
        assert (seqs[0], seqs) == (row["first"], sorted(seqs))
        assert seqs[0] >> blocks.BAND == seqs[-1] >> blocks.BAND


def test_a_shard_appears_whole_or_not_at_all_and_under_a_name_of_its_own(tmp_path: Path, mixed: list[Event]) -> None:
    rows = shuffled(blocks.packed(arrow(mixed, 100))).to_pylist()
    broken = pa.RecordBatch.from_pylist([*rows[:-1], {**rows[-1], "packed": b"torn"}], schema=PLACED)
    with pytest.raises((OSError, pa.ArrowException)):
        list(blocks.written([broken], tmp_path))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    for _ in range(2):
        list(blocks.written([pa.RecordBatch.from_pylist(rows, schema=PLACED)], tmp_path))
    path, again = (path for path in tmp_path.rglob("*") if path.is_file())
    assert path.name != again.name
    assert parquet.read_table(path).equals(parquet.read_table(again))
    assert parquet.read_metadata(path).num_rows == len(mixed)
