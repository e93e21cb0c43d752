"""The pipeline: Spark gives what the plain fold gives, however the work is cut up."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from conformance import profiles, rules
from conformance.events import Event
from conformance.monitors import judge
from conformance.verdicts import Judgement, verdict_table
from reports import recording
from reports.pipeline import __main__ as command
from reports.pipeline import check, ingest, verdicts
from reports.pipeline.lake import Lake
from reports.recording import BadRecording, Recording

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HEADER = {"run": "r1", "profile": "documented", "broker": "Birch 2.9", "queue_types": ["classic", "quorum"],
          "capabilities": ["basic.nack"]}
PROFILES = {"r1": "documented"}


def in_order(events: Iterable[Event]) -> list[Event]:
    return sorted(events, key=lambda event: (event.run, event.history, event.seq))


def batches(events: Sequence[Event], size: int) -> Iterator[pa.RecordBatch]:
    return ingest.blocks(map(recording.to_row, events), size)


def gist(rows: Iterable[dict[str, Any]]) -> Counter[str]:
    """Rows of `check` as a multiset that can be compared."""
    return Counter(
        repr((row["history"], row["what"], row["rule"], row["times"], row.get("at"), row.get("observed"),
              row.get("certain"), row.get("witness")))
        for row in rows
    )


def folded(events: Iterable[Event]) -> Counter[str]:
    """The same rows by the plain fold, history by history."""
    profile = profiles.load("documented")
    by_history: dict[str, list[Event]] = {}
    for event in in_order(events):
        by_history.setdefault(event.history, []).append(event)
    return gist(
        row for name, own in by_history.items() for row in check.rows_of("r1", name, judge(own, profile))
    )


def collected(frame: DataFrame) -> Counter[str]:
    return gist(row.asDict() for row in frame.collect())


# -- without Spark: the functions that run in its workers


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_batches_do_not_show_in_the_judgement(mixed: list[Event], size: int) -> None:
    profile_of_run = {"r1": profiles.load("documented")}
    blocks = list(check.judged(batches(in_order(mixed), size), profile_of_run))
    assert gist(row for block in blocks for row in block) == folded(mixed)


def test_the_planted_contradictions_are_found_where_they_are(mixed: list[Event]) -> None:
    found = judge(mixed, profiles.load("documented")).findings
    assert {finding.history for finding in found} == {f"h{number}" for number in range(0, 40, 4)}


def test_events_survive_arrow(mixed: list[Event]) -> None:
    again = [event for batch in batches(mixed, 100) for event in ingest.to_events(batch)]
    assert again == mixed
    assert 2**64 - 1 in {event.delivery_tag for event in again}


def test_a_seq_that_does_not_rise_is_refused(mixed: list[Event]) -> None:
    twice = [event for event in in_order(mixed) for _ in range(2)]
    with pytest.raises(BadRecording, match="recorded twice"):
        list(check.judged(batches(twice, 50), {"r1": profiles.load("documented")}))


def test_events_without_a_header_are_refused(mixed: list[Event]) -> None:
    with pytest.raises(BadRecording, match="run 'r1', which no header names"):
        list(check.judged(batches(mixed, 50), {}))


def test_what_is_offered_follows_from_the_header() -> None:
    rule = replace(rules.get("ACK-011"), capability="basic.nack")
    assert verdicts.offer(HEADER).includes(rule)
    assert not verdicts.offer({**HEADER, "capabilities": []}).includes(rule)
    assert not verdicts.offer({**HEADER, "queue_types": ["stream"]}).includes(rule)
    announced = {"profile": "documented", "server_properties": {"capabilities": {"basic.nack": True, "x": False}}}
    assert verdicts.offer(announced).capabilities == {"basic.nack"}


# -- on Spark


@pytest.mark.spark
@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_partitions_do_not_show_in_the_judgement(
    spark: SparkSession, tmp_path: Path, mixed: list[Event], partitions: int,
) -> None:
    shuffled = random.Random(partitions).sample(mixed, len(mixed))
    for worker in range(3):
        recording.write(tmp_path, HEADER, shuffled[worker::3], worker=f"gw{worker}")
    events = ingest.events(spark, Recording(tmp_path))
    assert collected(check.check(events, PROFILES, partitions)) == folded(mixed)


@pytest.mark.spark
def test_ingest_gives_every_column_exactly(spark: SparkSession, tmp_path: Path, mixed: list[Event]) -> None:
    path = recording.write(tmp_path, HEADER, mixed)
    with path.open("a") as file:
        file.write(json.dumps({**recording.to_row(mixed[0]), "seq": 999, "rtt_ns": 5}) + "\n")
    frame = ingest.events(spark, Recording(tmp_path))
    rows = sorted((row.asDict() for row in frame.collect()), key=lambda row: (row["history"], row["seq"]))
    extra = next(row for row in rows if row["seq"] == 999)
    assert json.loads(extra["extra"]) == {"rtt_ns": 5}
    rows.remove(extra)
    plain = sorted(mixed, key=lambda event: (event.history, event.seq))
    assert [tuple(row[name] for name in Event._fields) for row in rows] == [tuple(event) for event in plain]


@pytest.mark.spark
def test_the_verdict_table_is_that_of_the_plain_fold(
    spark: SparkSession, tmp_path: Path, mixed: list[Event],
) -> None:
    recording.write(tmp_path, HEADER, mixed)
    rows = [verdicts.Row(**row.asDict()) for row in verdicts.verdicts(spark, tmp_path).collect()]
    assert [row.rule for row in rows] == list(rules.CATALOGUE)
    plain = judge(mixed, profiles.load("documented"))
    offered = verdicts.offer(HEADER)
    expected = verdict_table(plain, {
        name: (rule.needed, offered.includes(rule)) for name, rule in rules.CATALOGUE.items() if rule.judged
    })
    judged = {row.rule: row.verdict for row in rows if row.rule in expected}
    assert judged == {name: verdict.value for name, verdict in expected.items()}
    assert "broken" in judged.values()
    assert {row.rule: row.exercised for row in rows} == {name: plain.exercised[name] for name in rules.CATALOGUE}


@pytest.mark.spark
def test_two_runs_in_one_recording_are_two_tables(spark: SparkSession, tmp_path: Path, mixed: list[Event]) -> None:
    recording.write(tmp_path, HEADER, mixed)
    clean = [event._replace(run="r2") for event in mixed if event.history == "h1"]
    recording.write(tmp_path, {**HEADER, "run": "r2"}, clean)
    rows = verdicts.verdicts(spark, tmp_path).collect()
    broken = {row.run for row in rows if row.verdict == "broken"}
    assert {row.run for row in rows} == {"r1", "r2"}
    assert broken == {"r1"}


# -- the comparison with the live run


def live(judgement: Judgement) -> dict[str, Any]:
    """results.json of a run that came to this judgement, on a broker that offers what the header says."""
    offered = verdicts.offer(HEADER)
    table = verdict_table(
        judgement, {name: (rule.needed, offered.includes(rule)) for name, rule in rules.CATALOGUE.items()},
    )
    return {"run": "r1", "rules": [
        {"id": name, "verdict": table[name].value, "exercised": judgement.exercised[name]}
        for name, rule in rules.CATALOGUE.items() if rule.judged
    ]}


def rows_of(results: dict[str, Any]) -> list[verdicts.Row]:
    return [
        verdicts.Row("r1", "", "", rule["id"], "must", rule["verdict"], rule["exercised"], 0, 0)
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
    assert verdicts.differences(rows, changed(results, held, verdict="deviates", cases=[])) == []
    assert verdicts.differences(rows, changed(results, held, verdict="deviates", cases=[{}])) != []


def test_every_difference_is_named(mixed: list[Event]) -> None:
    results = live(judge(mixed, profiles.load("documented")))
    rows = rows_of(results)
    broken = next(row.rule for row in rows if row.verdict == "broken")
    assert verdicts.differences(rows, changed(results, broken, verdict="held")) == [
        f"{broken}: held live, broken from the recording"]
    assert verdicts.differences(rows, changed(results, broken, exercised=-1))[0].startswith(
        f"{broken}: exercised -1 times live")
    unlisted = {**results, "rules": [rule for rule in results["rules"] if rule["id"] != broken]}
    assert verdicts.differences(rows, unlisted) == [f"{broken}: not broken live, broken from the recording"]
    assert verdicts.differences(rows[1:], results) == [
        f"{rows[0].rule}: judged live, unknown to the recording's catalogue"]


def test_a_fault_of_the_suite_excuses_what_it_left_out_and_no_more(mixed: list[Event]) -> None:
    results = live(judge(mixed, profiles.load("documented")))
    rows = rows_of(results)
    broken = next(row.rule for row in rows if row.verdict == "broken")
    held = next(row.rule for row in rows if row.verdict == "held")
    assert verdicts.differences(rows, changed(results, held, verdict="harness-error")) == []
    assert verdicts.differences(rows, changed(results, broken, verdict="harness-error")) != []


# -- the command


@pytest.mark.spark
def test_the_command_writes_its_tables_compares_and_is_quiet(tmp_path: Path, mixed: list[Event]) -> None:
    recording.write(tmp_path / "rec", HEADER, mixed)
    (tmp_path / "results.json").write_text(json.dumps(live(judge(mixed, profiles.load("documented")))))
    ran = subprocess.run(
        [sys.executable, "-m", "reports.pipeline", "rec", "--out", "out", "--results", "results.json",
         "--master", "local[2]"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}, capture_output=True, text=True,
        timeout=300, check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    assert "The recording gives the verdicts of the live run" in ran.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "rec", "results.json"]
    table = json.loads((tmp_path / "out" / "verdicts.json").read_text())
    assert [row["rule"] for row in table] == list(rules.CATALOGUE)
    lake = Lake(tmp_path / "out" / "lake")
    assert gist(parquet.read_table(lake.paths("gold")).to_pylist()) == folded(mixed)
    written = parquet.read_table(lake.paths("verdicts")).to_pylist()
    assert {(row["rule"], row["verdict"]) for row in written} == {(row["rule"], row["verdict"]) for row in table}
    marts = json.loads((tmp_path / "out" / "history.json").read_text())
    assert {row["verdict"] for row in marts["matrix"]} == {row["verdict"] for row in table}


def test_a_difference_is_listed_and_ends_with_one(
    mixed: list[Event], capsys: pytest.CaptureFixture[str],
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
