"""AUTO: what becomes of outstanding deliveries when their channel ends, for whatever reason.

Each kind of end has its rule. A message that comes back exercises the rule of the end that released it; a message that
is nowhere breaks that rule. The time of the return is not judged, with two exceptions: a waiting consumer must get the
message, and close-ok may promise that it is back.
"""

from __future__ import annotations

from conformance.oracle.model.connections.channels import ChannelLife
from conformance.oracle.model.consumers.cancelling import CANCELLED
from conformance.oracle.model.facts import Delivered, DroppedSilently, FoundEmpty, Missing, StillThere
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.model.records import GONE, OUT, PUBLISHED, RELEASED, WAITING, Copy, Delivery
from conformance.oracle.monitors import fate
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges

RULES = {
    "close": "AUTO-001",
    "connection.close": "AUTO-002",
    "closed": "AUTO-003",
    "aborted": "AUTO-003",
    "fin": "AUTO-003",
    "reset": "AUTO-003",
    "error": "AUTO-004",
    "connection error": "AUTO-004",
    "heartbeat": "AUTO-005",
}
"""How a channel ended, and the rule by which it returned what it held."""
COMPLETE = "AUTO-010"
"""The rule of an end that returns some of what it should. One that has returned nothing breaks its own rule alone."""


BACK, STAYED = "goes back with the channel", "stays until then"
SETTLED = "stays settled"
IN_PARTS = {"AUTO-006": (SETTLED, BACK), "AUTO-008": (STAYED, BACK)}
"""Rules that say of an end that it returns some deliveries, and of others that it does not; or that it does so, and
nothing before it."""


def end_of(channel: ChannelLife) -> str:
    """How it ended. What it held may come back before its client reads the broker's close."""
    failing = channel.settlement_error is not None or channel.method_error is not None
    return channel.end or ("error" if failing else "")


def of_channel(channel: ChannelLife) -> list[str]:
    """The rule by which its end returns what it held."""
    how = end_of(channel)
    return [RULES[how]] if how in RULES else []


def of_end(held: Delivery) -> tuple[str, ...]:
    """The rules by which this delivery, unsettled when its channel ended, goes back."""
    channel, rules = held.channel, of_channel(held.channel)
    if held.settlement is not None and channel.transactional:
        rules.append("AUTO-006")
    if held.orphan:
        rules.append("AUTO-008")
    return tuple(rules)


@judges(Delivered, "AUTO-001", "AUTO-002", "AUTO-003", "AUTO-004", "AUTO-005", "AUTO-006", "AUTO-008", again=True)
def comes_back(fact: Delivered, notes: Notes) -> None:
    """Here it is again."""
    copy = fact.copy
    if copy.entry == RELEASED and copy.place == WAITING and copy.holder is not None and not copy.indeterminate:
        for rule in of_end(copy.holder):
            if rule in IN_PARTS:
                notes.show(rule, BACK, IN_PARTS[rule])
            else:
                notes.exercise(rule)
        if copy.holder.channel.discarding or not copy.holder.channel.end:
            notes.report("AUTO-004", "back before the client's close-ok")


@judges(Delivered, "AUTO-009", again=True)
def comes_back_unread(fact: Delivered, notes: Notes) -> None:
    """It was delivered ahead to somebody who never read it, as its flag says."""
    copy = fact.copy
    if copy.place == WAITING and not copy.seen and fact.delivery.redelivered and _ahead(copy):
        notes.exercise("AUTO-009")


def _ahead(copy: Copy) -> bool:
    """May it have been delivered, unread, to a channel that has ended?"""
    return copy.entry == PUBLISHED and len(copy.queue.losers) > 0 and copy.queue.unseen(copy)


@judges(Delivered, "AUTO-012", again=True)
def goes_to_who_waits(fact: Delivered, notes: Notes) -> None:
    """A consumer that was there all the time gets what another left behind."""
    copy, consumer = fact.copy, fact.delivery.consumer
    if (
        copy.entry == RELEASED
        and copy.place == WAITING
        and consumer is not None
        and copy.holder is not None
        and consumer.receiver.start < copy.entered
        and copy.holder.channel is not fact.channel
    ):
        notes.exercise("AUTO-012")


@judges(Missing, "AUTO-001", "AUTO-002", "AUTO-003", "AUTO-004", "AUTO-005", "AUTO-006", "AUTO-009", "AUTO-010")
def lost(fact: Missing, notes: Notes) -> None:
    """It is nowhere. The end of its channel should have returned it: certainly a fault of that end where nothing that
    was done on the channel explains it better, and else no evidence that the end does what it should."""
    by_rule: dict[tuple[str, bool], list[Copy]] = {}
    for copy in fact.copies:
        if copy.holder is not None and copy.holder.endangered is not None:
            continue  # a settlement of a stale delivery took it, before the end could return it
        if copy.aground is not None:
            continue  # it had come back, and went to another channel, which had failed
        if fate.may_be_by_purge(copy):
            continue  # the purge may have taken it while it was out
        certain = _by_its_end(copy)
        for rule in _of_lost(copy):
            by_rule.setdefault((rule, certain and not (rule == COMPLETE and fate.lost_by_end(copy))), []).append(copy)
    for (rule, certain), copies in by_rule.items():
        names = ", ".join(copy.id for copy in copies[:5]) + (", …" if len(copies) > 5 else "")
        notes.find(
            rule,
            fact.event,
            f"{names} in {fact.queue.name}: the channel that had it has ended",
            "the queue was drained, and did not deliver it",
            *(copy.entered for copy in copies[:5]),
            *(copy.holder.seq for copy in copies[:5] if copy.holder),
            certain=certain,
        )


def _by_its_end(copy: Copy) -> bool:
    """Is it certainly the end of its channel that has lost it? Of what a refused settlement named that may be doubted
    if the end has returned anything."""
    held, rule = copy.holder, fate.of_absent(copy)
    if fate.lost_by_end(copy) or (held is not None and held.settlement is not None and held.channel.transactional):
        return True
    return rule == fate.ENDED or (rule == "ERR-005" and held is not None and not _named(held))


def _named(held: Delivery) -> bool:
    """Did a refused settlement name it, and the end return what was not named?"""
    error = held.channel.settlement_error
    return error is not None and held in error.settlement.covered and held.channel.came_back > 0


def _of_lost(copy: Copy) -> tuple[str, ...]:
    """The rules by which it should be back."""
    held = copy.holder
    if held is not None and fate.by_namesake(held):
        return ()
    if copy.entry == RELEASED and held is not None and held.settlement is not None and held.channel.transactional:
        return ("AUTO-006",)
    if copy.entry == RELEASED and copy.holder is not None:
        return (*(rule for rule in of_end(copy.holder) if rule != "AUTO-008"), COMPLETE)
    if copy.entry == RELEASED or _ahead(copy):
        return ("AUTO-009",)
    return ()


@judges(Delivered, "AUTO-006", "AUTO-007", "AUTO-008", "AUTO-010", again=True)
def comes_back_wrongly(fact: Delivered, notes: Notes) -> None:
    """Settled, or delivered for good, before its channel ended; or held by a channel that lives."""
    copy = fact.copy
    held = copy.holder
    if held is None or copy.indeterminate or copy.place not in (GONE, OUT):
        return
    if copy.place == OUT:
        _doubled(fact, copy, held, notes)
    elif held.no_ack and copy.entry == RELEASED and not held.channel.end:
        _twice(fact, copy, held, notes)
    elif held.channel.end:
        _undone(fact, copy, held, notes)


def _doubled(fact: Delivered, copy: Copy, held: Delivery, notes: Notes) -> None:
    if copy.entry == RELEASED:
        _twice(fact, copy, held, notes)
    consumer = held.consumer
    if consumer is not None and consumer.asked and held.channel.alive():
        notes.find(
            "AUTO-008",
            fact.event,
            f"{copy.id} stays with channel {held.channel.number}, although its consumer {consumer.tag} was cancelled",
            f"{copy.id} is delivered",
            held.seq,
            consumer.asked,
        )


def _twice(fact: Delivered, copy: Copy, held: Delivery, notes: Notes) -> None:
    notes.find(
        "AUTO-010",
        fact.event,
        f"{copy.id} comes back once, as tag {held.tag} of channel {held.channel.number}",
        f"{copy.id} comes back a second time",
        held.seq,
        copy.entered,
        unless=("AUTO-008", "ACK-016") if held.consumer is not None and held.consumer.asked else (),
    )


def _undone(fact: Delivered, copy: Copy, held: Delivery, notes: Notes) -> None:
    if held.no_ack:
        notes.find(
            "AUTO-007",
            fact.event,
            f"{copy.id} was delivered with automatic acknowledgement",
            f"{copy.id} is delivered again after the end of its channel ({held.channel.end})",
            held.seq,
        )
    elif fate.of_settled(held) == ("MODE-004",):
        assert held.settlement is not None
        notes.find(
            "AUTO-006",
            fact.event,
            f"{copy.id} is never delivered again: it was settled by {held.settlement}",
            f"{copy.id} is delivered again after the end of its channel ({held.channel.end})",
            held.seq,
            held.settlement.seq,
        )


@judges(FoundEmpty, "AUTO-006", "AUTO-007", "AUTO-008", "AUTO-010")
def nothing_more(fact: FoundEmpty, notes: Notes) -> None:
    """An empty queue agrees with what was settled, and with all having come back."""
    queue = fact.queue
    for delivery in queue.settled:
        if delivery.channel.over(fact.since):
            if delivery.no_ack and delivery.consumer is not None:
                notes.exercise("AUTO-007")
            elif delivery.channel.transactional and not delivery.no_ack:
                notes.show("AUTO-006", SETTLED, IN_PARTS["AUTO-006"])
    if queue.held and _outlived(queue, fact.since):
        notes.show("AUTO-008", STAYED, IN_PARTS["AUTO-008"])
    if queue.declared and len(queue.losers) > 1 and not (queue.held or queue.fresh or queue.returned):
        notes.exercise("AUTO-010")


def _outlived(queue: Queue, since: int) -> bool:
    """Does a channel hold a message of it for a consumer that had been cancelled when this was sent?"""
    for copy in queue.copies.values():
        held = copy.holder
        if copy.place != OUT or copy.indeterminate or held is None or held.consumer is None:
            continue
        ended = held.channel.ended.get(held.consumer.tag)
        if ended is not None and ended.how == CANCELLED and held.seq < ended.at < since:
            return True
    return False


# -- how soon


@judges(Delivered, "AUTO-011", again=True)
def back_by_close_ok(fact: Delivered, notes: Notes) -> None:
    """A get that was sent after close-ok brings it."""
    copy = fact.copy
    by_get = fact.delivery.consumer is None
    if copy.entry == RELEASED and copy.place == WAITING and by_get and _answered(copy, fact.since):
        if copy.holder is not None and copy.holder.channel.end == "close":
            notes.exercise("AUTO-011")
        notes.report("AUTO-011", f"{_kind(copy)}: back by close-ok")


@judges(FoundEmpty, "AUTO-011")
def late_after_close_ok(fact: FoundEmpty, notes: Notes) -> None:
    """It finds nothing, although something must come back: if it ever does."""
    queue = fact.queue
    waiting = (copy for copy in queue.returned.values() if copy.entry == RELEASED and _answered(copy, fact.since))
    late = next(waiting, None)
    if late is None or queue.crowded(fact.receiver):
        return
    notes.report("AUTO-011", f"{_kind(late)}: not back by close-ok")
    if 0 < late.proof <= fact.since:
        notes.suspect(
            late,
            "AUTO-011",
            fact.event,
            f"get-ok: {late.id} was back when close-ok came",
            "get-empty",
            late.entered,
            late.proof,
        )


def _answered(copy: Copy, since: int) -> bool:
    """Had the client read close-ok for the channel that held it?"""
    return copy.holder is not None and 0 < copy.holder.channel.close_answered <= since


def _kind(copy: Copy) -> str:
    """Who had it: the broker treats them differently."""
    held = copy.holder
    if held is None or held.consumer is None:
        return f"{copy.queue.kind}, basic.get"
    return f"{copy.queue.kind}, {'cancelled' if held.orphan else 'live'} consumer"


@judges(DroppedSilently, "AUTO-005")
def not_too_early(fact: DroppedSilently, notes: Notes) -> None:
    """A silent client is given one interval at least. One that stood still, or was not heard because the broker stood
    still, may have been silent for longer than its last word says."""
    interval, silence = fact.connection.heartbeat, fact.silence
    if silence < interval and (not fact.calm or silence < interval / 10):
        return
    notes.exercise("AUTO-005")
    notes.report("AUTO-005", f"ended after {silence / interval:.0f} intervals")
    if silence < interval:
        notes.find(
            "AUTO-005",
            fact.event,
            f"the connection stays open for {interval} s of silence",
            "it ends before one heartbeat interval has passed",
        )


@judges(StillThere, "AUTO-005")
def not_never(fact: StillThere, notes: Notes) -> None:
    """And not for ever. A broker that has said that it wants no heartbeats may stand by that, whatever its client
    wants: some let the client decide, and no text says whether the two have agreed."""
    if fact.connection.heartbeat and not fact.connection.ended:
        notes.find(
            "AUTO-005",
            fact.event,
            "a client that falls silent loses its connection after about two intervals "
            f"of {fact.connection.heartbeat} s",
            "it goes on",
            certain=fact.connection.beats is not False,
        )
