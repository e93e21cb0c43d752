"""What never came: judged only when the driver says that it waited for long enough."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.oracle.model.connections.channels import ChannelLife, Consumer
from conformance.oracle.model.facts import Confirmed, Delivered, Missing, Unanswered
from conformance.oracle.model.owed import CLOSE, CONFIRM, DELIVERY, HANDSHAKE, HARD_CLOSE, NOTICE
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.model.records import (
    DEAD,
    PUBLISHED,
    RECOVERED,
    RELEASED,
    RETURNED,
    RETURNED_LATE,
    WAITING,
    Copy,
)
from conformance.oracle.monitors import fate
from conformance.oracle.monitors.consumers import slots
from conformance.oracle.monitors.consumers.cancelled import notified_neighbour, tag_of_former
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.requeueing.auto import of_channel, of_end
from conformance.oracle.monitors.table import judges
from conformance.oracle.monitors.topology import route

BESIDE = frozenset({"QOS-003", "QOS-007", "QOS-010", "QOS-012", "QOS-013", "QOS-018", "QOS-019", "QOS-020"})
"""What a limit that was changed under a running consumer can be taken for; see QOS-004."""
WOKEN = frozenset({"RQ-007", "RQ-014", "RQ-015", "QOS-018"})
"""What a queue that serves nobody after the end of a channel can be taken for."""
AWAKE: Mapping[str, tuple[str, ...]] = {RELEASED: ("AUTO-012",), RETURNED: ("RQ-007", "RQ-015")}
"""By the way in which a message has come back: the rules by which its queue serves somebody then."""
REPLIES = {
    "channel.open": "ERR-007",
    "channel.close": "ERR-008",
    "basic.qos": "QOS-024",
    "confirm.select": "CNF-001",
    "basic.recover": "RQ-014",
    "basic.cancel": "CAN-006",
    "basic.consume": "CAN-015",
    "basic.get": "QOS-014",
    "tx.commit": "TX-003",
    "tx.rollback": "TX-002",
}
"""The rule that a missing answer comes nearest to; of other methods it is ERR-014."""
ANY_METHOD = ("ERR-014", "QUEUE-034")
"""Rules that speak of nothing else than an answer."""
OF_NUMBERS = frozenset({"TAG-007", "TAG-008", "TAG-009", "RQ-014"})
"""Rules of which tags there are: who lets any unknown tag pass (ERR-002) says nothing of that."""
OF_CASES = frozenset({"queue.purge", "basic.consume"})
"""Methods of which one rule speaks in general, and others in single cases."""


@judges(
    Unanswered,
    "ACK-009",
    "ACK-010",
    "ACK-019",
    "ERR-001",
    "ERR-002",
    "ERR-003",
    "MODE-006",
    "RQ-014",
    "TAG-007",
    "TAG-008",
    "TAG-009",
)
def mistake_let_pass(fact: Unanswered, notes: Notes) -> None:
    """A mistake of the client that should have closed its channel. A reject of tag 0 that does not, and after which the
    channel's messages are seen elsewhere, has settled more than one delivery."""
    error = fact.error
    if fact.obligation.kind != CLOSE or error is None:
        return
    answered = ", ".join(request.method for request in error.answered)
    observed = f"later methods were answered ({answered})" if answered else "no channel.close comes"
    rules, wrong = [error.rule], error.settlement
    if error.rule == "TAG-009" and wrong.multiple:
        rules.append("ACK-010")
    if (wrong.method, wrong.tag) == ("basic.reject", 0) and wrong.channel.came_back:
        rules.append("ACK-019")
    for rule in rules:
        unless = ("ERR-002",) if rule in OF_NUMBERS else ()
        notes.find(rule, fact.event, f"channel.close 406 for {error.settlement}", observed, error.seq, unless=unless)


@judges(Unanswered, "ERR-009", "ERR-010", "QOS-025")
def hard_mistake_let_pass(fact: Unanswered, notes: Notes) -> None:
    """A mistake of the client that should have closed its connection."""
    error = fact.connection_error
    if fact.obligation.kind == HARD_CLOSE and error is not None and error.rule:
        notes.find(
            error.rule,
            fact.event,
            f"connection.close {error.all_codes} for {error.what}",
            f"{error.done}, and no connection.close" if error.done else "no connection.close comes",
            error.seq,
        )


@judges(Unanswered, "ERR-004", "ERR-007", "ERR-008", "ERR-014", "GET-005", "QUEUE-034", "RQ-014")
def reply_missing(fact: Unanswered, notes: Notes) -> None:
    """A synchronous method without its answer. After a mistake on another channel the mistake is the cause, unless the
    broker leaves this unanswered where there was none."""
    owed = fact.obligation
    if owed.kind in (CLOSE, HARD_CLOSE, CONFIRM, DELIVERY, NOTICE, HANDSHAKE):
        return
    method = fact.request.method if fact.request else "connection.close"
    channel = fact.channel
    if fact.unread:
        return
    harmed = channel is not None and channel.opened < channel.connection.refusals and method != "channel.close"
    named = fact.request.rule if fact.request else ""
    near = REPLIES.get(method, "") if _speaks_of(method, channel) else _of_empty(fact)
    otherwise = named or near or "ERR-014"
    rule, unless = ("ERR-004", (otherwise,)) if harmed else (otherwise, _never(method, otherwise))
    certain = (harmed and method != "basic.get") or bool(near) or (rule in ANY_METHOD and _plain(channel))
    if channel is not None and channel.unproven and not harmed and not channel.unproven[-1].refusal:
        rule, certain = fate.of_refused(channel.unproven[-1]), False
    crossed = channel.close_seen if channel is not None and method == "channel.close" else 0
    observed = f"{owed.what} does not come" + (" to a close that crossed the broker's own" if crossed else "")
    witness = owed.since_seq, *filter(None, [crossed])
    notes.find(rule, fact.event, owed.what, observed, *witness, certain=certain, unless=unless)


def _never(method: str, rule: str) -> tuple[str, ...]:
    """The rule that explains it where the broker never answers this method, in whichever case."""
    always = REPLIES.get(method, "ERR-014")
    return (always,) if method in OF_CASES and rule != always else ()


def _of_empty(fact: Unanswered) -> str:
    """The rule about gets, where a queue certainly has nothing to give."""
    request, queue = fact.request, fact.request.source if fact.request else None
    if request is None or queue is None or request.method != "basic.get" or not _plain(fact.channel):
        return ""
    return "GET-005" if queue.declared and not (queue.opaque or queue.fresh or queue.returned) else ""


def _speaks_of(method: str, channel: ChannelLife | None) -> bool:
    """Does the rule speak of this case: a number used before, a limit that is reached? A channel's close
    that is not answered is nobody else's, crossing or not."""
    if channel is None:
        return False
    if method == "channel.open":
        return channel.previous is not None
    if method == "basic.get":
        return channel.shared.full() or any(consumer.full() for consumer in channel.consumers.values())
    return True


def _plain(channel: ChannelLife | None) -> bool:
    """Has nothing happened that may keep the broker from answering?"""
    return channel is None or not (
        channel.indeterminate or channel.settlement_error or channel.method_error or channel.connection.blocking.blocked
    )


@judges(
    Unanswered,
    "CPRIO-002",
    "ERR-004",
    "ERR-007",
    "PRIO-007",
    "QOS-002",
    "RQ-007",
    "RQ-014",
    "SAC-001",
    "SAC-002",
    "SAC-003",
    "TMO-006",
    "TMO-012",
    "NOWAIT-005",
)
def delivery_missing(fact: Unanswered, notes: Notes) -> None:
    """A message waits, and so does a consumer that may have it."""
    consumer = fact.consumer
    if fact.obligation.kind != DELIVERY or consumer is None or fact.channel is None:
        return
    copy = next(consumer.source.waiting(), None)
    if copy is None:  # it waits only if a mistake was noticed that was not
        return
    rules = _of_missing(fact.channel, consumer, copy)
    allowed = f"{copy.id} is delivered to {consumer.tag}, which has room for it"
    witness = copy.published, copy.entered, consumer.since
    for rule in rules:
        told = not slots.followed(fact.channel, consumer) or slots.abandoned(fact.channel, consumer)
        certain = told if rule == "QOS-004" else not _in_doubt(rule, fact.channel, consumer)
        observed = _starved(fact.channel, consumer)
        unless = (
            *slots.kept(fact.channel, consumer, rule),
            *_wakes_nobody(rule, consumer),
            *_by_tag(fact.channel, consumer),
        )
        notes.suspect(copy, rule, fact.event, allowed, observed, *witness, certain=certain, unless=unless)


def _by_tag(channel: ChannelLife, consumer: Consumer) -> tuple[str, ...]:
    """The rule that explains it where another channel has, or had, a consumer of the same tag: a broker that knows all
    of them by their tags alone may have taken one for the other."""
    others = (one for one in channel.connection.channels.values() if one is not channel)
    return ("CAN-018",) if any(consumer.tag in {*one.consumers, *one.ended} for one in others) else ()


def _wakes_nobody(rule: str, consumer: Consumer) -> tuple[str, ...]:
    """The rules that explain it where something has come back, by the end of a channel or by its client, and the queue
    serves nobody for that, whatever else waits in it."""
    entries = {copy.entry for copy in consumer.source.waiting()} if rule.startswith("SAC-") else set()
    return tuple(one for entry, rules in AWAKE.items() if entry in entries for one in rules)


def _of_missing(channel: ChannelLife, consumer: Consumer, copy: Copy) -> tuple[str, ...]:
    """The rules nearest to what came before: a former channel, a mistake, a notice, then the kind of the queue."""
    former = channel.previous
    if former is not None and 0 < former.prefetch == consumer.window.held and not consumer.limit:
        return ("ERR-007",)
    if channel.opened < channel.connection.refusals and consumer.receiver.start < copy.entered:
        return ("ERR-004",)
    if consumer.revived:
        by_time = _back_by_time_alone(copy) and not consumer.revived_by_return
        return ("TMO-012", "TMO-006") if by_time else ("TMO-012",)
    if notified_neighbour(channel, consumer, copy.entered):
        return ("CAN-011",)
    if slots.of_starved(channel, consumer, copy) == slots.GETS_COUNT:
        return (slots.GETS_COUNT,)
    if tag_of_former(channel, consumer) and slots.of_starved(channel, consumer, copy) != "QOS-020":
        return ("CAN-013",)
    if of_queue := _of_the_queue(consumer, copy):
        return of_queue
    quiet = consumer.quiet and not consumer.received and not tag_of_former(channel, consumer)
    return ("NOWAIT-005",) if quiet else _of_starved(channel, consumer, copy)


def _of_the_queue(consumer: Consumer, copy: Copy) -> tuple[str, ...]:
    """The rule that says who of several is served, or which message is first; none where there is no choice."""
    source = consumer.source
    if source.single_active and len(source.receivers) - source.lost > 1 and not _handed_over(source):
        return ("SAC-001",)
    if source.single_active and not consumer.received:
        return ("SAC-003",) if copy.entry == RELEASED else ("SAC-002",)
    if _below_full(consumer):
        return ("CPRIO-002",)
    if source.levels and source.kind == "classic" and copy.entry == PUBLISHED:
        return ("PRIO-007",)
    return ()


def _handed_over(queue: Queue) -> bool:
    """Has somebody left, and was none of those who are there served yet? Then one of them has to take over."""
    staying = [one.consumer for one in queue.receivers if one.consumer is not None]
    return queue.parted + queue.fallen > 0 and not any(one.received for one in staying)


def _below_full(consumer: Consumer) -> bool:
    """Do others of a higher priority hold all that they may?"""
    others = [one.consumer for one in consumer.source.receivers if one.consumer is not None]
    return any(one.rank > consumer.rank and one.full() for one in others)


def _in_doubt(rule: str, channel: ChannelLife, consumer: Consumer) -> bool:
    """May something else explain it as well: a former life of the channel's number that has not ended, another limit
    that was set meanwhile and has reached it (QOS-004), deliveries of its siblings, the end of a channel that woke
    nobody (AUTO-012), or that its client has lost the right to read the queue (CAN-019)?"""
    if consumer.queue in channel.connection.unreadable:
        return True
    if consumer.overruled or (channel.previous is not None and channel.previous.afterlife):
        return True
    if rule == slots.GETS_COUNT:
        return slots.filled_by_siblings(channel, consumer) or slots.followed(channel, consumer)
    if rule in WOKEN and any(copy.entry == RELEASED for copy in consumer.source.waiting()):
        return True
    return rule in BESIDE and slots.meddled(channel, consumer)


def _back_by_time_alone(copy: Copy) -> bool:
    """Was it returned by its timeout, and not by its client as well?"""
    settlement = copy.stale_settlement
    return copy.entry == RETURNED_LATE and not (settlement is not None and settlement.requeue)


def _starved(channel: ChannelLife, consumer: Consumer) -> str:
    """What did not come, and what should not have kept it away."""
    held, shared = consumer.window.held, channel.shared
    within = f" of {consumer.limit}" if consumer.limit else ""
    together = f", and its channel {shared.held} of {shared.count}" if shared.count else ""
    return f"no delivery comes to {consumer.tag}, which has {held}{within} outstanding{together}"


def _of_starved(channel: ChannelLife, consumer: Consumer, copy: Copy) -> tuple[str, ...]:
    """The limit's rule, or that of the way the message came; a return to a sole consumer with a limit breaks both."""
    by_limit = slots.of_starved(channel, consumer, copy)
    if by_limit and by_limit != "QOS-018":
        return (by_limit,)
    if copy.entry == RETURNED:
        way = "RQ-015" if consumer.source.crowded(consumer.receiver) else "RQ-007"
    else:
        way = {RECOVERED: "RQ-014", RELEASED: "AUTO-012", RETURNED_LATE: "TMO-006"}.get(copy.entry, "QOS-002")
    return (way, by_limit) if by_limit else (way,)


@judges(Delivered)
def turned_up(fact: Delivered, notes: Notes) -> None:
    """What was waited for, or passed over, is there after all; and was there, if the broker has taken it over."""
    if notes.suspicious and fact.copy.place == WAITING and not fact.copy.undecided:
        notes.seen(fact.copy, fact.event)


@judges(Confirmed)
def taken_over(fact: Confirmed, notes: Notes) -> None:
    """What is refused may be in its queues or not, and come there at any time; what has come by now was there."""
    if not notes.suspicious:
        return
    for copy in [copy for publication in fact.resolved for copy in publication.copies]:
        if fact.event.method == "basic.nack":
            notes.lost(copy)
        elif copy.seen:
            notes.seen(copy, fact.event)


@judges(Missing)
def gone(fact: Missing, notes: Notes) -> None:
    """It is not: so it could neither come nor be passed over."""
    for copy in fact.copies if notes.suspicious else ():
        notes.lost(copy)


@judges(
    Missing,
    "ACK-001",
    "ACK-002",
    "ACK-004",
    "ACK-011",
    "ACK-012",
    "ACK-019",
    "ERR-001",
    "ERR-005",
    "ERR-006",
    "MODE-003",
    "MODE-005",
    "RQ-011",
    "RQ-014",
)
def lost(fact: Missing, notes: Notes) -> None:
    """Messages that nobody settled, and that are nowhere. Of those that may not have matched, ROUTE speaks, and of
    those that a purge may have taken, QUEUE."""
    by_rule: dict[tuple[str, bool, tuple[str, ...]], list[Copy]] = {}
    own = [copy for copy in fact.copies if not (route.of_match(copy, notes) or fate.may_be_by_purge(copy))]
    for copy, rule, certain in fate.of_missing(own):
        also = (*_also(copy), *route.of_empty_words(copy, notes))
        by_rule.setdefault((rule, certain, also), []).append(copy)
    for (rule, certain, unless), copies in by_rule.items():
        names = ", ".join(copy.id for copy in copies[:5]) + (", …" if len(copies) > 5 else "")
        some = copies[:5]
        notes.find(
            rule,
            fact.event,
            f"{names} in {fact.queue.name}: {_history(some[0])}",
            "the queue was drained, and did not deliver it",
            *(copy.published for copy in some),
            *(copy.entered for copy in some),
            *(copy.holder.seq for copy in some if copy.holder),
            certain=certain,
            unless=unless,
        )


def _also(copy: Copy) -> tuple[str, ...]:
    """Rules about other things that would explain the loss: of an end that has returned nothing like it, of the size of
    a publish, of losses where nobody was killed, and of the settlement that should have made a dead letter of it."""
    held = copy.holder
    if copy.entry == DEAD:
        return tuple(rule for rule in fate.settling(copy.settlement) if rule != fate.of_absent(copy))
    if copy.aground is not None:
        return tuple(of_channel(copy.aground))
    if copy.entry == RELEASED and held is not None and fate.kept_by_end(held):
        return of_end(held)
    return (*fate.by_size(copy), *(fate.LOSING if copy.survives else fate.by_loss(copy)))


def _history(copy: Copy) -> str:
    if copy.entry == RETURNED:
        return f"returned by {copy.settlement}"
    if copy.entry == RECOVERED:
        return "returned by basic.recover"
    if copy.entry == DEAD:
        return f"dead-lettered to this queue after {copy.settlement}"
    if copy.entry == RETURNED_LATE:
        return "its delivery timed out"
    return "never settled, and its channel has ended" if copy.entry == RELEASED else "published and never delivered"
