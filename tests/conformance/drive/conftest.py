"""Brokers that are processes of their own, which a command ends and starts again."""

from __future__ import annotations

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

SCRIPT = """
import os, pathlib, signal, subprocess, sys, time
pid, how, *arguments = pathlib.Path("pid"), *sys.argv[1:]
if pid.exists():
    os.kill(int(pid.read_text()), getattr(signal, how))
    while os.path.exists("/proc/" + pid.read_text()) and "Z" not in open("/proc/" + pid.read_text() + "/stat").read():
        time.sleep(0.01)
started = subprocess.Popen([sys.executable, "-m", "reference_broker", *arguments], start_new_session=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
pid.write_text(str(started.pid))
"""
Start = Callable[..., tuple[str, str]]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts a broker with these arguments, behind the signal that ends it: its URL, and the command that ends it and
    starts it again."""
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
