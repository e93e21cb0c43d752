"""The fold as a whole: plain data, deterministic, one history or many, whole or cut off."""

from __future__ import annotations

import pickle

import pytest

from conformance.catalogue import profiles, rules
from conformance.oracle.monitors import Judge, judge
from conformance.oracle.monitors.table import BY_FACT, BY_METHOD, BY_RULE

HISTORY = """
    @queue q
    @stock q m1 m2 m3
    @hold 1 q m1 m2
    1 > ack 1
    1 > nack 2 requeue
    1 > ack 2
    1 > flow
    1 < flow-ok
    - deadline replies
    @close 1
    @drain q m3
    - deadline drain q
"""


def test_every_judged_rule_has_its_function() -> None:
    judged = {rule.id for rule in rules.CATALOGUE.values() if rule.status == "judged"}
    assert judged - BY_RULE.keys() == set()
    assert BY_RULE.keys() - rules.CATALOGUE.keys() == set()


def test_every_function_is_driven() -> None:
    driven = {function for table in (BY_FACT, BY_METHOD) for functions in table.values() for function in functions}
    assert {function for functions in BY_RULE.values() for function in functions} <= driven


def test_a_judge_can_be_pickled_anywhere_and_goes_on(play) -> None:
    events = play(HISTORY).events
    whole = judge(events, profiles.load("documented"))
    for cut in range(len(events)):
        judging = Judge(profiles.load("documented"))
        for event in events[:cut]:
            judging.step(event)
        judging = pickle.loads(pickle.dumps(judging))
        for event in events[cut:]:
            judging.step(event)
        assert judging.judgement == whole


def test_long_histories_can_be_pickled(play) -> None:
    names = " ".join(f"m{n}" for n in range(3000))
    book = play(f"@queue q \n @stock q {names} \n @hold 1 q {names} \n 1 > ack 0 multiple")
    assert pickle.loads(pickle.dumps(book.judge)).judgement == book.judge.judgement


def test_histories_are_judged_apart(play) -> None:
    events = play(HISTORY).events
    other = [event._replace(history="other") for event in events]
    both = judge([event for pair in zip(events, other, strict=True) for event in pair], profiles.load("documented"))
    once = judge(events, profiles.load("documented"))
    assert both.exercised == once.exercised + once.exercised
    assert [finding.rule for finding in both.findings if finding.history == "other"] == [
        finding.rule for finding in once.findings
    ]


def test_step_returns_the_findings_of_this_event(play) -> None:
    book = play("@queue q \n @stock q m1")
    judging = Judge(profiles.load("documented"))
    assert all(judging.step(event) == [] for event in book.events)
    events = play("@queue q \n @stock q m1 \n @open 1 \n 1 > get q \n 1 < get-ok 7 m1 q").events
    judging = Judge(profiles.load("documented"))
    steps = [judging.step(event) for event in events]
    assert [finding.rule for finding in steps[-1]] == ["TAG-001"]
    assert not any(steps[:-1])


@pytest.mark.parametrize("first", range(0, 40, 3))
def test_a_history_that_begins_in_its_midst(play, first: int) -> None:
    """State is adopted where the past is not known, and nothing follows from what was never seen."""
    book = play("""
        @queue q
        @stock q m1 m2 m3 m4
        @hold 1 q m1 m2 m3
        @consume 1 q c1
        1 < deliver c1 4 m4 q
        1 > ack 1
        1 > ack 3 multiple
        @barrier 1
        1 > nack 4 requeue
        1 < deliver c1 5 m4 q redelivered
        @close 1
        @drain q m4
    """)
    assert book.judge.judgement.findings == []
    tail = [event for event in book.events[first:] if event.kind == "method"]
    assert judge(tail, profiles.load("documented"), complete=False).findings == []


def test_a_history_that_is_cut_off_blames_nobody(play) -> None:
    book = play("@queue q \n @stock q m1 \n @hold 1 q m1 \n 1 > ack 9")
    assert book.judge.end(complete=False) == []
    assert book.judge.owed() != []


def test_a_flood_of_findings_is_cut(play) -> None:
    names = [f"m{n}" for n in range(50)]
    book = play(f"@queue q \n @stock q {' '.join(names)} \n @drain q {' '.join(names)} \n @drain q {' '.join(names)}")
    assert len(book.judge.judgement.findings) == 5
    assert book.exercised["MODE-002"] >= 50
