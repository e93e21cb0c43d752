"""Alarms that machines gave on real brokers, each cut down to what it took, with the order of things that was lawful.

They stand apart from the traps because each is about one rule: beside the lawful history there is the one that differs
in what matters, and breaks it.
"""

from __future__ import annotations

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
