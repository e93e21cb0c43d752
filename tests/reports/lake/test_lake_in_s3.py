"""A lake in an object store: written by Spark, killed, resumed, and read by whoever reads Delta tables.

The server is moto's, in a process of its own. Spark's workers get nothing from Hadoop: they write and read by obstore.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import polars
import pytest
from deltalake import DeltaTable

from conformance import cli
from conformance.history.events import Event
from reports import objects
from reports.lake.columns import TABLES
from reports.lake.commits import Lake
from reports.lake.files import File, scan
from reports.pipeline.inputs import gather
from reports.pipeline.job import SILVER, Job
from tests.reports.test_alone import BARE, written
from tests.support.gold import folded, gist

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[3]
DIES = """
import os, signal, sys
from reports.pipeline.session import session
from tests.reports.lake.test_lake_in_s3 import Dies, Ended, interrupted
spark = session(sys.argv[2], master="local[2]", settings={"spark.sql.shuffle.partitions": "2"}, octets=1)
Dies.end = staticmethod(lambda: os.killpg(0, signal.SIGKILL))
interrupted(sys.argv[1], spark)
"""


class Ended(BaseException):
    """In the place of an end: nothing that the job could still do is done."""


class Dies(Lake):
    """A lake whose job ends when the files of silver are there, and before their commit."""

    @staticmethod
    def end() -> None:
        raise Ended

    def publish(self, table: str, files: Sequence[File], made: Mapping[str, int]) -> None:
        if table == SILVER:
            self.end()
        super().publish(table, files, made)


def interrupted(s3: str, spark: SparkSession) -> None:
    job = Job(spark, Dies(f"{s3}/lake"), lambda stage, done, known: None)
    job.judged(gather([f"{s3}/in"]))


def killed(s3: str, log: Path) -> None:
    died = subprocess.run(
        [sys.executable, "-c", DIES, s3, str(log)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        start_new_session=True,
        check=False,
        timeout=500,
    )
    assert died.returncode == -signal.SIGKILL, died.stderr


def below(address: str) -> list[str]:
    return [one.address.rpartition("/")[2] for one in objects.listed(address)]


@pytest.mark.spark
@pytest.mark.parametrize("kill", [False, pytest.param(True, marks=pytest.mark.long)])
def test_written_by_spark_killed_resumed_and_read_by_others(
    s3: str,
    recorded: Path,
    spark: SparkSession,
    mixed: list[Event],
    table_of: dict[str, str],
    tmp_path: Path,
    kill: bool,
) -> None:
    """Ended when the files of silver are there and their commit is not. Inputs are in the store as well. `make test`
    ends the job where it is; to kill one takes another Spark."""
    for file in recorded.iterdir():
        objects.put(f"{s3}/in/{file.name}", file)
    if kill:
        killed(s3, tmp_path / "spark.log")
    else:
        with pytest.raises(Ended):
            interrupted(s3, spark)
    lake = Lake(f"{s3}/lake")
    orphans = below(f"{s3}/lake/silver")
    assert len(orphans) > 0
    assert lake.files("silver") == []

    job = Job(spark, lake, lambda stage, done, known: None)
    for _ in range(2):
        assert job.judged(gather([f"{s3}/in"])) == ["r1"]
    assert [lake.version(table) for table in ("silver", "runs", "gold", "verdicts", "times")] == [1, 1, 1, 1, 1]
    assert {file.path.rpartition("/")[2] for file in lake.files("silver")}.isdisjoint(orphans)
    assert gist(lake.read("gold").to_pylist()) == folded(mixed)
    assert {row.rule: row.verdict for row in job.verdicts(["r1"])} == table_of
    assert str(job.headers(["r1"])["r1"]["files"][0]).startswith(f"{s3}/in/events-")
    read_by_others(spark, lake, table_of, len(mixed))


def read_by_others(spark: SparkSession, lake: Lake, table_of: dict[str, str], events: int) -> None:
    """Everybody finds the same verdicts, and all events."""
    place = str(lake.place("verdicts"))
    duck = duckdb.connect()
    for name in ("verdicts", "silver"):
        duck.register(name, DeltaTable(str(lake.place(name))).to_pyarrow_dataset())
    assert dict(duck.sql("SELECT rule, verdict FROM verdicts").fetchall()) == table_of
    assert duck.sql("SELECT count(*) FROM silver WHERE run = 'r1'").fetchall() == [(events,)]
    assert dict(polars.scan_delta(place).select("rule", "verdict").collect().iter_rows()) == table_of
    pandas = DeltaTable(place).to_pandas(columns=["rule", "verdict"])
    assert dict(zip(pandas["rule"], pandas["verdict"], strict=True)) == table_of
    rows = scan(spark, place, TABLES["verdicts"], lake.files("verdicts"), ["rule", "verdict"]).collect()
    assert {row.rule: row.verdict for row in rows} == table_of


def test_a_capture_in_a_store_is_judged_into_a_store_without_spark(
    s3: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All below an address is looked at, but for what is neither recording nor capture, and for lakes."""
    capture = written(tmp_path / "a.pcap", 2)
    objects.put(f"{s3}/in/day 1/a.pcap", capture)
    objects.put(f"{s3}/in/lake/b.pcap", capture)
    objects.put(f"{s3}/in/notes.txt", b"neither this nor that")
    for _ in range(2):
        assert cli.main(["trace", "check", f"{s3}/in", "--out", f"{s3}/out"]) == 0
    assert f"report: {s3}/out/index.html" in capsys.readouterr().err
    assert {"index.html", "history.html", "capture.html", "history.json"} <= set(below(f"{s3}/out"))
    lake = Lake(f"{s3}/out/lake")
    assert [lake.version(table) for table in ("silver", "gold", "verdicts", "times")] == [1, 1, 1, 1]
    (run,) = lake.read("runs").to_pylist()
    assert run["run"] == "a.pcap 10.0.0.1:5672"
    assert f"{s3}/in/day 1/a.pcap" in run["about"]


def test_a_worker_elsewhere_takes_a_copy_of_its_own(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One on this machine reads that of the job, which tells what is new by the time of the object."""
    address = f"{s3}/in/a.bin"
    objects.put(address, b"some octets")
    (copy,) = objects.fetched(f"{s3}/in", lambda name, begin: (name, begin) == ("/a.bin", b"some octets"))
    assert (objects.origin(copy), objects.named(f"{copy} is torn")) == (address, f"{address} is torn")
    with objects.here(address) as path:
        assert path == copy
    monkeypatch.delenv(objects.COPIES)
    with objects.here(address) as path:
        assert (path.name, path.read_bytes()) == ("a.bin", b"some octets")
        assert path != copy
    assert not path.exists()


def test_what_the_environment_says_is_carried_to_workers(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as there is a lake in a store, even if nothing was sent or taken yet."""
    monkeypatch.setattr(objects, "_MET", set())
    told = objects.carried(lambda names: (os.environ.get(name, "") for name in names))
    Lake(s3).place("gold")
    there = objects.carried(lambda names: (os.environ[name] for name in names))
    said = os.environ["AWS_ENDPOINT_URL"]
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    assert list(told(["AWS_ENDPOINT_URL"])) == [""]
    assert list(there(["AWS_ENDPOINT_URL"])) == [said]


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (["{s3}/none"], "{s3}/none: nothing is there."),
        (["s3://nobucket/x"], "s3://nobucket/x cannot be used: NoSuchBucket."),
        (["{s3}/notes.txt"], "{s3}/notes.txt: no recording and no capture here"),
        (["{s3}/torn.pcap"], "{s3}/torn.pcap ends within its first 24 octets."),
        (["{here}", "--out", "s3://nobucket/x"], "--out s3://nobucket/x cannot be used: NoSuchBucket."),
    ],
)
def test_what_cannot_be_used_is_said_in_a_sentence(
    s3: str,
    tmp_path: Path,
    paths: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    capture = written(tmp_path / "a.pcap", 2)
    objects.put(f"{s3}/notes.txt", b"neither this nor that")
    objects.put(f"{s3}/torn.pcap", b"\xa1\xb2\xc3\xd4 torn")
    out = [] if "--out" in paths else ["--out", str(tmp_path / "out")]
    assert cli.main(["trace", "check", *(path.format(s3=s3, here=capture) for path in paths), *out]) == 2
    assert said.format(s3=s3) in " ".join(capsys.readouterr().err.split())


def test_who_says_not_who_he_is_is_told_so() -> None:
    problem = OSError("Generic S3 error: Error performing PUT http://169.254.169.254/latest/api/token in 6 ms - denied")
    assert objects.why(problem).startswith("nobody says who we are; the environment should")
    assert objects.why(OSError("x <Error><Code>AccessDenied</Code></Error>\n\nDebug source:\n...")) == "AccessDenied"
    assert objects.why(OSError("two\n lines\n\nDebug source:\nmore")) == "two lines"


@pytest.mark.parametrize("words", [["s3://bucket/a.pcap"], ["a.pcap", "--out", "s3://bucket/out"]])
def test_without_the_extra_an_address_is_refused_in_a_sentence(tmp_path: Path, words: list[str]) -> None:
    """Before anything is read: the capture need not be there."""
    ran = subprocess.run(
        [sys.executable, "-c", BARE, "trace", "check", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "COLUMNS": "300"},
    )
    assert ran.returncode == 2
    said, _ = ran.stderr.splitlines()
    assert "pip install 'amqp-conformance[objects]'" in said


def test_a_watch_keeps_how_far_it_is_on_this_machine(
    s3: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["trace", "watch", str(tmp_path), "--out", s3]) == 2
    assert "name a directory by --checkpoint" in " ".join(capsys.readouterr().err.split())
