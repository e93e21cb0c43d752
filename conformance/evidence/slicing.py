"""From a long history to the few frames that show the fault.

A finding is cut down by *slicing*. A part of the recorded history is taken away: a connection, one life of a channel,
a message, a delivery, or one event, always with everything that needs it (see `anatomy`). The same pure fold judges
the rest, and if the finding is still there, the part stays away. Nothing is sent and nothing is renumbered: every
frame of a slice is a recorded frame, and the same history always gives the same slice.

Three conditions keep a slice honest. The event at which the finding arose always stays, and the finding must arise
there again, under the same rule and in the same words (except numbers and names). Where the broker was killed or
restarted in the meantime, that stays: it may be the cause, even if no judge looks at it. And no contradiction may
appear that the whole history did not have. There is one exception: if a delivery or a message is left out, numbers no
longer fit. So rules about numbers are ignored, unless the finding breaks one of them; then even the numbers in its
words must stay the same.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from conformance.catalogue.profiles import Profile
from conformance.evidence.anatomy import Anatomy, Unit
from conformance.evidence.local import ended_the_broker
from conformance.evidence.narrative import handshake
from conformance.history import events as ev
from conformance.history.events import Event
from conformance.oracle.monitors import Judge
from conformance.oracle.verdicts import Finding

BUDGET = 30_000
"""How many events may be judged while slicing one finding. A count, not a time, so that slices are reproducible."""
AGAIN = BUDGET // 10
"""The same for a finding whose like has been sliced before: the shorter one is shown."""

_ROUNDS = 3
_NUMBERING = ("TAG-", "MODE-007", "MODE-008")
"""Rules about numbers that change when something is left out: tags, and counts of messages."""


def minimal(events: Sequence[Event], finding: Finding, profile: Profile, budget: int = BUDGET) -> list[Event]:
    """The smallest part of the finding's history that we find in which the same finding still arises."""
    history = [event for event in events if event.history == finding.history]
    trial = _Trial(history, finding, profile, budget)
    if not trial.arises:
        return history
    kept = trial.reduce(history, [_seqs(event for event in history if event.seq > finding.at)])
    for _ in range(_ROUNDS):
        before = len(kept)
        for units in Anatomy(kept).units():
            kept = trial.reduce(kept, [unit for unit in units if not unit & trial.fixed])
        if len(kept) == before:
            break
    before_all = _seqs(_ends_before(kept))
    return trial.reduce(kept, [before_all]) if before_all else kept


def introduced(kept: Sequence[Event], history: Sequence[Event]) -> list[Event]:
    """A slice with the handshakes of its connections: not in dispute, but a client that repeats it must know them."""
    names = {event.connection for event in kept}
    here = _seqs(kept)
    return (
        [
            event
            for event in history
            if event.seq in here or (event.connection in names and event.seq < kept[-1].seq and handshake(event))
        ]
        if kept
        else []
    )


def _ends_before(kept: Sequence[Event]) -> Iterator[Event]:
    """How the broker ended before anything of the slice was there."""
    return itertools.takewhile(ended_the_broker, (event for event in kept if event.kind != ev.SCENE))


def _seqs(events: Iterable[Event]) -> Unit:
    return frozenset(event.seq for event in events)


class _Trial:
    """Judges slices of one history: does the wanted finding still arise, and nothing new with it?"""

    def __init__(self, history: Sequence[Event], finding: Finding, profile: Profile, budget: int) -> None:
        self._finding, self._profile, self._left = finding, profile, budget
        self._wanted = _key(finding)
        present = list(self._contradictions(history))
        self._lawful = {(other.rule, other.at) for other in present}
        self.arises = any(_key(other) == self._wanted for other in present)
        self.fixed = _seqs(e for e in history if e.seq == finding.at or e.kind == ev.SCENE or ended_the_broker(e))

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
        """Counts before it copies: where the budget is used up, thousands of units are still asked what they leave."""
        here, size = _seqs(kept), len(units)
        while size and units:
            needed: list[Unit] = []
            for start in range(0, len(units), size):
                chunk = units[start : start + size]
                gone = frozenset[int]().union(*chunk)
                left = len(here) - len(here & gone)
                if self._left >= left > 0 and self.fires(rest := [event for event in kept if event.seq not in gone]):
                    kept, here = rest, here - gone
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
