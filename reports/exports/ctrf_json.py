"""CTRF, the Common Test Report Format: one test for each rule, with our verdict beside its status.

CTRF knows passed, failed, skipped, pending and other. `held` passed and `broken` failed; what the broker does not offer
was skipped; what this version does not judge yet is pending; every doubt, known deviations among them, is other. Times
are those of the run: a rule is exercised by many checks, and has no duration of its own.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Mapping
from typing import Any

from conformance.evidence.words import results_for_display
from reports.exports.words import began, evidence, observed, of_set, why
from reports.html import visible

SPEC = "0.0.0"
"""The version of CTRF that its published schema names."""

STATUS = {
    "held": "passed",
    "broken": "failed",
    "not-offered": "skipped",
    "not-judgeable": "skipped",
    "planned": "pending",
}
_STATUSES = ("passed", "failed", "skipped", "pending", "other")


def ctrf(results: Mapping[str, Any]) -> str:
    """The results as a CTRF document."""
    results = results_for_display(visible(results))
    start = began(results)
    length = int(results["seconds"] * 1000)
    tests = [_test(rule, results["broker"]["name"]) for rule in results["rules"]]
    counts = Counter(test["status"] for test in tests)
    document = {
        "reportFormat": "CTRF",
        "specVersion": SPEC,
        "generatedBy": "amqp-conformance",
        "runId": results["run"],
        "reportId": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{results['run']} {results['started']}")),
        **({"timestamp": results["started"]} if start else {}),
        "results": {
            "tool": {"name": "amqp-conformance", "version": results["suite"]},
            "summary": {
                "tests": len(tests),
                **{status: counts[status] for status in _STATUSES},
                "start": start,
                "stop": start + length,
                "duration": length,
            },
            "tests": tests,
            "environment": _environment(results),
        },
    }
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def _test(rule: Mapping[str, Any], broker: str) -> dict[str, Any]:
    verdict = str(rule["verdict"])
    test = {
        "name": f"{rule['id']} {rule['title']}",
        "testId": rule["id"],
        "status": STATUS.get(verdict, "other"),
        "duration": 0,
        "rawStatus": verdict,
        "suite": [broker, rule["family"]],
        "tags": [rule["level"]],
        "type": "conformance",
        "labels": {"level": rule["level"], "exercised": rule["exercised"]},
    }
    if verdict == "broken":
        test |= {"message": observed(rule), "trace": "\n\n".join(map(evidence, rule["cases"]))}
    elif verdict != "held":
        test["message"] = why(rule)
    return test


def _environment(results: Mapping[str, Any]) -> dict[str, Any]:
    """What was examined, and whether it may pass."""
    broker = results["broker"]
    return {
        "appName": broker["name"],
        "appVersion": broker.get("version", ""),
        "testEnvironment": results["profile"],
        "extra": {
            "gate": "open" if results["gate"]["open"] else "closed",
            "reasons": results["gate"]["reasons"],
            "seed": results["seed"],
            "depth": results["depth"],
            **of_set(results),
        },
    }
