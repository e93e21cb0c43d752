"""The lake: only what a commit names is believed, and a commit is there or not."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import parquet

from reports.pipeline.inputs import gather
from reports.pipeline.job import Job
from reports.pipeline.lake import WHOLE, BadLake, Entry, Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]


def write(lake: Lake, table: str, run: str, rows: int, fingerprint: str = "f") -> None:
    """What a job does: data aside, then the commit."""
    lake.publish(table, laid(lake, run, rows), {run: Entry(run, fingerprint, ())})


def laid(lake: Lake, run: str, rows: int) -> Path:
    aside = lake.aside()
    (aside / f"run={run}" / "shard=0").mkdir(parents=True)
    parquet.write_table(pa.table({"n": list(range(rows))}), aside / f"run={run}" / "shard=0" / "part.parquet")
    return aside


def test_what_was_published_is_there_with_its_rows(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    write(lake, "silver", "r1", 3)
    entry = Lake(tmp_path).entries("silver")["r1"]
    assert (entry.rows, entry.fingerprint, entry.commit) == (3, "f", 1)
    assert parquet.read_table(lake.paths("silver")[0]).num_rows == 3
    assert lake.entries("gold") == {}


def test_a_run_that_is_written_again_is_replaced_and_the_old_data_swept(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    write(lake, "silver", "r1", 3)
    write(lake, "silver", "r2", 1)
    write(lake, "silver", "r1", 5)
    assert {run: entry.rows for run, entry in lake.entries("silver").items()} == {"r1": 5, "r2": 1}
    assert len(list(tmp_path.glob("silver/**/*.parquet"))) == 3
    assert lake.sweep() == 1
    assert [parquet.read_table(path).num_rows for path in lake.paths("silver")] == [5, 1]
    assert lake.sweep() == 0


def test_a_run_without_a_row_is_known_and_empty(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.publish("gold", laid(lake, "r1", 2), {"r1": Entry("r1", "f", ()), "r2": Entry("r2", "g", ())})
    assert lake.entries("gold")["r2"].files == ()
    assert lake.entries("gold")["r2"].fingerprint == "g"


def test_a_run_is_known_by_its_whole_name(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.publish("silver", laid(lake, "a.pcap 10.0.0.1%3A5672", 1), {"a.pcap 10.0.0.1:5672": Entry("", "f", ())})
    assert lake.entries("silver")["a.pcap 10.0.0.1:5672"].rows == 1


def test_tables_of_all_runs_have_no_run(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    aside = lake.aside()
    aside.mkdir()
    parquet.write_table(pa.table({"n": [1]}), aside / "part.parquet")
    lake.publish("matrix", aside, {WHOLE: Entry(WHOLE, "", ())})
    assert lake.entries("matrix")[WHOLE].rows == 1


def test_commits_of_many_writers_are_all_kept(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: write(Lake(tmp_path), "silver", f"r{number}", 1), range(24)))
    assert set(Lake(tmp_path).entries("silver")) == {f"r{number}" for number in range(24)}
    assert sorted(path.name for path in tmp_path.glob("manifest/[0-9]*")) == [f"{n:08d}.json" for n in range(1, 25)]


@pytest.mark.parametrize("text", ["{", '{"schema": "amqp-conformance/lake/9"}'])
def test_a_commit_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    lake = Lake(tmp_path)
    (tmp_path / "manifest" / "00000001.json").write_text(text)
    with pytest.raises(BadLake, match=r"00000001\.json"):
        lake.entries("silver")


DIES = """
import os, sys, pathlib
from reports.pipeline import lake
from tests.reports.test_lake import laid
at = lake.Lake(sys.argv[1])
aside = laid(at, "r1", 7)
step = sys.argv[2]
def stop(*_, **__):
    print("here", flush=True)
    os.kill(os.getpid(), 9)
if step == "before moving": lake.os.replace = stop
if step == "before the commit": lake.os.link = stop
at.publish("silver", aside, {"r1": lake.Entry("r1", "new", ())})
"""


@pytest.mark.parametrize("step", ["before moving", "before the commit"])
def test_a_job_that_is_killed_leaves_what_was_there_before(tmp_path: Path, step: str) -> None:
    lake = Lake(tmp_path)
    write(lake, "silver", "r1", 3, "old")
    died = subprocess.run([sys.executable, "-c", DIES, str(tmp_path), step], cwd=ROOT, capture_output=True, text=True,
                          check=False, timeout=240)
    assert (died.returncode, died.stdout) == (-signal.SIGKILL, "here\n"), died.stderr
    assert (lake.entries("silver")["r1"].fingerprint, lake.entries("silver")["r1"].rows) == ("old", 3)
    lake.sweep()
    assert len(list(tmp_path.glob("**/*.parquet"))) == 1
    write(lake, "silver", "r1", 7, "new")
    assert lake.entries("silver")["r1"].rows == 7


@pytest.mark.spark
def test_a_changed_profile_is_judged_again_without_reading_again(
    tmp_path: Path, recorded: Path, spark: SparkSession,
) -> None:
    lake = Lake(tmp_path)
    job = Job(spark, lake, lambda stage, done, known: None)
    job.judge(job.read(gather([recorded])))
    silver, gold = lake.entries("silver")["r1"], lake.entries("gold")["r1"]
    for known, verdict in ((["TAG-001"], "deviates"), (["TAG-001"], "deviates"), ([], "broken")):
        job.excuse({"r1": known})
        assert {row.rule: row.verdict for row in job.verdicts(["r1"])}["TAG-001"] == verdict
    replace(job, profile="rabbitmq-4.3").judge(["r1"])
    assert lake.entries("silver")["r1"].commit == silver.commit
    judged = lake.entries("gold")["r1"].commit
    assert judged > gold.commit
    replace(job, profile="rabbitmq-4.3", whole=True).judge(["r1"])
    assert lake.entries("gold")["r1"].commit > judged
