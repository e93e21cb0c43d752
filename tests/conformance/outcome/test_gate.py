"""The gate: what closes it, what does not, and that each message says what to type."""

from __future__ import annotations

import datetime
from dataclasses import replace

import pytest

from conformance.catalogue import deviations
from conformance.catalogue.deviations import Deviation
from conformance.outcome import gate
from conformance.outcome.gate import Known
from conformance.outcome.results import Case, Gate, RuleResult

TODAY = datetime.date(2026, 11, 21)
EXERCISED = {"classic": {"ACK-002": 5, "ACK-013": 5}, "quorum": {"ACK-002": 5}}


def rule(verdict: str, name: str = "ACK-002", level: str = "must", *cases: Case) -> RuleResult:
    return RuleResult(
        id=name,
        family=name[:3],
        title="A title",
        level=level,
        source="s",
        clause="c",
        status="judged",
        verdict=verdict,
        exercised=5,
        needed=1,
        selected=True,
        reason=None,
        deviation=None,
        reports={},
        cases=cases,
    )


def case(
    observed: str = "tag 3 stays",
    deviation: int | None = None,
    queue_type: str = "classic",
    times: int = 1,
) -> Case:
    return Case(
        id="ACK-002-1",
        rule="ACK-002",
        history="h",
        scene="s",
        queue_type=queue_type,
        allowed="a",
        observed=observed,
        at=1,
        certain=True,
        seen=1,
        reproduced="witnessed",
        deviation=deviation,
        steps=(),
        rerun="again",
        times=times,
    )


def deviation(reason: str = "stays", **given: object) -> Deviation:
    base = Deviation("ACK-002", reason, "note", "issue 1", "me", None, ("classic", "quorum"))
    return replace(base, **given)  # type: ignore[arg-type]


def decide(*rules: RuleResult, known: tuple[Deviation, ...] = (), **given: object) -> Gate:
    return gate.decide(
        rules,
        Known(known, "known.toml", TODAY),
        EXERCISED,
        **given,  # type: ignore[arg-type]
    )


def only_reason(decision: Gate) -> str:
    assert not decision.open
    assert len(decision.reasons) == 1, decision.reasons
    return decision.reasons[0]


HELD = rule("held", "ACK-001")


def test_held_rules_open_it() -> None:
    assert decide(HELD) == Gate(True, (), ())


@pytest.mark.parametrize(
    ("level", "strict", "is_open"),
    [
        ("must", False, False),
        ("must", True, False),
        ("should", False, True),
        ("should", True, False),
        ("may", True, True),
        ("observed", True, True),
    ],
)
def test_a_broken_rule_closes_it_by_its_level(level: str, strict: bool, is_open: bool) -> None:
    assert decide(HELD, rule("broken", "ACK-002", level, case()), strict=strict).open is is_open


def test_how_to_accept_what_is_broken_is_said_once() -> None:
    broken = [rule("broken", name, "must", case("tag 3 of q.7 stays (really)")) for name in ("ACK-002", "ACK-003")]
    decided = decide(*broken)
    assert [reason.partition(":")[0] for reason in decided.reasons] == [
        "ACK-002 (MUST) is broken",
        "ACK-003 (MUST) is broken",
    ]
    assert decided.advice == (
        "To accept what is broken as known: amqp-conformance baseline results.json --deviations known.toml",
    )
    assert decide(rule("held", "ACK-002", "must")).advice == ()


def test_the_pattern_that_is_made_of_what_was_observed_covers_it() -> None:
    observed = "tag 3 of q.7 stays (really), it's 'there'"
    pattern = gate.pattern(observed)
    entry = deviation(pattern)
    assert entry.covers(observed, "classic")
    assert entry.covers(observed.replace("3", "12").replace("q.7", "q.9"), "classic")
    assert not gate.over_broad(pattern)


def test_an_interrupted_run_says_nothing_of_stale_deviations() -> None:
    held, known = rule("held", "ACK-002", "must"), (deviation(),)
    assert any("is stale" in reason for reason in decide(held, known=known).reasons)
    cut_short = decide(held, known=known, complete=False)
    assert [reason.partition(";")[0] for reason in cut_short.reasons] == ["the run was interrupted"]
    assert cut_short.advice == ()


def test_a_deviation_that_covers_the_observation_opens_it() -> None:
    assert decide(rule("deviates", "ACK-002", "must", case(deviation=0)), known=(deviation(),)).open


@pytest.mark.parametrize("verdict", ["under-tested", "inconclusive"])
def test_doubt_leaves_it_open_but_is_said(verdict: str) -> None:
    decision = decide(HELD, rule(verdict))
    assert decision.open
    assert "ACK-002" in decision.warnings[0]


def test_an_under_tested_must_is_said_loudly_and_a_may_is_not() -> None:
    assert "UNDER-TESTED" in decide(HELD, rule("under-tested")).warnings[0]
    assert decide(HELD, rule("under-tested", level="may")).warnings == ()


@pytest.mark.parametrize(
    ("bare", "least", "is_open"),
    [
        (0, 100, True),
        (1, 75, True),
        (1, 76, False),
        (3, 0, True),
        (3, 25, True),
        (3, 26, False),
    ],
)
def test_a_gate_that_could_not_exercise_its_musts_is_closed(bare: int, least: int, is_open: bool) -> None:
    rules = [rule("under-tested" if place < bare else "held", f"ACK-00{place + 1}") for place in range(4)]
    beside = [rule("not-offered", "ACK-009"), rule("under-tested", "ACK-010", "should")]
    decision = decide(*rules, *beside, min_coverage=least)
    assert decision.open is is_open
    if not is_open:
        assert f"only {4 - bare} of 4 MUST rules" in only_reason(decision)
        assert "ACK-001" in only_reason(decision)


def test_a_stale_entry_closes_it() -> None:
    reason = only_reason(decide(rule("held"), known=(deviation(),)))
    assert "stale" in reason
    assert "Delete the entry" in reason
    assert "known.toml" in reason


def test_an_entry_is_not_stale_where_its_circumstances_never_arose() -> None:
    known = (deviation(), deviation())
    assert only_reason(decide(rule("held"), known=known, unmet=[1])).startswith("deviation 1 ")
    decision = decide(rule("broken", "ACK-002", "must", case("tag 3 vanished")), known=known, unmet=[0, 1])
    assert any("drifted" in reason for reason in decision.reasons)


def test_an_entry_of_a_race_is_never_stale_and_may_yet_drift() -> None:
    entry = deviation(intermittent=True)
    assert decide(rule("held"), known=(entry,)).open
    decision = decide(rule("broken", "ACK-002", "must", case("tag 3 vanished")), known=(entry,))
    assert any("drifted" in reason for reason in decision.reasons)


@pytest.mark.parametrize(
    ("seen", "could", "is_open"),
    [
        (1, 100, True),
        (4, 100, True),
        (9, 100, False),
        (100, 100, False),
        (9, 900, True),
        (2, 2, True),
        (4, 4, False),
    ],
)
def test_a_race_that_shows_more_often_than_it_can_by_chance_closes_it(seen: int, could: int, is_open: bool) -> None:
    race = deviation(intermittent=True, where="closes-cross", at_most=0.01)
    found = rule("deviates", "ACK-002", "must", case(deviation=0, times=seen))
    decision = decide(found, known=(race,), met={"classic": {"closes-cross": could}, "other": {"closes-cross": 9999}})
    assert decision.open is is_open
    if not is_open:
        assert f"{seen} of {could} times with closes-cross, and a share of 0.01" in only_reason(decision)
    assert decide(found, known=(replace(race, at_most=None),), met={}).open


def test_chance_is_that_of_so_many_or_more() -> None:
    assert gate.chance(0, 10, 0.1) == 1
    assert gate.chance(1, 2, 0.5) == pytest.approx(0.75)
    assert gate.chance(3, 3, 0.1) == pytest.approx(0.001)
    assert gate.chance(5, 10_000, 0.001) == pytest.approx(0.971, abs=0.001)


def test_an_entry_that_was_measured_on_another_version_closes_nothing_by_itself() -> None:
    entry = deviation(measured=False)
    assert decide(rule("held"), known=(entry,)).open
    same = deviations.excuse((entry,), "ACK-002", "m1 stays", "classic")
    assert same == 0, "what happens there all the same is excused"
    drifted = decide(rule("broken", "ACK-002", "must", case("tag 3 vanished")), known=(entry,))
    assert not drifted.open
    assert "is broken" in only_reason(drifted), "broken in another way is broken"


def test_no_run_is_said_to_have_met_a_race_that_nobody_saw_on_its_version() -> None:
    race = deviation(intermittent=True)
    assert Known((race,)).race("ACK-002", ("classic",)) is race
    assert Known((replace(race, measured=False),)).race("ACK-002", ("classic",)) is None


def test_an_entry_is_not_stale_where_its_queue_type_was_not_exercised() -> None:
    entry = deviation(rule="ACK-013", queue_types=("quorum",))
    assert decide(rule("held", "ACK-013"), known=(entry,)).open


def test_an_entry_is_stale_for_its_own_queue_type_though_the_other_deviates() -> None:
    entries = (deviation(queue_types=("classic",)), deviation(queue_types=("quorum",)))
    found = rule("deviates", "ACK-002", "must", case(deviation=0))
    assert "deviation 2" in only_reason(decide(found, known=entries))


def test_an_entry_of_a_rule_that_was_not_selected_is_not_judged() -> None:
    assert decide(HELD, replace(rule("held"), selected=False), known=(deviation(),)).open


@pytest.mark.parametrize("verdict", ["under-tested", "not-offered", "harness-error"])
def test_an_entry_is_not_stale_where_nothing_is_known(verdict: str) -> None:
    assert not any("stale" in reason for reason in decide(HELD, rule(verdict), known=(deviation(),)).reasons)


def test_a_drifted_entry_closes_it_and_shows_what_is_seen_now() -> None:
    decision = decide(rule("broken", "ACK-002", "must", case("tag 3 vanished")), known=(deviation("stays"),))
    assert len(decision.reasons) == 2
    assert "drifted" in decision.reasons[1]
    assert "tag 3 vanished" in decision.reasons[1]


def test_an_expired_entry_closes_it_although_it_covers() -> None:
    entry = deviation(expires=TODAY - datetime.timedelta(days=1))
    reason = only_reason(decide(rule("deviates", "ACK-002", "must", case(deviation=0)), known=(entry,)))
    assert "expired on 2026-11-20" in reason
    assert decide(rule("deviates", "ACK-002", "must", case(deviation=0)), known=(deviation(expires=TODAY),)).open


@pytest.mark.parametrize("pattern", [".", ".+", "^.", r"[\s\S]", "[^~]*."])
def test_an_over_broad_entry_closes_it(pattern: str) -> None:
    reason = only_reason(decide(rule("deviates", "ACK-002", "must", case(deviation=0)), known=(deviation(pattern),)))
    assert "fits anything" in reason


def test_a_specific_pattern_is_not_over_broad() -> None:
    assert not gate.over_broad("tag .* stays")


def test_our_own_faults_and_lost_connections_close_it() -> None:
    assert "harness" in only_reason(decide(HELD, troubles=["scene[classic]"]))
    assert "scene[classic]" in only_reason(decide(HELD, lost=["scene[classic]"]))


def test_an_interrupted_run_closes_it() -> None:
    assert "interrupted" in only_reason(decide(HELD, complete=False))


def test_silence_is_no_pass() -> None:
    assert "nothing was judged" in only_reason(decide(rule("under-tested"), rule("planned", "CNF-001")))


def test_a_rule_broken_outside_the_selection_is_said_and_does_not_close() -> None:
    decision = decide(HELD, replace(rule("broken", "ACK-002", "must", case()), selected=False))
    assert decision.open
    assert "ACK-002" in decision.warnings[0]


def test_a_planned_rule_that_is_seen_broken_is_said_and_does_not_close() -> None:
    early = replace(rule("broken", "CNF-001", "must", case()), status="planned")
    decision = decide(HELD, early)
    assert decision.open
    assert "CNF-001" in decision.warnings[0]
    assert "planned" in decision.warnings[0]


def test_an_excuse_names_the_first_entry_that_covers() -> None:
    entries = (deviation("vanished"), deviation("stays", queue_types=("quorum",)), deviation("stays"))
    assert deviations.excuse(entries, "ACK-002", "tag 3 stays", "classic") == 2
    assert deviations.excuse(entries, "ACK-002", "tag 3 stays", "quorum") == 1
    assert deviations.excuse(entries, "ACK-001", "tag 3 stays", "classic") is None
