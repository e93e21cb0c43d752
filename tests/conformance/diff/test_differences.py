"""What two runs disagree on: each kind of change, in sentences, and nothing that is only luck counts."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import conformance
from conformance.cli import main
from conformance.diff.differences import KINDS, Comparison, VerdictChange, compare
from conformance.outcome.results import RuleResult, to_json
from tests.support.runs import case, results, rule

SCHEMA = json.loads((Path(conformance.__file__).parent / "schemas" / "diff.json").read_text(encoding="utf-8"))
OLD, NEW = "Broker 1", "Broker 2"


def between(before: list[RuleResult], after: list[RuleResult]) -> Comparison:
    return compare(results(OLD, before), results(NEW, after))


def change(before: RuleResult, after: RuleResult) -> VerdictChange:
    (only,) = between([before], [after]).changes
    return only


BROKEN = rule("ACK-002", "broken", case("ACK-002", "tag 3 stays in amqpconf.r.main.7"))
RACE = {"reason": "stays", "note": "A race.", "evidence": "docs/findings.md", "owner": "o"}
DEVIATES = rule("ACK-002", "deviates", case("ACK-002", "tag 3 stays", deviation=0), deviation=RACE)


@pytest.mark.parametrize(
    ("before", "after", "kind", "said"),
    [
        (rule("ACK-002"), BROKEN, "broken", "Broker 2 breaks it on classic queues: tag 3 stays in q1."),
        (rule("ACK-002"), DEVIATES, "broken", "A race. (docs/findings.md)"),
        (BROKEN, rule("ACK-002"), "fixed", "Broker 2 keeps this rule (exercised 5 times)."),
        (BROKEN, rule("ACK-002", "broken", case("ACK-002", "the channel ends")), "changed reason", "the channel ends"),
        (rule("ACK-002", "not-offered", reason="no acks"), BROKEN, "new rule", "does not apply to Broker 1: no acks."),
        (rule("ACK-002"), rule("ACK-002", "not-offered", reason="no acks"), "no longer offered", "any more: no acks."),
        (rule("ACK-002", "not-offered"), rule("ACK-002"), "now offered", "Broker 2 offers what this rule is about"),
        (
            rule("ACK-002"),
            rule("ACK-002", "under-tested", reason="exercised 0 times"),
            "unclear",
            "The run on Broker 2 says nothing about it: under-tested (exercised 0 times).",
        ),
        (BROKEN, rule("ACK-002", "inconclusive"), "unclear", "Broker 1 breaks it"),
        (
            rule("TAG-004", reports={"a": 2}),
            rule("TAG-004", reports={"a": 9, "b": 1}),
            "seen otherwise",
            "Only Broker 2 was seen to do this: b (once).",
        ),
    ],
)
def test_each_kind_of_change_is_told(before: RuleResult, after: RuleResult, kind: str, said: str) -> None:
    found = change(before, after)
    assert found.kind == kind
    assert found.kind in KINDS
    assert said in " ".join(found.sentences), found.sentences


def test_a_rule_that_one_run_alone_judged_is_new_or_gone() -> None:
    both, more = [rule("ACK-001")], [rule("ACK-001"), rule("ACK-002")]
    assert [one.kind for one in between(both, more).changes] == ["new rule"]
    assert [one.kind for one in between(more, both).changes] == ["gone rule"]
    assert between(more, [rule("ACK-001"), rule("ACK-002", selected=False)]).changes[0].kind == "gone rule"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (rule("ACK-002"), rule("ACK-002", exercised=99)),
        (BROKEN, rule("ACK-002", "broken", case("ACK-002", "tag 12 stays in amqpconf.x.9"))),
        (rule("ACK-002", "broken", case("ACK-002", "tag 9 stays")), DEVIATES),
        (DEVIATES, rule("ACK-002", "unseen", deviation=RACE, reason="unseen")),
        (rule("ACK-002"), rule("ACK-002", "unseen", deviation=RACE, reason="unseen")),
        (DEVIATES, rule("ACK-002", "deviates", case("ACK-002", "m1 stays too"), deviation=RACE)),
        (rule("ERR-011", "not-judgeable"), rule("ERR-011", "not-judgeable")),
    ],
)
def test_numbers_luck_and_excuses_are_no_change(before: RuleResult, after: RuleResult) -> None:
    found = between([before], [after])
    assert found.same
    assert found.changes == ()
    assert found.unchanged == 1
    assert found.headline == "From Broker 1 to Broker 2: no rule changes."


def test_what_is_unclear_or_seen_otherwise_is_told_and_is_no_difference() -> None:
    found = between(
        [rule("ACK-002"), rule("TAG-004", reports={"a": 1})],
        [rule("ACK-002", "under-tested"), rule("TAG-004", reports={"b": 1})],
    )
    assert len(found.changes) == 2
    assert found.same


def test_a_race_that_was_not_seen_is_told_as_such() -> None:
    mended = change(BROKEN, rule("ACK-002", "unseen", deviation=RACE, reason="unseen"))
    assert mended.kind == "unclear", "that it was not seen does not show that it was mended"
    assert "Broker 2 is known to break it now and then; this run did not see it." in mended.sentences


def test_the_exchange_comes_along_under_names_that_are_read_easily() -> None:
    (shown,) = change(rule("ACK-002"), BROKEN).shown
    assert shown["broker"] == "Broker 2"
    assert shown["observed"] == "tag 3 stays in q1"
    assert shown["steps"][0]["text"] == "basic.publish m1 to q2"


def test_readings_that_differ_stand_with_the_rules_that_they_bring() -> None:
    by_choice = {"reason": "by the profile"}
    found = compare(
        results("RabbitMQ 3.10.8", [rule("QOS-006"), rule("QOS-009", "not-offered", **by_choice)], "rabbitmq-3.10"),
        results("RabbitMQ 4.3.6", [rule("QOS-006", "not-offered", **by_choice), rule("QOS-009")], "rabbitmq-4.3"),
    )
    assert found.changes == ()
    limit = next(choice for choice in found.choices if choice.name == "channel_limit")
    assert limit.question == "What does basic.qos with global set limit?"
    assert (limit.rules_before, limit.rules_after) == (("QOS-006",), ("QOS-009",))
    order = next(choice for choice in found.choices if choice.name == "requeue_order")
    assert order.queue_type == "quorum"
    assert not found.same


def test_a_rule_that_came_by_a_reading_and_is_contradicted_is_told_by_itself() -> None:
    found = compare(
        results("RabbitMQ 3.10.8", [rule("QOS-009", "not-offered")], "rabbitmq-3.10"),
        results("RabbitMQ 4.3.6", [rule("QOS-009", "broken", case("QOS-009", "a lot"))], "rabbitmq-4.3"),
    )
    (only,) = found.changes
    assert only.kind == "new rule"
    assert "What does basic.qos with global set limit? All consumers of the channel together." in only.sentences[-1]


def test_two_runs_of_one_broker_are_told_apart() -> None:
    found = compare(results(OLD, [], run="a"), results(OLD, [], run="b"))
    assert (found.before["name"], found.after["name"]) == ("Broker 1 (run a)", "Broker 1 (run b)")


@pytest.mark.parametrize(
    ("given", "warned"),
    [
        ({"complete": False}, "was interrupted"),
        ({"depth": "deep"}, "smoke and deep"),
        ({"seed": 4}, "0 and 4"),
        ({"profile": "mine"}, "does not know the profile"),
    ],
)
def test_what_makes_a_comparison_weak_is_said(given: dict[str, object], warned: str) -> None:
    assert warned in " ".join(compare(results(OLD, []), results(NEW, [], **given)).warnings)


@pytest.mark.parametrize(("after", "code"), [(rule("ACK-002"), 0), (BROKEN, 1)])
def test_the_verb_prints_every_format_and_its_code_says_whether_they_differ(
    after: RuleResult,
    code: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "a.json").write_text(to_json(results(OLD, [rule("ACK-002")])))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "results.json").write_text(to_json(results(NEW, [after])))
    words = ["diff", str(tmp_path / "a.json"), str(tmp_path / "b")]
    for form, sign in (("text", "Broker 2"), ("markdown", "# Broker 1 to Broker 2"), ("html", "<!doctype html>")):
        assert main([*words, "--format", form]) == code
        assert sign in capsys.readouterr().out
    assert main([*words, "--format", "json", "--out", str(tmp_path / "deep" / "diff.json")]) == code
    assert capsys.readouterr().out == ""
    document = json.loads((tmp_path / "deep" / "diff.json").read_text())
    jsonschema.validate(document, SCHEMA)
    assert document["same"] is (code == 0)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot be read: No such file"),
        (b"{", "not JSON"),
        (b"\xff", "not text"),
        (b"[]", "'list'"),
        (b'{"schema": "other/1"}', "'other/1'"),
        (b'{"schema": "amqp-conformance/results/1"}', "does not follow"),
    ],
)
def test_what_is_no_results_document_is_refused(
    content: bytes | None,
    why: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(to_json(results(OLD, [])))
    if content is not None:
        bad.write_bytes(content)
    for words in ((good, bad), (bad, good)):
        assert main(["diff", *map(str, words)]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert "bad.json" in said
        assert why in said


def test_an_out_that_cannot_be_written_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = tmp_path / "good.json"
    good.write_text(to_json(results(OLD, [])))
    assert main(["diff", str(good), str(good), "--out", "/dev/null/x"]) == 2
    assert "--out /dev/null/x cannot be written" in capsys.readouterr().err
