"""Which rule is broken when a message appears wrongly, or not at all.

A message is seen though it was settled, or is seen twice, or never. The fact is the same for several rules. Which rule
it breaks depends on what happened to the message before. This is decided here, once for all families.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.history.events import Event
from conformance.oracle.model.connections.endings import orphaned
from conformance.oracle.model.records import (
    DEAD,
    PUBLISHED,
    RECOVERED,
    RELEASED,
    RETURNED,
    RETURNED_LATE,
    Copy,
    Delivery,
    Settlement,
)

MANY = 32
"""From this many single settlements on, a quorum queue's channel may keep some in a buffer."""
LOSING = ("RQ-011", "CNF-010")
"""Who breaks one of these loses messages without any cause: where another rule speaks of its cause, that explains it as
well."""
TAKING = (*LOSING, "CNF-011")
"""Likewise where a full queue that must refuse seems to take a message: who confirms what such a queue rejects."""
WITHOUT_CAUSE = "ACK-013"
"""Who breaks this refuses settlements of outstanding deliveries, and nothing else that was done explains it."""
STAYING = ("CAN-009",)
"""Who breaks this goes on serving consumers whose cancel it has answered. So they keep what goes with its last one."""
_ENTRY_RULES = {PUBLISHED: "RQ-011", RECOVERED: "RQ-014", DEAD: "MODE-005", RETURNED_LATE: "TMO-006"}


def of_settled(delivery: Delivery) -> tuple[str, ...]:
    """The rules by which this delivery's message is gone for good."""
    settlement, timer = delivery.settlement, delivery.timer
    if delivery.copy.spent:
        return ("RQ-013",)
    if delivery.copy.stale_settlement is not None:
        return ("TMO-015",)
    if timer is not None and (timer.later or timer.spared) and not timer.stale:
        return ("TMO-010",) if timer.later else ("TMO-009",)
    if settlement is None:
        if delivery.copy.returns and delivery.channel.alive():
            return ("RQ-011",)
        return ("MODE-002", "MODE-003") if len(delivery.channel.modes) > 1 else ("MODE-002",)
    if _buffered(settlement, delivery):
        return ("ACK-018",)
    rules = _of_settlement(settlement, delivery)
    return (*rules, "ACK-018") if _sent_before_a_close(settlement) else rules


def _sent_before_a_close(settlement: Settlement) -> bool:
    """Did its client close the channel before it could know that it was accepted, and was not refused anything? What
    may have been refused is back for that, and the refusal may yet be read."""
    channel = settlement.channel
    closed, answered = channel.closed_with, channel.close_answered > 0 or not settlement.gap
    return closed > 0 and answered and not 0 < settlement.accepted < closed and not channel.close_seen


def _of_settlement(settlement: Settlement, delivery: Delivery) -> tuple[str, ...]:
    if delivery.orphan:
        return ("ACK-016",)
    if settlement.multiple:
        rule = _of_multiple(settlement, delivery)
        return (rule, "ACK-005") if rule == "ACK-002" and settlement.gap else (rule,)
    if settlement.method == "basic.ack":
        return ("MODE-004",)
    return ("MODE-005", "ACK-012")


def _of_multiple(settlement: Settlement, delivery: Delivery) -> str:
    if settlement.method == "basic.nack":
        return "ACK-011"
    if settlement.everything:
        return "ACK-006"
    named = settlement.covered[-1]
    return "ACK-002" if (named.queue, named.owner) == (delivery.queue, delivery.owner) else "ACK-003"


def settling(said: Event | Settlement | None) -> tuple[str, ...]:
    """The rules by which this settlement of the client takes messages out of their queues. A broker that breaks one of
    them has taken none, so where another rule speaks of what comes after it, that explains it as well."""
    if said is None:
        return ()
    if said.multiple:
        return ("ACK-002", "ACK-003", "ACK-006") if said.method == "basic.ack" else ("ACK-006", "ACK-011")
    return ("MODE-004",) if said.method == "basic.ack" else ("MODE-005", "ACK-012")


def _buffered(settlement: Settlement, delivery: Delivery) -> bool:
    """Was this one of so many that the channel may have kept it back, and was the channel closed then?"""
    channel = settlement.channel
    return channel.settlements >= MANY and channel.closed_with > 0 and delivery.copy.queue.kind != "classic"


def by_purge(copy: Copy) -> bool:
    """Was it out while its queue was purged, and returned after that? Where it is gone then, the purge has taken it, as
    far as is known: a rule about its return needs messages that no purge could take."""
    held, purged = copy.holder, copy.queue.purged
    return held is not None and held.seq < purged < copy.entered


def may_be_by_purge(copy: Copy) -> bool:
    """The same, where its delivery and the purge may have crossed."""
    held, queue = copy.holder, copy.queue
    return held is not None and 0 < queue.purged < copy.entered and not 0 < queue.cleared < held.seq


def by_rollback(copy: Copy) -> tuple[str, ...]:
    """Those that explain as well why a message comes while it is out: its channel may have rolled back."""
    return ("TX-002", "TX-016") if copy.holder is not None and copy.holder.channel.transactional else ()


def of_doubled(copy: Copy) -> str:
    """The rule that a message breaks which is delivered while it is out."""
    held = copy.holder
    if held is None:
        return "MODE-001"
    if copy.stale_settlement is not None:
        return "TMO-015"
    if held.timer is not None and (held.timer.later or held.timer.spared):
        return "TMO-010" if held.timer.later else "TMO-009"
    channel = held.channel
    if held.restored:
        return "TX-002"
    if held.settlement is not None and channel.transactional:
        return "TX-009"
    if by_namesake(held):
        return "MODE-001"
    if orphaned(held):
        return "ACK-016"
    if copy.settlement is not None and copy.settlement.multiple and copy.settlement.requeue:
        return "RQ-014" if copy.entry == RECOVERED else "ACK-011"
    if by_other_channel(held, requeue=True) is not None:
        return "ACK-004"
    single = channel.last_single
    if single is not None and single.requeue and single.seq > held.seq:
        return "ACK-019" if single.method == "basic.reject" else "ACK-001"
    multiple = channel.last_multiple
    if multiple is not None and multiple.requeue and multiple.seq > held.seq:
        return "ACK-011"
    return "MODE-001"


def of_absent(copy: Copy) -> str:
    """The rule that is broken when this message, which must be in its queue, is not."""
    settlement, publication = copy.settlement, copy.publication
    early = _of_its_holder(copy)
    if early is not None:
        return early
    spent = copy.queue.limit is not None and copy.returns >= copy.queue.limit > 0
    if spent and copy.entry == RETURNED_LATE:
        return "TMO-006"
    if copy.stale_settlement is not None:
        return "TMO-015"
    if spent:
        return "RQ-013"
    if copy.entry == PUBLISHED and copy.confirmed and publication is not None and len(publication.copies) > 1:
        return "CNF-010"
    if copy.entry == PUBLISHED and publication is not None and publication.committed:
        return "TX-010"
    if copy.entry in _ENTRY_RULES:
        return _ENTRY_RULES[copy.entry]
    if copy.entry == RETURNED and settlement is not None:
        error = settlement.channel.settlement_error
        if error is not None and error.settlement.tag == settlement.tag and not error.settlement.multiple:
            return ENDED if settlement.channel.close_seen else "ERR-001"
        return "ACK-011" if settlement.multiple else "ACK-012"
    return of_released(copy)[0]


def _of_its_holder(copy: Copy) -> str | None:
    """The rule that is broken by whoever kept it last, if that is plain."""
    held = copy.holder
    if copy.survives:
        return "CNF-013"
    if copy.aground is not None:
        return ENDED
    if held is not None and held.endangered is not None:
        return "TMO-021"
    if copy.entry == RELEASED and held is not None and held.ignored:
        return "ERR-006"
    return None


_OF_REACH = frozenset({"ACK-001", "ACK-002", "ACK-011", "ACK-019", "ERR-005"})
"""Rules by which a settlement may take no more than it reaches."""
_BESIDE_ENDS = frozenset({"RQ-013", "TX-002"})
"""Rules by which what a channel holds is seen by its return alone, whatever was settled on the channel."""
ENDED = "RQ-011"
"""The rule where nothing that was done on a channel explains what became of a message, but its end."""


def of_missing(copies: Sequence[Copy]) -> Iterator[tuple[Copy, str, bool]]:
    """Of messages that are nowhere: the rule that this breaks, and whether that is certain.

    What was held when its channel ended may have been lost by what was done on the channel before, or by the end. It
    was the end where that has returned nothing like it, and another message of the channel is missing that only it
    explains. Then the rule about such an end is broken (AUTO), and whether messages are lost in any other way is not
    known.
    That a consumer's mode is not its own is seen when it is settled, or comes back: one that is lost is lost. What is
    not confirmed nobody has promised to keep.
    """
    empty = {id(copy.holder.channel) for copy in copies if copy.holder is not None and lost_by_end(copy)}
    for copy in copies:
        rule = of_absent(copy)
        if copy.holder is not None and id(copy.holder.channel) in empty and copy.entry == RELEASED:
            yield copy, ENDED, by_namesake(copy.holder)
            if rule == "ERR-005":
                yield copy, rule, False
        elif rule == "MODE-003":
            yield copy, ENDED, True
            yield copy, rule, False
        else:
            yield copy, rule, not (_end_explains(copy, rule) or (copy.undecided and not copy.seen))


def _end_explains(copy: Copy, rule: str) -> bool:
    """Does a rule about something else speak of a message that the end of its channel may as well have lost, because
    that has returned nothing at all?"""
    held = copy.holder
    return rule in _BESIDE_ENDS and copy.entry == RELEASED and held is not None and kept_by_end(held)


def kept_by_end(held: Delivery) -> bool:
    """Has the end of its channel returned nothing that came as it did: by basic.get, or to a consumer? Brokers may know
    that a channel holds the one, and not the other."""
    channel = held.channel
    return not (channel.gets_back if held.consumer is None else channel.came_back - channel.gets_back)


def lost_by_end(copy: Copy) -> bool:
    """Has the end of its channel returned nothing like it, and was it out of reach of all that was settled before?"""
    held, rule = copy.holder, of_absent(copy)
    if held is None or copy.entry != RELEASED or not kept_by_end(held):
        return False
    if rule == ENDED:
        return True
    channel = held.channel
    error, single, multiple = channel.settlement_error, channel.highest_single, channel.last_multiple
    if rule not in _OF_REACH or by_other_channel(held) is not None:
        return False
    return not (
        (error is not None and held in error.settlement.covered)
        or (single is not None and single.tag > held.tag)
        or (multiple is not None and multiple.seq > held.seq and not 0 < multiple.tag < held.tag)
    )


def by_size(copy: Copy) -> tuple[str, ...]:
    """The rule that would explain the loss of a message that no queue has shown yet, by the size of its publish."""
    publication = copy.publication
    return ("CNF-026",) if copy.entry == PUBLISHED and publication is not None and publication.frames != 1 else ()


def by_loss(copy: Copy) -> tuple[str, ...]:
    """The rules that explain as well why nothing is there of what a transaction has published."""
    publication = copy.publication
    committed = copy.entry == PUBLISHED and publication is not None and bool(publication.committed)
    return tuple(rule for rule in LOSING if rule != of_absent(copy)) if committed else ()


def of_released(copy: Copy) -> tuple[str, ...]:
    """The rules by which a message that was never settled goes back when its channel ends; the likeliest first."""
    held = copy.holder
    if held is None:
        return ("RQ-011",)
    if held.settlement is not None and held.channel.transactional:
        return ("AUTO-006",)
    channel, rules = held.channel, ["TX-002"] if held.restored else []
    if by_namesake(held):
        return ("RQ-011",)
    if channel.settlement_error is not None and held in channel.settlement_error.settlement.covered:
        rules.append("ERR-005")
    highest = channel.highest_single
    if highest is not None and highest.tag > held.tag:
        rules.append("ACK-019" if highest.method == "basic.reject" else "ACK-001")
    if by_other_channel(held) is not None:
        rules.append("ACK-004")
    multiple = channel.last_multiple
    if multiple is not None and multiple.seq > held.seq:
        rules.append("ACK-002" if multiple.method == "basic.ack" else "ACK-011")
    if len(channel.modes) > 1:
        rules.append("MODE-003")
    if channel.last_single is not None and channel.last_single.seq > held.seq:
        rules.append("ACK-001")
    if channel.settlement_error is not None:
        rules.append("ERR-005")
    return (*rules, "RQ-011")


def left_alone(copy: Copy) -> tuple[str, ...]:
    """The rules that a message bears out which comes back when its channel has ended: those by which something that was
    done before, and that would have taken it for good if it had reached so far, has not."""
    held = copy.holder
    if held is None or (held.settlement is not None and held.channel.transactional) or by_namesake(held):
        return ()
    channel, rules = held.channel, ["TX-002", "RQ-011"] if held.restored else ["RQ-011"]
    error, highest, multiple = channel.settlement_error, channel.highest_single, channel.last_multiple
    if error is not None and not (held in error.settlement.covered and error.settlement.requeue):
        rules.append("ERR-005")
    if highest is not None and highest.tag > held.tag and not highest.requeue:
        rules.append("ACK-019" if highest.method == "basic.reject" else "ACK-001")
    elsewhere = by_other_channel(held, requeue=False)
    if elsewhere is not None and (elsewhere.tag == 0 or elsewhere.tag >= held.tag):
        rules.append("ACK-004")
    if multiple is not None and multiple.seq > held.seq and multiple.method == "basic.ack":
        rules.append("ACK-002")
    if len(channel.modes) > 1:
        rules.append("MODE-003")
    return tuple(rules)


def by_namesake(held: Delivery) -> bool:
    """Was a delivery settled meanwhile that came from a deleted queue of the same name?"""
    for last in (held.channel.last_single, held.channel.last_multiple):
        if last is not None and last.seq > held.seq and last.deleted:
            return any(one.queue == held.queue and one.copy.queue is not held.copy.queue for one in last.covered)
    return False


def has_namesake(settlement: Settlement) -> bool:
    """Has another consumer of the channel the tag of one that had what it settles?"""
    owners = [one.consumer for one in settlement.covered if one.consumer is not None]
    return any(settlement.channel.consumers.get(one.tag, one) is not one for one in owners)


def by_other_channel(held: Delivery, *, requeue: bool | None = None) -> Settlement | None:
    """A multiple settlement on another channel of the connection, sent while this delivery was out."""
    for other in held.channel.connection.channels.values():
        multiple = other.last_multiple
        if (
            other is not held.channel
            and multiple is not None
            and multiple.seq > held.seq
            and (requeue is None or multiple.requeue == requeue)
            and not held.channel.over(multiple.seq)
        ):
            return multiple
    return None


def of_refused(settlement: Settlement, *, failed: bool = False) -> str:
    """The rule by which the broker had to accept this settlement.

    `failed`: it did not take the tag for unknown, but could not cope. Then it has forgotten neither what was cancelled
    nor what another channel's settlement named."""
    ack = settlement.method == "basic.ack"
    if settlement.everything and not any(not delivery.indeterminate for delivery in settlement.covered):
        return "ACK-007" if ack else "ACK-008"
    if any(delivery.stale for delivery in settlement.covered):
        return "TMO-015"
    if _restored(settlement):
        return "TX-002"
    if settlement.deleted:
        return "ACK-017"
    if settlement.cancelled and not failed:
        return "ACK-016"
    if failed and _buries(settlement):
        return "ERR-012"
    if settlement.multiple:
        return _of_refused_multiple(settlement) if ack else "ACK-011"
    if failed and settlement.method == "basic.reject":
        return "ACK-019"
    if any(by_other_channel(delivery) is not None for delivery in settlement.covered) and not failed:
        return "ACK-004"
    return "MODE-003" if len(settlement.channel.modes) > 1 else WITHOUT_CAUSE


def refuses_any(settlement: Settlement, rule: str) -> tuple[str, ...]:
    """The rules that explain such a refusal as well: who refuses a lone settlement without any cause, for instance of
    what came by basic.get, needs none of the causes of which `rule` speaks. And what a rollback has restored may be
    refused by who forgets what cancelled consumers were sent."""
    forgets = ("ACK-016",) if settlement.cancelled and rule == "TX-002" else ()
    return (*forgets, WITHOUT_CAUSE) if settlement.covered and rule != WITHOUT_CAUSE else ()


def one_cause(settlement: Settlement, *, failed: bool = False) -> bool:
    """Is there no more than one thing about it that a broker may take amiss, or is the other in `refuses_any`?
    `failed`: as for `of_refused`."""
    restored = _restored(settlement)
    ended = (settlement.cancelled and not failed) or settlement.deleted
    several = settlement.deleted and restored
    return not several and sum((settlement.gap, settlement.everything, ended or restored)) < 2


def _buries(settlement: Settlement) -> bool:
    """Does it make a dead letter of something? That may be what the broker could not cope with, by whichever method."""
    ends = settlement.method != "basic.ack" and not settlement.requeue
    return ends and any(delivery.copy.queue.buries for delivery in settlement.covered)


def _restored(settlement: Settlement) -> bool:
    """Had a rollback made outstanding again what it covers?"""
    return any(0 < delivery.restored < settlement.seq for delivery in settlement.covered)


def _of_refused_multiple(settlement: Settlement) -> str:
    if settlement.everything:
        return "ACK-006"
    if settlement.gap:
        return "ACK-005"
    return "ACK-003" if settlement.owners > 1 else "ACK-002"
