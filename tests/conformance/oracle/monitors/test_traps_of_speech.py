"""Traps: lawful histories that a naive oracle takes for violations. Each was an alarm on a real broker once.

Here: what is said while something else is under way. Tags that are not known yet, confirms and replies in any order,
methods behind a mistake or behind a close.
"""

from __future__ import annotations

from tests.support.tables import test_no_finding

__all__ = ["test_no_finding"]

TEXT = "PRECONDITION_FAILED - unknown delivery tag"

TRAPS = {
    "replies out of order": """
        @queue q
        @open 1
        1 > consume q c1
        1 > qos 5
        1 > consume q c2
        1 < qos-ok
        1 < consume-ok c2
        1 < consume-ok c1
        1 > cancel c1
        1 > cancel c2
        1 < cancel-ok c2
        1 < cancel-ok c1
        - deadline replies
    """,
    "consume and close: consume-ok may never come": """
        @queue q
        @open 1
        1 > consume q c1
        1 > close
        1 < close-ok
        - deadline replies
    """,
    "tag 0 covers what is under way, and a later ack of that is refused": f"""
        @queue q
        @stock q m1
        @consume 1 q c1
        1 > ack 0 multiple
        1 < deliver c1 1 m1 q
        1 > ack 1
        1 < closed 406 60 80 {TEXT} 1
        1 > closed-ok
        @drain q
        - deadline drain q
    """,
    "tag 0 does not cover it, and a later ack is accepted": """
        @queue q
        @stock q m1
        @consume 1 q c1
        1 > ack 0 multiple
        1 < deliver c1 1 m1 q
        1 > ack 1
        @barrier 1
        @close 1
        @drain q
    """,
    "a multiple nack of tag 0 returns what is under way": """
        @queue q
        @stock q m1
        @consume 1 q c1
        1 > nack 0 multiple requeue
        @open 2
        2 > get q
        2 < get-ok 1 m1 q redelivered
        1 < deliver c1 1 m1 q
    """,
    "a tag above all that was read may be under way": """
        @queue q
        @stock q m1
        @consume 1 q c1
        1 > ack 1
        1 < deliver c1 1 m1 q
        @barrier 1
        @close 1
        @drain q
    """,
    "a tag above all that was read may be refused too": f"""
        @queue q
        @stock q m1
        @consume 1 q c1
        1 > ack 1
        1 < closed 406 60 80 {TEXT} 1
        1 > closed-ok
        @drain q m1
    """,
    "a multiple confirm passes over a number that was refused": """
        @queue q
        @open 1
        1 > confirm
        1 < confirm-ok
        1 > publish q m1
        1 > publish q m2
        1 > publish q m3
        1 < nack 2
        1 < ack 3 multiple
        - deadline replies
    """,
    "a single confirm with multiple set": """
        @queue q
        @open 1
        1 > confirm
        1 < confirm-ok
        1 > publish q m1
        1 < ack 1 multiple
        - deadline replies
    """,
    "confirms out of order": """
        @queue q
        @open 1
        1 > confirm
        1 < confirm-ok
        1 > publish q m1
        1 > publish q m2
        1 < ack 2
        1 < ack 1
        @drain q m1 m2
    """,
    "acknowledged, and the client breaks the connection at once": """
        @queue q
        @stock q m1 m2
        b:1 > open
        b:1 < open-ok
        b:1 > get q
        b:1 < get-ok 1 m1 q
        b:1 > ack 1
        - end b aborted
        @drain q m1 m2
    """,
    "a rolled back acknowledgement can be repeated": """
        @queue q
        @stock q m1
        @open 1
        1 > select
        1 < select-ok
        1 > get q
        1 < get-ok 1 m1 q
        1 > ack 1
        1 > rollback
        1 < rollback-ok
        1 > ack 1
        1 > commit
        1 < commit-ok
        @close 1
        @drain q
    """,
    "uncommitted acknowledgements go back": """
        @queue q
        @stock q m1
        @open 1
        1 > select
        1 < select-ok
        1 > get q
        1 < get-ok 1 m1 q
        1 > ack 1
        @close 1
        @drain q m1
    """,
    "an error that precedes the mistake": """
        @open 1
        1 > declare nowhere passive
        1 > ack 9
        1 < closed 404 50 10 NOT_FOUND - no queue 'nowhere'
        1 > closed-ok
    """,
    "recover may return what is under way": """
        @queue q
        @stock q m1 m2
        @consume 1 q c1
        1 < deliver c1 1 m1 q
        1 > recover requeue
        1 < deliver c1 2 m2 q
        1 < deliver c1 3 m1 q redelivered
        1 < deliver c1 4 m2 q redelivered
        1 < recover-ok
    """,
    "tag 0 covers what is under way, and the connection ends before that is read": """
        @queue q
        @stock q m1 m2
        b:1 > open
        b:1 < open-ok
        b:1 > consume q c1
        b:1 < consume-ok c1
        b:1 < deliver c1 1 m1 q
        b:1 > ack 0 multiple
        - end b aborted
        @drain q
        - deadline drain q
    """,
    "tag 0 covers a delivery that only another channel's publish made possible": """
        @queue q
        @consume 1 q c1
        @open 2
        1 > nack 0 multiple requeue
        2 > publish q m1
        2 > get q
        2 < get-ok 1 m1 q redelivered
        1 < deliver c1 1 m1 q
    """,
    "a tag that looks unknown belongs to a message that is published meanwhile": """
        @queue q
        @consume 1 q c1
        @open 2
        1 > ack 1
        1 > publish q m2
        2 > publish q m1
        1 < deliver c1 1 m1 q
        @barrier 1
        1 < deliver c1 2 m2 q
    """,
    "a method right behind our own close": """
        @open 1
        1 > close
        1 > flow
        1 > close
        1 < close-ok
        1 < close-ok
        - deadline replies
    """,
    "a method right behind our own close costs the connection": """
        @queue q
        @stock q m1
        @hold 1 q m1
        2 > open
        2 < open-ok
        2 > close
        2 > flow
        b:1 > open
        b:1 < open-ok
        b:1 > get q
        b:1 < get-ok 1 m1 q redelivered
        0 < kicked 504 20 20 CHANNEL_ERROR
    """,
    "the broker asks nothing back for a close that crosses": f"""
        @open 1
        1 > ack 9
        1 > close
        1 < closed 406 60 80 {TEXT} 9
        1 > closed-ok
        1 < close-ok
        @open 1
        @barrier 1
    """,
    "close and open in one write": """
        @queue q
        @stock q m1
        @consume 1 q c1
        1 > close
        1 > open
        1 < deliver c1 1 m1 q
        1 < close-ok
        1 < open-ok
        @hold 1 q m1
        - deadline replies
    """,
}


def test_everything_after_a_mistake_is_ignored_until_the_close_is_answered(play) -> None:
    book = play(f"""
        @queue q
        @stock q m1
        @hold 1 q m1
        1 > ack 9
        1 > ack 1
        1 > ack 1
        1 > publish q m2
        1 < closed 406 60 80 {TEXT} 9
        1 > ack 1
        1 > publish q m3
        1 > get q
        1 > closed-ok
        @open 1
        @drain q m1
    """)
    assert book.judge.judgement.findings == []
    assert book.exercised["ERR-006"] == 3
