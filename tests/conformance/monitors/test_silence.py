"""Deadlines that pass while several things are owed at once."""

from __future__ import annotations


def test_one_message_that_two_consumers_wait_for_is_one_finding(play) -> None:
    book = play("""
        @queue q
        @consume 1 q c1
        @consume 2 q c2
        @stock q m1
        - deadline replies
    """)
    assert book.broken == ["QOS-002"]
    assert len(book.judge.judgement.findings) == 1
