"""What limits a queue by argument and by policy, and what must be in it then.

How many octets a broker counts beside a body is not asked here: a limit of octets says something where all messages are
of one size, and so large that it makes no difference.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from conformance.oracle.monitors.gets import OpenGets
from conformance.oracle.topology.policies import PolicyHistory, number

MOST, OCTETS, OVERFLOW, TTL = "max-length", "max-length-bytes", "overflow", "message-ttl"
REJECT, KNOWN = "reject-publish", ("drop-head", "reject-publish")
TAKEN, REFUSED = "basic.ack", "basic.nack"
LONG = 600_000
"""So many milliseconds are longer than a history."""
BESIDE_BODIES = 1024
"""More octets than a broker counts for what a message has beside its body."""


@dataclass(slots=True)
class PolicedQueue:
    """One queue, from its declaration on."""

    connection: str
    vhost: str
    name: str
    argument: int | None
    octets: int | None
    """What its arguments say of how many messages it holds, and how many octets."""
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
    size: int = 0
    """Octets of each message that came since it was empty."""
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

    def weigh(self, size: int) -> bool:
        """One more comes, of this size. Have all the same?"""
        same = size == self.size or not (self.came or self.pending)
        self.size = size if same else 0
        return same

    def room(self, octets: object) -> int | None:
        """For so many messages there are octets enough, where that is certain; else none."""
        allowed = number(octets)
        if allowed is None or not self.size:
            return None
        most = allowed // self.size
        return most if most == allowed // (self.size + BESIDE_BODIES) else None

    def empty(self) -> None:
        """All is known again."""
        self.came, self.ready, self.taken = [], [], []
        self.waited, self.turned, self.unsure, self.denied = False, False, bool(self.pending), 0


@dataclass(slots=True)
class PolicedQueues:
    """By the names of queues; and which of them gets ask."""

    by_queue: OrderedDict[str, PolicedQueue] = field(default_factory=OrderedDict)
    asked: OpenGets = field(default_factory=OpenGets)

    def of(self, connection: str) -> Iterator[PolicedQueue]:
        """All that this connection declared."""
        return (one for one in self.by_queue.values() if one.connection == connection)


def heed(entry: PolicedQueue, policies: PolicyHistory) -> bool:
    """What arguments and policies set together holds from now on; is that known?"""
    found = policies.settings(entry.vhost, "classic", entry.name)
    entry.most, entry.refuses = None, False
    if found is None:
        return False
    octets = [one for one in (entry.octets, found.get(OCTETS)) if one is not None]
    rooms = [entry.room(one) for one in octets]
    limits = [one for one in (entry.argument, number(found.get(MOST)), *rooms) if one is not None]
    overflow, long = entry.overflow or found.get(OVERFLOW), found.get(TTL)
    entry.most, entry.refuses = min(limits, default=None), overflow == REJECT
    operators = policies.fitting(entry.vhost, "classic", entry.name, operator=True)
    if overflow not in (None, *KNOWN) or any(OVERFLOW in one.definition for one in operators):
        return False
    known = {*found} <= {MOST, OCTETS, OVERFLOW, TTL} and None not in rooms
    return known and (long is None or (number(long) or 0) >= LONG)
