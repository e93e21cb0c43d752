"""Which rule a wrong window breaks: one delivery too many, or one too few.

That a limit was passed, or not used up, is one fact with many causes. The rule is the one about the last thing that
happened to this window: it was set or shared, a slot was freed in one way or another, or it stayed the same while
others changed.
"""

from __future__ import annotations

from itertools import islice

from conformance.oracle.model.connections import endings
from conformance.oracle.model.connections.channels import LIVE, ChannelLife, Consumer
from conformance.oracle.model.consumers import windows
from conformance.oracle.model.consumers.windows import Window
from conformance.oracle.model.records import PUBLISHED, Copy, Delivery, Settlement
from conformance.oracle.monitors import fate

SEVERAL = 32
"""This many consumers of a queue are looked at."""
MIXED = 3
"""This many ways of giving slots back are a mixture."""
SETTLING_SEVERAL = ("ACK-002", "ACK-003", "ACK-006")
"""What a settlement of several takes; a broker that errs here keeps slots that should be free."""
FREEING_SEVERAL = ("QOS-012", "QOS-013")
"""How many slots that frees."""
GETS_COUNT, FORMER_COUNT = "QOS-015", "QOS-020"
"""Whoever counts gets may serve nobody, and frees a slot of others when one is settled."""


def of_settlement(settlement: Settlement, channel: ChannelLife) -> str:
    """The rule by which this settlement frees slots."""
    if channel.transactional:
        return "QOS-026"
    if settlement.requeue:
        return "QOS-018"
    if not settlement.multiple:
        return "QOS-010"
    return "QOS-013" if len({id(one.consumer) for one in settlement.covered if one.consumer}) > 1 else "QOS-012"


def roots(channel: ChannelLife, consumer: Consumer, rule: str) -> tuple[str, ...]:
    """Rules that explain a wrong window as well, where a broker has one for all that this channel does: it may count
    gets once there was one, let a new limit reach who runs, share one consumer's limit with the others, or forget one
    of two limits."""
    causes = {
        GETS_COUNT: channel.fetched,
        "QOS-003": bool(siblings(channel, consumer)),
        "QOS-004": meddled(channel, consumer),
        "QOS-007": consumer.limit and channel.shared.count,
    }
    return tuple(cause for cause, there in causes.items() if there and cause != rule)


def kept(channel: ChannelLife, consumer: Consumer, rule: str) -> tuple[str, ...]:
    """Rules that explain as well that a consumer with a limit is not served: slots that were given back are lost, or
    were never given back by a settlement of several, or are taken by what a cancelled consumer holds."""
    limited = [
        window for window, limit in ((consumer.window, consumer.limit), (channel.shared, channel.shared.count)) if limit
    ]
    if not limited:
        return ()
    leaks = dict.fromkeys(_of_leak(channel, window) for window in limited)
    several = {method for window in limited for method, multiple, _ in window.ways if multiple}
    freeing = () if rule in FREEING_SEVERAL or not several else FREEING_SEVERAL
    settling = (*(SETTLING_SEVERAL if several else ()), *(("ACK-011",) if "basic.nack" in several else ()))
    former = (FORMER_COUNT,) if consumer.limit and orphans(channel) else ()
    others = (*leaks, *settling, *freeing, *former, *roots(channel, consumer, rule))
    return tuple(other for other in others if other not in ("", rule))


def gets(channel: ChannelLife) -> int:
    """Deliveries of basic.get that are outstanding."""
    return sum(one.consumer is None for one in windows.held_by(channel)) if channel.fetched or channel.adopted else 0


def orphans(channel: ChannelLife) -> list[Delivery]:
    """Outstanding deliveries of consumers that have been cancelled, or are to be."""
    if len(channel.consumers) == channel.joined and all(one.state == LIVE for one in channel.consumers.values()):
        return []
    return [one for one in windows.held_by(channel) if endings.orphaned(one)]


def siblings(channel: ChannelLife, consumer: Consumer) -> list[Consumer]:
    """The other consumers of the channel that have deliveries outstanding."""
    return [other for other in channel.consumers.values() if other is not consumer and other.window.held > 0]


def reached_from_elsewhere(channel: ChannelLife) -> bool:
    """May a multiple settlement of another channel have taken what this one holds, if it reached so far (ACK-004)?"""
    return any(fate.by_other_channel(one) is not None for one in windows.held_by(channel))


def limited_elsewhere(channel: ChannelLife) -> list[ChannelLife]:
    """Other channels of the connection on which basic.qos was used."""
    others = channel.connection.channels.values()
    return [other for other in others if other is not channel and (other.prefetch_at or other.shared.since)]


def changed_since(channel: ChannelLife, consumer: Consumer) -> bool:
    """Was another limit for consumers set after this one was started?"""
    return channel.prefetch_at > consumer.receiver.start and channel.prefetch != consumer.limit


def meddled(channel: ChannelLife, consumer: Consumer) -> bool:
    """Was another limit set on the channel after this consumer was started? A broker that lets a new one reach what
    runs breaks QOS-004, and what comes of it may look like a breach of another rule."""
    return consumer.overruled or channel.shared.since > consumer.receiver.start


def followed(channel: ChannelLife, consumer: Consumer) -> bool:
    """Were slots given back since then? What comes of it may be owed to either."""
    freed = consumer.window.freed
    return changed_since(channel, consumer) and freed is not None and freed.settlement.seq > channel.prefetch_at


def abandoned(channel: ChannelLife, consumer: Consumer) -> bool:
    """Has nothing come since the limit was removed for others, although all is settled? No lost slot explains that."""
    window = consumer.window
    removed = changed_since(channel, consumer) and not channel.prefetch
    return removed and consumer.limit > 1 and not window.held and window.latest < channel.prefetch_at


def rivalled(consumer: Consumer) -> bool:
    """Has another consumer of the same queue reached its limit?"""
    receivers = consumer.source.receivers
    if len(receivers) > 1:
        for receiver in islice(receivers, SEVERAL):
            other = receiver.consumer
            if other is not None and other is not consumer and other.full():
                return True
    return False


# -- one too many


def of_overrun(channel: ChannelLife, consumer: Consumer) -> str:
    """A consumer has more outstanding than its limit."""
    window, shared = consumer.window, channel.shared
    if consumer.limited_globally:
        return "QOS-009"
    if window.held < consumer.limit + window.namesakes:
        return "QOS-013"
    if channel.uncommitted:
        return "QOS-026"
    if changed_since(channel, consumer) and not 0 < channel.prefetch <= window.held:
        return "QOS-004"
    if any(_lent(other, consumer) for other in limited_elsewhere(channel)):
        return "QOS-021"
    if window.freed is not None:
        dropped = consumer.source.lossy and any(requeue for _, _, requeue in window.ways)
        return "QOS-018" if dropped else of_settlement(window.freed.settlement, channel)
    stranger = _stranger(channel, window)
    if stranger:
        return stranger
    return "QOS-007" if shared.count and shared.since > consumer.limited_at else "QOS-001"


def _lent(other: ChannelLife, consumer: Consumer) -> bool:
    """May this other channel's limit have been taken for the consumer's?"""
    meant = consumer.limited_at < other.prefetch_at < consumer.receiver.start
    return meant and not 0 < other.prefetch <= consumer.window.held


def _stranger(channel: ChannelLife, window: Window) -> str:
    """Was the last settlement none of this window's business?"""
    last = channel.last_settlement
    if last is None or last.seq < window.full_at or not last.covered:
        return ""
    return GETS_COUNT if all(one.consumer is None for one in last.covered) else "QOS-013"


def of_shared_overrun(channel: ChannelLife) -> str:
    """A channel has more outstanding than its limit; not so to a broker that forgets what cancelled consumers hold, or
    takes each get that was recovered for a slot that has become free."""
    shared = channel.shared
    if shared.held - len(orphans(channel)) < shared.bound:
        return "QOS-020"
    if shared.held < shared.bound + channel.gets_recovered:
        return "QOS-015"
    if shared.cleared:
        return "QOS-008"
    if channel.uncommitted:
        return "QOS-026"
    if shared.running:
        return "QOS-011"
    if _stranger(channel, shared) == "QOS-015":
        return "QOS-015"
    return "QOS-007" if any(consumer.limit for consumer in channel.consumers.values()) else "QOS-006"


# -- one too few


def of_starved(channel: ChannelLife, consumer: Consumer, copy: Copy) -> str:
    """A message waits for a consumer that has room. Empty, if limits have no part in it."""
    window, shared = consumer.window, channel.shared
    if consumer.no_ack:
        return "QOS-017" if shared.count else "QOS-016" if 0 < consumer.limit == window.got else ""
    if copy.entry == PUBLISHED:
        return _of_starved(channel, consumer)
    if not consumer.limit and not shared.since:
        return ""
    rule = _of_starved(channel, consumer)
    return "" if rule in ("QOS-002", "QOS-005", "QOS-028") else rule


def _of_starved(channel: ChannelLife, consumer: Consumer) -> str:
    window, shared = consumer.window, channel.shared
    if shared.gets:
        return "QOS-015"
    if shared.raised:
        return "QOS-022"
    if abandoned(channel, consumer) or (consumer.limit and followed(channel, consumer)):
        return "QOS-004"
    for owner, limit in ((window, consumer.limit), (shared, shared.count)):
        if limit:
            rule = _of_leak(channel, owner) or _of_strangers(channel, owner, limit)
            if rule:
                return rule
    if changed_since(channel, consumer) and 0 < channel.prefetch <= window.held:
        return "QOS-004"
    if shared.count and shared.cleared:
        return "QOS-008"
    if consumer.limit and siblings(channel, consumer):
        return "QOS-007" if shared.count else "QOS-003"
    if rivalled(consumer) and (consumer.limit or shared.count or not window.held):
        return "QOS-027"
    return "QOS-002" if consumer.limit or shared.count else _of_unlimited(channel, consumer)


def _of_leak(channel: ChannelLife, window: Window) -> str:
    """Slots were given back, and are not used again."""
    freed = window.freed
    if freed is None or not window.fills:
        return ""
    if not freed.full or any(one.orphan for one in freed.settlement.covered):
        return "QOS-019"
    return of_settlement(freed.settlement, channel)


def _of_strangers(channel: ChannelLife, window: Window, limit: int) -> str:
    """Something else seems to be counted that takes no slot of this window."""
    got = gets(channel)
    if 0 < got >= limit - window.held:
        return "QOS-015"
    old = len(orphans(channel)) if window is not channel.shared else 0
    return "QOS-020" if 0 < old >= limit - window.held else ""


def filled_by_siblings(channel: ChannelLife, consumer: Consumer) -> bool:
    """Would what the channel's consumers hold together fill this one's own limit, gets or no gets?"""
    together = sum(other.window.held for other in channel.consumers.values())
    return 0 < consumer.limit <= together and not channel.shared.count


def _of_unlimited(channel: ChannelLife, consumer: Consumer) -> str:
    if consumer.limited_at:
        return "QOS-005"
    if any(other.prefetch or other.shared.count for other in limited_elsewhere(channel)):
        return "QOS-021"
    return "QOS-028" if consumer.window.held else "QOS-002"


# -- as it should be


def borne_out(channel: ChannelLife, consumer: Consumer) -> list[str]:
    """The rules that speak for a limit of a consumer which has just been reached, and will hold."""
    window = consumer.window
    rules = ["QOS-009"] if consumer.limited_globally else ["QOS-001", "QOS-002"]
    rules += _of_refill(channel, window)
    if consumer.limit and siblings(channel, consumer):
        rules.append("QOS-003")
    if changed_since(channel, consumer):
        rules.append("QOS-004")
    if gets(channel):
        rules.append("QOS-015")
    if orphans(channel):
        rules.append("QOS-020")
    if limited_elsewhere(channel):
        rules.append("QOS-021")
    return rules


def borne_out_together(channel: ChannelLife) -> list[str]:
    """The same for the limit of a channel."""
    shared = channel.shared
    rules = ["QOS-006", *_of_refill(channel, shared)]
    if any(consumer.limit for consumer in channel.consumers.values()):
        rules.append("QOS-007")
    if shared.cleared:
        rules.append("QOS-008")
    if shared.running:
        rules.append("QOS-011")
    if gets(channel):
        rules.append("QOS-015")
    if orphans(channel):
        rules += ["QOS-019", "QOS-020"]
    return rules


def _out_of_turn(settlement: Settlement, channel: ChannelLife) -> bool:
    """Does a consumer still hold older deliveries than one of its own that was settled?"""
    (settled,) = settlement.covered
    return any(one.consumer is settled.consumer and one.tag < settled.tag for one in windows.held_by(channel))


def _of_refill(channel: ChannelLife, window: Window) -> list[str]:
    """That the oldest delivery frees its slot is true of a broker as well where no other one does."""
    freed = window.freed
    if freed is None or not freed.full:
        return []
    mixed = len(window.ways) >= MIXED or any(one.orphan for one in freed.settlement.covered)
    rule = of_settlement(freed.settlement, channel)
    named = [] if rule == "QOS-010" and not _out_of_turn(freed.settlement, channel) else [rule]
    return [*named, *(["QOS-019"] if mixed else [])]
