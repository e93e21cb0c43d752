"""Deadlines that pass while several things are owed at once, one because of the other."""

from __future__ import annotations


def test_a_message_that_waits_only_if_a_mistake_was_noticed_is_not_missed_as_well(play) -> None:
    """Channel 1 should have been closed and m1 given to c2; whether m1 ever went back is not known."""
    book = play("""
        @queue q
        @stock q m1
        @hold 1 q m1
        @consume 2 q c2
        1 > ack 9
        - deadline replies
    """)
    assert book.broken == ["ERR-002"]
