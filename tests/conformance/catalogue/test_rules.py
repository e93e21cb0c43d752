"""The catalogue is complete, and whatever is wrong with a file of it is refused with the file and the rule."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import conformance
from conformance.catalogue import profiles, rules
from conformance.catalogue.rules.loading import BadCatalogue, family_of
from tools.pages import rules as docs

ANSWERS = ("confirm.select", "consume-ok")
SCHEMAS = Path(conformance.__file__).with_name("schemas")

GOOD = """
code = "TX"
title = "Transactions"
area = "Publishing"
place = 900
brief = "commit and rollback"
about = "What is provisional."

[defaults]
status = "planned"
reason = "comes with the transactions"
scope = "C1"

[[rule]]
id = "TX-001"
title = "A first rule"
level = "must"
source = "AMQP 0-9-1 XML: class tx"
clause = "It is done\\n  at once."
mutants = ["does it later"]
"""


def test_every_file_is_a_family_in_the_order_of_their_places() -> None:
    files = {path.stem.upper() for path in Path(rules.__file__).parent.rglob("*.toml")}
    assert set(rules.FAMILIES) == {rule.family for rule in rules.CATALOGUE.values()} == files
    places = [family.place for family in rules.FAMILIES.values()]
    assert places == sorted(places)


def test_every_rule_is_judged_but_for_those_that_no_client_can_decide() -> None:
    assert {rule.status for rule in rules.CATALOGUE.values() if not rule.judged} <= {"not-judgeable"}


def test_the_schemas_take_every_id() -> None:
    patterns = [one for path in SCHEMAS.glob("*.json") for one in re.findall(r"\^(\[A-Z\].*?)-\S", path.read_text())]
    assert len(patterns) >= 5
    assert {*patterns} == {rules.RULE_ID.removesuffix(r"-\d{3}")}


def test_a_rule_may_depend_on_a_choice_of_the_profile(tmp_path: Path) -> None:
    (rule,) = family(tmp_path, GOOD + 'where = {channel_limit = "channel"}\n')
    assert rule.ruled_out({"channel_limit": "channel"}) is None
    assert rule.ruled_out({"channel_limit": "as-consumer"}) == "by the profile channel_limit is as-consumer"
    assert rule.conditions == ("where the profile says that `channel_limit` is `channel`",)


def test_a_rule_may_depend_on_one_of_several_readings(tmp_path: Path) -> None:
    (rule,) = family(tmp_path, GOOD + 'where = {consumer_timeout = ["queue", "channel"]}\n')
    assert [rule.ruled_out({"consumer_timeout": one}) is None for one in ("queue", "channel", "sweep")] == [1, 1, 0]
    assert rule.conditions == ("where the profile says that `consumer_timeout` is `queue` or `channel`",)


def test_what_a_rule_depends_on_is_a_choice() -> None:
    for rule in rules.CATALOGUE.values():
        for name, readings in rule.where:
            assert set(readings) <= set(profiles.CHOICES[name].alternatives), rule.id


@pytest.mark.parametrize("rule", rules.CATALOGUE.values(), ids=lambda rule: rule.id)
def test_every_rule_stands_alone(rule: rules.Rule) -> None:
    assert 40 <= len(rule.clause) <= 500, "a clause is two to four sentences"
    assert rule.title[0].isupper() or rule.title.split()[0] in ("basic.get", "basic.qos", "basic.recover", *ANSWERS)
    assert not rule.title.endswith(".")
    assert rule.open == "" or rule.open.endswith(".")
    assert all(known.endswith(".") for known in rule.known)
    assert all(not mutant.endswith(".") and mutant[0].islower() for mutant in rule.mutants)
    assert all(source.startswith(("AMQP 0-9-1", "guide: ", "observed: ")) for source in rule.sources)


def test_texts_refer_only_to_rules_that_exist() -> None:
    for rule in rules.CATALOGUE.values():
        for name in re.findall(rf"\b{rules.RULE_ID}\b", " ".join([rule.clause, rule.open, rule.reason, *rule.known])):
            assert name in rules.CATALOGUE, rule.id
            assert name != rule.id, rule.id


def test_no_two_rules_say_the_same() -> None:
    everything = rules.CATALOGUE.values()
    for texts in ([rule.title for rule in everything], [rule.clause for rule in everything]):
        assert len(set(texts)) == len(texts)


def test_the_page_of_the_rules_is_fresh() -> None:
    assert docs.PAGE.read_text(encoding="utf-8") == docs.page(), "`make docs` writes docs/rules.md anew"


def test_get_takes_any_case_and_hints_at_what_was_meant() -> None:
    assert rules.get(" ack-010 ").id == "ACK-010"
    with pytest.raises(rules.UnknownRule, match=r"no rule 'ACK-10' \(did you mean ACK-010"):
        rules.get("ACK-10")


def test_select_by_patterns_and_level() -> None:
    assert [rule.id for rule in rules.select("tx-00[1-4], ACK-00[12]")] == [
        "ACK-001",
        "ACK-002",
        "TX-001",
        "TX-002",
        "TX-003",
        "TX-004",
    ]
    assert {rule.level for rule in rules.select(level="must")} == {"must"}
    assert {rule.level for rule in rules.select(level="should")} == {"must", "should"}
    assert {rule.level for rule in rules.select(level="may")} == {"must", "should", "may", "observed"}
    assert rules.select("NOPE-*") == []
    with pytest.raises(ValueError, match="'could' is no level"):
        rules.select(level="could")


def family(tmp_path: Path, text: str, name: str = "tx.toml") -> list[rules.Rule]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return family_of(path)[1]


def test_defaults_of_a_family_can_be_overridden(tmp_path: Path) -> None:
    (rule,) = family(tmp_path, GOOD)
    assert (rule.status, rule.reason, rule.clause) == ("planned", "comes with the transactions", "It is done at once.")
    (rule,) = family(tmp_path, GOOD + 'status = "judged"\nqueue_types = ["quorum"]\nscope = "ALL+CLK"\n')
    assert (rule.status, rule.reason, rule.queue_types) == ("judged", "", ("quorum",))
    assert rule.decided_by == "the frames of every connection that touches the queue, and the times of the frames"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("mutants =", "mutant =", r"tx.toml, TX-001: .*mutant"),
        ('level = "must"', 'level = "most"', r"TX-001: 'level' is 'most'; .*did you mean must"),
        ('level = "must"\n', "", r"TX-001: 'level' is missing"),
        ('clause = "It is done\\n  at once."', "", r"TX-001: 'clause' is missing"),
        ('clause = "It is done\\n  at once."', 'clause = "  "', r"TX-001: 'clause' is empty"),
        ("at once.", "at once", r"TX-001: the clause must be whole sentences"),
        ('"TX-001"', '"TX-002"', r"TX-002: expected TX-001 here; ids have no gaps"),
        ('"TX-001"', '"TX-1"', r"rule 1: 'TX-1' is no rule id"),
        ('scope = "C1"', 'scope = "C1+X"', r"TX-001: scope 'C1\+X': 'X' is none of"),
        ('mutants = ["does it later"]', "mutants = []", r"TX-001: names no mutant"),
        ('reason = "comes with the transactions"\n', "", r"TX-001: is planned; say why in 'reason'"),
        ('status = "planned"', 'status = "judged"', r"TX-001: is judged, so it needs no reason"),
        ('source = "AMQP 0-9-1 XML: class tx"', "source = 7", r"TX-001: 'source' must be a string"),
        ("[defaults]", "[default]", r"tx.toml: unknown key 'default' \(did you mean defaults"),
        ('scope = "C1"', 'scop = "C1"', r"tx.toml, \[defaults\]: unknown key 'scop' \(did you mean scope"),
        ('code = "TX"', 'code = "TMO"', r"the file must be called tmo.toml"),
        ("[[rule]]", "[[rules]]", r"tx.toml: unknown key 'rules' \(did you mean rule"),
        ('brief = "commit and rollback"', f'brief = "{"much " * 9}"', r"tx.toml: 'brief' has 44 characters"),
        ('area = "Publishing"\n', "", r"tx.toml: 'area' is missing"),
        ("place = 900\n", "", r"tx.toml: 'place' must be a number of at least 1"),
        ('title = "A first rule"', "title = ", r"tx.toml: .*line 16"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    assert old in GOOD
    with pytest.raises(BadCatalogue, match=complaint):
        family(tmp_path, GOOD.replace(old, new))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('queue_types = ["stream"]', "'queue_types' names 'stream'; known are classic, quorum"),
        ("queue_types = []", "'queue_types' is empty"),
        ("needed = 0", "'needed' must be a number of at least 1"),
        ("needed = true", "'needed' must be a number of at least 1"),
        ('known = [""]', "'known' must be a list of strings"),
        ('status = "not-judgeable"', "is not-judgeable; say why"),
        ('status = "soon"', "'status' is 'soon'"),
        ('cluase = "x."', "unknown key 'cluase' .did you mean clause"),
    ],
)
def test_what_is_wrong_with_a_rule_is_named(tmp_path: Path, line: str, complaint: str) -> None:
    with pytest.raises(BadCatalogue, match=rf"tx\.toml, TX-001: {complaint}"):
        family(tmp_path, GOOD + line + "\n")


def test_an_id_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    twice = GOOD + GOOD[GOOD.index("[[rule]]") :]
    with pytest.raises(BadCatalogue, match="TX-001: this id is there twice"):
        family(tmp_path, twice)


def test_families_are_read_in_the_order_of_their_places(tmp_path: Path) -> None:
    for code, place in (("CONTENT", 5), ("TX", 900), ("AUTH", 900)):
        text = GOOD.replace("TX", code).replace("place = 900", f"place = {place}")
        (tmp_path / f"{code.lower()}.toml").write_text(text, encoding="utf-8")
    families, catalogue = rules.read(tmp_path)
    assert [*families] == ["CONTENT", "AUTH", "TX"]
    assert [*catalogue] == ["CONTENT-001", "AUTH-001", "TX-001"]


def test_a_folder_without_a_family_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadCatalogue, match="there is no family here"):
        rules.read(tmp_path)
