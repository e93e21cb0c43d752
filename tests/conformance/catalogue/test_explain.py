"""What `list` and `explain` print."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from conformance.catalogue import explain, rules


def test_a_rule_is_explained_with_everything_that_is_known_of_it() -> None:
    rule = rules.get("ACK-010")
    text = explain.explain(rule)
    flat = " ".join(text.split())
    assert text.startswith(f"ACK-010  {rule.title}\nMUST · Settling deliveries · judged\n")
    for part in (rule.clause, rule.open, *rule.known, *rule.mutants, *rule.sources, rule.decided_by):
        assert part in flat


def test_a_planned_rule_says_so_in_its_second_line() -> None:
    rule = replace(rules.get("QOS-006"), status="planned", reason="nobody has looked yet")
    assert explain.explain(rule).splitlines()[1] == "MUST · Prefetch · planned: nobody has looked yet"
    assert "classic queues only" in explain.explain(rule)
    assert "`channel_limit` is `channel`" in " ".join(explain.explain(rule).split())


@pytest.mark.parametrize("rule", rules.CATALOGUE.values(), ids=lambda rule: rule.id)
def test_every_explanation_fits_the_terminal(rule: rules.Rule) -> None:
    text = explain.explain(rule)
    assert max(map(len, text.splitlines())) <= explain.WIDTH
    assert "None" not in text
    assert "\n\n\n" not in text


def test_sections_without_content_are_left_out() -> None:
    text = explain.explain(rules.get("RQ-010"))
    assert "must catch" not in text
    assert "Real brokers" not in text
    assert "not-judgeable: both values are allowed" in text


def test_the_list_marks_what_is_not_judged_and_counts() -> None:
    planned = replace(rules.get("TX-001"), status="planned", reason="later")
    text = explain.listing([*rules.select("ACK-01*,RQ-010"), planned])
    assert "\n  ACK-018   must      Settlements sent before a close take effect\n" in text
    assert "\n  TX-001    must      A wrong acknowledgement fails at once  [planned]\n" in text
    assert text.endswith("\n12 rules: 9 judged, 1 characterised, 1 planned, 1 not judged\n")
    assert text.startswith("ACK · Settling deliveries\n")


def test_the_count_of_a_single_rule() -> None:
    assert explain.tally([rules.get("TAG-001")]) == "1 rule: 1 judged"


def test_the_list_for_programs() -> None:
    rows = json.loads(explain.as_json(rules.CATALOGUE.values()))
    assert len(rows) == len(rules.CATALOGUE)
    for row in rows:
        assert set(row) == {"id", "family", "title", "level", "status", "reason", "applies", "scope", "mutants"}
        assert (row["reason"] is None) == (row["status"] in ("judged", "characterised"))
    assert next(row for row in rows if row["id"] == "TMO-007")["applies"] == [
        "RabbitMQ 4.3 and later",
        "quorum queues only",
        "brokers that offer consumer_cancel_notify",
        "where the profile says that `consumer_timeout` is `queue`",
    ]


def test_one_rule_for_programs() -> None:
    row = json.loads(explain.explain_json(rules.get("ERR-002")))
    assert row["clause"] == rules.get("ERR-002").clause
    assert row["reason"] is None
    assert row["known"] == list(rules.get("ERR-002").known)
