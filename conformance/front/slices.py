"""Findings to the exchanges that show them, cut out of silver where it lies: a task for each finding.

A task reads the shard of the finding's history. What a short history has is sliced as it is in a live run. Of a long
one (a capture has millions of events) only what the finding may rest on is kept before that: the channels and the
messages of its witnesses, and how connections, channels, queues and consumers came to be. Slicing judges what it keeps,
so what comes out still contradicts the rule; where it does not, the events around the finding are shown as they were.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from conformance import profiles
from conformance.events import HEARTBEAT, Event
from conformance.ledger import Step
from conformance.verdicts import Finding
from reports.pipeline import check, ingest, shard
from reports.pipeline.job import SILVER, Job
from reports.pipeline.world import Closed

Placed = tuple[Event, str | None]
LONG = 20_000
_DDL = "place STRING, steps STRING, packets STRING"
_ARROW = pa.schema([(name, pa.string()) for name in ("place", "steps", "packets")])
_MAKE = frozenset({
    "channel.open", "channel.open-ok", "confirm.select", "confirm.select-ok", "tx.select", "tx.select-ok", "basic.qos",
    "basic.qos-ok", "basic.consume", "basic.consume-ok", "basic.cancel", "basic.cancel-ok", "queue.declare",
    "queue.declare-ok", "queue.bind", "queue.bind-ok", "exchange.declare", "exchange.declare-ok",
})


@dataclass(frozen=True, slots=True)
class Wanted:
    """A finding of which the exchange is asked for, if it is `shown`."""

    run: str
    finding: Finding
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Cut:
    """The exchange, and for a capture where its events are: seq to (file, number of the packet)."""

    steps: tuple[Step, ...] = ()
    packets: Mapping[int, tuple[str, int]] = field(default_factory=dict)


def cut(job: Job, wanted: Sequence[Wanted]) -> list[Cut]:
    """The exchanges of these findings, in their order; empty for those that are not shown."""
    asked = {number: one for number, one in enumerate(wanted) if one.shown}
    if not asked:
        return [Cut() for _ in wanted]
    files = _files(job, asked)
    names = {run: str(job.header(run)["profile"]) for run in {one.run for one in asked.values()}}
    upto = check.torn(job.shards(names)) if job.whole else {}
    tasks = [
        (str(number), json.dumps({"finding": asdict(one.finding), "run": one.run, "profile": names[one.run],
                                  "path": files[number][0], "island": files[number][1],
                                  "upto": upto.get((one.run, one.finding.history))}))
        for number, one in asked.items() if number in files
    ]
    rows = ingest.tasks(job.spark, tasks).mapInArrow(_cut, _DDL).collect() if tasks else []
    found = {int(row["place"]): _read(row) for row in rows}
    return [found.get(number, Cut()) for number in range(len(wanted))]


def _read(row: Mapping[str, str]) -> Cut:
    packets = {int(seq): (place[0], place[1]) for seq, place in json.loads(row["packets"]).items()}
    return Cut(tuple(Step(**step) for step in json.loads(row["steps"])), packets)


def _files(job: Job, asked: Mapping[int, Wanted]) -> dict[int, tuple[str, str]]:
    """The shard and the island in which each finding's event is."""
    runs = sorted({one.run for one in asked.values()})
    silver = job.table(SILVER, shard.DDL, runs).select("run", "history", "seq", "island", "shard")
    events = job.spark.createDataFrame(
        [(number, one.run, one.finding.history, one.finding.at) for number, one in asked.items()],
        "number BIGINT, run STRING, history STRING, seq BIGINT",
    )
    entries = job.lake.entries(SILVER)
    paths = {
        (run, int(part.removeprefix("shard="))): str(job.lake.root / file.path)
        for run in runs for file in entries[run].files for part in file.path.split("/") if part.startswith("shard=")
    }
    return {
        row["number"]: (paths[row["run"], row["shard"]], row["island"])
        for row in events.join(silver, ["run", "history", "seq"]).collect()
    }


def _cut(tasks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from conformance.front.checks import exchange

    for batch in tasks:
        for place, said in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            task = json.loads(said)
            asked = task["finding"]
            finding = Finding(**{
                **asked, "witness": tuple(asked["witness"]), "where": tuple(asked["where"]),
                "unless": tuple(asked["unless"]),
            })
            events, packets = _events(task, finding)
            steps = exchange(events, finding, profiles.load(task["profile"]))
            kept = {step.seq: packets[step.seq] for step in steps if step.seq in packets}
            yield pa.RecordBatch.from_pylist([{
                "place": place, "steps": json.dumps([asdict(step) for step in steps]), "packets": json.dumps(kept),
            }], schema=_ARROW)


def _events(task: Mapping[str, Any], finding: Finding) -> tuple[list[Event], dict[int, tuple[str, int]]]:
    """The history up to the finding, or what matters of it; and where its events are in a capture."""
    placed = list(islice(_history(task, finding), LONG + 1))
    if len(placed) > LONG:
        matter = _Matter.of((event for event, _ in _history(task, finding)), finding)
        placed = matter.kept(_history(task, finding))
    packets = {
        event.seq: (said["file"], said["packet"]) for event, extra in placed if extra
        for said in [json.loads(extra)] if "packet" in said
    }
    return [event for event, _ in placed], packets


def _history(task: Mapping[str, Any], finding: Finding) -> Iterator[Placed]:
    """The events up to the finding, each with the columns that only its source knows."""
    world = Closed(task["upto"]) if task["upto"] is not None else None
    for batch in check.read(task["path"], task["run"], (*Event._fields, "extra")):
        chosen = batch.filter(pc.and_(
            pc.equal(batch.column("history"), finding.history),
            pc.and_(pc.equal(batch.column("island"), task["island"]), pc.less_equal(batch.column("seq"), finding.at)),
        ))
        for event, extra in zip(ingest.to_events(chosen), chosen.column("extra").to_pylist(), strict=True):
            yield from ((said, extra) for said in (world.said(event) if world else (event,)))


@dataclass(frozen=True, slots=True)
class _Matter:
    """What a finding may rest on: channels and messages of its witnesses."""

    channels: frozenset[tuple[str, int]]
    messages: frozenset[str]

    @classmethod
    def of(cls, events: Iterable[Event], finding: Finding) -> _Matter:
        witness = [event for event in events if event.seq in (finding.at, *finding.witness)]
        return cls(frozenset((event.connection, event.channel) for event in witness),
                   frozenset(event.message for event in witness if event.message))

    def kept(self, placed: Iterable[Placed]) -> list[Placed]:
        """All that brought things into being, and the last LONG of the rest that may matter."""
        made: list[Placed] = []
        rest: deque[Placed] = deque(maxlen=LONG)
        for one in placed:
            if one[0].method in _MAKE or (not one[0].channel and one[0].kind != HEARTBEAT):
                made.append(one)
            elif (one[0].connection, one[0].channel) in self.channels or one[0].message in self.messages:
                rest.append(one)
        return sorted([*made, *rest], key=lambda one: one[0].seq)
