"""From a recording to a DataFrame: one task per file, read by the same reader that everything else uses.

So torn lines, unknown versions and packed files mean the same everywhere. Columns are the fields of `Event`, with
declared types. A delivery tag has 64 bits without a sign; Spark has no such integer, so it is a decimal. Fields that
an event does not know stay in `extra`, as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from conformance.history.events import Event
from conformance.history.recording import Recording, extra, known, to_event

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TAG = pa.decimal128(20, 0)
_TYPES: Mapping[str, tuple[str, pa.DataType]] = {
    "channel": ("INT", pa.int32()),
    "seq": ("BIGINT", pa.int64()),
    "time_ns": ("BIGINT", pa.int64()),
    "class_id": ("INT", pa.int32()),
    "method_id": ("INT", pa.int32()),
    "delivery_tag": ("DECIMAL(20,0)", TAG),
    "multiple": ("BOOLEAN", pa.bool_()),
    "body_size": ("BIGINT", pa.int64()),
    "raw": ("BINARY", pa.binary()),
}
_TEXT = "STRING", pa.string()
COLUMNS = (*Event._fields, "extra")
WORDS = (
    "broker",
    "history",
    "connection",
    "direction",
    "kind",
    "method",
    "consumer_tag",
    "queue",
    "exchange",
    "routing_key",
    "flags",
)
"""Columns in which few texts come again and again."""
DDL = ", ".join(f"{name} {_TYPES.get(name, _TEXT)[0]}" for name in COLUMNS)
ARROW = pa.schema([(name, _TYPES.get(name, _TEXT)[1]) for name in COLUMNS])
TASK = "run STRING, path STRING"
BLOCK = 4096
event: Callable[[Iterable[Any]], Event] = partial(tuple.__new__, Event)
"""An event of its fields, as Event._make, and twice as fast."""


def events(spark: SparkSession, recording: Recording) -> DataFrame:
    """The events of a recording, in no particular order."""
    return events_of(spark, recording.files)


def events_of(spark: SparkSession, files: Sequence[Path]) -> DataFrame:
    """The events of these files of recordings, one task a file."""
    return tasks(spark, [("", str(file.resolve())) for file in files]).mapInArrow(_read, DDL)


def tasks(spark: SparkSession, files: Sequence[tuple[str, str]], number: int | None = None) -> DataFrame:
    """run, path: one row for each of these, in their order, so the largest had better be first; one task for each, or
    so many tasks."""
    from pyspark.sql import functions as f

    if not files:
        return spark.createDataFrame([], TASK)
    listed = f.from_json(f.lit(json.dumps(files)), "ARRAY<ARRAY<STRING>>")
    one = spark.range(0, len(files), 1, number or len(files)).select(listed[f.col("id").cast("INT")].alias("one"))
    return one.select(f.col("one")[0].alias("run"), f.col("one")[1].alias("path"))


def _read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for path in batch.column("path").to_pylist():
            yield from batches_of(Path(path))


def batches_of(file: Path) -> Iterator[pa.RecordBatch]:
    """The events of one file of a recording; Parquet has them in columns already."""
    if file.suffix == ".parquet":
        from reports import parquet

        yield from parquet.batches(file)
    else:
        yield from blocks(known(file))


def blocks(found: Iterable[Event | Mapping[str, Any]], size: int = BLOCK) -> Iterator[pa.RecordBatch]:
    """Rows of a recording, or their events, as Arrow batches of at most `size` rows."""
    source = iter(found)
    while block := list(islice(source, size)):
        events = (row if isinstance(row, Event) else to_event(row) for row in block)
        columns = dict(zip(Event._fields, zip(*events, strict=True), strict=True))
        columns["delivery_tag"] = tuple(map(_decimal, columns["delivery_tag"]))
        columns["extra"] = tuple(map(_extra, block))
        yield pa.RecordBatch.from_pydict(columns, schema=ARROW)


def to_events(batch: pa.RecordBatch) -> Iterator[Event]:
    """The events of an Arrow batch."""
    columns = [_values(batch.column(name)) for name in Event._fields]
    return map(event, zip(*columns, strict=True))


def _values(column: pa.Array) -> list[Any]:
    """A column as plain values: of a dictionary each word once, tags by way of integers, which is faster."""
    if pa.types.is_dictionary(column.type):
        words = [*column.dictionary.to_pylist(), None]
        return [words[at] for at in column.indices.fill_null(len(words) - 1).to_pylist()]
    values: list[Any] = (column.cast(pa.uint64()) if pa.types.is_decimal(column.type) else column).to_pylist()
    return values


def _decimal(tag: int | None) -> Decimal | None:
    return None if tag is None else Decimal(tag)


def _extra(row: Event | Mapping[str, Any]) -> str | None:
    unknown = None if isinstance(row, Event) else extra(row)
    return json.dumps(unknown, sort_keys=True) if unknown else None
