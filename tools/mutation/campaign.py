"""A campaign: for each number a mutation that shows and a trigger, both drawn by seed, examined, and kept in a journal.

The draw for a number depends on the seed and that number alone, so a larger sample has the smaller one in it, and what
was interrupted carries on wherever it was. A mutation that is not found while it always shows is passed over for the
next one that is drawn: what is asked is what the trigger hides.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import active_children
from typing import Any, TypeVar

from conformance.campaigns.journal import Journal
from tools.mutation.child import TROUBLE, Answer, Send, bounded
from tools.mutation.exam import BROKE_DOWN, Exam, Seen, examine
from tools.mutation.sites import Mutation, mutations
from tools.mutation.survey import At, ExamSettings, Reach, read, survey
from tools.mutation.triggers import ALWAYS, TRIGGERS, Trigger, drawn

T = TypeVar("T")
BOUNDS = {"smoke": 180.0, "ci": 600.0, "deep": 3600.0}
"""Seconds of an exam, by depth. The exam itself ends in time; who does not is ended, GRACE seconds later."""
SHOWS_IN = 100
"""What always shows, fires in so many checks and is not seen is taken for a mutation that changes nothing."""
SHOWS_WITHIN = 240.0
"""Seconds, for one that fires more rarely."""
GRACE = 90.0
PRELOAD = ("tools.mutation.preload",)


class Failed(Exception):
    """A fault of ours."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """One of the sample. `base` is the rule that broke, in this many histories, while it always showed."""

    number: int
    mutation: Mutation
    trigger: Trigger
    base: str
    passed_over: int
    """This many mutations were drawn before that do not show."""
    seen: Seen
    hung: bool = False


class Campaign:
    """Of one seed, at one depth."""

    def __init__(
        self,
        settings: ExamSettings,
        base: str,
        journal: Journal,
        workers: int,
        bound: float | None = None,
        kinds: Sequence[str] = tuple(TRIGGERS),
    ) -> None:
        """`base`: the depth at which a mutation has to show. `kinds`: of the triggers, taken in turn."""
        self.kinds = kinds
        self.settings, self.journal, self.workers = settings, journal, workers
        self.base = replace(settings, depth=base, machines_alone=False)
        self.bound = bound
        self.alarms: list[str] = []
        self._lock, self._over = threading.Lock(), False

    def sampled(self, sample: int) -> Iterator[Sampled]:
        """Each of them as it is done; so many at a time."""
        reach = self.surveyed(self.base)
        deeper = reach if self.base == self.settings else self.surveyed(self.settings)
        with ThreadPoolExecutor(self.workers) as pool:
            try:
                yield from pool.map(lambda number: self.one(number, reach, deeper), range(sample))
            except BaseException:
                self._over = True
                for child in active_children():
                    child.kill()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def surveyed(self, settings: ExamSettings) -> dict[At, Reach]:
        """What is reached at this depth; what the survey was alarmed by is kept in `alarms`."""
        kept = self._kept(f"survey {settings} {settings.seed}", survey, settings, 3 * self._bound(settings))
        if kept is None or TROUBLE in kept:
            raise Failed(f"the survey of the honest broker did not end: {kept}")
        self.alarms += [told for told in kept["alarms"] if told not in self.alarms]
        return read(kept)

    def one(self, number: int, reach: dict[At, Reach], deeper: dict[At, Reach]) -> Sampled:
        """The first mutation drawn for this number that shows, with its trigger."""
        chance = random.Random(f"{self.settings.seed} {number}")
        kind = self.kinds[number % len(self.kinds)]
        known = [one for one in mutations() if one.at in reach]
        passed_over = 0
        for mutation in chance.sample(known, len(known)):
            trigger = drawn(kind, chance, frozenset(reach[mutation.at].present))
            if trigger is None:
                continue
            shown, _ = self.examined(mutation, ALWAYS, self.base, reach)
            if shown.outcome == "found" and shown.rule != BROKE_DOWN:
                seen, hung = self.examined(mutation, trigger, self.settings, deeper)
                return Sampled(number, mutation, trigger, shown.rule, passed_over, seen, hung)
            passed_over += 1
        raise Failed(f"no mutation shows that a trigger of the kind {kind} fits")

    def examined(
        self,
        mutation: Mutation,
        trigger: Trigger,
        settings: ExamSettings,
        reach: dict[At, Reach],
    ) -> tuple[Seen, bool]:
        """As kept, or now; and whether it had to be ended. A broker that cannot even be started shows nothing."""
        plays = tuple(reach[mutation.at].plays) if mutation.at in reach else ()
        exam = Exam(mutation, trigger, settings, plays, self._bound(settings))
        if trigger == ALWAYS:
            exam = replace(exam, bound=min(exam.bound, SHOWS_WITHIN), enough=SHOWS_IN)
        kept = self._kept(exam.key, examine, exam, exam.bound + GRACE)
        if kept is None:
            return Seen("unfinished", seconds=exam.bound + GRACE), True
        return (Seen("unfinished", observed=kept[TROUBLE]) if TROUBLE in kept else Seen(**kept)), False

    def _bound(self, settings: ExamSettings) -> float:
        return self.bound or BOUNDS[settings.depth]

    def _kept(self, key: str, function: Callable[[T, Send], None], argument: T, seconds: float) -> Answer | None:
        """From the journal, or in a process of its own."""
        with self._lock:
            if key in self.journal:
                found: Answer | None = self.journal[key]
                return found
        answer = bounded(function, argument, seconds, PRELOAD)
        if self._over:
            raise Failed("interrupted")
        with self._lock:
            self.journal.add(key, answer)
        return answer


def plain(one: Sampled) -> dict[str, Any]:
    """For the figures."""
    return {
        "number": one.number,
        "mutation": one.mutation.key,
        "says": one.mutation.says,
        "flaw": one.mutation.kind,
        "trigger": one.trigger.key,
        **asdict(one.trigger),
        "base": one.base,
        "passed_over": one.passed_over,
        "module": one.mutation.module,
        "function": one.mutation.function,
        "hung": one.hung,
        **asdict(one.seen),
    }
