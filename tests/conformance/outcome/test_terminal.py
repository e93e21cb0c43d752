"""The terminal's page: what comes first, what stands together, what is said once, and that colour changes no word."""

from __future__ import annotations

import re
from dataclasses import replace

from conformance.oracle.verdicts import why_not
from conformance.outcome.ledger import Broker, ExchangeStep, Trouble
from conformance.outcome.results import Case, Gate, Results, RuleResult, Selection
from conformance.outcome.terminal import frames, summary


def step(n: int, *, interest: bool = True) -> ExchangeStep:
    return ExchangeStep(n, ">" if n % 2 else "<", "c1", 1, f"basic.ack {n}", "basic.ack", "00", interest)


def case(rule: str, observed: str, steps: int = 2) -> Case:
    shown = (*map(step, range(1, steps + 1)), step(99, interest=False))
    return Case(
        id=f"{rule}-1",
        rule=rule,
        history="h",
        scene="s",
        queue_type="quorum",
        allowed="silence",
        observed=observed,
        at=1,
        certain=True,
        seen=3,
        reproduced="4 of 5",
        deviation=None,
        steps=shown,
        rerun=f"again --rules {rule}",
    )


def rule(name: str, verdict: str, level: str, *cases: Case) -> RuleResult:
    return RuleResult(
        id=name,
        family=name[:3],
        title=f"Title of {name}",
        level=level,
        source="s",
        clause="A clause.",
        status="planned" if name.startswith("CNF") else "judged",
        verdict=verdict,
        exercised=5,
        needed=1,
        selected=True,
        reason=None,
        deviation=None,
        reports={},
        cases=cases,
    )


def results(*rules: RuleResult, gate: Gate | None = None) -> Results:
    totals = {verdict: sum(one.verdict == verdict for one in rules) for verdict in {one.verdict for one in rules}}
    return Results(
        suite="1",
        started="2026-01-01T00:00:00Z",
        seconds=2.0,
        command="c",
        run="r",
        seed=4,
        depth="ci",
        complete=True,
        broker=Broker("Test 1", "amqp://h", "Test", "1", {}, {}, ()),
        profile="documented",
        queue_types=("classic",),
        selection=Selection("may", "*", False),
        rules=rules,
        gate=gate or Gate(True, (), ()),
        totals=totals,
        histories=1,
        events=2,
    )


WRONG = results(
    rule("ACK-001", "held", "must"),
    rule("ACK-004", "broken", "should", case("ACK-004", "silence")),
    rule("ACK-002", "broken", "must", case("ACK-002", "m1 came back")),
    rule("ERR-001", "inconclusive", "must", case("ERR-001", "m1 came late")),
    rule("ACK-003", "broken", "must", case("ACK-003", "m22 came back")),
    rule("CNF-001", "planned", "must"),
    gate=Gate(
        False,
        ("ACK-002 (MUST) is broken: Title of ACK-002", "ACK-003 (MUST) is broken: Title", "and more"),
        ("take care",),
        ("To accept what is broken as known: type this",),
    ),
)


def test_worst_comes_first_and_what_breaks_alike_stands_together() -> None:
    said = summary(WRONG)
    assert re.findall(r"^BROKEN  (\S+)", said, re.MULTILINE) == ["ACK-002", "ACK-003", "ACK-004"]
    doubtful = "INCONCLUSIVE  1 rule: a lawful order of events also explains what was seen\n    ERR-001"
    assert said.index("BROKEN  ACK-004") < said.index(doubtful)
    assert "2 rules break in the same way: ACK-002, ACK-003" in said


def test_a_failure_has_clause_allowed_observed_exchange_and_a_way_to_run_it_again() -> None:
    block = summary(WRONG, verbose=True).partition("BROKEN  ACK-002")[2].partition("\nBROKEN")[0]
    for words in ("A clause.", "quorum queue, 4 of 5, 3 times", "silence", "m1 came back", "again --rules ACK-002"):
        assert words in block
    assert re.search(r"frames +c1\.1 +→ +basic\.ack 1\n +c1\.1 +← basic\.ack 2\n", block)
    assert "99" not in block


def test_what_is_not_judged_is_said() -> None:
    said = summary(WRONG)
    assert "5 rules judged: 1 held, 3 broken, 1 inconclusive" in said
    assert "1 planned, not judged yet" in said
    assert "1 history, 2 events" in said


def test_headline_and_counts_are_of_the_same_rules() -> None:
    """What only describes a broker counts in both, and what it does not offer in neither."""
    tells = replace(rule("TAG-004", "held", "observed"), status="characterised")
    known = {"note": "A race.", "evidence": "issue 1"}
    races = [replace(rule(name, "unseen", "must"), deviation=known) for name in ("ERR-008", "GET-002")]
    absent = [rule("SAC-001", "not-offered", "must"), rule("SAC-002", "not-offered", "must")]
    said = summary(results(rule("ACK-001", "held", "must"), tells, *races, *absent))
    assert "It keeps 2 of 4 rules judged; 2 known races not seen." in said
    assert "4 rules judged: 2 held, 2 unseen; also 2 not offered" in said
    assert "keeps all 2 rules judged." in summary(results(rule("ACK-001", "held", "must"), tells, *absent))


def test_doubts_for_one_reason_stand_together_whatever_word_was_given() -> None:
    words = "broker with clients you did not capture"
    doubts = [("ACK-001", f"1 history shares its {words}"), ("ACK-002", f"3 histories share their {words}")]
    for hint in ("(--whole if that is not so)", "(--whole ends where a connection is not seen)"):
        doubtful = [replace(rule(name, "inconclusive", "must"), reason=f"{why} {hint}") for name, why in doubts]
        said = " ".join(summary(replace(results(*doubtful), depth="capture")).split())
        assert f"INCONCLUSIVE 2 rules: shares its {words} {hint} ACK-001, ACK-002" in said


def test_a_planned_rule_that_is_seen_broken_stands_last_and_does_not_count() -> None:
    early = rule("CNF-002", "broken", "must", case("CNF-002", "m1 came back"))
    said = summary(replace(WRONG, rules=(early, *WRONG.rules)))
    assert re.findall(r"^BROKEN  (\S+)", said, re.MULTILINE)[-1] == "CNF-002"
    assert "(planned: does not count yet)" in said
    assert "5 rules judged: 1 held, 3 broken, 1 inconclusive" in said
    assert "2 planned, not judged yet" in said


def test_the_verdict_comes_first_in_words_and_what_to_do_last_and_once() -> None:
    said = summary(WRONG)
    assert said.startswith(
        "GATE CLOSED  Test 1 at amqp://h (profile documented)\n"
        "  It breaks 3 of 5 rules judged, among them “Title of ACK-002”.\n"
    )
    assert said.index("warning: take care") < said.index("What closes the gate") < said.index("· 2 rules are broken: ")
    assert said.count("GATE CLOSED") == 1
    assert said.endswith(
        "  · and more\n  → --verbose shows the exchanges; ACK-002 again: again --rules ACK-002\n"
        "  → To accept what is broken as known: type this\n"
    )
    held = summary(results(rule("ACK-001", "held", "must")))
    assert held.startswith("GATE OPEN  Test 1")
    assert "What closes the gate" not in held


def test_a_rule_is_one_line_and_the_rest_is_for_who_asks() -> None:
    brief, long = summary(WRONG), summary(WRONG, verbose=True)
    assert "A clause." not in brief
    assert "frames" not in brief
    assert long.count("A clause.") == 4
    assert "--verbose" not in long


def test_traffic_that_nobody_provoked_opens_no_gate() -> None:
    doubt = replace(rule("ERR-001", "inconclusive", "must"), reason=why_not({"open world": 2}))
    alike = replace(rule("ERR-002", "inconclusive", "must"), reason=why_not({"open world": 1}))
    seen = results(
        rule("ACK-001", "held", "must"),
        doubt,
        alike,
        rule("ACK-002", "under-tested", "must"),
        gate=Gate(True, (), ("UNDER-TESTED: much", "take care")),
    )
    said = summary(replace(seen, depth="capture"))
    assert "GATE" not in said
    assert "UNDER-TESTED" not in said
    assert said.startswith("NOTHING BROKEN  Test 1 at amqp://h (profile documented)\n  1 of 4 rules could be judged.\n")
    words = "INCONCLUSIVE  2 rules: shares its broker with clients you did not capture (--whole if that is not so)"
    assert f"{words} ERR-001, ERR-002" in " ".join(said.split()).replace("INCONCLUSIVE ", "INCONCLUSIVE  ")


def test_trouble_is_told() -> None:
    said = summary(replace(WRONG, troubles=(Trouble("a scene", "classic", "harness", "KeyError: 'x'"),)))
    assert re.search(r"harness  a scene on classic queues\n  KeyError: 'x'", said)


def test_what_happened_to_many_checks_is_told_once() -> None:
    lost = [Trouble(f"check{number}", "classic", "lost", "It is gone.") for number in range(140)]
    results = replace(WRONG, troubles=(*lost, Trouble("other", "classic", "harness", "KeyError")))
    said = " ".join(summary(results).split())
    assert "lost check0 on classic queues; check1 on classic queues; check2 on classic queues; and 137 more" in said
    assert (said.count("It is gone."), said.count("KeyError")) == (1, 1)
    told = " ".join(summary(results, verbose=True).split())
    assert all(f"{one.scene} on classic queues" in told for one in lost)


def test_colour_changes_no_word() -> None:
    painted = summary(WRONG, color=True)
    assert "\x1b[1;31mBROKEN\x1b[0m" in painted
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == summary(WRONG)


def test_lines_keep_to_the_width() -> None:
    for width in (50, 70, 96, 110):
        assert max(map(len, summary(WRONG, width=width).splitlines())) <= width


def test_a_long_exchange_is_cut_and_says_so() -> None:
    lines = frames([step(n) for n in range(1, 31)])
    assert len(lines) == 25
    assert lines[-2].strip() == "... and 6 more, then"
    assert lines[-1].endswith("basic.ack 30")


def test_a_run_of_like_frames_is_one_line() -> None:
    run = [ExchangeStep(n, ">", "c1", 1, f"basic.ack {n}", "basic.ack", "00", True, 40 + n) for n in range(34, 91)]
    assert frames(run) == ["  c1.1   →  basic.ack 34..90, 57 frames"]


def test_the_failing_step_is_marked_and_shown_even_where_it_is_of_no_interest() -> None:
    quiet = ExchangeStep(3, "<", "c1", 1, "basic.cancel-ok c1", "basic.cancel-ok", "00", False, 43)
    lines = frames([replace(step(1), seq=41), replace(step(2), seq=42), quiet], at=43)
    assert [line[0] for line in lines] == [" ", " ", "✕"]
    assert "basic.cancel-ok c1" in lines[-1]


def test_what_breaks_a_rule_that_no_source_asks_for_looks_different_and_stands_behind_what_does() -> None:
    aside = rule("ACK-005", "broken", "observed", case("ACK-005", "m1 came back"))
    said = summary(replace(WRONG, rules=(aside, *WRONG.rules)))
    assert "BROKEN  ACK-005" not in said
    assert "unusual  ACK-005  Title of ACK-005  [OBSERVED]  (no source demands it: does not close the gate)" in said
    assert said.index("BROKEN  ACK-004") < said.index("unusual  ACK-005")
    assert "2 rules break in the same way: ACK-002, ACK-003" in said
    assert "6 rules judged: 1 held, 3 broken, 1 inconclusive, 1 unusual" in said


def test_a_race_that_was_not_seen_has_its_own_word() -> None:
    known = {"note": "A race.", "evidence": "issue 1"}
    race = replace(rule("ERR-008", "unseen", "must"), deviation=known, reason="this run did not see it")
    said = summary(results(race))
    assert "UNSEEN  ERR-008" in said
    assert "this run did not see it: A race. (issue 1)" in summary(results(race), verbose=True)
    assert "1 rule judged: 1 unseen" in said
