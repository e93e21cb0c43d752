"""A compiled fold is found only where it belongs, and the copy that is compiled says what the sources say."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from conformance.catalogue import profiles
from conformance.oracle.monitors import Judge, state
from reports.judging import compiled
from tests.support import traces

STAND_IN = "class Judge:\n    pass\n"


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    spec = spec_from_file_location("native", compiled.ROOT / ".ci" / "native.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Something that looks like a build of these sources, and is not proven yet."""
    monkeypatch.setattr(compiled, "BUILDS", tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(compiled, "PACKAGE", "fold_of_a_test")
    package = tmp_path / compiled.digest() / "fold_of_a_test"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "monitors.py").write_text(STAND_IN)
    compiled.judge.cache_clear()
    yield package.parent
    compiled.judge.cache_clear()
    sys.modules.pop("fold_of_a_test.monitors", None)


def test_what_is_not_proven_is_not_used(build: Path) -> None:
    assert compiled.judge() is Judge


def test_what_is_proven_is_used(build: Path) -> None:
    (build / compiled.PROVEN).touch()
    assert compiled.judge().__module__ == "fold_of_a_test.monitors"


def test_who_wants_plain_python_gets_it(build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (build / compiled.PROVEN).touch()
    monkeypatch.setenv(compiled.PLAIN, "1")
    assert compiled.judge() is Judge


def test_a_build_of_other_sources_is_not_used(build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (build / compiled.PROVEN).touch()
    monkeypatch.setattr(compiled, "SOURCES", (*compiled.SOURCES, "conformance/cli/command.py"))
    assert compiled.judge() is Judge


def test_every_octet_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "ROOT", tmp_path)
    (tmp_path / "conformance/oracle/model").mkdir(parents=True)
    source = tmp_path / "conformance/oracle/model/records.py"
    source.write_text("OUT = 1\n")
    before = compiled.digest()
    source.write_text("OUT = 2\n")
    assert compiled.digest() != before


@pytest.fixture
def copy(builder: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Judge]]:
    """The Judge of the copy, before it is compiled."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    for module in (compiled, builder):
        monkeypatch.setattr(module, "PACKAGE", "copied_fold")
    builder.copied(tmp_path)
    yield compiled.load(tmp_path)
    for name in [name for name in sys.modules if name.startswith("copied_fold")]:
        del sys.modules[name]


def test_the_copy_judges_as_the_sources_and_each_goes_on_where_the_other_ended(
    builder: ModuleType,
    copy: type[Judge],
) -> None:
    profile = profiles.load(traces.PROFILE)
    for trace in [*traces.chaotic(1), *traces.wrong(traces.mutants(8)[:4], 1)]:
        assert copy.__module__ == "copied_fold.monitors.judge"
        assert builder.judgements_of(copy, trace.events, profile) == builder.judgements_of(Judge, trace.events, profile)
        half = len(trace.events) // 2
        for begins, ends in ((copy, Judge), (Judge, copy)):
            first, whole = begins(profile), Judge(profile)
            for event in trace.events[:half]:
                first.step(event)
            second = state.decode(state.encode(first), profile, ends)
            assert type(second) is ends
            for event in trace.events[half:]:
                second.step(event)
            for event in trace.events:
                whole.step(event)
            assert second.judgement == whole.judgement


@pytest.mark.skipif(find_spec("setuptools") is None, reason="setuptools is not installed: make native installs it")
def test_mypyc_takes_the_copy(builder: ModuleType, tmp_path: Path) -> None:
    """It is stricter than mypy, and there is C that it does not know how to write."""
    assert builder.translated(tmp_path, "--name") == 0, (tmp_path / "log.txt").read_text()


MODEL = compiled.ROOT / "conformance" / "oracle" / "model"
RECORDS = [path for path in sorted(MODEL.rglob("*.py")) if "@dataclass" in path.read_text("utf-8")]


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_constructors_are_those_of_the_dataclasses(
    path: Path,
    builder: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = importlib.import_module(".".join(path.relative_to(compiled.ROOT).with_suffix("").parts))
    copy = ModuleType(f"copy_of_{path.stem}")
    monkeypatch.setitem(sys.modules, copy.__name__, copy)
    text = builder.rewritten(path.read_text("utf-8")).replace(compiled.PACKAGE, "conformance.oracle")
    exec(compile(text, str(path), "exec", dont_inherit=True), vars(copy))
    for name, value in vars(original).items():
        if isinstance(value, type) and value.__module__ == original.__name__ and is_dataclass(value):
            assert list(inspect.signature(getattr(copy, name)).parameters) == list(inspect.signature(value).parameters)
        elif name.isupper() and isinstance(value, (str, int)):
            assert getattr(copy, name) == value
