"""The Spark session: what it needs is named when it is missing, and it makes no noise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reports.pipeline.session import NotInstalled, java

QUIET = """
import sys
from pathlib import Path
from reports.pipeline.session import session
spark = session(Path(sys.argv[1]), master="local[1]")
print(spark.range(3).count())
print("ours", file=sys.stderr)
spark.stop()
"""


def test_a_missing_java_names_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotInstalled, match=r"no java on the PATH\. Install openjdk-17-jre-headless"):
        java()


def test_a_wrong_java_home_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(NotInstalled, match=f"JAVA_HOME is {tmp_path}"):
        java()


@pytest.mark.spark
def test_spark_is_quiet_and_leaves_nothing_behind(tmp_path: Path) -> None:
    log = tmp_path / "log" / "spark.log"
    ran = subprocess.run(
        [sys.executable, "-c", QUIET, str(log)], capture_output=True, text=True, cwd=tmp_path, timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}, check=True,
    )
    assert ran.stdout == "3\n"
    assert ran.stderr == "ours\n"
    assert "incubator" in log.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
