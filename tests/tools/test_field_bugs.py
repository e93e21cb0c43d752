"""The page of bugs that users have reported: every one has a mutant that is found, or a reason why it has none."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.catalogue.rules import CATALOGUE, FAMILIES
from reference_broker.mutants import MUTANTS
from tools.pages import field_bugs
from tools.pages.field_bugs import Report

COMPLAINTS, OTHERS, ELSEWHERE = field_bugs.complaints(), field_bugs.others(), field_bugs.elsewhere()
PLANNED: tuple[str, ...] = ()
"""Families that somebody is writing, whose reports have no mutants yet."""


def test_no_complaint_of_the_protocol_is_left_out() -> None:
    assert len(COMPLAINTS) >= 41
    assert len({report.reference for report in COMPLAINTS}) == len(COMPLAINTS)


@pytest.mark.parametrize("report", COMPLAINTS, ids=lambda report: report.reference)
def test_a_complaint_has_a_mutant_or_a_reason(report: Report) -> None:
    assert [name for name in report.named if name not in MUTANTS] == []
    assert report.links
    if report.family in PLANNED and report.family not in FAMILIES:
        return
    assert report.family in FAMILIES, "its family is there now: take it out of PLANNED, and give its reports mutants"
    assert bool(report.mutants) != bool(report.reason)


@pytest.mark.parametrize("report", [*COMPLAINTS, *OTHERS], ids=lambda report: report.reference)
def test_every_mutant_of_a_report_was_killed_by_a_rule_that_it_names(report: Report) -> None:
    for name in report.mutants:
        by = set(field_bugs.stored().get(name, {}).get("by", {}))
        assert by, f"{name} was not killed: python -m tools.pages.field_bugs --hunt {name}"
        assert by <= set(MUTANTS[name].rules)
        assert by <= set(CATALOGUE)


@pytest.mark.parametrize("report", ELSEWHERE, ids=lambda report: report.reference)
def test_what_has_no_mutant_has_a_reason(report: Report) -> None:
    assert report.reason
    assert not report.mutants


def test_the_page_is_fresh() -> None:
    assert field_bugs.PAGE.read_text(encoding="utf-8") == field_bugs.page(field_bugs.stored()), "run `make docs`"


def test_a_mutant_that_no_rule_kills_is_told() -> None:
    text = field_bugs.page({})
    assert "**not by any rule: declaring.missing-is-found**" in text
    assert next(line for line in text.splitlines() if line.startswith("| about")).split(" | ")[3] == "0"


def test_a_report_that_says_something_unknown_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = tmp_path / "field_bugs.toml"
    wrong.write_text('[[elsewhere]]\nlink = "https://a/b/issues/1"\nsays = "x"\nreson = "y"\n', encoding="utf-8")
    monkeypatch.setattr(field_bugs, "REPORTS", wrong)
    with pytest.raises(field_bugs.BadReports, match=r"field_bugs\.toml, elsewhere 1"):
        field_bugs.elsewhere()
