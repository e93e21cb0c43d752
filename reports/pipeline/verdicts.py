"""Gold to the verdict table on Spark, which counts; the rest is `reports.judging.tables`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from conformance.catalogue import profiles
from conformance.history.recording import Recording
from reports.judging.tables import Counted, Counts, Offer, VerdictRow, differences, of_run, offer
from reports.lake.columns import VERDICTS
from reports.pipeline import check, ingest

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "DDL",
    "Counted",
    "Counts",
    "Offer",
    "VerdictRow",
    "arrow",
    "differences",
    "frame",
    "headers",
    "offer",
    "profile_names",
    "table",
    "verdicts",
]

DDL = VERDICTS.ddl


def verdicts(
    spark: SparkSession, recording_dir: Path | str, known: Mapping[str, Collection[str]] | None = None
) -> DataFrame:
    """The verdict table of a recording; `known` as in `table`."""
    recording = Recording(recording_dir)
    outcome = check.check(ingest.events(spark, recording), profile_names(recording))
    return frame(spark, table(outcome, headers(recording), known))


def headers(recording: Recording) -> dict[str, Mapping[str, Any]]:
    """What the recording says of each of its runs."""
    return {run: recording.header(run) for run in recording.runs}


def profile_names(recording: Recording) -> dict[str, str]:
    """The profile that each run was judged by."""
    return {run: profiles.spec(recording.header(run)) for run in recording.runs}


def frame(spark: SparkSession, rows: Sequence[VerdictRow]) -> DataFrame:
    return spark.createDataFrame([tuple(asdict(row).values()) for row in rows], DDL)


def arrow(rows: Sequence[VerdictRow]) -> pa.Table:
    return pa.Table.from_pylist([asdict(row) for row in rows], schema=VERDICTS.arrow)


def table(
    outcome: DataFrame, headers: Mapping[str, Mapping[str, Any]], known: Mapping[str, Collection[str]] | None = None
) -> list[VerdictRow]:
    """Verdicts on every rule of the catalogue, run by run. A header says which broker it was and what it offers;
    `known`, which rules are broken by a run as it is known of its broker."""
    counts, known = _counts(outcome), known or {}
    return [
        row for run, header in headers.items() for row in of_run(run, header, counts.get(run, {}), known.get(run, ()))
    ]


def _counts(outcome: DataFrame) -> dict[str, dict[str, Counts]]:
    """Run, rule, what the rows have in common -> how often; doubts count histories."""
    from pyspark.sql import functions as f

    why = f.when(f.col("what") == check.DOUBT, f.col("observed")).alias("why")
    summed = outcome.groupBy("run", "rule", "what", "certain", why, "unless").agg(f.sum("times")).collect()
    counts: dict[str, dict[str, Counter[Counted]]] = {}
    for run, rule, what, certain, reason, unless, times in summed:
        kind = Counted(what, certain, reason, tuple(unless or ()))
        counts.setdefault(run, {}).setdefault(rule, Counter())[kind] += times
    return {run: dict(of_rule) for run, of_rule in counts.items()}
