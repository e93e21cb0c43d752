"""Restarts again and again: the broker goes on with its data, and the table says what each rule came to."""

from __future__ import annotations

import json
import shlex
import socket
import subprocess
from pathlib import Path

import pytest

from tools import restarts
from tools.repeat import Tally


def results(**verdicts: str) -> dict[str, object]:
    rules = [{"id": name.replace("_", "-"), "verdict": verdict} for name, verdict in verdicts.items()]
    return {"broker": {"name": "A Broker 1"}, "events": 1, "rules": rules}


def tallied(*verdicts: str) -> Tally:
    tally = Tally("one")
    for verdict in verdicts:
        tally.add(0, results(DUR_013=verdict))
    return tally


@pytest.mark.parametrize(
    ("verdicts", "wrong"),
    [
        (("held", "held"), False),
        (("held", "unseen"), False),
        (("held", "broken"), True),
        (("not-offered", "not-offered"), True),
    ],
)
def test_a_rule_must_be_kept_in_some_round_and_broken_in_none(verdicts: tuple[str, ...], wrong: bool) -> None:
    assert (restarts.wrong(tallied(*verdicts)) == ["DUR-013"]) is wrong


def test_the_table_counts_the_verdicts() -> None:
    said = restarts.table(tallied("held", "held", "unseen"))
    assert said.splitlines() == ["one (A Broker 1): 3 rounds (exit 0 x3)", "  DUR-013  held x2, unseen x1"]


@pytest.mark.parametrize("place", [1, 2], ids=["in good order", "killed"])
def test_the_reference_broker_is_ended_and_started_at_its_port(tmp_path: Path, place: int) -> None:
    with restarts.reference(tmp_path / "broker") as told:
        before = (tmp_path / "broker/pid").read_text()
        subprocess.run(shlex.split(told[place]), check=True)
        assert (tmp_path / "broker/pid").read_text() != before
        host, _, port = told[0].rpartition("/")[2].partition(":")
        with socket.socket() as line:
            assert line.connect_ex((host, int(port))) == 0


def test_a_round_on_the_reference_broker(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert restarts.main(["--rounds", "1", "--rules", "DUR-013", "--out", str(tmp_path / "out")]) == 0
    assert "DUR-013  held x1" in capsys.readouterr().out
    assert json.loads((tmp_path / "out/restarts.json").read_text())["exits"] == {"0": 1}


def test_a_broker_needs_the_command_that_restarts_it(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        restarts.main(["one=amqp://127.0.0.1:1", "--out", str(tmp_path)])
    assert ended.value.code == 2
