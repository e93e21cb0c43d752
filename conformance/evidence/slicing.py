"""From a long history to the few frames that show what went wrong.

A finding is cut down by *slicing*: what belongs together in the recorded history (a connection, a channel's life, a
message with all its deliveries, one delivery with its settlement, a request with its reply) is taken away, the rest
is judged again by the same pure fold, and what is not needed stays away. Nothing is sent, nothing is renumbered: every
frame of a slice is a recorded frame, and the same slice comes out of the same history.

Three things keep a slice honest. The event at which the finding arose always stays, and the finding must arise there
again, under the same rule and in the same words (numbers and names aside). And no contradiction may appear that the
whole history did not have, so nothing is answered that was never asked. The one exception is the numbering of
deliveries: leaving one out leaves a gap, so the TAG family has no say, unless the finding is one of its own; then even
the numbers in its words must stay the same. A slice explains, it does not replay.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from conformance import events as ev
from conformance.events import Event
from conformance.monitors import Judge
from conformance.profiles import Profile
from conformance.verdicts import Finding

BUDGET = 30_000
"""How many events may be judged while slicing one finding. A count, not a time, so that slices are reproducible."""

_ROUNDS = 3
_NUMBERING = "TAG-"
_DELIVERIES = frozenset({"basic.deliver", "basic.get-ok"})
_SETTLES = frozenset({"basic.ack", "basic.nack", "basic.reject"})

_REQUESTS = {"basic.get-ok": "basic.get", "basic.get-empty": "basic.get"}
_OTHER = {ev.TO_BROKER: ev.TO_CLIENT, ev.TO_CLIENT: ev.TO_BROKER}

Unit = frozenset[int]


def minimal(events: Sequence[Event], finding: Finding, profile: Profile, budget: int = BUDGET) -> list[Event]:
    """The smallest part of the finding's history that we find in which the same finding still arises."""
    history = [event for event in events if event.history == finding.history]
    trial = _Trial(history, finding, profile, budget)
    if not trial.fires(history):
        return history
    kept = trial.reduce(history, [_seqs(event for event in history if event.seq > finding.at)])
    for _ in range(_ROUNDS):
        before = len(kept)
        for level in _LEVELS:
            kept = trial.reduce(kept, [unit for unit in level(_Anatomy(kept)) if not unit & trial.fixed])
        if len(kept) == before:
            break
    return kept


def _seqs(events: Iterable[Event]) -> Unit:
    return frozenset(event.seq for event in events)


class _Trial:
    """Judges slices of one history: does the wanted finding still arise, and nothing new with it?"""

    def __init__(self, history: Sequence[Event], finding: Finding, profile: Profile, budget: int) -> None:
        self._finding, self._profile, self._left = finding, profile, budget
        self._wanted = _key(finding)
        self._lawful = {(other.rule, other.at) for other in self._contradictions(history)}
        self.fixed = _seqs(e for e in history if e.seq == finding.at or e.kind == ev.SCENE)

    def _contradictions(self, history: Iterable[Event]) -> Iterator[Finding]:
        judge = Judge(self._profile)
        for event in history:
            self._left -= 1
            yield from judge.step(event)
        yield from judge.end()

    def fires(self, history: Sequence[Event]) -> bool:
        found = False
        for finding in self._contradictions(history):
            if _key(finding) == self._wanted:
                found = True
            elif (finding.rule, finding.at) not in self._lawful and not finding.rule.startswith(_NUMBERING):
                return False
        return found

    def reduce(self, kept: list[Event], units: Sequence[Unit]) -> list[Event]:
        """Take away as many units as can be: first all that the finding does not speak of, then ever smaller parts."""
        witness = {self._finding.at, *self._finding.witness}
        for part in ([u for u in units if not u & witness], [u for u in units if u & witness]):
            kept = self._halve(kept, part)
        return kept

    def _halve(self, kept: list[Event], units: list[Unit]) -> list[Event]:
        size = len(units)
        while size and units:
            needed: list[Unit] = []
            for start in range(0, len(units), size):
                chunk = units[start : start + size]
                gone = frozenset[int]().union(*chunk)
                rest = [event for event in kept if event.seq not in gone]
                if self._left >= len(rest) and rest and self.fires(rest):
                    kept = rest
                else:
                    needed += chunk
            units, size = needed, size // 2
        return kept


def _key(finding: Finding) -> tuple[str, int, bool, str]:
    """What must stay the same: rule, place, certainty, and the words without their numbers and names."""
    words = finding.observed
    if not finding.rule.startswith(_NUMBERING):
        words = re.sub(r"\S*\d\S*", "#", words)
        words = re.sub(r"#(?:(?:,| and|) #)+", "#", words)
    return finding.rule, finding.at, finding.certain, words


class _Anatomy:
    """What belongs together in a history, as sets of seq, from the coarse to the fine."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.connections: defaultdict[str, set[int]] = defaultdict(set)
        self.channels: defaultdict[Hashable, set[int]] = defaultdict(set)
        self.handshakes: defaultdict[str, set[int]] = defaultdict(set)
        self.messages: defaultdict[str, set[int]] = defaultdict(set)
        self.deliveries: defaultdict[Hashable, set[int]] = defaultdict(set)
        self.pairs: dict[int, set[int]] = {}
        self.singles: list[set[int]] = []
        self._lives: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._asked: defaultdict[Hashable, list[Event]] = defaultdict(list)
        self._message: dict[Hashable, str] = {}
        for event in events:
            self._place(event)

    def _place(self, event: Event) -> None:
        number = event.connection, event.channel
        if event.method == "channel.open":
            self._lives[number] += 1
        life = (*number, self._lives[number])
        self.connections[event.connection].add(event.seq)
        self.singles.append({event.seq})
        if event.channel:
            self.channels[life].add(event.seq)
        elif event.kind in (ev.OPEN, ev.PROTOCOL) or event.method.startswith("connection."):
            self.handshakes[event.connection].add(event.seq)
        self.pairs[event.seq] = self._pair(event)
        self._follow(event, life)

    def _pair(self, event: Event) -> set[int]:
        """The event with the request it answers, if it answers one: the oldest that waits, on the same consumer."""
        request = _REQUESTS.get(event.method) or event.method.removesuffix("-ok")
        asker = event.direction if request == event.method else _OTHER.get(event.direction)
        waiting = self._asked[event.connection, event.channel, asker, request]
        if request == event.method:
            waiting.append(event)
            return {event.seq}
        for asked in waiting:
            if asked.consumer_tag in (event.consumer_tag, "", None):
                waiting.remove(asked)
                return {asked.seq, event.seq}
        return {event.seq}

    def _follow(self, event: Event, life: tuple[str, int, int]) -> None:
        """Join the event to the message, and to the delivery, that it is about."""
        delivery = (life, event.delivery_tag)
        if event.method in _DELIVERIES:
            self._message[delivery] = event.message or ""
            self.deliveries[delivery] |= self.pairs[event.seq]
            self.messages[event.message or ""] |= self.pairs[event.seq]
        elif event.method in _SETTLES and event.direction == ev.TO_BROKER:
            if not event.multiple and delivery in self._message:
                self.deliveries[delivery].add(event.seq)
                self.messages[self._message[delivery]].add(event.seq)
        elif event.message is not None:
            self.messages[event.message].add(event.seq)


def _units(groups: Iterable[set[int]]) -> list[Unit]:
    return [frozenset(group) for group in groups]


_LEVELS: tuple[Callable[[_Anatomy], list[Unit]], ...] = (
    lambda anatomy: _units(anatomy.connections.values()),
    lambda anatomy: _units(anatomy.channels.values()),
    lambda anatomy: _units(anatomy.messages.values()),
    lambda anatomy: _units(anatomy.deliveries.values()),
    lambda anatomy: _units(anatomy.handshakes.values()),
    lambda anatomy: _units(anatomy.pairs.values()),
    lambda anatomy: _units(anatomy.singles),
)
