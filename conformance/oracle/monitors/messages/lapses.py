"""POLICY-015 to POLICY-017: queues that go when nobody has used them for as long as a policy says.

A queue may lapse at a moment if some time to live that may be in force by then has passed since its last use: that of
the policy that is going as well, until a second after the change. It must be gone if the only one that can be in force
has passed since the last word about it, and since it came to be in force. What is between these two is the broker's
choice. As in `leases`, a queue is judged by what its own connection asks; a queue that others use, or that has
consumers, is not followed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from conformance.history.events import TO_BROKER, Event
from conformance.oracle.model.connections.channels import OPEN
from conformance.oracle.model.facts import Passed, Policed
from conformance.oracle.monitors.messages.leases import EARLY, EXPIRES, MARGIN, MILLISECOND, NOT_FOUND, PROMPT
from conformance.oracle.monitors.messages.policy import seqs
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.patience import LAPSED, too_late
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.topology.policies import HEEDED, PolicyHistory, number

GOES, SMALLER, TURNED = "POLICY-015", "POLICY-016", "POLICY-017"
ALL = GOES, SMALLER, TURNED
KEY, TYPE, CLASSIC = "expires", "x-queue-type", "classic"
QUESTION, ANSWER = ("queue.declare", "basic.get"), ("queue.declare-ok", "basic.get-ok", "basic.get-empty")
QUEUES, CHANNELS = 64, 256
EVER = 1 << 63


@dataclass(slots=True)
class Span:
    """A time to live, if any, and when it may be in force; all times in nanoseconds."""

    life: int | None
    ruled: bool
    """Does a policy set one?"""
    since: int
    firm: int
    """From here on it is."""
    until: int = EVER


@dataclass(slots=True)
class Lapse:
    """One queue, from its declaration on."""

    connection: str
    vhost: str
    name: str
    argument: int | None
    spans: list[Span]
    began: int = 0
    """When its declaration was answered."""
    used: int = 0
    """Its latest use was sent then."""
    quiet: int = 0
    """Nothing has concerned it since."""
    seq: int = 0
    """The answer to the latest use."""
    flux: int = 0
    """A policy is being changed since then."""

    def may_be_gone(self, now: int) -> bool:
        """Is there a time to live, in force for long enough, that had passed since the last use?"""
        return any(
            max(one.since, self.used + one.life - EARLY) <= min(one.until, now)
            for one in self.spans
            if one.life is not None
        )

    def due(self) -> int:
        """When its time is over at the latest; 0: never."""
        last = self.spans[-1]
        return 0 if last.life is None else max(self.quiet, last.firm) + last.life

    def must_be_gone(self, asked: int) -> bool:
        return 0 < self.due() <= asked - PROMPT

    def would_be_gone(self, asked: int) -> bool:
        """Had what is no longer in force stayed so."""
        former = (one.life for one in self.spans[:-1] if one.life is not None)
        return any(asked >= self.quiet + life + MARGIN for life in former)

    def rule(self) -> str:
        """What its being there, or not, speaks for; empty: no policy has to do with it."""
        if any(one.ruled for one in self.spans[:-1]):
            return TURNED
        ruled = self.spans[-1].ruled
        return "" if not ruled else GOES if self.argument is None else SMALLER

    def use(self, asked: int, seq: int) -> None:
        """It was there when it was used: what was in force only before that has nothing to say any more."""
        self.used, self.seq = asked, seq
        self.spans = [one for one in self.spans if one.until > asked]


@dataclass(slots=True)
class OpenQuestion:
    """What was sent on a channel, and is not answered yet."""

    queue: str
    seq: int
    ns: int
    ids: tuple[int, int]
    uses: bool


@dataclass(slots=True)
class Lapses:
    """By the names of queues; and what is being asked, by connection and channel, in order."""

    by_queue: OrderedDict[str, Lapse] = field(default_factory=OrderedDict)
    asked: OrderedDict[tuple[str, int], list[OpenQuestion]] = field(default_factory=OrderedDict)

    def asks(self, queue: str) -> bool:
        return any(one.queue == queue for of_channel in self.asked.values() for one in of_channel)


# -- what is in force


def span_of(lapse: Lapse, policies: PolicyHistory, since: int, firm: int) -> Span | None:
    """What arguments and policies say together; None: that is the broker's choice."""
    found = policies.settings(lapse.vhost, CLASSIC, lapse.name)
    if found is None:
        return None
    ruled = number(found.get(KEY))
    life = min((one for one in (lapse.argument, ruled) if one is not None), default=None)
    return Span(None if life is None else life * MILLISECOND, ruled is not None, since, firm)


@judges(Policed)
def changed(fact: Policed, notes: Notes) -> None:
    """Another time to live may be in force now, and is a moment later."""
    lapses, policies, now = notes.memory(Lapses), fact.topology.policies, fact.event.time_ns
    begins = fact.event.args.get("state") in ("setting", "clearing")
    for lapse in [*lapses.by_queue.values()]:
        if lapses.asks(lapse.name) or (begins and lapse.flux):
            del lapses.by_queue[lapse.name]
        elif begins:
            lapse.flux = now
        elif all(one.settled for one in policies.by_key.values()):
            _settle(lapse, lapses, policies, now)


def _settle(lapse: Lapse, lapses: Lapses, policies: PolicyHistory, now: int) -> None:
    found, last = span_of(lapse, policies, lapse.flux or now, now + HEEDED), lapse.spans[-1]
    lapse.flux = 0
    if found is None:
        del lapses.by_queue[lapse.name]
    elif (found.life, found.ruled) != (last.life, last.ruled):
        last.until = now + HEEDED
        lapse.spans.append(found)
    else:
        last.firm = now + HEEDED  # a broker may begin to count anew


# -- what the client says


@follows(*QUESTION)
def question(fact: Passed, notes: Notes) -> None:
    """The client asks something of a queue."""
    event, lapses = fact.event, notes.memory(Lapses)
    if event.direction != TO_BROKER:
        return
    name, passive, silent = event.queue or "", event.has("passive"), event.has("no_wait")
    lapse = lapses.by_queue.get(name)
    if lapse is None and event.method == "queue.declare" and name and not passive:
        lapse = _begin(fact, name, lapses)
    if lapse is not None and (event.connection != lapse.connection or silent or lapse.flux or lapses.asks(name)):
        del lapses.by_queue[name]  # two at a time: which of them has come first is not asked here
    if not silent:
        asked = OpenQuestion(name, event.seq, event.time_ns, (event.class_id, event.method_id), not passive)
        lapses.asked.setdefault((event.connection, event.channel), []).append(asked)
        if len(lapses.asked) > CHANNELS:
            lapses.asked.popitem(last=False)


def _begin(fact: Passed, name: str, lapses: Lapses) -> Lapse | None:
    """A classic queue that was not there, with no argument but perhaps x-expires."""
    event, policies, vhost = fact.event, fact.topology.policies, fact.connection.vhost
    arguments, channel = event.args.get("arguments") or {}, fact.connection.channels.get(event.channel)
    sound = channel is not None and channel.state == OPEN and not channel.indeterminate and fact.connection.usable()
    plain = {*arguments} <= {EXPIRES, TYPE} and arguments.get(TYPE, CLASSIC) == CLASSIC
    known = EXPIRES not in arguments or (number(arguments[EXPIRES]) or 0) > 0
    lasting = not event.has("auto_delete") and not event.has("exclusive")
    if not (sound and plain and known and lasting) or fact.topology.queue(vhost, name) is not None:
        return None
    lapse = Lapse(event.connection, vhost, name, number(arguments.get(EXPIRES)), [])
    found = span_of(lapse, policies, event.time_ns, event.time_ns)
    if found is None or not policies.settled(event.time_ns):
        return None
    lapse.spans.append(found)
    lapses.by_queue[name] = lapse
    if len(lapses.by_queue) > QUEUES:
        lapses.by_queue.popitem(last=False)
    return lapse


@follows("basic.consume", "queue.delete")
def disturbed(fact: Passed, notes: Notes) -> None:
    """Consumers keep it, or it is deleted. The empty name stands for any."""
    event, lapses = fact.event, notes.memory(Lapses)
    if event.direction == TO_BROKER:
        for name in [event.queue] if event.queue else list(lapses.by_queue):
            lapses.by_queue.pop(name, None)


# -- what the broker says


@follows(*ANSWER, rules=ALL)
def there(fact: Passed, notes: Notes) -> None:
    """The queue is there: is it right to be, and what has kept it?"""
    event, lapses = fact.event, notes.memory(Lapses)
    waiting = lapses.asked.get((event.connection, event.channel))
    if event.direction == TO_BROKER or not waiting:
        return
    asked = waiting.pop(0)
    lapse = lapses.by_queue.get(asked.queue)
    if lapse is None:
        return
    if lapse.began:
        for rule in _kept(event, asked, lapse, fact.topology.policies, notes):
            notes.exercise(rule)
    lapse.began, lapse.quiet = lapse.began or event.time_ns, event.time_ns
    if asked.uses:
        lapse.use(asked.ns, event.seq)


def _kept(event: Event, asked: OpenQuestion, lapse: Lapse, policies: PolicyHistory, notes: Notes) -> Iterator[str]:
    """What its being there shows."""
    rule, last = lapse.rule(), lapse.spans[-1]
    if not rule:
        return
    if lapse.must_be_gone(asked.ns):
        if not too_late(asked.ns, lapse.due(), LAPSED, notes):
            notes.look_again(event.time_ns + (last.life or 0) + LAPSED)
            return
        allowed = f"{lapse.name} goes when it is unused for {(last.life or 0) // MILLISECOND} ms"
        observed = f"it is there after {(asked.ns - lapse.quiet) // MILLISECOND} ms"
        notes.find(rule, event, allowed, observed, *seqs(policies), lapse.seq)
    elif lapse.may_be_gone(event.time_ns):
        return
    elif rule == TURNED:
        yield from [rule] if lapse.would_be_gone(asked.ns) else []
    elif last.life is not None and asked.ns >= max(lapse.began, last.firm) + last.life + MARGIN:
        yield rule


@follows("channel.close", rules=ALL)
def not_there(fact: Passed, notes: Notes) -> None:
    """The queue is gone: too early?"""
    event, lapses = fact.event, notes.memory(Lapses)
    waiting = lapses.asked.pop((event.connection, event.channel), [])
    found = {one.queue: lapses.by_queue.pop(one.queue, None) for one in waiting}
    if len(waiting) != 1 or event.direction == TO_BROKER or event.args.get("reply_code") != NOT_FOUND:
        return
    asked, ids = waiting[0], (event.args.get("class_id"), event.args.get("method_id"))
    lapse = found[asked.queue]
    rule = lapse.rule() if lapse is not None else ""
    if lapse is None or not rule or not lapse.began or ids != asked.ids:
        return
    if not lapse.may_be_gone(event.time_ns):
        lives = sorted({one.life // MILLISECOND for one in lapse.spans if one.life is not None})
        allowed = f"{lapse.name} stays: {' or '.join(map(str, lives))} ms had not passed since its last use"
        observed = f"it is not found after {(event.time_ns - lapse.used) // MILLISECOND} ms"
        if lapse.spans[-1].life is None:
            allowed = f"{lapse.name} stays: nothing says any more that it goes"
        notes.find(rule, event, allowed, observed, lapse.seq)
    elif lapse.must_be_gone(asked.ns):
        notes.exercise(rule)
