"""Candidate orders of a queue: the orders in which its messages may stand, given what several clients have seen.

A publish or return enters the queue some time after it was sent. A receiver takes the head of the queue some time
before its client reads the delivery. Every order of these steps that agrees with what was sent and seen is an
*explanation*. `CandidateOrders` keeps all explanations and extends each one with every delivery, only as far as the
delivery demands (just-in-time linearization). When none is left, no order explains what the clients saw.

Steps are taken as late as possible, so that explanations stay few. An entry is made only when a delivery demands it,
and what a receiver has taken unseen counts as held by it until its client reads it. If there are too many explanations
all the same, or if something may move messages unseen, the order is lost: nothing is claimed until the queue is empty.
On a busy queue the search would cost more than everything else, so a budget limits it; new entries add to the budget.

A get that found nothing keeps every explanation that has given it nothing. The queue was empty at some time since the
get was sent; that may be long before the entries that another delivery has demanded since.

Entries under way are few, and the search compares sets of them all the time, so a set is the bits of one number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from conformance.oracle.model.records import RELEASED, Copy, PotentialReceiver

There = Callable[[Copy], bool]
MOST_ENTERING = 24
"""This many entries may be under way at once."""
MOST_EXPLANATIONS = 64
MOST_STEPS = 1500
"""This many steps are tried to explain one delivery."""
STEP = 16
"""What a step costs; an entry brings in 1."""
BUDGET = 8_000 * STEP
"""What may be spent at the beginning, and saved."""


class PendingEntry(NamedTuple):
    """A publish or a return that is on its way into the queue."""

    bit: int
    """A bit of its own among the entries under way."""
    copy: Copy
    returned: bool
    after: int
    """Entries that come before it, because they were proven before it was sent, or one channel sent both."""


class Explanation(NamedTuple):
    """One way in which the messages may be standing: the line, and what receivers have taken unseen."""

    ready: tuple[str, ...] = ()
    returned: int = 0
    """This many at the head of the line are returned ones, where these have a line of their own."""
    rank: tuple[str, ...] = ()
    """All messages in the order of their publication, where returned ones go back to their place."""
    entered: int = 0
    """Entries under way that have been made here."""
    hands: tuple[tuple[int, tuple[str, ...]], ...] = ()

    def hand(self, receiver: int) -> tuple[str, ...]:
        for owner, held in self.hands:
            if owner == receiver:
                return held
        return ()

    def holding(self, receiver: int, held: tuple[str, ...]) -> Explanation:
        hands = [one for one in self.hands if one[0] != receiver]
        if held:
            hands.append((receiver, held))
            hands.sort()
        return Explanation(self.ready, self.returned, self.rank, self.entered, tuple(hands))

    def beheaded(self) -> Explanation:
        returned = self.returned - 1 if self.returned else 0
        return Explanation(self.ready[1:], returned, self.rank, self.entered, self.hands)

    def without(self, message: str) -> Explanation:
        """Once the message is gone for good."""
        if message not in self.rank:
            return self
        rank = tuple([one for one in self.rank if one != message])
        return Explanation(self.ready, self.returned, rank, self.entered, self.hands)

    def since(self, made: int) -> Explanation:
        """Once all explanations have made these entries."""
        return Explanation(self.ready, self.returned, self.rank, self.entered & ~made, self.hands)

    def with_entry(self, entry: PendingEntry, order: str) -> Explanation:
        """The line after this publish or return has come into it."""
        message, ready, returned, rank = entry.copy.id, self.ready, self.returned, self.rank
        if order == "original":
            rank = rank if entry.returned else (*rank, message)
            ready = _in_place((*ready, message), rank)
        elif entry.returned and order == "returns-first":
            ready, returned = (*ready[:returned], message, *ready[returned:]), returned + 1
        else:
            ready = (*ready, message)
        return Explanation(ready, returned, rank, self.entered | entry.bit, self.hands)


def _in_place(messages: tuple[str, ...], rank: tuple[str, ...]) -> tuple[str, ...]:
    """In the order of their rank."""
    if len(messages) < 2:
        return messages
    place = {one: at for at, one in enumerate(rank)}
    return tuple(sorted(messages, key=lambda one: place.get(one, -1)))


class Lost(Exception):
    """There are too many explanations to look at."""


@dataclass(slots=True, eq=False, repr=False)
class CandidateOrders:
    """All explanations of what was seen of one queue; none at all where it is lost."""

    order: str
    strict: bool
    """One channel's publishes and returns come in the order they were sent; else each kind by itself."""
    explanations: set[Explanation] = field(default_factory=lambda: {Explanation()})
    entries: dict[int, PendingEntry] = field(default_factory=dict)
    """By their bits, in the order in which they were sent."""
    owners: set[int] = field(default_factory=set)
    """Channels that have taken something."""
    _budget: int = BUDGET

    def begin(self) -> None:
        """The queue is certainly empty, and nobody holds anything of it."""
        self.explanations = {Explanation()}
        self.entries.clear()
        self.owners.clear()

    def lose(self) -> None:
        self.explanations = set()
        self.entries.clear()

    @property
    def lost(self) -> bool:
        return not self.explanations

    def enter(self, copy: Copy, *, returned: bool) -> None:
        """The client has sent what brings the message into the line."""
        if self._budget < BUDGET:
            self._budget += 1
        if not self.explanations:
            return
        if len(self.entries) >= MOST_ENTERING:
            self.lose()
            return
        after = under_way = 0
        for one in self.entries.values():
            under_way |= one.bit
            if self._before(one, copy, returned):
                after |= one.bit
        bit = ~under_way & (under_way + 1)  # the lowest that is free
        self.entries[bit] = PendingEntry(bit, copy, returned, after)

    def drop(self, message: str) -> None:
        """The message is gone for good."""
        if self.order == "original" and not self.lost:
            self.explanations = {one.without(message) for one in self.explanations}

    def end(self, receiver: PotentialReceiver) -> None:
        """It has shown all that it took."""
        self.explanations = {one for one in self.explanations if not one.hand(receiver.start)}

    def take(
        self,
        message: str,
        receiver: PotentialReceiver,
        there: There,
        others: list[PotentialReceiver],
    ) -> bool | None:
        """A receiver shows this message; what is `there` had entered before. None: the line is lost."""
        return None if self.lost else self._advance(message, receiver, there, others)

    # -- the search

    def _advance(
        self,
        message: str,
        receiver: PotentialReceiver,
        there: There,
        others: list[PotentialReceiver],
    ) -> bool | None:
        must = 0
        for entry in self.entries.values():
            if there(entry.copy):
                must |= entry.bit
        found: set[Explanation] = set()
        budget = self._budget
        try:
            for one in self.explanations:
                hand = one.hand(receiver.start)
                plain = None if others or hand else self._plain(one, message, must)
                if plain is not None:
                    found.add(plain)
                elif not hand:
                    found.update(self._ways(one, message, must, others))
                elif hand[0] == message:
                    found.add(one.holding(receiver.start, hand[1:]))
                if len(found) > MOST_EXPLANATIONS:
                    raise Lost
        except Lost:  # how far it came depends on the order of a set: what it is charged must not
            self._budget = max(0, budget - MOST_STEPS * STEP)
            self.lose()
            return None
        self.explanations = found
        self._forget()
        return bool(found)

    def _plain(self, start: Explanation, message: str, must: int) -> Explanation | None:
        """The only way, where nobody else takes anything and the message is at the head, or comes there at once."""
        here = start
        if not here.ready or here.ready[0] != message:
            for entry in self.entries.values():
                if entry.copy.id == message:
                    break
            else:
                return None
            if not self._next(entry, here):
                return None
            here = here.with_entry(entry, self.order)
        return here.beheaded() if here.ready[0] == message and not must & ~here.entered else None

    def _ways(self, start: Explanation, message: str, must: int, others: list[PotentialReceiver]) -> list[Explanation]:
        """All ways to bring the message to the head."""
        seen, front, found = {start}, [start], list[Explanation]()
        while front:
            self._budget -= STEP
            if len(seen) > MOST_STEPS or self._budget < 0:
                raise Lost
            here = front.pop()
            there = bool(here.ready) and here.ready[0] == message
            if there and not must & ~here.entered and self._needed(start, here, message, must):
                found.append(here.beheaded())
            for following in self._steps(here, message, others):
                if following not in seen:
                    seen.add(following)
                    front.append(following)
        return found

    def _steps(self, here: Explanation, message: str, others: list[PotentialReceiver]) -> list[Explanation]:
        steps = [here.with_entry(entry, self.order) for entry in self.entries.values() if self._next(entry, here)]
        if here.ready and here.ready[0] != message:
            for receiver in others:
                hand = here.hand(receiver.start)
                if len(hand) < _reach(receiver):
                    steps.append(here.beheaded().holding(receiver.start, (*hand, here.ready[0])))
        return steps

    def _next(self, entry: PendingEntry, here: Explanation) -> bool:
        """May it be made here: neither made yet, nor before one that has to come first?"""
        return not entry.bit & here.entered and not entry.after & ~here.entered

    def _needed(self, start: Explanation, here: Explanation, message: str, must: int) -> bool:
        """Is every entry made on the way for something? One that could as well be made next is left for later.

        What somebody took at once cannot wait: later something else may stand before it.
        """
        made = here.entered & ~start.entered
        if not made & ~must:
            return True
        called = 0
        for one in self.entries.values():
            if one.bit & (made | must & here.entered):
                called |= one.after
        free: dict[str, bool] = {}
        for one in self.entries.values():
            if one.bit & made & ~must & ~called and not any(one.copy.id in held for _, held in here.hands):
                free[one.copy.id] = one.returned
        return not any(lane and lane[-1] in free for lane in self._lanes(here, message, free))

    def _lanes(self, here: Explanation, message: str, free: dict[str, bool]) -> list[tuple[str, ...]]:
        """The sequences in which the place of an entry depends on what was made before it."""
        if self.order == "original":
            sorted_in: list[tuple[str, ...]] = [(one,) for one in here.ready if free.get(one) and one != message]
            ranked = here.rank and here.rank[-1] != message and not free.get(here.rank[-1])
            return [*sorted_in, here.rank] if ranked else sorted_in
        standing = tuple(one for one in here.ready if one != message)
        if self.order == "tail":
            return [standing]
        split = here.returned - (here.ready[:1] == (message,) and here.returned > 0)
        return [standing[:split], standing[split:]]

    def _forget(self) -> None:
        """Entries that all explanations have made are no longer under way."""
        if not self.explanations:
            self.entries.clear()
            return
        made = ~0
        for one in self.explanations:
            made &= one.entered
        if made:
            self.entries = {
                entry.bit: entry._replace(after=entry.after & ~made) if entry.after & made else entry
                for entry in self.entries.values()
                if not entry.bit & made
            }
            self.explanations = {one.since(made) for one in self.explanations}

    def _before(self, earlier: PendingEntry, copy: Copy, returned: bool) -> bool:
        """Does this entry certainly come before one that the client sends now?"""
        one = earlier.copy
        if one.proof > 0:
            return True
        if RELEASED in (one.entry, copy.entry):
            return False
        if earlier.returned and returned:
            mine, its = copy.holder, one.holder
            if mine is None or its is None or mine.channel is not its.channel:
                return False
            if one.entered == copy.entered:
                return mine.owner == its.owner and its.tag < mine.tag
            return True
        if earlier.returned == returned:
            return one.publisher is copy.publisher
        if not self.strict:
            return False
        by = copy.holder and copy.holder.channel if returned else copy.publisher
        its_by = one.holder and one.holder.channel if earlier.returned else one.publisher
        return by is its_by and by is not None


def _reach(receiver: PotentialReceiver) -> int:
    """How many messages it may have taken unseen."""
    consumer = receiver.consumer
    if receiver.get or consumer is None:
        return 1
    return consumer.limit if consumer.limit and not consumer.limit_moved and not consumer.no_ack else MOST_ENTERING
