"""The tally of repeated runs: what counts as unsteady, and that a real repetition is steady."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.front.repeat import Tally, main
from reference_broker import ReferenceBroker


def results(**verdicts: str) -> dict[str, object]:
    return {"rules": [{"id": rule.replace("_", "-"), "verdict": verdict} for rule, verdict in verdicts.items()]}


def test_a_verdict_that_changes_is_unsteady() -> None:
    tally = Tally("b")
    tally.add(0, results(ACK_001="held", ACK_002="held"))
    tally.add(0, results(ACK_001="held", ACK_002="broken"))
    assert list(tally.unsteady()) == ["ACK-002"]
    assert not tally.steady()


def test_a_rule_that_only_reports_may_change() -> None:
    tally = Tally("b")
    tally.add(0, results(TAG_004="held"))
    tally.add(0, results(TAG_004="broken"))
    assert tally.steady()


def test_a_run_that_ends_otherwise_is_unsteady() -> None:
    tally = Tally("b")
    tally.add(0, results(ACK_001="held"))
    tally.add(3, None)
    assert not tally.unsteady()
    assert not tally.steady()


def test_runs_on_the_reference_broker_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ReferenceBroker() as broker:
        short = ["--runs", "2", "--depth", "smoke", "--rules", "ACK-01*"]
        code = main([*short, "--out", str(tmp_path), f"ref={broker.url}"])
    assert code == 0, capsys.readouterr().out
    (row,) = json.loads((tmp_path / "repeat.json").read_text())
    assert row["exits"] == {"0": 2}
    assert row["verdicts"]["ACK-010"] == {"held": 2}
    assert "2 runs" in capsys.readouterr().out
