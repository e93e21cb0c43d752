"""Results made by hand: runs that say just what a test needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from conformance.catalogue import rules
from conformance.outcome.ledger import Broker, ExchangeStep
from conformance.outcome.results import Case, Gate, Results, RuleResult, Selection

STEPS = (
    ExchangeStep(1, ">", "c1", 1, "basic.publish m1 to amqpconf.r.1", "basic.publish", "", True, 1),
    ExchangeStep(2, "<", "c1", 1, "basic.get-ok 1 m1 redelivered", "basic.get-ok", "", True, 2, "c1.1 unacked 1"),
)


def case(rule: str, observed: str, queue_type: str = "classic", **given: Any) -> Case:
    made = Case(
        f"{rule}-1",
        rule,
        "h",
        "scene",
        queue_type,
        "something else",
        observed,
        2,
        True,
        1,
        "3 of 3",
        None,
        STEPS,
        "again",
    )
    return replace(made, **given)


def rule(name: str, verdict: str = "held", *cases: Case, **given: Any) -> RuleResult:
    known = rules.get(name)
    made = RuleResult(
        name,
        known.family,
        known.title,
        known.level,
        known.source,
        known.clause,
        known.status,
        verdict,
        5,
        1,
        True,
        None,
        None,
        {},
        cases,
    )
    return replace(made, **given)


def results(name: str, judged: Sequence[RuleResult], profile: str = "documented", **given: Any) -> Results:
    broker = Broker(name, f"amqp://{name}", name.split()[0], name.split()[-1], {}, {}, ())
    made = Results(
        "0.1.0",
        "2026-11-21T10:00:00Z",
        1.0,
        "amqp-conformance run",
        "r",
        0,
        "smoke",
        True,
        broker,
        profile,
        ("classic", "quorum"),
        Selection("may", "*", False),
        tuple(judged),
        Gate(True, (), ()),
        {},
        1,
        2,
    )
    return replace(made, **given)
