"""The whole pipeline over a lake: bronze to silver, gold, verdicts, times, marts; each step only where it is missing.

What was done is known by fingerprints: silver by the files that a run was read from; gold by the commit of its silver,
the profile, and the code and rules that judge, so that an edited rule is judged again without any shuffle. Every step
ends in one commit. A job that is killed has done some steps or not; the next one goes on from there, and whatever was
written and never committed is swept away when it begins.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyarrow import parquet

import conformance
from conformance import __version__, rules
from reports.pipeline import check, ingest, marts, shard, timing, verdicts
from reports.pipeline.inputs import Inputs
from reports.pipeline.lake import WHOLE, Entry, Lake
from reports.pipeline.watch import Tell, watched

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SILVER, GOLD, VERDICTS, TIMES = "silver", "gold", "verdicts", "times"
STAGES = ("reading", "judging", "timing", "tables")

_PARTITIONED = {SILVER: ("run", "shard")}
_LARGE, _SMALL = 256 << 20, 2 << 20
_ROW_GROUP = 16 << 20


@dataclass(frozen=True)
class Job:
    """A session, a lake, and who is told how far the work has come. `profile` overrides what a run was held to."""

    spark: SparkSession
    lake: Lake
    tell: Tell
    profile: str | None = None

    def run(self, inputs: Inputs) -> list[str]:
        """Everything for these inputs; the runs they are."""
        self.lake.sweep()
        runs = self.read(inputs)
        self.judge(runs)
        self.time(runs)
        self.tables()
        return runs

    def read(self, inputs: Inputs) -> list[str]:
        """Silver for all runs that are not there, or not from these files."""
        known = self.lake.entries(SILVER)
        missing = {
            run: inputs.fingerprint(run) for run in inputs.headers
            if run not in known or known[run].fingerprint != inputs.fingerprint(run)
        }
        if missing:
            from pyspark.sql import functions as f

            files = sorted({file for run in missing for file in inputs.held[run]}, key=_size, reverse=True)
            bronze = ingest.events_of(self.spark, files).where(f.col("run").isin(list(missing)))
            about = {run: {**inputs.headers[run], "kind": "recording", "files": list(map(str, inputs.held[run]))}
                     for run in missing}
            self._silver(bronze, shards(sum(map(_size, files)), self._parallel()), missing, about)
        return list(inputs.headers)

    def judge(self, runs: Sequence[str]) -> None:
        """Gold and verdicts for those of these runs that were never judged like this."""
        silver, gold = self.lake.entries(SILVER), self.lake.entries(GOLD)
        profile_of = {run: self._profile(silver[run]) for run in runs}
        prints = {run: _digest(silver[run].commit, silver[run].fingerprint, profile_of[run], judging()) for run in runs}
        missing = [run for run in runs if run not in gold or gold[run].fingerprint != prints[run]]
        if not missing:
            return
        with watched(self.spark, "judging", self.tell):
            found = check.gold(self.shards(missing), {run: profile_of[run] for run in missing})
            entries = {run: Entry(run, prints[run], (), {"profile": profile_of[run]}) for run in missing}
            self._write(GOLD, found, entries)
            headers = {run: self.header(run) for run in missing}
            rows = verdicts.table(self.table(GOLD, check.DDL, missing), headers)
            self._write(VERDICTS, verdicts.frame(self.spark, rows).coalesce(1), entries)

    def time(self, runs: Sequence[str]) -> None:
        """Histograms of times for those of these runs that have none."""
        silver, known = self.lake.entries(SILVER), self.lake.entries(TIMES)
        prints = {run: _digest(silver[run].commit, silver[run].fingerprint) for run in runs}
        missing = [run for run in runs if run not in known or known[run].fingerprint != prints[run]]
        if missing:
            with watched(self.spark, "timing", self.tell):
                found = timing.latencies(self.shards(missing)).coalesce(1)
                self._write(TIMES, found, {run: Entry(run, prints[run], ()) for run in missing})

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
        entry = self.lake.entries(SILVER)[run]
        return {**entry.about, "profile": self._profile(entry)}

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
        self, bronze: DataFrame, count: int, prints: Mapping[str, str], about: Mapping[str, Mapping[str, Any]],
        islands: DataFrame | None = None,
    ) -> None:
        with watched(self.spark, "reading", self.tell):
            aside = self._aside(SILVER, shard.silver(bronze, count, islands))
            counted = _counted(self.spark.read.schema(shard.DDL).parquet(str(aside)))
            self.lake.publish(SILVER, aside, {
                run: Entry(run, prints[run], (), {**about[run], **counted.get(run, {})}) for run in prints
            })

    def _write(self, table: str, frame: DataFrame, runs: Mapping[str, Entry]) -> None:
        self.lake.publish(table, self._aside(table, frame), runs)

    def _aside(self, table: str, frame: DataFrame) -> Path:
        aside = self.lake.aside()
        frame.write.partitionBy(*_PARTITIONED.get(table, ("run",))) \
            .option("parquet.block.size", str(_ROW_GROUP)).option("compression", "zstd").parquet(str(aside))
        return aside

    def _profile(self, entry: Entry) -> str:
        return self.profile or str(entry.about.get("profile", "documented"))

    def _about(self) -> list[dict[str, Any]]:
        return [_line(entry, self._profile(entry)) for entry in self.lake.entries(SILVER).values()]

    def _parallel(self) -> int:
        return int(self.spark.conf.get("spark.sql.shuffle.partitions") or 8)


def shards(octets: int, parallel: int) -> int:
    """How many shards: none larger than it must be for a task, and of a little no more than there is use for."""
    return max(1, -(-octets // _LARGE), min(parallel, octets // _SMALL))


@cache
def judging() -> str:
    """A digest of the code and the rules that judge."""
    root = Path(str(conformance.__file__)).parent
    folders = [root / name for name in ("model", "monitors", "rules", "profiles")]
    files = [root / "events.py", root / "verdicts.py", Path(check.__file__), Path(verdicts.__file__)]
    files += [path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in (".py", ".toml")]
    return _digest(__version__, *(path.read_text("utf-8") for path in files))


def _counted(silver: DataFrame) -> dict[str, dict[str, int]]:
    from pyspark.sql import functions as f

    rows = silver.groupBy("run").agg(
        f.count("*").alias("events"), f.count_distinct("history").alias("histories"),
        f.count_distinct("history", "connection").alias("connections"),
    ).collect()
    return {row["run"]: {name: row[name] for name in ("events", "histories", "connections")} for row in rows}


def _line(entry: Entry, profile: str) -> dict[str, Any]:
    """One row of marts.RUNS."""
    about = entry.about
    said = about.get("server_properties") or {}
    return {
        "run": entry.run, "broker": str(about.get("broker", "")), "product": str(said.get("product", "")),
        "version": str(said.get("version", "")), "profile": profile, "started": str(about.get("started", "")),
        "kind": str(about.get("kind", "")), "suite": str(about.get("suite", "")),
        **{name: int(about.get(name, 0)) for name in ("events", "histories", "connections")},
    }


def _digest(*parts: object) -> str:
    return hashlib.blake2b(json.dumps([str(part) for part in parts]).encode(), digest_size=12).hexdigest()


def _size(path: Path) -> int:
    return path.stat().st_size

