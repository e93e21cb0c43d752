"""Warnings that a run was weak: no management API, a clock that was set, rules that were hardly exercised."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.catalogue.rules import CATALOGUE
from conformance.oracle.verdicts import Verdict
from conformance.outcome.results import RuleResult
from conformance.outcome.weak import warnings
from conformance.session.ticket import Clocks


def judged(name: str, verdict: str = "held") -> RuleResult:
    rule = CATALOGUE[name]
    return RuleResult(
        id=rule.id,
        family=rule.family,
        title=rule.title,
        level=rule.level,
        source=rule.source,
        clause=rule.clause,
        status=rule.status,
        verdict=verdict,
        exercised=1,
        needed=1,
        selected=True,
        reason=None,
        deviation=None,
        reports={},
        cases=(),
    )


def test_without_a_management_api_the_policy_level_is_untested() -> None:
    (said,) = warnings([judged("TMO-003"), judged("ACK-010")], admin=False, step=0.0)
    assert said.startswith("policy level untested")
    assert "TMO-003" in said
    assert "--broker-admin" in said


@pytest.mark.parametrize(
    "rule",
    [
        judged("TMO-003", "not-offered"),
        judged("ACK-010"),
        replace(judged("TMO-003"), selected=False),
    ],
)
def test_who_has_no_timeouts_or_was_not_asked_needs_no_policy(rule: RuleResult) -> None:
    assert warnings([rule], admin=False, step=0.0) == []


def test_of_a_run_that_was_interrupted_no_greater_depth_is_asked() -> None:
    little = replace(judged("ACK-009"), verdict=str(Verdict.UNDER_TESTED), level="should")
    (said,) = warnings([little], admin=True, step=0.0)
    assert "A greater --depth exercises more" in said
    assert warnings([little], admin=True, step=0.0, complete=False) == []


def test_a_strong_run_has_no_warnings() -> None:
    assert warnings([judged("TMO-003"), judged("ACK-010")], admin=True, step=0.01) == []


def test_a_clock_that_was_set_makes_times_doubtful() -> None:
    step = Clocks(100.0, 10.0).step(Clocks(98.0, 14.0))
    assert step == -6.0
    (said,) = warnings([], admin=True, step=step)
    assert "clock skew" in said
    assert "-6.0 s" in said


def test_rules_that_were_hardly_exercised_are_named() -> None:
    may = [name for name, rule in CATALOGUE.items() if rule.judged and rule.level != "must"][:10]
    (said,) = warnings([judged(name, "under-tested") for name in may], admin=True, step=0.0)
    assert said.startswith(f"under-tested: {', '.join(may[:8])} and 2 more")


def test_rules_that_need_a_short_timeout_of_the_node_are_named_with_what_to_do() -> None:
    rule = replace(judged("TMO-024", "under-tested"), reason="needs a short timeout of the node: ...")
    (said,) = warnings([rule, judged("ACK-010")], admin=True, step=0.0)
    assert said.startswith("TMO-024: needs a short timeout of the node")
    assert "consumer_timeout = 5000" in said
    assert "--consumer-timeout 5000" in said
