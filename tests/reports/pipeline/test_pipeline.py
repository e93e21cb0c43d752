"""The pipeline: Spark gives what the plain fold gives, however the work is cut up."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from conformance.catalogue import profiles, rules
from conformance.history import recording
from conformance.history.events import Event
from conformance.history.recording import BadRecording, Recording
from conformance.oracle.monitors import judge
from conformance.oracle.verdicts import verdict_table
from reports.pipeline import check, ingest, verdicts
from tests.support.gold import folded, gist, in_order

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HEADER = {
    "run": "r1",
    "profile": "documented",
    "broker": "Birch 2.9",
    "queue_types": ["classic", "quorum"],
    "capabilities": ["basic.nack"],
}
PROFILES = {"r1": "documented"}


def batches(events: Sequence[Event], size: int) -> Iterator[pa.RecordBatch]:
    return ingest.blocks(map(recording.to_row, events), size)


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
    spark: SparkSession,
    tmp_path: Path,
    mixed: list[Event],
    partitions: int,
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
    spark: SparkSession,
    tmp_path: Path,
    mixed: list[Event],
) -> None:
    recording.write(tmp_path, HEADER, mixed)
    rows = [verdicts.VerdictRow(**row.asDict()) for row in verdicts.verdicts(spark, tmp_path).collect()]
    assert [row.rule for row in rows] == list(rules.CATALOGUE)
    plain = judge(mixed, profiles.load("documented"))
    offered = verdicts.offer(HEADER)
    expected = verdict_table(
        plain, {name: (rule.needed, offered.includes(rule)) for name, rule in rules.CATALOGUE.items() if rule.judged}
    )
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
