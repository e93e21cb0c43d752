"""JUnit XML: one test case for each rule, so that a rule keeps its place from run to run and can be followed.

A broken rule is a failure, our own faults are errors; what says nothing about the broker is skipped, never passed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from conformance.evidence.words import results_for_display
from reports.exports.words import SKIPPED, evidence, of_set, why

_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(results: Mapping[str, Any]) -> str:
    """The results as JUnit XML, one test case for each rule."""
    broker = results["broker"]["name"]
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(
        suites,
        "testsuite",
        {
            "name": xml_text(f"AMQP 0-9-1 conformance of {broker}"),
            "timestamp": results["started"].rstrip("Z"),
            "time": f"{results['seconds']:.3f}",
        },
    )
    _properties(suite, results)
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for rule in results_for_display(results)["rules"]:
        counts["tests"] += 1
        kind = _case(suite, rule, broker)
        if kind:
            counts[kind] += 1
    suite.attrib.update({name: str(number) for name, number in counts.items()})
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def xml_text(text: str) -> str:
    """The text with everything that XML 1.0 cannot hold written out."""
    return _UNFIT.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _properties(suite: ElementTree.Element, results: Mapping[str, Any]) -> None:
    values = {
        "broker": results["broker"]["name"],
        "profile": results["profile"],
        "seed": results["seed"],
        "suite": results["suite"],
        **of_set(results),
        "gate": "open" if results["gate"]["open"] else "closed",
    }
    holder = ElementTree.SubElement(suite, "properties")
    for name, value in values.items():
        ElementTree.SubElement(holder, "property", {"name": name, "value": xml_text(str(value))})


def _case(suite: ElementTree.Element, rule: Mapping[str, Any], broker: str) -> str | None:
    """Adds the case of a rule; the counter that it belongs to, if it did not pass."""
    case = ElementTree.SubElement(
        suite,
        "testcase",
        {
            "classname": xml_text(f"{broker}.{rule['family']}"),
            "name": xml_text(f"{rule['id']} {rule['title']}"),
        },
    )
    verdict = rule["verdict"]
    if verdict == "held":
        return None
    if verdict == "broken":
        first = next(iter(rule["cases"]), None)
        failure = ElementTree.SubElement(
            case,
            "failure",
            {
                "type": f"{rule['level']}",
                "message": xml_text(first["observed"] if first else "broken"),
            },
        )
        failure.text = xml_text("\n\n".join(map(evidence, rule["cases"])))
        return "failures"
    if verdict in SKIPPED:
        ElementTree.SubElement(case, "skipped", {"message": xml_text(why(rule))})
        return "skipped"
    ElementTree.SubElement(case, "error", {"type": verdict, "message": xml_text(rule.get("reason") or verdict)})
    return "errors"
