"""`pytest --alluredir DIR`: allure-pytest's own folder gets one test for each rule, in place of one for each check.

allure-pytest writes a result whenever a check ends. A check is no rule: several exercise one, and one exercises
several. So at the end of the session the results of our checks leave the folder, and those of the rules come in.
Whatever else was tested in the session, and the history that Allure keeps there, stays.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from reports.exports import ALLURE, allure

LABEL = "amqp-conformance"
"""The label by which a result is known to be that of one of our checks."""


def mark(check: pytest.Item) -> None:
    """Makes a check's result known to be one."""
    check.add_marker(pytest.mark.allure_label("check", label_type=LABEL))


def replace_checks(folder: Path, results: Mapping[str, Any]) -> None:
    """Rules instead of checks, in a folder of allure-pytest."""
    gone = set()
    for path, document in _documents(folder, "*-result.json"):
        if any(label["name"] == LABEL for label in document.get("labels", ())):
            gone.add(document.get("uuid"))
            for attachment in document.get("attachments", ()):
                (folder / str(attachment["source"])).unlink(missing_ok=True)
            path.unlink()
    for path, document in _documents(folder, "*-container.json"):
        if set(document.get("children", ())) & gone:
            path.unlink()
    for name, text in allure(results).items():
        (folder / name.removeprefix(f"{ALLURE}/")).write_text(text, encoding="utf-8")


def _documents(folder: Path, pattern: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(folder.glob(pattern)):
        yield path, json.loads(path.read_text(encoding="utf-8"))
