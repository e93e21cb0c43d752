"""TAG: one sound and one broken history per rule."""

from __future__ import annotations

import pytest

from tests.support.tables import test_broken, test_sound

__all__ = ["test_broken", "test_sound"]

SOUND = {
    "TAG-001": "@queue q \n @stock q m1 \n @hold 1 q m1",
    "TAG-002": "@queue q \n @stock q m1 \n @hold 1 q m1",
    "TAG-003": "@queue q \n @stock q m1 m2 \n @hold 1 q m1 m2",
    "TAG-004": "@queue q \n @stock q m1 m2 \n @open 1 \n 1 > consume q c1 no_ack \n 1 < consume-ok c1 \n"
    "1 < deliver c1 1 m1 q \n"
    "1 > get q \n 1 < get-ok 2 m2 q",
    "TAG-005": """
        @queue q
        @stock q m1 m2
        @hold 1 q m1
        @consume 1 q c1
        1 < deliver c1 2 m2 q
    """,
    "TAG-006": "@queue q \n @stock q m1 m2 \n @hold 1 q m1 \n @hold 2 q m2",
    "TAG-007": """
        @queue q
        @stock q m1 m2
        @hold 1 q m1 m2
        @close 1
        @open 1
        1 > ack 1
        1 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag 1
        1 > closed-ok
        @open 1
        @hold 1 q m1 m2
    """,
    "TAG-008": """
        @queue q
        @stock q m1
        @hold 1 q m1
        1 > nack 1 requeue
        @hold 1 q m1
        1 > ack 1
        1 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag 1
    """,
    "TAG-009": """
        @open 1
        1 > ack 18446744073709551615 multiple
        1 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag 18446744073709551615
    """,
    "TAG-010": """
        @queue q
        @open 1
        1 > confirm
        1 < confirm-ok
        @consume 1 q c1
        1 > publish q m1
        1 > publish q m2
        1 < deliver c1 1 m1 q
        1 < ack 2 multiple
        1 < deliver c1 2 m2 q
        1 > ack 2 multiple
    """,
}
BROKEN = {
    "TAG-001": "@queue q \n @stock q m1 \n @open 1 \n 1 > get q \n 1 < get-ok 7 m1 q",
    "TAG-002": "@queue q \n @stock q m1 \n @open 1 \n 1 > get q \n 1 < get-ok 0 m1 q",
    "TAG-003": "@queue q \n @stock q m1 m2 \n @hold 1 q m1 \n 1 > get q \n 1 < get-ok 1 m2 q",
    "TAG-004": "@queue q \n @stock q m1 m2 \n @hold 1 q m1 \n 1 > get q \n 1 < get-ok 3 m2 q",
    "TAG-005": "@queue q \n @stock q m1 m2 \n @hold 1 q m1 \n @consume 1 q c1 \n 1 < deliver c1 1 m2 q",
    "TAG-006": "@queue q \n @stock q m1 m2 \n @hold 1 q m1 \n @open 2 \n 2 > get q \n 2 < get-ok 2 m2 q",
    "TAG-007": """
        @queue q
        @stock q m1 m2
        @hold 1 q m1
        @close 1
        @open 1
        1 > get q
        1 < get-ok 2 m1 q redelivered
    """,
    "TAG-008": """
        @queue q
        @stock q m1
        @hold 1 q m1
        1 > nack 1 requeue
        1 > get q
        1 < get-ok 1 m1 q redelivered
    """,
    "TAG-009": """
        @open 1
        1 > ack 18446744073709551615
        1 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag -1
    """,
    "TAG-010": """
        @queue q
        @open 1
        1 > confirm
        1 < confirm-ok
        @consume 1 q c1
        1 > publish q m1
        1 < deliver c1 2 m1 q
    """,
}


@pytest.mark.parametrize(
    ("rule", "history"),
    [
        (
            "TAG-007",
            "@queue q \n @stock q m1 \n @hold 1 q m1 \n @close 1 \n @open 1 \n 1 > ack 1 \n - deadline replies",
        ),
        (
            "TAG-008",
            "@queue q \n @stock q m1 \n @hold 1 q m1 \n 1 > reject 1 requeue \n @hold 1 q m1 \n 1 > ack 1 \n"
            "- deadline replies",
        ),
        ("TAG-009", "@open 1 \n 1 > nack 0x8000000000000000 multiple requeue \n - deadline replies"),
    ],
)
def test_an_old_or_large_tag_must_be_refused(play, rule: str, history: str) -> None:
    assert rule in play(history).broken


def test_a_syntax_error_for_a_large_tag_costs_too_much(play) -> None:
    book = play("@open 1 \n 1 > ack 0x8000000000000000 \n 0 < kicked 502 60 80 SYNTAX_ERROR")
    assert book.broken == ["TAG-009", "ERR-004"]


def test_auto_ack_deliveries_are_numbered_as_well(play) -> None:
    book = play("""
        @queue q
        @stock q m1 m2
        @open 1
        1 > get q no_ack
        1 < get-ok 1 m1 q
        1 > get q
        1 < get-ok 1 m2 q
    """)
    assert "TAG-003" in book.broken
