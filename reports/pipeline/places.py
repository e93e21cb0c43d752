"""Rows of Parquet that stay where they are: what is shuffled names them, and the worker that has the shard reads them.

A recording in Parquet whose row groups are of one history each, in order, need not be packed, sent and unpacked: the
first look takes its keys only. A *place* says which rows of which row group are meant. A row group of more histories
would be read once for each of them, so more than MOST of them are not named but packed, and so are rows out of order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from reports.pipeline.ingest import ARROW

MOST = 2
ROWS, OCTETS = 1 << 17, 1 << 26
"""What a reader has to hold at once, of a row group as it lies in memory."""
_KEYS = "run", "history", "seq"

Named = tuple[str, str, int, bytes]
"""Run, history, number of the first event, and the place."""


def named(source: parquet.ParquetFile, file: Path, group: int) -> list[Named]:
    """The rows of this row group by their places; none where they had better be packed."""
    about = source.metadata.row_group(group)
    if not 0 < about.num_rows <= ROWS or about.total_byte_size > OCTETS:
        return []
    keys = source.read_row_group(group, columns=list(_KEYS), use_threads=False)
    columns = [keys.column(name).combine_chunks() for name in _KEYS]
    changes = np.zeros(about.num_rows - 1, np.bool_)
    for column in columns[:2]:
        coded = column.dictionary_encode().indices.to_numpy()
        changes |= coded[1:] != coded[:-1]
    begins = [0, *(np.flatnonzero(changes) + 1).tolist()]
    if len(begins) > MOST or np.any(~changes & (np.diff(columns[2].to_numpy()) < 0)):
        return []
    return [
        (*(column[begin].as_py() for column in columns), _place(file, group, begin, end))
        for begin, end in zip(begins, [*begins[1:], about.num_rows], strict=True)
    ]


def _place(file: Path, group: int, begin: int, end: int) -> bytes:
    return json.dumps([str(file), group, begin, end]).encode()


def rows(place: bytes) -> pa.RecordBatch:
    """The events there, in the columns of `ingest`."""
    file, group, begin, end = json.loads(place)
    known = Path(file).stat()
    source = _opened(file, known.st_mtime_ns, known.st_size)
    return whole(source.read_row_group(group, columns=ARROW.names, use_threads=False)).slice(begin, end - begin)


def whole(table: pa.Table) -> pa.RecordBatch:
    """A table that is not empty as one batch in the columns of `ingest`."""
    batch, = table.select(ARROW.names).replace_schema_metadata().combine_chunks().to_batches()
    return batch


def batches(source: parquet.ParquetFile, group: int, size: int) -> Iterator[pa.RecordBatch]:
    """The events of one row group."""
    yield from source.iter_batches(size, row_groups=[group], columns=ARROW.names, use_threads=False)


@lru_cache(maxsize=16)
def _opened(file: str, *state: int) -> parquet.ParquetFile:
    """Opened once, as what it says of its row groups is long; `state`: when it was written last, and its size."""
    return parquet.ParquetFile(file, pre_buffer=False)
