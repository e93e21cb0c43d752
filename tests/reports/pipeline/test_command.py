"""`python -m tools.offline`: a job interrupted and begun again, and compared with the live run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance.catalogue import profiles, rules
from conformance.history import recording
from conformance.history.events import Event
from conformance.oracle.monitors import judge
from conformance.oracle.verdicts import Judgement, verdict_table
from reports.lake.commits import Lake
from reports.pipeline import verdicts
from reports.pipeline.inputs import gather
from reports.pipeline.job import Job
from tests.support.gold import folded, gist
from tools import offline as command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[3]
HEADER = {
    "run": "r1",
    "profile": "documented",
    "broker": "Birch 2.9",
    "queue_types": ["classic", "quorum"],
    "capabilities": ["basic.nack"],
}


# -- the comparison with the live run


def live(judgement: Judgement) -> dict[str, Any]:
    """results.json of a run that came to this judgement, on a broker that offers what the header says."""
    offered = verdicts.offer(HEADER)
    table = verdict_table(
        judgement,
        {name: (rule.needed, offered.includes(rule)) for name, rule in rules.CATALOGUE.items()},
    )
    return {
        "run": "r1",
        "rules": [
            {"id": name, "verdict": table[name].value, "exercised": judgement.exercised[name]}
            for name, rule in rules.CATALOGUE.items()
            if rule.judged
        ],
    }


def rows_of(results: dict[str, Any]) -> list[verdicts.VerdictRow]:
    return [
        verdicts.VerdictRow("r1", "", "", rule["id"], "must", rule["verdict"], rule["exercised"], 0, 0)
        for rule in results["rules"]
    ]


def changed(results: dict[str, Any], rule: str, **changes: Any) -> dict[str, Any]:
    return {**results, "rules": [{**one, **changes} if one["id"] == rule else one for one in results["rules"]]}


def test_equal_verdicts_are_no_difference(mixed: list[Event]) -> None:
    results = live(judge(mixed, profiles.load("documented")))
    rows = rows_of(results)
    assert verdicts.differences(rows, results) == []
    broken = next(row.rule for row in rows if row.verdict == "broken")
    assert verdicts.differences(rows, changed(results, broken, verdict="deviates", cases=[{}])) == []
    held = next(row.rule for row in rows if row.verdict == "held")
    assert verdicts.differences(rows, changed(results, held, verdict="unseen", cases=[])) == []
    assert verdicts.differences(rows, changed(results, held, verdict="deviates", cases=[{}])) != []


def test_every_difference_is_named(mixed: list[Event]) -> None:
    results = live(judge(mixed, profiles.load("documented")))
    rows = rows_of(results)
    broken = next(row.rule for row in rows if row.verdict == "broken")
    assert verdicts.differences(rows, changed(results, broken, verdict="held")) == [
        f"{broken}: held live, broken from the recording"
    ]
    assert verdicts.differences(rows, changed(results, broken, exercised=-1))[0].startswith(
        f"{broken}: exercised -1 times live"
    )
    unlisted = {**results, "rules": [rule for rule in results["rules"] if rule["id"] != broken]}
    assert verdicts.differences(rows, unlisted) == [f"{broken}: not broken live, broken from the recording"]
    assert verdicts.differences(rows[1:], results) == [
        f"{rows[0].rule}: judged live, unknown to the recording's catalogue"
    ]


def test_a_fault_of_the_suite_excuses_what_it_left_out_and_no_more(mixed: list[Event]) -> None:
    results = live(judge(mixed, profiles.load("documented")))
    rows = rows_of(results)
    broken = next(row.rule for row in rows if row.verdict == "broken")
    held = next(row.rule for row in rows if row.verdict == "held")
    assert verdicts.differences(rows, changed(results, held, verdict="harness-error")) == []
    assert verdicts.differences(rows, changed(results, broken, verdict="harness-error")) != []


# -- the command


def ended_when(words: list[str], there: Path, pattern: str, number: int = signal.SIGKILL) -> tuple[int, str]:
    """Start a job, and end it with all its processes when a file like this exists; its exit code and complaints."""
    job = subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while not list(there.glob(pattern)) and job.poll() is None:
        time.sleep(0.02)
    os.killpg(job.pid, number)
    _, said = job.communicate(timeout=300)
    return job.returncode, said


@pytest.mark.spark
@pytest.mark.long
def test_a_job_interrupted_and_begun_again_gives_one_result(
    tmp_path: Path,
    mixed: list[Event],
    spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`make test` leaves out the kill of a whole job; kills of a commit, and of a stream, are in other tests."""
    recorded, out, lake = tmp_path / "rec", tmp_path / "out", Lake(tmp_path / "out" / "lake")
    recording.write(recorded, HEADER, mixed)
    (tmp_path / "results.json").write_text(json.dumps(live(judge(mixed, profiles.load("documented")))))
    if os.environ.get("CLUSTER_LONG"):
        words = [sys.executable, "-m", "tools.offline", str(recorded), "--out", str(out), "--master", "local[2]"]
        killed, _ = ended_when(words, out, "lake/silver/run=*/**/*.parquet")
        assert (killed, lake.files("verdicts")) == (-signal.SIGKILL, [])
    code, said = ended_when(
        [
            sys.executable,
            "-m",
            "conformance.cli",
            "trace",
            "check",
            str(recorded),
            "--out",
            str(out),
            "--master",
            "local[2]",
        ],
        out,
        "lake/runs/_delta_log/00000000000000000001.json",
        signal.SIGINT,
    )
    told = " ".join(said.split())
    assert (code, "kept in" in told, "Traceback" in told, "WARN" in told) == (130, True, False, False), said
    assert {file.run for file in lake.files("silver")} == {"r1"}

    words = [str(recorded), "--out", str(out), "--results", str(tmp_path / "results.json")]
    assert command.main(words) == 0
    assert "The recording gives the verdicts of the live run" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "rec", "results.json"]
    table = json.loads((out / "verdicts.json").read_text())
    assert [row["rule"] for row in table] == list(rules.CATALOGUE)
    assert gist(lake.read("gold").to_pylist()) == folded(mixed)
    written = lake.read("verdicts").to_pylist()
    assert {(row["rule"], row["verdict"]) for row in written} == {(row["rule"], row["verdict"]) for row in table}
    marts = json.loads((out / "history.json").read_text())
    assert {row["verdict"] for row in marts["matrix"]} == {row["verdict"] for row in table}

    job = Job(spark, lake, lambda stage, done, known: None)
    rows = job.verdicts(job.judged(gather([recorded])))
    assert [(row.rule, row.verdict) for row in rows] == [(row["rule"], row["verdict"]) for row in table]
    assert [lake.version(table) for table in ("silver", "runs", "gold", "verdicts", "times")] == [1, 1, 1, 1, 1]


def test_a_difference_is_listed_and_ends_with_one(
    mixed: list[Event],
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = live(judge(mixed, profiles.load("documented")))
    rows = rows_of(results)
    held = next(row.rule for row in rows if row.verdict == "held")
    assert command.compare(rows, changed(results, held, verdict="broken")) == 1
    assert f"  {held}: broken live, held from the recording" in capsys.readouterr().err
    assert command.compare(rows, {**results, "run": "r9"}) == 2
    assert "holds no run 'r9'" in capsys.readouterr().err


def test_a_recording_that_is_none_ends_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([str(tmp_path / "missing"), "--out", str(tmp_path)]) == 2
    assert "no such file or directory" in capsys.readouterr().err
