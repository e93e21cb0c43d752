"""POLICY: what policies set for queues, seen in how many messages these keep, and which they refuse.

A queue is followed for as long as all that happens to it is certain: one channel in confirm mode fills it, gets of the
same connection empty it, and no policy changes while a publish is under way. Then what policies and arguments leave is
known, and is compared when gets have taken all. Which rule that speaks for follows from the policies that there are:
those that fit, those that would but for one thing, and those that have been removed. A broker has a second to heed a
change that it shows; what comes in before is not judged, nor are policies of which two may hold. Whoever finds
something that no limit at all explains says nothing: other families speak of that.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from conformance.history.events import TO_BROKER, Event
from conformance.oracle.model.connections.channels import OPEN
from conformance.oracle.model.facts import Confirmed, Passed, Policed
from conformance.oracle.monitors.fate import LOSING
from conformance.oracle.monitors.messages.kept import KEPT, Kept, fate
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.topology.policies import Policies, fits, number

LIMITS, LATER, PATTERN, HIGHEST, KIND = "POLICY-001", "POLICY-002", "POLICY-003", "POLICY-004", "POLICY-005"
VHOST, SMALLER, WAITING, REMOVED, OPERATOR = "POLICY-006", "POLICY-007", "POLICY-008", "POLICY-009", "POLICY-010"
REFUSES, TURNED, FIRST = "POLICY-018", "POLICY-019", "POLICY-020"
OUTLIVES = "DUR-022"
OF_FULL = REFUSES, TURNED, FIRST
ALL = (LIMITS, LATER, PATTERN, HIGHEST, KIND, VHOST, SMALLER, WAITING, REMOVED, OPERATOR, OUTLIVES, *OF_FULL)
MOST, ARGUMENT, DOES, TYPE = "max-length", "x-max-length", "x-overflow", "x-queue-type"
DEAD = "dead-letter-exchange"
OVERFLOW, REJECT = "overflow", "reject-publish"
KNOWN = "drop-head", REJECT
TAKEN, REFUSED = "basic.ack", "basic.nack"
TTL, LONG = "message-ttl", 600_000
"""So many milliseconds are longer than a history."""
SHELVES = 64
REFUSALS = 8
"""A broker may refuse a publish for reasons of its own; hardly so many one after another."""
Place = tuple[str, int]
"""A connection, and a channel of it."""


@dataclass(slots=True)
class Shelf:
    """One queue, from its declaration on."""

    connection: str
    vhost: str
    name: str
    argument: int | None
    overflow: str | None
    """What its arguments say that it does when it is full."""
    declared: int
    outlived: bool = False
    """It was there before a restart."""
    publisher: int = 0
    pending: dict[str, str] = field(default_factory=dict)
    """What is published, in order, and how that was answered, if it was."""
    came: list[str] = field(default_factory=list)
    """All that came in since it was empty."""
    ready: list[str] = field(default_factory=list)
    """What must be there."""
    taken: list[str] = field(default_factory=list)
    held: set[int] = field(default_factory=set)
    """Channels with unacked messages of it."""
    most: int | None = None
    """How many it may hold now."""
    refuses: bool = False
    """Does it refuse more than that?"""
    waited: bool = False
    """A limit has changed while messages were in it."""
    turned: bool = False
    """What it does when it is full has changed meanwhile."""
    speaks: str = ""
    """The rule that the answers of a full queue speak for, and the policies that say so."""
    told: list[int] = field(default_factory=list)
    denied: int = 0
    """So many were refused one after another, though the oldest must have made room."""
    asking: int = 0
    unsure: bool = False
    """Until it is empty again."""
    spoiled: bool = False
    """For good."""

    def full(self) -> bool:
        return self.most is not None and len(self.ready) >= self.most

    def enter(self) -> Iterator[tuple[str, str]]:
        """What is answered has come in or not, in the order in which it was published; the oldest make room. Tells of
        what finds a full queue how that was answered, and how it must be."""
        for message in [*self.pending]:
            answer = self.pending[message]
            if not answer:
                return
            del self.pending[message]
            if self.full():
                yield answer, REFUSED if self.refuses else TAKEN
            elif answer == REFUSED:
                self.unsure = True  # of that nothing is claimed
            if answer == TAKEN:
                self.came.append(message)
                self.ready.append(message)
                self.trim()

    def trim(self) -> None:
        over = 0 if self.most is None else max(0, len(self.ready) - self.most)
        if over and self.refuses:
            self.unsure = True  # it may keep what it has
        else:
            del self.ready[:over]

    def empty(self) -> None:
        """All is known again."""
        self.came, self.ready, self.taken = [], [], []
        self.waited, self.turned, self.unsure, self.denied = False, False, bool(self.pending), 0


@dataclass(slots=True)
class Shelves:
    """By the names of queues; and which of them a get asks, by its place."""

    by_queue: OrderedDict[str, Shelf] = field(default_factory=OrderedDict)
    asked: dict[Place, tuple[str, int]] = field(default_factory=dict)

    def of(self, connection: str) -> Iterator[Shelf]:
        """All that this connection declared."""
        return (one for one in self.by_queue.values() if one.connection == connection)


@follows("queue.declare")
def declared(fact: Passed, notes: Notes) -> None:
    """A classic queue with no argument but perhaps a length, and what it does when it is full."""
    event, shelves = fact.event, notes.memory(Shelves)
    if event.direction != TO_BROKER or event.has("passive"):
        return
    name, arguments = event.queue or "", event.args.get("arguments") or {}
    known = shelves.by_queue.pop(name, None)
    if "x-dead-letter-exchange" in arguments:
        for one in shelves.by_queue.values():
            one.spoiled = True
    plain = {*arguments} <= {ARGUMENT, DOES, TYPE} and arguments.get(TYPE, "classic") == "classic"
    plain = plain and arguments.get(DOES) in (None, *KNOWN)
    limited = ARGUMENT not in arguments or number(arguments[ARGUMENT]) is not None
    if known or not name or not plain or not limited or event.has("auto_delete"):
        return
    vhost, most = fact.connection.vhost, number(arguments.get(ARGUMENT))
    if fact.topology.queue(vhost, name) is None:
        kept, before = notes.memory(Kept), notes.memory(Kept).queues.get((vhost, name))
        outlived = kept.started and before is not None and fate(before) == KEPT
        shelf = Shelf(event.connection, vhost, name, most, arguments.get(DOES), event.seq, outlived)
        shelves.by_queue[name] = shelf
    if len(shelves.by_queue) > SHELVES:
        shelves.by_queue.popitem(last=False)


# -- what holds


def heed(shelf: Shelf, policies: Policies) -> bool:
    """What arguments and policies set together holds from now on; is that known?"""
    found = policies.settings(shelf.vhost, "classic", shelf.name)
    shelf.most, shelf.refuses = None, False
    if found is None:
        return False
    limits = [one for one in (shelf.argument, number(found.get(MOST))) if one is not None]
    overflow, long = shelf.overflow or found.get(OVERFLOW), found.get(TTL)
    shelf.most, shelf.refuses = min(limits, default=None), overflow == REJECT
    operators = policies.fitting(shelf.vhost, "classic", shelf.name, operator=True)
    if overflow not in (None, *KNOWN) or any(OVERFLOW in one.definition for one in operators):
        return False
    return {*found} <= {MOST, OVERFLOW, TTL} and (long is None or (number(long) or 0) >= LONG)


def seqs(policies: Policies) -> list[int]:
    return sorted(one.seq for one in policies.by_key.values())


def rule_of(shelf: Shelf, policies: Policies) -> str:
    """What the number of its messages speaks for; empty: no policy has to do with it."""
    own = policies.fitting(shelf.vhost, "classic", shelf.name)
    operators = policies.fitting(shelf.vhost, "classic", shelf.name, operator=True)
    if operators:
        most = number(operators[0].definition.get(MOST))
        less = shelf.argument is not None and most is not None and shelf.argument < most
        return "" if less else OPERATOR  # of that the guides say different things
    if not own:
        return _missing(shelf, policies)
    if shelf.waited or shelf.turned:
        return WAITING if shelf.waited else TURNED
    if len(own) > 1:
        return HIGHEST
    if shelf.outlived and own[0].seq < shelf.declared:
        return OUTLIVES
    if OVERFLOW in own[0].definition and (shelf.refuses or shelf.overflow):
        return FIRST if shelf.overflow else REFUSES
    if shelf.argument is not None and MOST in own[0].definition:
        return SMALLER
    if own[0].seq < shelf.declared:
        return LATER
    return LIMITS if own[0].pattern.startswith("^") else PATTERN


def rule_of_full(shelf: Shelf, policies: Policies) -> str:
    """What the answer of a full queue speaks for; empty: the limit itself is in question, or no policy says it."""
    own = policies.fitting(shelf.vhost, "classic", shelf.name)
    if len(own) > 1 or policies.fitting(shelf.vhost, "classic", shelf.name, operator=True):
        return ""
    if shelf.waited or shelf.turned:
        return WAITING if shelf.waited else TURNED
    if not own or OVERFLOW not in own[0].definition:
        return ""
    return FIRST if shelf.overflow else REFUSES


def _missing(shelf: Shelf, policies: Policies) -> str:
    """Why does none fit?"""
    gone, elsewhere, otherwise, unlike = False, False, False, False
    for one in policies.by_key.values():
        fitting, kin = fits(one.pattern, shelf.name), one.applies("classic")
        here = one.vhost == shelf.vhost
        gone = gone or (one.gone and here and fitting and kin)
        elsewhere = elsewhere or (not one.gone and not here and fitting and kin)
        otherwise = otherwise or (not one.gone and here and fitting and not kin)
        unlike = unlike or (not one.gone and here and not fitting and kin)
    return REMOVED if gone else VHOST if elsewhere else KIND if otherwise else PATTERN if unlike else ""


@judges(Policed)
def changed(fact: Policed, notes: Notes) -> None:
    """A policy changes: what waits in a queue that it fits is under the new ones from now on."""
    shelves, policies = notes.memory(Shelves), fact.topology.policies
    if fact.event.args.get("state") in ("setting", "clearing"):
        for shelf in shelves.by_queue.values():
            shelf.unsure = shelf.unsure or bool(shelf.pending) or shelf.asking > 0
        return
    for shelf in shelves.by_queue.values():
        most, refuses = shelf.most, shelf.refuses
        sure = heed(shelf, policies)
        if shelf.ready:
            shelf.unsure = shelf.unsure or not sure or bool(shelf.taken)
            shelf.waited = shelf.waited or most != shelf.most
            shelf.turned = shelf.turned or refuses != shelf.refuses
            shelf.trim()


# -- what comes in


@follows("basic.publish")
def published(fact: Passed, notes: Notes) -> None:
    """One more, under policies that have been in force for a while."""
    event, shelves = fact.event, notes.memory(Shelves)
    if not shelves.by_queue:
        return
    if '"CC"' in event.arguments or '"BCC"' in event.arguments:
        for one in shelves.by_queue.values():
            one.spoiled = True
    shelf = shelves.by_queue.get(event.routing_key or "") if not event.exchange else None
    if shelf is None:
        return
    channel = fact.connection.channels.get(event.channel)
    sound = channel is not None and channel.state == OPEN and not channel.indeterminate and fact.connection.usable()
    mine = event.connection == shelf.connection and shelf.publisher in (0, event.channel)
    plain = (
        channel is not None and channel.confirm and not channel.transactional and "expiration" not in event.arguments
    )
    if not (sound and mine and plain) or not event.message or event.message in shelf.pending:
        shelf.spoiled = True
        return
    sure = heed(shelf, fact.topology.policies)
    if shelf.taken or shelf.asking or not sure or not fact.topology.policies.settled(event.time_ns):
        shelf.unsure, shelf.denied = True, 0
    shelf.speaks, shelf.told = rule_of_full(shelf, fact.topology.policies), seqs(fact.topology.policies)
    shelf.publisher = event.channel
    shelf.pending[event.message] = ""


@judges(Confirmed, *OF_FULL)
def confirmed(fact: Confirmed, notes: Notes) -> None:
    """It is in, or it was refused: rightly, where it has found a full queue?"""
    by_queue, event = notes.memory(Shelves).by_queue, fact.event
    for publication in fact.resolved if by_queue else ():
        shelf = by_queue.get(publication.routing_key) if not publication.exchange else None
        if shelf is None or publication.message not in shelf.pending:
            continue
        shelf.pending[publication.message] = event.method or ""
        for answer, expected in shelf.enter():
            _answered(event, shelf, answer, expected, notes)


def _answered(event: Event, shelf: Shelf, answer: str, expected: str, notes: Notes) -> None:
    """A full queue takes a message or not: as it must?"""
    certain = bool(shelf.speaks) and not shelf.spoiled and (shelf.denied > 0 or not shelf.unsure)
    wrong = answer != expected
    shelf.unsure = shelf.unsure or wrong
    shelf.denied = shelf.denied + 1 if certain and wrong and answer == REFUSED else 0
    if certain and wrong and (answer == TAKEN or shelf.denied == REFUSALS):
        does = "refuses what comes" if shelf.refuses else "drops its oldest message"
        allowed = f"{expected}: {shelf.name} has {shelf.most} messages, and {does}"
        notes.find(shelf.speaks, event, allowed, answer, *shelf.told)
    elif certain and not wrong and answer == REFUSED and shelf.speaks in OF_FULL:
        notes.exercise(shelf.speaks)


# -- what comes out


@follows("basic.consume", "basic.nack", "basic.reject", "basic.recover", "channel.close")
def disturbed(fact: Passed, notes: Notes) -> None:
    """From now on others may have some, or some may be back."""
    event, shelves = fact.event, notes.memory(Shelves)
    if event.method == "basic.consume":
        shelf = shelves.by_queue.get(event.queue or "")
        if shelf is not None:
            shelf.spoiled = True
        return
    for shelf in (
        shelves.of(event.connection) if event.direction == TO_BROKER or event.method == "channel.close" else ()
    ):
        shelf.spoiled = shelf.spoiled or event.channel in shelf.held or event.channel == shelf.publisher


@follows("queue.bind", "queue.purge", "queue.delete")
def rearranged(fact: Passed, notes: Notes) -> None:
    """Other messages may come, or all may go. The empty name stands for any of them."""
    for name, shelf in notes.memory(Shelves).by_queue.items():
        shelf.spoiled = shelf.spoiled or fact.event.queue in (name, "", None)


@follows("basic.get")
def asked(fact: Passed, notes: Notes) -> None:
    """Who asks while publishes are under way learns nothing for certain."""
    event, shelves = fact.event, notes.memory(Shelves)
    shelf = shelves.by_queue.get(event.queue or "")
    if shelf is None:
        return
    shelf.asking += 1
    shelf.spoiled = shelf.spoiled or event.connection != shelf.connection
    calm = fact.topology.policies.settled(event.time_ns)
    shelf.unsure = shelf.unsure or shelf.asking > 1 or bool(shelf.pending) or not calm
    shelves.asked[event.connection, event.channel] = event.queue or "", event.has("no_ack")


@follows("basic.get-ok", "basic.get-empty", rules=ALL)
def answered(fact: Passed, notes: Notes) -> None:
    """One more is known; or all are, and can be compared with what must be there."""
    event, shelves = fact.event, notes.memory(Shelves)
    name, no_ack = shelves.asked.pop((event.connection, event.channel), ("", True))
    shelf = shelves.by_queue.get(name)
    if shelf is None:
        return
    shelf.asking -= 1
    if event.method == "basic.get-ok":
        shelf.taken.append(event.message or "")
        if not no_ack:
            shelf.held.add(event.channel)
        return
    if not (shelf.unsure or shelf.spoiled) and shelf.came:
        _compare(event, shelf, fact.topology.policies, notes)
    shelf.empty()


def _compare(event: Event, shelf: Shelf, policies: Policies, notes: Notes) -> None:
    """All that was there has been taken: is it what policies and arguments leave?"""
    rule = rule_of(shelf, policies)
    if not rule or any(DEAD in one.definition for one in policies.by_key.values()):
        return
    limits = [number(one.definition.get(MOST)) for one in policies.by_key.values()]
    least = min((one for one in limits if one is not None), default=len(shelf.came))
    if shelf.taken == shelf.ready:
        if len(shelf.came) > least:
            notes.exercise(rule)
    elif shelf.taken == shelf.came[len(shelf.came) - len(shelf.taken) :]:
        said = "no limit" if shelf.most is None else f"a limit of {shelf.most}"
        allowed = f"the last {len(shelf.ready)} of {len(shelf.came)} messages, by {said}"
        lost = LOSING if len(shelf.taken) < len(shelf.ready) else ()
        notes.find(rule, event, allowed, f"the last {len(shelf.taken)} of them", *seqs(policies), unless=lost)
    else:
        shelf.spoiled = True
