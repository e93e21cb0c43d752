"""The figures of the pipeline: rows of a table, and a table in a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import pipeline_bench, processes
from benchmarks.stages import Row, against_goal, in_turns

ROWS = [
    against_goal("pipeline.shard", 100_000, 400_000, "events/CPU-s", 3)._asdict(),
    Row("pipeline.growth", "10,000 events", 10.5, 1.0, 10.5, "lower", "CPU-s", 1, 11.0)._asdict(),
]


def test_a_missed_goal_is_shown_as_missed() -> None:
    _, _, missed, met = pipeline_bench.table(ROWS)
    assert "0.25" in missed
    assert "missed" in missed
    assert "≤ 11" in met
    assert "missed" not in met


def test_the_page_gets_the_figures_between_its_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{pipeline_bench.BEGIN}\nold\n{pipeline_bench.END}\nafter\n")
    monkeypatch.setattr(pipeline_bench, "PAGE", page)
    pipeline_bench.write_page(ROWS)
    pipeline_bench.write_page(ROWS)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert text.count("pipeline.growth") == 1
    assert "old" not in text


def test_the_round_that_goes_before_is_not_counted() -> None:
    calls: list[str] = []
    found = in_turns(2, a=lambda: calls.append("a"), b=lambda: calls.append("b"))
    assert sorted(calls) == ["a"] * 3 + ["b"] * 3
    assert set(found) == {"a", "b"}


def test_cpu_of_our_own_tree_is_counted() -> None:
    before = processes.cpu()
    sum(number * number for number in range(3_000_000))
    assert processes.cpu() > before
