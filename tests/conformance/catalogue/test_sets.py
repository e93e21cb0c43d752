"""Sets: what is frozen stays as it is, and what may still change says so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from conformance.catalogue import rules, sets

GUIDES_1 = {
    "TAG": 10,
    "MODE": 6,
    "ACK": 19,
    "ERR": 11,
    "RQ": 15,
    "AUTO": 12,
    "QOS": 28,
    "CNF": 27,
    "TX": 4,
    "CAN": 19,
    "TMO": 27,
}
"""How many rules of each family, counted from the first: the number that was frozen."""
PROTOCOL_1 = {
    "CONTENT": 14,
    "GET": 5,
    "RETURN": 6,
    "NOWAIT": 6,
    "CONSUME": 7,
    "QUEUE": 35,
    "EXCH": 24,
    "BIND": 16,
    "ROUTE": 19,
    "CHAN": 9,
    "CONN": 24,
    "FRAME": 16,
    "AUTH": 30,
    "BLOCK": 6,
}
EXTENSIONS_1 = {
    "TTL": 12,
    "DLX": 13,
    "LEN": 15,
    "DUR": 21,
    "POLICY": 14,
    "DRT": 12,
    "SAC": 6,
    "PRIO": 7,
    "CPRIO": 4,
}
LATER = {
    "protocol-1": [
        "MODE-007",
        "MODE-008",
        "ERR-012",
        "ERR-013",
        "ERR-014",
        "RQ-016",
        *(f"TX-{n:03}" for n in (5, 6, 7, 8)),
    ],
    "extensions-1": ["MODE-009", "AUTO-013", "TX-009", *(f"TX-0{n}" for n in range(10, 17))],
}
"""What these sets have of families that guides-1 began."""
FROZEN = {"guides-1": (178, GUIDES_1), "protocol-1": (227, PROTOCOL_1), "extensions-1": (114, EXTENSIONS_1)}
FAMILIES = [(name, family) for name, (_, sizes) in FROZEN.items() for family in sizes]
GOOD = """
name = "small-1"
title = "A small one"
since = 2026-11-24
about = "Two rules."
rules = ["TAG-001", "TAG-002"]
"""


def ids(sizes: Mapping[str, int]) -> set[str]:
    return {f"{family}-{number:03}" for family, size in sizes.items() for number in range(1, size + 1)}


@pytest.mark.parametrize("name", FROZEN)
def test_a_frozen_set_is_what_it_was(name: str) -> None:
    """Whoever wants to judge more makes another set: gates stand on these."""
    size, families = FROZEN[name]
    chosen = [rule.id for rule in sets.select(name)]
    assert len(chosen) == size
    assert set(chosen) == ids(families).union(LATER.get(name, ()))
    assert not sets.SETS[name].draft
    assert sets.drafts(name) == []


@pytest.mark.parametrize(("name", "family"), FAMILIES)
def test_a_rule_that_is_added_does_not_change_a_frozen_set(
    name: str, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [rule.id for rule in sets.select(name)]
    added = rules.get(f"{family}-001").__class__(**{**_values(rules.get(f"{family}-001")), "id": f"{family}-999"})
    monkeypatch.setattr(rules, "CATALOGUE", {**rules.CATALOGUE, added.id: added})
    assert added in rules.select("*")
    assert [rule.id for rule in sets.select(name)] == before


def _values(rule: rules.Rule) -> dict[str, object]:
    return {name: getattr(rule, name) for name in rules.Rule.__dataclass_fields__}


def test_a_draft_says_that_it_may_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "small-1.toml"
    path.write_text(GOOD + "draft = true\n", encoding="utf-8")
    monkeypatch.setattr(sets, "SETS", {**sets.SETS, "small-1": sets.read(path)})
    assert sets.SETS["small-1"].label == "small-1 (a draft)"
    assert sets.drafts("guides-1,small-1") == sets.drafts("small-1") != []


def test_no_rule_is_in_two_sets() -> None:
    chosen = [rule.id for name in sets.SETS for rule in sets.select(name)]
    assert len(chosen) == len(set(chosen))


def test_sets_are_joined_and_cut_by_patterns_and_level() -> None:
    assert [rule.id for rule in sets.select("guides-1", "RQ-01[56]")] == ["RQ-015"]
    assert [rule.id for rule in sets.select("guides-1, protocol-1", "RQ-01[56]")] == ["RQ-015", "RQ-016"]
    assert {rule.level for rule in sets.select("guides-1", "*", "must")} == {"must"}
    assert sets.select("") == rules.select("*")


def test_an_unknown_set_is_named_with_those_that_there_are() -> None:
    with pytest.raises(sets.UnknownSet, match=r"'guide-1' \(did you mean guides-1\?\); sets are extensions-1"):
        sets.named("guide-1")


@pytest.mark.parametrize(
    ("wrong", "right", "said"),
    [
        ('"TAG-002"', '"TAG-*"', "small-1.toml: names 'TAG-\\*'; a set that is no draft names every rule by its id"),
        ('"TAG-002"', '"TAG-999"', "names TAG-999, and there is no such rule"),
        ('"TAG-002"', '"TAG-001"', "none of them twice"),
        ('["TAG-001", "TAG-002"]', "[]", "at least one rule"),
        ("2026-11-24", '"soon"', "'since' must be a date"),
        ('"small-1"', '"small-2"', "must be called small-2.toml"),
        ("title", "titel", "'title' is missing"),
        ("rules =", "draught = true\nrules =", "unknown key 'draught'"),
    ],
)
def test_a_file_with_a_mistake_is_refused(tmp_path: Path, wrong: str, right: str, said: str) -> None:
    path = tmp_path / "small-1.toml"
    path.write_text(GOOD.replace(wrong, right), encoding="utf-8")
    with pytest.raises(sets.BadSet, match=said):
        sets.read(path)


def test_a_draft_may_name_patterns_that_match_nothing_yet(tmp_path: Path) -> None:
    path = tmp_path / "small-1.toml"
    path.write_text(GOOD.replace('"TAG-002"', '"LATER-*"') + "draft = true\n", encoding="utf-8")
    found = sets.read(path)
    assert found.draft
    assert found.has("LATER-007")
    assert not found.has("TAG-002")
