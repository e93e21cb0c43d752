"""Runs that were judged in this process as the lake that Spark would write, and go on with.

Tables, columns and fingerprints are the same, so a run that was written here is neither read nor judged again by Spark,
and the other way round. What is there already, from the same files and judged alike, is not written again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from conformance import profiles
from reports.alone.judged import Run
from reports.alone.marts import marts
from reports.judging.runs import digest, judging, line
from reports.judging.tables import Row
from reports.judging.trends import ORDER
from reports.pipeline import check, ingest, timing
from reports.pipeline.blocks import escaped
from reports.pipeline.inputs import Inputs
from reports.pipeline.lake import WHOLE, Entry, Lake

SILVER, GOLD, VERDICTS, TIMES = "silver", "gold", "verdicts", "times"
_TYPES = {"exercised": pa.int64(), "findings": pa.int64(), "doubtful": pa.int64(), "runs": pa.int64(),
          "clear": pa.int64(), "broken": pa.int64(), "flips": pa.int64(), "n": pa.int64(), "flaky": pa.bool_(),
          **dict.fromkeys(("p50", "p90", "p99", "p999", "worst"), pa.float64())}
_MARTS: Mapping[str, Sequence[str]] = {
    "matrix": ("broker", "rule", "level", "verdict", "runs", "exercised", "findings", "doubtful"),
    "history": ("broker", "rule", "started", "run", "verdict", "exercised", "findings", "before"),
    "flakiness": ("broker", "rule", "runs", "clear", "broken", "flips", "flaky"),
    "latency": ("run", "broker", "started", "what", "n", "p50", "p90", "p99", "p999", "worst"),
    "regressions": ("before", "after", "rule", "was", "now", "change"),
}
_SILVER = pa.schema([one for one in ingest.ARROW if one.name != "run"]).append(pa.field("island", pa.string()))


def write(lake: Lake, inputs: Inputs, runs: Sequence[Run], *, whole: bool) -> None:
    """The tables that are about single runs."""
    lake.sweep()
    prints = {run.name: inputs.fingerprint(run.name) for run in runs}
    _publish(lake, SILVER, runs, prints, {run.name: run.about for run in runs}, _silver)
    silver = lake.entries(SILVER)
    how = [judging(), *(["whole"] if whole else [])]
    judged = {run.name: digest(silver[run.name].commit, prints[run.name], run.header["profile"], *how) for run in runs}
    held = {run.name: {"profile": run.header["profile"]} for run in runs}
    _publish(lake, GOLD, runs, judged, held, _gold)
    _publish(lake, VERDICTS, runs, judged, held, _verdicts)
    timed = {run.name: digest(silver[run.name].commit, prints[run.name]) for run in runs}
    _publish(lake, TIMES, runs, timed, {}, _times)


def excuse(lake: Lake, runs: Sequence[Run], rows: Mapping[str, Sequence[Row]]) -> None:
    """The verdicts of these runs, as they are with what is known of their brokers."""
    entries = lake.entries(VERDICTS)
    changed = [run for run in runs if _rows_of(lake, run.name) != list(map(asdict, rows[run.name]))]
    aside = lake.aside()
    for run in changed:
        _write(_folder(aside, run) / "verdicts.parquet", _table(rows[run.name]))
    if changed:
        lake.publish(VERDICTS, aside, {run.name: entries[run.name] for run in changed})


def summary(lake: Lake, profile: str | None) -> dict[str, Any]:
    """The runs and marts of the lake as one document, for pages; the marts become tables."""
    entries = lake.entries(SILVER)
    runs = [line(run, entry.about, profile or profiles.spec(entry.about)) for run, entry in entries.items()]
    table = [row for run in lake.entries(VERDICTS) for row in _rows_of(lake, run)]
    buckets = [row for run in lake.entries(TIMES) for row in _read(lake, TIMES, run)]
    made = marts(table, runs, buckets)
    for name, rows in made.items():
        aside = lake.aside()
        schema = pa.schema([(column, _TYPES.get(column, pa.string())) for column in _MARTS[name]])
        _write(aside / f"{name}.parquet", pa.Table.from_pylist(rows, schema=schema))
        lake.publish(name, aside, {WHOLE: Entry(WHOLE, "", ())})
    return {"schema": "amqp-conformance/history/1", "runs": runs, **{name: made[name] for name in ORDER}}


def _publish(
    lake: Lake, table: str, runs: Sequence[Run], prints: Mapping[str, str], abouts: Mapping[str, Mapping[str, Any]],
    write: Callable[[Path, Run], None],
) -> None:
    known = lake.entries(table)
    missing = [run for run in runs if run.name not in known or known[run.name].fingerprint != prints[run.name]]
    if not missing:
        return
    aside = lake.aside()
    aside.mkdir()
    for run in missing:
        write(_folder(aside, run), run)
    lake.publish(table, aside, {
        run.name: Entry(run.name, prints[run.name], (), abouts.get(run.name, {})) for run in missing
    })


def _silver(folder: Path, run: Run) -> None:
    with parquet.ParquetWriter(_made(folder / "shard=0" / "events.parquet"), _SILVER, compression="zstd") as writer:
        for batch in _batches(run):
            writer.write_batch(batch)


def _batches(run: Run) -> Iterator[pa.RecordBatch]:
    for history in run.histories.values():
        for island, events in history.islands.items():
            at = 0
            for batch in ingest.blocks(events):
                own = events[at : at + batch.num_rows]
                at += batch.num_rows
                extra = pa.array([history.extra.get(event.seq) for event in own], pa.string())
                columns = {name: batch.column(name) for name in _SILVER.names if name in ingest.ARROW.names}
                named = pa.array([island] * batch.num_rows, pa.string())
                yield pa.RecordBatch.from_pydict({**columns, "extra": extra, "island": named}, schema=_SILVER)


def _gold(folder: Path, run: Run) -> None:
    _write(folder / "gold.parquet", pa.Table.from_pylist(list(run.gold), schema=_without_run(check.ARROW)))


def _verdicts(folder: Path, run: Run) -> None:
    _write(folder / "verdicts.parquet", _table(run.table))


def _times(folder: Path, run: Run) -> None:
    rows = [{"what": what, "bucket": place, "n": n} for (what, place), n in sorted(run.times.items())]
    _write(folder / "times.parquet", pa.Table.from_pylist(rows, schema=_without_run(timing.ARROW)))


def _table(rows: Iterable[Row]) -> pa.Table:
    schema = pa.schema([(name, _TYPES.get(name, pa.string())) for name in Row.__annotations__ if name != "run"])
    return pa.Table.from_pylist([asdict(row) for row in rows], schema=schema)


def _rows_of(lake: Lake, run: str) -> list[dict[str, Any]]:
    return _read(lake, VERDICTS, run)


def _read(lake: Lake, table: str, run: str) -> list[dict[str, Any]]:
    """The rows of a run. The run stands in the path alone, as Spark lays out files."""
    files = [lake.root / file.path for file in lake.entries(table)[run].files]
    return [{"run": run, **row} for file in files for row in parquet.ParquetFile(file).read().to_pylist()]


def _without_run(schema: pa.Schema) -> pa.Schema:
    return pa.schema([one for one in schema if one.name != "run"])


def _folder(aside: Path, run: Run) -> Path:
    return aside / f"run={escaped(run.name)}"


def _write(path: Path, table: pa.Table) -> None:
    parquet.write_table(table, _made(path), compression="zstd")


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
