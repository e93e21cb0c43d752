"""Marts: what people ask about many runs. Each is a function of tables, and a table of the lake.

`verdicts` is the table of that name, with one row per run and rule. `runs` says about which broker each run was, and
when it began. Histories are ordered by `started` (and by name, if two began together), because an earlier run says
nothing about a later one. Verdicts combine by the worst.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from conformance.oracle.verdicts import Verdict
from reports.judging.trends import BAD, CLEAR, ORDER, PERCENTILES, WORST, pairs
from reports.pipeline.timing import FINENESS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = [
    "ORDER",
    "PAIRS",
    "RUNS",
    "flakiness",
    "history",
    "latency",
    "matrix",
    "pairs",
    "regressions",
]

RUNS = (
    "run STRING, broker STRING, product STRING, version STRING, profile STRING, started STRING, kind STRING, "
    "suite STRING, events BIGINT, histories BIGINT, connections BIGINT"
)
PAIRS = "before STRING, after STRING"


def matrix(verdicts: DataFrame) -> DataFrame:
    """broker, rule, level, verdict (the worst), runs, exercised, findings, doubtful."""
    from pyspark.sql import functions as f

    return verdicts.groupBy("broker", "rule", "level").agg(
        f.min_by("verdict", _rank("verdict")).alias("verdict"),
        f.count_distinct("run").alias("runs"),
        f.sum("exercised").alias("exercised"),
        f.sum("findings").alias("findings"),
        f.sum("doubtful").alias("doubtful"),
    )


def history(verdicts: DataFrame, runs: DataFrame) -> DataFrame:
    """broker, rule, started, run, verdict, exercised, findings, and `before`: the verdict of the run of the same
    broker that came before."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    line = Window.partitionBy("broker", "rule").orderBy("started", "run")
    of_run = verdicts.drop("broker", "profile").join(runs.select("run", "broker", "started"), "run")
    return of_run.select(
        "broker",
        "rule",
        "started",
        "run",
        "verdict",
        "exercised",
        "findings",
        f.lag("verdict").over(line).alias("before"),
    )


def flakiness(history: DataFrame) -> DataFrame:
    """broker, rule, runs, clear (how many said held or broken), broken, flips (how often one clear verdict followed
    a different one), flaky: both held and broken, and back again. A rule that was mended once is not flaky."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    line = Window.partitionBy("broker", "rule").orderBy("started", "run")
    clear = (
        history.where(f.col("verdict").isin([str(one) for one in CLEAR]))
        .withColumn("bad", f.col("verdict").isin(BAD))
        .withColumn("turned", f.coalesce(f.col("bad") != f.lag("bad").over(line), f.lit(False)))
    )
    counted = clear.groupBy("broker", "rule").agg(
        f.count("*").alias("clear"),
        f.sum(f.col("bad").cast("BIGINT")).alias("broken"),
        f.sum(f.col("turned").cast("BIGINT")).alias("flips"),
    )
    every = history.groupBy("broker", "rule").agg(f.count_distinct("run").alias("runs"))
    return (
        every.join(counted, ["broker", "rule"], "left")
        .fillna(0, ["clear", "broken", "flips"])
        .withColumn("flaky", f.col("flips") > 1)
    )


def latency(buckets: DataFrame, runs: DataFrame) -> DataFrame:
    """run, broker, started, what, n, and percentiles in milliseconds, from the histograms of `timing`."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    summed = buckets.groupBy("run", "what", "bucket").agg(f.sum("n").alias("n"))
    whole = Window.partitionBy("run", "what")
    counted = summed.withColumn("total", f.sum("n").over(whole)).withColumn(
        "below", f.sum("n").over(whole.orderBy("bucket"))
    )
    ms = _middle(f.col("bucket")) / 1e6
    asked = [
        f.min(f.when(f.col("below") >= f.ceil(f.col("total") * share), ms)).alias(name)
        for name, share in PERCENTILES.items()
    ]
    found = counted.groupBy("run", "what").agg(f.max("total").alias("n"), *asked, f.max(ms).alias("worst"))
    return runs.select("run", "broker", "started").join(found, "run")


def regressions(verdicts: DataFrame, pairs: DataFrame) -> DataFrame:
    """before, after, rule, was, now, change: what two runs disagree on. `change` is broken, fixed or other."""
    from pyspark.sql import functions as f

    was = verdicts.select(f.col("run").alias("before"), "rule", f.col("verdict").alias("was"))
    now = verdicts.select(f.col("run").alias("after"), "rule", f.col("verdict").alias("now"))
    held = [str(Verdict.HELD), str(Verdict.UNSEEN)]
    change = (
        f.when(f.col("now").isin(BAD) & f.col("was").isin(held), "broken")
        .when(f.col("was").isin(BAD) & f.col("now").isin(held), "fixed")
        .otherwise("other")
    )
    return (
        pairs.join(was, "before")
        .join(now, ["after", "rule"])
        .where("was <> now")
        .select("before", "after", "rule", "was", "now", change.alias("change"))
    )


def _rank(verdict: str) -> Column:
    from pyspark.sql import functions as f

    ranked = ((f.col(verdict) == str(one), place) for place, one in enumerate(WORST))
    first, place = next(ranked)
    return reduce(lambda so_far, one: so_far.when(*one), ranked, f.when(first, place)).otherwise(len(WORST))


def _middle(bucket: Column) -> Column:
    """timing.middle for a column."""
    from pyspark.sql import functions as f

    power = f.greatest(f.shiftright(bucket, FINENESS) - 1, f.lit(0))
    return (bucket - f.shiftleft(power, FINENESS) + f.when(power > 0, 0.5).otherwise(0.0)) * f.pow(f.lit(2.0), power)
