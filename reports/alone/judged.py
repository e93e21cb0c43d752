"""Histories in memory to what Spark makes of them: gold, the verdict table, times, and what is known of each run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from conformance.catalogue import profiles
from conformance.catalogue.profiles import Profile
from conformance.history import events as ev
from conformance.history.events import Event
from conformance.history.stopwatch import Stopwatch
from reports.alone.store import Histories, StoredHistory
from reports.judging import crossing, tables
from reports.judging.crossing import NEEDS_ALL, Fact
from reports.judging.gold import DOUBT, FINDING, Row, fold_one, rows_of
from reports.judging.runs import about, held_to
from reports.judging.world import NEVER, Closed, Torn
from reports.pipeline.inputs import Inputs

_LOST = (ev.JOINED, ev.GAP, ev.CUT, ev.MALFORMED)

Times = Counter[tuple[str, int]]


@dataclass(frozen=True)
class JudgedRun:
    """One run, judged. `about`: what is known of it; `header`: that with the profile that it was held to."""

    name: str
    about: Mapping[str, Any]
    header: Mapping[str, Any]
    histories: Mapping[str, StoredHistory]
    upto: Mapping[str, int]
    """By history, where its user's word is taken that it shows all clients: up to which seq that holds."""
    gold: Sequence[Row]

    def table(self, known: Collection[str] = ()) -> list[tables.VerdictRow]:
        """Its verdicts. `known`: the rules that are broken as it is known of its broker."""
        return tables.of_run(self.name, self.header, _counts(self.gold), known)

    def events_up_to(self, history: str, island: str, upto: int) -> Iterator[tuple[Event, str | None]]:
        """The events of an island up to this seq, as they were judged."""
        own = self.histories[history]
        world = Closed(self.upto[history]) if history in self.upto else None
        for event in own.islands[island]:
            if event.seq <= upto:
                extra = own.extra.get(event.seq)
                yield from ((said, extra) for said in (world.judge_in_order(event) if world else (event,)))

    @property
    def times(self) -> Times:
        """How long confirms and deliveries took: (what, bucket) to how often."""
        total: Times = Counter()
        for events in _islands(self.histories):
            watch = Stopwatch(total)
            for event in events:
                watch.step(event)
        return total


def judged(inputs: Inputs, found: Histories, profile: str | None = None, *, whole: bool = False) -> list[JudgedRun]:
    """Every run of these inputs. `profile` overrides what runs were held to; `whole` as in `Closed`."""
    return [_run(name, about(inputs, name, _counted(own)), profile, own, whole) for name, own in found.items()]


def _run(
    name: str,
    known: Mapping[str, Any],
    wanted: str | None,
    histories: Mapping[str, StoredHistory],
    whole: bool,
) -> JudgedRun:
    header = held_to(known, wanted)
    profile = profiles.load(str(header["profile"]))
    upto = {history: _whole(own) for history, own in histories.items()} if whole else {}
    rows = [row for history in histories.values() for row in _gold(history, profile, upto)]
    gold = [*_degraded(rows, shared := _shared(histories.values())), *_crossed(histories, shared)]
    return JudgedRun(name, known, header, histories, upto, gold)


def _gold(history: StoredHistory, profile: Profile, upto: Mapping[str, int]) -> Iterator[Row]:
    for events in history.islands.values():
        world = Closed(upto[history.name]) if upto else None
        yield from rows_of(history.run, history.name, fold_one(events, profile, world))


def _whole(history: StoredHistory) -> int:
    return min((Torn.of(events).upto for events in history.islands.values()), default=NEVER)


def _islands(histories: Mapping[str, StoredHistory]) -> Iterator[list[Event]]:
    return chain.from_iterable(history.islands.values() for history in histories.values())


def _counted(histories: Mapping[str, StoredHistory]) -> dict[str, Any]:
    """How much there is, what was lost, and when it began."""
    kinds = Counter(event.kind for events in _islands(histories) for event in events)
    times = [event.time_ns for events in _islands(histories) for event in events]
    connections = {(name, event.connection) for name, own in histories.items() for event in own.events}
    return {
        "events": len(times),
        "histories": len(histories),
        "connections": sum(bool(connection) for _, connection in connections),
        "began": min(times, default=0),
        "ended": max(times, default=0),
        **{kind: kinds[kind] for kind in _LOST},
    }


def _counts(gold: Iterable[Row]) -> dict[str, tables.Counts]:
    """Rule, what the rows have in common -> how often."""
    counts: defaultdict[str, Counter[tables.Counted]] = defaultdict(Counter)
    for row in gold:
        why = row["observed"] if row["what"] == DOUBT else None
        kind = tables.Counted(row["what"], row.get("certain"), why, tuple(row.get("unless", ())))
        counts[row["rule"]][kind] += row["times"]
    return dict(counts)


# -- what several histories see of one queue


def _shared(histories: Iterable[StoredHistory]) -> dict[str, set[str]]:
    """Queues that more than one history has to do with, to these. Scenes of the suite are left out: each names its
    queues for itself alone, and what two of them name does not exist."""
    touched: defaultdict[str, set[str]] = defaultdict(set)
    for history in histories:
        if not any(event.kind == ev.SCENE for event in history.events):
            for queue in {queue for event in history.events if event.channel > 0 and (queue := _queue(event))}:
                touched[queue].add(history.name)
    return {queue: names for queue, names in touched.items() if len(names) > 1}


def _queue(event: Event) -> str | None:
    return event.routing_key if event.method == "basic.publish" and event.exchange == "" else event.queue


def _degraded(rows: Iterable[Row], shared: Mapping[str, set[str]]) -> Iterator[Row]:
    """No claim that needs all connections is certain where one history has not seen them all."""
    parted = set().union(*shared.values())
    for row in rows:
        unsure = row["history"] in parted and row["rule"] in NEEDS_ALL and row["what"] == FINDING
        yield {**row, "certain": False} if unsure else row


def _crossed(histories: Mapping[str, StoredHistory], shared: Mapping[str, set[str]]) -> Iterator[Row]:
    """What contradicts a rule in the facts of shared queues."""
    if not shared:
        return
    facts: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in crossing.facts_of(chain.from_iterable(_islands(histories))):
        if fact.queue in shared:
            facts[fact.queue].append(fact)
    for _, own in sorted(facts.items()):
        yield from crossing.judged(own)
