"""Publishes that come back though they are routed: whichever way leads them on, that is one mistake of the broker."""

from __future__ import annotations

import pytest

from tests.conformance.oracle.monitors.connections.test_nowait import BOUND
from tests.conformance.oracle.monitors.topology.test_carbon import MANDATORY, RETURNED, X
from tests.conformance.oracle.monitors.topology.test_lifetimes import APART
from tests.support.tables import Play

CAME_BACK = {
    "ROUTE-018": X + MANDATORY + RETURNED,
    "NOWAIT-003": BOUND + "1 < return any m1 exchange=x",
}


@pytest.mark.parametrize("rule", CAME_BACK)
def test_who_returns_what_is_routed_does_so_by_any_way(play: Play, rule: str) -> None:
    """CNF-025: a broker that returns what has no consumer overlooks neither CC nor a binding with nowait."""
    found = play(CAME_BACK[rule]).judge.judgement.findings
    assert [one.unless for one in found if one.rule == rule] == [("CNF-025",)]


def test_what_comes_back_may_be_due_to_what_else_was_bound(play: Play) -> None:
    """CNF-025: a broker that keeps one binding for a key returns nothing that it has a way for (BIND-012)."""
    returned = "1 > publish key m1 exchange=h mandatory \n 1 < return key m1 exchange=h"
    found = play(APART.replace("headers", "direct") + returned).judge.judgement.findings
    assert [(one.rule, one.unless) for one in found] == [("CNF-025", ("BIND-012",))]
