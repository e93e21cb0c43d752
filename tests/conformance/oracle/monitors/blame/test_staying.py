"""Consumers that stay: where a cancel is answered and not carried out, they keep what goes with the last one.

Blame once: such a broker goes on delivering to who has left, and that is its one mistake.
"""

from __future__ import annotations

import pytest

from tests.conformance.oracle.monitors.messages.test_ttl import LEASE, PASSIVE
from tests.conformance.oracle.monitors.topology.test_limits import IN_USE, LEFT
from tests.support.tables import Play

STAYED = "- wait 62 \n" + PASSIVE + "2 < declare-ok q"
KEPT = {
    "QUEUE-030": (LEFT + IN_USE, ("CAN-009",)),
    "TTL-010": (LEASE + "@consume 3 q c1 \n 3 > cancel c1 \n 3 < cancel-ok c1 \n" + STAYED, ("CAN-009",)),
    "TTL-010 ": (LEASE + STAYED, ()),
}


@pytest.mark.parametrize("case", KEPT)
def test_who_has_left_may_be_there_still(play: Play, case: str) -> None:
    """QUEUE-030, TTL-010: a queue is in use as long as somebody is served."""
    history, unless = KEPT[case]
    found = play(history).judge.judgement.findings
    assert [(one.rule, one.unless) for one in found] == [(case.strip(), unless)]


def test_a_consumer_that_ends_after_a_trespass_has_not_timed_out(play) -> None:
    """QUEUE-007, TMO-001: another connection has asked to delete an exclusive queue, which it must not."""
    there = "0 < start notify \n 0 > start-ok notify \n @open 1 \n 1 > declare q exclusive \n 1 < declare-ok q \n"
    there += "@consume 1 q c1 \n"
    trespass = "other:8 > open \n other:8 < open-ok \n other:8 > delete q no_wait \n"
    for history, rule in ((there + trespass, "QUEUE-007"), (there, "TMO-001")):
        assert play(history + "1 < cancel c1 no_wait", "rabbitmq-4.3").broken == [rule]
