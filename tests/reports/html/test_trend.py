"""Earlier runs: what is kept of them, what a page makes of it, and which rules are flaky."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.outcome import earlier
from reports.html import history, render, render_many
from reports.html.trend import MOST_RUNS, trend
from reports.kept import kept, summary


def runs(results: dict[str, Any], *verdicts: str, version: str = "2.9") -> list[dict[str, Any]]:
    """A run a day before that of the results, in which ACK-001 had these verdicts."""
    made = []
    for day, verdict in enumerate(verdicts, 1):
        one = kept(results)
        one.update(run=f"e{version}-{day}", started=f"2026-10-{day:02}T03:00:00Z", open=verdict != "broken")
        one["broker"].update(name=f"Birch {version}", version=version)
        one["rules"]["ACK-001"] = verdict
        made.append(one)
    return made


def test_what_is_kept_has_no_evidence_and_the_verdicts_as_they_are_shown(results: dict[str, Any]) -> None:
    one = kept(results)
    assert one["rules"]["ACK-010"] == "broken"
    assert set(one["rules"]) == {rule["id"] for rule in results["rules"]}
    assert one["times"]["confirm"] == {"n": 900, "p50": 0.75, "p90": 2.5, "p99": 4.8, "p999": 31.0, "worst": 31.0}
    assert "waited" not in json.dumps(one)


def test_a_rule_that_turns_twice_is_flaky_and_one_that_an_upgrade_turned_is_not(results: dict[str, Any]) -> None:
    found = trend(results, runs(results, "held", "broken"))
    assert found is not None
    assert [(line.rule, line.flips) for line in found.flaky] == [("ACK-001", 2)]
    assert [one.word for one in found.lines["ACK-001"].signs if one] == ["held", "broken", "held"]
    upgraded = trend(results, runs(results, "broken", "broken", version="2.8"))
    assert upgraded is not None
    assert upgraded.flaky == []
    assert "3 runs of versions 2.8, 2.9 since 2026-10-01; the gate was open in 0 of them" in upgraded.about


def test_runs_of_other_products_later_ones_and_the_same_one_again_are_left_out(results: dict[str, Any]) -> None:
    other, later = runs(results, "held", "held")
    other["broker"]["product"] = "Alder"
    later["started"] = "2027-01-01T00:00:00Z"
    assert trend(results, [other, later, kept(results)]) is None


def test_the_page_shows_bars_squares_and_a_filter(results: dict[str, Any], parse: Callable[[str], Any]) -> None:
    tree = parse(render(results, earlier=runs(results, "held", "broken", "held")))
    assert "Earlier runs 4 runs since 2026-10-01; the gate was open in 2 of them" in tree.text
    assert "flaky, changed 2 times" in tree.text
    assert [row["data-rule"] for row in tree.all("li") if "data-flaky" in row] == ["ACK-001"]
    assert tree.all("button", **{"data-show": "flaky"})
    strips = [str(one["aria-label"]) for one in tree.all("span", class_="strip")]
    assert "Earlier runs, the last at the end: held, broken, held, held" in strips
    assert "Earlier runs" not in parse(render(results)).text
    assert "Earlier runs" not in parse(render_many([results, results], earlier=runs(results, "held"))).text


def test_a_long_history_is_drawn_by_its_end(results: dict[str, Any]) -> None:
    many = [{**one, "run": f"x{number}"} for number in range(MOST_RUNS) for one in runs(results, "held")]
    found = trend(results, many)
    assert found is not None
    assert len(found.runs) == MOST_RUNS
    assert found.runs[-1]["run"] == results["run"]


def test_runs_are_kept_in_a_directory_and_read_again(results: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    (first,) = runs(results, "broken")
    folder.mkdir()
    (folder / "other.json").write_text("[]", encoding="utf-8")
    (folder / "torn.json").write_text("{", encoding="utf-8")
    (folder / "first.json").write_text(json.dumps(first), encoding="utf-8")
    written, page = earlier.keep(results, folder)
    assert written.name == "20261121T150405Z-r1.json"
    assert [run["run"] for run in earlier.read(folder)] == ["e2.9-1", "r1"]
    assert "2 runs of 1 broker." in page.read_text("utf-8")
    earlier.keep(results, folder)
    assert len(earlier.read(folder)) == 2, "a run that is kept again is one run"


def test_a_page_of_kept_runs_promises_no_lake(results: dict[str, Any], parse: Callable[[str], Any]) -> None:
    text = parse(history.render(summary(runs(results, "held", "broken", "held")), lake=False)).text
    assert "flaky, changed 2 times" in text
    assert "From publish to confirm" in text
    assert "lake" not in text


def test_what_a_kept_run_says_is_no_markup(results: dict[str, Any], parse: Callable[[str], Any]) -> None:
    (one,) = runs(results, "<script>alert(1)</script>")
    one["broker"]["name"] = one["started"] = "<img src=x>"
    tree = parse(render(results, earlier=[{**one, "started": "2026-10-01<img src=x>"}]))
    assert not tree.all("img")
    assert len(tree.all("script")) == 1


@pytest.mark.parametrize("width", [390, 1440])
def test_the_trend_fits_its_screen(results: dict[str, Any], tmp_path: Path, chrome: Any, width: int) -> None:
    path = tmp_path / "index.html"
    path.write_text(render(results, earlier=runs(results, *["held", "broken"] * 10)), encoding="utf-8")
    chrome.open(f"file://{path}", width=width)
    assert chrome.js("document.documentElement.scrollWidth") <= width
    assert chrome.js("document.querySelectorAll('.trend g').length") == 21
    chrome.js("document.querySelector('[data-show=flaky]').click()")
    assert chrome.js("document.querySelectorAll('.rules li[data-rule]:not(.gone)').length") == 1
