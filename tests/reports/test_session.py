"""The Spark session: what it needs is named when it is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.pipeline.session import NotInstalled, java


def test_a_missing_java_names_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotInstalled, match=r"no java on the PATH\. Install openjdk-17-jre-headless"):
        java()


def test_a_wrong_java_home_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(NotInstalled, match=f"JAVA_HOME is {tmp_path}"):
        java()
