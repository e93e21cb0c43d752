"""Closes and silence: which mistake one names, and what is no fault of its own.

Alarms that machines gave on real brokers, each cut down to what it took. Each lawful history stands beside one that
breaks a rule.
"""

from __future__ import annotations

import pytest

from tests.support.readings import OTHER

ERRONEOUS = """
    @queue q quorum
    @open 1
    @open 2
    {}
    2 > ack 2
    0 < kicked {}
"""


def test_a_connection_that_fails_without_naming_a_mistake_may_fail_for_something_else(play) -> None:
    """ERR-002, ERR-004: RabbitMQ loses connections over a consume and a cancel, or a publish and a delete, that met."""
    crossing = "1 > consume q c1 \n 1 > cancel c1"
    assert play(ERRONEOUS.format(crossing, "541 0 0 INTERNAL_ERROR")).broken == []
    assert play(ERRONEOUS.format("", "541 0 0 INTERNAL_ERROR")).broken == ["ERR-002", "ERR-004"]
    assert play(ERRONEOUS.format(crossing, "406 60 80 unknown delivery tag 2")).broken == ["ERR-002", "ERR-004"]
    assert play(ERRONEOUS.format("2 > publish q m1", "541 0 0 INTERNAL_ERROR")).broken == []
    handled = "2 > publish q m1 \n @barrier 2"
    assert play(ERRONEOUS.format(handled, "541 0 0 INTERNAL_ERROR")).broken == ["ERR-002", "ERR-004"]


AFTER_CLOSE = """
    deaf:0 > start-ok
    @queue q
    deaf:2 > open
    deaf:2 < open-ok
    deaf:2 > consume q c9
    deaf:2 < consume-ok c9
    @open 3
    3 > ack 2
    3 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag 2
    3 > closed-ok
    {}
    deaf:2 > cancel c9
    deaf:2 < cancel c9 no_wait
    deaf:2 < cancel-ok c9
"""


def test_a_deletion_on_a_closed_channel_may_be_carried_out(play) -> None:
    """CAN-005, TMO-001: on LavinMQ a queue goes by a delete that was sent on a channel just closed, and the notice that
    everybody gets crosses the client's cancel."""
    assert play(AFTER_CLOSE.format("3 > delete q"), OTHER).broken == []
    assert play(AFTER_CLOSE.format("3 > delete q")).broken == ["CAN-001", "CAN-004"]
    assert play(AFTER_CLOSE.format("3 > flow"), OTHER).broken == ["CAN-005"]


def test_what_is_wrong_with_a_content_has_no_method(play) -> None:
    """CNF-019: the rule asks for a code. LavinMQ gives neither class nor method for a wrong property."""
    wrong = "@queue q \n @confirming 1 \n 1 > publish q m1 expiration=soon \n"
    for ids in ("60 40", "0 0"):
        assert play(f"{wrong} 1 < closed 406 {ids} PRECONDITION_FAILED").broken == []
    assert play(f"{wrong} 1 < closed 404 0 0 NOT_FOUND").broken == ["CNF-019", "TTL-009"]
    assert play(f"{wrong} 1 < closed 406 50 10 PRECONDITION_FAILED").broken == ["ERR-015"]


@pytest.mark.parametrize(
    ("silent", "rule"),
    [
        ("1 > get q", "QOS-014"),
        ("1 > select", "TX-004"),
        ("0 > bye", "ERR-008"),
    ],
)
def test_a_broker_that_answers_nothing_is_not_wrong_about_everything(play, silent: str, rule: str) -> None:
    """A wedged GarageMQ broke QOS-014 without any limit, and TX-004 without any commit."""
    assert rule not in play(f"@queue q \n @open 1 \n {silent} \n - deadline replies").broken


def test_a_close_may_mean_the_first_of_two_alike(play) -> None:
    """RQ-011, AUTO-009: LavinMQ closed over nack(0, multiple), and what was published before nack(0) was gone."""
    alike = """
        @queue q
        @open 1
        1 > nack 0 {}
        1 > publish q m1
        1 > nack 0 requeue
        1 < closed 406 60 120 PRECONDITION_FAILED - unknown delivery tag 0
        1 > closed-ok
        @open 2
        2 > get q
        2 < get-empty
        - deadline drain q
    """
    assert play(alike.format("multiple")).broken == []
    assert "RQ-011" in play(alike.replace("1 > nack 0 {}", "")).broken


def test_who_offers_no_heartbeats_need_not_miss_them(play) -> None:
    """AUTO-005: it speaks of heartbeats that were negotiated. Where the broker's tune says 0, it is left open whether
    the client's word makes them so; with any other number the broker has asked for them itself."""
    silent = "0 < start \n 0 < tune heartbeat={} \n 0 > tune-ok heartbeat=2 \n @queue q \n - still c"
    assert play(silent.format(0)).broken == []
    assert play(silent.format(60)).broken == ["AUTO-005"]
    early = silent.replace("- still c", "- wait 1 \n - end c fin")
    assert play(early.format(0)).broken == ["AUTO-005"]


REJECTED = "@queue q \n @stock q m1 m2 m3 \n @hold 1 q m1 m2 \n @open 2 \n "
NAMED = "0 < kicked 541 60 90 INTERNAL_ERROR"


@pytest.mark.parametrize(
    ("sent", "broken"),
    [
        ("1 > reject 1 requeue \n 1 > ack 5 multiple", []),
        ("2 > reject 1 requeue \n 1 > ack 5 multiple", ["ERR-003", "ERR-004"]),
        ("1 > ack 5 multiple \n 2 > reject 1 requeue", ["ERR-002", "ERR-004"]),
        ("1 > ack 5 multiple", ["ACK-010", "ERR-004"]),
    ],
)
def test_a_close_that_names_another_settlement_speaks_of_that(play, sent: str, broken: list[str]) -> None:
    """ACK-010: a broker that fails at every reject has not failed at what was wrong beside it."""
    assert play(f"{REJECTED}{sent} \n {NAMED}").broken == broken


TWICE = """
    1 > open
    1 > close
    1 > open
    {}
    1 < open-ok
    1 < close-ok
    1 < open-ok
"""


def test_a_number_may_be_opened_again_before_anything_is_answered(play) -> None:
    """ERR-006, ERR-013: each answer belongs to the next life of the channel that waits for it."""
    assert play(TWICE.format("")).broken == []
    assert play(TWICE.format("1 > flow") + "1 < flow-ok").broken == []
    assert play(TWICE.format("1 > close") + "1 < close-ok").broken == []
    assert play(TWICE.format("1 > close") + "1 < close-ok \n 1 < open-ok").broken == ["ERR-006"]


TWO_CLOSE = """
    @queue q quorum
    @stock q m1 m2 m3
    @open 1
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    1 < deliver c1 2 m2 q
    1 < deliver c1 3 m3 q
    @open 3
    {}
    1 > close
    3 > close
    1 < close-ok
    3 < close-ok
    @open 7
    7 > get q no_ack
    7 < get-ok 1 m2 q redelivered
    7 > get q no_ack
    7 < get-ok 2 m3 q redelivered
    7 > get q no_ack
    7 < get-ok 3 m1 q redelivered
"""


def test_what_a_close_gives_back_may_go_through_a_consumer_that_ends_as_well(play) -> None:
    """AUTO-001: RabbitMQ 3.8 gave what the first channel held to the consumer of the second, which closed in the same
    write. That all messages are there when the first one is got does not tell where they have been."""
    assert play(TWO_CLOSE.format("@consume 3 q c3"), "rabbitmq-3.8").broken == []
    assert play(TWO_CLOSE.format(""), "rabbitmq-3.8").broken == ["AUTO-001"]


MISUSED = """
    @queue q
    @open 1
    @open 2
    1 > declare q x-max-length=9
    1 < closed 406 50 10 PRECONDITION_FAILED
    1 > closed-ok
    {}
    2 > declare q
    0 < kicked 504 50 10 CHANNEL_ERROR
"""


def test_a_method_on_a_closed_channel_explains_the_end_of_the_connection(play) -> None:
    """QUEUE-003: another channel declares something at the same time, and is not meant."""
    assert play(MISUSED.format("1 > declare r")).broken == []
    assert play(MISUSED.format("")).broken == ["QUEUE-003"]


RECOVERED = """
    @queue q
    @stock q m1
    @hold 1 q m1
    90 > delete q
    90 < delete-ok
    1 > recover requeue
    1 < recover-ok
    1 > nack 0 multiple
    0 < kicked 541 0 0 INTERNAL_ERROR
"""


def test_a_broker_that_fails_over_a_recover_does_so_later(play) -> None:
    """ACK-008: what is sent meanwhile is not to blame (docs/findings.md, A recover when the queue is gone)."""
    assert play(RECOVERED).broken == ["ERR-012"]
    assert play(RECOVERED.replace("1 > nack 0 multiple", "1 > declare p")).broken == ["ERR-012"]
    assert (
        "ACK-008"
        in play(
            RECOVERED.replace("1 > recover requeue", "1 > flow")
            .replace("recover-ok", "flow-ok")
            .replace("@hold 1 q m1", "@open 1")
        ).broken
    )
