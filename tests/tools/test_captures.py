"""Captures of applications: what can be judged of them, and that a broker which routes wrongly is found by one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.applications import APPLICATIONS, Application
from tools.pages.captures import FIGURES, PAGE, judged, page, played

BY_NAME = {one.name: one for one in APPLICATIONS}


def test_the_page_is_fresh() -> None:
    text = PAGE.read_text(encoding="utf-8")
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    assert page(text, figures) == text, "python -m tools.pages.captures"
    assert [one["name"] for one in figures] == [one.name for one in APPLICATIONS]


@pytest.mark.parametrize("name", ["events", "retry"])
def test_with_the_word_of_its_user_nothing_stays_in_doubt(name: str, tmp_path: Path) -> None:
    application = BY_NAME[name]
    played(application, tmp_path / "early")
    played(application, tmp_path / "late", late=True)
    whole, opened = judged(tmp_path / "early", "--whole"), judged(tmp_path / "early")
    late = judged(tmp_path / "late", "--whole")
    assert whole["doubted"] == 0 < opened["doubted"]
    assert whole["judged"] > opened["judged"]
    assert whole["broken"] == opened["broken"] == late["broken"] == 0


@pytest.mark.parametrize(
    ("application", "mutant"),
    [(BY_NAME["events"], "exchanges.star-is-several"), (BY_NAME["parking"], "exchanges.no-alternate")],
)
def test_a_broker_that_routes_wrongly_is_found_by_a_capture(
    application: Application, mutant: str, tmp_path: Path
) -> None:
    played(application, tmp_path, mutants=[mutant])
    assert judged(tmp_path, "--whole")["broken"] > 0
    assert judged(tmp_path)["broken"] == 0, "without that word others may have bound and published"
