"""What each stage of the pipeline costs, on generated traffic: seconds, CPU seconds of the whole process tree, memory.

Everything that is compared runs in turns within one run, on the same files, with the same number of processes, after a
round that is not counted; what is reported is the median. CPU seconds bear a crowded machine better than seconds do.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from itertools import cycle
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyarrow import parquet

import codec
from benchmarks import packets, traffic
from benchmarks.application import perform
from benchmarks.processes import Watch, cpu
from conformance.catalogue import profiles
from conformance.history import recording
from conformance.history.events import METHOD, PROTOCOL, TO_BROKER, Event
from reports.parquet import KEY
from reports.pipeline import blocks, check, ingest, shard, sources
from reports.pipeline import stream as streaming

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROFILE_OF = {traffic.RUN: traffic.PROFILE}
_HEADER = {"schema": recording.SCHEMA, "run": traffic.RUN, "profile": traffic.PROFILE, "broker": traffic.BROKER}
_RECORDED = ingest.ARROW.with_metadata({KEY: json.dumps([_HEADER]).encode()})


class Row(NamedTuple):
    """One line of build/bench-pipeline.json. `ratio` is ours to theirs, and for a plain size the number itself; `goal`
    is what it should be at least or at most; against a goal alone, theirs is the goal."""

    name: str
    peer: str
    ours: float
    theirs: float
    ratio: float
    better: str
    unit: str
    runs: int
    goal: float | None = None


class Cost(NamedTuple):
    """What something took."""

    seconds: float
    cpu: float


def against_goal(name: str, ours: float, goal: float, unit: str, runs: int) -> Row:
    return Row(name, "goal", ours, goal, ours / goal, "higher", unit, runs, 1.0)


def cost(act: Callable[[], object]) -> Cost:
    used, began = cpu(), time.monotonic()
    act()
    return Cost(time.monotonic() - began, cpu() - used)


def in_turns(rounds: int, **acts: Callable[[], object]) -> dict[str, Cost]:
    """The median cost of each; one more round goes before and is not counted."""
    found: dict[str, list[Cost]] = {name: [] for name in acts}
    for number in range(rounds + 1):
        for name in list(acts) if number % 2 else reversed(acts):
            found[name].append(cost(acts[name]))
    return {
        name: Cost(median(one.seconds for one in costs[1:]), median(one.cpu for one in costs[1:]))
        for name, costs in found.items()
    }


# -- check


def fold(path: str) -> int:
    """The same monitors over a shard, without Spark; how many rows they make."""
    profile_of = {traffic.RUN: profiles.load(traffic.PROFILE)}
    return sum(len(rows) for rows in check.judged(check.read(path, traffic.RUN), profile_of))


def judge(spark: SparkSession, paths: list[Path]) -> list[Any]:
    """The check stage."""
    tasks = ingest.tasks(spark, [(traffic.RUN, str(path)) for path in paths])
    found: list[Any] = check.gold(tasks, PROFILE_OF).collect()
    return found


def checked(spark: SparkSession, paths: list[Path], events: int, cores: int, rounds: int) -> list[Row]:
    """Spark against a plain loop over the same shards, in as many processes."""
    with ProcessPoolExecutor(cores, get_context("spawn")) as pool:
        costs = in_turns(
            rounds,
            spark=lambda: judge(spark, paths),
            plain=lambda: list(pool.map(fold, map(str, paths))),
        )
    ours, theirs = costs["spark"], costs["plain"]
    return [
        Row(
            "pipeline.check",
            "a plain loop, seconds",
            ours.seconds,
            theirs.seconds,
            ours.seconds / theirs.seconds,
            "lower",
            "s",
            rounds,
            1.5,
        ),
        Row(
            "pipeline.check",
            "a plain loop, CPU",
            events / ours.cpu,
            events / theirs.cpu,
            theirs.cpu / ours.cpu,
            "higher",
            "events/CPU-s",
            rounds,
        ),
        against_goal("pipeline.check", events / ours.cpu, 400_000, "events/CPU-s", rounds),
    ]


def memory(spark: SparkSession, directory: Path, events: int) -> list[Row]:
    """The most that a Python worker has in memory while half of all events are of one connection."""
    paths = []
    for number, history in enumerate(traffic.plan(events, histories=4, skewed=True)):
        paths.append(directory / f"skewed-{number}.parquet")
        traffic.write(paths[-1], [history], number)
    with Watch() as watch:
        judge(spark, paths)
    return [Row("pipeline.worker_mb", "goal", watch.most, 300, watch.most, "lower", "MB", 1, 300.0)]


def growth(events: int) -> list[Row]:
    """Ten times the events of one history: how many times the CPU?"""
    small, large = (_folded(size) for size in (events // 10, events))
    return [Row("pipeline.growth", f"{events // 10:,} events", large, small, large / small, "lower", "CPU-s", 1, 11.0)]


def _folded(events: int) -> float:
    """The CPU seconds of this process for one history of so many events."""
    used = time.process_time()
    batches = traffic.batches(traffic.History("long", "shared", events))
    for _ in check.judged(batches, {traffic.RUN: profiles.load(traffic.PROFILE)}):
        pass
    return time.process_time() - used


# -- shard


def sharded(spark: SparkSession, directory: Path, events: int, rounds: int) -> list[Row]:
    """Recordings to silver on disk: of four recorders, each of which saw a part of every history, and in no order."""
    found = []
    parts = directory / "parts"
    parts.mkdir()
    histories = traffic.plan(events, histories=2)
    written = sum(traffic.write(parts / f"{one.name}.parquet", [one])[0] for one in histories)
    paths = sorted(parts.iterdir())
    for peer, deal in (("goal", spread), ("goal, in no order", disordered)):
        files = deal(paths, directory)
        costs = in_turns(rounds, ours=lambda files=files: silver(blocks.read(spark, files), directory))
        row = against_goal("pipeline.shard", written / costs["ours"].cpu, 400_000, "events/CPU-s", rounds)
        found.append(row._replace(peer=peer))
    return found


def spread(paths: list[Path], directory: Path, recorders: int = 4) -> list[Path]:
    """The events of these shards as recordings in Parquet, dealt out to so many recorders some thousands at a time."""
    files = [directory / f"events-gw{number}.parquet" for number in range(recorders)]
    with ExitStack() as stack:
        writers = [stack.enter_context(parquet.ParquetWriter(file, _RECORDED, compression="zstd")) for file in files]
        turns = cycle(writers)
        for path in paths:
            for part in parquet.ParquetFile(path).iter_batches(5_000, columns=_RECORDED.names):
                next(turns).write_batch(part.cast(_RECORDED))
    return files


def disordered(paths: list[Path], directory: Path) -> list[Path]:
    """The same in one file, in the order of a hash, a hundred thousand at a time."""
    file = directory / "events-any.parquet"
    with parquet.ParquetWriter(file, _RECORDED, compression="zstd") as writer:
        for path in paths:
            for part in parquet.ParquetFile(path).iter_batches(100_000, columns=_RECORDED.names):
                writer.write_table(pa.Table.from_batches([part]).sort_by("body_hash").cast(_RECORDED))
    return [file]


def silver(packed: DataFrame, directory: Path, islands: DataFrame | None = None) -> None:
    """As the job writes it."""
    shard.silver(packed, 4, directory / "silver", islands).collect()


# -- capture


def captured(spark: SparkSession, directory: Path, connections: int, rounds: int) -> list[Row]:
    """A pcap to silver on disk, in frames."""
    path = directory / "traffic.pcap"
    frames = capture(path, connections)
    costs = in_turns(rounds, ours=lambda: silver(sources.blocks_of(spark, [path]), directory))
    return [against_goal("pipeline.capture", frames / costs["ours"].cpu, 300_000, "frames/CPU-s", rounds)]


def capture(path: Path, connections: int) -> int:
    """An application's packets, on so many connections one after the other; how many frames they hold."""
    said = [
        event
        for part in perform("shared", 0, 8, traffic.MESSAGES)
        for event in part
        if event.kind in (METHOD, PROTOCOL)
    ]
    frames = sum(len(codec.FrameReader().feed(event.raw)) for event in said if event.kind == METHOD)
    packets.write(str(path), _segments(said, connections))
    return frames * connections


def _segments(said: list[Event], connections: int) -> Iterator[packets.Seg]:
    at = 0
    for number in range(connections):
        made: list[packets.Seg] = []
        talk = packets.Talk(made, client=(f"10.0.{number >> 8}.{number & 255}", 40000)).open()
        for event in said:
            (talk.client if event.direction == TO_BROKER else talk.broker)(event.raw)
        talk.close()
        for seg in made:
            yield packets.moved(seg, time_ns=packets.BEGIN_NS + at * packets.STEP_NS)
            at += 1


# -- streaming


def streamed(spark: SparkSession, directory: Path, events: int, batches: int) -> list[Row]:
    """Closed files of recordings, judged as they come, in so many micro-batches of the same size: with what Spark needs
    to start, and from the end of the first."""
    inbox, each = directory / "inbox", 4
    written = sum(_recorded(inbox, history) for history in traffic.plan(events, histories=batches * each))
    stream = streaming.Stream(inbox, directory / "out", directory / "checkpoint", files=each)
    ends: list[float] = []

    def act() -> None:
        streaming.start(spark, stream, lambda number: ends.append(cpu())).awaitTermination()

    used = cost(act)
    if len(ends) != batches:
        raise SystemExit(f"{len(ends)} micro-batches instead of {batches}")
    later = written * (batches - 1) / batches / (ends[-1] - ends[0])
    rates = {"goal, with its start": written / used.cpu, "goal": later}
    return [
        against_goal("pipeline.stream", rate, 50_000, "events/CPU-s", 1)._replace(peer=peer)
        for peer, rate in rates.items()
    ]


def _recorded(inbox: Path, history: traffic.History) -> int:
    """One history as a file of lines, numbered from one without a hole: what has holes waits and is not judged."""
    header = {"run": traffic.RUN, "profile": traffic.PROFILE, "broker": traffic.BROKER}
    events = (event for batch in traffic.batches(history) for event in ingest.to_events(batch))
    rows = [event._replace(seq=number) for number, event in enumerate(events, 1)]
    recording.write(inbox, header, rows, worker=history.name)
    return len(rows)
