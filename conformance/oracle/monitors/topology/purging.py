"""QUEUE: a purge takes what is ready, all of it, and nothing else (QUEUE-019).

What was out with a client when its queue was purged comes back when it is returned. Where it does not, the purge is to
blame, and not whoever returned it: unless that rule is broken as well where nothing was purged.

    @hold 1 q m1             m1 is out
    90 > purge q
    90 < purge-ok
    @close 1                 m1 goes back to q
    @drain q m1              and without m1: broken
"""

from __future__ import annotations

from conformance.oracle.model.facts import Delivered, FirstDelivery, FoundEmpty, Missing
from conformance.oracle.model.records import RELEASED, Copy
from conformance.oracle.monitors import fate
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.requeueing.auto import of_end
from conformance.oracle.monitors.table import judges

SPARED, LAST, QUIET = "QUEUE-019", "QUEUE-015", "NOWAIT-004"


@judges(Delivered, SPARED, again=True)
def came_back(fact: Delivered, notes: Notes) -> None:
    """It was out with a client when the queue was purged, and was returned after that."""
    if returned(fact.copy):
        notes.exercise(SPARED)


@judges(Missing, SPARED)
def purged_as_well(fact: Missing, notes: Notes) -> None:
    """It is nowhere, after it was returned."""
    for copy in fact.copies:
        if fate.may_be_by_purge(copy):
            gone(fact, copy, "the queue was drained, and did not deliver it", notes, certain=returned(copy))


def gone(fact: Missing | FoundEmpty, copy: Copy, seen: str, notes: Notes, certain: bool = True) -> None:
    """A message is not in its queue that was out when this was purged."""
    allowed = f"{copy.id} in {fact.queue.name}: it was unacknowledged when that was purged"
    others = tuple(rule for rule in _others(copy) if rule != SPARED)
    held = [copy.holder.seq] if copy.holder is not None else []
    notes.find(SPARED, fact.event, allowed, seen, *held, fact.queue.purged, certain=certain, unless=others)


@judges(FirstDelivery, SPARED)
def left_behind(fact: FirstDelivery, notes: Notes) -> None:
    """It was in the queue when that was purged, and nobody could have it; now somebody gets it. Or it was another queue
    that was purged, by the empty name."""
    copy, queue = fact.copy, fact.queue
    if not queue.purged < queue.emptied < fact.since or not 0 < copy.confirmed < queue.purged:
        return
    if queue.deleted or copy.weathered or copy.ambiguous or copy.indeterminate:
        return
    allowed = f"nothing that was ready in {queue.name} when that was purged"
    seen = f"{copy.id}, which was confirmed before that"
    notes.find(SPARED, fact.event, allowed, seen, queue.purged, queue.emptied, unless=(LAST, QUIET))


def returned(copy: Copy) -> bool:
    """Was it delivered before the purge, and certainly returned after it? What was settled in a transaction may have
    been lost by its end."""
    held = copy.holder
    dealt = held is not None and held.settlement is not None and held.channel.transactional
    return fate.by_purge(copy) and not (copy.queue.purging or copy.indeterminate or dealt)


def _others(copy: Copy) -> list[str]:
    """The rules that speak of its loss where nothing was purged. What was settled in a transaction may have been back
    before the purge, where a broker does not wait for the commit."""
    held = copy.holder
    ends = of_end(held) if copy.entry == RELEASED and held is not None else ()
    early = fate.by_rollback(copy) if held is not None and held.settlement is not None else ()
    return [*(rule for _, rule, _ in fate.of_missing([copy])), *ends, *early]
