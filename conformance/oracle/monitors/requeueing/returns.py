"""RQ rules that need more than one event: several receivers, counts of returns, and the delivery limit.

`model/candidate_orders.py` finds an order that explains what several receivers saw; here it is only asked. Counts are
compared if the history proves how often a message was returned. A message must be gone for good if it was certainly
returned once more than the limit allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.oracle.model.facts import Delivered, FoundEmpty
from conformance.oracle.model.records import DEAD, PUBLISHED, RECOVERED, RETURNED, WAITING, Copy
from conformance.oracle.monitors import fate
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges

PLACE, FRESH = "RQ-001", "RQ-006"
SHOWN = 3
"""This many messages that stand in front are named."""
DELIVERIES, ACQUIRED = "x-delivery-count", "x-acquired-count"


@judges(Delivered, "RQ-005")
def explained(fact: Delivered, notes: Notes) -> None:
    """Some order of takings and returns explains what all receivers have seen; where each return is to its place. What
    is not confirmed may be nowhere, and would explain another one."""
    if fact.explained is None or len(fact.queue.orders.owners) < 2 or not fact.queue.reentered:
        return
    notes.exercise("RQ-005")
    if not fact.explained:
        copy, waiting = fact.copy, _in_front(fact)
        if any(_of_one_owner(one, copy) for one in waiting):
            return
        waiting = waiting[:SHOWN]
        certain = not any(one.undecided for one in (*fact.queue.fresh.values(), *fact.queue.returned.values()))
        names = ", ".join(one.id for one in waiting) or "another"
        allowed = (
            f"a message that can be the first of the queue; no order of the publishes and returns puts {copy.id} first"
        )
        seen = f"{copy.id} is delivered, {names} not yet"
        witness = copy.published, copy.entered, *(one.published for one in waiting), *(one.entered for one in waiting)
        rules = dict.fromkeys(rule for one in (copy, *waiting) for rule in fate.settling(one.settlement))
        fresh = all(one.entry == PUBLISHED for one in (copy, *waiting))
        unless = (PLACE, *((FRESH,) if fresh else ()), *rules)
        if waiting:
            notes.suspect(waiting[0], "RQ-005", fact.event, allowed, seen, *witness, certain=certain, unless=unless)
        else:
            notes.find("RQ-005", fact.event, allowed, seen, *witness, certain=certain, unless=unless)


def _of_one_owner(waiting: Copy, copy: Copy) -> bool:
    """Has one channel returned both? Then nobody has competed, and their order is for the rules about returns."""
    first, second = waiting.holder, copy.holder
    return first is not None and second is not None and first.channel is second.channel


def _in_front(fact: Delivered) -> list[Copy]:
    """Messages that may well stand in front: returned ones, where the order is original only older ones."""
    queue, copy = fact.queue, fact.copy
    waiting = [one for one in (*queue.returned.values(), *queue.fresh.values()) if one is not copy]
    if queue.order == "original":
        waiting = [one for one in waiting if one.older_than(copy)]
    return waiting


@judges(Delivered, "RQ-015", again=True)
def competes_at_once(fact: Delivered, notes: Notes) -> None:
    """A returned message reaches one of several consumers that wait; that none gets it is judged as silence."""
    consumer, copy = fact.delivery.consumer, fact.copy
    if consumer is None or copy.entry not in (RETURNED, RECOVERED) or copy.place != WAITING:
        return
    if sum(receiver.consumer is not None for receiver in fact.queue.receivers) > 1:
        notes.exercise("RQ-015")


@judges(Delivered, "RQ-012")
def counters(fact: Delivered, notes: Notes) -> None:
    """The headers of a redelivery tell how often the message was out before. Without any, there is nothing to hold."""
    copy, queue = fact.copy, fact.queue
    if queue.kind != "quorum" or copy.place != WAITING or copy.indeterminate or copy.ambiguous:
        return
    if copy.miscounted or copy.unproven_return() or queue.unseen(copy) or _refusable(copy):
        return
    if copy.holder is not None and fate.by_other_channel(copy.holder) is not None:
        return
    told, reading = _counts_in_headers(fact), notes.profile.choices.get("delivery_counters", "always")
    when = "a redelivery" if copy.returns else "the first delivery"
    notes.report("RQ-012", f"{when}: " + (", ".join(sorted(told)) or "no count"))
    wanted = (
        {ACQUIRED: copy.returns, DELIVERIES: copy.failures}
        if reading == "acquired"
        else {
            DELIVERIES: copy.returns,
        }
    )
    if copy.returns and told:
        notes.exercise("RQ-012")
    if told and any(told.get(name, 0) != count for name, count in wanted.items()):
        notes.find(
            "RQ-012",
            fact.event,
            f"headers that say {_words(wanted)} of {copy.id}",
            f"they say {_words(told)}",
            copy.published,
            copy.entered,
            unless=fate.by_rollback(copy),
        )


def _refusable(copy: Copy) -> bool:
    """May the broker have refused what was to return it, over a gap, so that the end of the channel has?"""
    settlement = copy.settlement
    return settlement is not None and settlement.gap and not settlement.accepted


def _counts_in_headers(fact: Delivered) -> dict[str, int]:
    properties = fact.event.args.get("properties")
    headers = properties.get("headers") if isinstance(properties, Mapping) else None
    found: Mapping[str, Any] = headers if isinstance(headers, Mapping) else {}
    return {name: found[name] for name in (DELIVERIES, ACQUIRED) if isinstance(found.get(name), int)}


def _words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "nothing"


@judges(Delivered, "RQ-013", again=True)
def limit_ends_returns(fact: Delivered, notes: Notes) -> None:
    """Returned more often than the limit allows, a message is gone; until then it comes again."""
    copy, queue = fact.copy, fact.queue
    if copy.entry == DEAD and '"reason": "delivery_limit"' in fact.event.arguments:
        notes.report("RQ-013", "handed on to the dead letter queue")
    if copy.spent and not copy.indeterminate and copy.place != WAITING:
        held = copy.holder
        notes.find(
            "RQ-013",
            fact.event,
            f"{copy.id} is never delivered again: {_count(copy)}, with a limit of {queue.limit}",
            f"{copy.id} is delivered again",
            copy.published,
            copy.entered,
            held.seq if held else 0,
            certain=held is None or not held.orphan,
        )
    elif queue.limit is not None and copy.returns >= queue.limit > 0 and copy.place == WAITING:
        notes.exercise("RQ-013")


@judges(FoundEmpty, "RQ-013")
def spent_is_gone(fact: FoundEmpty, notes: Notes) -> None:
    """An empty queue agrees with every message that was returned too often."""
    for delivery in fact.queue.settled:
        if delivery.copy.spent:
            notes.exercise("RQ-013")


def _count(copy: Copy) -> str:
    counted = copy.queue.counted(copy)
    return f"returned {counted} times" + ("" if copy.queue.all_count else " that count")
