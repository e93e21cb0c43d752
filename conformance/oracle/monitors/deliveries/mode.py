"""MODE, and every message that is seen where it must not be.

An unacked message belongs to its channel. A message that was settled, or delivered with no_ack, is gone. A message
that was published on a failed channel never existed. If such a message is seen, there may be many causes: `fate` names
the rule.
"""

from __future__ import annotations

from itertools import islice

from conformance.history.events import RESTARTED
from conformance.oracle.model.facts import Accepted, Delivered, FoundEmpty
from conformance.oracle.model.records import DEAD, GONE, OUT, VOID, WAITING, Copy, Delivery
from conformance.oracle.monitors import fate
from conformance.oracle.monitors.deliveries.ack import nacked_as_acked, single_took_effect
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.requeueing.order import WINDOW
from conformance.oracle.monitors.table import judges
from conformance.oracle.monitors.topology import route

BY_GET, BY_CONSUMER = "got", "consumed"
BOTH_WAYS = frozenset({"MODE-002", "ACK-003"})
"""Rules about deliveries of gets and to consumers alike."""
SINGLE_COPY = "ROUTE-009"
BEFORE_A_CLOSE = "ACK-018"
"""Who breaks this loses settlements to a close alone; who breaks the rule about the settlement needs none."""
AFTER_AN_END = frozenset({"ACK-016", "AUTO-006"})
"""Of settlements around the end of a consumer or a channel. That a settlement is final anywhere is said by others."""


@judges(
    Delivered,
    "MODE-002",
    "MODE-003",
    "MODE-004",
    "MODE-005",
    "ACK-002",
    "ACK-003",
    "ACK-006",
    "ACK-011",
    "ACK-012",
    "ACK-016",
    "ACK-018",
    again=True,
)
def settled_stays_away(fact: Delivered, notes: Notes) -> None:
    """What is settled is never delivered again from the same queue."""
    copy = fact.copy
    if copy.place != GONE or copy.indeterminate or copy.holder is None or copy.spent:
        return
    held = copy.holder
    how = f"settled by {held.settlement}" if held.settlement else "delivered with automatic acknowledgement"
    at = held.settlement.seq if held.settlement else 0
    plain = fate.settling(held.settlement) if held.settlement and held.settlement.multiple else (_of_single(held),)
    rules = fate.of_settled(held)
    alike = rules if BEFORE_A_CLOSE in rules else ()
    for rule in rules:
        notes.find(
            rule,
            fact.event,
            f"{copy.id} is never delivered again: it was {how}",
            f"{copy.id} is delivered again",
            held.seq,
            at,
            held.channel.closed_with,
            unless=(
                *(plain if rule in AFTER_AN_END else ()),
                *(one for one in alike if one != rule),
                *_by_several_ways(fact),
                *_by_restart(copy),
            ),
        )


def _of_single(held: Delivery) -> str:
    return "MODE-004" if held.settlement and held.settlement.method == "basic.ack" else "MODE-005"


def _by_restart(copy: Copy) -> tuple[str, ...]:
    """The rule that explains it where a restart came before: one that brings back what was settled may do so twice."""
    return ("DUR-017",) if copy.weathered == RESTARTED else ()


def _by_several_ways(fact: Delivered) -> tuple[str, ...]:
    """The rule that explains it where an exchange led the message there: it may have put there several copies."""
    publication = fact.copy.publication
    led = publication is not None and bool(publication.exchange)
    return (SINGLE_COPY,) if led and not fact.event.has("redelivered") else ()


@judges(Delivered, "MODE-001", "ACK-001", "ACK-004", "ACK-011", "ACK-016", "ACK-019", "TX-009")
def held_by_one(fact: Delivered, notes: Notes) -> None:
    """What is out is not delivered a second time."""
    copy = fact.copy
    if fact.queue.held and copy.place != OUT:
        notes.exercise("MODE-001")
    if copy.place != OUT or copy.indeterminate or copy.holder is None:
        return
    held = copy.holder
    rule = fate.of_doubled(copy)
    notes.find(
        rule,
        fact.event,
        f"{copy.id} stays with channel {held.channel.number} as tag {held.tag} until it is settled",
        f"{copy.id} is delivered a second time, as tag {fact.delivery.tag} on channel {fact.channel.number}",
        held.seq,
        certain=not held.channel.at_risk(),
        unless=(*fate.by_rollback(copy), *route.of_several_ways(copy, notes)) if rule == "MODE-001" else (),
    )


@judges(Delivered, "ERR-006", again=True)
def void_stays_void(fact: Delivered, notes: Notes) -> None:
    """What was published on a channel after a mistake is never delivered."""
    if fact.copy.place == VOID:
        publisher = fact.copy.publisher
        notes.find(
            "ERR-006",
            fact.event,
            f"{fact.copy.id} was published after a mistake that closes its channel: it is discarded",
            f"{fact.copy.id} is delivered",
            fact.copy.published,
            certain=publisher is not None and publisher.close_seen > 0,
        )


@judges(FoundEmpty, "MODE-001", "ERR-006", "RQ-011")
def nothing_there(fact: FoundEmpty, notes: Notes) -> None:
    """An empty queue agrees with everything that had to be gone, held or ignored."""
    queue = fact.queue
    if queue.held:
        notes.exercise("MODE-001")
    for delivery in queue.settled:
        if delivery.channel.over(fact.since) and not delivery.copy.spent:
            _stayed_away(delivery, notes)
    for _ in queue.voided:
        notes.exercise("ERR-006")
    if queue.declared and not (queue.held or queue.fresh or queue.returned):
        notes.exercise("RQ-011")


def _stayed_away(delivery: Delivery, notes: Notes) -> None:
    """Nothing has brought it back, not even the end of its channel."""
    settlement = delivery.settlement
    for rule in fate.of_settled(delivery):
        if rule in BOTH_WAYS:
            notes.show(rule, BY_GET if delivery.consumer is None else BY_CONSUMER, (BY_GET, BY_CONSUMER))
        elif rule == "ACK-012" and settlement is not None:
            single_took_effect(settlement, notes)
        elif rule == "ACK-011" and settlement is not None:
            if delivery.tag != settlement.tag:
                nacked_as_acked(settlement, notes)
        elif rule != "MODE-005" or (settlement is not None and settlement.method == "basic.reject"):
            notes.exercise(rule)


@judges(Accepted, "MODE-003")
def both_modes(fact: Accepted, notes: Notes) -> None:
    """A manual delivery can be settled on a channel that has automatic ones too."""
    settlement = fact.settlement
    if not settlement.refusal and settlement.covered and len(settlement.channel.modes) > 1:
        notes.exercise("MODE-003")


@judges(Delivered, "MODE-009", again=True)
def dead_letters_keep_their_order(fact: Delivered, notes: Notes) -> None:
    """What one channel discarded from one queue comes out of the next one in the order in which it was discarded."""
    copy, queue = fact.copy, fact.queue
    if copy.entry != DEAD or queue.unordered or queue.crowded(fact.receiver):
        return
    death = _death(copy)
    for other in islice(queue.fresh.values(), WINDOW):
        earlier = _death(other) if other is not copy else None
        if earlier is None or death is None or queue.others(other.entered, fact.receiver):
            continue
        if _before(earlier, death):
            notes.suspect(
                other,
                "MODE-009",
                fact.event,
                f"{other.id} before {copy.id}: it was discarded first",
                f"{copy.id} is delivered, {other.id} not yet",
                other.entered,
                copy.entered,
                unless=fate.settling(earlier.settlement),
            )
            return
        if _before(death, earlier):
            notes.exercise("MODE-009")
            return


def _death(copy: Copy) -> Delivery | None:
    """The delivery that was discarded, of a dead letter that waits for its first one. In which order a commit discards
    is the broker's business."""
    settlement = copy.settlement
    if copy.entry != DEAD or copy.place != WAITING or settlement is None or settlement.channel.transactional:
        return None
    if copy.indeterminate or copy.unowed or copy.ambiguous or copy.seen:
        return None
    died = [one for one in settlement.covered if one.message == copy.id]
    return died[0] if len(died) == 1 else None


def _before(first: Delivery, second: Delivery) -> bool:
    """Was it certainly discarded before the other: by an earlier settlement, or by one of both, and delivered before it
    to the same consumer?"""
    if first.channel is not second.channel or first.copy.queue is not second.copy.queue:
        return False
    if first.settlement is None or second.settlement is None:
        return False
    if first.settlement is second.settlement:
        return first.owner == second.owner and first.tag < second.tag
    return first.settlement.seq < second.settlement.seq
