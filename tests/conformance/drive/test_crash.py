"""CNF-013 on brokers that are processes of their own: --kill kills them for good, and starts them again."""

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

import pytest

from conformance.cli import main

SCRIPT = """
import os, pathlib, signal, subprocess, sys
pid = pathlib.Path("pid")
if pid.exists():
    os.kill(int(pid.read_text()), signal.SIGKILL)
started = subprocess.Popen([sys.executable, "-m", "reference_broker", *sys.argv[1:]], start_new_session=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
pid.write_text(str(started.pid))
"""
Start = Callable[..., tuple[str, str]]
"""Takes arguments of the broker."""


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts a broker with these arguments: its URL, and the command that kills it and starts it again."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH")])))
    monkeypatch.chdir(tmp_path)
    Path("again.py").write_text(SCRIPT)

    def started(*arguments: str) -> tuple[str, str]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        command = [sys.executable, str(tmp_path / "again.py"), "--port", str(port), *arguments]
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


def verdict(url: str, *more: str) -> str:
    main(["run", url, "--rules", "CNF-013", "--depth", "smoke", "--examples", "1", "--report", "out", *more])
    rules = json.loads(Path("out/results.json").read_text())["rules"]
    return next(rule["verdict"] for rule in rules if rule["id"] == "CNF-013")


def test_who_keeps_what_it_confirms_and_who_does_not(start: Start) -> None:
    url, kill = start("--data", "data")
    assert verdict(url, "--kill", kill) == "held"
    assert verdict(url) == "not-offered", "nobody may kill it"


def test_who_forgets_everything(start: Start) -> None:
    url, kill = start()
    assert verdict(url, "--kill", kill) == "broken"


def test_a_command_that_kills_nobody(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    url, _ = start()
    assert main(["run", url, "--rules", "CNF-013", "--kill", "true"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "--kill 'true' ended, but a connection that was open before is still open" in said


def test_a_command_that_fails(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    url, _ = start()
    assert main(["run", url, "--rules", "CNF-013", "--kill", "exit 3"]) == 2
    assert "--kill 'exit 3' failed with exit code 3" in " ".join(capsys.readouterr().err.split())
