"""The gate of a run, judged again without its known deviations: from its results, without a second run.

A deviations file is worth something only if it makes the difference. What it excuses is broken without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conformance.oracle.verdicts import Verdict
from conformance.outcome import gate
from conformance.outcome.results import Gate, Results, RuleResult


def without_deviations(results: Results) -> Gate:
    """The gate that the same run would have come to with an empty deviations file."""
    return gate.decide(
        [_unexcused(rule) for rule in results.rules],
        gate.Known(),
        {},
        strict=results.selection.strict,
        min_coverage=results.selection.min_coverage,
        complete=results.complete,
        troubles=_scenes(results, "harness"),
        lost=_scenes(results, "lost"),
    )


def excused(results: Results) -> Sequence[str]:
    """The rules that deviate as it is written down, and did so in this run."""
    return [rule.id for rule in results.rules if rule.verdict == Verdict.DEVIATES and rule.cases]


def _unexcused(rule: RuleResult) -> RuleResult:
    if rule.verdict not in (Verdict.DEVIATES, Verdict.UNSEEN):
        return rule
    cases = tuple(replace(case, deviation=None) for case in rule.cases)
    verdict = Verdict.BROKEN if cases else Verdict.HELD
    return replace(rule, verdict=verdict.value, deviation=None, cases=cases)


def _scenes(results: Results, kind: str) -> list[str]:
    return [trouble.name for trouble in results.troubles if trouble.kind == kind]
