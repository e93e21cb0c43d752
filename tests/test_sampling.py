"""Of tests that are many of a kind, or cost much, some are played, and a seed decides which."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sampling import COSTLY, OF_SPARK, SHARE

pytest_plugins = ["pytester"]

MANY = """
import pytest
from tests import sampling

def pytest_addoption(parser):
    sampling.add_option(parser)

def pytest_collection_modifyitems(config, items):
    sampling.keep_drawn(config, items)
"""
TESTS = """
import pytest

@pytest.mark.sampled(3)
@pytest.mark.parametrize("n", range(30))
def test_many(n): ...

@pytest.mark.sampled(2)
def test_alone(): ...

@pytest.mark.parametrize("n", range(5))
def test_few(n): ...

@pytest.mark.spark
@pytest.mark.parametrize("n", range(12))
def test_job(n): ...
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(MANY)
    pytester.makeini("[pytest]\nmarkers =\n sampled(n): some\n spark: jobs\naddopts = -p no:conformance")
    pytester.makepyfile(TESTS)
    return pytester


def drawn(project: pytest.Pytester, *options: str) -> list[str]:
    said = project.runpytest_inprocess("--collect-only", "-q", "-p", "no:cacheprovider", *options)
    return [line.partition("::")[2] for line in said.outlines if "::" in line]


def test_without_a_seed_all_are_played(project: pytest.Pytester) -> None:
    assert len(drawn(project)) == len(drawn(project, "--sample", "")) == 48


def test_a_seed_brings_the_same_third_again(project: pytest.Pytester) -> None:
    once = drawn(project, "--sample", "7")
    assert once == drawn(project, "--sample", "7")
    assert sum(name.startswith("test_many") for name in once) in (10, 11)
    assert sum(name.startswith("test_few") for name in once) == 5


def test_in_the_end_each_has_its_turn(project: pytest.Pytester) -> None:
    played = [drawn(project, "--sample", str(seed)) for seed in range(1, 25)]
    assert {name for those in played for name in those} == {*drawn(project)}
    assert 0 < sum("test_alone" in those for those in played) < len(played)


def test_of_what_needs_spark_a_share_is_played(project: pytest.Pytester) -> None:
    assert sum(name.startswith("test_job") for name in drawn(project, "--sample", "7")) == 12 // OF_SPARK


def test_so_it_is_with_what_costs_much(pytester: pytest.Pytester) -> None:
    name = sorted(COSTLY)[0]
    pytester.makeconftest(MANY)
    (pytester.path / name).parent.mkdir(parents=True)
    (pytester.path / name).write_text("import pytest\n@pytest.mark.parametrize('n', range(30))\ndef test_much(n): ...")
    assert len(drawn(pytester, "--sample", "7", "-p", "no:conformance")) == 30 // SHARE


def test_the_files_that_cost_much_are_there() -> None:
    assert [name for name in COSTLY if not (Path(__file__).parents[1] / name).exists()] == []
