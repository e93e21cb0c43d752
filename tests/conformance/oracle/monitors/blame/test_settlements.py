"""What a settlement has not done explains what comes of it: the rule of the settlement, where a broker breaks that.

Each history shows a rule broken in its own words, and could be that of a broker that has only refused, or passed over,
the settlement before.
"""

from __future__ import annotations

import pytest

from tests.support.tables import Play

HELD = "@queue q \n @stock q m1 m2 m3 \n @hold 1 q m1 m2 \n"
SERVED = """
    @queue q classic x-single-active-consumer=true
    @consume 1 q a
    @consume 2 q b
    @stock q m1
    1 < deliver a 1 m1 q
    1 > ack 1 {}
    2 < deliver b 1 m1 q redelivered
"""
CANCELLED = """
    @queue q
    @stock q m1
    @hold 1 q m1
    @close 1
    @consume 2 q c2
    2 < deliver c2 1 m1 q redelivered
    @open 3
    {}
    3 > get q
    3 < get-ok 1 m1 q redelivered
"""


def explained(play: Play, history: str, rule: str) -> tuple[str, ...]:
    """The rules that explain the first finding on this rule as well."""
    return next(one.unless for one in play(history).judge.judgement.findings if one.rule == rule and one.certain)


@pytest.mark.parametrize(
    ("settled", "others"),
    [
        ("reject 1", ("MODE-005", "ACK-012")),
        ("nack 2 multiple", ("ACK-006", "ACK-011")),
    ],
)
def test_what_was_not_taken_is_counted(play: Play, settled: str, others: tuple[str, ...]) -> None:
    """MODE-008: a broker that gives back what is rejected finds one more when it purges the queue."""
    told = "1 > declare q passive \n 1 < declare-ok q says=1 \n {} 1 > purge q \n 1 < purge-ok says=2"
    assert explained(play, HELD + told.format(f"1 > {settled} \n"), "MODE-008") == others
    assert explained(play, HELD + told.format(""), "MODE-008") == ()


@pytest.mark.parametrize(
    ("settled", "others"),
    [("", ("MODE-004", "ACK-013", "ERR-012")), ("multiple", ("ACK-002", "ERR-012"))],
)
def test_a_refused_settlement_may_have_ended_who_was_served(play: Play, settled: str, others: tuple[str, ...]) -> None:
    """SAC-001: the channel is closed over its settlement, and the next one served, before the client reads that."""
    assert explained(play, SERVED.format(settled), "SAC-001") == others
    assert explained(play, SERVED.replace("1 > ack 1 {}", ""), "SAC-001") == ()


def test_a_cancel_that_returns_is_no_second_return(play: Play) -> None:
    """AUTO-010: what a cancelled consumer held comes back with its cancel, wherever it came from before."""
    cancel = "2 > cancel c2 \n 2 < cancel-ok c2"
    assert explained(play, CANCELLED.format(cancel), "AUTO-010") == ("AUTO-008", "ACK-016")
    assert explained(play, CANCELLED.format(""), "AUTO-010") == ()


def test_an_end_may_be_about_a_settlement_elsewhere(play: Play) -> None:
    """ACK-017: it is the last one sent that is taken amiss, unless one before it is, on another channel."""
    history = """
        @queue q
        @queue r
        @stock q m1 m2
        @stock r m3
        @hold 1 q m1 m2
        @hold 2 r m3
        @open 3
        3 > delete r
        3 < delete-ok
        {}
        2 > ack 1
        0 < kicked 541 60 80 INTERNAL_ERROR
    """
    before = explained(play, history.format("1 > ack 2 multiple"), "ACK-017")
    assert before == ("ACK-013", "ACK-002")
    assert explained(play, history.format(""), "ACK-017") == ("ACK-013",)


SLOTS = """
    @queue q
    @open 1
    1 > qos 5
    1 < qos-ok
    @consume 1 q c1
    @stock q m1 m2 m3 m4 m5
    1 < deliver c1 1 m1 q
    1 < deliver c1 2 m2 q
    1 < deliver c1 3 m3 q
    1 < deliver c1 4 m4 q
    1 < deliver c1 5 m5 q
    1 > ack 2 {}
    1 > ack 3
    1 > nack 4 requeue
    1 < deliver c1 6 m4 q redelivered
    @stock q m6
    - deadline replies
    @close 1
    @drain q m4 m5 m6
"""


def test_who_frees_one_slot_for_several_has_fewer(play: Play) -> None:
    """QOS-019: a mixture leaves a slot free, unless the settlement of several in it has freed only one (QOS-012)."""
    assert {"QOS-012", "QOS-013"} < {*explained(play, SLOTS.format("multiple"), "QOS-019")}
    assert explained(play, SLOTS.format(""), "QOS-019") == ()


UNDONE = (
    "@queue q quorum \n @stock q m1 \n @open 1 \n 1 > select \n 1 < select-ok \n @hold 1 q m1 \n 1 > ack 1 \n"
    "1 > rollback \n 1 < rollback-ok \n"
)


def test_what_a_rollback_has_returned_is_not_outstanding_in_the_next_transaction(play) -> None:
    """TX-002: its deliveries are nobody's then, and TX-016 speaks of those that nobody has settled."""
    again = "1 > rollback \n 1 < rollback-ok \n @open 2 \n 2 > get q \n 2 < get-ok 1 m1 q redelivered"
    found = {one.rule: one.unless for one in play(UNDONE + again).judge.judgement.findings}
    assert found["TX-016"] == ("TX-002",)


def test_a_cancelled_consumers_delivery_is_refused_after_a_rollback(play) -> None:
    """TX-002: unless who refuses it forgets what cancelled consumers were sent, or has no need of a cause."""
    began = "@queue q \n @stock q m1 m2 \n @open 1 \n 1 > select \n 1 < select-ok \n "
    held = began + "1 > consume q c1 \n 1 < consume-ok c1 \n"
    sent = "1 < deliver c1 1 m1 q \n 1 < deliver c1 2 m2 q \n 1 > ack 1 \n 1 > cancel c1 \n 1 < cancel-ok c1 \n"
    refused = "1 > rollback \n 1 < rollback-ok \n 1 > ack 1 \n 1 < closed 406 60 80 PRECONDITION_FAILED - unknown tag 1"
    found = play(held + sent + refused)
    (one,) = (one for one in found.judge.judgement.findings if one.rule == "TX-002")
    assert (found.broken, one.unless) == (["TX-002"], ("ACK-016", "ACK-013"))


def test_what_a_rollback_has_returned_is_counted_otherwise(play) -> None:
    """TX-002: it has returned by the rollback, and not by the end of its channel."""
    again = "@close 1 \n @open 2 \n 2 > get q \n 2 < get-ok 1 m1 q redelivered x-acquired-count=2"
    (found,) = play(UNDONE + again).judge.judgement.findings
    assert (found.rule, found.unless) == ("RQ-012", ("TX-002", "TX-016"))
