"""TMO: what the broker does when a delivery stays unacknowledged for too long, and when it does it.

A timeout is certainly early, or in time, or it may have been about something else. It is late only if the driver has
waited and says so. The deadline knows which level of timeout counts: a timeout at another level's time, or none at all,
breaks the rule of the level that counts. What settling and cancelling do afterwards is in `stale`.
"""

from __future__ import annotations

from conformance.history.events import METHOD, Event
from conformance.oracle.model.connections.channels import LIVE, ChannelLife, Consumer
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.consumers.clocks import MS, TOLERANCE, Timer
from conformance.oracle.model.consumers.timeouts import present
from conformance.oracle.model.facts import ClosedUnasked, ConnectionFailed, Notified, TimedOut, TimeoutOverdue
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.model.records import Delivery
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges
from conformance.oracle.monitors.topology.queue import LOCKED, trespass_on

SECOND = 1000 * MS
BANDS = (
    (SECOND // 10, "within 0.1 s"),
    (SECOND // 2, "within 0.5 s"),
    (SECOND, "within 1 s"),
    (65 * SECOND, "within a minute"),
)
WITH_THE_LAST, UNUSED = "QUEUE-024", "POLICY-015"
"""By these rules a queue goes, and its consumers are notified."""


def by_queue(notes: Notes) -> bool:
    """Do queues watch their deliveries?"""
    return notes.profile.choices.get("consumer_timeout") == "queue"


def timer_of(delivery: Delivery) -> Timer:
    assert delivery.timer is not None
    return delivery.timer


@judges(
    TimedOut,
    "TMO-002",
    "TMO-003",
    "TMO-004",
    "TMO-005",
    "TMO-017",
    "TMO-018",
    "TMO-019",
    "TMO-020",
    "TMO-023",
    "TMO-024",
    "TMO-027",
)
def in_time(fact: TimedOut, notes: Notes) -> None:
    """Its time is over, and not before."""
    if not fact.deliveries:
        return
    first, event = fact.deliveries[0], fact.event
    timer = timer_of(first)
    late = max(0, event.time_ns - (timer.due() or 0) + timer.tick)
    notes.report("TMO-020", next((words for band, words in BANDS if late <= band), "later than a minute"))
    notes.exercise("TMO-019", "TMO-020")
    if by_queue(notes):
        notes.exercise(timer.levels.rule)
        _by_another_level(first, late, fact, notes)
        if timer.limit == 0:
            notes.exercise("TMO-023")
    elif fact.consumer is None:
        if notes.profile.choices.get("consumer_timeout") == "sweep":
            notes.exercise("TMO-027")
            notes.report("TMO-027", closing(event.args))
        else:
            notes.exercise("TMO-024", *_by_this_level(timer, event))
    _unusual(first, fact, notes)


def _by_another_level(first: Delivery, late: int, fact: TimedOut, notes: Notes) -> None:
    """It is late by more than load explains, and in time for a level that does not count. Of one that may have been
    told of before nobody waited for the time to come; and who did not look in between may have slept."""
    timer, event = timer_of(first), fact.event
    looked = fact.channel.connection.looked_at - (timer.due() or 0)
    if timer.announced or late <= SECOND:
        return
    if any(abs(timer.at + one * MS - event.time_ns) < SECOND // 4 for one in timer.levels.others):
        notes.find(
            timer.levels.rule,
            event,
            f"a timeout after {timer.levels.effective()} ms ({timer.levels})",
            f"it comes {(event.time_ns - timer.at) / SECOND:.2f} s after the delivery",
            first.seq,
            certain=looked > SECOND // 2,
        )


def _by_this_level(timer: Timer, event: Event) -> tuple[str, ...]:
    """The rule of the level that counts, where no other that is set can have been the reason."""
    apart = all(event.time_ns < timer.earliest + one * MS - TOLERANCE for one in timer.levels.others)
    return (timer.levels.rule,) if apart and timer.limit is not None else ()


def _unusual(first: Delivery, fact: TimedOut, notes: Notes) -> None:
    """Deliveries that no consumer of the channel stands for."""
    answer = "basic.cancel" if fact.consumer is not None else "channel.close 406"
    if first.consumer is None:
        notes.exercise("TMO-017")
        notes.report("TMO-017", answer)
    elif by_queue(notes) and fact.channel.consumers.get(first.consumer.tag) is not first.consumer:
        notes.exercise("TMO-018")
        notes.report("TMO-018", answer)


@judges(TimedOut, "TMO-007", "TMO-008", "TMO-024", "TMO-026")
def by_capability(fact: TimedOut, notes: Notes) -> None:
    """Clients that can be notified are, the others lose their channel."""
    channel, event = fact.channel, fact.event
    if not by_queue(notes):
        if fact.consumer is not None:
            notes.find("TMO-024", event, "channel.close 406, by this profile", f"basic.cancel for {fact.consumer.tag}")
        return
    notified = [one for one in fact.deliveries if present(one)]
    if channel.connection.notices is None or not notified or len(notified) < len(fact.deliveries):
        return
    rules = ["TMO-007" if channel.connection.notices else "TMO-008"]
    if _otherwise(fact, notified[0]):
        rules.append("TMO-026")
    notes.exercise(*rules)
    if channel.connection.notices and fact.consumer is None:
        for rule in rules:
            notes.find(
                rule,
                event,
                f"basic.cancel for {notified[0].consumer_tag}: its client can be notified",
                closing(event.args),
                notified[0].seq,
            )
    elif not channel.connection.notices and fact.consumer is not None:
        for rule in rules:
            notes.find(
                rule,
                event,
                "channel.close 406: the client did not announce consumer_cancel_notify",
                f"basic.cancel for {fact.consumer.tag}",
                notified[0].seq,
            )
    elif fact.consumer is not None and not event.has("no_wait"):
        notes.find(
            "TMO-007", event, "basic.cancel with nowait set", f"basic.cancel for {fact.consumer.tag} without nowait"
        )


def _otherwise(fact: TimedOut, first: Delivery) -> bool:
    """Is there, or was there, a consumer of this queue whose client announced something else?"""
    mine = fact.channel.connection.notices
    others = first.copy.queue.clients
    return any(other is not mine for other in others)


@judges(TimedOut, "TMO-002", "TMO-003", "TMO-004", "TMO-005", "TMO-007", "TMO-009", "TMO-010", "TMO-019", "TMO-022")
def too_early(fact: TimedOut, notes: Notes) -> None:
    """A notification for a consumer none of whose deliveries has been out for long enough."""
    consumer, event = fact.consumer, fact.event
    if consumer is None or fact.deliveries or consumer.levels is None:
        return
    held = [one for one in fact.channel.unacked.values() if one.consumer is consumer and one.timer is not None]
    running = [one for one in held if not one.stale and not one.indeterminate]
    if not running:
        _about_nothing(fact, consumer, notes)
        return
    first = running[0]
    timer, levels = timer_of(first), timer_of(first).levels
    after = (event.time_ns - timer.earliest) / SECOND
    renewed = fact.renewed.effective() if fact.renewed is not None and fact.renewed != levels else None
    if renewed is not None and timer.earliest + renewed * MS - TOLERANCE <= event.time_ns:
        notes.exercise("TMO-022")
        notes.report("TMO-022", "a new policy applies to deliveries that are out")
        return
    rules = {levels.rule} if levels.others else set()
    if levels.general in levels.others and levels.general * MS + timer.earliest - TOLERANCE <= event.time_ns:
        rules.add("TMO-004")
    if any(one.stale for one in held):
        rules.add("TMO-010")
    elif timer.spared:
        rules |= {"TMO-009", "TMO-007"}
    for rule in sorted(rules | {"TMO-019"}):
        notes.find(
            rule,
            event,
            f"no timeout before {levels.effective()} ms ({levels})",
            f"basic.cancel for {consumer.tag} at most {after:.2f} s after its delivery",
            first.seq,
        )


def _about_nothing(fact: TimedOut, consumer: Consumer, notes: Notes) -> None:
    """It holds nothing: what it held was settled in time, or was told of before."""
    last = max(
        (one for one in fact.channel.deliveries.values() if one.consumer is consumer),
        key=lambda one: one.seq,
        default=None,
    )
    if last is None and consumer.received:
        return
    if last is None or last.timer is None:
        notes.find(
            "TMO-019", fact.event, f"no timeout: {consumer.tag} has had no delivery", f"basic.cancel for {consumer.tag}"
        )
        return
    settlement, limit = last.settlement, last.timer.limit
    if settlement is None or limit is None or last.stale:
        return
    if settlement.accepted and settlement.accepted_ns + SECOND // 4 < last.timer.earliest + limit:
        notes.find(
            "TMO-019",
            fact.event,
            f"no timeout: all deliveries of {consumer.tag} were settled in time",
            f"basic.cancel for {consumer.tag}",
            last.seq,
            settlement.seq,
        )


@judges(Notified, "TMO-001", "TMO-019", WITH_THE_LAST, UNUSED, LOCKED)
def exempt(fact: Notified, notes: Notes) -> None:
    """Consumers that never time out: of classic queues where queues watch, and without acknowledgement. Of a queue that
    may be gone, because its deletion was asked for if it is unused or empty, nobody knows."""
    consumer = fact.consumer
    if consumer is None or consumer.source.deleted or consumer.revoked or not by_queue(notes):
        return
    if consumer.source.spared > consumer.since:
        return
    if consumer.source.kind == "classic" and "quorum" in notes.profile.queue_types:
        notes.find(
            _gone_by(consumer.source, trespass_on(consumer.queue, notes)) or "TMO-001",
            fact.event,
            f"{consumer.tag} goes on: its queue is a classic queue, and still exists",
            f"basic.cancel for {consumer.tag}",
        )
    elif consumer.source.kind != "classic" and consumer.no_ack:
        notes.find(
            "TMO-019",
            fact.event,
            f"{consumer.tag} goes on: its deliveries need no acknowledgement",
            f"basic.cancel for {consumer.tag}",
        )


def _gone_by(queue: Queue, trespass: int) -> str:
    """The rule that lets it go at other times, or forbids that: with the last of its consumers, when nobody uses it, or
    because somebody asked for it who may not."""
    if trespass > queue.declared:
        return LOCKED
    if queue.auto_delete and queue.parted + queue.fallen > 0:
        return WITH_THE_LAST
    return UNUSED if queue.leased else ""


@judges(ClosedUnasked, "TMO-001", "TMO-019", "TMO-027")
def closed_early(fact: ClosedUnasked, notes: Notes) -> None:
    """A channel is closed over a timeout that cannot be; of a consumer that was cancelled not all is seen."""
    text = str(fact.event.args.get("reply_text", ""))
    if "timed out" not in text and "timeout" not in text:
        return
    held = list(fact.channel.unacked.values())
    if held and all(one.copy.queue.kind == "classic" for one in held) and by_queue(notes):
        notes.find(
            "TMO-001", fact.event, "no timeout: all deliveries are from classic queues", closing(fact.event.args)
        )
    elif held and not fact.channel.ended and all(_running(one) for one in held):
        notes.find(
            "TMO-019",
            fact.event,
            "no timeout: no delivery has been out for long enough",
            closing(fact.event.args),
            *(one.seq for one in held[:3]),
        )


def _running(delivery: Delivery) -> bool:
    """Its clock runs, and its consumer is there."""
    consumer, timer = delivery.consumer, delivery.timer
    return timer is not None and timer.limit is not None and consumer is not None and consumer.state == LIVE


@judges(ConnectionFailed, "TMO-007", "TMO-008", "TMO-024")
def connection_lost(fact: ConnectionFailed, notes: Notes) -> None:
    """The connection is closed where a channel, or a consumer, would have been enough."""
    event = fact.event
    if event.kind != METHOD or fact.error is not None or ids_of(event) != (0, 0):
        return
    for channel in fact.connection.open_channels():
        over = [
            one
            for one in channel.unacked.values()
            if one.timer is not None and not one.timer.announced and one.timer.possible(event.time_ns)
        ]
        if over:
            rule = "TMO-024" if not by_queue(notes) else "TMO-007" if fact.connection.notices else "TMO-008"
            notes.find(
                rule,
                event,
                f"a timeout closes no channel but channel {channel.number}",
                f"connection: {closing(event.args)}",
                over[0].seq,
            )
            return


@judges(
    TimeoutOverdue,
    "TMO-002",
    "TMO-003",
    "TMO-004",
    "TMO-005",
    "TMO-007",
    "TMO-008",
    "TMO-010",
    "TMO-017",
    "TMO-018",
    "TMO-020",
    "TMO-023",
    "TMO-024",
    "TMO-026",
)
def never(fact: TimeoutOverdue, notes: Notes) -> None:
    """It should have timed out, and nothing came."""
    delivery, channel = fact.delivery, fact.channel
    timer, levels = timer_of(delivery), timer_of(delivery).levels
    if not by_queue(notes) or delivery.indeterminate or channel.indeterminate:
        notes.report("TMO-020", "no timeout while the suite waited")
        _never_looked(delivery, channel, fact, notes)
        return
    if not present(delivery):
        rule = "TMO-017" if delivery.consumer is None else "TMO-018"
        notes.exercise(rule)
        notes.report(rule, "nothing")
        return
    notices = channel.connection.notices
    waited = (fact.event.time_ns - timer.at) / SECOND
    if timer.later or timer.alone:
        rules = {"TMO-010"}
    elif timer.limit == 0:
        rules = {"TMO-023"}
    elif levels.others or levels.rule == "TMO-005":
        rules = {levels.rule}
    else:
        rules = {"TMO-007" if notices else "TMO-008"}
    if delivery.copy.queue.clients >= {True, False}:
        rules.add("TMO-026")
    what = f"basic.cancel for {delivery.consumer_tag}" if notices else "channel.close 406"
    for rule in sorted(rules):
        limit = timer.limit or 0
        notes.find(
            rule,
            fact.event,
            f"{what} {limit / SECOND:g} s after the delivery of {delivery.message} ({levels})",
            f"nothing came for {waited:.1f} s",
            delivery.seq,
        )


def _never_looked(delivery: Delivery, channel: ChannelLife, fact: TimeoutOverdue, notes: Notes) -> None:
    """A channel that looks once a minute goes by its oldest delivery, behind which others may hide."""
    watched = notes.profile.choices.get("consumer_timeout") == "channel"
    if (
        watched
        and not (delivery.indeterminate or channel.indeterminate)
        and next(iter(channel.unacked.values()), None) is delivery
    ):
        timer = timer_of(delivery)
        notes.find(
            "TMO-024",
            fact.event,
            f"channel.close 406 about a minute after {delivery.message} ({timer.levels})",
            f"nothing came for {(fact.event.time_ns - timer.at) / SECOND:.1f} s",
            delivery.seq,
        )
