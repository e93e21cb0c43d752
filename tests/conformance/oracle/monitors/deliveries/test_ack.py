"""ACK: one sound and one broken history per rule."""

from __future__ import annotations

import pytest

from tests.support.tables import test_broken, test_sound

__all__ = ["test_broken", "test_sound"]

U4 = "@queue q \n @stock q m1 m2 m3 m4 \n @hold 1 q m1 m2 m3 m4 \n"
TEXT = "PRECONDITION_FAILED - unknown delivery tag"
CANCELLED = """
    @queue q
    @stock q m1 m2
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    1 < deliver c1 2 m2 q
    1 > cancel c1
    1 < cancel-ok c1
"""
DELETED = """
    @queue q
    @stock q m1
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    b:1 > open
    b:1 < open-ok
    b:1 > delete q
    b:1 < delete-ok
    1 < cancel c1 no_wait
    1 > ack 1
"""
SOUND = {
    "ACK-001": U4 + "1 > ack 4 \n @close 1 \n @drain q m1 m2 m3",
    "ACK-002": U4 + "1 > ack 3 multiple \n @barrier 1 \n @close 1 \n @drain q m4",
    "ACK-003": "@queue q \n @queue r \n @queue s \n @stock q m1 \n @stock r m2 \n @stock s m3 \n @hold 1 q m1 \n"
    "@consume 1 r c1 \n 1 < deliver c1 2 m2 r \n 1 > get s \n 1 < get-ok 3 m3 s \n"
    "1 > ack 3 multiple \n @barrier 1 \n @close 1 \n @drain q \n @drain r",
    "ACK-004": U4 + "@stock q m5 \n @hold 2 q m5 \n 2 > ack 0 multiple \n @barrier 2 \n @close 1 \n"
    "@drain q m1 m2 m3 m4",
    "ACK-005": U4 + "1 > ack 2 \n 1 > ack 3 multiple \n @barrier 1 \n @close 1 \n @drain q m4",
    "ACK-006": U4 + "1 > ack 0 multiple \n @barrier 1 \n @close 1 \n @drain q",
    "ACK-007": "@open 1 \n 1 > ack 0 multiple \n @barrier 1",
    "ACK-008": "@open 1 \n 1 > nack 0 multiple requeue \n @barrier 1",
    "ACK-009": U4 + f"1 > nack 0 requeue \n 1 < closed 406 60 120 {TEXT} 0",
    "ACK-010": U4 + f"1 > ack 2 \n 1 > ack 2 multiple \n 1 < closed 406 60 80 {TEXT} 2",
    "ACK-011": U4 + "1 > nack 3 multiple requeue \n @hold 1 q m1 m2 m3 \n 1 > nack 0 multiple requeue \n"
    "@hold 1 q m1 m2 m3 m4 \n 1 > nack 10 multiple requeue \n @hold 1 q m1 m2 m3 \n"
    "1 > nack 0 multiple requeue \n @hold 1 q m1 m2 m3 m4",
    "ACK-012": U4 + "1 > reject 2 requeue \n 1 > nack 1 requeue \n @hold 1 q m1 m2 \n 1 > nack 3 \n 1 > reject 4 \n"
    "@barrier 1 \n @close 1 \n @drain q m1 m2",
    "ACK-013": U4 + "1 > ack 3 \n 1 > ack 1 \n 1 > ack 4 \n 1 > ack 2 \n @barrier 1",
    "ACK-014": """
        @queue q
        @stock q m1
        @consume 1 q c1
        1 > ack 0 multiple
        1 < deliver c1 1 m1 q
        @barrier 1
    """,
    "ACK-015": U4 + "1 > ack 1 \n 1 > reject 2 \n @barrier 1",
    "ACK-016": CANCELLED + "1 > ack 2 multiple \n @barrier 1",
    "ACK-017": DELETED + "@barrier 1",
    "ACK-018": U4 + "1 > ack 1 \n @close 1 \n @drain q m2 m3 m4",
    "ACK-019": U4 + "1 > reject 3 \n @barrier 1 \n @close 1 \n @drain q m1 m2 m4",
}
BROKEN = {
    "ACK-001": U4 + "1 > ack 4 \n @close 1 \n @drain q m3 \n - deadline drain q",
    "ACK-002": U4 + "1 > ack 3 multiple \n @barrier 1 \n @close 1 \n @drain q m3 m4",
    "ACK-003": "@queue q \n @queue r \n @stock q m1 \n @stock r m2 \n @hold 1 q m1 \n @hold 1 r m2 \n"
    f"1 > ack 2 multiple \n 1 < closed 406 60 80 {TEXT} 2",
    "ACK-004": U4 + "@stock q m5 \n @hold 2 q m5 \n 2 > ack 0 multiple \n @barrier 2 \n @close 1 \n"
    "@drain q \n - deadline drain q",
    "ACK-005": U4 + f"1 > ack 2 \n 1 > ack 3 multiple \n 1 < closed 406 60 80 {TEXT} 3",
    "ACK-006": U4 + f"1 > ack 0 multiple \n 1 < closed 406 60 80 {TEXT} 0",
    "ACK-007": f"@open 1 \n 1 > ack 0 multiple \n 1 < closed 406 60 80 {TEXT} 0",
    "ACK-008": f"@open 1 \n 1 > nack 0 multiple \n 1 < closed 406 60 120 {TEXT} 0",
    "ACK-009": U4 + "1 > ack 0 \n - deadline replies",
    "ACK-010": U4 + "1 > ack 2 \n 1 > ack 2 multiple \n @barrier 1 \n - deadline replies",
    "ACK-011": U4 + f"1 > nack 3 multiple requeue \n 1 < closed 406 60 120 {TEXT} 3",
    "ACK-012": U4 + "1 > reject 2 requeue \n @barrier 1 \n @open 2 \n 1 > get q \n 1 < get-empty",
    "ACK-013": U4 + f"1 > ack 3 \n 1 < closed 406 60 80 {TEXT} 3",
    "ACK-015": U4 + "1 > ack 1 \n 1 < ack 1",
    "ACK-016": CANCELLED + f"1 > ack 2 \n 1 < closed 406 60 80 {TEXT} 2",
    "ACK-017": DELETED + "0 < kicked 541 60 80 INTERNAL_ERROR",
    "ACK-018": U4 + "1 > ack 1 \n @close 1 \n @drain q m1",
    "ACK-019": U4 + "1 > reject 3 \n @barrier 1 \n @close 1 \n @drain q m4 \n - deadline drain q",
}


@pytest.mark.parametrize(
    ("found", "broken"),
    [
        ("get-empty", ["ACK-009"]),
        ("get-ok 1 m1 q redelivered", ["ACK-009", "ACK-019"]),
    ],
)
def test_a_reject_of_tag_0_that_is_ignored_has_settled_nothing(play, found: str, broken: list[str]) -> None:
    history = U4 + f"@open 2 \n 1 > reject 0 requeue \n 2 > get q \n 2 < {found} \n @barrier 1 \n - deadline replies"
    assert play(history).broken == broken


def test_the_answer_to_a_second_open_answers_no_settlement(play) -> None:
    """The scene opened a channel again that a wrong broker had not closed."""
    assert "ACK-015" not in play("@open 1 \n 1 > open \n 1 > ack 99 \n 1 < open-ok").broken


def test_a_single_loss_names_one_rule(play) -> None:
    assert play(BROKEN["ACK-001"]).broken == ["ACK-001"]


def test_the_finding_tells_what_was_allowed_and_observed(play) -> None:
    finding, *_ = play(BROKEN["ACK-007"]).judge.judgement.findings
    assert "ack(0, multiple)" in finding.allowed
    assert "406" in finding.observed
    assert "unknown delivery tag 0" in finding.observed
    assert len(finding.witness) == 2


@pytest.mark.parametrize(
    "reason",
    [
        "406 0 0 PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. Timeout value used: -1 ms",
        "404 50 10 NOT_FOUND - no queue 'x'",
        "320 0 0 CONNECTION_FORCED - broker forced connection closure",
    ],
)
def test_a_close_for_another_reason_is_not_blamed_on_a_settlement(play, reason: str) -> None:
    history = U4 + f"1 > declare x passive \n 1 > ack 1 \n 1 < closed {reason}"
    assert play(history, "rabbitmq-4.0").broken == []
