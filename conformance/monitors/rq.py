"""RQ: the order in which messages come out, and the redelivered flag.

Order is judged only where nobody but the receiver could have held the message that was passed over (`crowded`,
`others`), and only between messages of which the history proves who was first in the queue.
"""

from __future__ import annotations

from itertools import islice

from conformance.events import METHOD, Event
from conformance.model.channels import Channel
from conformance.model.closing import ids_of
from conformance.model.facts import ClosedUnasked, ConnectionFailed, Delivered, FoundEmpty
from conformance.model.records import PUBLISHED, RECOVERED, RELEASED, RETURNED, WAITING, Copy
from conformance.monitors import fate
from conformance.monitors.ack import closing
from conformance.monitors.notes import Notes
from conformance.monitors.table import judges

RECOVERS = {(60, 100): "basic.recover-async", (60, 110): "basic.recover"}
INTERNAL_ERROR = 541
WINDOW = 32
"""So many messages that stand in front of a delivered one are looked at."""


@judges(Delivered, "RQ-008", "RQ-009")
def redelivered_flag(fact: Delivered, notes: Notes) -> None:
    """Set on every delivery but the first."""
    copy, marked = fact.copy, fact.delivery.redelivered
    if copy.ambiguous or copy.place != WAITING:
        return
    if copy.seen:
        notes.exercise("RQ-008")
        if not marked:
            assert copy.holder is not None
            notes.find("RQ-008", fact.event, f"redelivered: {copy.id} has been delivered before",
                       f"{fact.event.method} of {copy.id} without the flag", copy.holder.seq, copy.entered)
    elif not copy.shaky and not fact.queue.unseen(copy):
        notes.exercise("RQ-009")
        if marked and notes.profile.choices.get("redelivered") != "hint":
            notes.find("RQ-009", fact.event, f"no redelivered flag: {copy.id} has never been delivered",
                       f"{fact.event.method} of {copy.id} with the flag", copy.published)


@judges(Delivered, "RQ-001", "RQ-002", "RQ-003", "RQ-004", "RQ-006")
def order(fact: Delivered, notes: Notes) -> None:
    """Nothing is passed over that was certainly in front."""
    copy, queue = fact.copy, fact.queue
    if copy.place != WAITING or copy.shaky or copy.doubtful or queue.unordered or queue.crowded(fact.taker):
        return
    if copy.entry == PUBLISHED:
        _fresh(fact, notes)
    elif copy.entry in (RETURNED, RECOVERED, RELEASED):
        _returned(fact, notes)


def _fresh(fact: Delivered, notes: Notes) -> None:
    """A message that was never delivered comes out. Where its publish was not seen, nothing is known to be older."""
    copy, queue = fact.copy, fact.queue
    known = copy.publisher is not None
    if len(queue.fresh) > 1:
        notes.exercise("RQ-006")
    for earlier in islice(queue.fresh.values(), WINDOW if known else 0):
        if earlier is copy:
            break
        if earlier.older_than(copy) and not queue.others(earlier.entered, fact.taker):
            notes.suspect(earlier, "RQ-006", fact.event, f"{earlier.id} first: it was in the queue before {copy.id}",
                       f"{copy.id} is delivered, {earlier.id} not yet", earlier.published, copy.published)
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
    if queue.fresh and queue.order != "tail":
        notes.exercise("RQ-004")
    if original and len(queue.fresh) + len(queue.returned) > 1:
        notes.exercise("RQ-001")
    counted: set[str] = set()
    for waiting in islice(queue.returned.values(), WINDOW):
        if waiting is copy:
            continue
        kin = _kin(waiting, copy)
        if kin:
            counted.add(kin)
        if _precedes(fact, waiting, kin, original) and not queue.others(waiting.entered, fact.taker):
            rules = {"RQ-002", "RQ-001"} if original and kin == "RQ-002" else {"RQ-001" if original else kin}
            _passed_over(fact, waiting, tuple(sorted(rules)), notes)
            break
    notes.exercise(*(kin for kin in counted if kin == "RQ-002" or not original))


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
    return fact.queue.there(waiting, fact.channel, fact.since) and not fact.queue.others(waiting.entered, fact.taker)


def _passed_over(fact: Delivered, waiting: Copy, rules: tuple[str, ...], notes: Notes) -> None:
    copy = fact.copy
    state = "had never been delivered" if copy.entry == PUBLISHED else "was returned as well"
    allowed = f"{waiting.id} first: it had been returned and stands in front of {copy.id}"
    for rule in rules:
        notes.suspect(waiting, rule, fact.event, allowed,
                      f"{copy.id}, which {state}, is delivered, {waiting.id} not yet", waiting.entered, copy.entered,
                      waiting.published, copy.published)


@judges(Delivered, "RQ-007", "RQ-014", again=True)
def returns_come_again(fact: Delivered, notes: Notes) -> None:
    """What was returned reaches the sole consumer again; what was recovered comes again."""
    copy = fact.copy
    if copy.place != WAITING:
        return
    if copy.entry == RECOVERED:
        notes.exercise("RQ-014")
    elif copy.entry == RETURNED and copy.holder is not None:
        consumer = fact.delivery.consumer
        if consumer is not None and copy.holder.consumer is consumer and not fact.queue.crowded(fact.taker):
            notes.exercise("RQ-007")


@judges(FoundEmpty, "RQ-014", "ACK-011", "ACK-012")
def not_empty(fact: FoundEmpty, notes: Notes) -> None:
    """A queue is not empty while a message is certainly in it and nobody else may have taken it."""
    queue = fact.queue
    if queue.crowded(fact.taker):
        return
    for copy in [*islice(queue.fresh.values(), WINDOW), *islice(queue.returned.values(), WINDOW)]:
        if queue.may_be_spent(copy):
            continue
        if queue.there(copy, fact.channel, fact.since) and not queue.others(copy.entered, fact.taker):
            notes.find(fate.of_absent(copy), fact.event, f"get-ok: {copy.id} is in the queue", "get-empty",
                       copy.published, copy.entered, fact.since)
            return


@judges(ClosedUnasked, "RQ-014")
def recover_refused(fact: ClosedUnasked, notes: Notes) -> None:
    """The broker closed the channel over a recover with requeue. Without requeue it is another matter (ERR-009)."""
    if fact.suspect is None and fact.channel.connection.doom is None:
        _refused(fact.channel, fact.event, notes)


@judges(ConnectionFailed, "RQ-014")
def recover_costs_the_connection(fact: ConnectionFailed, notes: Notes) -> None:
    """It closed the connection over one; or it failed while nothing but a recover was to be done."""
    event = fact.event
    if event.kind != METHOD or fact.doom is not None or fact.doomed or fact.suspect is not None:
        return
    living = fact.connection.open_channels()
    for channel in living:
        if _refused(channel, event, notes):
            return
    busy = [channel for channel in living if channel.sent]
    failed = int(event.args.get("reply_code", 0)) == INTERNAL_ERROR and ids_of(event) == (0, 0)
    if failed and len(busy) == 1 and len(busy[0].sent) == 1:
        (ids,) = busy[0].sent
        if ids in RECOVERS:
            _blame(ids, busy[0], event, notes)


def _refused(channel: Channel, event: Event, notes: Notes) -> bool:
    """Does the close name a recover of this channel?"""
    ids = ids_of(event)
    if ids not in RECOVERS or ids not in channel.sent:
        return False
    _blame(ids, channel, event, notes)
    return True


def _blame(ids: tuple[int, int], channel: Channel, event: Event, notes: Notes) -> None:
    notes.find("RQ-014", event, f"{RECOVERS[ids]} with requeue is carried out", closing(event.args), channel.sent[ids])
