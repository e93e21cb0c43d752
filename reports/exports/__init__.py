"""Writes results in the formats of other tools: JUnit, CTRF, Allure, a badge, Markdown. Each is made from results.json.

All say the same: one test for each rule, under the same name in every run, so that other tools can follow its history.
Only a rule that held passes. What cannot be said in a format is never called a pass: it is skipped, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.exports.allure_results import ALLURE, allure
from reports.exports.badge import badge, endpoint
from reports.exports.ctrf_json import ctrf
from reports.exports.junit_xml import junit
from reports.summary import markdown

__all__ = ["ALLURE", "allure", "badge", "ctrf", "endpoint", "files", "junit", "markdown"]


def files(results: Mapping[str, Any]) -> dict[str, str]:
    """Every export by the name of its file, relative to the report's directory."""
    return {
        "junit.xml": junit(results),
        "ctrf.json": ctrf(results),
        "summary.md": markdown(results),
        "badge.svg": badge(results),
        "badge.json": endpoint(results),
        **allure(results),
    }
