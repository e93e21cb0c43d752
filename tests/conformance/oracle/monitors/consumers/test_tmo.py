"""Consumer timeouts: for each rule a history in which all is well, and one that breaks it."""

from __future__ import annotations

import pytest

from tests.support.tables import played

ON = "0 < start notify\n0 > start-ok notify\n"
OFF = "0 < start notify\n0 > start-ok\n"
HELD = """
@queue q quorum
@stock q m1
@open 1
1 > consume q c1 x-consumer-timeout=1000
1 < consume-ok c1
1 < deliver c1 1 m1 q
"""
TIMED_OUT = (
    ON
    + HELD
    + """
- wait 1.1
1 < cancel c1 no_wait
"""
)
TWO_HELD = (
    ON
    + """
@queue q quorum
@stock q m1
@open 1
1 > consume q c1 x-consumer-timeout=1000
1 < consume-ok c1
1 < deliver c1 1 m1 q
- wait 0.5
@stock q m2
1 < deliver c1 2 m2 q
- wait 0.6
1 < cancel c1 no_wait
"""
)
PRECEDENCE = """
@queue q quorum x-consumer-timeout=2000
- policy q 3000
@stock q m1
@open 1
1 > consume q c1 {own}
1 < consume-ok c1
1 < deliver c1 1 m1 q
- wait {wait}
1 < cancel c1 no_wait
"""
STALE_TAG_REUSED = (
    TIMED_OUT
    + """
1 > cancel c1
1 < cancel-ok c1
@stock q m2
1 > consume q c1 x-consumer-timeout=60000
1 < consume-ok c1
1 < deliver c1 2 m1 q redelivered
1 > ack 1
@barrier 1
@close 1
"""
)
BOTH = """
c:0 < start notify
c:0 > start-ok notify
d:0 < start notify
d:0 > start-ok
@queue q quorum
@stock q m1 m2
c:1 > open
c:1 < open-ok
c:1 > consume q c1 x-consumer-timeout=1000
c:1 < consume-ok c1
c:1 < deliver c1 1 m1 q
d:1 > open
d:1 < open-ok
d:1 > consume q d1 x-consumer-timeout=1000
d:1 < consume-ok d1
d:1 < deliver d1 1 m2 q
- wait 1.1
c:1 < cancel c1 no_wait
"""
"""Two clients, of which one does not announce that it takes notifications."""
CLASSIC = "@queue q classic x-consumer-timeout=1000\n@stock q m1\n@consume 1 q c1\n1 < deliver c1 1 m1 q\n"
UP_TO_4_2 = f"{ON}{CLASSIC}- wait 55\n"

SOUND = {
    "TMO-001": ON + "@queue q classic\n@open 1\n1 > consume q c1 x-consumer-timeout=500\n"
    "1 < closed 406 60 20 invalid arg",
    "TMO-002": ON + PRECEDENCE.format(own="x-consumer-timeout=4000", wait=4.1),
    "TMO-003": ON + PRECEDENCE.format(own="", wait=2.1),
    "TMO-004": ON + "- setting 700\n@queue q quorum\n@stock q m1\n@consume 1 q c1\n1 < deliver c1 1 m1 q\n- wait 0.8\n"
    "1 < cancel c1 no_wait",
    "TMO-005": ON + "- setting\n@queue q quorum\n@stock q m1\n@consume 1 q c1\n1 < deliver c1 1 m1 q\n- wait 1800.1\n"
    "1 < cancel c1 no_wait",
    "TMO-006": TIMED_OUT + "@hold 2 q m1",
    "TMO-007": TIMED_OUT + "@barrier 1",
    "TMO-008": OFF + HELD + "- wait 1.1\n1 < closed 406 0 0 timed out",
    "TMO-009": ON + "@queue p quorum\n@stock p n1\n@open 1\n1 > consume p c0 x-consumer-timeout=60000\n"
    "1 < consume-ok c0\n1 < deliver c0 1 n1 p\n@queue q quorum\n@stock q m1\n"
    "1 > consume q c1 x-consumer-timeout=1000\n1 < consume-ok c1\n1 < deliver c1 2 m1 q\n- wait 1.1\n"
    "1 < cancel c1 no_wait\n1 > ack 1\n@barrier 1",
    "TMO-010": TWO_HELD + "- wait 0.5\n1 < cancel c1 no_wait",
    "TMO-011": TIMED_OUT + "@queue p quorum\n@stock p n1\n1 > get p\n1 < get-ok 2 n1 p\n1 > ack 2\n@barrier 1",
    "TMO-012": TIMED_OUT + "1 > ack 1\n1 < deliver c1 2 m1 q redelivered",
    "TMO-013": TIMED_OUT + "1 > cancel c1\n1 < cancel-ok c1",
    "TMO-014": TIMED_OUT + "1 > consume q c1\n0 < kicked 530 60 20 attempt to reuse consumer tag",
    "TMO-015": TIMED_OUT + "1 > ack 1\n@barrier 1",
    "TMO-016": TIMED_OUT + "1 > ack 1\n@barrier 1\n1 > ack 1\n"
    "1 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag 1",
    "TMO-017": ON + "@queue q quorum x-consumer-timeout=1000\n@stock q m1\n@hold 1 q m1\n- wait 1.1\n"
    "1 < closed 406 0 0 timed out",
    "TMO-018": ON + HELD + "1 > cancel c1\n1 < cancel-ok c1\n- wait 1.1\n1 < closed 406 0 0 timed out",
    "TMO-019": TIMED_OUT,
    "TMO-020": TIMED_OUT,
    "TMO-021": STALE_TAG_REUSED + "@drain q m1 m2",
    "TMO-023": ON + "@queue q quorum\n@open 1\n1 > consume q c1 x-consumer-timeout=-1\n"
    "1 < closed 406 60 20 invalid arg",
    "TMO-024": (UP_TO_4_2 + "1 < closed 406 0 0 timed out", "rabbitmq-4.0"),
    "TMO-025": TIMED_OUT + "@stock q m2\n@hold 2 q m1",
    "TMO-026": BOTH + "d:1 < closed 406 0 0 timed out",
}

BROKEN = {
    "TMO-001": ON + "@queue q classic\n@stock q m1\n@consume 1 q c1\n1 < deliver c1 1 m1 q\n- wait 9\n"
    "1 < cancel c1 no_wait",
    "TMO-002": ON + PRECEDENCE.format(own="x-consumer-timeout=4000", wait=2.1),
    "TMO-003": ON + PRECEDENCE.format(own="", wait="2.6\n@barrier 1\n- wait 0.5"),
    "TMO-004": ON + "- setting 700\n@queue q quorum x-consumer-timeout=2000\n@stock q m1\n@consume 1 q c1\n"
    "1 < deliver c1 1 m1 q\n- wait 0.8\n1 < cancel c1 no_wait",
    "TMO-005": ON + "- setting\n@queue q quorum\n@stock q m1\n@consume 1 q c1\n1 < deliver c1 1 m1 q\n- wait 1802\n"
    "- deadline timeouts",
    "TMO-006": TIMED_OUT + "2 > open\n2 < open-ok\n2 > get q\n2 < get-ok 1 m1 q",
    "TMO-007": ON + HELD + "- wait 1.1\n1 < closed 406 0 0 timed out",
    "TMO-008": OFF + HELD + "- wait 1.1\n1 < cancel c1 no_wait",
    "TMO-009": SOUND["TMO-009"].replace("1 > ack 1\n@barrier 1", "@open 2\n2 > get p\n2 < get-ok 1 n1 p redelivered"),
    "TMO-010": TWO_HELD + "- wait 9\n- deadline timeouts",
    "TMO-011": TIMED_OUT + "1 < deliver c1 2 m1 q redelivered",
    "TMO-012": TIMED_OUT + "1 > ack 1\n- deadline replies\n1 > cancel c1\n1 < cancel-ok c1\n@drain q m1",
    "TMO-013": TIMED_OUT + "1 > agreed c1\n0 < kicked 503 60 31 unimplemented method",
    "TMO-015": TIMED_OUT + "1 > ack 1\n1 < closed 406 60 80 unknown delivery tag 1",
    "TMO-016": TIMED_OUT + "1 > ack 1\n@barrier 1\n1 > ack 1\n@barrier 1\n- deadline replies",
    "TMO-019": ON + HELD + "- wait 0.5\n1 < cancel c1 no_wait",
    "TMO-021": STALE_TAG_REUSED + "@drain q m2\n- deadline drain q",
    "TMO-023": ON + "@queue q quorum\n@stock q m1\n@open 1\n1 > consume q c1 x-consumer-timeout=0\n1 < consume-ok c1\n"
    "1 < deliver c1 1 m1 q\n- wait 2\n- deadline timeouts",
    "TMO-024": (UP_TO_4_2 + "1 < cancel c1 no_wait", "rabbitmq-4.0"),
    "TMO-026": BOTH + "d:1 < cancel d1 no_wait",
}


@pytest.mark.parametrize("rule", SOUND)
def test_what_is_right_is_counted_and_not_blamed(play, rule: str) -> None:
    book = played(play, SOUND[rule], "rabbitmq-4.3")
    assert book.broken == []
    assert book.exercised[rule] > 0


@pytest.mark.parametrize("rule", BROKEN)
def test_what_breaks_a_rule_is_found(play, rule: str) -> None:
    assert rule in played(play, BROKEN[rule], "rabbitmq-4.3").broken


def test_a_policy_that_changes_meanwhile_may_apply_or_not(play) -> None:
    changed = (
        ON
        + """
    @queue q quorum
    - policy q 3000
    @stock q m1
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    - policy q 500
    - wait {wait}
    1 < cancel c1 no_wait
    """
    )
    outcomes = {0.6: "a new policy applies to deliveries that are out", 3.1: "fixed when the consumer starts"}
    for wait, seen in outcomes.items():
        book = play(changed.format(wait=wait), "rabbitmq-4.3")
        assert book.broken == []
        assert seen in book.judge.judgement.reports["TMO-022"]


def test_a_queue_that_may_be_deleted_takes_its_consumers_along(play) -> None:
    """TMO-001: nobody knows whether it is empty."""
    consumed = ON + "@queue q classic\n@consume 1 q c1\n@open 2\n{}1 < cancel c1 no_wait\n"
    assert play(consumed.format("2 > delete q if_empty\n"), "rabbitmq-4.3").broken == []
    assert play(consumed.format(""), "rabbitmq-4.3").broken == ["TMO-001"]


def test_up_to_4_2_the_connection_is_not_closed(play) -> None:
    assert play(UP_TO_4_2 + "0 < kicked 541 0 0 timed out", "rabbitmq-4.0").broken == ["TMO-024"]


def test_a_channel_that_never_looks_is_late_by_its_oldest_delivery(play) -> None:
    """TMO-024: what a delivery without a timeout hides is nobody's fault; nor is what may have been settled."""
    text = (
        ON
        + """
    @queue p
    @queue q classic x-consumer-timeout=1000
    @stock p n1
    @stock q m1
    {}
    @consume 1 q c1
    1 < deliver c1 {} m1 q
    {}
    - wait 70
    - deadline timeouts
    """
    )
    assert play(text.format("", 1, ""), "rabbitmq-4.0").broken == ["TMO-024"]
    hidden = "@consume 1 p c2 \n 1 < deliver c2 1 n1 p"
    assert play(text.format(hidden, 2, ""), "rabbitmq-4.0").broken == []
    assert play(text.format("", 1, "1 > ack 1"), "rabbitmq-4.0").broken == []


def test_a_race_between_settlement_and_time_out_is_nobody_s_fault(play) -> None:
    assert play(ON + HELD + "- wait 0.95\n1 > ack 1\n- wait 0.1\n1 < cancel c1 no_wait", "rabbitmq-4.3").broken == []


def test_a_message_that_goes_on_before_its_notice_is_read(play) -> None:
    text = ON + HELD + "@open 2\n- wait 1.1\n2 > get q\n2 < get-ok 1 m1 q redelivered\n1 < cancel c1 no_wait\n1 > ack 1"
    assert play(text + "\n@barrier 1", "rabbitmq-4.3").broken == []


TWO_AT_ONCE = (
    ON
    + """
@queue q quorum
@stock q m1 m2
@open 1
1 > qos 2
1 < qos-ok
1 > consume q c1 x-consumer-timeout=1000
1 < consume-ok c1
1 < deliver c1 1 m1 q
- wait 0.01
1 < deliver c1 2 m2 q
- wait 1.1
1 < cancel c1 no_wait
"""
)


def test_two_notices_for_two_deliveries_of_one_moment(play) -> None:
    assert play(TWO_AT_ONCE + "1 < cancel c1 no_wait\n1 > ack 1\n1 > ack 2\n@barrier 1", "rabbitmq-4.3").broken == []


AGAIN = ON + HELD + "- wait {before}\n1 > reject 1 requeue\n1 < deliver c1 2 m1 q redelivered\n- wait {after}\n"


@pytest.mark.parametrize("settled", ["1 > reject 1 requeue", "1 > ack 1\n@stock q m2", "@close 1"])
def test_the_deadline_of_a_delivery_that_was_settled_in_time_hides_no_other(play, settled: str) -> None:
    """TMO-010: the next one that the consumer, or the queue, sends out has its own."""
    text = AGAIN.format(before=0.5, after=9).replace("1 > reject 1 requeue", settled)
    if "ack" in settled:
        text = text.replace("2 m1 q redelivered", "2 m2 q")
    if "close" in settled:
        later = "2 > consume q c1 x-consumer-timeout=1000\n2 < consume-ok c1\n2 < deliver c1 1 m1 q redelivered"
        text = text.replace("1 < deliver c1 2 m1 q redelivered", f"@open 2\n{later}")
    assert play(text + "- deadline timeouts", "rabbitmq-4.3").broken == ["TMO-010"]


def test_where_no_deadline_was_ahead_there_is_but_one(play) -> None:
    late = ON + HELD.replace("1000", "9000") + "- wait 0.5\n1 > ack 1\n@open 2\n@stock q m2\n"
    shorter = "2 > consume q c2 x-consumer-timeout=1000\n2 < consume-ok c2\n2 < deliver c2 1 m2 q\n- wait 9\n"
    assert play(late + shorter + "- deadline timeouts", "rabbitmq-4.3").broken == ["TMO-007"]


def test_what_one_notice_may_not_have_been_about_is_owed_to_nobody(play) -> None:
    other = "2 > open\n2 < open-ok\n2 > consume q c2\n2 < consume-ok c2\n2 < deliver c2 1 m1 q redelivered\n"
    assert play(TWO_AT_ONCE + other + "- deadline replies", "rabbitmq-4.3").broken == []


def test_what_a_channel_held_that_a_time_out_costs_may_come_before_its_close(play) -> None:
    """m2 was delivered later than m1, and is not over time itself."""
    text = (
        OFF
        + """
    @queue q quorum
    @stock q m1 m2
    @open 1
    1 > qos 2
    1 < qos-ok
    1 > consume q c1 x-consumer-timeout=1000
    1 < consume-ok c1
    1 < deliver c1 1 m1 q
    - wait 0.5
    1 < deliver c1 2 m2 q
    2 > open
    2 < open-ok
    2 > consume q c2
    2 < consume-ok c2
    - wait {wait}
    2 < deliver c2 1 m2 q redelivered
    1 < closed 406 0 0 timed out
    """
    )
    assert play(text.format(wait=0.6), "rabbitmq-4.3").broken == []
    early = text.format(wait=0.1)
    assert play(early, "rabbitmq-4.3").broken == ["TMO-019"]
    assert "MODE-001" in play(early.partition("1 < closed")[0], "rabbitmq-4.3").broken


def test_an_ack_under_way_may_come_too_late(play) -> None:
    """TMO-019: what was settled in time is what the broker is known to have taken; a crowded machine may be slow."""
    settled = ON + HELD + "1 > ack 1\n{}- wait 1.1\n1 < cancel c1 no_wait"
    assert play(settled.format("")).broken == []
    assert play(settled.format("@barrier 1\n")).broken == ["TMO-019"]


def test_what_was_settled_too_late_may_come_again(play) -> None:
    """MODE-004: the time was over before the ack arrived, unless an answer showed in time that it was taken."""
    again = ON + HELD + "- wait 0.8\n1 > ack 1\n{}- wait 0.3\n1 < deliver c1 2 m1 q redelivered x-acquired-count=1"
    assert play(again.format("")).broken == []
    assert "MODE-004" in play(again.format("@barrier 1\n")).broken


def test_what_was_returned_too_late_was_not_counted(play) -> None:
    """RQ-012: the message was back already when the reject arrived, and a time-out is no failure."""
    again = ON + HELD + "- wait 0.8\n1 > reject 1 requeue\n{}- wait 0.3\n1 < deliver c1 2 m1 q redelivered "
    again += "x-acquired-count=1"
    assert play(again.format("")).broken == []
    assert "RQ-012" in play(again.format("@barrier 1\n")).broken


def test_each_queue_looks_at_its_clocks_for_itself(play) -> None:
    """RQ-012: the time of both is over. Whose queue was first ends the channel, and the other's message fails by it."""
    again = (
        ON
        + """
    @queue q quorum x-consumer-timeout=1000
    @queue r quorum x-consumer-timeout=1100
    @stock q m1
    @stock {second} m2
    @open 1
    1 > get q
    1 < get-ok 1 m1 q
    1 > get {second}
    1 < get-ok 2 m2 {second}
    - wait 2
    1 < closed 406 0 0 timed out
    2 > open
    2 < open-ok
    2 > get q
    2 < get-ok 1 m1 q redelivered x-delivery-count=1 x-acquired-count=1
    """
    )
    assert play(again.format(second="r"), "rabbitmq-4.3").broken == []
    assert play(again.format(second="q"), "rabbitmq-4.3").broken == ["RQ-012"]


def test_one_of_several_that_is_returned_may_be_what_revives_nobody(play) -> None:
    """TMO-006, TMO-012: the messages are back by time alone, but 4.3 is known not to revive who returns any."""
    settled = "1 > nack 2 requeue\n1 > ack 1\n"
    rest = "- deadline replies\n1 > cancel c1\n1 < cancel-ok c1\n@drain q m1 m2"
    late = TWO_HELD + "- wait 0.6\n1 < cancel c1 no_wait\n- wait 0.6\n"
    assert play(late + settled + rest).broken == ["TMO-012"]
    assert play(late + settled.replace("nack 2 requeue", "ack 2") + rest).broken == ["TMO-012", "TMO-006"]
