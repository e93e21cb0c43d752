"""The matrix: a real broker beside its imitation, what differs between them, and a page about all."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.catalogue.profiles import NAMES, load
from conformance.catalogue.rules import CATALOGUE
from conformance.diff.nodes import BadNode, Node
from conformance.outcome.bare import excused, without_deviations
from conformance.outcome.results import Results
from reference_broker import ReferenceBroker
from reference_broker.dialects import DIALECTS
from tools.compare import EXPLAINED, compare
from tools.matrix import BothGates, MatrixSettings, Twin, imitate, main, spoken_by

Change = Callable[..., Results]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    settings = MatrixSettings(tmp_path_factory.mktemp("matrix"), "smoke", rules="ACK-01*,CAN-008")
    return imitate(Twin("rabbitmq-4.3"), settings)


@pytest.fixture
def changed(results: Results) -> Change:
    def change(rule: str, verdict: str) -> Results:
        rules = tuple(replace(each, verdict=verdict) if each.id == rule else each for each in results.rules)
        return replace(results, rules=rules)

    return change


def test_equal_verdicts_are_no_difference(results: Results) -> None:
    assert compare("mine", results, results) == []


def test_a_verdict_that_differs_is_named_with_what_was_seen(results: Results, changed: Change) -> None:
    (one,) = compare("mine", results, changed("ACK-018", "held"))
    assert (one.rule, one.broker, one.real, one.reference) == ("ACK-018", "mine", "deviates", "held")
    assert one.observed.endswith("is delivered again")
    assert one.explained is None


def test_what_is_not_judged_is_not_compared(results: Results, changed: Change) -> None:
    assert compare("mine", changed("ACK-010", "not-judgeable"), results) == []


def test_an_explanation_belongs_to_a_profile_and_a_rule(results: Results, changed: Change) -> None:
    (one,) = compare("mine", changed("CAN-008", "broken"), results)
    assert one.explained is not None
    (one,) = compare("mine", replace(changed("CAN-008", "broken"), profile="documented"), results)
    assert one.explained is None


def test_explanations_are_of_profiles_and_rules_that_exist() -> None:
    assert {profile for profile, _ in EXPLAINED} <= set(NAMES)
    assert {rule for _, rule in EXPLAINED} <= set(CATALOGUE)


def test_dialects_and_profiles_have_the_same_names() -> None:
    ours = {"documented", *(name for name in NAMES if load(name).product == "RabbitMQ" and load(name).measured)}
    assert set(DIALECTS) == ours, "each RabbitMQ that was measured is imitated"


def test_who_is_imitated(results: Results) -> None:
    assert spoken_by(results) == "rabbitmq-4.3"
    assert spoken_by(replace(results, profile="documented")) == ""
    assert spoken_by(replace(results, profile="lavinmq-2.9")) == ""


def test_the_gate_is_closed_without_what_excuses(results: Results) -> None:
    assert results.gate.open
    bare = without_deviations(results)
    assert not bare.open
    assert [rule for rule in excused(results) if not any(rule in reason for reason in bare.reasons)] == []
    both = BothGates("mine", results.gate, bare, excused(results))
    assert both.consistent
    assert str(both) == "mine: gate open with its deviations file, closed by 2 without (it excuses ACK-018, CAN-008)"


def test_a_file_that_makes_no_difference_is_none(results: Results) -> None:
    assert not BothGates("mine", results.gate, results.gate, ["ACK-018"]).consistent
    assert BothGates("mine", results.gate, results.gate, []).consistent


def test_a_gate_without_deviations_is_the_same_gate(results: Results, changed: Change) -> None:
    assert without_deviations(changed("ACK-018", "held")).reasons == without_deviations(results).reasons[1:]


def test_a_node_is_named_with_all_there_is_to_know() -> None:
    text = "short=amqp://host/%2F,admin=http://host:1,consumer-timeout=5000,rules=TMO-*"
    assert Node.parse(text) == Node("short", "amqp://host/%2F", "http://host:1", 5000, "TMO-*")
    assert Node.parse("plain=amqp://host") == Node("plain", "amqp://host")
    for bad in ("amqp://host", "x=", "x=amqp://host,colour=red", "x=amqp://host,consumer-timeout=soon"):
        with pytest.raises(BadNode, match="NAME=URL"):
            Node.parse(bad)


def test_what_a_run_is_told_of_its_node(tmp_path: Path) -> None:
    node = Node("short", "amqp://host", "http://host:1", 5000, "TMO-*")
    words = MatrixSettings(tmp_path, workers=2).command(node)
    for option, value in (
        ("--broker-admin", "http://host:1"),
        ("--consumer-timeout", "5000"),
        ("--rules", "TMO-*"),
        ("-n", "2"),
    ):
        assert words[words.index(option) + 1] == value
    assert MatrixSettings(tmp_path).command(Node("embedded", ""))[4:6] == ["--format", "json"]
    assert MatrixSettings(tmp_path, rules="ACK-*").of(node) == "ACK-*"
    assert "--consumer-timeout" not in MatrixSettings(tmp_path).command(Node("plain", "amqp://host"))


def test_a_broker_beside_its_imitation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The reference broker in a dialect, and with a bug, stands in for the real one."""
    short = ["--depth", "smoke", "--rules", "TAG-009", "--out", str(tmp_path)]
    with ReferenceBroker(dialect="rabbitmq-3.10", mutants=["tags.large-is-syntax-error"]) as other:
        code = main([*short, f"other={other.url}"])
    printed = capsys.readouterr()
    assert code == 1
    assert "TAG-009 on other: broken, reference broker: held. Not explained: " in printed.out
    assert "1 differences, 1 of them not explained" in printed.out
    assert [row["rule"] for row in json.loads((tmp_path / "compare.json").read_text())] == ["TAG-009"]
    names = {"other", "reference-documented", "reference-rabbitmq-3.10"}
    assert {path.stem for path in tmp_path.glob("*.json")} == names | {"compare", "gates"}
    assert [row["broker"] for row in json.loads((tmp_path / "gates.json").read_text())] == ["other"]
    assert "other: gate closed by 1 with its deviations file" in printed.out
    assert "TAG-009" in (tmp_path / "index.html").read_text()


def test_a_broker_that_cannot_be_reached(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--rules", "TAG-009", "--out", str(tmp_path), "gone=amqp://guest:guest@127.0.0.1:1/%2F"])
    assert code == 4
    assert "gone: the run ended with exit code 3" in capsys.readouterr().err


def test_a_broker_needs_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["amqp://nowhere"])
    assert "NAME=URL" in capsys.readouterr().err
