"""MODE-007 and MODE-008: what the broker says about the number of messages, compared with what it says and does next.

If two answers disagree, the model tells which of them is wrong. If the model agrees with neither, a fault of another
kind has added or removed messages, and nothing is certain.
"""

from __future__ import annotations

from conformance.oracle.model.facts import Counted
from conformance.oracle.monitors import fate
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges

READY, REMOVED = "MODE-007", "MODE-008"
PURGED = "QUEUE-019"


@judges(Counted, READY, REMOVED)
def counted(fact: Counted, notes: Notes) -> None:
    """An answer to get, declare, purge or delete, and the one before it."""
    method, count, expected, due = fact.event.method, fact.count, fact.expected, fact.due
    removes = method in ("queue.purge-ok", "queue.delete-ok")
    if count == expected:
        notes.exercise(REMOVED if removes and count else READY)
        return
    if method == "queue.delete-ok" and due == expected < count <= expected + fact.queue.held:
        return  # what is out goes as well: the text does not say whether it counts
    left, before = max(expected, 0), f"the answer before (message {fact.by})"
    allowed, observed = f"{method} with {left}, as follows from {before}", f"it says {count}"
    if method == "basic.get-empty":
        allowed, observed = f"basic.get-ok: by {before}, the queue still has {left}", "it finds none"
    if due == expected and method == "basic.get-empty":
        return  # messages that are not to be had: not the count is wrong
    earlier = due == count
    rule = REMOVED if removes and not earlier else READY
    certain = earlier or (due == expected and (removes or count > expected))
    if count > expected and fact.queue.held and not (earlier or removes):
        certain = False  # what somebody holds may have come back unseen
    others = (*_of_settled(fact), *_of_purge(fact)) if count > expected else ()
    notes.find(rule, fact.event, allowed, f"{method}: {observed}", fact.by, certain=certain, unless=others)


def _of_settled(fact: Counted) -> tuple[str, ...]:
    """The rules by which messages have been taken out of the queue since the answer before."""
    since = (one.settlement for one in fact.queue.settled if one.settlement and one.settlement.seq > fact.by)
    return tuple(dict.fromkeys(rule for settlement in since for rule in fate.settling(settlement)))


def _of_purge(fact: Counted) -> tuple[str, ...]:
    """The rule by which a purge has taken messages, if that was what was answered before: they may still be there."""
    return (PURGED,) if 0 < fact.queue.cleared == fact.by else ()
