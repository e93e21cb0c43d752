"""One history judged, and the judgement as rows of the table `gold`: the same for Spark and for this process.

A row says what of a rule was found in a history (`what`): a finding with its words and witnesses, how often the rule
was exercised, what was characterised, why it could not be judged, or how often a circumstance was met.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from conformance.catalogue.profiles import Profile
from conformance.history import events as ev
from conformance.history.events import Event
from conformance.history.recording import BadRecording
from conformance.oracle.verdicts import Judgement
from reports.judging import compiled
from reports.judging.world import Closed

FINDING, EXERCISED, REPORT, DOUBT, MET = "finding", "exercised", "report", "doubt", "met"

Row = dict[str, Any]


def fold_one(events: Iterable[Event], profile: Profile, world: Closed | None = None) -> Judgement:
    """The judgement on one history, whose events come in the order of seq."""
    judge = compiled.judge()(profile)
    alive: set[str] = set()
    last = -1
    for event in events:
        if event.seq <= last:
            raise BadRecording(f"history {event.history!r}: seq {event.seq} after {last}; was it recorded twice?")
        last = event.seq
        if event.kind == ev.OPEN:
            alive.add(event.connection)
        elif event.kind == ev.END:
            alive.discard(event.connection)
        if world is None:
            judge.step(event)
        else:
            for said in world.judge_in_order(event):
                judge.step(said)
    judge.end(not alive)
    return judge.judgement


def rows_of(run: str, history: str, judgement: Judgement) -> Iterator[Row]:
    """A judgement as rows."""
    place = {"run": run, "history": history}
    for found in judgement.findings:
        yield {
            **place,
            "what": FINDING,
            "rule": found.rule,
            "times": 1,
            "at": found.at,
            "allowed": found.allowed,
            "observed": found.observed,
            "certain": found.certain,
            "witness": list(found.witness),
            "amid": list(found.where),
            "unless": list(found.unless),
        }
    for rule, times in sorted(judgement.exercised.items()):
        if times:
            yield {**place, "what": EXERCISED, "rule": rule, "times": times}
    for name, times in sorted(judgement.met.items()):
        yield {**place, "what": MET, "rule": "", "times": times, "observed": name}
    for what, said in ((REPORT, judgement.reports), (DOUBT, judgement.doubts)):
        for rule, seen in sorted(said.items()):
            for observed, times in sorted(seen.items()):
                yield {**place, "what": what, "rule": rule, "times": times, "observed": observed}
