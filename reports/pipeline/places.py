"""Rows of Parquet that stay where they are: the shuffle moves only their places; the worker of the shard reads them.

If the row groups of a Parquet recording hold one history each, its rows need not be packed, sent and unpacked; the
first pass reads only its keys. A *place* says which rows of which row group are meant. A row group with more histories
would be read once for each of them, so if it has more than MOST, its rows are packed instead. The worker sorts rows
that are out of order, if they are near each other: their numbers of seq span at most SPREAD times as many as there are
rows. If the rows of a history are scattered over its files, they are packed, because the worker would have to hold too
many of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from reports.pipeline.ingest import ARROW, WORDS

MOST, SPREAD = 2, 4
ROWS, OCTETS = 1 << 17, 5 << 24
"""What a reader has to hold at once, of a row group as it lies in memory."""
_KEYS = "run", "history", "seq"

Named = tuple[str, str, int, bytes]
"""Run, history, number of the first event, and the place."""


def named(file: Path, group: int) -> list[Named]:
    """The rows of this row group by their places; none where they had better be packed."""
    source = _opened(*_now(file))
    about = source.metadata.row_group(group)
    if not 0 < about.num_rows <= ROWS or about.total_byte_size > OCTETS:
        return []
    keys = source.read_row_group(group, columns=list(_KEYS), use_threads=False)
    run, history, seq = (keys.column(name).combine_chunks() for name in _KEYS)
    changes = np.logical_or.reduce([np.diff(_coded(column)) != 0 for column in (run, history)])
    begins = [0, *(np.flatnonzero(changes) + 1).tolist(), about.num_rows]
    if len(begins) - 1 > MOST:
        return []
    found = []
    for begin, end in pairwise(begins):
        numbers = seq[begin:end].to_numpy()
        first = int(numbers.min())
        if np.any(np.diff(numbers) < 0) and int(numbers.max()) - first >= SPREAD * (end - begin):
            return []
        found.append((run[begin].as_py(), history[begin].as_py(), first, _place(file, group, begin, end)))
    return found


def _coded(column: pa.Array) -> NDArray[np.int32]:
    codes: NDArray[np.int32] = column.dictionary_encode().indices.to_numpy()
    return codes


def _place(file: Path, group: int, begin: int, end: int) -> bytes:
    return json.dumps([str(file), group, begin, end]).encode()


def rows(place: bytes) -> pa.RecordBatch:
    """The events there as they lie, in the columns of `ingest`, words in dictionaries."""
    file, group, begin, end = json.loads(place)
    source = _opened(*_now(Path(file)))
    return whole(source.read_row_group(group, columns=ARROW.names, use_threads=False)).slice(begin, end - begin)


def whole(table: pa.Table) -> pa.RecordBatch:
    """A table that is not empty as one batch in the columns of `ingest`."""
    (batch,) = table.select(ARROW.names).replace_schema_metadata().combine_chunks().to_batches()
    return batch


def batches(source: parquet.ParquetFile, group: int, size: int) -> Iterator[pa.RecordBatch]:
    """The events of one row group."""
    yield from source.iter_batches(size, row_groups=[group], columns=ARROW.names, use_threads=False)


def _now(file: Path) -> tuple[str, int, int]:
    """The file, when it was written last, and its size."""
    known = file.stat()
    return str(file), known.st_mtime_ns, known.st_size


@lru_cache(maxsize=16)
def _opened(file: str, *state: int) -> parquet.ParquetFile:
    """Opened once, as what it says of its row groups is long. Words stay in the dictionaries that they are in."""
    return parquet.ParquetFile(file, pre_buffer=False, read_dictionary=["run", *WORDS])
