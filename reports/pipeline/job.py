"""The whole pipeline over a lake: bronze to silver, gold, verdicts, times, marts; each step only where it is missing.

What was done is known by fingerprints: silver by the files that a run was read from; gold by the commit of its silver,
the profile, and the code and rules that judge, so that an edited rule is judged again without any shuffle. Every step
ends in one commit. A job that is killed has done some steps or not; the next one goes on from there, and whatever was
written and never committed is swept away when it begins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyarrow import parquet
from pyspark import StorageLevel

from conformance import events as ev
from conformance import profiles, rules
from reports.capture.about import PORTS
from reports.judging.runs import about, digest, held_to, judging, line
from reports.judging.tables import excused
from reports.pipeline import blocks, check, cross, ingest, marts, shard, timing, verdicts
from reports.pipeline.inputs import CAPTURE, RECORDING, Inputs
from reports.pipeline.lake import WHOLE, Entry, Lake
from reports.pipeline.watch import Tell, watched

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SILVER, GOLD, VERDICTS, TIMES = "silver", "gold", "verdicts", "times"
STAGES = ("reading", "judging", "timing", "tables")

_LARGE, _SMALL = 256 << 20, 2 << 20
_ROW_GROUP = 16 << 20


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
        known = self.lake.entries(SILVER)
        missing = {
            run: inputs.fingerprint(run) for run in inputs.headers
            if run not in known or known[run].fingerprint != inputs.fingerprint(run)
        }
        for kind, bronze in ((RECORDING, self._recorded), (CAPTURE, self._captured)):
            runs = {run: missing[run] for run in inputs.runs(kind) if run in missing}
            if runs:
                with watched(self.spark, "reading", self.tell):
                    bronze(inputs, runs)
        return list(inputs.headers)

    def _recorded(self, inputs: Inputs, runs: Mapping[str, str]) -> None:
        """Silver of recordings, whose histories are whole as they are."""
        files = _files(inputs, runs)
        self._silver(_of(blocks.read(self.spark, files), runs), files, inputs, runs)

    def _captured(self, inputs: Inputs, runs: Mapping[str, str]) -> None:
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
        silver, gold = self.lake.entries(SILVER), self.lake.entries(GOLD)
        profile_of = {run: self._profile(silver[run]) for run in runs}
        how = [judging(), *(["whole"] if self.whole else [])]
        prints = {run: digest(silver[run].commit, silver[run].fingerprint, profile_of[run], *how) for run in runs}
        missing = [run for run in runs if run not in gold or gold[run].fingerprint != prints[run]]
        if not missing:
            return
        with watched(self.spark, "judging", self.tell):
            held_to = {run: profile_of[run] for run in missing}
            found = self._crossed(check.gold(self.shards(missing), held_to, whole=self.whole), missing)
            entries = {run: Entry(run, prints[run], (), {"profile": profile_of[run]}) for run in missing}
            self._write(GOLD, found, entries)
            headers = {run: self.header(run) for run in missing}
            rows = verdicts.table(self.table(GOLD, check.DDL, missing), headers)
            self._write(VERDICTS, verdicts.frame(self.spark, rows).coalesce(1), entries)

    def _crossed(self, gold: DataFrame, runs: Sequence[str]) -> DataFrame:
        """Gold, with what several histories see of one queue, where there are such queues."""
        shared = cross.shared(self.table(SILVER, shard.DDL, runs))
        if not shared.take(1):
            return gold
        found = cross.findings(cross.facts(self.shards(runs)), shared)
        return cross.degraded(gold, shared).unionByName(found)

    def time(self, runs: Sequence[str]) -> None:
        """Histograms of times for those of these runs that have none."""
        silver, known = self.lake.entries(SILVER), self.lake.entries(TIMES)
        prints = {run: digest(silver[run].commit, silver[run].fingerprint) for run in runs}
        missing = [run for run in runs if run not in known or known[run].fingerprint != prints[run]]
        if missing:
            with watched(self.spark, "timing", self.tell):
                found = timing.latencies(self.shards(missing)).coalesce(1)
                self._write(TIMES, found, {run: Entry(run, prints[run], ()) for run in missing})

    def excuse(self, known: Mapping[str, Collection[str]]) -> None:
        """Run to the rules that are broken as it is known of its broker: they deviate, the others are broken."""
        before = self.verdicts(list(known))
        after = excused(before, known)
        changed = {now.run for was, now in zip(before, after, strict=True) if was != now}
        if changed:
            entries = self.lake.entries(VERDICTS)
            rows = verdicts.frame(self.spark, [row for row in after if row.run in changed]).coalesce(1)
            self._write(VERDICTS, rows, {
                run: Entry(run, entries[run].fingerprint, (), entries[run].about) for run in sorted(changed)
            })

    def tables(self) -> None:
        """The marts, over all runs of the lake."""
        with watched(self.spark, "tables", self.tell):
            for name, frame in self.marts().items():
                aside = self.lake.aside()
                frame.coalesce(1).sortWithinPartitions(*marts.ORDER[name]).write.parquet(str(aside))
                self.lake.publish(name, aside, {WHOLE: Entry(WHOLE, "", ())})

    def marts(self) -> dict[str, DataFrame]:
        """Every mart as a frame."""
        table, runs = self.table(VERDICTS, verdicts.DDL), self.runs()
        history = marts.history(table, runs)
        known = [(row["run"], row["product"], row["version"], row["started"]) for row in self._about()]
        pairs = self.spark.createDataFrame(marts.pairs(known), marts.PAIRS)
        return {
            "matrix": marts.matrix(table), "history": history, "flakiness": marts.flakiness(history),
            "latency": marts.latency(self.table(TIMES, timing.DDL), runs),
            "regressions": marts.regressions(table, pairs),
        }

    def runs(self) -> DataFrame:
        """The runs of the lake: columns of marts.RUNS."""
        return self.spark.createDataFrame([tuple(row.values()) for row in self._about()], marts.RUNS)

    def verdicts(self, runs: Sequence[str]) -> list[verdicts.Row]:
        """The verdict tables of these runs, in their order and in that of the catalogue."""
        place = {name: number for number, name in enumerate([*runs, *rules.CATALOGUE])}
        rows = [verdicts.Row(**row.asDict()) for row in self.table(VERDICTS, verdicts.DDL, runs).collect()]
        return sorted(rows, key=lambda row: (place[row.run], place[row.rule]))

    def summary(self) -> dict[str, Any]:
        """The runs and marts of the lake as one document, for pages."""
        tables = {name: parquet.read_table(self.lake.paths(name)).to_pylist() for name in marts.ORDER}
        return {"schema": "amqp-conformance/history/1", "runs": self._about(), **tables}

    def header(self, run: str) -> dict[str, Any]:
        """What is known of a run, with the profile that it is held to."""
        return held_to(self.lake.entries(SILVER)[run].about, self.profile)

    def shards(self, runs: Iterable[str]) -> DataFrame:
        """The shards of these runs as tasks, the largest first."""
        silver = self.lake.entries(SILVER)
        files = [(file.bytes, run, str(self.lake.root / file.path)) for run in runs for file in silver[run].files]
        return ingest.tasks(self.spark, [(run, path) for _, run, path in sorted(files, reverse=True)])

    def table(self, name: str, ddl: str, runs: Sequence[str] | None = None) -> DataFrame:
        """A table of the lake as the manifest has it, of all runs or some."""
        entries = self.lake.entries(name)
        files = [str(self.lake.root / file.path) for run, entry in entries.items() for file in entry.files
                 if runs is None or run in runs]
        if not files:
            return self.spark.createDataFrame([], ddl)
        return self.spark.read.schema(ddl).option("basePath", str(self.lake.root / name)).parquet(*files)

    def _silver(
        self, packed: DataFrame, files: Sequence[Path], inputs: Inputs, runs: Mapping[str, str],
        islands: DataFrame | None = None,
    ) -> None:
        count = shards(sum(map(_size, files)), self._parallel())
        aside = self.lake.aside()
        aside.mkdir()
        shard.silver(packed, count, aside, islands).collect()
        counted = _counted(self.spark.read.schema(shard.DDL).parquet(str(aside)))
        self.lake.publish(SILVER, aside, {
            run: Entry(run, runs[run], (), about(inputs, run, counted.get(run, {}))) for run in runs
        })

    def _write(self, table: str, frame: DataFrame, runs: Mapping[str, Entry]) -> None:
        self.lake.publish(table, self._aside(table, frame), runs)

    def _aside(self, table: str, frame: DataFrame) -> Path:
        aside = self.lake.aside()
        frame.write.partitionBy("run") \
            .option("parquet.block.size", str(_ROW_GROUP)).option("compression", "zstd").parquet(str(aside))
        return aside

    def _profile(self, entry: Entry) -> str:
        return self.profile or profiles.spec(entry.about)

    def _about(self) -> list[dict[str, Any]]:
        return [line(entry.run, entry.about, self._profile(entry)) for entry in self.lake.entries(SILVER).values()]

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
    rows = silver.groupBy("run").agg(
        f.count("*").alias("events"), f.count_distinct("history").alias("histories"),
        connections.alias("connections"), f.min("time_ns").alias("began"), f.max("time_ns").alias("ended"), *lost,
    ).collect()
    return {row["run"]: {name: value for name, value in row.asDict().items() if name != "run"} for row in rows}


def _size(path: Path) -> int:
    return path.stat().st_size

