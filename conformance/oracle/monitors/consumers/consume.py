"""CONSUME: who may start a consumer, and the tag that the broker chooses for it.

A memory of the family: the consumers of each queue, and whether they are exclusive. A consumer counts as there from its
consume-ok until its client does anything that may end it. Where no consumer can be there any more, a consume must be
carried out; where one is there for certain that excludes it, it must be refused.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from conformance.history.events import METHOD, TO_BROKER, Event
from conformance.oracle.model.connections.channels import CLOSED, LIVE, OPEN, STARTING, ChannelLife, Consumer
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.consumers.delivering import REPLIES
from conformance.oracle.model.facts import Answered, ClosedUnasked, ConnectionFailed, Passed, Unrequested
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.patience import LEFT, too_late
from conformance.oracle.monitors.refusals import refuses
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.topology.preconditions import Asked

BESIDE, ALONE, MISSING, NAMED = "CONSUME-001", "CONSUME-002", "CONSUME-003", "CONSUME-004"
SIXTEEN, AGAIN, ECHOED = "CONSUME-005", "CONSUME-006", "CONSUME-007"
REFUSALS, GRANTS = (BESIDE, ALONE), (SIXTEEN, AGAIN)
CONSUME = 60, 20
TELL_THE_TAG = "basic.consume-ok", "basic.cancel-ok"
ACCESS_REFUSED = 403
ENDS = (
    *("basic.cancel", "basic.cancel-ok", "channel.close", "channel.close-ok"),
    *("connection.close", "connection.close-ok", "queue.delete-ok"),
)
BLAMED = {AGAIN: (403, 406), SIXTEEN: (403, 406, 506)}
"""Codes by which a broker would say that it knows better; others speak of something else."""
MANY = 16
MOST = 256
"""So many queues, and consumers of each, are remembered; of more, none."""


@dataclass(slots=True)
class Holder:
    """A consumer that was asked for."""

    channel: ChannelLife
    tag: str
    exclusive: bool
    seq: int

    def consumer(self) -> Consumer | None:
        """As the model knows it; the broker may have chosen its tag."""
        return next((one for one in self.channel.consumers.values() if one.since == self.seq), None)

    def there(self) -> bool | None:
        """Does its queue have it now? None: it may or may not."""
        if self.channel.state == CLOSED and (self.channel.close_answered or self._succeeded()):
            return False
        consumer = self.consumer()
        if consumer is None or not self.channel.alive() or self.channel.connection.closing:
            return False if consumer is None and self.channel.alive() and not self.channel.indeterminate else None
        sure = consumer.state == LIVE and not (consumer.source.deleted or self.channel.indeterminate)
        return True if sure and not consumer.source.opaque else None

    def _succeeded(self) -> bool:
        """Did the broker close its channel, and open another one of that number since?"""
        later = self.channel.connection.channels.get(self.channel.number)
        return self.channel.close_seen > 0 and later is not None and later.state == OPEN


@dataclass(slots=True)
class Consumers:
    """Consumers by queue; what must become of each consume that waits for its answer, by its seq."""

    holders: dict[str, list[Holder]] = field(default_factory=dict)
    expected: dict[int, tuple[str, ...]] = field(default_factory=dict)
    sixteenth: set[int] = field(default_factory=set)
    """Of those the ones that make up the number that every queue should take."""
    once_exclusive: set[str] = field(default_factory=set)
    """Queues that have had an exclusive consumer."""
    ended: OrderedDict[tuple[str, int], tuple[int, int]] = field(default_factory=OrderedDict)
    """By connection and channel: when a consumer may have ended there last, and when before that."""

    def refused(self, seq: int) -> None:
        """This one never was a consumer."""
        for queue, holders in self.holders.items():
            self.holders[queue] = [one for one in holders if one.seq != seq]

    def ends(self, event: Event) -> None:
        """A consumer may end."""
        place = event.connection, event.channel
        self.ended[place] = event.time_ns, self.ended.pop(place, (0, 0))[0]
        if len(self.ended) > MOST:
            self.ended.popitem(last=False)

    def ended_before(self, event: Event) -> int:
        """When, before this close?"""
        place = event.connection, event.channel
        return max((times[one == place] for one, times in self.ended.items()), default=0)


@refuses(MISSING, "basic.consume", code=404, what="a consumer of a queue that does not exist")
def missing(asked: Asked) -> bool | None:
    """Is there no such queue?"""
    there = asked.queue_there()
    return None if there is None else not there


@follows(*ENDS)
def left(fact: Passed, notes: Notes) -> None:
    """Consumers may have ended, with an answer or without. When their queue hears of that is not said anywhere."""
    event, channel = fact.event, fact.connection.channels.get(fact.event.channel)
    refused = event.method == "channel.close" and event.direction != TO_BROKER
    if refused and channel is not None and all(one.state == STARTING for one in channel.consumers.values()):
        return  # there was none on it yet
    if event.method != "channel.close-ok" or event.direction != TO_BROKER:
        notes.memory(Consumers).ends(event)


@follows("basic.consume")
def asked_for(fact: Passed, notes: Notes) -> None:
    """A client asks for a consumer: what must become of that is decided by what is there now."""
    event, channel = fact.event, fact.connection.channels.get(fact.event.channel)
    if event.direction != TO_BROKER or channel is None or not channel.alive() or channel.adopted or not event.queue:
        return
    if event.queue == REPLIES:
        return  # no queue is behind this name: each channel has replies of its own
    memory = notes.memory(Consumers)
    holders = [one for one in memory.holders.get(event.queue, ()) if one.there() is not False]
    rules = _expected(event, channel, holders, memory)
    if rules and not event.has("no_wait"):
        memory.expected[event.seq] = rules
        if len(holders) == MANY - 1:
            memory.sixteenth.add(event.seq)
    holders.append(Holder(channel, event.consumer_tag or "", event.has("exclusive"), event.seq))
    memory.holders[event.queue] = holders
    if event.has("exclusive"):
        memory.once_exclusive.add(event.queue)
    if len(memory.holders) > MOST or len(holders) > MOST:
        del memory.holders[next(iter(memory.holders)) if len(holders) <= MOST else event.queue]


def _expected(event: Event, channel: ChannelLife, holders: list[Holder], memory: Consumers) -> tuple[str, ...]:
    """The rule by which it must be refused, or the rules by which it must be carried out."""
    sure = [one for one in holders if one.there()]
    if any(one.exclusive for one in sure):
        return (ALONE,)
    if event.has("exclusive") and sure:
        return (BESIDE,)
    if any(one.exclusive for one in holders) or (event.has("exclusive") and holders):
        return ()
    if event.args.get("arguments") or not _of_one_user(channel, event, memory):
        return ()
    claims = (
        (SIXTEEN, len(sure) == len(holders) and 0 < len(sure) < MANY),
        (AGAIN, event.queue in memory.once_exclusive),
    )
    return tuple(rule for rule, applies in claims if applies)


def _of_one_user(channel: ChannelLife, event: Event, memory: Consumers) -> bool:
    """Has whoever asks the rights of those who have consumed from the queue?"""
    connection, queue = channel.connection, event.queue or ""
    before = {one.channel.connection.user for one in memory.holders.get(queue, ())}
    return before <= {connection.user} and queue not in connection.unreadable


@judges(Answered, *REFUSALS, *GRANTS, NAMED, ECHOED)
def started(fact: Answered, notes: Notes) -> None:
    """The consumer is there."""
    if fact.request.method != "basic.consume":
        return
    memory = notes.memory(Consumers)
    for rule in memory.expected.pop(fact.request.seq, ()):
        if rule in REFUSALS:
            notes.find(rule, fact.event, "channel.close 403", "consume-ok", fact.request.seq)
        elif rule != SIXTEEN or fact.request.seq in memory.sixteenth:
            notes.exercise(rule)
    memory.sixteenth.discard(fact.request.seq)
    if fact.request.consumer_tag:
        notes.exercise(ECHOED)
    else:
        _tag(fact, notes)


@judges(Unrequested, ECHOED)
def under_another_tag(fact: Unrequested, notes: Notes) -> None:
    """An answer with a tag for which nobody has asked, where the client waits for one with its own."""
    channel, event, tag = fact.channel, fact.event, fact.event.consumer_tag or ""
    asked = [one for one in channel.pending() if f"{one.method}-ok" == event.method]
    known = channel.indeterminate or channel.connection.overheard or tag in channel.consumers or tag in channel.ended
    if event.method not in TELL_THE_TAG or not asked or known:
        return
    tags = ", ".join(repr(one.consumer_tag) for one in asked)
    allowed, observed = f"{event.method} with the tag {tags}", f"with the tag {tag!r}"
    notes.find(ECHOED, event, allowed, observed, *(one.seq for one in asked))


def _tag(fact: Answered, notes: Notes) -> None:
    """The broker has chosen a tag."""
    tag, others = fact.event.consumer_tag or "", fact.channel.consumers
    if not tag:
        notes.find(NAMED, fact.event, "a tag that the broker has chosen", "an empty tag", fact.request.seq)
    elif tag in others and others[tag].state == LIVE:
        notes.find(NAMED, fact.event, "a tag that is not in use", f"{tag!r}", others[tag].since, fact.request.seq)
    elif any(one.state == LIVE for one in others.values()):
        notes.exercise(NAMED)


@judges(ClosedUnasked, *REFUSALS, *GRANTS)
def refused(fact: ClosedUnasked, notes: Notes) -> None:
    """The broker closed the channel over a consume."""
    _refused(fact.event, [fact.channel], "channel", notes)


@judges(ConnectionFailed, *REFUSALS, *GRANTS)
def connection_lost(fact: ConnectionFailed, notes: Notes) -> None:
    """Or the connection."""
    if fact.event.kind == METHOD and fact.error is None and not fact.failing:
        _refused(fact.event, fact.connection.channels.values(), "connection", notes)


def _refused(event: Event, channels: Iterable[ChannelLife], what: str, notes: Notes) -> None:
    memory = notes.memory(Consumers)
    waiting = [one for channel in channels for one in channel.pending() if one.method == "basic.consume"]
    if ids_of(event) != CONSUME or len(waiting) != 1:
        return
    memory.refused(waiting[0].seq)
    code = int(event.args.get("reply_code", 0))
    for rule in memory.expected.pop(waiting[0].seq, ()):
        if rule in REFUSALS:
            notes.exercise(rule)
        wrong = code in BLAMED[rule] if rule in GRANTS else code != ACCESS_REFUSED or what != "channel"
        if wrong and rule == AGAIN:
            wrong = too_late(waiting[0].sent_ns, memory.ended_before(event), LEFT, notes)
        if wrong:
            allowed = "consume-ok" if rule in GRANTS else f"channel.close {ACCESS_REFUSED}"
            notes.find(rule, event, allowed, f"{what}: {closing(event.args)}", waiting[0].seq)
