"""What a settlement of the client means at the moment when it is sent.

The broker must accept it, must refuse it, or may do either. Only what is certain is claimed: a tag above all that the
client has read may belong to a delivery that is under way. After a multiple with tag 0, so may any tag that comes
before the next answer.
"""

from __future__ import annotations

from conformance.history.events import Event
from conformance.oracle.model import memory
from conformance.oracle.model.connections import endings, requests
from conformance.oracle.model.connections.channels import FAILING, ChannelLife
from conformance.oracle.model.consumers import timeouts, windows
from conformance.oracle.model.doubts import races
from conformance.oracle.model.queues import dropping
from conformance.oracle.model.records import EITHER, GONE, RETURNED, Delivery, Settlement

SETTLING = frozenset({"basic.ack", "basic.nack", "basic.reject"})
SIGNED_LIMIT = 1 << 63


def settlement_of(event: Event, channel: ChannelLife) -> Settlement:
    """The settlement in this event, judged against what the client knows."""
    tag, multiple = event.delivery_tag or 0, bool(event.multiple)
    requeue = "requeue" in event.flags
    settlement = Settlement(
        event.seq,
        event.method,
        event.method_id,
        tag,
        multiple,
        requeue,
        channel,
        covered=channel.covered(tag, multiple),
        outstanding=len(channel.unacked),
        time_ns=event.time_ns,
    )
    settlement.refusal = _refusal(settlement, channel)
    if settlement.refusal not in ("", EITHER) and channel.transactional:
        settlement.refusal = "TX-001"
    if multiple:
        settlement.gap = _gap(settlement, channel)
    elif settlement.covered:
        settlement.early = next(iter(channel.unacked)) != tag
    for delivery in settlement.covered:
        delivery.orphan = endings.orphaned(delivery)
        settlement.cancelled = settlement.cancelled or delivery.orphan
        settlement.deleted = settlement.deleted or delivery.copy.queue.deleted > 0
    return settlement


def _refusal(settlement: Settlement, channel: ChannelLife) -> str:
    tag = settlement.tag
    delivery = channel.unacked.get(tag)
    if delivery is not None:
        return EITHER if delivery.indeterminate or channel.indeterminate else ""
    if channel.indeterminate:
        return EITHER
    if tag == 0:
        if settlement.multiple:
            return ""
        return "ACK-009"
    if channel.adopted or tag in channel.strays or races.may_be_under_way(channel, tag):
        return EITHER
    if tag >= SIGNED_LIMIT:
        return "TAG-009"
    if settlement.multiple:
        return "ACK-010"
    known = channel.deliveries.get(tag)
    if known is None and tag <= channel.forgotten:
        return EITHER
    return _spent(known) if known is not None else _foreign(tag, channel)


def _spent(delivery: Delivery) -> str:
    """Why a tag that was delivered here cannot be settled."""
    if delivery.indeterminate:
        return EITHER
    if delivery.no_ack:
        return "MODE-006"
    if delivery.recovered:
        return "RQ-014"
    again = delivery.copy.holder
    if again is not None and again is not delivery and again.channel is delivery.channel:
        return "TAG-008"
    return "ERR-001"


def _foreign(tag: int, channel: ChannelLife) -> str:
    """Why a tag that was never delivered here cannot be settled."""
    if tag <= channel.former_tag:
        return "TAG-007"
    for other in channel.connection.channels.values():
        if other is not channel and tag in other.unacked:
            return "ERR-003"
    return "ERR-002"


def _gap(settlement: Settlement, channel: ChannelLife) -> bool:
    """Does it pass over tags that are settled already?"""
    covered = settlement.covered
    if not covered:
        return False
    return covered[-1].tag - channel.first_tag + 1 > len(covered)


def apply(settlement: Settlement, channel: ChannelLife) -> None:
    """What the client knows after sending it."""
    channel.last_settlement = settlement
    channel.gave_back = settlement.seq if settlement.requeue else channel.gave_back
    if settlement.refusal == EITHER:
        endings.blur(channel)
        channel.unproven.append(settlement)
        memory.settled(channel)
        return
    if settlement.refusal:
        channel.settlement_error = requests.refusal(settlement)
        channel.state = FAILING
        endings.release(channel, settlement.seq)
        return
    channel.settlements += 1
    channel.unproven.append(settlement)
    memory.settled(channel)
    if settlement.covered and not channel.transactional:
        windows.settling(channel)
    if settlement.multiple:
        channel.last_multiple = settlement
        if settlement.tag == 0:
            races.begin(channel, settlement)
    else:
        channel.last_single = settlement
        if channel.highest_single is None or channel.highest_single.tag < settlement.tag:
            channel.highest_single = settlement
    for delivery in settlement.covered:
        release(delivery, settlement)
    if channel.transactional:
        channel.uncommitted.append((settlement, settlement.covered))
    else:
        for delivery in settlement.covered:
            carry_out(delivery, settlement)
            windows.given_back(delivery, settlement, settlement.seq)
    timeouts.settled(settlement)


def ignored(channel: ChannelLife, event: Event) -> None:
    """It comes after a mistake, and has no effect. A broker that carries it out loses what it names."""
    tag, multiple = event.delivery_tag or 0, bool(event.multiple)
    for copy in channel.released if "requeue" not in event.flags else ():
        held = copy.holder
        named = held is not None and (held.tag == tag or (multiple and (not tag or held.tag < tag)))
        if held is not None and held.channel is channel and named:
            held.ignored = held.ignored or event.seq


def turned_out(settlement: Settlement) -> None:
    """It might have been refused, and was taken: so what it covers was outstanding, and is no longer.

    Where its message is remains open. In a transaction it may be rolled back.
    """
    channel = settlement.channel
    if channel.transactional:
        return
    for delivery in settlement.covered:
        if channel.unacked.get(delivery.tag) is delivery:
            release(delivery, settlement)
            windows.given_back(delivery, settlement, settlement.seq)


def release(delivery: Delivery, settlement: Settlement) -> None:
    """The delivery is no longer outstanding."""
    delivery.channel.unacked.pop(delivery.tag, None)
    delivery.settlement = settlement


def carry_out(delivery: Delivery, settlement: Settlement, committed: int = 0) -> None:
    """The message is gone, or on its way back, by the settlement or by the commit that makes it final."""
    copy, queue, at = delivery.copy, delivery.copy.queue, committed or settlement.seq
    if timeouts.moves_nothing(delivery, settlement) or copy.holder is not delivery or copy.place == GONE:
        return
    discards = not settlement.requeue and settlement.method != "basic.ack"
    if copy.indeterminate:
        queue.unsettle(copy, indeterminate=True)
        if discards:
            dropping.bury(queue, copy, settlement, at, certain=False)
        return
    if settlement.requeue:
        queue.back(copy, RETURNED, at, settlement)
        settlement.channel.await_proof(copy, at)
    else:
        queue.leave(copy, GONE)
        queue.settled_ns = max(queue.settled_ns, settlement.time_ns)
        copy.settlement = settlement
        queue.settled.append(delivery)
        if discards:
            dropping.bury(queue, copy, settlement, at)
