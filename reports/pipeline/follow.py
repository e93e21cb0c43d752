"""A history that comes in pieces, judged as far as it has come. No Spark in here: one history, its pieces, its state.

Recorders number the events of a history from one, so a missing event shows. Pieces may come in any order: events wait
until those before them have come. They wait at most for `lateness`, in the history's own time, and at most MOST of
them wait. Then the missing events are given up. In their place comes what the observer of a lossy capture would say: a
GAP of every connection, and that there may be other clients. So claims that need what is missing become doubts. An
event that comes after it was given up, or a second time, is not judged. Both are reported as rows.

Each piece reports only the difference since the piece before; the sum is the judgement. What is left open is in the
`state`: plain bytes, a line of JSON for what is known of the order, the waiting events as JSON, and the Judge.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from typing import Any

from conformance.catalogue import profiles
from conformance.catalogue.profiles import Profile
from conformance.history import events as ev
from conformance.history.events import Event
from conformance.history.recording import to_event, to_row
from conformance.oracle.monitors import Judge, state
from conformance.oracle.verdicts import Judgement
from reports.judging import compiled
from reports.judging.world import local
from reports.pipeline.check import rows_of

FORMAT = "amqp-conformance/history/1"
MISSING, LATE = "missing", "late"
"""What else is told of a history: events that never came in time, and events that came too late or twice."""
MOST = 100_000
"""This many events of one history may wait for earlier ones."""
SECOND = 1_000_000_000

Row = dict[str, Any]
_SEQ = attrgetter("seq")


@dataclass(slots=True, eq=False)
class FollowedHistory:
    """One history, as far as it has come."""

    run: str
    name: str
    profile: Profile
    judge: Judge
    last: int = 0
    """The seq up to which it is judged."""
    newest: int = 0
    """The time of its latest event, in nanoseconds."""
    alive: list[str] = field(default_factory=list)
    """Connections that have opened and not ended."""
    waiting: list[Event] = field(default_factory=list)
    """Events whose predecessors have not come, by seq."""

    @property
    def complete(self) -> bool:
        """Has all that was begun come to its end?"""
        return not self.alive and not self.waiting

    def take(self, events: Iterable[Event], lateness: float) -> Iterator[Row]:
        """Judges what can be judged now that these have come too; `lateness` in seconds. Gives rows of check.DDL."""
        before = _copy(self.judge.judgement)
        told = list(self._advance(events, lateness))
        yield from rows_of(self.run, self.name, since(before, self.judge.judgement))
        yield from told

    def close(self) -> Iterator[Row]:
        """Nothing more will come: what waits is judged without what is missing."""
        yield from self.take((), -1.0)

    # -- the order

    def _advance(self, events: Iterable[Event], lateness: float) -> Iterator[Row]:
        pending = [*self.waiting, *events]
        pending.sort(key=_SEQ)
        self.waiting = []
        if pending:
            self.newest = max(self.newest, pending[-1].time_ns)
        twice = 0
        for at, event in enumerate(pending):
            if event.seq == self.last + 1:
                self._step(event)
            elif event.seq <= self.last:
                twice += 1
            elif self._patient(event, len(pending) - at, lateness):
                self.waiting = pending[at:]
                break
            else:
                yield self._row(MISSING, event.seq - self.last - 1, f"events {self.last + 1} to {event.seq - 1}")
                self._skip(event)
                self._step(event)
        if twice:
            yield self._row(LATE, twice, "came after they had been given up, or a second time")

    def _patient(self, first: Event, number: int, lateness: float) -> bool:
        return number <= MOST and self.newest - first.time_ns <= lateness * SECOND

    def _step(self, event: Event) -> None:
        self.last = event.seq
        if event.kind != ev.METHOD:
            self._live(event)
        self.judge.step(event)

    def _live(self, event: Event) -> None:
        if event.kind == ev.OPEN:
            self.alive.append(event.connection)
        elif event.kind == ev.END and event.connection in self.alive:
            self.alive.remove(event.connection)

    def _skip(self, to: Event) -> None:
        """Says in the place of what is missing that it is."""
        reason = f"{to.seq - self.last - 1} events did not come in time"
        self.judge.step(local(to, ev.OBSERVED, "", by="stream", others=True, ordered=True))
        for connection in self.alive:
            self.judge.step(local(to, ev.GAP, connection, direction=None, octets=None, reason=reason))

    def _row(self, what: str, times: int, observed: str) -> Row:
        return {"run": self.run, "history": self.name, "what": what, "rule": "", "times": times, "observed": observed}

    # -- the state

    def encode(self) -> bytes:
        waiting = b""
        if self.waiting:
            waiting = zlib.compress(json.dumps([to_row(event) for event in self.waiting]).encode(), 1)
        known = {
            "format": FORMAT,
            "run": self.run,
            "history": self.name,
            "profile": self.profile.name,
            "last": self.last,
            "newest": self.newest,
            "alive": self.alive,
            "waiting": len(waiting),
        }
        return json.dumps(known).encode() + b"\n" + waiting + state.encode(self.judge)


def begin(run: str, name: str, profile: str) -> FollowedHistory:
    """A history of which nothing has come yet."""
    held_to = loaded(profile)
    return FollowedHistory(run, name, held_to, compiled.judge()(held_to))


def decode(data: bytes) -> FollowedHistory:
    """Raises state.UnknownState."""
    line, _, rest = data.partition(b"\n")
    known = json.loads(line) if line.startswith(b"{") else {}
    if known.get("format") != FORMAT:
        raise state.UnknownState(
            f"this is a state of {str(known.get('format', line[:80]))!r}, and here states are of {FORMAT!r}. Let the "
            "version that wrote it finish, or start again from an empty checkpoint; then everything is judged anew."
        )
    profile, size = loaded(known["profile"]), known["waiting"]
    waiting = [to_event(row) for row in json.loads(zlib.decompress(rest[:size]))] if size else []
    judge = state.decode(rest[size:], profile, compiled.judge())
    return FollowedHistory(
        known["run"], known["history"], profile, judge, known["last"], known["newest"], known["alive"], waiting
    )


@cache
def loaded(profile: str) -> Profile:
    return profiles.load(profile)


# -- judgements as differences


def _copy(judgement: Judgement) -> Judgement:
    copied = Judgement()
    copied.add(judgement)
    return copied


def since(before: Judgement, now: Judgement) -> Judgement:
    """What has come to a judgement that only grows."""
    return Judgement(
        now.findings[len(before.findings) :],
        now.exercised - before.exercised,
        _more(before.reports, now.reports),
        _more(before.doubts, now.doubts),
    )


def _more(before: Mapping[str, Counter[str]], now: Mapping[str, Counter[str]]) -> dict[str, Counter[str]]:
    grown = {rule: counts - before.get(rule, Counter()) for rule, counts in now.items()}
    return {rule: counts for rule, counts in grown.items() if counts}
