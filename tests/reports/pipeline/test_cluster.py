"""The same command here, on a standalone cluster and through Spark Connect: the same verdicts and evidence.

`make test-long` (CLUSTER_LONG) has the whole command on all three, and a recording ten times as long; without that it
judges once, through a Connect server whose workers are a standalone cluster. The verdicts of a run here are those of
the plain fold in other tests.
"""

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

from conformance.history import recording
from conformance.history.events import Event
from reports import objects
from reports.pipeline import cluster

pytestmark = [pytest.mark.spark, pytest.mark.long]
ROOT = Path(__file__).parents[3]
LONG = bool(os.environ.get("CLUSTER_LONG"))
HEADER = {
    "profile": "documented",
    "broker": "Birch 2.9",
    "queue_types": ["classic", "quorum"],
    "capabilities": ["basic.nack"],
    "started": "2026-11-21T15:04:05Z",
}


def checked(recorded: Path, out: Path, *where: str) -> dict[str, Any]:
    """What `trace check` prints, without what names the place."""
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "conformance.cli",
            "trace",
            "check",
            str(recorded),
            "--out",
            str(out),
            "--format",
            "json",
            *where,
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=out.parent,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 1, ran.stderr
    document: dict[str, Any] = json.loads(ran.stdout)
    for run in document["runs"]:
        del run["command"]
    return document


@pytest.fixture
def traffic(tmp_path: Path, mixed: list[Event]) -> Path:
    """Ten runs of the same."""
    for number in range(10):
        run = f"r{number}"
        events = [event._replace(run=run) for event in mixed]
        recording.write(tmp_path / "long", {**HEADER, "run": run}, events, worker=run)
    return tmp_path / "long"


def took_part(folder: Path) -> None:
    assert len(list(folder.glob("work*/app-*"))) == 2, "both workers took part"


JUDGES = """
import sys
from pathlib import Path
from reports.pipeline.inputs import gather
from reports.pipeline.job import Job
from reports.lake.commits import Lake
from reports.pipeline.session import session
job = Job(session(remote=sys.argv[3]), Lake(sys.argv[2]), lambda stage, done, known: None)
for row in job.verdicts(job.judged(gather([sys.argv[1]]))):
    print(row.rule, row.verdict)
"""


@pytest.mark.skipif(LONG, reason="the longer test has it")
def test_through_connect_on_a_cluster(
    recorded: Path,
    tmp_path: Path,
    table_of: dict[str, str],
    request: pytest.FixtureRequest,
) -> None:
    """Inputs and lake in an object store, of which the cluster knows only what the job tells its workers."""
    with cluster.standalone(tmp_path / "cluster") as master, cluster.connect(tmp_path / "connect", master) as server:
        s3: str = request.getfixturevalue("s3")
        for file in recorded.iterdir():
            objects.put(f"{s3}/in/{file.name}", file)
        ran = subprocess.run(
            [sys.executable, "-c", JUDGES, f"{s3}/in", f"{s3}/lake", server],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr
    assert dict(line.split() for line in ran.stdout.splitlines()) == table_of
    took_part(tmp_path / "cluster")


@pytest.mark.skipif(not LONG, reason="make test-long")
def test_everywhere_the_same(traffic: Path, tmp_path: Path, table_of: dict[str, str]) -> None:
    with ExitStack() as running, ThreadPoolExecutor(3) as pool:
        server = pool.submit(lambda: running.enter_context(cluster.connect(tmp_path / "connect")))
        master = pool.submit(lambda: running.enter_context(cluster.standalone(tmp_path / "cluster")))
        jobs = [pool.submit(checked, traffic, tmp_path / "here", "--master", "local[2]")]
        jobs.append(pool.submit(checked, traffic, tmp_path / "there", "--master", master.result()))
        jobs.append(pool.submit(checked, traffic, tmp_path / "beyond", "--remote", server.result()))
        first, *others = [job.result() for job in jobs]
    assert all(one == first for one in others)
    for run in first["runs"]:
        assert {rule["id"]: rule["verdict"] for rule in run["rules"]} == table_of
    assert "broken" in table_of.values()
    took_part(tmp_path / "cluster")
