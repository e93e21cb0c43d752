"""What is published: what sdist and wheel hold, where the version stands, and the wheel in a fresh environment."""

from __future__ import annotations

import re
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from conformance import __version__
from tools.release import built, pythons, smoke
from tools.release.built import ROOT, Dist, Unfit


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Dist:
    return built.build(tmp_path_factory.mktemp("dist"))


def test_sdist_and_wheel_hold_the_packages_and_nothing_else(dist: Dist) -> None:
    built.check(dist)
    sdist, wheel = built.contents(dist)
    assert {"LICENSE", "README.md", "pyproject.toml"} <= sdist
    assert {name.split("/")[0] for name in wheel} == {*built.SHIPPED, f"amqp_conformance-{__version__}.dist-info"}


def test_a_file_too_few_or_too_many_is_named(dist: Dist, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = tmp_path / dist.wheel.name
    more.write_bytes(dist.wheel.read_bytes())
    with zipfile.ZipFile(more, "a") as archive:
        archive.writestr("tools/matrix.py", "")
    with pytest.raises(Unfit, match=r"too much in the wheel: \['tools/matrix.py'\]"):
        built.check(Dist(dist.sdist, more))
    known = built.tracked()
    monkeypatch.setattr(built, "tracked", lambda: known | {"conformance/catalogue/rules/new/csv"})
    with pytest.raises(Unfit, match=r"missing in sdist or wheel: \['conformance/catalogue/rules/new/csv'\]"):
        built.check(dist)


def test_the_version_stands_in_one_place(dist: Dist) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "version" not in project
    assert "version" in project["dynamic"]
    stated = [
        path
        for room in built.SHIPPED
        for path in sorted((ROOT / room).rglob("*.py"))
        if re.search(rf"[\"']{re.escape(__version__)}[\"']", path.read_text("utf-8"))
    ]
    assert stated == [ROOT / "conformance" / "__init__.py"]
    with zipfile.ZipFile(dist.wheel) as archive:
        said = Parser().parsestr(archive.read(f"amqp_conformance-{__version__}.dist-info/METADATA").decode())
    assert said["Version"] == __version__
    assert said["License-Expression"] == "Apache-2.0"
    assert said["Description-Content-Type"] == "text/markdown"


def test_the_wheel_works_in_a_fresh_environment(dist: Dist, tmp_path: Path) -> None:
    here = pythons.Python(f"3.{sys.version_info.minor}", sys.executable)
    assert list(smoke.smoke(here, dist.wheel, tmp_path / "fresh")) == [" ".join(step.words) for step in smoke.STEPS]


@pytest.mark.parametrize("step", [smoke.Step(("false",)), smoke.Step(("echo", "no"), says="yes")])
def test_a_step_that_goes_wrong_is_told(step: smoke.Step, tmp_path: Path) -> None:
    with pytest.raises(Unfit, match=step.words[0]):
        smoke.played(pythons.Python("3", sys.executable), step, tmp_path)


def test_the_promised_pythons_begin_with_the_oldest_allowed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    promised = pythons.promised()
    assert f">={promised[0]}" == project["requires-python"]
    assert [f"3.{int(promised[0][2:]) + n}" for n in range(len(promised))] == promised


def test_a_python_that_cannot_be_had_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pythons, "candidates", lambda minor: iter([sys.executable]))
    assert pythons.find("3.99", chroots=False) is None
    here = f"3.{sys.version_info.minor}"
    assert pythons.find(here, chroots=False) == pythons.Python(here, sys.executable)
