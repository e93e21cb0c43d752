"""What is told apart wherever results are shown: broken rules that no source asks for, and races that were not seen."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from conformance.evidence.words import SIGNS, headline, results_for_display
from conformance.outcome.results import to_json
from reports.exports.allure_results import allure
from reports.exports.ctrf_json import ctrf
from reports.exports.junit_xml import junit
from reports.html import render
from reports.summary import markdown
from tests.support.runs import case, results, rule

NOTE = {"note": "A race of old.", "evidence": "issue 1", "owner": "me", "reason": "r", "expires": "", "source": "s"}


@pytest.fixture
def document() -> dict[str, Any]:
    """One rule of each kind."""
    made = results(
        "Broker 1",
        [
            rule("ACK-001"),
            rule("CAN-017", "broken", case("CAN-017", "close 541")),
            replace(rule("ERR-008", "unseen"), deviation=NOTE, reason="this run did not see it"),
        ],
    )
    plain: dict[str, Any] = json.loads(to_json(made))
    return plain


def test_a_rule_that_no_source_asks_for_is_not_broken_as_others_are(document: dict[str, Any]) -> None:
    assert [one["verdict"] for one in results_for_display(document)["rules"]] == ["held", "differs", "unseen"]
    asked = {**document, "rules": [{**document["rules"][1], "level": "should"}]}
    assert results_for_display(asked)["rules"][0]["verdict"] == "broken"
    assert [one["verdict"] for one in document["rules"]] == ["held", "broken", "unseen"], "results stay as they are"


def test_the_page_has_a_sign_and_a_list_for_each(document: dict[str, Any]) -> None:
    page = render(document)
    assert "<h2>What is wrong</h2>" not in page
    for title, ident in (("Unusual, but not wrong", "CAN-017"), ("Known races, not seen", "ERR-008")):
        panel = page.partition(f"<h2>{title}</h2>")[2].partition("</section>")[0]
        assert ident in panel
    for name in ("differs", "unseen"):
        assert f'<symbol id="s-{SIGNS[name].symbol}"' in page
        assert f'<use href="#s-{SIGNS[name].symbol}"' in page


def test_the_headline_and_the_summary_call_it_no_breach(document: dict[str, Any]) -> None:
    verdict, wrong = headline(document)
    assert wrong == ""
    assert "breaks" not in verdict
    said = markdown(document)
    assert "### Broken" not in said
    assert "Unusual, but not wrong" in said
    assert "A race of old" in said


def test_no_export_calls_it_a_failure(document: dict[str, Any]) -> None:
    cases = ElementTree.fromstring(junit(document)).iter("testcase")
    assert [[child.tag for child in one] for one in cases] == [[], ["skipped"], ["skipped"]]
    tests = json.loads(ctrf(document))["results"]["tests"]
    assert [one["status"] for one in tests] == ["passed", "other", "other"]
    told = [json.loads(text) for name, text in allure(document).items() if name.endswith("-result.json")]
    assert sorted(one["status"] for one in told) == ["passed", "skipped", "skipped"]
