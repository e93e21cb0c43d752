"""JUnit: every rule is a case, nothing passes that was not held, and hostile strings stay valid XML."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from conformance.catalogue import rules
from reports.exports import ctrf, junit
from reports.html import render
from reports.summary import markdown


def cases(text: str) -> dict[str, ElementTree.Element]:
    return {str(case.get("name")).split()[0]: case for case in ElementTree.fromstring(text).iter("testcase")}


def outcome(case: ElementTree.Element) -> str:
    return case[0].tag if len(case) else "passed"


def test_every_rule_is_a_case_and_only_held_rules_pass(results: dict[str, Any]) -> None:
    found = cases(junit(results))
    assert list(found) == list(rules.CATALOGUE)
    expected = {"held": "passed", "broken": "failure", "harness-error": "error"}
    for rule in results["rules"]:
        assert outcome(found[rule["id"]]) == expected.get(rule["verdict"], "skipped"), rule["id"]


def test_the_counts_are_those_of_the_cases(results: dict[str, Any]) -> None:
    results["rules"][0]["verdict"] = "harness-error"
    text = junit(results)
    suite = ElementTree.fromstring(text)[0]
    outcomes = [outcome(case) for case in cases(text).values()]
    counted = {
        "tests": len(outcomes),
        "failures": outcomes.count("failure"),
        "errors": outcomes.count("error"),
        "skipped": outcomes.count("skipped"),
    }
    assert {name: int(suite.attrib[name]) for name in counted} == counted
    assert counted["errors"] == 1


def test_a_failure_shows_what_was_allowed_and_what_was_observed(results: dict[str, Any]) -> None:
    failure = cases(junit(results))["ACK-010"][0]
    assert failure.get("message") == "basic.ack 2 multiple was accepted: nothing was refused until the deadline"
    assert failure.text is not None
    assert "allowed:  channel.close 406" in failure.text
    assert "> c1.1 basic.ack 2 multiple" in failure.text
    assert "--rules ACK-010" in failure.text
    assert "connection.start" not in failure.text


def test_a_skipped_case_says_why(results: dict[str, Any]) -> None:
    found = cases(junit(results))
    assert found["ERR-006"][0].get("message") == ("not offered by this broker: the broker does not announce basic.nack")
    assert str(found["RQ-003"][0].get("message")).startswith("known deviation: Returned messages")


def test_what_xml_cannot_hold_is_written_out(results: dict[str, Any]) -> None:
    results["broker"]["name"] = "evil \x00\x1b[31m \ud800 ]]> <b>&amp;"
    results["rules"][12]["cases"] = []
    suite = ElementTree.fromstring(junit(results))[0]
    assert "evil \\u0000\\u001b[31m \\ud800 ]]> <b>&amp;" in str(suite.get("name"))


def test_an_exchange_marks_the_failing_step_and_folds_runs(results: dict[str, Any]) -> None:
    rule = next(rule for rule in results["rules"] if rule["id"] == "ACK-010")
    first = rule["cases"][0]["steps"][0]
    acks = [
        {
            **first,
            "n": n,
            "seq": 100 + n,
            "direction": ">",
            "connection": "c1",
            "channel": 1,
            "interest": True,
            "text": f"basic.ack {n}",
        }
        for n in range(1, 41)
    ]
    rule["cases"][0].update(steps=acks, at=140)
    failure = cases(junit(results))["ACK-010"][0]
    assert "    1 > c1.1 basic.ack 1..39, 39 frames\n✕  40 > c1.1 basic.ack 40\n" in str(failure.text)


def test_every_document_says_of_which_set_the_rules_are(results: dict[str, Any]) -> None:
    plain = (junit(results), ctrf(results), markdown(results), render(results))
    results["selection"]["set"] = "guides-1"
    told = (junit(results), ctrf(results), markdown(results), render(results))
    assert [("guides-1" in before, "guides-1" in after) for before, after in zip(plain, told, strict=True)] == [
        (False, True)
    ] * 4
