"""docs/query-the-lake.md: every block of it is run, on a lake in which each question has an answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance import cli
from conformance.history import recording
from conformance.history.events import Event
from reports.lake.columns import TABLES
from tests.reports.conftest import HEADER
from tests.reports.test_alone import written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).parents[3] / "docs" / "query-the-lake.md"
BLOCKS = re.findall(r"```(\w[^\n]*)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
QUERIES = [text for kind, text in BLOCKS if kind == "sql"]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, mixed: list[Event]) -> Path:
    """Two runs of one broker, of which the first is the worse, one that ends with a publish, and a capture."""
    folder = tmp_path_factory.mktemp("queried")
    recording.write(folder / "r1", HEADER, mixed, worker="r1")
    clean = [event._replace(run="r2") for event in mixed if event.history == "h1"]
    recording.write(folder / "r2", {**HEADER, "run": "r2", "started": "2026-11-22T08:00:00Z"}, clean, worker="r2")
    ends = next(at for at, event in enumerate(clean, 1) if event.method == "basic.publish")
    cut = [event._replace(run="r3") for event in clean[:ends]]
    recording.write(folder / "r3", {**HEADER, "run": "r3", "started": "2026-11-20T08:00:00Z"}, cut, worker="r3")
    capture = written(folder / "a.pcap", 3)
    inputs = map(str, (folder / "r1", folder / "r2", folder / "r3", capture))
    cli.main(["trace", "check", *inputs, "--out", str(folder / "checked")])
    return folder / "checked" / "lake"


@pytest.fixture(scope="module")
def names(lake: Path) -> Mapping[str, Any]:
    """What the blocks of Python leave behind."""
    found: dict[str, Any] = {}
    for kind, text in BLOCKS:
        if kind == "python":
            exec(compile(text.replace("checked/lake", str(lake)), str(PAGE), "exec"), found)
    return found


def test_there_are_ten_and_all_tables_are_there(names: Mapping[str, Any]) -> None:
    assert len(QUERIES) == 10
    assert set(names["TABLES"]) == set(TABLES) - {"judgements"}


@pytest.mark.parametrize("query", QUERIES, ids=[str(number) for number in range(1, len(QUERIES) + 1)])
def test_a_question_has_an_answer(names: Mapping[str, Any], query: str) -> None:
    rows = names["duck"].sql(query).fetchall()
    assert rows
    assert all(any(value is not None for value in row) for row in rows)


def test_others_find_the_same(names: Mapping[str, Any]) -> None:
    broken = set(names["broken"].collect().get_column("rule"))
    assert broken == {row[1] for row in names["duck"].sql(QUERIES[0]).fetchall()}
    assert broken == set(names["verdicts"].query("verdict == 'broken'")["rule"])


@pytest.mark.spark
def test_spark_finds_the_same(names: Mapping[str, Any], lake: Path, spark: SparkSession) -> None:
    (text,) = (text for kind, text in BLOCKS if kind == "python spark")
    found = dict(names)
    exec(compile(text, str(PAGE), "exec"), found)
    rows = found["verdicts"].where("verdict = 'broken'").select("rule").distinct().collect()
    assert {row.rule for row in rows} == set(names["verdicts"].query("verdict == 'broken'")["rule"])
