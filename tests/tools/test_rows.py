"""The page of RabbitMQ's 160 rows: no row is left out, none is empty, and nothing on it is typed in."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.catalogue.rules import CATALOGUE, FAMILIES
from tools.pages import rows
from tools.pages.rows import Row, Run

FILES = {"xml": 139, "pdf": 45, "methods": 57}
EVERY = [row for name in FILES for row in rows.read(name)]


@pytest.mark.parametrize(("name", "size"), FILES.items())
def test_every_row_is_there_once(name: str, size: int) -> None:
    found = rows.read(name)
    assert len(found) == size
    if name != "pdf":  # where several rules of one section are told apart by their order alone
        assert len({row.id for row in found}) == size


def test_160_of_them_are_those_of_rabbitmq() -> None:
    assert sum(bool(row.rabbitmq) for name in ("xml", "pdf") for row in rows.read(name)) == 160


@pytest.mark.parametrize("row", EVERY, ids=lambda row: row.id)
def test_a_row_names_rules_that_exist_or_a_family_that_is_planned(row: Row) -> None:
    assert [name for name in row.rules if name not in CATALOGUE] == []
    assert len(set(row.rules)) == len(row.rules)
    assert row.family in ("", *rows.PLANNED, *rows.GROWING)
    assert row.family not in FAMILIES or row.family in rows.GROWING, (
        f"{row.family} is there now: let the rows in tools/pages/protocol name its rules, and take it out of PLANNED"
    )


@pytest.mark.parametrize("row", EVERY, ids=lambda row: row.id)
def test_a_row_says_what_it_is_about(row: Row) -> None:
    for text in (row.says, row.reason, row.note):
        assert "|" not in text
        assert not text.endswith(".")


def test_the_page_is_fresh() -> None:
    assert rows.PAGE.read_text(encoding="utf-8") == rows.page(rows.stored()), "run `make docs`"


def test_the_page_has_all_rows_and_all_versions() -> None:
    said = rows.PAGE.read_text(encoding="utf-8")
    assert all(f"| `{row.id}` |" in said for row in EVERY)
    assert all(f" {run.version} |" in said for run in rows.stored())


def row(*names: str) -> Row:
    return Row("a/b", "MUST", "ok", "it does", names, "", "", "")


@pytest.mark.parametrize(
    ("verdicts", "sign"),
    [
        ({"ACK-001": "held", "ACK-002": "held"}, rows.KEPT),
        ({"ACK-001": "held", "ACK-002": "unseen"}, rows.KEPT),
        ({"ACK-001": "held", "ACK-002": "not-offered"}, rows.KEPT),
        ({"ACK-001": "not-offered", "ACK-002": "not-offered"}, rows.ABSENT),
        ({"ACK-001": "held", "ACK-002": "deviates"}, rows.WRONG),
        ({"ACK-001": "broken"}, rows.WRONG),
        ({"ACK-001": "held", "ACK-002": "under-tested"}, rows.DOUBTFUL),
        ({"ACK-001": "held"}, rows.NOT_RUN),
        ({}, rows.NOT_RUN),
    ],
)
def test_a_row_shows_the_gravest_that_its_rules_have(verdicts: dict[str, str], sign: str) -> None:
    assert rows.sign(row("ACK-001", "ACK-002"), Run("1.0", verdicts)) == sign


@pytest.mark.parametrize(
    "wrong",
    ['id = "a/b"', 'id = "a/b"\nrules = ["ACK-001"]\nreason = "none"', 'id = "a/b"\nrule = ["ACK-001"]'],
)
def test_a_row_that_says_nothing_or_too_much_is_refused(
    wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "xml.toml").write_text(f"[[row]]\n{wrong}\n", encoding="utf-8")
    monkeypatch.setattr(rows, "FOLDER", tmp_path)
    with pytest.raises(rows.BadRows, match=r"xml\.toml, row 1"):
        rows.read("xml")
