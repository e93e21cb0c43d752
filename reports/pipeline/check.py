"""Silver to gold: the live Judge, folded over histories on Spark, to findings and coverage.

A shard holds whole histories, sorted; a task reads its shard with pyarrow, batch by batch, and nothing is shuffled.
At any time it holds one batch and one Judge, so memory does not grow with the length of a history or with their
number. Where one history ends and the next begins shows in the rows; a seq that does not rise is refused.
`check` does the same for events that nobody has sharded, with a shuffle before it.

Whether a history was recorded to its end shows in it as well: every connection that opened has ended. A run that was
killed leaves histories of which this is not true, and they are judged as incomplete.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import chain, groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from conformance.catalogue import profiles
from conformance.catalogue.profiles import Profile
from conformance.history.events import METHOD, Event
from conformance.history.recording import BadRecording
from reports import objects
from reports.judging.gold import DOUBT, EXERCISED, FINDING, MET, REPORT, Row, fold_one, rows_of
from reports.judging.world import NEVER, Closed, Torn
from reports.lake.columns import GOLD
from reports.pipeline.ingest import WORDS, to_events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = [
    "DOUBT",
    "EXERCISED",
    "FINDING",
    "MET",
    "REPORT",
    "Row",
    "check",
    "fold_one",
    "gold",
    "judged",
    "read",
    "rows_of",
    "torn",
]

DDL, ARROW = GOLD.ddl, GOLD.arrow

READ = ("basic.publish", "connection.start-ok")
"""Methods of which the judge reads the octets."""
_FULL = 2000
_PLACE = "run", "history", "island"
Place = tuple[str, str]
_TORN = "history", "seq", "connection", "direction", "kind", "arguments"
_WHOLE = pa.schema([("run", pa.string()), ("history", pa.string()), ("upto", pa.int64())])
"""Events that agree in these are judged together."""


def check(events: DataFrame, profile_of_run: Mapping[str, str], partitions: int | None = None) -> DataFrame:
    """Findings, exercises, reports and doubts of all histories, one row each, told apart by `what`."""
    names = dict(profile_of_run)

    def fold(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _packed(judged(batches, _loaded(names)))

    key = ["run", "history"]
    spread = events.repartition(partitions, *key) if partitions else events.repartition(*key)
    return spread.sortWithinPartitions(*key, "seq").mapInArrow(fold, DDL)


def gold(shards: DataFrame, profile_of_run: Mapping[str, str], *, whole: bool = False) -> DataFrame:
    """The same rows, from silver: `shards` names the files, one task each. Nothing is shuffled. `whole`: what was
    captured shows all clients of its queues (`world`), up to where something is missing in any island."""
    names, worlds = dict(profile_of_run), torn(shards) if whole else None

    def fold(places: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        profiles_by_run = _loaded(names)
        with _memory_given_back():
            for place in places:
                for run, path in zip(*(column.to_pylist() for column in place.columns), strict=True):
                    yield from _packed(judged(read(path, run), profiles_by_run, worlds))

    return shards.mapInArrow(objects.carried(fold), DDL)


def torn(shards: DataFrame) -> dict[Place, int]:
    """Run and history, and up to which seq nothing is missing in any of its shards."""
    rows = shards.mapInArrow(objects.carried(_torn), "run STRING, history STRING, upto BIGINT").collect()
    found: dict[Place, int] = {}
    for run, history, upto in rows:
        found[run, history] = min(upto, found.get((run, history), NEVER))
    return found


def _torn(places: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for place in places:
        for run, path in zip(*(column.to_pylist() for column in place.columns), strict=True):
            found: dict[str, Torn] = {}
            for batch in read(path, run, _TORN):
                for history, *row in zip(*(batch.column(name).to_pylist() for name in _TORN), strict=True):
                    found.setdefault(history, Torn()).saw(*row)
            yield pa.RecordBatch.from_pylist(
                [{"run": run, "history": history, "upto": one.upto} for history, one in found.items()],
                schema=_WHOLE,
            )


def read(path: str, run: str, columns: Sequence[str] = Event._fields, rows: int = 4096) -> Iterator[pa.RecordBatch]:
    """A shard in batches of these columns and `island`. The run does not stand in it.

    Page by page, in one thread, one row group after the other: a reader that is left to itself holds whole row groups,
    and never lets go of all of them, so that memory would grow with the file. Words stay in the dictionaries in which
    they are written, and are made once: what is compared and looked up all the time is then mostly the same object.
    """
    wanted = [name for name in (*columns, "island") if name != "run"]
    with (
        objects.here(path) as local,
        parquet.ParquetFile(local, buffer_size=1 << 16, read_dictionary=[*WORDS, "island"]) as file,
    ):
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(rows, row_groups=[group], columns=wanted, use_threads=False):
                named = pa.DictionaryArray.from_arrays(np.zeros(batch.num_rows, np.int8), [run])
                yield batch.append_column("run", named)


def _loaded(names: Mapping[str, str]) -> dict[str, Profile]:
    return {run: profiles.load(name) for run, name in names.items()}


def _packed(found: Iterable[Sequence[Row]]) -> Iterator[pa.RecordBatch]:
    """Rows of many histories in few batches."""
    pending: list[Row] = []
    for rows in found:
        pending += rows
        if len(pending) >= _FULL:
            yield pa.RecordBatch.from_pylist(pending, schema=ARROW)
            pending = []
    if pending:
        yield pa.RecordBatch.from_pylist(pending, schema=ARROW)


def judged(
    batches: Iterable[pa.RecordBatch],
    profile_of_run: Mapping[str, Profile],
    worlds: Mapping[Place, int] | None = None,
) -> Iterator[list[Row]]:
    """The rows of each history in sorted batches; a history may span batches. `worlds`: what was captured shows all
    clients of its queues, as far as `torn` says."""
    stretches = (stretch for batch in batches for stretch in _stretches(batch))
    for (run, history, *_), own in groupby(stretches, key=itemgetter(0)):
        events = chain.from_iterable(to_events(_lean(stretch)) for _, stretch in own)
        if run not in profile_of_run:
            raise BadRecording(f"events of run {run!r}, which no header names")
        with _patient_collector():
            world = Closed(worlds[run, history]) if worlds is not None else None
            rows = list(rows_of(run, history, fold_one(events, profile_of_run[run], world)))
        if rows:
            yield rows


def _lean(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Without the frames that nobody looks at: kept are those of publishes, which are counted, those of logins, whose
    types of fields matter, and what is no method at all."""
    place = batch.schema.get_field_index("raw")
    read = reduce(pc.or_, [pc.equal(batch.column("method"), method) for method in READ])
    raw = pc.if_else(pc.or_(read, pc.not_equal(batch.column("kind"), METHOD)), batch.column("raw"), b"")
    return batch.set_column(place, batch.schema.field(place), raw)


@contextmanager
def _patient_collector() -> Iterator[None]:
    """A fold makes much that lives long and few cycles: to look for garbage less often saves a quarter of its time."""
    usual = gc.get_threshold()
    gc.set_threshold(50_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


@contextmanager
def _memory_given_back() -> Iterator[None]:
    """Arrow's own memory keeps what columns no longer need, some 30 MB here; the system's does not, and is as fast for
    what is read. It is slower for what is sorted and written, which the same worker may do next."""
    usual = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(usual)


def _stretches(batch: pa.RecordBatch) -> Iterator[tuple[tuple[str, ...], pa.RecordBatch]]:
    """The batch cut where one history, or one island of it, ends and the next begins; with run and history first."""
    columns = [batch.column(name) for name in _PLACE if name in batch.schema.names]
    differs = [pc.not_equal(column[1:], column[:-1]).to_numpy(zero_copy_only=False) for column in columns]
    ends = np.flatnonzero(np.logical_or.reduce(differs)) + 1
    for begin, end in pairwise([0, *ends.tolist(), batch.num_rows]):
        if begin < end:
            yield tuple(column[begin].as_py() for column in columns), batch.slice(begin, end - begin)
