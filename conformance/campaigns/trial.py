"""Is the reproducer of a finding told well enough that the broker does it again, and a right one does not?

An exchange that proves a finding need not be enough to provoke it: slicing knows what the judge needs, not what a
broker needs. So reproducers are tried, from the shortest to the whole history: on the broker in question, where what
was seen must be seen again, and on the reference broker, which must do something else: in the same dialect, or, where
that is known to do it, in the one that keeps to the texts. The first that passes both is the one that scripts and
`replay` tell; how often it was seen again is counted.
"""

from __future__ import annotations

import importlib
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from conformance.catalogue import deviations, rules
from conformance.catalogue.deviations import excuse
from conformance.catalogue.profiles import Profile, load
from conformance.drive.budget import EACH
from conformance.drive.drivers.target import Target
from conformance.drive.watchdog import TimeIsOver, alarm
from conformance.evidence import emit
from conformance.evidence.reproducer import Row, Untellable, reproducer_of, sharper
from conformance.evidence.scripts import player, raw
from conformance.history.events import Event
from conformance.oracle.verdicts import Finding
from reference_broker import ReferenceBroker
from reference_broker.dialects import DIALECTS, DOCUMENTED

BUDGET = EACH
AGAIN = 3
EACH_TIME = f"{AGAIN} of {AGAIN}"
SYMPTOMS = 3
"""This many steps of a reproducer may be the fault itself, before the last."""
LONGEST_PAUSE = 10.0
"""The longest wait in a reproducer that is tried, in seconds; to wait longer, run the script."""
MOST_ROWS = 600
CLEANS = 10.0
"""Seconds for removing what a reproducer declared."""
LIBRARIES = (emit.RAW, emit.PIKA, emit.AMQP)
FOR_JUDGES = "a script only compares answers, and a correct broker may answer the same; replay judges them"
_WIRES = {emit.PIKA: "pika_wire", emit.AMQP: "amqp_wire"}


@dataclass(frozen=True, slots=True)
class TrialResult:
    """A reproducer, how often it was seen again, and by which libraries it cannot be told; or why there is none."""

    story: tuple[Row, ...] = ()
    reproduced: str = ""
    untold: str = ""
    absent: Mapping[str, str] = field(default_factory=dict)


def tell(
    history: Sequence[Event],
    kept: Sequence[Event],
    finding: Finding,
    profile: Profile,
    target: Target,
    wait: float,
    budget: float | None = None,
) -> TrialResult:
    """The shortest reproducer that passes each time; else one that does now and then, or that a right broker cannot
    play; else one that only a judge can tell from what a right broker does, which `replay` has. `kept` is the slice,
    `history` all that there was; `wait` and `budget` in seconds."""
    trial = Trial(target, wait, right=right(finding, profile), budget=BUDGET if budget is None else budget)
    why, flaky, second, third = "", TrialResult(), TrialResult(), TrialResult()
    for events in candidates(history, kept, finding):
        try:
            rows = reproducer_of(events, finding.at, finding.rule, profile)
        except Untellable as untellable:
            why = str(untellable)
            continue
        if len(rows) > MOST_ROWS or sum(row.get("seconds", 0) for row in rows if row["who"] == "-") > LONGEST_PAUSE:
            why = why or "trying it would take too long"
            break
        if trial.over:
            why = why or "there was no time left to try it"
            break
        if trial.here(rows) != player.BROKEN:
            why = why or "the exchange alone does not reproduce it"
            continue
        honest, rows = trial.without_symptoms(rows)
        if honest == player.BROKEN:
            third = third if third.story else TrialResult(tuple(rows), absent=dict.fromkeys(LIBRARIES, FOR_JUDGES))
            for tale in sharper(rows):
                if trial.here(tale) == player.BROKEN and (honest := trial.honest(tale)) != player.BROKEN:
                    rows = tale
                    break
            else:
                continue
        told = trial.repeat(rows)
        if honest == player.ELSE and told.reproduced == EACH_TIME:
            return told
        if honest == player.ELSE:
            flaky = flaky if flaky.story else told
        second = second if second.story else told
    return next((one for one in (flaky, second, third) if one.story), TrialResult(untold=why))


def right(finding: Finding, profile: Profile) -> str:
    """The dialect in which the reference broker does not do what was found: that of the profile; or, for a known
    deviation of that, which it imitates, the one that keeps to the texts, if the rule applies there."""
    own = profile.interpolated_from or profile.name
    dialect = own if own in DIALECTS else DOCUMENTED.name
    known = deviations.load(profile.deviations) if profile.deviations in deviations.NAMES else ()
    if excuse(known, finding.rule, finding.observed, "", finding.where) is None:
        return dialect
    applies = rules.get(finding.rule).ruled_out(load(DOCUMENTED.name).choices) is None
    return DOCUMENTED.name if applies else dialect


def candidates(history: Sequence[Event], kept: Sequence[Event], finding: Finding) -> Iterator[list[Event]]:
    """The slice; the slice with all that was said on its channels; everything."""
    yield list(kept)
    here = {event.seq for event in kept}
    channels = {(event.connection, event.channel) for event in kept}
    before = [event for event in history if event.seq <= finding.at]
    yield [event for event in before if event.seq in here or (event.connection, event.channel) in channels]
    yield before


class Trial:
    """Plays reproducers on a broker, and on one that should do otherwise: `other`, or else the reference broker in the
    dialect `right`. After `budget` seconds every performance is unclear."""

    def __init__(
        self,
        target: Target,
        wait: float,
        *,
        right: str = DOCUMENTED.name,
        other: Target | None = None,
        budget: float = BUDGET,
    ) -> None:
        self._url, self._wait, self._right = address(target), wait, right
        self._other = address(other) if other else None
        self._until = time.monotonic() + budget
        self._missed = 0

    @property
    def over(self) -> bool:
        """Is the time up?"""
        return time.monotonic() > self._until

    def here(self, rows: Sequence[Row], library: str = emit.RAW) -> int:
        return self._play(rows, self._url, library)

    def honest(self, rows: Sequence[Row], library: str = emit.RAW) -> int:
        if self._other is not None:
            return self._play(rows, self._other, library)
        with ReferenceBroker(dialect=self._right) as broker:
            return self._play(rows, broker.url, library)

    def without_symptoms(self, rows: list[Row]) -> tuple[int, list[Row]]:
        """What a right broker makes of a reproducer, and the reproducer in which each step is decisive at which it does
        something else: that is the fault, earlier, and no condition for seeing it."""
        honest = self.honest(rows)
        for _ in range(SYMPTOMS):
            if honest != player.UNCLEAR or not self._missed:
                break
            marked = [{**row, "decisive": True} if row["n"] == self._missed else row for row in rows]
            if self.here(marked) != player.BROKEN:
                break
            honest, rows = self.honest(marked), marked
        return honest, rows

    def repeat(self, rows: Sequence[Row]) -> TrialResult:
        again = 1 + sum(self.here(rows) == player.BROKEN for _ in range(AGAIN - 1))
        absent = {library: why for library in _WIRES if (why := self._obstacle(rows, library))}
        return TrialResult(tuple(rows), f"{again} of {AGAIN}", absent=absent)

    def _obstacle(self, rows: Sequence[Row], library: str) -> str | None:
        why = emit.obstacle(rows, library)
        if why:
            return why
        if _wire(library) is None:
            return f"{library} is not installed here, so a script by it could not be tried"
        if self.here(rows, library) != player.BROKEN or self.honest(rows, library) != player.ELSE:
            return f"tried by {library}, the exchange does not reproduce it"
        return None

    def _play(self, rows: Sequence[Row], url: str, library: str) -> int:
        """One performance; unclear where it fails, or where the time is up."""
        if self.over:
            return player.UNCLEAR
        wire: Any = None
        try:
            with alarm(max(1.0, self._until - time.monotonic())):
                wire = _wire(library)(url)
                played = player.Player(list(rows), wire, f"amqpconf.{uuid.uuid4().hex[:12]}.", self._wait)
                verdict = played.play()
                self._missed = played.missed if verdict == player.UNCLEAR else 0
                return verdict
        except (Exception, TimeIsOver):  # a wrong broker may do anything to a client, or nothing at all
            return player.UNCLEAR
        finally:
            if wire is not None:
                cleaned(wire)


def cleaned(wire: Any) -> None:
    """What was declared is removed, where the broker still lets us."""
    try:
        with alarm(CLEANS):
            wire.clean()
    except (Exception, TimeIsOver):  # queues of a broker that is gone, or will not have us, are no concern any more
        return


def _wire(library: str) -> Any:
    """The wire of a library, or None where that is not installed."""
    if library == emit.RAW:
        return raw.Wire
    try:
        return importlib.import_module(f"conformance.evidence.scripts.{_WIRES[library]}").Wire
    except ImportError:
        return None


def address(target: Target) -> str:
    """The URL with its password: for a wire, never to be shown."""
    scheme, host = "amqps" if target.tls else "amqp", target.address
    login = f"{quote(target.user, safe='')}:{quote(target.password, safe='')}"
    options = f"?{urlencode(target.options)}" if target.options else ""
    return f"{scheme}://{login}@{host}/{quote(target.vhost, safe='')}{options}"
