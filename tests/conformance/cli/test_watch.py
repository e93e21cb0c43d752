"""`watch`: rounds in their time, one after the other, told in a line each; an interrupt ends it in order."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.catalogue import rules
from conformance.cli.watch import LIGHT, RoundsOptions, changes, line, rounds, watch
from conformance.session.exits import GATE_CLOSED, GATE_OPEN, HARNESS_ERROR, INTERRUPTED, UNREACHABLE
from conformance.session.interrupts import ending

PATIENCE = 90.0


class Time:
    """A clock that only pauses and rounds move. It says when it is enough."""

    def __init__(self, end: float) -> None:
        self.now, self.end = 100.0, 100.0 + end
        self.began: list[float] = []

    def pause(self, seconds: float) -> bool:
        self.now += seconds
        return self.now >= self.end

    def round(self, seconds: float, code: int = GATE_OPEN) -> Callable[[], int]:
        def play() -> int:
            self.began.append(self.now - 100.0)
            self.now += seconds
            return code

        return play


def wanted(**given: Any) -> RoundsOptions:
    return RoundsOptions("amqp://x", Path("x"), **{"every": 1.0, **given})


def test_rounds_begin_at_the_interval() -> None:
    time = Time(end=200)
    assert list(rounds(wanted(), time.round(10), time.pause, lambda: time.now)) == [GATE_OPEN] * 4
    assert time.began == [0, 60, 120, 180]


def test_a_round_that_takes_too_long_puts_off_the_next_and_none_is_made_up_for() -> None:
    time = Time(end=500)
    list(rounds(wanted(), time.round(150), time.pause, lambda: time.now))
    assert time.began == [0, 150, 300, 450]


def test_so_many_rounds_and_no_wait_after_the_last() -> None:
    time = Time(end=10**6)
    list(rounds(wanted(rounds=2), time.round(1), time.pause, lambda: time.now))
    assert time.began == [0, 60]
    assert time.now == 161


def kept(number: int, broken: str = "", **more: Any) -> dict[str, Any]:
    verdicts = {rule: "broken" if rule == broken else "held" for rule in ("ACK-001", "ACK-002")}
    return {
        "schema": "amqp-conformance/kept/1",
        "run": f"r{number}",
        "started": f"2026-11-2{number}T10:00:00Z",
        "open": not broken,
        "broker": {"name": "Birch 2", "product": "Birch", "version": "2"},
        "rules": verdicts,
        "times": {},
        "profile": "documented",
        "events": 1,
        **more,
    }


def test_a_round_is_a_line_with_what_changed() -> None:
    assert line([], kept(1)) == "2026-11-21 10:00:00  Birch 2: gate open; 2 held"
    assert line([kept(1)], kept(2, "ACK-002")) == (
        "2026-11-22 10:00:00  Birch 2: gate CLOSED; 1 broken, 1 held. Changed: ACK-002 was held, is broken"
    )
    assert changes([kept(1, rules={"ACK-001": "not-run"})], kept(2)) == []


def rounded(tmp_path: Path, *codes: int, form: str = "text") -> int:
    """`watch` with rounds that come to these codes, and leave what they would."""
    left = list(codes)

    def play() -> int:
        number = len(codes) - len(left)
        code = left.pop(0)
        if code in (GATE_OPEN, GATE_CLOSED):
            told = kept(number, "ACK-001" if code else "")
            (tmp_path / f"{number}.json").write_text(json.dumps(told), encoding="utf-8")
        return code

    return watch(RoundsOptions("amqp://x", tmp_path, every=0.0, rounds=len(codes), format=form), play)


def test_the_worst_round_is_the_exit_code_and_a_broker_that_is_away_is_told(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert rounded(tmp_path, GATE_OPEN, UNREACHABLE, GATE_CLOSED) == UNREACHABLE
    said = capsys.readouterr().out.splitlines()
    assert [one.partition("Birch 2: ")[2] for one in said] == [
        "gate open; 2 held",
        "",
        "gate CLOSED; 1 broken, 1 held. Changed: ACK-001 was held, is broken",
    ]
    assert said[1] == "the broker is not there"


def test_a_fault_of_ours_ends_it(tmp_path: Path) -> None:
    assert rounded(tmp_path, HARNESS_ERROR, GATE_OPEN) == HARNESS_ERROR


def test_rounds_as_json_are_a_document_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rounded(tmp_path, GATE_OPEN, GATE_CLOSED, UNREACHABLE, form="json")
    first, second, third = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["open"], first["changed"]) == (True, [])
    assert second["changed"] == [["ACK-001", "held", "broken"]]
    assert third == {"open": None, "unreachable": True}


def test_an_interrupt_reaches_the_process_that_plays_and_waits_for_its_end(tmp_path: Path) -> None:
    """Once, although both are told of a Ctrl-C in a terminal."""
    told = tmp_path / "told"
    child = f"""
import os, signal, sys
def stop(number, frame):
    open({str(told)!r}, "a").write("told ")
    sys.exit(7)
signal.signal(signal.SIGINT, stop)
os.kill({os.getpid()}, signal.SIGINT)
signal.pause()
"""
    with ending() as end:
        assert end.run([sys.executable, "-c", child]) == 7
        assert end.is_interrupted
        assert end.pause(PATIENCE), "it waits no longer"
    assert told.read_text() == "told "


def test_what_was_told_before_a_process_begins_is_told_to_it() -> None:
    with ending() as end:
        os.kill(os.getpid(), signal.SIGTERM)
        assert end.pause(PATIENCE)
        assert end.run([sys.executable, "-c", "import signal; signal.pause()"]) != 0


def test_a_watch_on_a_broker_is_interrupted_between_rounds_and_has_its_page(tmp_path: Path) -> None:
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "conformance.cli",
            "watch",
            "embedded:",
            "--every",
            "60",
            "--rules",
            "TAG-001",
            "--out",
            str(tmp_path / "out"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as refused:
        assert refused.wait(PATIENCE) == 2
    from reference_broker import ReferenceBroker

    with (
        ReferenceBroker() as broker,
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "conformance.cli",
                "watch",
                broker.url,
                "--every",
                "60",
                "--rules",
                "TAG-001",
                "--out",
                str(tmp_path / "out"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as running,
    ):
        assert running.stdout is not None
        assert select.select([running.stdout], [], [], PATIENCE)[0]
        assert "gate open; 1 held" in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE) == INTERRUPTED
    assert "1 run of 1 broker." in (tmp_path / "out" / "history.html").read_text("utf-8")
    assert (tmp_path / "out" / "last" / "index.html").exists()


def test_the_light_set_leaves_out_nothing_by_a_slip() -> None:
    families = {rule.family for rule in rules.select(LIGHT)}
    assert families == {"TAG", "MODE", "ACK", "RQ", "CNF", "QOS"}
