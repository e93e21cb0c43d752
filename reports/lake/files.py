"""The files of the lake: Parquet that Spark workers or this process write, to be named in a commit, and read.

A file gets its name when it is whole, and each name is new. So a task that is done twice writes two files, and a
commit names one of them. All rows of a file share the partition columns of its table; these stand in the log and in
the path, escaped as other writers of Delta tables do it.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from reports import objects
from reports.lake.columns import TABLES, Table
from reports.objects import Place
from reports.pipeline.ingest import tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DDL = "path STRING, part STRING, rows BIGINT, bytes BIGINT"
ARROW = pa.schema([("path", pa.string()), ("part", pa.string()), ("rows", pa.int64()), ("bytes", pa.int64())])
"""What a worker tells of a file: `File`, its part as JSON."""
_ROWS = 1 << 16
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class File:
    """One Parquet file, its path relative to its table. `part`: the values of the columns by which files lie apart."""

    path: str
    part: Mapping[str, str]
    rows: int
    bytes: int

    @property
    def run(self) -> str:
        return self.part["run"]

    @property
    def row(self) -> pa.RecordBatch:
        """As a worker tells it."""
        said = {"path": self.path, "part": json.dumps(self.part), "rows": self.rows, "bytes": self.bytes}
        return pa.RecordBatch.from_pylist([said], schema=ARROW)


def files_of_rows(rows: Iterable[Any]) -> list[File]:
    """Files of rows of DDL."""
    return [File(row["path"], json.loads(row["part"]), row["rows"], row["bytes"]) for row in rows]


# -- writing


def fresh(table: Table, part: Mapping[str, str]) -> str:
    """The path of a new file."""
    folders = [f"{name}={_escaped(part[name])}" for name in table.parts]
    return "/".join([*folders, f"{secrets.token_hex(8)}.parquet"])


def _escaped(value: str) -> str:
    """A name that is too long for a folder is cut there; the log has all of it."""
    text = quote(value, safe="")
    if len(text) <= _LONGEST:
        return text
    begin = re.sub(r"%.?$", "", text[:_LONGEST])
    return f"{begin}-{blake2b(value.encode(), digest_size=16).hexdigest()}"


def written(found: Iterable[pa.RecordBatch], root: Place, table: Table) -> Iterator[File]:
    """Writes rows to new files of the table below `root`: as many as there are parts, if they come in their order."""
    pieces = (piece for batch in found for piece in _parted(batch, table))
    for part, own in groupby(pieces, key=itemgetter(0)):
        path = fresh(table, part)
        with objects.made(objects.join(root, path)) as file:
            rows = _write(file, (batch for _, batch in own), table.inside)
            size = file.stat().st_size
        yield File(path, part, rows, size)


def _parted(batch: pa.RecordBatch, table: Table) -> Iterator[tuple[dict[str, str], pa.RecordBatch]]:
    inside = batch.select(table.inside.names).cast(table.inside)
    if not table.parts:
        yield {}, inside
        return
    (name,) = table.parts
    column = batch.column(name)
    for value in pc.unique(column).to_pylist():
        yield {name: str(value)}, inside.filter(pc.equal(column, value))


def _write(path: Path, found: Iterable[pa.RecordBatch], schema: pa.Schema) -> int:
    held: list[pa.RecordBatch] = []
    rows = waiting = 0
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in found:
            held.append(batch)
            rows, waiting = rows + batch.num_rows, waiting + batch.num_rows
            if waiting >= _ROWS:
                writer.write_table(pa.Table.from_batches(held))
                held, waiting = [], 0
        if held:
            writer.write_table(pa.Table.from_batches(held, schema))
    return rows


def kept(frame: DataFrame, root: Place, table: Table) -> list[File]:
    """The rows of a frame of Spark, written by its workers."""
    write = objects.carried(partial(_kept, root, table.name))
    return files_of_rows(frame.select(*table.arrow.names).mapInArrow(write, DDL).collect())


def _kept(root: Place, table: str, found: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for file in written(found, root, TABLES[table]):
        yield file.row


# -- reading


def batches(
    where: Place,
    table: Table,
    part: Mapping[str, str],
    columns: Sequence[str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows of a file, or these columns of them, with those that all of them share."""
    schema = pa.schema([table.arrow.field(name) for name in columns or table.arrow.names])
    asked = [name for name in schema.names if name not in part]
    with objects.here(where) as path, parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(_ROWS, columns=asked, use_threads=False):
            shared = {
                name: pa.repeat(pa.scalar(value).cast(schema.field(name).type), batch.num_rows)
                for name, value in part.items()
                if name in schema.names
            }
            arrays = [
                shared[one.name] if one.name in shared else batch.column(one.name).cast(one.type) for one in schema
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def scan(
    spark: SparkSession,
    root: Place,
    table: Table,
    files: Sequence[File],
    columns: Sequence[str] | None = None,
) -> DataFrame:
    """The rows of these files, or these columns of them, read by workers."""
    names = list(columns or table.arrow.names)
    if not files:
        return spark.createDataFrame([], table.ddl).select(*names)
    listed = [(json.dumps(file.part), str(objects.join(root, file.path))) for file in files]
    parallel = int(spark.conf.get("spark.sql.shuffle.partitions") or 8)
    found = tasks(spark, listed, min(len(listed), 4 * parallel))
    return found.mapInArrow(objects.carried(partial(_scanned, table.name, names)), table.ddl_of(names))


def _scanned(table: str, columns: Sequence[str], found: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in found:
        for part, where in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield from batches(where, TABLES[table], json.loads(part), columns)
