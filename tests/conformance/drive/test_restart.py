"""DUR on brokers that are processes of their own, which a command ends and starts again: in good order, or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import main
from tests.conformance.drive.conftest import Start


def results(url: str, *more: str) -> dict[str, Any]:
    main(["run", url, "--rules", "DUR-*", "--depth", "smoke", "--report", "out", *more])
    found: dict[str, Any] = json.loads(Path("out/results.json").read_text())
    return found


def verdicts(document: dict[str, Any]) -> dict[str, str]:
    return {rule["id"]: rule["verdict"] for rule in document["rules"] if rule["id"].startswith("DUR-")}


def test_who_keeps_its_data_keeps_the_rules(start: Start) -> None:
    url, restart = start("SIGTERM", "--data", "data")
    others = {name: one for name, one in verdicts(results(url, "--restart", restart)).items() if one != "held"}
    assert others == {"DUR-022": "not-offered"}, "policies take a management API"
    assert set(verdicts(results(url)).values()) == {"not-offered"}, "nobody may restart it"


@pytest.mark.parametrize(
    ("how", "data", "why"),
    [
        ("SIGKILL", ["--data", "data"], "ended without connection.close, as a kill does"),
        ("SIGTERM", [], "does the command keep the broker's data?"),
    ],
    ids=["a kill", "no data"],
)
def test_a_command_that_shows_nothing_accuses_nobody(start: Start, how: str, data: list[str], why: str) -> None:
    url, restart = start(how, *data)
    document = results(url, "--restart", restart)
    assert set(verdicts(document).values()) == {"not-offered"}
    assert why in json.dumps(document)
