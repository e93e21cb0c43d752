"""Counts of gold to verdicts: what another broken rule explains as well is not certain, here as in a live run."""

from __future__ import annotations

from collections import Counter

import pytest

from conformance.catalogue.profiles import load
from conformance.oracle.verdicts import Finding, Judgement
from reports.alone.judged import JudgedRun
from reports.judging.gold import rows_of
from reports.judging.tables import VerdictRow

HEADER = {"run": "r1", "profile": "documented", "queue_types": ["classic"], "capabilities": ["basic.nack"]}

KEPT, PROOF = "ACK-005", "ACK-002"


def found(rule: str, *, certain: bool = True, unless: tuple[str, ...] = ()) -> Finding:
    return Finding(rule, "h1", 5, "one thing", "another", (5,), certain, (), unless)


def verdicts(*findings: Finding, known: tuple[str, ...] = (), exercised: tuple[str, ...] = ()) -> dict[str, VerdictRow]:
    gold = list(rows_of("r1", "h1", Judgement(list(findings), Counter(exercised))))
    run = JudgedRun("r1", {}, HEADER | {"profile": load("documented").name}, {}, {}, gold)
    return {row.rule: row for row in run.table(known)}


def test_a_finding_that_a_broken_rule_explains_is_in_doubt() -> None:
    rows = verdicts(found(KEPT, unless=(PROOF,)), found(PROOF))
    assert (rows[KEPT].verdict, rows[KEPT].findings, rows[KEPT].doubtful) == ("inconclusive", 0, 1)
    assert (rows[PROOF].verdict, rows[PROOF].findings) == ("broken", 1)


def test_one_finding_that_nothing_explains_breaks_its_rule() -> None:
    rows = verdicts(found(KEPT, unless=(PROOF,)), found(KEPT), found(PROOF))
    assert (rows[KEPT].verdict, rows[KEPT].findings, rows[KEPT].doubtful) == ("broken", 1, 1)


@pytest.mark.parametrize(
    "other",
    [(), (found("ACK-003"),), (found(PROOF, unless=(KEPT,)),)],
    ids=["no other", "another rule", "each the other"],
)
def test_what_is_not_proven_explains_nothing(other: tuple[Finding, ...]) -> None:
    assert verdicts(found(KEPT, unless=(PROOF,)), *other)[KEPT].verdict == "broken"


def test_what_nothing_found_explains_is_a_cause_and_so_is_what_that_explains() -> None:
    rows = verdicts(found(KEPT, unless=(PROOF,)), found(PROOF, unless=("ACK-003",)))
    assert (rows[KEPT].verdict, rows[PROOF].verdict) == ("inconclusive", "broken")
    rows = verdicts(found(KEPT, unless=(PROOF,)), found(PROOF, unless=("ACK-003",)), found("ACK-003"))
    assert [rows[rule].verdict for rule in (KEPT, PROOF, "ACK-003")] == ["inconclusive", "inconclusive", "broken"]


@pytest.mark.parametrize(("kept", "verdict"), [((PROOF,), "broken"), ((), "inconclusive")], ids=["seen", "not seen"])
def test_a_suspected_rule_explains_until_it_was_seen_to_be_kept(kept: tuple[str, ...], verdict: str) -> None:
    suspicion = found(PROOF, certain=False)
    assert verdicts(found(KEPT, unless=(PROOF,)), suspicion, exercised=kept)[KEPT].verdict == verdict


def test_what_is_known_to_be_broken_deviates_and_explains_nothing() -> None:
    rows = verdicts(found(KEPT, unless=(PROOF,)), found(PROOF), known=(PROOF,))
    assert (rows[KEPT].verdict, rows[PROOF].verdict) == ("broken", "deviates")


def test_a_known_rule_that_is_not_broken_does_not_deviate() -> None:
    assert verdicts(found(PROOF, certain=False), known=(PROOF,))[PROOF].verdict == "inconclusive"
