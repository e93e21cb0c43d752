"""RQ: the order in which messages come out.

The order is judged only if nobody but the receiver could have held the message that was passed over (`crowded`,
`others`), and only between messages of which the history proves which one was first in the queue.

That a message comes out in its turn proves something only if another message was there that a wrong broker would have
sent first. Which message that is depends on the fault. A broker that puts returned messages at the tail first sends
those that were ready before. One that puts them at the head first sends those that came back later. One that keeps the
order of return first sends those that came back earlier. One that reverses a batch first sends the rest of the batch.
So a rule about the place of returned messages is exercised only when all of these have waited.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from conformance.oracle.model.facts import Delivered
from conformance.oracle.model.records import PUBLISHED, RECOVERED, RELEASED, RETURNED, WAITING, Copy
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges

WINDOW = 32
"""This many messages that stand in front of a delivered one are looked at."""
READY, EARLIER, LATER, BATCH = "ready before", "returned earlier", "returned later", "returned with it"
"""What else has waited when a returned message came out in its turn."""
TO_ITS_PLACE = READY, EARLIER, LATER, BATCH
IN_ORDER_OF_RETURN = READY, LATER


@judges(Delivered, "RQ-001", "RQ-002", "RQ-003", "RQ-004", "RQ-006")
def order(fact: Delivered, notes: Notes) -> None:
    """Nothing is passed over that was certainly in front."""
    copy, queue = fact.copy, fact.queue
    if copy.place != WAITING or copy.indeterminate or copy.unowed or queue.unordered or queue.crowded(fact.receiver):
        return
    if copy.entry == PUBLISHED:
        _fresh(fact, notes)
    elif copy.entry in (RETURNED, RECOVERED, RELEASED):
        _returned(fact, notes)


def _fresh(fact: Delivered, notes: Notes) -> None:
    """A message that was never delivered comes out. Where its publish was not seen, nothing is known to be older."""
    copy, queue = fact.copy, fact.queue
    known, passed = copy.publisher is not None, False
    for other in islice(queue.fresh.values(), WINDOW if known else 0):
        if other is copy:
            passed = True
        elif passed:
            if copy.older_than(other):
                notes.exercise("RQ-006")
            break
        elif other.older_than(copy) and not queue.others(other.entered, fact.receiver):
            notes.suspect(
                other,
                "RQ-006",
                fact.event,
                f"{other.id} first: it was in the queue before {copy.id}",
                f"{copy.id} is delivered, {other.id} not yet",
                other.published,
                copy.published,
            )
            break
    if queue.order == "tail":
        return
    for waiting in islice(queue.returned.values(), WINDOW):
        ranked = queue.order != "original" or (known and waiting.older_than(copy))
        if ranked and _certainly_there(fact, waiting):
            rules = ("RQ-004", "RQ-001" if queue.order == "original" else "RQ-003")
            _passed_over(fact, waiting, rules, notes)
            break


def _returned(fact: Delivered, notes: Notes) -> None:
    """A message that was returned comes out again."""
    copy, queue = fact.copy, fact.queue
    original = queue.order == "original"
    for waiting in islice(queue.returned.values(), WINDOW):
        if waiting is copy:
            continue
        kin = _kin(waiting, copy)
        if _precedes(fact, waiting, kin, original) and not queue.others(waiting.entered, fact.receiver):
            as_delivered = kin == "RQ-002" and _first_of_batch(waiting, copy)
            rules = (*_of_place(fact), *((kin,) if as_delivered else ())) if original else (kin,)
            _passed_over(fact, waiting, rules, notes)
            return
    if copy.entry != RELEASED:
        _in_its_turn(fact, notes)


def _of_place(fact: Delivered) -> tuple[str, ...]:
    """The rule about the place of what was returned, unless the message may lawfully have come closer to the head."""
    return () if fact.queue.contested(fact.copy) else ("RQ-001",)


def _in_its_turn(fact: Delivered, notes: Notes) -> None:
    """It passed over nothing. Which of those that wait would a wrong broker have sent first?"""
    copy, queue = fact.copy, fact.queue
    parts = {part for one in islice(queue.returned.values(), WINDOW) for part in _overtaken(fact, one)}
    if any(0 < one.proof < copy.entered for one in islice(queue.fresh.values(), WINDOW)):
        parts.add(READY)
    if BATCH in parts:
        notes.exercise("RQ-002")
    if READY in parts and queue.order != "tail":
        notes.exercise("RQ-004")
    if queue.order == "tail":
        notes.exercise(*(["RQ-003"] if LATER in parts else []))
        return
    rule, all_parts = ("RQ-001", TO_ITS_PLACE) if queue.order == "original" else ("RQ-003", IN_ORDER_OF_RETURN)
    for part in parts.intersection(all_parts):
        notes.show(rule, part, all_parts)


def _overtaken(fact: Delivered, waiting: Copy) -> Iterator[str]:
    """How a returned message that waits stands to the one that came out, in whose place a wrong broker would have
    sent it."""
    copy, queue = fact.copy, fact.queue
    if waiting is copy or not queue.there(waiting, fact.channel, fact.since):
        return
    if _kin(waiting, copy) == "RQ-002" and _first_of_batch(copy, waiting):
        yield BATCH
    original = queue.order == "original"
    if copy.older_than(waiting) and _back_before(waiting, copy) and original:
        yield EARLIER
    if _back_before(copy, waiting) and (copy.older_than(waiting) if original else waiting.older_than(copy)):
        yield LATER


def _back_before(first: Copy, second: Copy) -> bool:
    """Was the first one returned before the other: by the same channel, or proven before the other was sent?"""
    return (_kin(first, second) == "RQ-003" and first.entered < second.entered) or 0 < first.proof < second.entered


def _kin(waiting: Copy, copy: Copy) -> str:
    """How two returned messages belong together: in one batch of one owner, or returned by one channel; or not.

    Of the settlements that one commit carries out it is not known which of them is in effect already.
    """
    first, second = waiting.holder, copy.holder
    if first is None or second is None or first.channel is not second.channel:
        return ""
    if RELEASED in (waiting.entry, copy.entry):
        return ""
    if waiting.entered != copy.entered:
        return "RQ-003"
    if first.settlement is not second.settlement:
        return ""
    return "RQ-002" if first.owner == second.owner else ""


def _precedes(fact: Delivered, waiting: Copy, kin: str, original: bool) -> bool:
    """Was the waiting one certainly in front when the other was taken?"""
    copy = fact.copy
    if original:
        if not waiting.older_than(copy):
            return False
        return _returned_first(waiting, copy, kin) or fact.queue.there(waiting, fact.channel, fact.since)
    if kin == "RQ-002":
        return _first_of_batch(waiting, copy)
    return kin == "RQ-003" and waiting.entered < copy.entered


def _returned_first(waiting: Copy, copy: Copy, kin: str) -> bool:
    """Was the waiting one back no later? One owner's batch returns as one; to RabbitMQ each get is an owner."""
    if kin == "RQ-002":
        return (waiting.holder is not None and waiting.holder.consumer is not None) or _first_of_batch(waiting, copy)
    return kin == "RQ-003" and waiting.entered < copy.entered


def _first_of_batch(waiting: Copy, copy: Copy) -> bool:
    assert waiting.holder is not None
    assert copy.holder is not None
    return waiting.holder.tag < copy.holder.tag


def _certainly_there(fact: Delivered, waiting: Copy) -> bool:
    return fact.queue.there(waiting, fact.channel, fact.since) and not fact.queue.others(waiting.entered, fact.receiver)


def _passed_over(fact: Delivered, waiting: Copy, rules: tuple[str, ...], notes: Notes) -> None:
    copy = fact.copy
    state = "had never been delivered" if copy.entry == PUBLISHED else "was returned as well"
    allowed = f"{waiting.id} first: it had been returned and stands in front of {copy.id}"
    settlement = waiting.settlement
    together = settlement is not None and settlement.multiple and settlement.method == "basic.nack"
    for rule in rules:
        notes.suspect(
            waiting,
            rule,
            fact.event,
            allowed,
            f"{copy.id}, which {state}, is delivered, {waiting.id} not yet",
            waiting.entered,
            copy.entered,
            waiting.published,
            copy.published,
            unless=("ACK-011",) if together else (),  # then it may never have been returned
        )
