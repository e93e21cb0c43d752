"""Rules that are relational, by engines that are made for relations: DuckDB and Polars, over the same shards.

Three rules of 174, and a table scan suits them; the fold judges all of them at once. Each engine's findings are counted
and compared with what was planted, so that no engine wins by leaving something out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.stages import Row, in_turns, judge

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import SparkSession

RULES = "TAG-003, CNF-004, ERR-002"
COLUMNS = ("history", "connection", "channel", "seq", "direction", "method", "delivery_tag", "multiple")
DELIVERS = ("basic.deliver", "basic.get-ok")
SETTLES = ("basic.ack", "basic.nack", "basic.reject")

SQL = """
WITH events AS (
  SELECT history, connection, channel, seq, method, direction, delivery_tag::BIGINT AS tag, multiple
  FROM read_parquet({paths}) WHERE delivery_tag IS NOT NULL
), marked AS (
  SELECT *, method IN ('basic.deliver', 'basic.get-ok') AS delivers,
         direction = '<' AND method IN ('basic.ack', 'basic.nack') AS confirms,
         direction = '>' AS settles
  FROM events
), seen AS (
  SELECT *, max(CASE WHEN delivers THEN tag END) OVER before AS delivered,
         max(CASE WHEN confirms AND multiple THEN tag END) OVER before AS confirmed,
         row_number() OVER (PARTITION BY history, connection, channel, confirms, multiple, tag ORDER BY seq) AS nth
  FROM marked
  WINDOW before AS (PARTITION BY history, connection, channel ORDER BY seq
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)
SELECT count(*) FILTER (delivers AND tag <= delivered),
       count(*) FILTER (confirms AND NOT multiple AND (tag <= confirmed OR nth > 1)),
       count(*) FILTER (settles AND tag > coalesce(delivered, 0))
FROM seen
"""

Counts = tuple[int, int, int]


def duckdb(paths: list[Path]) -> Counts:
    import duckdb

    listed = "[" + ", ".join(f"'{path}'" for path in paths) + "]"
    found: Counts = duckdb.connect().execute(SQL.format(paths=listed)).fetchone()
    return found


def polars(paths: list[Path]) -> Counts:
    import polars as pl

    place = ["history", "connection", "channel"]
    tag, method, multiple = pl.col("tag"), pl.col("method"), pl.col("multiple").fill_null(False)
    delivers = method.is_in(DELIVERS)
    confirms = (pl.col("direction") == "<") & method.is_in(SETTLES[:2])
    rows = (
        pl.scan_parquet(paths)
        .select(COLUMNS)
        .filter(pl.col("delivery_tag").is_not_null())
        .with_columns(tag=pl.col("delivery_tag").cast(pl.Int64))
        .sort(*place, "seq")
        .with_columns(delivers=delivers, confirms=confirms, settles=pl.col("direction") == ">")
        .with_columns(
            delivered=_before(pl.when(pl.col("delivers")).then(tag)).over(place),
            confirmed=_before(pl.when(pl.col("confirms") & multiple).then(tag)).over(place),
            nth=pl.int_range(1, pl.len() + 1).over(*place, "confirms", "multiple", "tag"),
        )
    )
    found = rows.select(
        (pl.col("delivers") & (tag <= pl.col("delivered"))).sum().alias("tags"),
        (pl.col("confirms") & ~multiple & ((tag <= pl.col("confirmed")).fill_null(False) | (pl.col("nth") > 1)))
        .sum()
        .alias("confirms"),
        (pl.col("settles") & (tag > pl.col("delivered").fill_null(0))).sum().alias("acks"),
    ).collect()
    first, second, third = found.row(0)
    return int(first), int(second), int(third)


def _before(values: pl.Expr) -> pl.Expr:
    """The largest of all rows in front."""
    return values.cum_max().forward_fill().shift(1)


def compared(spark: SparkSession, paths: list[Path], events: int, planted: int, rounds: int) -> list[Row]:
    """Events per CPU second: our 174 rules against three of them elsewhere."""
    engines: dict[str, Callable[[list[Path]], Counts]] = {"DuckDB": duckdb, "Polars": polars}
    for name, engine in engines.items():
        found = engine(paths)
        if found != (0, planted, 0):
            raise AssertionError(f"{name} finds {found} violations of {RULES}, and {(0, planted, 0)} were planted")
    acts: dict[str, Callable[[], object]] = {name: partial(engine, paths) for name, engine in engines.items()}
    costs = in_turns(rounds, ours=lambda: judge(spark, paths), **acts)
    return [
        Row(
            "pipeline.check",
            f"{name}, {RULES} alone",
            events / costs["ours"].cpu,
            events / costs[name].cpu,
            costs[name].cpu / costs["ours"].cpu,
            "higher",
            "events/CPU-s",
            rounds,
        )
        for name in engines
    ]
