"""The whole pipeline over a lake: bronze to silver, gold, verdicts, times, marts; each step only where it is missing.

What was done is known by what it was made of (`steps`), so that an edited rule is judged again without any shuffle.
Workers write the large tables, silver and gold, and tell which files they wrote; the rest is small, and written here.
Every step ends in one commit. A job that is killed has done some steps or not; the next one goes on from there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import StorageLevel

from conformance.catalogue import profiles, rules
from conformance.history import events as ev
from conformance.oracle.verdicts import Verdict
from reports.capture.about import PORTS
from reports.judging.runs import about, held_to, line
from reports.lake.columns import TABLES
from reports.lake.commits import Lake
from reports.lake.files import File, files_of_rows, kept, scan
from reports.lake.steps import GOLD, SILVER, TIMES, VERDICTS, abouts, judged_as, keep, made_of, unmade, unread
from reports.pipeline import blocks, check, cross, ingest, marts, shard, timing, verdicts
from reports.pipeline.inputs import CAPTURE, RECORDING, Inputs
from reports.pipeline.watch import Tell, watched

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["GOLD", "SILVER", "STAGES", "TIMES", "VERDICTS", "Job", "shards"]

STAGES = ("reading", "judging", "timing", "tables")

_LARGE, _SMALL = 256 << 20, 2 << 20
_COUNTED = ("run", "history", "connection", "kind", "time_ns")


@dataclass(frozen=True)
class Job:
    """A session, a lake, and who is told how far the work has come. `profile` overrides what a run was held to;
    `whole`: captures show all clients of their queues (`world`)."""

    spark: SparkSession
    lake: Lake
    tell: Tell
    profile: str | None = None
    whole: bool = False

    def run(self, inputs: Inputs) -> list[str]:
        """Everything for these inputs; the runs they are."""
        runs = self.judged(inputs)
        self.tables()
        return runs

    def judged(self, inputs: Inputs) -> list[str]:
        """What is about single runs, without the marts over all of them."""
        self.lake.sweep()
        runs = self.read(inputs)
        self.judge(runs)
        self.time(runs)
        return runs

    def read(self, inputs: Inputs) -> list[str]:
        """Silver for all runs that are not there, or not from these files."""
        missing = unread(self.lake, {run: made_of(inputs.fingerprint(run)) for run in inputs.headers})
        for kind, bronze in ((RECORDING, self._recorded), (CAPTURE, self._captured)):
            runs = {run: missing[run] for run in inputs.runs(kind) if run in missing}
            if runs:
                with watched(self.spark, "reading", self.tell):
                    bronze(inputs, runs)
        return list(inputs.headers)

    def _recorded(self, inputs: Inputs, runs: Mapping[str, int]) -> None:
        """Silver of recordings, whose histories are whole as they are."""
        files = _files(inputs, runs)
        self._silver(_of(blocks.read(self.spark, files), runs), files, inputs, runs)

    def _captured(self, inputs: Inputs, runs: Mapping[str, int]) -> None:
        """Silver of captures, which are decoded once and looked at twice: where the islands are, and what is there."""
        from reports.pipeline import sources

        files = _files(inputs, runs)
        packed = _of(sources.blocks_of(self.spark, files, inputs.ports or PORTS), runs)
        packed.persist(StorageLevel.DISK_ONLY)
        try:
            self._silver(packed, files, inputs, runs, shard.islands(packed))
        finally:
            packed.unpersist()

    def judge(self, runs: Sequence[str]) -> None:
        """Gold and verdicts for those of these runs that were never judged like this."""
        headers = self.headers(runs)
        made = judged_as(self.lake, headers, whole=self.whole)
        missing = unmade(self.lake, VERDICTS, made)
        if not missing:
            return
        with watched(self.spark, "judging", self.tell):
            held = {run: str(headers[run]["profile"]) for run in missing}
            found = self._crossed(check.gold(self.shards(missing), held, whole=self.whole), list(missing))
            self.lake.publish(GOLD, kept(found, self.lake.place(GOLD), TABLES[GOLD]), missing)
            rows = verdicts.table(self.table(GOLD, missing), {run: headers[run] for run in missing})
            self.lake.write(VERDICTS, verdicts.arrow(rows), missing)

    def _crossed(self, gold: DataFrame, runs: Sequence[str]) -> DataFrame:
        """Gold, with what several histories see of one queue, where there are such queues."""
        shared = cross.shared(self.table(SILVER, runs, cross.SEEN))
        if not shared.take(1):
            return gold
        found = cross.findings(cross.facts(self.shards(runs)), shared)
        return cross.degraded(gold, shared).unionByName(found)

    def time(self, runs: Sequence[str]) -> None:
        """Histograms of times for those of these runs that have none."""
        silver = self.lake.made(SILVER)
        missing = unmade(self.lake, TIMES, {run: silver(run) or 0 for run in runs})
        if missing:
            with watched(self.spark, "timing", self.tell):
                self.lake.write(TIMES, timing.latencies(self.shards(missing)).toArrow(), missing)

    def excuse(self, known: Mapping[str, Collection[str]]) -> None:
        """Run to the rules that are broken as it is known of its broker: they deviate, the others are broken."""
        before = set(self.verdicts(list(known)))
        listed = {row.run for row in before if row.verdict == Verdict.DEVIATES} | {run for run in known if known[run]}
        headers = {run: header for run, header in self.headers(list(known)).items() if run in listed}
        after = verdicts.table(self.table(GOLD, headers), headers, known) if headers else []
        changed = {row.run for row in after if row not in before}
        if changed:
            made = self.lake.made(VERDICTS)
            rows = verdicts.arrow([row for row in after if row.run in changed])
            self.lake.write(VERDICTS, rows, {run: made(run) or 0 for run in sorted(changed)})

    def tables(self) -> None:
        """The marts, over all runs of the lake."""
        with watched(self.spark, "tables", self.tell):
            for name, frame in self.marts().items():
                self.lake.replace(name, frame.toArrow())

    def marts(self) -> dict[str, DataFrame]:
        """Every mart as a frame."""
        table, runs = self.table(VERDICTS), self.runs()
        history = marts.history(table, runs)
        known = [(row["run"], row["product"], row["version"], row["started"]) for row in self._about()]
        pairs = self.spark.createDataFrame(marts.pairs(known), marts.PAIRS)
        return {
            "matrix": marts.matrix(table),
            "history": history,
            "flakiness": marts.flakiness(history),
            "latency": marts.latency(self.table(TIMES), runs),
            "regressions": marts.regressions(table, pairs),
        }

    def runs(self) -> DataFrame:
        """The runs of the lake: columns of marts.RUNS."""
        return self.spark.createDataFrame([tuple(row.values()) for row in self._about()], marts.RUNS)

    def verdicts(self, runs: Sequence[str]) -> list[verdicts.VerdictRow]:
        """The verdict tables of these runs, in their order and in that of the catalogue."""
        place = {name: number for number, name in enumerate([*runs, *rules.CATALOGUE])}
        rows = [verdicts.VerdictRow(**row) for row in self.lake.read(VERDICTS, runs).to_pylist()]
        return sorted(rows, key=lambda row: (place[row.run], place[row.rule]))

    def summary(self) -> dict[str, Any]:
        """The runs and marts of the lake as one document, for pages."""
        tables = {name: self.lake.read(name).to_pylist() for name in marts.ORDER}
        return {"schema": "amqp-conformance/history/1", "runs": self._about(), **tables}

    def headers(self, runs: Iterable[str]) -> dict[str, dict[str, Any]]:
        """What is known of these runs, with the profile that each is held to."""
        known = abouts(self.lake)
        return {run: held_to(known[run], self.profile) for run in runs}

    def shards(self, runs: Iterable[str]) -> DataFrame:
        """The shards of these runs as tasks, the largest first."""
        files = sorted(self.lake.files(SILVER, list(runs)), key=lambda file: file.bytes, reverse=True)
        return ingest.tasks(self.spark, [(file.run, self.where(file)) for file in files])

    def where(self, file: File) -> str:
        """The place of a shard, for a worker."""
        return str(self.lake.place(SILVER, file))

    def table(self, name: str, runs: Iterable[str] | None = None, columns: Sequence[str] | None = None) -> DataFrame:
        """A table of the lake, of all runs or some."""
        files = self.lake.files(name, None if runs is None else list(runs))
        return scan(self.spark, self.lake.place(name), TABLES[name], files, columns)

    def _silver(
        self,
        packed: DataFrame,
        files: Sequence[Path],
        inputs: Inputs,
        runs: Mapping[str, int],
        islands: DataFrame | None = None,
    ) -> None:
        count, place = shards(sum(map(_size, files)), self._parallel()), self.lake.place(SILVER)
        written = files_of_rows(shard.silver(packed, count, place, islands).collect())
        counted = _counted(scan(self.spark, place, TABLES[SILVER], written, _COUNTED))
        self.lake.publish(SILVER, written, runs)
        keep(self.lake, {run: about(inputs, run, counted.get(run, {})) for run in runs}, runs)

    def _about(self) -> list[dict[str, Any]]:
        return [line(run, known, self.profile or profiles.spec(known)) for run, known in abouts(self.lake).items()]

    def _parallel(self) -> int:
        return int(self.spark.conf.get("spark.sql.shuffle.partitions") or 8)


def shards(octets: int, parallel: int) -> int:
    """How many shards: none larger than it must be for a task, and of a little no more than there is use for."""
    return max(1, -(-octets // _LARGE), min(parallel, octets // _SMALL))


def _files(inputs: Inputs, runs: Iterable[str]) -> list[Path]:
    """The files that hold these runs, the largest first."""
    return sorted({file for run in runs for file in inputs.held[run]}, key=_size, reverse=True)


def _of(packed: DataFrame, runs: Iterable[str]) -> DataFrame:
    from pyspark.sql import functions as f

    return packed.where(f.col("run").isin(list(runs)))


def _counted(silver: DataFrame) -> dict[str, dict[str, Any]]:
    """How much there is of each run, what was lost, and when it began."""
    from pyspark.sql import functions as f

    lost = [f.count_if(f.col("kind") == kind).alias(kind) for kind in (ev.JOINED, ev.GAP, ev.CUT, ev.MALFORMED)]
    connections = f.count_distinct(f.when(f.col("connection") != "", f.struct("history", "connection")))
    rows = (
        silver.groupBy("run")
        .agg(
            f.count("*").alias("events"),
            f.count_distinct("history").alias("histories"),
            connections.alias("connections"),
            f.min("time_ns").alias("began"),
            f.max("time_ns").alias("ended"),
            *lost,
        )
        .collect()
    )
    return {row["run"]: {name: value for name, value in row.asDict().items() if name != "run"} for row in rows}


def _size(path: Path) -> int:
    return path.stat().st_size
