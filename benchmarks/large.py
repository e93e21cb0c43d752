"""A run of any size: generated into shards, judged on Spark, and compared with what was planted.

Half of all events are of one connection. `python -m benchmarks.pipeline_bench --events 100000000` prints a line per
step and leaves its figures beside those of the other benches; the shards are removed at the end.
"""

from __future__ import annotations

import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks import traffic
from benchmarks.processes import Watch, cpu
from benchmarks.traffic import History, Planted
from reports.pipeline import check, ingest
from reports.pipeline.session import session

PLANTS = 9
SHARE = 1_000_000
"""About so many events have the histories that are not the largest."""


@dataclass(frozen=True)
class Large:
    """What a large run took."""

    events: int
    written_mb: float
    written_seconds: float
    seconds: float
    cpu_seconds: float
    cores: int
    worker_mb: float
    planted: int
    exact: bool


def run(events: int, directory: Path, cores: int) -> Large:
    """Everything, from nothing to figures. The largest shard goes first, so that it is not waited for."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    began = time.monotonic()
    shards, rows, planted = _generated(events, directory, cores)
    written, size = time.monotonic() - began, sum(path.stat().st_size for path in shards) / 1e6
    _tell(f"{rows:,} events in {len(shards)} shards, {size:,.0f} MB, written in {written:,.0f} s")
    spark = session(directory / "spark.log", master=f"local[{cores}]")
    try:
        before, began = cpu(), time.monotonic()
        with Watch() as watch:
            tasks = ingest.tasks(spark, [(traffic.RUN, str(path)) for path in shards])
            found = check.gold(tasks, {traffic.RUN: traffic.PROFILE}).collect()
        seconds, used = time.monotonic() - began, cpu() - before
    finally:
        spark.stop()
    seen = sorted(Planted(row.rule, row.history, row.at) for row in found if row.what == check.FINDING)
    shutil.rmtree(directory, ignore_errors=True)
    large = Large(rows, size, written, seconds, used, cores, watch.most, len(planted), seen == sorted(planted))
    _tell(
        f"judged in {seconds:,.0f} s with {used:,.0f} CPU-s, {rows / used:,.0f} events per CPU-s, at most "
        f"{watch.most:,.0f} MB per worker; {len(planted)} planted violations, "
        f"{'all of them found and nothing else' if large.exact else 'NOT what was found'}"
    )
    return large


def _generated(events: int, directory: Path, cores: int) -> tuple[list[Path], int, list[Planted]]:
    """The shards, largest first."""
    histories = max(3, events // 2 // SHARE + 1)
    plan = traffic.plan(events, histories=histories, skewed=True, plants=PLANTS)
    paths = [directory / f"{history.name}.parquet" for history in plan]
    rows, planted = 0, list[Planted]()
    with ProcessPoolExecutor(cores) as pool:
        for made, broken in pool.map(_shard, paths, plan, range(len(plan))):
            rows += made
            planted += broken
    return paths, rows, planted


def _shard(path: Path, history: History, number: int) -> tuple[int, list[Planted]]:
    return traffic.write(path, [history], number)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
