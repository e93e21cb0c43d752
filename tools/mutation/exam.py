"""One machine-made wrong broker before the suite: was it found, did it fire and was not seen, or did it never fire?

The checks that reach its place are played one after the other on one broker, scenes first, until a MUST or SHOULD
breaks for certain or the broker breaks down. That counts as found only if the mutant had fired, and if an honest broker
passes the same check; else it is an alarm, and the exam goes on.

Most mutations that nobody sees change nothing at all, and a whole exam of them is long. So an exam may have `enough`:
the scenes come mixed, and a mutant that fired in so many checks without being seen is given up.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

from conformance.campaigns.hunt import control, embedded
from conformance.catalogue import rules
from conformance.drive.run.bench import Bench
from conformance.drive.run.plays import Play
from conformance.drive.run.runner import observe
from conformance.history.events import BREAKDOWN, Event
from conformance.oracle.verdicts import Judgement
from tools.mutation.child import Send
from tools.mutation.install import installed
from tools.mutation.live import Live
from tools.mutation.sites import Mutation
from tools.mutation.survey import DEADLINE, ExamSettings, chosen
from tools.mutation.triggers import Trigger

Outcome = Literal["found", "unseen", "silent", "unfinished"]
"""Found; fired and not seen; never fired; or not done in time."""
BROKE_DOWN = "breakdown"
"""Instead of a rule."""
CLOSING = ("must", "should")


@dataclass(frozen=True, slots=True)
class Exam:
    """`plays` by key; `bound` in seconds."""

    mutation: Mutation
    trigger: Trigger
    settings: ExamSettings
    plays: tuple[str, ...]
    bound: float
    enough: int = 0
    """Of the checks in which it may fire and not be seen; 0 for all."""

    @property
    def key(self) -> str:
        return f"{self.mutation.key}, {self.trigger.key}, {self.settings} {self.settings.seed}"


@dataclass(slots=True)
class Seen:
    """What came of it. `rule` broke in this play, in the last of this many histories."""

    outcome: Outcome = "silent"
    rule: str = ""
    play: str = ""
    observed: str = ""
    histories: int = 0
    occasions: int = 0
    fired: int = 0
    seconds: float = 0.0
    alarms: list[str] = field(default_factory=list)


class _Caught(BaseException):
    """Ends a play at once; no Exception, because Hypothesis would shrink it."""


def examine(exam: Exam, send: Send) -> None:
    """Sends what came of it, before the broker is asked to end: it may not."""
    wanted = frozenset(exam.plays)
    settings = exam.settings
    with (
        installed(exam.mutation, exam.trigger) as live,
        embedded(settings.dialect, settings.seed, settings.depth, deadline=DEADLINE) as bench,
    ):
        examiner = Examiner(exam, bench, live)
        examiner.run(ordered(exam, [play for play in chosen(settings) if play.key in wanted]))
        send(asdict(examiner.seen))


def ordered(exam: Exam, plays: Sequence[Play]) -> list[Play]:
    """As they stand; or mixed where the first must do for all, with machines, which take long, behind the scenes."""
    if not exam.enough:
        return list(plays)
    mixed = random.Random(exam.mutation.key).sample(plays, len(plays))
    return sorted(mixed, key=lambda play: play.machine)


class Examiner:
    """Plays until it is found."""

    def __init__(self, exam: Exam, bench: Bench, live: Live) -> None:
        self.exam, self.bench, self.live = exam, bench, live
        self.seen = Seen()
        self._began = time.monotonic()

    def run(self, plays: Sequence[Play]) -> None:
        seen = self.seen
        seen.outcome = self._played(plays)
        if seen.outcome != "found":
            seen.rule = seen.play = seen.observed = ""
        seen.occasions, seen.fired = self.live.occasions, self.live.fired
        seen.seconds = round(time.monotonic() - self._began, 1)

    def _played(self, plays: Sequence[Play]) -> Outcome:
        fired_in = 0
        for play in plays:
            if time.monotonic() - self._began > self.exam.bound:
                return "unfinished"
            if self.exam.enough and fired_in >= self.exam.enough:
                break
            before = self.live.fired
            caught = self._caught(play)
            fired_in += self.live.fired > before
            if caught:
                if self._honest(play):
                    return "found"
                self.seen.alarms.append(f"{self.seen.rule} in {play.key}: {self.seen.observed}")
        return "unseen" if self.live.fired else "silent"

    def _caught(self, play: Play) -> bool:
        """Did it break a rule, or break down, after it had fired?"""
        try:
            observe(play, self.bench, lambda judgement, history: self._watch(play, judgement, history))
        except _Caught:
            return True
        except Exception:  # a wrong broker may do anything to a machine; it is what the history says that counts
            return False
        return False

    def _watch(self, play: Play, judgement: Judgement, history: Sequence[Event]) -> None:
        self.seen.histories += 1
        found = [
            (one.rule, one.observed)
            for one in self.bench.damning(judgement, play.queue_type)
            if rules.get(one.rule).level in CLOSING
        ]
        found += [(BROKE_DOWN, str(event.args.get("what"))) for event in history if event.kind == BREAKDOWN]
        if not found:
            return
        if not self.live.fired:
            self.seen.alarms += [f"{rule} in {play.key}, before it fired: {observed}" for rule, observed in found]
            return
        (self.seen.rule, self.seen.observed), self.seen.play = found[0], play.key
        raise _Caught

    def _honest(self, play: Play) -> bool:
        """Does a broker that is right pass it?"""
        settings = self.exam.settings
        with (
            self.live.silenced(),
            embedded(settings.dialect, settings.seed, settings.depth, deadline=DEADLINE) as bench,
        ):
            return not control(play, bench).broken
