"""Allure results, in the model of allure-pytest: one test for each rule, whatever checks exercised it.

A rule keeps its test case id for ever, and its history id for each broker, so that Allure's trends follow one rule on
one broker, and its environments compare brokers. A failure has one attachment: the exchanges that show it, as text.
Made from the verdicts after the run, never inside a generated example, of which there are thousands. The shape of the
files is allure-pytest's own; their names are made from the run and the rule, so that equal results give equal files.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from allure_commons.model2 import (
    ATTACHMENT_PATTERN,
    Attachment,
    Label,
    Link,
    Parameter,
    Status,
    StatusDetails,
    TestResult,
)
from allure_commons.types import LabelType, LinkType, Severity
from allure_commons.utils import md5
from attr import asdict

from conformance.catalogue.rules import FAMILIES
from conformance.evidence.words import results_for_display
from reports.exports.words import began, evidence, observed, of_set, why
from reports.html import visible

ALLURE = "allure-results"
"""The folder of a report that Allure reads."""

STATUS = {
    "held": Status.PASSED,
    "broken": Status.FAILED,
    "harness-error": Status.BROKEN,
    "inconclusive": Status.UNKNOWN,
    "under-tested": Status.UNKNOWN,
}
SEVERITY = {"must": Severity.CRITICAL, "should": Severity.NORMAL, "may": Severity.MINOR, "observed": Severity.TRIVIAL}
CATEGORIES = (
    {"name": "Broken rules", "matchedStatuses": [Status.FAILED]},
    {"name": "Known deviations", "matchedStatuses": [Status.SKIPPED], "messageRegex": "known deviation.*"},
    {"name": "No clear answer", "matchedStatuses": [Status.UNKNOWN]},
    {"name": "Faults of the suite", "matchedStatuses": [Status.BROKEN]},
)


def allure(results: Mapping[str, Any]) -> dict[str, str]:
    """Every file of the results folder by its name, the folder included."""
    document = results_for_display(visible(results))
    files = {"environment.properties": _properties(document), "categories.json": json.dumps(CATEGORIES, indent=1)}
    for place, rule in enumerate(document["rules"]):
        files.update(_files(rule, document, place))
    return {f"{ALLURE}/{name}": text for name, text in files.items()}


def _files(rule: Mapping[str, Any], results: Mapping[str, Any], place: int) -> Iterator[tuple[str, str]]:
    name = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{results['run']} {results['broker']['name']} {rule['id']}"))
    test = _test(rule, results, name, place)
    if rule["verdict"] == "broken":
        source = ATTACHMENT_PATTERN.format(prefix=name, ext="txt")
        test.attachments = [Attachment(name="The exchange", source=source, type="text/plain")]
        yield source, "\n\n".join(map(evidence, rule["cases"])) + "\n"
    document = asdict(test, filter=lambda _, value: bool(value) or isinstance(value, int))
    yield test.file_pattern.format(prefix=name), json.dumps(document, indent=1)


def _test(rule: Mapping[str, Any], results: Mapping[str, Any], name: str, place: int) -> TestResult:
    """A rule is exercised by many checks and has no duration of its own; its time keeps the order of the catalogue."""
    broker, identity = str(results["broker"]["name"]), f"amqp-conformance.{rule['family']}.{rule['id']}"
    moment = began(results) + place
    return TestResult(
        uuid=name,
        fullName=identity,
        testCaseId=md5(identity),
        historyId=md5(identity, broker),
        name=f"{rule['id']} {rule['title']}",
        titlePath=["AMQP 0-9-1", _family(rule)],
        stage="finished",
        status=STATUS.get(rule["verdict"], Status.SKIPPED),
        statusDetails=_details(rule),
        description=rule["clause"],
        labels=list(_labels(rule, broker)),
        links=list(_links(rule)),
        start=moment,
        stop=moment,
        parameters=[Parameter(name="broker", value=broker), Parameter(name="profile", value=results["profile"])],
    )


def _details(rule: Mapping[str, Any]) -> StatusDetails | None:
    if rule["verdict"] == "held":
        return None
    if rule["verdict"] != "broken":
        return StatusDetails(message=why(rule), known=rule["verdict"] == "deviates")
    first = rule["cases"][0] if rule["cases"] else None
    return StatusDetails(message=observed(rule), trace=f"allowed: {first['allowed']}" if first else "")


def _labels(rule: Mapping[str, Any], broker: str) -> Iterator[Label]:
    labels = {
        LabelType.EPIC: "AMQP 0-9-1",
        LabelType.FEATURE: _family(rule),
        LabelType.STORY: rule["id"],
        LabelType.PARENT_SUITE: broker,
        LabelType.SUITE: _family(rule),
        LabelType.SEVERITY: SEVERITY.get(rule["level"], Severity.NORMAL).value,
        LabelType.FRAMEWORK: "pytest",
        LabelType.LANGUAGE: "python",
        "verdict": rule["verdict"],
    }
    yield from (Label(name=str(name), value=str(value)) for name, value in labels.items())
    yield Label(name=str(LabelType.TAG), value=str(rule["level"]).upper())


def _family(rule: Mapping[str, Any]) -> str:
    known = FAMILIES.get(rule["family"])
    return f"{rule['family']} {known.title}" if known else str(rule["family"])


def _links(rule: Mapping[str, Any]) -> Iterator[Link]:
    for word in str(rule["source"]).split():
        if word.startswith("https://"):
            yield Link(type=LinkType.LINK, url=word.rstrip(".,;)"), name="source")


def _properties(results: Mapping[str, Any]) -> str:
    broker = results["broker"]
    said = {
        "broker": broker["name"],
        "url": broker["url"],
        "profile": results["profile"],
        "depth": results["depth"],
        "seed": results["seed"],
        "suite": results["suite"],
        **of_set(results),
        "gate": "open" if results["gate"]["open"] else "closed",
    }
    return "".join(f"{name}={json.dumps(str(value), ensure_ascii=True)[1:-1]}\n" for name, value in said.items())
