"""DUR on brokers that are processes of their own, which a command ends and starts again: in good order, or not."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import main

SCRIPT = """
import os, pathlib, signal, subprocess, sys, time
pid, how, *arguments = pathlib.Path("pid"), *sys.argv[1:]
if pid.exists():
    os.kill(int(pid.read_text()), getattr(signal, how))
    time.sleep(0.3)
    while os.path.exists("/proc/" + pid.read_text()) and "Z" not in open("/proc/" + pid.read_text() + "/stat").read():
        time.sleep(0.01)
started = subprocess.Popen([sys.executable, "-m", "reference_broker", *arguments], start_new_session=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
pid.write_text(str(started.pid))
"""
Start = Callable[..., tuple[str, str]]
"""Takes the signal that ends it, and arguments of the broker."""


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts a broker: its URL, and the command that restarts it."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH")])))
    monkeypatch.chdir(tmp_path)
    Path("again.py").write_text(SCRIPT)

    def started(how: str, *arguments: str) -> tuple[str, str]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        command = [sys.executable, str(tmp_path / "again.py"), how, "--port", str(port), *arguments]
        subprocess.run(command, check=True)
        _await(port)
        return f"amqp://127.0.0.1:{port}", shlex.join(command)

    yield started
    os.kill(int(Path("pid").read_text()), signal.SIGKILL)


def _await(port: int) -> None:
    """Until somebody listens there."""
    until = time.monotonic() + 20
    with socket.socket() as line:
        while line.connect_ex(("127.0.0.1", port)):
            assert time.monotonic() < until
            time.sleep(0.05)


def results(url: str, *more: str) -> dict[str, Any]:
    main(["run", url, "--rules", "DUR-*", "--depth", "smoke", "--report", "out", *more])
    found: dict[str, Any] = json.loads(Path("out/results.json").read_text())
    return found


def verdicts(document: dict[str, Any]) -> dict[str, str]:
    return {rule["id"]: rule["verdict"] for rule in document["rules"] if rule["id"].startswith("DUR-")}


def test_who_keeps_its_data_keeps_the_rules(start: Start) -> None:
    url, restart = start("SIGTERM", "--data", "data")
    assert {name: one for name, one in verdicts(results(url, "--restart", restart)).items() if one != "held"} == {}
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
