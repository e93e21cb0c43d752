"""One queue seen by several histories, on Spark: `reports.judging.crossing` over all histories that share a queue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from conformance.history import events as ev
from reports import objects
from reports.judging.crossing import ACKED, AUTO, MANUAL, NEEDS_ALL, PUBLISHED, Fact, facts_of, judged
from reports.pipeline import check, ingest

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = [
    "ACKED",
    "AUTO",
    "DDL",
    "MANUAL",
    "NEEDS_ALL",
    "PUBLISHED",
    "SEEN",
    "Fact",
    "degraded",
    "facts",
    "facts_of",
    "findings",
    "judged",
    "shared",
]

DDL = (
    "run STRING, queue STRING, message STRING, what STRING, history STRING, line STRING, seq BIGINT, "
    "marked BOOLEAN, others BOOLEAN"
)
ARROW = pa.schema(
    [
        *((name, pa.string()) for name in Fact._fields[:6]),
        ("seq", pa.int64()),
        ("marked", pa.bool_()),
        ("others", pa.bool_()),
    ]
)

SEEN = ("run", "history", "channel", "kind", "method", "queue", "exchange", "routing_key")
"""The columns of silver that tell who has to do with a queue."""


def shared(silver: DataFrame) -> DataFrame:
    """run, queue, history: the queues that more than one history of a run has to do with. Scenes of the suite are left
    out: each names its queues for itself alone, and what two of them name does not exist."""
    from pyspark.sql import functions as f

    straight = (f.col("method") == "basic.publish") & (f.col("exchange") == "")
    scenes = silver.where(f.col("kind") == ev.SCENE).select("run", "history").distinct()
    touched = (
        silver.where("channel > 0")
        .join(scenes, ["run", "history"], "left_anti")
        .select(
            "run",
            "history",
            f.when(straight, f.col("routing_key")).otherwise(f.col("queue")).alias("queue"),
        )
        .where("queue <> ''")
        .distinct()
    )
    several = touched.groupBy("run", "queue").count().where("count > 1").drop("count")
    return touched.join(several, ["run", "queue"])


def facts(shards: DataFrame) -> DataFrame:
    """The facts of all messages in these shards. Nothing is shuffled."""

    def fold(places: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for place in places:
            for run, path in zip(*(column.to_pylist() for column in place.columns), strict=True):
                found = list(facts_of(event for batch in check.read(path, run) for event in ingest.to_events(batch)))
                yield pa.RecordBatch.from_pylist([fact._asdict() for fact in found], schema=ARROW)

    return shards.mapInArrow(objects.carried(fold), DDL)


def findings(facts: DataFrame, shared: DataFrame) -> DataFrame:
    """What contradicts a rule in the facts of shared queues: columns of check.DDL, under the first history of each."""
    kept = facts.join(shared.select("run", "queue").distinct(), ["run", "queue"])
    return kept.select(*Fact._fields).groupBy("run", "queue").applyInArrow(_judged, check.DDL)


def degraded(gold: DataFrame, shared: DataFrame) -> DataFrame:
    """Gold in which no claim that needs all connections is certain where one history has not seen them all."""
    from pyspark.sql import functions as f

    parted = shared.select("run", "history").distinct().withColumn("parted", f.lit(True))
    unsure: Column = f.col("parted") & f.col("rule").isin(list(NEEDS_ALL)) & (f.col("what") == check.FINDING)
    marked = gold.join(f.broadcast(parted), ["run", "history"], "left")
    certain = f.when(f.coalesce(unsure, f.lit(False)), f.lit(False)).otherwise(f.col("certain"))
    return marked.withColumn("certain", certain).select(*check.ARROW.names)


def _judged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    facts = [Fact(**row) for batch in batches for row in batch.to_pylist()]
    yield pa.RecordBatch.from_pylist(list(judged(facts)), schema=check.ARROW)
