"""Writes runs that were judged in this process as the lake that Spark would write, and can continue.

Tables, columns and what they are made from are the same. So Spark neither reads nor judges again a run that was
written here, and the other way round. A table that exists already, made from the same files and judged alike, is not
written again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from conformance.catalogue import profiles
from reports import objects
from reports.alone.judged import JudgedRun
from reports.alone.marts import marts
from reports.judging.runs import line
from reports.judging.tables import VerdictRow
from reports.judging.trends import ORDER
from reports.lake.columns import MARTS, TABLES
from reports.lake.columns import SILVER as EVENTS
from reports.lake.commits import Lake
from reports.lake.files import File, fresh
from reports.lake.steps import GOLD, SILVER, TIMES, VERDICTS, abouts, judged_as, keep, made_of, unmade, unread
from reports.pipeline import ingest, verdicts
from reports.pipeline.inputs import Inputs


def write(lake: Lake, inputs: Inputs, runs: Sequence[JudgedRun], *, whole: bool) -> None:
    """The tables that are about single runs."""
    lake.sweep()
    of = {run.name: run for run in runs}
    if missing := unread(lake, {run: made_of(inputs.fingerprint(run)) for run in of}):
        lake.publish(SILVER, [_silver(lake, of[run]) for run in missing], missing)
        keep(lake, {run: of[run].about for run in missing}, missing)
    judged = judged_as(lake, {run.name: run.header for run in runs}, whole=whole)
    if missing := unmade(lake, VERDICTS, judged):
        lake.write(GOLD, _table(GOLD, (row for run in missing for row in of[run].gold)), missing)
        lake.write(VERDICTS, verdicts.arrow([row for run in missing for row in of[run].table()]), missing)
    silver = lake.made(SILVER)
    if missing := unmade(lake, TIMES, {run: silver(run) or 0 for run in of}):
        lake.write(TIMES, _table(TIMES, (row for run in missing for row in _times(of[run]))), missing)


def excuse(lake: Lake, runs: Sequence[JudgedRun], rows: Mapping[str, Sequence[VerdictRow]]) -> None:
    """The verdicts of these runs, as they are with what is known of their brokers."""
    known, made = lake.read(VERDICTS, [run.name for run in runs]).to_pylist(), lake.made(VERDICTS)
    changed = [
        run.name
        for run in runs
        if [row for row in known if row["run"] == run.name] != list(map(asdict, rows[run.name]))
    ]
    if changed:
        found = verdicts.arrow([row for run in changed for row in rows[run]])
        lake.write(VERDICTS, found, {run: made(run) or 0 for run in changed})


def summary(lake: Lake, profile: str | None) -> dict[str, Any]:
    """The runs and marts of the lake as one document, for pages; the marts become tables."""
    runs = [line(run, about, profile or profiles.spec(about)) for run, about in abouts(lake).items()]
    made = marts(lake.read(VERDICTS).to_pylist(), runs, lake.read(TIMES).to_pylist())
    for name, rows in made.items():
        lake.replace(name, pa.Table.from_pylist(rows, schema=MARTS[name].arrow))
    return {"schema": "amqp-conformance/history/1", "runs": runs, **{name: made[name] for name in ORDER}}


def _silver(lake: Lake, run: JudgedRun) -> File:
    """All events of a run in one shard, which is written batch by batch."""
    part, rows = {"run": run.name, "shard": "0"}, 0
    path = fresh(EVENTS, part)
    with objects.made(objects.join(lake.place(SILVER), path)) as file:
        with parquet.ParquetWriter(file, EVENTS.inside, compression="zstd") as writer:
            for batch in _batches(run):
                writer.write_batch(batch)
                rows += batch.num_rows
        size = file.stat().st_size
    return File(path, part, rows, size)


def _batches(run: JudgedRun) -> Iterator[pa.RecordBatch]:
    for history in run.histories.values():
        for island, events in history.islands.items():
            at = 0
            for batch in ingest.blocks(events):
                own = events[at : at + batch.num_rows]
                at += batch.num_rows
                extra = pa.array([history.extra.get(event.seq) for event in own], pa.string())
                columns = {name: batch.column(name) for name in EVENTS.inside.names if name in ingest.ARROW.names}
                named = pa.array([island] * batch.num_rows, pa.string())
                yield pa.RecordBatch.from_pydict({**columns, "extra": extra, "island": named}, schema=EVENTS.inside)


def _times(run: JudgedRun) -> Iterator[dict[str, Any]]:
    for (what, place), n in sorted(run.times.items()):
        yield {"run": run.name, "what": what, "bucket": place, "n": n}


def _table(name: str, rows: Iterator[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=TABLES[name].arrow)
