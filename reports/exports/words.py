"""What all exports say alike: why a rule neither passed nor failed, and the evidence of a failure as plain text."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from conformance.evidence.folding import exchange

SKIPPED = {
    "not-offered": "not offered by this broker",
    "planned": "not judged by this version of the suite",
    "not-judgeable": "cannot be decided from outside the broker",
    "under-tested": "exercised too rarely to judge it",
    "inconclusive": "contradicted, but the text or a race may explain it",
    "deviates": "known deviation",
    "differs": "unusual, but no source forbids it",
    "unseen": "held; a known race breaks it now and then",
}
"""Verdicts that are neither a pass nor a failure, in words."""


def began(results: Mapping[str, Any]) -> int:
    """When the run began, in milliseconds since 1970; 0 where nobody knows, as with some captures."""
    try:
        return int(datetime.datetime.fromisoformat(results["started"]).timestamp() * 1000)
    except ValueError:
        return 0


def of_set(results: Mapping[str, Any]) -> dict[str, str]:
    """`{"set": names}` where the run was asked for the rules of sets, else nothing."""
    names = results.get("selection", {}).get("set")
    return {"set": str(names)} if names else {}


def why(rule: Mapping[str, Any]) -> str:
    """One line on a verdict that is neither `held` nor `broken`."""
    verdict = str(rule["verdict"])
    note = (rule.get("deviation") or {}).get("note") or rule.get("reason")
    words = SKIPPED.get(verdict, verdict)
    return f"{words}: {note}" if note else words


def observed(rule: Mapping[str, Any]) -> str:
    """One line on a broken rule: what was seen first."""
    return str(rule["cases"][0]["observed"]) if rule["cases"] else "broken"


def evidence(case: Mapping[str, Any]) -> str:
    """A case as lines of text: where, what was allowed, what was observed, the exchange, how to run it again."""
    return "\n".join(
        [
            f"{case['id']} on a {case['queue_type']} queue",
            f"allowed:  {case['allowed']}",
            f"observed: {case['observed']}",
            *exchange(case),
            f"again:    {case['rerun']}",
        ]
    )
