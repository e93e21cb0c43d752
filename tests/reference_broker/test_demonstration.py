"""The demonstration in the README, run as it stands there: only its ports are free ones."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def test_what_the_readme_shows_happens(tmp_path):
    (script,) = re.findall(r"<!-- demonstration: kill -9 -->\n```sh\n(.*?)```", README.read_text(), re.DOTALL)
    for port in ("15672", "5672"):
        script = re.sub(rf"(?<!\d){port}\b", free_port(), script)
    (tmp_path / "pip").write_text("#!/bin/sh\n")
    (tmp_path / "pip").chmod(0o755)
    path = f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(README.parent)}
    done = subprocess.run(
        ["sh", "-e", "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stdout.splitlines() if "messages" in line]
    assert said == ["200 messages are confirmed", "200 messages are there"]
    assert "DIR: 200 messages in 1 queues recovered" in done.stderr
