"""The templates for CI and the guide to them: every command in them is one that the command line understands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from conformance.cli.command import parser
from reports.exports import ALLURE, files

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEMPLATES = [DOCS / "ci" / "github-actions.yml", DOCS / "ci" / "gitlab-ci.yml", DOCS.parent / "Dockerfile"]
GUIDES = [DOCS / "gate-a-broker-in-ci.md", DOCS / "read-a-report.md"]


def commands(path: Path) -> list[str]:
    """Lines that call the suite, from its name on."""
    lines = (line for line in path.read_text("utf-8").splitlines() if not line.lstrip().startswith("FROM"))
    found = (
        re.search(r"(?<![\w/\"-])amqp-conformance ((?:run|doctor|baseline|report|schema)\b[^;`)]*)", line)
        for line in lines
    )
    return [match[1].partition("  #")[0] for match in found if match]


@pytest.mark.parametrize("path", [*TEMPLATES, GUIDES[0]], ids=lambda path: path.name)
def test_every_command_is_understood(path: Path) -> None:
    said = commands(path)
    assert said
    for command in said:
        parser().parse_args(shlex.split(command))


def test_what_the_guide_promises_is_written(results: dict[str, object]) -> None:
    named = {
        name
        for row in re.findall(r"(?m)^\| (`[^|]+) \|", GUIDES[0].read_text("utf-8"))
        for name in re.findall(r"`([\w./-]+)`", row)
    }
    made = {f"{ALLURE}/" if name.startswith(ALLURE) else name for name in files(results)}
    assert named == made | {"index.html", "results.json", "cases/", "previous/"}


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", path.read_text("utf-8")):
        assert link.startswith("https://") or (path.parent / link).exists(), link
