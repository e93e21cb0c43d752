"""AUTO: in which order, and to which place, the end of a channel returns what it held.

That is judged only while nobody else can have taken any of it: the receiver is alone, or the answer to a get counts all
messages that may be in the queue beside the one that it brings.
"""

from __future__ import annotations

from itertools import islice

from conformance.catalogue.profiles import AS_DELIVERED
from conformance.oracle.model.facts import Delivered
from conformance.oracle.model.records import RECOVERED, RELEASED, RETURNED, WAITING, Copy, Delivery
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.requeueing.auto import RULES, end_of
from conformance.oracle.monitors.requeueing.order import WINDOW
from conformance.oracle.monitors.table import judges

SORTED_UP_TO = 32
"""Erlang keeps maps of this many keys in their order, and larger ones in none."""
ORDERED = frozenset({"AUTO-001", "AUTO-004"})
"""Rules about ends that name the order of return, or that all is as after a close. Of the others IN_ORDER does."""
IN_ORDER = "AUTO-013"
COUNTING = "MODE-007"
"""What a count proves, it proves where the broker counts rightly."""
TELLING = 2
"""A count of so many says that they are there. Some brokers always say that one is."""


@judges(Delivered, "AUTO-001", "AUTO-004", IN_ORDER, again=True)
def in_order_of_delivery(fact: Delivered, notes: Notes) -> None:
    """Where returns are served in their order, what one consumer held comes back as it was delivered.

    What was got does so in the order that the profile says: to RabbitMQ's quorum queues each get is a consumer of its
    own, and they go through their consumers by name.
    """
    copy, queue = fact.copy, fact.queue
    held = copy.holder
    if held is None or not _released(copy) or queue.order != "returns-first" or queue.unordered:
        return
    counted = _all_there(fact)
    if queue.crowded(fact.receiver) and not counted:
        return
    end = RULES.get(end_of(held.channel), "AUTO-001")
    rule = end if end in ORDERED else IN_ORDER
    for waiting in islice(queue.returned.values(), WINDOW):
        before = waiting.holder
        if waiting is copy or waiting.entry != RELEASED or before is None or waiting.entered != copy.entered:
            continue
        certain = not _mingled(waiting) if counted else not queue.others(waiting.entered, fact.receiver)
        if _returns_before(before, held) and certain:
            notes.suspect(
                waiting,
                rule,
                fact.event,
                f"{waiting.id} before {copy.id}: {before.owner} had it first",
                f"{copy.id} is delivered, {waiting.id} not yet",
                before.seq,
                held.seq,
            )
            return
        if rule == IN_ORDER and _returns_before(held, before):
            notes.exercise(IN_ORDER)


@judges(Delivered, IN_ORDER, again=True)
def in_its_place_after_a_loss(fact: Delivered, notes: Notes) -> None:
    """Where messages go back to their place, those of a lost channel do so, too: seen when an answer counts all."""
    copy, queue = fact.copy, fact.queue
    held = copy.holder
    if held is None or not _released(copy) or queue.order != "original" or queue.unordered or not _all_there(fact):
        return
    if RULES.get(end_of(held.channel), "AUTO-001") in ORDERED:
        return
    for waiting in islice(queue.returned.values(), WINDOW):
        before = waiting.holder
        if waiting is copy or before is None or not (_of_the_same(waiting, held) or _by_settlement(waiting, copy)):
            continue
        if waiting.older_than(copy):
            notes.suspect(
                waiting,
                IN_ORDER,
                fact.event,
                f"{waiting.id} before {copy.id}: it was in the queue first",
                f"{copy.id} is delivered, {waiting.id} not yet",
                before.seq,
                held.seq,
                unless=(COUNTING,),
            )
            return
        if copy.older_than(waiting):
            notes.exercise(IN_ORDER)


def _released(copy: Copy) -> bool:
    """Has the end of its channel returned it, as far as anybody can tell?"""
    return copy.entry == RELEASED and copy.place == WAITING and not (copy.indeterminate or copy.unowed)


def _of_the_same(waiting: Copy, held: Delivery) -> bool:
    """Has the end of the same channel returned it, and nobody else had it since?"""
    same = waiting.holder is not None and waiting.holder.channel is held.channel
    return same and _released(waiting) and not _mingled(waiting)


def _mingled(waiting: Copy) -> bool:
    """May somebody have had it, and have given it back, since the end of its channel returned it?"""
    consumer = waiting.holder and waiting.holder.consumer
    return waiting.queue.mingled(waiting.entered, consumer.receiver if consumer else None)


def _by_settlement(waiting: Copy, copy: Copy) -> bool:
    """Has a settlement returned it, and did no two consumers share the queue since these two left it?"""
    settled = waiting.entry in (RETURNED, RECOVERED) and not waiting.indeterminate
    return settled and not any(map(waiting.queue.contested, (waiting, copy)))


def _all_there(fact: Delivered) -> bool:
    """Does this answer to a get count all messages that may be in the queue beside the one that it brings? Then nobody
    else has taken any of them."""
    queue = fact.queue
    others = len(queue.fresh) + len(queue.returned) + len(queue.aside) - 1
    known = not (queue.opaque or queue.announced or queue.missed)
    return known and others >= TELLING and fact.event.args.get("message_count") == others


def _returns_before(before: Delivery, held: Delivery) -> bool:
    """Does the end of their channel certainly give the first one back before the other?"""
    if before.channel is not held.channel or before.owner != held.owner:
        return False
    if held.consumer is not None or held.copy.queue.semantics.gets_return == AS_DELIVERED:
        return before.tag < held.tag
    return 0 < held.crowd <= SORTED_UP_TO and str(before.tag) < str(held.tag)
