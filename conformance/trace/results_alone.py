"""Runs that were judged in this process to results: what `offline_spark` asks Spark for, asked of memory."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from conformance.catalogue import profiles
from conformance.history import events as ev
from conformance.trace.results import LISTS, NUMBERS, Checked, FirstFinding, GivenOptions, Kind, assembled, picked
from conformance.trace.slices import Cut, Wanted, sliced
from reports.alone.judged import JudgedRun
from reports.judging.gold import FINDING, Row

_NUMBERS, _LISTS = re.compile(NUMBERS, re.ASCII), re.compile(LISTS, re.ASCII)

Scenes = Mapping[str, tuple[str, str]]
_Words = tuple[str, ...]


def checked(runs: Sequence[JudgedRun], told: GivenOptions, tell: Callable[[int, int], None]) -> list[Checked]:
    """The results of these runs. `tell` hears how many exchanges are cut out, and of how many."""
    by_name = {run.name: run for run in runs}
    scenes = {run.name: _scenes(run) for run in runs}
    counts = {run.name: _counts(run, scenes[run.name]) for run in runs}
    found = list(picked(kind for run in runs for kind in _kinds(run, scenes[run.name])))
    cuts = []
    for number, (wanted, _, _) in enumerate(found):
        tell(number, len(found))
        cuts.append(_cut(by_name[wanted.run], wanted) if wanted.shown else Cut())
    return assembled({run.name: run.header for run in runs}, counts, found, cuts, told)


def _scenes(run: JudgedRun) -> Scenes:
    """Scene and queue type of each history that has one."""
    return {
        name: (str(first.args.get("name") or ""), str(first.args.get("queue_type") or ""))
        for name, history in run.histories.items()
        if (first := next((event for event in history.events if event.kind == ev.SCENE), None)) is not None
    }


def _counts(run: JudgedRun, scenes: Scenes) -> Mapping[str, Mapping[tuple[str, str | None], int]]:
    """Queue type and what: (rule, what was seen) to how often."""
    counts: defaultdict[str, Counter[tuple[str, str | None]]] = defaultdict(Counter)
    for row in run.gold:
        if row["what"] != FINDING:
            _, queue_type = scenes.get(row["history"], ("", ""))
            counts[f"{queue_type}\0{row['what']}"][row["rule"], row.get("observed")] += row["times"]
    return counts


def _kinds(run: JudgedRun, scenes: Scenes) -> Iterator[Kind]:
    """The first finding of each kind, and how many of the kind there are."""
    kinds: defaultdict[tuple[str, str, bool, str, _Words, _Words], list[tuple[Row, str]]] = defaultdict(list)
    for row in run.gold:
        if row["what"] == FINDING:
            scene, queue_type = scenes.get(row["history"], ("", ""))
            gist = _LISTS.sub("#", _NUMBERS.sub("#", row["observed"]))
            names = tuple(told.partition(" ")[0] for told in row["amid"])
            kinds[row["rule"], queue_type, row["certain"], gist, names, tuple(row["unless"])].append((row, scene))
    for (rule, queue_type, certain, gist, names, unless), own in kinds.items():
        first = min(
            FirstFinding(row["history"], row["at"], row["allowed"], row["observed"], row["witness"], scene, row["amid"])
            for row, scene in own
        )
        times = {(row["history"], tuple(row["amid"])) for row, _ in own}
        yield Kind(run.name, rule, queue_type, certain, gist, list(names), list(unless), first, len(own), len(times))


def _cut(run: JudgedRun, wanted: Wanted) -> Cut:
    finding = wanted.finding
    island = run.histories[finding.history].island_of(finding.at)
    history = partial(run.events_up_to, finding.history, island, finding.at)
    return sliced(history, finding, profiles.load(str(run.header["profile"])))
