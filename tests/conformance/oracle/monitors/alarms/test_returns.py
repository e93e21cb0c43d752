"""What comes back: who may take it, in which order, and what a race leaves open.

Alarms that machines gave on real brokers, each cut down to what it took. Each lawful history stands beside one that
breaks a rule.
"""

from __future__ import annotations

import pytest

from tests.conformance.oracle.monitors.requeueing.test_rq import BROKEN as RETURNED

TEXT = "PRECONDITION_FAILED - unknown delivery tag 5"
UNSURE = f"""
    @queue q quorum
    @queue p quorum
    @stock q m1
    @hold 1 q m1
    @consume 1 p c1
    1 > ack 5                   # the tag may be that of a delivery under way
    1 < closed 406 60 80 {TEXT}
    1 > closed-ok
    @open 2
    2 > get q
    2 < get-ok 1 m1 q redelivered x-acquired-count=1 x-delivery-count=1
    2 > nack 1 requeue
    2 > get q
"""


def test_a_return_by_a_race_counts_as_well(play) -> None:
    """RQ-012: the channel may have failed and returned its message, or it may live; nobody counts on either."""
    assert play(UNSURE + "2 < get-ok 2 m1 q redelivered x-acquired-count=2 x-delivery-count=1").broken == []
    certain = UNSURE.replace("@consume 1 p c1", "")
    assert play(certain + "2 < get-ok 2 m1 q redelivered x-acquired-count=3 x-delivery-count=1").broken == ["RQ-012"]


STRAY = """
    @queue q quorum
    @stock q m1 m2
    @consume 1 q c1
    1 > cancel c1
    1 < cancel-ok c1
    1 < deliver c1 1 m1 q       # RabbitMQ 3.8
    1 > nack 1 multiple requeue
"""


def test_what_came_to_nobody_may_be_settled(play) -> None:
    """ACK-011: a broker that delivers to a consumer which has ended waits for the settlement. One fault."""
    assert play(STRAY + "- deadline replies").broken == ["CAN-009"]
    assert play(STRAY + "@barrier 1").broken == ["CAN-009"]
    assert play(STRAY.replace("nack 1 ", "nack 2 ") + "- deadline replies").broken == ["CAN-009", "ACK-010"]


BATCH = """
    @queue q
    @stock q m1 m2
    @hold 1 q m1 m2
    1 > nack 2 requeue
    @hold 1 q m2
    1 > nack 1 requeue
    @hold 1 q m1                # tag 4; m2 is tag 3
    @consume 1 q c1
    1 > nack 4 multiple requeue
"""


def test_gets_return_one_by_one(play) -> None:
    """RQ-001, RQ-002: what was got first is back first, and a consumer in wait may have it before the next one is."""
    assert play(BATCH + "1 < deliver c1 5 m2 q redelivered \n 1 < deliver c1 6 m1 q redelivered").broken == []
    consumed = """
        @queue q
        @stock q m1 m2
        @consume 1 q c1
        1 < deliver c1 1 m1 q
        1 < deliver c1 2 m2 q
        1 > nack 2 multiple requeue
        1 < deliver c1 3 m2 q redelivered
    """
    assert play(consumed).rest().broken == ["RQ-001", "RQ-002"]


RIVALS = """
    @queue q
    @stock q m1 m2 m3
    @hold 1 q m1 m2
    @hold 2 q m3
    2 > nack 1 requeue
    2 > get q
    1 > nack 2 multiple requeue
    1 > get q
    1 < get-ok 3 m1 q redelivered
"""


def test_somebody_may_have_taken_it_before_the_others_came_back(play) -> None:
    """RQ-005: the youngest message is returned and taken before the older two are back, and read last."""
    assert play(RIVALS + "2 < get-ok 2 m3 q redelivered").broken == []
    assert play(RIVALS + "2 < get-ok 2 m2 q redelivered").broken == []
    alone = RIVALS.replace("2 > get q", "@barrier 2")
    book = play(alone + "2 > get q \n 2 < get-ok 2 m3 q redelivered").rest()
    found = [one.unless for one in book.judge.judgement.findings if one.rule == "RQ-005" and one.certain]
    (unless,) = found
    assert "RQ-001" in unless, "whoever returns to other places shows another order"
    assert "ACK-011" in unless, "so does whoever returns the last of several alone, as Qpid does"


def test_who_lets_new_messages_pass_each_other_shows_no_order_of_returns(play) -> None:
    """RQ-005: neither m3 nor m4 was ever returned, so it may be RQ-006."""
    history = "@queue q \n @stock q m1 m2 m3 m4 \n @hold 1 q m1 m2 \n @open 2 \n 1 > nack 1 requeue \n @barrier 1 \n "
    history += "2 > get q \n 2 < get-ok 1 m1 q redelivered \n 2 > get q \n 2 < get-ok 2 m4 q"
    found = [one for one in play(history).rest().judge.judgement.findings if one.certain]
    assert [(one.rule, "RQ-006" in one.unless) for one in found] == [("RQ-006", False), ("RQ-005", True)]
    assert all("RQ-006" not in one.unless for one in play(RETURNED["RQ-005"]).judge.judgement.findings)


COMMITTED = """
    @queue q
    @stock q m1 m2 m3
    @hold 1 q m1 m2 m3
    1 > select
    1 < select-ok
    {}
    1 > consume q c1
    1 > commit
    1 < consume-ok c1
    1 < deliver c1 4 m2 q redelivered
"""


def test_of_what_one_commit_returns_the_first_may_be_out_again_before_the_second_is_back(play) -> None:
    """RQ-001, RQ-002: a commit carries out settlement by settlement; only what one settlement returns comes at once."""
    assert play(COMMITTED.format("1 > reject 2 requeue \n 1 > nack 3 multiple requeue")).broken == []
    assert play(COMMITTED.format("1 > nack 3 multiple requeue")).rest().broken == ["RQ-001", "RQ-002"]


EMPTY_LONG_AGO = """
    @queue q
    @stock q m0 m1
    @hold 1 q m0
    @open 3
    3 > qos 2
    3 < qos-ok
    @consume 3 q c3
    3 < deliver c3 1 m1 q
    1 > get q                   # finds nothing, at once; its answer is read late
    3 > publish q m2
    3 < deliver c3 2 m2 q
    3 > publish q m3
    3 > nack 1 requeue
    3 < deliver c3 3 m1 q redelivered
    1 < get-empty
    3 > nack 2 requeue
"""


def test_a_get_may_have_found_nothing_long_ago(play) -> None:
    """RQ-005: m3 came in since, and nobody has taken it."""
    assert play(EMPTY_LONG_AGO + "3 < deliver c3 4 m2 q redelivered").broken == []


BY_TOPIC = """
    @confirming 1
    1 > declare
    1 < declare-ok q
    1 > exchange x topic
    1 < exchange-ok
    1 > bind q x a.*
    1 < bind-ok
    1 > publish {} m1 {}
    1 < ack 1
    1 > publish q m2
    1 < ack 2
    1 > get q
    1 < get-ok 1 {} q
"""


def test_what_came_by_ways_that_are_not_known_may_be_older(play) -> None:
    """RQ-006: of a message that a topic exchange brought to a queue nobody saw declared, no publish is known."""
    assert play(BY_TOPIC.format("a.b", "exchange=x", "m1")).broken == []
    assert play(BY_TOPIC.format("q", "", "m2")).rest().broken == ["RQ-006"]


HELD_BY_ONE = "@queue q \n @stock q m1 \n @consume 1 q c1 \n 1 < deliver c1 1 m1 q \n"


@pytest.mark.parametrize(("recover", "ids"), [("recover requeue", "60 110"), ("recover-async requeue", "60 100")])
def test_a_refused_recover_is_a_recover_that_returns_nothing(play, recover: str, ids: str) -> None:
    """RQ-014: GarageMQ answers both with connection.close 540, LavinMQ the second with channel.close 540."""
    history = f"{HELD_BY_ONE} 1 > {recover} \n"
    assert play(f"{history} 0 < kicked 540 {ids} NOT_IMPLEMENTED").broken == ["RQ-014"]
    assert play(f"{history} 1 < closed 540 {ids} NOT_IMPLEMENTED").broken == ["RQ-014"]
    assert play(f"{history} 0 < kicked 541 0 0 INTERNAL_ERROR").broken == ["RQ-014"]
    either = play(f"{history} 1 > flow \n 0 < kicked 541 0 0 INTERNAL_ERROR")
    assert either.broken == ["ERR-012"], "it may be about the flow, and must not come at all"
    without = history.replace("requeue", "")
    assert play(f"{without} 0 < kicked 540 {ids} NOT_IMPLEMENTED").broken == []


def test_a_batch_comes_in_the_order_of_its_deliveries(play) -> None:
    """RQ-002: m1 had been delivered again after m2, and a nack of both may return them so. RQ-001 says more."""
    nacked = """
        @queue q
        @stock q m1 m2
        @consume 1 q c1
        1 < deliver c1 1 m1 q
        1 < deliver c1 2 m2 q
        1 > nack 1 requeue
        1 < deliver c1 3 m1 q redelivered
        1 > cancel c1
        1 < cancel-ok c1
        1 > nack 3 multiple requeue
        @barrier 1
        1 > get q
        1 < get-ok 4 m2 q redelivered
        1 > get q
        1 < get-ok 5 m1 q redelivered
    """
    assert play(nacked).broken == ["RQ-001"]


RETURNED_TWICE = """
    @queue q
    @stock q m1
    @hold 1 q m1
    1 > nack 1 requeue
    @barrier 1
    1 > ack 1
"""


def test_what_was_returned_and_is_lost_is_no_second_settlement_that_was_refused(play) -> None:
    """ERR-001: the second settlement was refused as it should be. Where the message is, is another matter."""
    refused = RETURNED_TWICE + "1 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag 1 \n 1 > closed-ok"
    assert play(refused + " \n @drain q \n - deadline drain q").broken == ["RQ-011"]
    assert play(RETURNED_TWICE + "@barrier 1 \n - deadline replies").broken == ["ERR-001"]


HELD_TWO = """
    @queue q quorum
    @stock q m1 m2
    @hold 1 q m1 m2
    {}
    {reader} > get q
    {reader} < get-ok 1 m2 q redelivered
"""


@pytest.mark.parametrize(
    ("end", "reader", "about"),
    [
        ("@close 1 \n @open 2", "2", "AUTO-001"),
        (
            (
                "1 > ack 9 \n 1 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag 9 \n "
                "1 > closed-ok \n @open 2"
            ),
            "2",
            "AUTO-004",
        ),
        ("o:0 < start \n o:1 > open \n o:1 < open-ok \n - end c aborted", "o:1", "AUTO-013"),
    ],
)
def test_the_order_of_return_is_for_the_rules_that_name_it(play, end: str, reader: str, about: str) -> None:
    """AUTO-003: it says that what a lost connection had goes back, and nothing of the order; AUTO-013 says that."""
    wrong = HELD_TWO.format(end, reader=reader)
    assert play(wrong).rest().broken == [about]
    assert play(wrong.replace("1 m2 q redelivered", "1 m1 q redelivered")).rest().broken == []
