"""Events to findings and coverage: the live Judge, folded over histories on Spark.

Events are shuffled so that a history is in one partition, sorted by history and seq, and stream through as Arrow
batches. At any time a task holds one batch and one Judge, so memory does not grow with the length of a history or
with their number. Where one history ends and the next begins shows in the rows; Spark does not promise that groups
arrive in order, so a seq that does not rise is refused.

Whether a history was recorded to its end shows in it as well: every connection that opened has ended. A run that was
killed leaves histories of which this is not true, and they are judged as incomplete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from conformance import events as ev
from conformance import profiles
from conformance.events import Event
from conformance.monitors import Judge
from conformance.profiles import Profile
from conformance.verdicts import Judgement
from reports.pipeline.ingest import to_events
from reports.recording import BadRecording

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FINDING, EXERCISED, REPORT = "finding", "exercised", "report"
_FIELDS: Mapping[str, tuple[str, pa.DataType]] = {
    "run": ("STRING", pa.string()), "history": ("STRING", pa.string()), "what": ("STRING", pa.string()),
    "rule": ("STRING", pa.string()), "times": ("BIGINT", pa.int64()), "at": ("BIGINT", pa.int64()),
    "allowed": ("STRING", pa.string()), "observed": ("STRING", pa.string()), "certain": ("BOOLEAN", pa.bool_()),
    "witness": ("ARRAY<BIGINT>", pa.list_(pa.int64())),
}
DDL = ", ".join(f"{name} {kind}" for name, (kind, _) in _FIELDS.items())
ARROW = pa.schema([(name, kind) for name, (_, kind) in _FIELDS.items()])

Row = dict[str, Any]


def check(events: DataFrame, profile_of_run: Mapping[str, str], partitions: int | None = None) -> DataFrame:
    """Findings, exercises and reports of all histories, one row each, told apart by `what`."""
    names = dict(profile_of_run)

    def fold(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        profile_by_run = {run: profiles.load(name) for run, name in names.items()}
        for rows in judged(batches, profile_by_run):
            yield pa.RecordBatch.from_pylist(rows, schema=ARROW)

    key = ["run", "history"]
    spread = events.repartition(partitions, *key) if partitions else events.repartition(*key)
    return spread.sortWithinPartitions(*key, "seq").mapInArrow(fold, DDL)


def judged(batches: Iterable[pa.RecordBatch], profile_of_run: Mapping[str, Profile]) -> Iterator[list[Row]]:
    """The rows of each history in sorted batches; a history may span batches."""
    stream = (event for batch in batches for event in to_events(batch))
    for (run, history), events in groupby(stream, key=lambda event: (event.run, event.history)):
        if run not in profile_of_run:
            raise BadRecording(f"events of run {run!r}, which no header names")
        rows = list(rows_of(run, history, fold_one(events, profile_of_run[run])))
        if rows:
            yield rows


def fold_one(events: Iterable[Event], profile: Profile) -> Judgement:
    """The judgement on one history, whose events come in the order of seq."""
    judge = Judge(profile)
    alive: set[str] = set()
    last = -1
    for event in events:
        if event.seq <= last:
            raise BadRecording(f"history {event.history!r}: seq {event.seq} after {last}; was it recorded twice?")
        last = event.seq
        if event.kind == ev.OPEN:
            alive.add(event.connection)
        elif event.kind == ev.END:
            alive.discard(event.connection)
        judge.step(event)
    judge.end(not alive)
    return judge.judgement


def rows_of(run: str, history: str, judgement: Judgement) -> Iterator[Row]:
    """A judgement as rows."""
    place = {"run": run, "history": history}
    for found in judgement.findings:
        yield {**place, "what": FINDING, "rule": found.rule, "times": 1, "at": found.at, "allowed": found.allowed,
               "observed": found.observed, "certain": found.certain, "witness": list(found.witness)}
    for rule, times in sorted(judgement.exercised.items()):
        if times:
            yield {**place, "what": EXERCISED, "rule": rule, "times": times}
    for rule, seen in sorted(judgement.reports.items()):
        for observed, times in sorted(seen.items()):
            yield {**place, "what": REPORT, "rule": rule, "times": times, "observed": observed}
