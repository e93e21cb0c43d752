"""TTL-010 to TTL-012: queues that go when nobody has used them for as long as their x-expires says.

The model claims nothing of such a queue. This family remembers when each was used last: not before the use was sent,
and not after its answer was read. Any question may renew the lease, so a queue is asked once, when its time is
certainly over. Where two ask at a time, or a connection with consumers ends otherwise than by its client's wish,
nothing more is claimed.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from conformance.history.events import TO_BROKER, Event
from conformance.oracle.model.connections.channels import OPEN
from conformance.oracle.model.facts import Passed, Policed, SocketClosed
from conformance.oracle.monitors import fate
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.patience import LAPSED, too_late
from conformance.oracle.monitors.table import follows, judges

GOES, RENEWED, KEPT = "TTL-010", "TTL-011", "TTL-012"
EXPIRES = "x-expires"
MILLISECOND = 1_000_000
EARLY, PROMPT, MARGIN = 20 * MILLISECOND, 2_000 * MILLISECOND, 200 * MILLISECOND
"""What clocks may differ by; after which a classic queue has usually gone; and what proves that a use has counted."""
QUEUES, QUESTIONS = 64, 256
NOT_FOUND = 404
QUESTION = ("queue.declare", "basic.get", "basic.consume", "basic.cancel")
ANSWER = ("queue.declare-ok", "basic.get-ok", "basic.get-empty", "basic.consume-ok", "basic.cancel-ok")
Place = tuple[str, int]
"""A connection, and a channel of it."""
Holder = tuple[str, int, str]
"""A connection, a channel and a consumer tag."""


@dataclass(slots=True)
class Lease:
    """One queue, from the answer to its declaration on; all times in nanoseconds."""

    life: int
    prompt: bool
    """Does it go soon after its time?"""
    began: int = 0
    """When its declaration was answered."""
    used: int = 0
    """Its latest use was sent then."""
    quiet: int = 0
    """Nothing has concerned it since."""
    seq: int = 0
    """The answer to the latest use."""
    users: set[Holder] = field(default_factory=set)
    kept: int = 0
    """When the first of its consumers started."""
    revived: bool = False
    """Its latest use came when its time was over: it may have been given up by then, and go all the same."""
    cancelled: bool = False
    """A consumer of it was cancelled by its client."""
    unsure: bool = False
    """A consumer of it has ended in another way than that its client wanted it."""
    ending: dict[Place, int] = field(default_factory=dict)
    """Channels with consumers of it that their client closes, and since when."""

    @property
    def known(self) -> bool:
        """Is it certain who uses it?"""
        return not self.unsure and not self.ending

    def use(self, asked: int, event: Event) -> None:
        """It was used, as an answer tells."""
        self.revived = self.began > 0 and not self.users and event.time_ns >= self.used + self.life
        self.used, self.seq = asked, event.seq

    def ends(self, event: Event, channel: int | None = None) -> None:
        """A channel with consumers of it ends, or all of a connection do."""
        for connection, number, _ in self.users:
            if connection == event.connection and channel in (None, number):
                if event.direction == TO_BROKER:
                    self.ending[connection, number] = event.time_ns
                else:
                    self.unsure = True

    def ended(self, event: Event, channel: int | None = None) -> None:
        """The broker has answered that."""
        over = [one for one in self.ending if one[0] == event.connection and channel in (None, one[1])]
        for place in over if event.direction != TO_BROKER else ():
            self.used, self.quiet, self.seq = self.ending.pop(place), event.time_ns, event.seq
            self.users = {one for one in self.users if one[:2] != place}


@dataclass(slots=True)
class LeaseQuestion:
    """What was sent last on a channel, and is not answered yet."""

    queue: str
    seq: int
    ns: int
    ids: tuple[int, int]
    uses: bool
    tag: str
    makes: bool


@dataclass(slots=True)
class Leases:
    """By the names of queues; and what is being asked, by connection and channel."""

    by_queue: OrderedDict[str, Lease] = field(default_factory=OrderedDict)
    asked: OrderedDict[Place, LeaseQuestion] = field(default_factory=OrderedDict)


@follows(*QUESTION, rules=(KEPT,))
def question(fact: Passed, notes: Notes) -> None:
    """The client asks something of such a queue. A cancel of the broker ends a consumer that keeps it."""
    event, leases = fact.event, notes.memory(Leases)
    if event.direction != TO_BROKER:
        _cancelled(event, leases, notes)
        return
    name, tag = event.queue or "", event.consumer_tag or ""
    new = name not in leases.by_queue and not fact.topology.policies
    if event.method == "queue.declare" and new and f'"{EXPIRES}"' in event.arguments:
        _begin(fact, name, leases)
    if event.method == "basic.cancel":
        holder = event.connection, event.channel, tag
        name = next((one for one, lease in leases.by_queue.items() if holder in lease.users), "")
    lease = leases.by_queue.get(name)
    if lease is None:
        return
    key, passive = (event.connection, event.channel), event.has("passive")
    overwritten = leases.asked.get(key)
    if overwritten is not None and overwritten.queue in leases.by_queue:
        leases.by_queue[overwritten.queue].unsure = True
    twice = overwritten is not None or any(one.queue == name for one in leases.asked.values()) or _asks_another(fact)
    if twice or event.has("no_wait"):
        lease.unsure = True  # two at a time: which of them is answered is not asked here
    makes = event.method == "queue.declare" and not passive
    ids = event.class_id, event.method_id
    leases.asked[key] = LeaseQuestion(name, event.seq, event.time_ns, ids, not passive, tag, makes)
    if len(leases.asked) > QUESTIONS:
        leases.asked.popitem(last=False)


def _asks_another(fact: Passed) -> bool:
    """Is something else asked on its channel, be it of another queue, that is not answered yet?"""
    channel = fact.connection.channels.get(fact.event.channel)
    pending = channel.pending() if channel is not None else ()
    return any(one.seq < fact.event.seq and one.method in QUESTION for one in pending)


@judges(Policed)
def ruled(fact: Policed, notes: Notes) -> None:
    """Any queue may have another life by policy."""
    notes.memory(Leases).by_queue.clear()


def _begin(fact: Passed, name: str, leases: Leases) -> None:
    event = fact.event
    arguments = event.args.get("arguments") or {}
    life, channel = arguments.get(EXPIRES), fact.connection.channels.get(event.channel)
    sound = channel is not None and channel.state == OPEN and not channel.indeterminate and fact.connection.usable()
    strange = event.has("passive") or event.has("auto_delete") or event.has("exclusive")
    if not name or not sound or strange or not isinstance(life, int) or life <= 0:
        return
    there = fact.topology.queue(fact.connection.vhost, name)
    if there is not None and there.gone is None and there.used:
        return  # who consumes from it is forgotten
    prompt = str(arguments.get("x-queue-type") or "classic") == "classic"
    leases.by_queue[name] = Lease(life * MILLISECOND, prompt)
    if len(leases.by_queue) > QUEUES:
        leases.by_queue.popitem(last=False)


def _cancelled(event: Event, leases: Leases, notes: Notes) -> None:
    holder = event.connection, event.channel, event.consumer_tag or ""
    for name, lease in [*leases.by_queue.items()]:
        if holder in lease.users:
            del leases.by_queue[name]
            over = event.time_ns >= lease.began + lease.life - EARLY
            if lease.known and over and not lease.revived:
                notes.find(KEPT, event, f"{name} stays while {holder[2]} consumes", "basic.cancel", lease.seq)


@follows("queue.delete", "channel.close")
def upset(fact: Passed, notes: Notes) -> None:
    """A queue may be deleted, and a consumer may end with its channel: until the client's close is answered, or where
    the broker closes it, nobody knows since when it is unused."""
    event, leases = fact.event, notes.memory(Leases)
    if event.method == "queue.delete":
        for name in [event.queue] if event.queue else list(leases.by_queue):
            leases.by_queue.pop(name, None)
        return
    for lease in leases.by_queue.values():
        lease.ends(event, event.channel)


@follows("channel.close-ok")
def ended(fact: Passed, notes: Notes) -> None:
    """The broker has closed the channel as its client wanted, and the consumers are no more."""
    for lease in notes.memory(Leases).by_queue.values():
        lease.ended(fact.event, fact.event.channel)


@follows("connection.close", "connection.close-ok")
def parted(fact: Passed, notes: Notes) -> None:
    """Likewise all of a connection."""
    for lease in notes.memory(Leases).by_queue.values():
        if fact.event.method == "connection.close":
            lease.ends(fact.event)
        else:
            lease.ended(fact.event)


@judges(SocketClosed)
def lost(fact: SocketClosed, notes: Notes) -> None:
    """Nobody knows when the broker learns of that."""
    for lease in notes.memory(Leases).by_queue.values():
        lease.unsure = lease.unsure or any(one[0] == fact.event.connection for one in lease.users)


@follows(*ANSWER, rules=(GOES, RENEWED, KEPT))
def there(fact: Passed, notes: Notes) -> None:
    """The queue is there: is it right to be, and what has kept it?"""
    event, leases = fact.event, notes.memory(Leases)
    if event.direction == TO_BROKER:
        return
    asked = leases.asked.pop((event.connection, event.channel), None)
    lease = leases.by_queue.get(asked.queue) if asked is not None else None
    if asked is None or lease is None:
        return
    if lease.began and not asked.makes and lease.known:
        _kept(event, asked, lease, notes)
    if asked.uses:
        lease.use(asked.ns, event)
    lease.began, lease.quiet = lease.began or event.time_ns, event.time_ns
    if event.method == "basic.consume-ok":
        lease.users.add((event.connection, event.channel, event.consumer_tag or ""))
        lease.kept = lease.kept or event.time_ns
    elif event.method == "basic.cancel-ok":
        lease.users.discard((event.connection, event.channel, event.consumer_tag or ""))
        lease.cancelled = True


def _kept(event: Event, asked: LeaseQuestion, lease: Lease, notes: Notes) -> None:
    if lease.users:
        if asked.ns >= lease.kept + lease.life + MARGIN:
            notes.exercise(KEPT)
        return
    unused = asked.ns - lease.quiet
    if lease.prompt and unused >= lease.life + PROMPT:
        if not too_late(asked.ns, lease.quiet + lease.life, LAPSED, notes):
            notes.look_again(event.time_ns + lease.life + LAPSED)  # this question may have counted as a use
            return
        allowed = f"{asked.queue} goes when it is unused for {lease.life // MILLISECOND} ms"
        observed, unless = f"it is there after {unused // MILLISECOND} ms", fate.STAYING if lease.cancelled else ()
        notes.find(GOES, event, allowed, observed, lease.seq, asked.seq, unless=unless)
    elif unused < lease.life and asked.ns >= lease.began + lease.life + MARGIN:
        notes.exercise(RENEWED)


@follows("channel.close", rules=(GOES, RENEWED, KEPT))
def not_there(fact: Passed, notes: Notes) -> None:
    """The queue is gone: too early?"""
    event, leases = fact.event, notes.memory(Leases)
    asked = leases.asked.pop((event.connection, event.channel), None)
    if asked is None or event.direction == TO_BROKER or event.args.get("reply_code") != NOT_FOUND:
        return
    lease = leases.by_queue.pop(asked.queue, None)
    ids = event.args.get("class_id"), event.args.get("method_id")
    if lease is None or not lease.known or not lease.began or ids != asked.ids:
        return
    unused = event.time_ns - lease.used
    if lease.users and not lease.revived:
        notes.find(KEPT, event, f"{asked.queue} stays while it has consumers", "it is not found", lease.seq)
    elif unused < lease.life - EARLY and not lease.revived:
        allowed = f"{asked.queue} stays for {lease.life // MILLISECOND} ms after each use"
        notes.find(RENEWED, event, allowed, f"it is not found after {unused // MILLISECOND} ms", lease.seq)
    elif asked.ns - lease.quiet >= lease.life + PROMPT:
        notes.exercise(GOES)
