"""What is wrong, a line for each fault: faults before rules, broken before known, and exchanges where there is room."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from codec import methods as m
from conformance.catalogue.profiles import load
from conformance.evidence import states
from reports.html import render
from reports.html.boxes import NOTHING, Group, groups
from reports.html.exchange import case_view
from reports.html.wrongs import LEAST, ROOM, gist, wrongs

NOTE = "A queue forgets: of 100 messages 67 come back. That was seen on 4.3.6. Do so."


def test_broken_rules_come_before_known_deviations(results: dict[str, Any]) -> None:
    found = wrongs(results)
    assert [one.rules for one in found] == [["ACK-010"], ["ACK-004"], ["RQ-003"]]
    assert found[0].aside == "basic.ack 2 multiple was accepted: nothing was refused until the deadline"
    assert found[2].text == "Returned messages go to the tail of the log."


def test_rules_that_break_together_are_one_fault(results: dict[str, Any]) -> None:
    results["faults"] = [
        {
            "rule": "ACK-004",
            "rules": ["ACK-004", "ACK-010"],
            "case": "ACK-004-1",
            "like": ["an ack settles everything", "acks are ignored"],
            "mutants": [],
        }
    ]
    first, *rest = wrongs(results)
    assert first.rules == ["ACK-004", "ACK-010"]
    assert first.text == "As if an ack settles everything, or as if acks are ignored"
    assert [one.rules for one in rest] == [["RQ-003"]]


def test_known_deviations_of_which_the_same_is_written_are_one_fault(results: dict[str, Any]) -> None:
    for rule in results["rules"]:
        if rule["id"] in ("RQ-003", "MODE-001", "TAG-001"):
            rule.update(verdict="deviates", deviation={"note": NOTE if rule["id"] != "TAG-001" else "Otherwise."})
    assert [(one.text, one.rules) for one in wrongs(results)[2:]] == [
        ("Otherwise.", ["TAG-001"]),
        ("A queue forgets: of 100 messages 67 come back.", ["MODE-001", "RQ-003"]),
    ]


def test_a_note_is_told_by_its_first_sentence_and_a_long_one_as_far_as_its_colon() -> None:
    assert gist("It ends with 541. The latter is sure.") == "It ends with 541."
    assert gist("So it is in 3.8.9, and later.") == "So it is in 3.8.9, and later."
    assert gist(f"{'Long ' * 20}it is: of all, none. More.") == f"{'Long ' * 20}it is."


def test_few_faults_have_their_exchange_and_many_have_none(results: dict[str, Any]) -> None:
    assert "waited 5000 ms in vain" in "\n".join(wrongs(results)[0].exchange)
    assert all(len(one.exchange) <= ROOM // 3 for one in wrongs(results))
    shown = next(rule for rule in results["rules"] if rule["id"] == "ACK-010")["cases"]
    for rule in results["rules"][: ROOM // LEAST + 1]:
        rule.update(verdict="broken", cases=shown)
    assert not any(one.exchange for one in wrongs(results))


def test_more_faults_than_fit_are_listed_below(results: dict[str, Any], parse: Callable[[str], Any]) -> None:
    assert "All that is wrong" not in parse(render(results)).text
    for rule in results["rules"][:20]:
        rule.update(verdict="broken", cases=[])
    text = parse(render(results)).text
    assert re.search(r"\b\d+ more below", text)
    assert "All that is wrong" in text


def test_what_is_required_stands_dashed_above_what_was_seen(results: dict[str, Any]) -> None:
    cases = {rule["id"]: rule["cases"][0] for rule in results["rules"] if rule["cases"]}
    for rule, arrow in (("ACK-010", True), ("ACK-004", False)):
        picture = case_view(cases[rule], "b").ladder
        required = re.search(r'<g class="rung required">(.*?)</g>', picture)
        assert required
        assert picture.index("rung required") < picture.index("rung bad")
        assert ('class="head"' in required[1]) is arrow, "an arrow for what comes, a line for what is so"
        assert f"<title>required: {cases[rule]['allowed']}</title>" in required[1]


def test_what_the_model_writes_beside_a_step_can_be_drawn(wire: Any) -> None:
    """The words of `evidence.states` are the words that `boxes` reads."""
    script = wire("h")
    script.begins()
    script.says(">", m.ConfirmSelect(1))
    script.says("<", m.ConfirmSelectOk(1))
    for number in range(1, 9):
        script.carries(">", m.BasicPublish(1, 0, "", "q"), f"m{number}")
    script.says("<", m.BasicAck(1, 7, True))
    for number in (1, 2):
        script.says(">", m.BasicGet(1, 0, "q"))
        script.carries("<", m.BasicGetOk(1, number, False, "", "q", 0), f"m{number}")
    said = list(states(script.events, load("documented")).values())
    assert said[-1] == "m3, m4, m5, m6, m7, m8 in q; c1.1 unacked 1 m1, 2 m2; c1.1 unconfirmed 8"
    assert "m1, m2, m3, m4, m5, m6, +2 in q; c1.1 unconfirmed 8" in said
    assert [group.kind for group in groups(said[-1]) or ()] == ["waiting", "unacked", "unconfirmed"]
    assert all(groups(state) is not None for state in said)


def test_states_that_are_otherwise_stay_words() -> None:
    assert groups(NOTHING) == []
    assert groups("m1, m2, +3 in q1; c1.1 unacked 1 m3") == [
        Group("waiting", "q1", ["m1", "m2", "+3"]),
        Group("unacked", "c1.1", ["1 m3"]),
    ]
    assert groups("3 in q1") == [Group("waiting", "q1", ["×3"])]
    assert groups("something else; 3 in q1") is None
