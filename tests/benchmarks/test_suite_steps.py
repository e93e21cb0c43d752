"""The machines' speed is measured on all that belongs to a step, and written where the other figures are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import suite_steps
from conformance.drive.machines.settlement import SETTLEMENT
from reference_broker import ReferenceBroker


def test_the_figure_joins_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite_steps, "measure", lambda examples, rounds: suite_steps.Result("n", "", 7.0, 0.0, 7.0))
    path = tmp_path / "bench.json"
    path.write_text(json.dumps([{"name": "other", "peer": "p", "ratio": 2.0}, {"name": "n", "peer": "", "ratio": 1.0}]))
    suite_steps.main(["--rounds", "1"], path)
    rows = json.loads(path.read_text())
    assert [(row["name"], row["ratio"]) for row in rows] == [("other", 2.0), ("n", 7.0)]


def test_a_rate_counts_the_steps_of_real_histories() -> None:
    result = suite_steps.measure(1, 1, (SETTLEMENT,))
    assert (result.name, result.better) == ("suite.steps_per_second", "higher")
    assert 1 < result.ratio < 1_000_000
    assert result.ratio == result.ours


def test_a_broken_broker_is_no_benchmark() -> None:
    with (
        ReferenceBroker(mutants=("settle.single-acts-as-multiple",)) as broker,
        pytest.raises(AssertionError, match="settlement finds"),
    ):
        suite_steps.rate(broker.url, (SETTLEMENT,), 10, 0)
