"""What LavinMQ 2.9.1 was seen to do, cut down: what follows from one fault accuses no other rule for certain.

Each history is followed by one that differs in the fault alone, in which the other rule is accused.
"""

from __future__ import annotations

import pytest

STOCK = "@queue q \n @stock q m1 m2 m3 m4 m5 m6 \n @open 1 \n"
FAILS = "0 < kicked 541 0 0 INTERNAL_ERROR - Unexpected error, please report"


def found(book) -> set[tuple[str, bool]]:
    return {(one.rule, one.certain) for one in book.judge.judgement.findings}


RAISED = (
    STOCK
    + """
    {}
    1 > qos 3 global
    1 < qos-ok
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    1 < deliver c1 2 m2 q
    1 < deliver c1 3 m3 q
    {}
    1 > qos 0 global
    1 < qos-ok
    - deadline replies
    1 > cancel c1
    1 < cancel-ok c1
    @drain q m4 m5 m6
"""
)


def test_a_consumer_that_another_limit_has_stopped_says_nothing_of_its_channel_s(play) -> None:
    """QOS-022: a limit of 2 for those to come has reached c1, which had none; lifting the channel's brings nothing."""
    assert found(play(RAISED.format("", "1 > qos 2 \n 1 < qos-ok"))) == {("QOS-022", False)}
    assert play(RAISED.format("", "")).broken == ["QOS-022"]


RETURNED = (
    STOCK
    + """
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    1 < deliver c1 2 m2 q
    1 < deliver c1 3 m3 q
    1 < deliver c1 4 m4 q
    1 < deliver c1 5 m5 q
    1 < deliver c1 6 m6 q
    1 > qos {}
    1 < qos-ok
    @open 2
    2 > qos 1
    2 < qos-ok
    @consume 2 q c3
    1 > nack 2 multiple requeue
    2 < deliver c3 1 m1 q redelivered
    - deadline replies
    @drain q m2
"""
)


def test_a_consumer_that_another_limit_has_stopped_says_nothing_of_returns(play) -> None:
    """RQ-015: m2 would go to c1, which the limit for those to come keeps away."""
    assert found(play(RETURNED.format(1))) == {("RQ-015", False)}
    assert ("RQ-015", True) in found(play(RETURNED.format(0)))


RECOVERED = (
    STOCK
    + """
    1 > qos 2 global
    1 < qos-ok
    1 > get q
    1 < get-ok 1 m1 q
    {}
    1 > qos 4
    1 < qos-ok
    @consume 1 q c1
    1 < deliver c1 2 m{} q {}
    1 < deliver c1 3 m{} q
    1 < deliver c1 4 m{} q
"""
)


def test_a_get_that_is_recovered_frees_no_slot(play) -> None:
    """QOS-015: one delivery too many under the channel's limit, though another limit was set after it (QOS-008)."""
    recover = "1 > recover requeue \n 1 < recover-ok"
    assert play(RECOVERED.format(recover, 1, "redelivered", 2, 3)).broken == ["QOS-015"]
    assert play(RECOVERED.format("", 2, "", 3, 4)).broken == ["QOS-008"]


@pytest.mark.parametrize(("settle", "rule"), [("ack", "ACK-007"), ("nack", "ACK-008")])
def test_an_internal_error_may_be_about_any_settlement_that_was_under_way(play, settle: str, rule: str) -> None:
    """ERR-012: a close in the same write, and the error names no method. Who is known to fail at settling everything
    in a transaction without deliveries has done that again."""
    book = play(f"@open 1 \n 1 > select \n 1 < select-ok \n 1 > {settle} 0 multiple \n 1 > close \n {FAILS}")
    (finding,) = book.judge.judgement.findings
    assert (finding.rule, finding.certain, finding.unless) == ("ERR-012", True, (rule,))
    assert finding.where
    (alone,) = play(f"@open 1 \n 1 > close \n {FAILS}").judge.judgement.findings
    assert (alone.rule, alone.unless, alone.where) == ("ERR-012", (), ())


def test_a_consumer_that_takes_a_tag_is_answered_wrongly_once(play) -> None:
    """CAN-015 has nothing to say to the consume-ok for a tag that is in use: that there is one is the fault. DRT-003
    has nothing to say of what a requester asks for that should not be there."""
    taken = "@queue q \n @consume 1 q c1 \n 1 > consume q c1 \n 1 < consume-ok c1 \n - deadline replies"
    assert found(play(taken)) == {("ERR-009", True), ("CAN-018", True)}
    requester = taken.replace("q c1 \n 1 <", "amq.rabbitmq.reply-to c1 no_ack \n 1 <")
    asks = """\n 1 > publish q m1 with={"reply_to":"amq.rabbitmq.reply-to"} \n @barrier 1 \n - deadline replies"""
    assert found(play(requester + asks)) == {("ERR-009", True), ("CAN-018", True)}
    assert ("CAN-015", False) in found(play("@queue q \n @consume 1 q c1 \n 1 < consume-ok c1"))


SWEPT = """
    @queue q classic x-consumer-timeout=1000
    @stock q m1
    @open 1
    {}
    - wait 62
    1 < closed 406 60 20 PRECONDITION_FAILED - consumer timeout
    1 > closed-ok
    @drain q m1
"""


@pytest.mark.parametrize(
    "held",
    [
        "@consume 1 q c1 \n 1 < deliver c1 1 m1 q \n @barrier 1",
        "1 > get q \n 1 < get-ok 1 m1 q",
    ],
)
def test_a_consumer_timeout_names_the_consume(play, held: str) -> None:
    """TMO-027: also where a get is held. Elsewhere no method is named, and where one is it is about that."""
    book = play(SWEPT.format(held), "lavinmq-2.9")
    assert (book.broken, book.exercised["TMO-027"]) == ([], 1)
    assert play(SWEPT.format(held), "rabbitmq-4.0").exercised["TMO-024"] == 0
    asked = SWEPT.format(held + "\n 1 > consume q c2")
    assert play(asked, "lavinmq-2.9").exercised["TMO-027"] == 0


def test_the_level_that_counts_is_shown_where_no_other_can_be_the_reason(play) -> None:
    """TMO-003: the channel looks a minute later. A longer policy that is not over yet says that the shorter counts; one
    of ten seconds may have been the reason."""
    held = "- policy q {} \n @consume 1 q c1 \n 1 < deliver c1 1 m1 q \n @barrier 1"
    text = SWEPT.replace("60 20", "0 0").format(held)
    long, short = (play(text.format(policy), "rabbitmq-4.0").exercised for policy in (3_600_000, 10_000))
    assert (long["TMO-003"], long["TMO-024"]) == (1, 1)
    assert (short["TMO-003"], short["TMO-024"]) == (0, 1)
