"""Publishes that do not wait for their commit: their time begins with the publish.

Blame once: such a broker has one clock, and reads it rightly.
"""

from __future__ import annotations

import pytest

from conformance.oracle.monitors.fate import LOSING
from tests.conformance.oracle.monitors.messages.test_ttl import ASK, COMMITTED, EMPTY, HALF, OWN, PLAIN
from tests.support.tables import Play

EMPTIED = {
    "in a transaction": (COMMITTED + HALF + ASK + EMPTY, (*LOSING, "TX-003")),
    "in none": (PLAIN + OWN + HALF + ASK + EMPTY, LOSING),
}


@pytest.mark.parametrize("where", EMPTIED)
def test_the_time_of_what_was_there_before_its_commit_has_passed(play: Play, where: str) -> None:
    """TTL-004: so it is gone early."""
    history, unless = EMPTIED[where]
    found = play(history).judge.judgement.findings
    assert [(one.rule, one.unless) for one in found] == [("TTL-004", unless)]
