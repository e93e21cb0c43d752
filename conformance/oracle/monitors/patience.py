"""How late is too late, where a text says what must come and not how soon.

What is usually there by now, and is not, is no finding yet: another look is asked for (`Notes.look_again`), and scenes
take it. Only what is still not there then was not late but missing. A broker that looks after such things from time to
time, every half minute say, has had its turn by then.
"""

from __future__ import annotations

from conformance.oracle.monitors.notes import Notes

SECOND = 1_000_000_000
DEAD_LETTERS, DROPPED, LAPSED, LEFT = 10 * SECOND, 10 * SECOND, 60 * SECOND, 2 * SECOND
"""After so long dead letters have arrived, expired messages are no longer counted, queues that nobody uses are gone,
and queues know that a consumer has left. The guide gives no guarantee how promptly a queue goes."""


def too_late(asked: int, due: int, most: int, notes: Notes) -> bool:
    """Was the question sent so long after it was due? Else a look later would tell."""
    if asked >= due + most:
        return True
    notes.look_again(due + most)
    return False
