"""LEN: queues that hold so many messages, or so many octets, and no more.

The model claims nothing of what a full queue drops. This family follows a queue for as long as all that happens to it
is certain: one channel in confirm mode fills it, and gets of the same connection empty it while no publish is under
way. Then it is known which messages are there. They are compared when gets have taken all, so a message that comes late
is not missed. A count that the broker tells is never evidence, and what counts as octets beside a body is the broker's
choice. Whatever else happens ends the claim for good. Other rules speak of losses while the limit is out of reach, and
of what a refusal means (RQ-011, CNF-011, CNF-021).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from conformance.history.events import TO_BROKER, Event
from conformance.oracle.model.channels import OPEN
from conformance.oracle.model.facts import Confirmed, Passed, Policed
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows, judges

COUNT, OLDEST, NO_MORE, READY = "LEN-001", "LEN-002", "LEN-003", "LEN-004"
OCTETS, EITHER, NEWEST = "LEN-005", "LEN-006", "LEN-007"
ALL = (COUNT, OLDEST, NO_MORE, READY, OCTETS, EITHER, NEWEST)
MOST, MOST_OCTETS, OVERFLOW, KIND = "x-max-length", "x-max-length-bytes", "x-overflow", "x-queue-type"
DROPS, REFUSES = "drop-head", ("reject-publish", "reject-publish-dlx")
QUEUES = 64
Place = tuple[str, int]
"""A connection, and a channel of it."""


@dataclass(slots=True)
class Publish:
    """One message on its way into the queue; `kept` is what its confirm says."""

    message: str
    octets: int
    kept: bool | None = None


@dataclass(slots=True)
class Bounded:
    """One queue with a limit, from its declaration on."""

    connection: str
    most: int | None
    octets: int | None
    refuses: bool
    publisher: int = 0
    pending: list[Publish] = field(default_factory=list)
    ready: list[Publish] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    """What it has had no room for."""
    taken: list[str] = field(default_factory=list)
    """What gets have brought since the last publish."""
    held: set[int] = field(default_factory=set)
    """Channels with unacked messages of it."""
    crowded: bool = False
    """Some were unacked when a message came for which there was room."""
    came: int = 0
    asking: int = 0
    unsure: bool = False

    def over(self) -> bool:
        """Are there more than may be?"""
        if self.most is not None and len(self.ready) > self.most:
            return True
        return self.octets is not None and sum(one.octets for one in self.ready) > self.octets

    def enter(self) -> None:
        """What is confirmed is there, in the order in which it was published."""
        while self.pending and self.pending[0].kept is not None:
            one = self.pending.pop(0)
            self.came += 1
            self.ready.append(one)
            full = self.over()
            if self.refuses and full:
                self.gone.add(self.ready.pop().message)
            if full == bool(one.kept) and self.refuses:
                self.unsure = True  # CNF-011 speaks of that
            self.unsure = self.unsure or not (self.refuses or one.kept)
            while self.over():
                self.gone.add(self.ready.pop(0).message)
            self.crowded = self.crowded or (bool(self.held) and not full)


@dataclass(slots=True)
class Limits:
    """By the names of queues; and which of them a get asks, by its place."""

    by_queue: OrderedDict[str, Bounded] = field(default_factory=OrderedDict)
    asked: dict[Place, tuple[str, bool]] = field(default_factory=dict)
    fed: bool = False
    """There are dead letters, which may come into any queue."""

    def of(self, connection: str) -> Iterator[Bounded]:
        """All that this connection declared."""
        return (one for one in self.by_queue.values() if one.connection == connection)


def _limit(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


@follows("queue.declare")
def declared(fact: Passed, notes: Notes) -> None:
    """A queue with a limit, and nothing else about it that takes messages away or brings some."""
    event, limits = fact.event, notes.memory(Limits)
    if event.direction != TO_BROKER or event.has("passive"):
        return
    name, arguments = event.queue or "", event.args.get("arguments") or {}
    known = limits.by_queue.get(name)
    if known is not None:
        known.unsure = True
    if "x-dead-letter-exchange" in arguments:
        limits.fed = True
        _doubt(limits)
    most, octets = _limit(arguments.get(MOST)), _limit(arguments.get(MOST_OCTETS))
    plain = set(arguments) <= {MOST, MOST_OCTETS, OVERFLOW, KIND} and arguments.get(KIND, "classic") == "classic"
    how = arguments.get(OVERFLOW, DROPS)
    if (
        fact.topology.policies
        or limits.fed
        or not name
        or known
        or not plain
        or (most is None and octets is None)
        or how not in (DROPS, *REFUSES)
    ):
        return
    if event.has("auto_delete") or fact.topology.queue(fact.connection.vhost, name) is not None:
        return
    limits.by_queue[name] = Bounded(event.connection, most, octets, how in REFUSES)
    if len(limits.by_queue) > QUEUES:
        limits.by_queue.popitem(last=False)


def _doubt(limits: Limits) -> None:
    for one in limits.by_queue.values():
        one.unsure = True


@judges(Policed)
def ruled(fact: Policed, notes: Notes) -> None:
    """Any of them may have another limit by policy."""
    _doubt(notes.memory(Limits))


@follows("basic.publish")
def published(fact: Passed, notes: Notes) -> None:
    """One more comes, unless it is turned away."""
    event, limits = fact.event, notes.memory(Limits)
    if not limits.by_queue:
        return
    if '"CC"' in event.arguments or '"BCC"' in event.arguments:
        _doubt(limits)
    queue = limits.by_queue.get(event.routing_key or "") if not event.exchange else None
    if queue is None:
        return
    channel = fact.connection.channels.get(event.channel)
    sound = channel is not None and channel.state == OPEN and not channel.indeterminate and fact.connection.usable()
    mine = event.connection == queue.connection and queue.publisher in (0, event.channel)
    confirms = channel is not None and channel.confirm and not channel.transactional
    plain = confirms and "expiration" not in event.arguments
    if queue.taken != [one.message for one in queue.ready[: len(queue.taken)]] or queue.asking:
        queue.unsure = True
    if not (sound and mine and plain and event.message):
        queue.unsure = True
        return
    del queue.ready[: len(queue.taken)]
    queue.taken, queue.publisher = [], event.channel
    queue.pending.append(Publish(event.message or "", event.body_size or 0))


@judges(Confirmed)
def confirmed(fact: Confirmed, notes: Notes) -> None:
    """It is in, or it was refused."""
    event, limits = fact.event, notes.memory(Limits)
    for publication in fact.resolved if limits.by_queue else ():
        queue = limits.by_queue.get(publication.routing_key) if not publication.exchange else None
        for one in queue.pending if queue is not None else ():
            if one.message == publication.message:
                one.kept = event.method == "basic.ack"
        if queue is not None:
            queue.enter()


@follows("basic.consume", "basic.nack", "basic.reject", "basic.recover", "basic.recover-async", "channel.close")
def disturbed(fact: Passed, notes: Notes) -> None:
    """From now on others may have some, or some may be back."""
    event, limits = fact.event, notes.memory(Limits)
    if event.method == "basic.consume":
        queue = limits.by_queue.get(event.queue or "")
        if queue is not None:
            queue.unsure = True
        return
    if event.method == "basic.nack" and event.direction != TO_BROKER:
        return
    for queue in limits.of(event.connection):
        publishes = event.method == "channel.close" and event.channel == queue.publisher
        queue.unsure = queue.unsure or publishes or event.channel in queue.held


@follows("queue.bind", "queue.purge", "queue.delete")
def rearranged(fact: Passed, notes: Notes) -> None:
    """Other messages may come, or all may go. The empty name stands for any of them."""
    limits = notes.memory(Limits)
    for name, queue in limits.by_queue.items():
        queue.unsure = queue.unsure or fact.event.queue in (name, "", None)


@follows("basic.get")
def asked(fact: Passed, notes: Notes) -> None:
    """Who asks while publishes are under way learns nothing for certain."""
    event, limits = fact.event, notes.memory(Limits)
    queue = limits.by_queue.get(event.queue or "")
    if queue is None:
        return
    queue.asking += 1
    queue.unsure = queue.unsure or queue.asking > 1 or bool(queue.pending) or event.connection != queue.connection
    limits.asked[event.connection, event.channel] = event.queue or "", event.has("no_ack")


@follows("basic.get-ok", "basic.get-empty", rules=ALL)
def answered(fact: Passed, notes: Notes) -> None:
    """One more is known; or all are, and can be compared with what must be there."""
    event, limits = fact.event, notes.memory(Limits)
    name, no_ack = limits.asked.pop((event.connection, event.channel), ("", True))
    queue = limits.by_queue.get(name)
    if queue is None:
        return
    queue.asking -= 1
    if event.method == "basic.get-empty":
        if not queue.unsure:
            _compare(event, queue, notes)
        queue.ready, queue.taken = [], []
        return
    queue.taken.append(event.message or "")
    if not no_ack:
        queue.held.add(event.channel)


def _compare(event: Event, queue: Bounded, notes: Notes) -> None:
    """All that was there has been taken: is it what the limit leaves?"""
    there, found = [one.message for one in queue.ready], queue.taken
    limit = EITHER if None not in (queue.most, queue.octets) else COUNT if queue.octets is None else OCTETS
    end, few = NEWEST if queue.refuses else OLDEST, READY if queue.crowded else NO_MORE
    wanted = f"{len(there)} messages: {_list(there)}"
    seen = f"{len(found)} messages: {_list(found)}"
    lost, more = set(there) - set(found), set(found) - set(there)
    reached = queue.most is not None and queue.octets is None and queue.came > queue.most
    if more and lost and more <= queue.gone:
        notes.find(end, event, wanted, seen)
    elif more and more <= queue.gone and not queue.refuses:
        notes.find(limit, event, wanted, seen)
    elif lost and not more and reached and not queue.refuses:
        notes.find(few, event, wanted, seen)
    elif found == there:
        _exercise(queue, limit, end, reached, notes)
        return
    queue.unsure = True


def _exercise(queue: Bounded, limit: str, end: str, reached: bool, notes: Notes) -> None:
    """Just what must be there is there: what could a wrong broker have done otherwise?"""
    if queue.gone and queue.ready:
        notes.exercise(end)
    if queue.gone and not queue.refuses:
        notes.exercise(limit, *((NO_MORE,) if reached else ()))
    if queue.crowded and reached and not queue.refuses:
        notes.exercise(READY)


def _list(messages: list[str]) -> str:
    shown = messages if len(messages) <= 6 else [*messages[:3], "...", *messages[-3:]]
    return ", ".join(shown) or "none"
