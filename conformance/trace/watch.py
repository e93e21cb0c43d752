"""`trace watch`: a directory of recordings judged while it fills.

What is found is told at once, on stderr; Ctrl-C ends it with everything kept, and the same words go on where it ended.
At the end, and after an interrupt, histories that are still open are judged as far as they came, for the summary
alone: whatever comes later is judged as if nobody had asked in between.

    OUT/verdicts.json    the verdict table, as of the end
    OUT/judgements/      a Delta table, a commit for each micro-batch: findings, coverage, what was missing
    OUT/checkpoint/      how far it is; with another version of this suite, begin another one
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.catalogue import deviations, profiles
from conformance.catalogue.deviations import Deviation
from conformance.evidence.words import count
from conformance.oracle.verdicts import Verdict
from conformance.session.exits import GATE_CLOSED, GATE_OPEN, INTERRUPTED, WRONG_USE, Refused
from reports import objects
from reports.objects import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from reports.pipeline.stream import Stream
    from reports.pipeline.verdicts import VerdictRow

EVERY = "2 seconds"
_LINES = 5


@dataclass(frozen=True, slots=True)
class FollowOptions:
    """What the user asked for."""

    inbox: Path
    out: Place
    checkpoint: Path | None = None
    once: bool = False
    lateness: float = 600.0
    master: str = "local[*]"
    format: str = "text"


def watch(wanted: FollowOptions) -> int:
    """Watch, tell, and sum up; the exit code."""
    if not wanted.inbox.is_dir():
        raise Refused(WRONG_USE, f"{wanted.inbox} is not a directory; give the directory in which recordings appear.")
    checkpoint = wanted.checkpoint or (wanted.out / "checkpoint" if isinstance(wanted.out, Path) else None)
    if checkpoint is None:
        raise Refused(
            WRONG_USE,
            f"--out {wanted.out} is an object store, and how far a watch has come is kept on this "
            "machine: name a directory by --checkpoint.",
        )
    from reports.pipeline.session import NotInstalled, installed, session

    try:
        installed()
        from reports.pipeline.stream import Stream

        log = checkpoint.parent if isinstance(wanted.out, str) else wanted.out
        spark = session(log / "spark.log", master=wanted.master)
    except (NotInstalled, ImportError) as missing:
        raise Refused(WRONG_USE, f"{missing}.") from None
    stream = Stream(wanted.inbox, wanted.out, checkpoint, wanted.lateness)
    try:
        interrupted = _follow(spark, stream, once=wanted.once)
        rows, left = _sum_up(spark, stream)
    finally:
        spark.stop()
    _print(rows, left, wanted)
    if interrupted:
        return INTERRUPTED
    if not rows:
        print(f"nothing was judged: no recording has appeared in {wanted.inbox}.", file=sys.stderr)
        return GATE_CLOSED
    return GATE_CLOSED if any(row.verdict == Verdict.BROKEN and row.level == "must" for row in rows) else GATE_OPEN


def _follow(spark: SparkSession, stream: Stream, *, once: bool) -> bool:
    """Until all is read, or interrupted; was it?"""
    from reports.pipeline import stream as streaming

    with _interrupts() as stop:
        query = streaming.start(spark, stream, lambda number: _tell(stream, number), None if once else EVERY)
        while query.isActive and not stop.wait(0.2):
            pass
        query.stop()
        problem = query.exception()
    if problem is None or stop.is_set():
        return stop.is_set()
    told = streaming.why(problem)
    if told is None:
        raise problem
    raise Refused(WRONG_USE, f"{told.rstrip('.')}.")


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """Set by the first Ctrl-C, instead of an exception: that would tear a conversation with Spark in two."""
    stop = threading.Event()
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell(stream: Stream, number: int) -> None:
    """What a batch brought, in a few lines."""
    from reports.lake.columns import JUDGEMENTS
    from reports.pipeline import check, follow
    from reports.pipeline.stream import RUN, UNREADABLE

    rows = stream.lake.read(JUDGEMENTS.name, [str(number)]).to_pylist()
    if not rows:
        return
    of = Counter(row["what"] for row in rows)
    histories = len({(row["run"], row["history"]) for row in rows if row["what"] not in (RUN, UNREADABLE)})
    _say([f"batch {number}: news of {count(histories, 'history', 'histories')}, {count(of[check.FINDING], 'finding')}"])
    _say(
        f"{row['rule']} in {row['history']}, event {row['at']}: {row['observed']}"
        for row in rows
        if row["what"] == check.FINDING
    )
    _say(f"{row['history']}: {row['observed']} are missing" for row in rows if row["what"] == follow.MISSING)
    _say(f"{row['history']}: {row['times']:,} events {row['observed']}" for row in rows if row["what"] == follow.LATE)
    _say(f"not read: {row['observed']}" for row in rows if row["what"] == UNREADABLE)


def _say(lines: Iterable[str]) -> None:
    said = list(lines)
    for line in said[:_LINES]:
        print(line, file=sys.stderr)
    if len(said) > _LINES:
        print(f"  and {len(said) - _LINES:,} more like it", file=sys.stderr)


def _sum_up(spark: SparkSession, stream: Stream) -> tuple[list[VerdictRow], int]:
    """The verdict table, also as a file, and how many histories are still open."""
    from reports.pipeline.stream import summary

    rows, left = summary(spark, stream, _known)
    text = json.dumps([asdict(row) for row in rows], indent=1) + "\n"
    objects.write(objects.join(stream.out, "verdicts.json"), text)
    return rows, left


@cache
def _entries(profile: str) -> Sequence[Deviation]:
    name = profiles.load(profile).deviations
    return deviations.load(name) if name else ()


def _known(profile: str, rule: str, observed: str, where: Collection[str]) -> bool:
    """Is this one of the profile's deviations? Of which queue type it was is not told here, so any will do."""
    return any(entry.rule == rule and entry.covers(observed, None, where) for entry in _entries(profile))


def _print(rows: Sequence[VerdictRow], left: int, wanted: FollowOptions) -> None:
    if wanted.format == "json":
        print(json.dumps([asdict(row) for row in rows], indent=1))
        return
    by_run: dict[str, list[Any]] = {}
    for row in rows:
        by_run.setdefault(row.run, []).append(row)
    for run, own in by_run.items():
        counts = Counter(row.verdict for row in own)
        said = ", ".join(f"{counts[name]} {name.value}" for name in Verdict if counts[name])
        print(f"{run} ({own[0].broker}): {said}")
        for row in own:
            if row.verdict in (Verdict.BROKEN, Verdict.INCONCLUSIVE):
                print(f"  {row.rule} is {row.verdict} ({row.level})")
    if left:
        print(f"{count(left, 'history', 'histories')} still open: the last events have not come yet.", file=sys.stderr)
    print(f"verdicts: {objects.join(wanted.out, 'verdicts.json')}", file=sys.stderr)
