"""The same command here, on a standalone cluster and through Spark Connect: the same verdicts and evidence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from reports.pipeline import cluster

pytestmark = pytest.mark.spark
ROOT = Path(__file__).parents[2]


def checked(recorded: Path, out: Path, *where: str) -> dict[str, Any]:
    """What `trace check` prints, without what names the place."""
    ran = subprocess.run(
        [sys.executable, "-m", "conformance.cli", "trace", "check", str(recorded), "--out", str(out),
         "--format", "json", *where],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=out.parent, capture_output=True, text=True, timeout=300,
        check=False,
    )
    assert ran.returncode == 1, ran.stderr
    document: dict[str, Any] = json.loads(ran.stdout)
    for run in document["runs"]:
        del run["command"]
    return document


def test_everywhere_the_same(recorded: Path, tmp_path: Path, table_of: dict[str, str]) -> None:
    with ExitStack() as running, ThreadPoolExecutor(3) as pool:
        server = pool.submit(lambda: running.enter_context(cluster.connect(tmp_path / "connect")))
        master = pool.submit(lambda: running.enter_context(cluster.standalone(tmp_path / "cluster")))
        here = pool.submit(checked, recorded, tmp_path / "here", "--master", "local[2]")
        there = pool.submit(checked, recorded, tmp_path / "there", "--master", master.result())
        beyond = pool.submit(checked, recorded, tmp_path / "beyond", "--remote", server.result())
        found = [job.result() for job in (here, there, beyond)]
    assert found[0] == found[1] == found[2]
    assert {rule["id"]: rule["verdict"] for rule in found[0]["runs"][0]["rules"]} == table_of
    assert "broken" in table_of.values()
    workers = list((tmp_path / "cluster").glob("work*/app-*"))
    assert len(workers) == 2, "both workers took part"
