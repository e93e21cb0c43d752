"""The lake: only what a commit names is believed, a commit is there or not, and many may write at once."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from reports import objects
from reports.lake.columns import TABLES
from reports.lake.commits import BadLake, Lake
from reports.lake.files import written
from reports.objects import Place
from reports.pipeline.inputs import gather
from reports.pipeline.job import Job
from tools.pages.lake import PAGE, page

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[3]
ODD = "a.pcap [::1]:5672 /%41=é'\"#?{}~&+"


@pytest.fixture(params=["disk", "s3"])
def root(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue("tmp_path" if request.param == "disk" else "s3")
    return found


def rows(run: str, number: int) -> pa.Table:
    said = [{"run": run, "what": "confirm", "bucket": bucket, "n": 1} for bucket in range(number)]
    return pa.Table.from_pylist(said, schema=TABLES["times"].arrow)


def write(lake: Lake, run: str, number: int, made: int = 7) -> None:
    """What a job does: files first, then the commit."""
    lake.write("times", rows(run, number), {run: made})


def counted(lake: Lake) -> dict[str, int]:
    found = lake.read("times").group_by("run").aggregate([("n", "sum")]).to_pylist()
    return {row["run"]: row["n_sum"] for row in found}


def test_what_was_published_is_there_with_its_rows(root: Place) -> None:
    lake = Lake(root)
    write(lake, "r1", 3)
    assert (counted(Lake(root)), lake.made("times")("r1"), lake.version("times")) == ({"r1": 3}, 7, 1)
    assert (lake.made("times")("r2"), lake.made("gold")("r1"), lake.files("gold")) == (None, None, [])
    assert lake.read("gold").schema == TABLES["gold"].arrow


def test_a_run_that_is_written_again_is_replaced_and_the_old_data_goes_after_a_week(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    write(lake, "r1", 3)
    write(lake, "r2", 1)
    write(lake, "r1", 5)
    assert counted(lake) == {"r1": 5, "r2": 1}
    list(written(rows("r3", 1).to_batches(), lake.place("times"), TABLES["times"]))
    data = list(tmp_path.glob("times/*/*.parquet"))
    assert len(data) == 4
    lake.sweep()
    assert sorted(tmp_path.glob("times/*/*.parquet")) == sorted(data), "another job may mean to commit the newest"
    for path in data:
        os.utime(path, (time.time() - 8 * 86400,) * 2)
    lake.sweep()
    assert len(list(tmp_path.glob("times/*/*.parquet"))) == 3, "what was never committed has gone"
    assert counted(lake) == {"r1": 5, "r2": 1}


def test_a_run_without_a_row_is_known_and_empty(root: Place) -> None:
    lake = Lake(root)
    lake.write("times", rows("r1", 2), {"r1": 1, "r2": 2})
    lake.write("times", rows("r1", 0), {"r1": 3})
    assert (lake.made("times")("r1"), lake.made("times")("r2"), lake.files("times")) == (3, 2, [])


@pytest.mark.parametrize("run", [ODD, "長" * 90, "a" * 300])
def test_a_run_is_known_by_its_whole_name(root: Place, run: str) -> None:
    """By others too, even if they take it from the path; one that is too long for a folder only by the log."""
    lake = Lake(root)
    write(lake, run, 1)
    write(lake, run, 2)
    write(lake, "other", 3)
    assert counted(lake) == {run: 2, "other": 3}
    rows = polars.scan_delta(str(lake.place("times"))).group_by("run").agg(polars.col("n").sum()).collect()
    assert (dict(rows.iter_rows()) == {run: 2, "other": 3}) == (len(run) < 90)


def test_jobs_that_write_at_once_are_all_kept_and_of_one_run_the_last(root: Place) -> None:
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(lambda number: write(Lake(root), f"r{number % 5}", number + 1, number), range(10)))
    lake = Lake(root)
    found = counted(lake)
    assert set(found) == {f"r{number}" for number in range(5)}
    assert {run: (lake.made("times")(run) or 0) + 1 for run in found} == found, "each run is of one writer"
    assert lake.version("times") == 10


def test_a_commit_whose_answer_is_lost_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit, answers = DeltaTable.create_write_transaction, iter([False, True, False])

    def lost(self: DeltaTable, *given: Any, **named: Any) -> None:
        if next(answers):
            raise CommitFailedError("somebody else was quicker")
        commit(self, *given, **named)
        raise CommitFailedError("no answer")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", lost)
    lake = Lake(tmp_path)
    for number in (3, 4):
        write(lake, "r1", number)
    assert (counted(lake), lake.version("times"), list(answers)) == ({"r1": 4}, 2, [])


def test_a_change_is_made_to_what_is_there(tmp_path: Path) -> None:
    """Of a table of all runs nothing is lost where two change it at once."""
    schema = TABLES["matrix"].arrow

    def add(number: int) -> None:
        row = dict.fromkeys(schema.names) | {"broker": "B", "rule": f"X-{number}"}
        more = pa.Table.from_pylist([row], schema=schema)
        Lake(tmp_path).change("matrix", lambda before: pa.concat_tables([before, more]), {})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(12)))
    found = Lake(tmp_path).read("matrix").to_pylist()
    assert sorted(row["rule"] for row in found) == sorted(f"X-{number}" for number in range(12))


def test_a_step_of_a_stream_counts_once_and_its_first_begins_anew(root: Place) -> None:
    lake, table = Lake(root), TABLES["judgements"]

    def step(stream: str, batch: int) -> bool:
        row = dict.fromkeys(table.arrow.names) | {"batch": batch, "run": stream, "what": "run", "times": 1}
        told = pa.RecordBatch.from_pylist([row], schema=table.arrow)
        return lake.append("judgements", list(written([told], lake.place("judgements"), table)), stream, batch)

    assert [step("one", batch) for batch in (0, 1, 1, 0, 2)] == [True, True, False, False, True]
    assert sorted(row["batch"] for row in lake.read("judgements").to_pylist()) == [0, 1, 2]
    assert [row["run"] for row in lake.read("judgements", ["1"]).to_pylist()] == ["one"]
    assert step("two", 0)
    assert [(row["run"], row["batch"]) for row in lake.read("judgements").to_pylist()] == [("two", 0)]


def test_a_lake_of_before_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "manifest").mkdir()
    with pytest.raises(BadLake, match="not Delta tables: check the same recordings and captures again, into another"):
        Lake(tmp_path)


def test_a_table_that_is_torn_or_of_another_version_is_named(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    write(lake, "r1", 1)
    write(lake, "r2", 1)
    log = tmp_path / "times" / "_delta_log"
    first = log / f"{0:020}.json"
    before = first.read_text("utf-8")
    first.write_text(before.replace("bucket", "basket"), "utf-8")
    with pytest.raises(BadLake, match="times: its columns are those of another version"):
        lake.files("times")
    first.write_text(before[:200], "utf-8")
    with pytest.raises(BadLake, match="times: this table cannot be read"):
        lake.files("times")


DIES = """
import os, sys
from deltalake import DeltaTable
from reports.lake import commits as lake
from tests.reports.lake.test_lake import write
at = lake.Lake(sys.argv[1])
def stop(*_, **__):
    print("here", flush=True)
    os.kill(os.getpid(), 9)
if sys.argv[2] == "before the commit":
    DeltaTable.create_write_transaction = stop
else:
    lake.written = stop
write(at, "r1", 7, 99)
"""


@pytest.mark.parametrize("step", ["before the files", "before the commit"])
def test_a_job_that_is_killed_leaves_what_was_there_before(root: Place, step: str) -> None:
    lake = Lake(root)
    write(lake, "r1", 3)
    died = subprocess.run(
        [sys.executable, "-c", DIES, str(root), step],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert (died.returncode, died.stdout) == (-signal.SIGKILL, "here\n"), died.stderr
    assert len(data(root)) == 1 + (step == "before the commit")
    assert (counted(lake), lake.made("times")("r1")) == ({"r1": 3}, 7)
    write(lake, "r1", 7, 99)
    assert (counted(lake), lake.made("times")("r1")) == ({"r1": 7}, 99)


def data(root: Place) -> list[str]:
    """The Parquet files that are there, believed or not."""
    if isinstance(root, Path):
        return sorted(map(str, root.glob("times/*/*.parquet")))
    return [one.address for one in objects.listed(f"{root}/times") if one.address.endswith(".parquet")]


def test_the_page_is_that_of_the_columns() -> None:
    assert PAGE.read_text("utf-8") == page(), "python -m tools.pages.lake"
    for table in TABLES.values():
        assert all(re.search(r".{8,}[.?]$", table.comment(name)) for name in table.arrow.names)


@pytest.mark.spark
def test_a_changed_profile_is_judged_again_without_reading_again(
    tmp_path: Path,
    recorded: Path,
    spark: SparkSession,
) -> None:
    lake = Lake(tmp_path)
    job = Job(spark, lake, lambda stage, done, known: None)
    job.judge(job.read(gather([recorded])))
    assert (lake.version("silver"), lake.version("gold")) == (1, 1)
    for known, verdict in ((["TAG-001"], "deviates"), (["TAG-001"], "deviates"), ([], "broken")):
        job.excuse({"r1": known})
        assert {row.rule: row.verdict for row in job.verdicts(["r1"])}["TAG-001"] == verdict
    assert lake.version("verdicts") == 3, "what is so already is not written"
    job.judge(job.read(gather([recorded])))
    assert lake.version("gold") == 1
    replace(job, profile="rabbitmq-4.3").judge(["r1"])
    assert (lake.version("silver"), lake.version("gold")) == (1, 2)
    replace(job, profile="rabbitmq-4.3", whole=True).judge(["r1"])
    assert (lake.version("silver"), lake.version("gold")) == (1, 3)
