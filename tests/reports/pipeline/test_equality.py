"""One history, judged live while it was played, by the plain fold over its rows, on Spark, and by what judges small
inputs in one process: they say the same, and come to the same verdict table.

Traces are lawful, chaotic (from brokers that take variations), wrong (each of the mutants that ordinary traffic shows)
and truncated (parts are missing). Of what is
truncated nobody was a live witness: there the third judge is one that is put aside in the middle, twice, and goes on
from the bytes. Compared are all findings with their words and witnesses, and what was exercised, reported and doubted,
history by history.

`make test` takes some 60, `make test-long` 150; `make equality` sets EQUALITY_TRACES and takes thousands, in a few
big jobs.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance.catalogue import profiles
from conformance.history.events import Event
from conformance.history.recording import Recording, RecordingWriter
from conformance.oracle.monitors import Judge, judge
from conformance.oracle.monitors.state import decode, encode
from conformance.oracle.verdicts import Judgement
from reports.alone.judged import judged
from reports.alone.store import histories as histories_of
from reports.pipeline import check, ingest, verdicts
from reports.pipeline.inputs import gather
from tests.support import mutilation, traces
from tests.support.traces import Trace, plain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

WANTED = int(os.environ.get("EQUALITY_TRACES", "60"))
PROFILE = profiles.load(traces.PROFILE)
JOB = 1500
"""So many traces are judged by one job."""
CELLS = 20
"""Machine, queue type and scheduler."""


@pytest.fixture(scope="module")
def played() -> list[Trace]:
    """At least two thirds of what is wanted: half of it lawful, some of that chaotic, half wrong."""
    third = -(-WANTED // 3)
    names = traces.mutants(max(1, len(traces.mutants()) * len(traces.MACHINES) // third))
    each = -(-third // CELLS)
    lawful = [*traces.lawful(-(-each // 2)), *traces.chaotic(-(-each // 2))]
    return lawful + list(traces.wrong(names, -(-third // (len(names) * len(traces.MACHINES)))))


@pytest.fixture(scope="module")
def truncated(played: list[Trace]) -> list[list[Event]]:
    made = []
    for number in range(-(-WANTED // 3)):
        trace = played[number * 7 % len(played)]
        chance = random.Random(number)
        cut = mutilation.ALL[number % len(mutilation.ALL)](trace.events, chance)
        made.append([event._replace(history=f"{number} {event.history}") for event in cut])
    return [history for history in made if history]


def test_plain_live_and_spark_agree(
    played: list[Trace],
    truncated: list[list[Event]],
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    wrong = sum(bool(trace.live.findings) for trace in played)
    histories = [trace.events for trace in played] + truncated
    assert len(histories) >= WANTED
    assert wrong > WANTED // 40

    folded = {history[0].history: judge(history, PROFILE) for history in histories}
    assert len(folded) == len(histories)
    for trace in played:
        assert plain(folded[trace.events[0].history]) == plain(trace.live), trace.events[0].history
    for history in truncated:
        assert plain(folded[history[0].history]) == plain(interrupted(history)), history[0].history

    for number, some in enumerate(by(JOB, histories)):
        found, alone = offline(spark, some, tmp_path / str(number))
        for history in some:
            name = history[0].history
            expected = sorted(map(flat, check.rows_of(name, name, folded[name])))
            assert found.get(name, []) == expected, name
            assert alone.get(name, []) == expected, name
    events = sum(map(len, histories))
    with capsys.disabled():
        print(
            f"\n{len(histories)} traces, {events} events: {len(played)} played to their end, of which {wrong} are of "
            f"a broker that was found wrong, {len(truncated)} with parts missing; plain = live = Spark = one process"
        )


def interrupted(history: list[Event]) -> Judgement:
    """Judged by three judges, each of which goes on from what the one before has put aside."""
    judging = Judge(PROFILE)
    for number, event in enumerate(history):
        if number in (len(history) // 3, 2 * len(history) // 3):
            judging = decode(encode(judging), PROFILE)
        judging.step(event)
    judging.end(False)
    return judging.judgement


def offline(
    spark: SparkSession,
    histories: Sequence[list[Event]],
    folder: Path,
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """By history: its rows, by Spark and by this process, which agree on the verdicts. Each is a run of its own, since
    what several histories see of one queue is another matter. The recording is gone afterwards."""
    profile_of = {history[0].history: traces.PROFILE for history in histories}
    for run in profile_of:
        RecordingWriter(folder, {"run": run, "profile": traces.PROFILE}).close()
    with RecordingWriter(folder, {"run": next(iter(profile_of)), "profile": traces.PROFILE}) as writer:
        for event in interleaved(histories):
            writer.write(event._replace(run=event.history))
    outcome = check.check(ingest.events(spark, Recording(folder)), profile_of, 4).persist()
    inputs = gather([folder])
    runs = judged(inputs, histories_of(inputs))
    table = verdicts.table(outcome, {run.name: run.header for run in runs})
    assert table == [row for run in runs for row in run.table()]
    found = by_history(row.asDict() for row in outcome.collect())
    outcome.unpersist()
    shutil.rmtree(folder)
    return found, by_history(row for run in runs for row in run.gold)


def by_history(rows: Iterable[dict[str, Any]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["history"], []).append(flat(row))
    return {name: sorted(own) for name, own in found.items()}


def interleaved(histories: Sequence[list[Event]]) -> Iterator[Event]:
    """As several workers would have written them: by turns, forty at a time."""
    for some in by(40, histories):
        longest = max(map(len, some))
        for at in range(longest):
            yield from (history[at] for history in some if at < len(history))


def by(size: int, histories: Sequence[list[Event]]) -> Iterator[Sequence[list[Event]]]:
    """In groups of this size."""
    return (histories[at : at + size] for at in range(0, len(histories), size))


def flat(row: dict[str, Any]) -> str:
    """A row as text; what is absent and what is null are the same."""
    return repr(sorted((name, value) for name, value in row.items() if value is not None))
