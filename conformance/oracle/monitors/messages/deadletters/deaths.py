"""What the history tells of messages that die in queues and go on to others: for the family DLX.

A `TrackedMessage` was published under its own id for a queue that has a dead letter exchange: to the default exchange,
or to one that leads to one queue. Each delivery of it shows where it is, and the list of its deaths. What it did since
it was seen last follows from the arguments of the queues: `way` walks from queue to queue, as far as each step has one
possible cause.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.oracle.model.connections.channels import OPEN, ChannelLife
from conformance.oracle.model.records import Publication

EXCHANGE, KEY = "x-dead-letter-exchange", "x-dead-letter-routing-key"
TTL, LENGTH, LIMIT = "x-message-ttl", "x-max-length", "x-delivery-limit"
REJECTED, EXPIRED, MAXLEN, RETURNED = "rejected", "expired", "maxlen", "delivery_limit"
OCTETS, LEVELS = "x-max-length-bytes", "x-max-priority"
PLAIN = frozenset({EXCHANGE, KEY, TTL, LENGTH, OCTETS, LIMIT, LEVELS, "x-single-active-consumer", "x-queue-type"})
LEAVING = frozenset({TTL, LENGTH, OCTETS})
"""A queue with such arguments may lose a message although nobody touches it."""
OTHER_CAUSES = frozenset({TTL, OCTETS, LIMIT, LEVELS, "x-single-active-consumer"})
"""With these a message may leave the queue for other reasons, or a get finds nothing."""
MILLISECOND = 1_000_000
SOON = 1_000 * MILLISECOND
EARLY = 20 * MILLISECOND
"""What clocks may differ by."""
STEPS = 4
"""So many deaths are followed between two sightings."""
MESSAGES, QUEUES = 256, 128
WAITING, HELD, ACKED, GIVEN_UP = "waiting", "held", "acknowledged", "rejected"
PUSHED = "pushed out"
"""It came back with the end of a channel to a queue that had no room for it."""
Death = tuple[str, str, int]
"""A queue, a reason, and how often."""


@dataclass(slots=True)
class DeclaredQueue:
    """One queue, as it was declared."""

    arguments: Mapping[str, Any]
    lasting: bool = False
    """No message expires here, whatever its time to live."""
    usual: int | None = None
    """So many returns a message survives in queues of its kind that name no limit."""
    came: list[str] = field(default_factory=list)
    """The messages that were published to it, in order."""

    @property
    def exchange(self) -> str | None:
        """Where its dead go; None: nowhere."""
        found = self.arguments.get(EXCHANGE)
        return found if isinstance(found, str) else None

    @property
    def key(self) -> str | None:
        found = self.arguments.get(KEY)
        return found if isinstance(found, str) else None

    def number(self, name: str) -> int | None:
        found = self.arguments.get(name)
        return found if isinstance(found, int) and not isinstance(found, bool) else None


@dataclass(slots=True)
class DeathStep:
    """One death: where and why, and the address that the message had before."""

    queue: str
    reason: str
    exchange: str
    keys: tuple[str, ...]
    rekeyed: bool


@dataclass(slots=True)
class TrackedMessage:
    """One message."""

    queue: str
    """Where it was seen last, or published to."""
    sent: int
    sent_ns: int
    connection: str
    expiration: str | None
    carbon: tuple[str, ...]
    blind: bool
    exchange: str = ""
    key: str = ""
    persistent: bool = False
    publication: Publication | None = None
    """As its confirm names it."""
    fate: str = WAITING
    certain_ns: int = 0
    """When it was certainly in its first queue."""
    died_ns: int = 0
    """When the broker had certainly taken the rejection."""
    by: ChannelLife | None = None
    """The channel on which it was settled."""
    settling: tuple[str, ...] = ()
    """The rules by which that took it out of its queue."""
    holder: ChannelLife | None = None
    """The channel that got it last."""
    delivered: int = 0
    """The delivery with which it got it. An earlier one, whose consumer has timed out, settles it no more."""
    returned: int = 0
    returned_ns: int = 0
    """When that channel was certainly closed."""
    committed: int = 0
    """The commit that settles it, while that is not answered."""
    failures: int = 0
    """How often it was rejected back into the queue, or its channel closed."""
    given_back: bool = False
    """It was given back in another way, which not every version counts."""
    seen: set[str] = field(default_factory=set)
    sightings: int = 0
    """How often it was given out by the queue where it was seen last."""
    seen_ns: int = 0
    """When it was seen last."""
    deaths: tuple[Death, ...] = ()
    first: tuple[str, str, str] | None = None
    """The queue, the reason and the exchange of its first death."""
    rekeyed: bool = False
    missed: bool = False
    """It was not found where it would be if it went round for ever."""
    over: bool = False

    def undecided(self) -> bool:
        """Has the broker perhaps not taken what the client said of it, before the channel ended?"""
        return self.fate == GIVEN_UP and not self.died_ns and self.by is not None and self.by.state != OPEN

    def exposed(self) -> bool:
        """May somebody have had it in the queue to which it was published, and have given it back, unseen?"""
        copies = self.publication.copies if self.publication is not None else ()
        here = [copy for copy in copies if copy.queue.name == self.queue]
        return not here or any(copy.queue.unseen(copy) for copy in here)


@dataclass(slots=True)
class DeadLettering:
    """Messages by id, None where two share one; queues and exchanges by name."""

    messages: OrderedDict[str, TrackedMessage | None] = field(default_factory=OrderedDict)
    places: OrderedDict[str, DeclaredQueue] = field(default_factory=OrderedDict)
    uncommitted: list[tuple[ChannelLife, str, str]] = field(default_factory=list)
    """What a transaction has settled: the channel, the message, and its fate to be."""
    bound: dict[str, list[tuple[str | None, str]]] = field(default_factory=dict)
    """The queues that an exchange of the client leads to, each with its key, or None: whatever the key."""

    def put_off(self, channel: ChannelLife, message: str, fate: str) -> None:
        """A transaction has settled it."""
        self.uncommitted.append((channel, message, fate))
        if len(self.uncommitted) > MESSAGES:
            self.messages[self.uncommitted.pop(0)[1]] = None

    def kept_back(self, tracked: TrackedMessage) -> bool:
        """Is it a transaction that rejects it, which nobody has ended?"""
        by = tracked.by
        mine = (self.messages.get(of) for one, of, fate in self.uncommitted if one is by and fate == GIVEN_UP)
        return by is not None and by.state == OPEN and any(one is tracked for one in mine)

    def take(self, channel: ChannelLife) -> list[tuple[TrackedMessage, str]]:
        """What the transaction of this channel has settled, and goes by what follows."""
        mine = [(self.messages.get(message), fate) for of, message, fate in self.uncommitted if of is channel]
        self.uncommitted = [one for one in self.uncommitted if one[0] is not channel]
        return [(tracked, fate) for tracked, fate in mine if tracked is not None and tracked.by is channel]

    def target(self, place: DeclaredQueue, key: str) -> str | None:
        """The one queue that gets what dies there, if that is known."""
        return self.leads(place.exchange or "", place.key or key)

    def leads(self, exchange: str, key: str) -> str | None:
        """The one queue that gets what is published with this key, if that is known."""
        if not exchange:
            return key
        found = [queue for by, queue in self.bound.get(exchange, []) if by in (None, key)]
        return found[0] if len(found) == 1 else None

    def bind(self, exchange: str, key: str | None, queue: str) -> None:
        """The same again changes nothing."""
        found = self.bound.setdefault(exchange, [])
        if (key, queue) not in found:
            found.append((key, queue))
            for message, tracked in self.messages.items():
                if tracked is not None and self._may_pass(tracked, exchange):
                    self.messages[message] = None  # it may have died before

    def _may_pass(self, tracked: TrackedMessage, exchange: str) -> bool:
        """May it come to this exchange when it dies, or have come?"""
        here: str | None = tracked.queue
        for _ in range(STEPS):
            place = self.places.get(here or "")
            if place is None or place.exchange is None:
                return False
            here = self.target(place, tracked.key)
            if place.exchange == exchange or here is None:
                return True
        return True

    def unbind(self, queue: str) -> None:
        """It is deleted, and its bindings with it; the empty name stands for any."""
        for exchange, found in self.bound.items():
            if any(one == queue or not queue for _, one in found):
                self.obscure(exchange)

    def obscure(self, exchange: str) -> None:
        """Nobody knows any more where it leads."""
        self.bound[exchange] = [(None, ""), (None, "-")]

    def swept(self, name: str, since: int) -> None:
        """The queue was found empty by a question of then: what has left it for good stands in nobody's way."""
        place = self.places.get(name)
        if place is not None:
            place.came = [one for one in place.came if self._may_be_there(self.messages.get(one), name, since)]

    def _may_be_there(self, tracked: TrackedMessage | None, name: str, since: int) -> bool:
        if tracked is None or tracked.sent > since or not tracked.certain_ns:
            return True
        held = tracked.queue == name and name in tracked.seen and tracked.fate in (HELD, WAITING)
        return held or (tracked.queue == name and tracked.fate == GIVEN_UP and not tracked.died_ns)

    def given_back(self, name: str, asked_ns: int) -> list[TrackedMessage]:
        """What a queue with a limit, now empty, had long got back from channels when it had been given too many."""
        place = self.places.get(name)
        there = [one for one in self.messages.values() if one is not None and one.queue == name]
        most = place.number(LENGTH) if place is not None else None
        if place is None or most is None or not OTHER_CAUSES.isdisjoint(place.arguments) or len(there) <= most:
            return []
        plain = [one for one in there if one.fate == HELD and not (one.over or one.deaths or one.expiration)]
        return [one for one in plain if 0 < one.returned_ns < asked_ns - SOON]

    def failed(self, tracked: TrackedMessage, *, timed: bool) -> None:
        """The channel that held it was closed, which counts as well where no delivery of it timed out before. Where
        that was once too often, it has died."""
        place = self.places.get(tracked.queue)
        limit = place.number(LIMIT) if place is not None else None
        if limit is None or timed:
            return
        tracked.failures += 1
        if tracked.failures > limit:
            tracked.fate, tracked.died_ns = WAITING, tracked.returned_ns

    def alone(self, tracked: TrackedMessage) -> bool:
        """Is there certainly no other copy of it anywhere?"""
        return not (tracked.carbon or tracked.blind) and all(map(_once, self.bound.values()))

    def way(self, tracked: TrackedMessage, until: str, now_ns: int = 0) -> list[DeathStep] | None:
        """The deaths from where it was seen last until it comes to this queue; None: that is not known. What is there
        by `now_ns` did not die of age if its time is not over."""
        steps: list[DeathStep] = []
        here, exchange, keys = tracked.queue, tracked.exchange, (tracked.key, *tracked.carbon)
        cause: str | None = {GIVEN_UP: REJECTED, PUSHED: MAXLEN}.get(tracked.fate)
        for _ in range(STEPS):
            place = self.places.get(here)
            if place is None or not PLAIN.issuperset(place.arguments):
                return None
            if not (cause or steps) and place.usual is not None and tracked.sightings >= place.usual:
                return None  # it may have been given back too often
            fresh = not (tracked.deaths or steps)
            if fresh and not cause and self._pushed_before_its_time(place, tracked, now_ns):
                cause = MAXLEN
            cause = cause or _cause(place, tracked, fresh=fresh)
            following = self.target(place, keys[0])
            if not cause or place.exchange is None or following is None:
                return None
            steps.append(DeathStep(here, cause, exchange, keys, place.key is not None))
            here, exchange, cause = following, place.exchange, None
            keys = (place.key,) if place.key is not None else keys
            if here == until:
                return steps
        return None

    def _pushed_before_its_time(self, place: DeclaredQueue, tracked: TrackedMessage, now_ns: int) -> bool:
        """Is it still young, and are there so many behind it that it has no room?"""
        most, own = place.number(LENGTH), tracked.expiration or ""
        ages = [place.number(TTL), int(own) if own.isdecimal() else None]
        life = min((age for age in ages if age is not None), default=0) * MILLISECOND
        if most is None or LIMIT in place.arguments or now_ns + EARLY >= tracked.sent_ns + life:
            return False
        others = [self.messages.get(one) for one in place.came]
        return sum(one is not None and one.sent > tracked.sent for one in others) >= most

    def by_copy(self, tracked: TrackedMessage, name: str) -> bool:
        """It was rejected: does it go to this queue by a key in CC, and by no other? It has these keys if none of the
        queues in which it has died gave it another one."""
        before = [self.places.get(queue) for queue, _, _ in tracked.deaths]
        place = self.places.get(tracked.queue)
        if (
            place is None
            or place.exchange is None
            or place.key is not None
            or tracked.fate != GIVEN_UP
            or any(one is None or one.key is not None for one in before)
        ):
            return False
        ways = {key: self.leads(place.exchange, key) for key in (tracked.key, *tracked.carbon)}
        return ways[tracked.key] != name and name in ways.values()

    def not_before(self, tracked: TrackedMessage, steps: list[DeathStep]) -> int:
        """Before this it cannot have died so often, if it was in each queue for as long as it had to live there."""
        time = (tracked.seen_ns if tracked.seen else tracked.sent_ns) - EARLY
        for number, step in enumerate(steps):
            if step.reason == EXPIRED and (number or not tracked.seen):
                own = "" if number or tracked.deaths else tracked.expiration or ""
                lives = self.places[step.queue].number(TTL), int(own) if own.isdecimal() else None
                time += min((life for life in lives if life is not None), default=0) * MILLISECOND
        return time

    def goes_round(self, name: str, key: str) -> bool:
        """May what has come into this queue leave it by itself, and come again?"""
        here = name
        for _ in range(STEPS):
            place = self.places.get(here)
            if place is None or place.exchange is None or LEAVING.isdisjoint(place.arguments):
                return False
            following = self.target(place, key)
            if following in (None, name):
                return True
            here, key = str(following), place.key or key
        return True


def _once(bindings: list[tuple[str | None, str]]) -> bool:
    """Does each key lead to one queue at most?"""
    keys = [key for key, _ in bindings]
    return len(keys) == 1 or (None not in keys and len({*keys}) == len(keys))


def _cause(place: DeclaredQueue, tracked: TrackedMessage, *, fresh: bool) -> str | None:
    """The one reason for which it may leave this queue by itself; None: there is none, or several."""
    limited = place.number(TTL) is not None or (fresh and tracked.expiration is not None)
    causes = [EXPIRED] if limited and not place.lasting else []
    causes += [MAXLEN] if (place.number(LENGTH), place.number(OCTETS)) != (None, None) else []
    limit = place.number(LIMIT)
    if limit is None:
        return causes[0] if len(causes) == 1 else None
    if tracked.failures > limit and fresh and not causes:
        return RETURNED
    counted = fresh and not (tracked.failures or tracked.given_back or tracked.exposed())
    return causes[0] if len(causes) == 1 and counted else None  # else nobody knows how often it was given back here


def after(deaths: tuple[Death, ...], steps: list[DeathStep]) -> tuple[Death, ...]:
    """The list after these: an entry for each queue and reason, the latest first."""
    found = [*deaths]
    for step in steps:
        before = next((one for one in found if one[:2] == (step.queue, step.reason)), None)
        found = [one for one in found if one is not before]
        found.insert(0, (step.queue, step.reason, before[2] + 1 if before else 1))
    return tuple(found)


def properties(arguments: str) -> Mapping[str, Any]:
    """What the content says beside its body."""
    found = json.loads(arguments).get("properties") if arguments else None
    return found or {}


def table_of(headers: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """x-death, as far as it has the form that it must have."""
    found = headers.get("x-death")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def names_in(value: Any) -> tuple[str, ...]:
    """The keys in a header CC, as far as it has the form that it must have."""
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def words(deaths: tuple[Death, ...]) -> str:
    """The list, as findings tell it."""
    return f"x-death {', '.join(f'{queue} {reason} {count}' for queue, reason, count in deaths)}"
