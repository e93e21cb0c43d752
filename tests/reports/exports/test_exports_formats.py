"""JUnit, CTRF, Allure and the badge as other programs read them: independent parsers, published schemas."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import junitparser
import pytest
import xmlschema
from allure_commons.model2 import TestResult as AllureResult
from attr import fields
from jsonschema import Draft7Validator, Draft202012Validator

from reports.exports import ALLURE, allure, badge, ctrf, endpoint, files, junit

CTRF = Draft7Validator(
    json.loads((Path(__file__).parent / "ctrf-schema-0.0.json").read_text("utf-8")),
    format_checker=Draft7Validator.FORMAT_CHECKER,
)
HERE = Path(__file__).parent
JUNIT = xmlschema.XMLSchema(HERE / "junit.xsd")
ALLURE_RESULT = Draft202012Validator(json.loads((HERE / "allure-result.schema.json").read_text("utf-8")))
HOSTILE = "evil \x00\x1b[31m \ud800 ]]> \"<b onload='x'>&amp; \u202e"


@pytest.fixture
def tests(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Allure's results by rule."""
    return allure_tests(allure(results))


def allure_tests(made: dict[str, str]) -> dict[str, dict[str, Any]]:
    found = [json.loads(text) for name, text in made.items() if name.endswith("-result.json")]
    return {str(one["name"]).split()[0]: one for one in found}


def labels(test: dict[str, Any]) -> dict[str, str]:
    return {label["name"]: label["value"] for label in test["labels"]}


def test_another_parser_reads_the_junit_file_and_counts_the_same(results: dict[str, Any]) -> None:
    suite = next(iter(junitparser.JUnitXml.fromroot(ElementTree.fromstring(junit(results)))))
    said = suite.tests, suite.failures, suite.errors, suite.skipped
    suite.update_statistics()
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == said
    assert suite.tests == len(results["rules"])
    broken = next(case for case in suite if case.name.startswith("ACK-010"))
    assert isinstance(broken.result[0], junitparser.Failure)
    assert "allowed:  channel.close 406" in broken.result[0].text


def follows_schemas(made: dict[str, str]) -> None:
    """JUnit, CTRF and Allure, each as its readers know it."""
    JUNIT.validate(made["junit.xml"].partition("\n")[2])
    CTRF.validate(json.loads(made["ctrf.json"]))
    for test in allure_tests(made).values():
        ALLURE_RESULT.validate(test)


def test_every_export_follows_its_schema(results: dict[str, Any]) -> None:
    follows_schemas(files(results))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('tests="', 'test="'),
        ("<skipped ", "<ignored "),
        (" time=", " seconds="),
        ('failures="', 'failures="-'),
        ("</testcase>", "<failure message='and'/></testcase>"),
        (' name="ACK-010', ' name="" x="'),
    ],
)
def test_the_schema_of_junit_refuses_what_its_readers_do_not_know(results: dict[str, Any], old: str, new: str) -> None:
    text = junit(results).partition("\n")[2]
    JUNIT.validate(text)
    assert old in text
    with pytest.raises((xmlschema.XMLSchemaException, ElementTree.ParseError)):
        JUNIT.validate(text.replace(old, new))


@pytest.mark.parametrize(
    "change",
    [
        {"status": "held"},
        {"start": "now"},
        {"uuid": "1"},
        {"verdict": "held"},
        {"labels": []},
        {"attachments": [{"name": "x", "source": "../x-attachment.txt", "type": "text/plain"}]},
        {"links": [{"url": "javascript:x"}]},
    ],
)
def test_the_schema_of_allure_refuses_what_allure_does_not_know(
    tests: dict[str, dict[str, Any]],
    change: dict[str, Any],
) -> None:
    assert ALLURE_RESULT.is_valid(tests["ACK-010"])
    assert not ALLURE_RESULT.is_valid(tests["ACK-010"] | change)


def test_the_ctrf_document_follows_the_published_schema(results: dict[str, Any]) -> None:
    document = json.loads(ctrf(results))
    assert list(CTRF.iter_errors(document)) == []
    tests = {test["testId"]: test for test in document["results"]["tests"]}
    assert list(tests) == [rule["id"] for rule in results["rules"]]
    summary = document["results"]["summary"]
    counted = Counter(test["status"] for test in tests.values())
    assert {status: summary[status] for status in ("passed", "failed", "skipped", "pending", "other")} == {
        status: counted[status] for status in ("passed", "failed", "skipped", "pending", "other")
    }
    assert summary["tests"] == len(tests)
    assert summary["stop"] - summary["start"] == summary["duration"] == 92_400


def test_only_what_held_passes_in_ctrf(results: dict[str, Any]) -> None:
    tests = {test["testId"]: test for test in json.loads(ctrf(results))["results"]["tests"]}
    for rule in results["rules"]:
        test = tests[rule["id"]]
        assert test["rawStatus"] == rule["verdict"]
        assert (test["status"] == "passed") == (rule["verdict"] == "held")
        assert (test["status"] == "failed") == (rule["verdict"] == "broken")
        assert ("message" in test) == (rule["verdict"] != "held")
    assert tests["ACK-010"]["message"].startswith("basic.ack 2 multiple was accepted")
    assert "> c1.1 basic.ack 2 multiple" in tests["ACK-010"]["trace"]


def test_allure_has_one_test_for_each_rule_with_its_labels(
    results: dict[str, Any],
    tests: dict[str, dict[str, Any]],
) -> None:
    assert list(tests) == [rule["id"] for rule in results["rules"]]
    known = {attribute.name for attribute in fields(AllureResult)}
    severity = {"must": "critical", "should": "normal", "may": "minor", "observed": "trivial"}
    for rule in results["rules"]:
        test = tests[rule["id"]]
        assert set(test) <= known
        assert labels(test)["severity"] == severity[rule["level"]]
        assert labels(test)["parentSuite"] == "Birch 2.9"
        assert labels(test)["verdict"] == rule["verdict"]
        assert (test["status"] == "passed") == (rule["verdict"] == "held")
    assert tests["ACK-010"]["status"] == "failed"
    assert tests["RQ-003"]["statusDetails"] == {
        "known": True,
        "message": "known deviation: Returned messages go to the tail of the log.",
    }


def test_each_failure_has_one_attachment_and_nothing_else_has_any(results: dict[str, Any]) -> None:
    made = allure(results)
    tests = allure_tests(made)
    attached = {rule: test["attachments"] for rule, test in tests.items() if test.get("attachments")}
    assert sorted(attached) == ["ACK-004", "ACK-010"]
    assert all(len(attachments) == 1 for attachments in attached.values())
    texts = {rule: made[f"{ALLURE}/{attachments[0]['source']}"] for rule, attachments in attached.items()}
    assert "observed: basic.ack 2 multiple was accepted" in texts["ACK-010"]
    assert "ACK-010-2 on a quorum queue" in texts["ACK-010"]
    assert sum("-attachment" in name for name in made) == 2


def test_a_rule_has_one_history_for_each_broker_and_one_case_for_all(results: dict[str, Any]) -> None:
    first = allure_tests(allure(results))["ACK-010"]
    again = allure_tests(allure({**results, "run": "r2"}))["ACK-010"]
    assert first["historyId"] == again["historyId"]
    assert first["uuid"] != again["uuid"]
    other = allure_tests(allure({**results, "broker": {**results["broker"], "name": "Alder 4.3"}}))["ACK-010"]
    assert other["historyId"] != first["historyId"]
    assert other["testCaseId"] == first["testCaseId"]


def test_a_run_of_which_nobody_knows_when_it_began_is_exported_all_the_same(results: dict[str, Any]) -> None:
    results.update(started="", seconds=0.0)
    made = files(results)
    document = json.loads(made["ctrf.json"])
    assert document["results"]["summary"]["start"] == 0
    assert "timestamp" not in document
    follows_schemas(made)


def test_equal_results_give_equal_files(results: dict[str, Any]) -> None:
    assert files(results) == files(results)


@pytest.mark.parametrize(
    ("change", "message", "sign"),
    [
        ({}, "% of MUST", "✕"),
        ({"gate": {"open": True, "reasons": []}}, "% of MUST", "✓"),
        ({"complete": False}, "cut short", ""),
        ({"rules": []}, "gate closed", "✕"),
    ],
)
def test_a_badge_says_what_the_gate_says(
    results: dict[str, Any],
    change: dict[str, Any],
    message: str,
    sign: str,
) -> None:
    results.update(change)
    shield = json.loads(endpoint(results))
    assert shield["schemaVersion"] == 1
    assert shield["message"].startswith(sign)
    assert shield["message"].endswith(message)
    picture = ElementTree.fromstring(badge(results))
    assert "Birch 2.9" in str(picture.get("aria-label"))
    assert shield["message"] in "".join(picture.itertext())


def test_hostile_strings_do_no_harm_to_any_format(results: dict[str, Any]) -> None:
    results["broker"]["name"] = HOSTILE
    for rule in results["rules"]:
        for case in rule["cases"]:
            case.update(observed=HOSTILE, allowed=HOSTILE)
    made = files(results)
    for name, text in made.items():
        text.encode("utf-8")
        if name.endswith(".json"):
            json.loads(text)
    follows_schemas(made)
    ElementTree.parse(io.StringIO(made["badge.svg"]))
    assert "<b " not in made["badge.svg"]
