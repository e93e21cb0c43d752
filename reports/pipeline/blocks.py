"""What the one big shuffle moves: blocks of columns, not rows.

A row of Spark costs half as much as judging an event: Spark takes it out of its columns, makes it of its texts again,
sorts it with all its octets, and puts it into columns once more. So a *block* is shuffled instead: some events of one
history, or of one connection of it, in the order of seq, as packed Arrow octets in a single row with the number of the
first event. Spark partitions and sorts these rows, and need not know what is inside. Rows of Parquet that are in order
already are only named in a block (`places`), and read when their shard is written.

A worker that gets the blocks of a shard in the order of their first events merges them and writes the shard. It holds
only the blocks that overlap: about one block if events came in order, else at most a BAND of seq.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from reports import objects
from reports import parquet as recorded
from reports.lake.columns import SILVER
from reports.lake.files import File, fresh
from reports.objects import Place
from reports.pipeline import places
from reports.pipeline.ingest import ARROW, BLOCK, WORDS, batches_of, tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DDL = "run STRING, history STRING, connection STRING, first BIGINT, octets INT, packed BINARY"
_BLOCKS = pa.schema(
    [
        *((name, pa.string()) for name in ("run", "history", "connection")),
        ("first", pa.int64()),
        ("octets", pa.int32()),
        ("packed", pa.binary()),
    ]
)
BAND = 16
"""Events that come in no order are packed by 2**BAND numbers of seq."""

_WORD = pa.dictionary(pa.int32(), pa.string())
_EVENTS = pa.schema([(one.name, _WORD if one.name in WORDS else one.type) for one in ARROW if one.name != "run"])
_SHARD = _EVENTS.append(pa.field("island", _WORD))
_OWN = ("seq", "time_ns", "delivery_tag", "message_id", "arguments", "body_hash", "raw", "extra")
_ALIKE = [name for name in _SHARD.names if name not in _OWN]
_SOUGHT = ["kind", "seq", "time_ns"]
_CODEC = "zstd"
_ROWS, _OCTETS = 1 << 16, 24 << 20
_PENDING, _RUN, _TAKEN = 1 << 14, 32, 1 << 13

Row = tuple[str, str, str, int, int, bytes]
"""Run, history, connection, number of the first event, octets, packed."""


class Block(NamedTuple):
    """A row of the shuffle, placed: columns as in `packed`, and `octets` 0 where that is a place."""

    run: str
    shard: int
    history: str
    island: str
    first: int
    octets: int
    packed: bytes

    @property
    def events(self) -> pa.RecordBatch:
        """Its events in the columns of a shard."""
        found = unpacked(self.packed, self.octets)
        columns = map(_worded, (found.column(name) for name in _EVENTS.names), _EVENTS.types)
        return pa.RecordBatch.from_arrays(list(columns), schema=_EVENTS)


def read(spark: SparkSession, files: Sequence[Path]) -> DataFrame:
    """The events of files of recordings as blocks, packed where they were read."""
    listed = [("", objects.origin(file.resolve())) for file in files]
    return tasks(spark, listed).mapInArrow(objects.carried(_read), DDL)


def _read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for path in batch.column("path").to_pylist():
            with objects.here(path) as file:
                yield from of_file(file, stays=not objects.is_address(path))


def of_file(file: Path, *, stays: bool = True) -> Iterator[pa.RecordBatch]:
    """The blocks of one file of a recording. `stays`: other workers find it at the same place."""
    if file.suffix != ".parquet":
        yield from packed(batches_of(file))
        return
    recorded.headers(file)
    with parquet.ParquetFile(file, pre_buffer=False) as source:
        for group in range(source.num_row_groups):
            if stays and (known := places.named(file, group)):
                yield _rows((run, history, "", first, 0, place) for run, history, first, place in known)
            else:
                yield from packed(places.batches(source, group, BLOCK))


def packed(batches: Iterable[pa.RecordBatch], apart: bool = False) -> Iterator[pa.RecordBatch]:
    """Events as blocks, each of one history, or where they are kept `apart`, of one connection."""
    for batch in batches:
        if batch.num_rows:
            yield _rows(_row(part, apart) for part in _parts(batch, apart))


def _rows(made: Iterable[Row]) -> pa.RecordBatch:
    columns = zip(zip(*made, strict=True), _BLOCKS.types, strict=True)
    return pa.RecordBatch.from_arrays([pa.array(values, kind) for values, kind in columns], schema=_BLOCKS)


def unpacked(octets: bytes, size: int) -> pa.RecordBatch:
    """The events of a block, in the columns of `ingest`."""
    if not size:
        return places.rows(octets)
    return pa.ipc.read_record_batch(pa.decompress(octets, size, codec=_CODEC), ARROW)


def events_of(blocks: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The events of rows of blocks."""
    for octets, size in zip(blocks.column("packed").to_pylist(), blocks.column("octets").to_pylist(), strict=True):
        yield unpacked(octets, size)


def written(found: Iterable[pa.RecordBatch], root: Place) -> Iterator[pa.RecordBatch]:
    """Writes shards as files of the table `silver` below `root`, from blocks sorted by shard, history, island and first
    event, and tells of each."""
    blocks = (block for batch in found for block in _blocks(batch))
    for (run, shard), own in groupby(blocks, attrgetter("run", "shard")):
        part = {"run": run, "shard": str(shard)}
        path = fresh(SILVER, part)
        with objects.made(objects.join(root, path)) as file:
            rows = _write(file, own)
            size = file.stat().st_size
        yield File(path, part, rows, size).row


# -- to blocks


def _parts(batch: pa.RecordBatch, apart: bool) -> Iterator[pa.RecordBatch]:
    """The batch cut by history, each part in the order of seq; by BAND as well where they are out of order."""
    seq = batch.column("seq").to_numpy()
    group = _groups(batch, apart)
    order = np.argsort(group, kind="stable")
    group, seq = group[order], seq[order]
    same = group[1:] == group[:-1]
    band = np.zeros(len(seq), np.int64)
    if np.any(same & (seq[1:] < seq[:-1])):
        again = np.lexsort((seq, group))
        order, seq = order[again], seq[again]
        band = seq >> BAND
    if np.any(order[1:] < order[:-1]):
        batch = batch.take(pa.array(order))
    ends = np.flatnonzero(~same | (band[1:] != band[:-1])) + 1
    for begin, end in zip([0, *ends], [*ends, len(seq)], strict=True):
        yield batch.slice(begin, end - begin)


def _groups(batch: pa.RecordBatch, apart: bool) -> np.ndarray[Any, np.dtype[np.int64]]:
    """A number for each event, the same for those that belong together."""
    group = np.zeros(batch.num_rows, np.int64)
    for name in ("run", "history", "connection") if apart else ("run", "history"):
        column = batch.column(name).dictionary_encode()
        group = group * len(column.dictionary) + column.indices.to_numpy()
    return group


def _row(part: pa.RecordBatch, apart: bool) -> Row:
    octets = part.serialize()
    run, history, connection, first = (part.column(name)[0].as_py() for name in ("run", "history", "connection", "seq"))
    return run, history, connection if apart else "", first, octets.size, pa.compress(octets, _CODEC, asbytes=True)


# -- to shards


def _worded(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Words in dictionaries: what is merged and written is then their numbers."""
    return column if column.type == wanted else column.dictionary_encode()


def _blocks(batch: pa.RecordBatch) -> Iterator[Block]:
    columns = [batch.column(name) for name in Block._fields]
    for at in range(batch.num_rows):
        yield Block(*(column[at].as_py() for column in columns))


def _write(path: Path, blocks: Iterable[Block]) -> int:
    rows = 0
    with parquet.ParquetWriter(
        path,
        _SHARD,
        compression=_CODEC,
        use_dictionary=_ALIKE,
        write_statistics=_SOUGHT,
        store_schema=False,
    ) as writer:
        for table in _groups_of(_sorted(blocks)):
            writer.write_table(table)
            rows += table.num_rows
    return rows


def _groups_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches put together to row groups."""
    held: list[pa.RecordBatch] = []
    rows = octets = 0
    for batch in batches:
        held.append(batch)
        rows, octets = rows + batch.num_rows, octets + batch.nbytes
        if rows >= _ROWS or octets >= _OCTETS:
            yield pa.Table.from_batches(held).unify_dictionaries()
            held, rows, octets = [], 0, 0
    if held:
        yield pa.Table.from_batches(held).unify_dictionaries()


def _sorted(blocks: Iterable[Block]) -> Iterator[pa.RecordBatch]:
    """The events of a shard in their order, in its columns."""
    for (_, island), own in groupby(blocks, attrgetter("history", "island")):
        for batch in _merged(own):
            named = pa.DictionaryArray.from_arrays(np.zeros(batch.num_rows, np.int32), [island])
            yield batch.append_column("island", named)


def _merged(blocks: Iterable[Block]) -> Iterator[pa.RecordBatch]:
    """Blocks by their first event to batches in the order of seq. What may yet be preceded waits."""
    waiting: list[pa.RecordBatch] = []
    rows, last, most = 0, -1, _PENDING
    for block in blocks:
        if block.first > last:
            yield from _in_order(waiting)
            waiting, rows, most = [], 0, _PENDING
        elif rows > most:
            early, late = _cut(waiting, block.first)
            yield from early
            waiting, rows = late, sum(batch.num_rows for batch in late)
            most = max(_PENDING, 2 * rows)
        waiting.append(block.events)
        rows, last = rows + waiting[-1].num_rows, max(last, waiting[-1].column("seq").to_numpy().max())
    yield from _in_order(waiting)


def _in_order(waiting: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    if not waiting:
        return
    seq = np.concatenate([batch.column("seq").to_numpy() for batch in waiting])
    order = np.argsort(seq, kind="stable")
    starts = np.cumsum([0, *(batch.num_rows for batch in waiting)])
    source = np.searchsorted(starts, order, "right") - 1
    turns = np.flatnonzero((np.diff(order) != 1) | (np.diff(source) != 0)) + 1
    if len(turns) * _RUN > len(order):
        whole = waiting[0] if len(waiting) == 1 else pa.concat_batches(waiting)
        for begin in range(0, len(order), _TAKEN):
            yield whole.take(pa.array(order[begin : begin + _TAKEN]))
        return
    for begin, end in zip([0, *turns], [*turns, len(order)], strict=True):
        yield waiting[source[begin]].slice(order[begin] - starts[source[begin]], end - begin)


def _cut(waiting: list[pa.RecordBatch], first: int) -> tuple[list[pa.RecordBatch], list[pa.RecordBatch]]:
    """What comes before this number, and the rest."""
    early, late = [], []
    for batch in _in_order(waiting):
        at = int(np.searchsorted(batch.column("seq").to_numpy(), first))
        early.append(batch.slice(0, at))
        late.append(batch.slice(at))
    return [batch for batch in early if batch.num_rows], [batch for batch in late if batch.num_rows]
