"""One run, judged three times: live, by the plain fold over its recording, and on Spark. The three agree.

Once on a broker that was made to misbehave, so that there is something to disagree about, and once on a real RabbitMQ.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance.catalogue import profiles, rules
from conformance.history.recording import Recording
from conformance.oracle.monitors import judge
from reference_broker import ReferenceBroker
from reports.alone.judged import JudgedRun
from reports.html import render
from reports.judging.gold import rows_of
from reports.pipeline import verdicts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MUTANTS = ("settle.multiple-only-below-tag",)


@pytest.fixture(params=["misbehaving", pytest.param("rabbitmq", marks=pytest.mark.rabbitmq)])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "rabbitmq":
        if "AMQP_RABBITMQ_URL" not in os.environ:
            pytest.skip("AMQP_RABBITMQ_URL names no RabbitMQ")
        yield os.environ["AMQP_RABBITMQ_URL"]
        return
    with ReferenceBroker(mutants=MUTANTS) as broker:
        yield broker.url


@pytest.fixture
def run(url: str, tmp_path: Path) -> tuple[dict[str, Any], Path]:
    """The suite by two workers on the broker: its results and its recording. On the one that misbehaves without the
    machines that wait for each answer: what they find there, they make smaller for a minute."""
    less = [] if url == os.environ.get("AMQP_RABBITMQ_URL") else ["-k", "not lockstep"]
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "--pyargs",
            "conformance",
            "--broker-url",
            url,
            "--depth",
            "smoke",
            "-q",
            "-n",
            "2",
            "--rules",
            "TAG-00*,ACK-00[1-4]",
            "--recording",
            str(tmp_path / "rec"),
            "-p",
            "no:cacheprovider",
            "--report",
            str(tmp_path / "report"),
            *less,
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return json.loads((tmp_path / "report" / "results.json").read_text("utf-8")), tmp_path / "rec"


def test_the_three_agree(run: tuple[dict[str, Any], Path], spark: SparkSession) -> None:
    results, folder = run
    recording = Recording(folder)
    assert len(recording.files) == 2
    assert recording.torn == []
    known = {rule["id"] for rule in results["rules"] if rule["verdict"] == "deviates"}
    frame = verdicts.verdicts(spark, folder, {results["run"]: known})
    rows = [verdicts.VerdictRow(**row.asDict()) for row in frame.collect()]
    assert verdicts.differences(rows, results) == []

    plain = judge(recording.events(), profiles.load(results["profile"]))
    assert {row.rule: row.exercised for row in rows} == {name: plain.exercised[name] for name in rules.CATALOGUE}
    gold = list(rows_of(results["run"], "", plain))
    alone = JudgedRun(results["run"], {}, recording.header(results["run"]), {}, {}, gold).table(known)
    assert [(row.rule, row.findings, row.doubtful) for row in rows] == [
        (row.rule, row.findings, row.doubtful) for row in alone
    ]
    if results["broker"]["product"] != "RabbitMQ":
        assert {row.rule for row in rows if row.verdict == "broken"} >= {"ACK-002"}
    assert results["broker"]["name"] in render(results)
