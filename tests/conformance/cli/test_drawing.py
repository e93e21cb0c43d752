"""The exchange in the terminal: the rows of the page's picture in lines that fit, with and without colour."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.cli.explain import example
from conformance.cli.explain.drawing import LEAST, ROOMY, draw
from conformance.outcome.results import to_json
from conformance.outcome.terminal import painter
from reports.html.ladder import Rung
from tests.support.runs import case, results, rule

RUNGS = [
    Rung("2", "c1", ">", "connects", "quiet"),
    Rung("16", "c1", ">", "basic.publish m1 to amqpconf.486326de.main.1", "plain", state="m1 in q"),
    Rung("18", "c1", "<", "basic.get-ok 1 m1", "plain", state="c1.1 unacked 1 m1"),
    Rung("", "c1", "<", "required: m1 is delivered to c2, which has room for it, and to nobody else", "required"),
    Rung("19", "c1", "<", "waited 5000 ms in vain for replies", "bad vain", state="c1.1 unacked 1 m1"),
]


def test_an_exchange_is_drawn_with_its_states_and_what_was_required() -> None:
    assert draw(RUNGS, 100, painter(False)) == [
        "    client                                        broker  waiting · unacked, unconfirmed",
        "  2 │─── connects ────────────────────────────────────▶│",
        " 16 │─── basic.publish m1 to …e.main.1 ───────────────▶│  [m1]",
        " 18 │◀─── basic.get-ok 1 m1 ───────────────────────────│  · [1 m1]",
        "    │    required: m1 is delivered to c2, which has    │",
        "    │◀╌╌╌ room for it, and to nobody else ╌╌╌╌╌╌╌╌╌╌╌╌╌│",
        "✕19 │◀╌╌╌ waited 5000 ms in vain for replies ╌╌╌╌╌╌╌╌╌╌│  · [1 m1]",
    ]


@pytest.mark.parametrize("width", [LEAST, 60, ROOMY - 1, ROOMY, 100, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = draw(RUNGS, width, painter(False))
    assert max(map(len, lines)) <= width
    assert ("[m1]" in "\n".join(lines)) is (width >= ROOMY)


def test_connections_are_told_apart_where_there_are_several() -> None:
    lines = draw([*RUNGS, Rung("20", "c2", ">", "basic.get q", "plain")], 80, painter(False))
    assert "c2: basic.get q" in lines[-1]
    assert "c1: connects" in lines[1]


def test_an_example_is_played_on_a_broker_that_is_wrong_in_it() -> None:
    found = example.played("RQ-001")
    assert found is not None
    assert found.case["rule"] == "RQ-001"
    text = example.format_example(found, 100)
    assert "required: m" in text
    assert "✕" in text
    assert "\x1b" not in text
    assert "\x1b[1;31m" in example.format_example(found, 100, color=True)


def test_what_is_not_certain_is_not_said_to_be_broken() -> None:
    found = example.played("RQ-001")
    assert found is not None
    doubtful = replace(found, who="Broker 1", case={**found.case, "certain": False})
    head = example.format_example(doubtful, 100).splitlines()[0]
    assert head == "What Broker 1 did that may speak against it (the text, or a race, may explain it)"


def test_what_nobody_can_break_has_no_example() -> None:
    assert example.played("RQ-010") is None


def explained(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "conformance.cli", "explain", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_explain_draws_what_a_run_has_seen(tmp_path: Path) -> None:
    seen = results("Broker 1", [rule("ACK-002", "broken", case("ACK-002", "it stays"))])
    (tmp_path / "results.json").write_text(to_json(seen), encoding="utf-8")
    done = explained("ACK-002", str(tmp_path), COLUMNS="64")
    assert done.returncode == 0, done.stderr
    assert "How Broker 1 breaks it" in done.stdout
    assert "◀─── basic.get-ok 1 m1 redelivered" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 64
    assert "\x1b" not in done.stdout
    done = explained("ACK-001", str(tmp_path))
    assert done.returncode == 0
    assert "holds no exchange that breaks ACK-001" in " ".join(done.stderr.split())


def test_explain_as_json_or_without_an_exchange_plays_nothing() -> None:
    assert json.loads(explained("ACK-010", "--format", "json").stdout)["id"] == "ACK-010"
    assert "breaks it" not in explained("ACK-010", "--no-exchange").stdout
