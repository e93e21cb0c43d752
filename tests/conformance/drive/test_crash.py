"""CNF-013 on brokers that are processes of their own: --kill kills them for good, and starts them again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.cli import main
from tests.conformance.drive.conftest import Start

KILL = "SIGKILL"


def verdict(url: str, *more: str) -> str:
    main(["run", url, "--rules", "CNF-013", "--depth", "smoke", "--examples", "1", "--report", "out", *more])
    rules = json.loads(Path("out/results.json").read_text())["rules"]
    return next(rule["verdict"] for rule in rules if rule["id"] == "CNF-013")


def test_who_keeps_what_it_confirms_and_who_does_not(start: Start) -> None:
    url, kill = start(KILL, "--data", "data")
    assert verdict(url, "--kill", kill) == "held"
    assert verdict(url) == "not-offered", "nobody may kill it"


def test_who_forgets_everything(start: Start) -> None:
    url, kill = start(KILL)
    assert verdict(url, "--kill", kill) == "broken"


def test_a_command_that_kills_nobody(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    url, _ = start(KILL)
    assert main(["run", url, "--rules", "CNF-013", "--kill", "true"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "--kill 'true' ended, but a connection that was open before is still open" in said


def test_a_command_that_fails(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    url, _ = start(KILL)
    assert main(["run", url, "--rules", "CNF-013", "--kill", "exit 3"]) == 2
    assert "--kill 'exit 3' failed with exit code 3" in " ".join(capsys.readouterr().err.split())
