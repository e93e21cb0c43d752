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
GOOD = """
name = "small-1"
title = "A small one"
since = 2026-11-24
about = "Two rules."
rules = ["TAG-001", "TAG-002"]
"""


def ids(sizes: Mapping[str, int]) -> set[str]:
    return {f"{family}-{number:03}" for family, size in sizes.items() for number in range(1, size + 1)}


def test_guides_1_is_what_it_was() -> None:
    """Whoever wants to judge more makes another set: gates stand on this one."""
    assert sum(GUIDES_1.values()) == 178
    assert {rule.id for rule in sets.select("guides-1")} == ids(GUIDES_1)
    assert not sets.SETS["guides-1"].draft


@pytest.mark.parametrize("family", sorted(GUIDES_1))
def test_a_rule_that_is_added_does_not_change_a_frozen_set(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [rule.id for rule in sets.select("guides-1")]
    added = rules.get(f"{family}-001").__class__(**{**_values(rules.get(f"{family}-001")), "id": f"{family}-999"})
    monkeypatch.setattr(rules, "CATALOGUE", {**rules.CATALOGUE, added.id: added})
    assert added in rules.select("*")
    assert [rule.id for rule in sets.select("guides-1")] == before


def _values(rule: rules.Rule) -> dict[str, object]:
    return {name: getattr(rule, name) for name in rules.Rule.__dataclass_fields__}


def test_protocol_1_is_a_draft_or_names_its_rules() -> None:
    """A draft grows with the catalogue. To freeze it, write its ids down and take `draft` out, in one step: the loader
    refuses patterns in a set that is none."""
    one = sets.SETS["protocol-1"]
    if one.draft:
        assert one.label == "protocol-1 (a draft)"
        assert sets.drafts("guides-1,protocol-1") == sets.drafts("protocol-1") != []
    else:
        assert all(name in rules.CATALOGUE for name in one.rules)


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
