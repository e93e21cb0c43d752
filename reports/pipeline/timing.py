"""How long confirms and deliveries take, over shards: the histograms of `history.stopwatch`.

The histogram of two parts is the exact sum of theirs, so percentiles do not depend on how the work was divided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from conformance.history.stopwatch import FINENESS, Stopwatch, bucket, middle
from reports import objects
from reports.lake.columns import TIMES
from reports.pipeline.check import read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["ARROW", "DDL", "FINENESS", "TimedRow", "bucket", "latencies", "measured", "middle"]

DDL, ARROW = TIMES.ddl, TIMES.arrow
_PLACE = ("history", "island")


class TimedRow(NamedTuple):
    """The columns of an event that tell its time."""

    connection: str
    channel: int
    time_ns: int
    direction: str
    method: str
    delivery_tag: int | None
    multiple: bool | None
    message_id: str | None
    body_hash: str | None


def latencies(shards: DataFrame) -> DataFrame:
    """run, what, bucket, n: one row for each bucket of each shard that is not empty."""

    def fold(places: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for place in places:
            for run, path in zip(*(column.to_pylist() for column in place.columns), strict=True):
                yield from _batch(run, measured(_rows(path, run)))

    return shards.mapInArrow(objects.carried(fold), DDL)


def measured(rows: Iterable[tuple[tuple[str, str], TimedRow]]) -> Counter[tuple[str, int]]:
    """How many times fell into each bucket, over histories that follow each other."""
    total: Counter[tuple[str, int]] = Counter()
    for _, group in groupby(rows, key=lambda placed: placed[0]):
        watch = Stopwatch(total)
        for _, row in group:
            watch.step(row)
    return total


def _rows(path: str, run: str) -> Iterator[tuple[tuple[str, str], TimedRow]]:
    names = ("history", *TimedRow._fields)
    for batch in read(path, run, names):
        columns: Mapping[str, pa.Array] = dict(zip(batch.schema.names, batch.columns, strict=True))
        tags = columns["delivery_tag"].cast(pa.uint64())
        values = [
            tags.to_pylist() if name == "delivery_tag" else columns[name].to_pylist() for name in TimedRow._fields
        ]
        places = zip(*(columns[name].to_pylist() for name in _PLACE), strict=True)
        yield from zip(places, map(TimedRow._make, zip(*values, strict=True)), strict=True)


def _batch(run: str, counts: Mapping[tuple[str, int], int]) -> Iterator[pa.RecordBatch]:
    rows = [{"run": run, "what": what, "bucket": place, "n": n} for (what, place), n in sorted(counts.items())]
    if rows:
        yield pa.RecordBatch.from_pylist(rows, schema=ARROW)
