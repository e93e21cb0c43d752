"""Gold and silver of a lake to results, on Spark: what is counted, which findings are shown, and their exchanges.

A task reads the shard of the finding's history, where it lies.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from conformance.catalogue import profiles
from conformance.history.events import Event
from conformance.history.recording import Placed
from conformance.oracle.verdicts import Finding
from conformance.outcome.ledger import ExchangeStep
from conformance.trace.results import (
    LISTS,
    NUMBERS,
    Checked,
    Counts,
    FirstFinding,
    GivenOptions,
    Kind,
    assembled,
    picked,
)
from conformance.trace.slices import Cut, Wanted, sliced
from reports import objects
from reports.judging.world import Closed
from reports.pipeline import check, ingest
from reports.pipeline.job import GOLD, SILVER, Job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_DDL = "place STRING, steps STRING, packets STRING"
_ARROW = pa.schema([(name, pa.string()) for name in ("place", "steps", "packets")])


def checked(job: Job, runs: Sequence[str], told: GivenOptions) -> list[Checked]:
    """The results of these runs."""
    spoken = _spoken(job, runs)
    found = list(picked(_kinds(spoken)))
    cuts = cut(job, [wanted for wanted, _, _ in found])
    return assembled(job.headers(runs), _counts(spoken), found, cuts, told)


def _spoken(job: Job, runs: Sequence[str]) -> DataFrame:
    """Gold with the scene and queue type of its histories, where they have one."""
    from pyspark.sql import functions as f

    silver = job.table(SILVER, runs, ("run", "history", "seq", "kind", "arguments"))
    scene = (
        silver.where("kind = 'scene'")
        .groupBy("run", "history")
        .agg(
            f.min_by(f.get_json_object("arguments", "$.name"), "seq").alias("scene"),
            f.min_by(f.get_json_object("arguments", "$.queue_type"), "seq").alias("queue_type"),
        )
    )
    gold = job.table(GOLD, runs)
    return gold.join(scene, ["run", "history"], "left").fillna("", ["scene", "queue_type"])


def _counts(spoken: DataFrame) -> Counts:
    """Run, queue type, what: (rule, what was seen) to how often."""
    rows = (
        spoken.where(f"what <> '{check.FINDING}'")
        .groupBy("run", "queue_type", "what", "rule", "observed")
        .sum("times")
        .collect()
    )
    counts: dict[str, dict[str, dict[tuple[str, str | None], int]]] = {}
    for run, queue_type, what, rule, observed, times in rows:
        counts.setdefault(run, {}).setdefault(f"{queue_type}\0{what}", {})[rule, observed] = times
    return counts


def _kinds(spoken: DataFrame) -> Iterator[Kind]:
    """The first finding of each kind, and how many of the kind there are."""
    from pyspark.sql import functions as f

    first = f.min(f.struct(*FirstFinding._fields)).alias("first")
    gist = f.regexp_replace(f.regexp_replace("observed", NUMBERS, "#"), LISTS, "#")
    names = f.transform("amid", lambda told: f.substring_index(told, " ", 1))
    kinds = spoken.where(f"what = '{check.FINDING}'").groupBy(
        "run", "rule", "queue_type", "certain", gist.alias("gist"), names.alias("names"), "unless"
    )
    rows = kinds.agg(first, f.count("*").alias("seen"), f.count_distinct("history", "amid").alias("times")).collect()
    for row in rows:
        one = FirstFinding(*row["first"])
        known = one._replace(witness=one.witness or (), amid=one.amid or ())
        yield Kind(
            row["run"],
            row["rule"],
            row["queue_type"],
            row["certain"],
            row["gist"],
            row["names"] or [],
            row["unless"] or [],
            known,
            row["seen"],
            row["times"],
        )


def cut(job: Job, wanted: Sequence[Wanted]) -> list[Cut]:
    """The exchanges of these findings, in their order; empty for those that are not shown."""
    asked = {number: one for number, one in enumerate(wanted) if one.shown}
    if not asked:
        return [Cut() for _ in wanted]
    files = _files(job, asked)
    headers = job.headers({one.run for one in asked.values()})
    names = {run: str(header["profile"]) for run, header in headers.items()}
    upto = check.torn(job.shards(names)) if job.whole else {}
    tasks = [
        (
            str(number),
            json.dumps(
                {
                    "finding": asdict(one.finding),
                    "run": one.run,
                    "profile": names[one.run],
                    "path": files[number][0],
                    "island": files[number][1],
                    "upto": upto.get((one.run, one.finding.history)),
                }
            ),
        )
        for number, one in asked.items()
        if number in files
    ]
    rows = ingest.tasks(job.spark, tasks).mapInArrow(objects.carried(_cut), _DDL).collect() if tasks else []
    found = {int(row["place"]): _read(row) for row in rows}
    return [found.get(number, Cut()) for number in range(len(wanted))]


def _read(row: Mapping[str, str]) -> Cut:
    packets = {int(seq): (place[0], place[1]) for seq, place in json.loads(row["packets"]).items()}
    return Cut(tuple(ExchangeStep(**step) for step in json.loads(row["steps"])), packets)


def _files(job: Job, asked: Mapping[int, Wanted]) -> dict[int, tuple[str, str]]:
    """The shard and the island in which each finding's event is."""
    runs = sorted({one.run for one in asked.values()})
    silver = job.table(SILVER, runs, ("run", "history", "seq", "island", "shard"))
    events = job.spark.createDataFrame(
        [(number, one.run, one.finding.history, one.finding.at) for number, one in asked.items()],
        "number BIGINT, run STRING, history STRING, seq BIGINT",
    )
    paths = {(file.run, int(file.part["shard"])): job.where(file) for file in job.lake.files(SILVER, runs)}
    return {
        row["number"]: (paths[row["run"], row["shard"]], row["island"])
        for row in events.join(silver, ["run", "history", "seq"]).collect()
    }


def _cut(tasks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in tasks:
        for place, said in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            task = json.loads(said)
            asked = task["finding"]
            finding = Finding(
                **{
                    **asked,
                    "witness": tuple(asked["witness"]),
                    "where": tuple(asked["where"]),
                    "unless": tuple(asked["unless"]),
                }
            )
            got = sliced(partial(_history, task, finding), finding, profiles.load(task["profile"]))
            yield pa.RecordBatch.from_pylist(
                [
                    {
                        "place": place,
                        "steps": json.dumps([asdict(step) for step in got.steps]),
                        "packets": json.dumps(got.packets),
                    }
                ],
                schema=_ARROW,
            )


def _history(task: Mapping[str, Any], finding: Finding) -> Iterator[Placed]:
    """The events up to the finding, each with the columns that only its source knows."""
    world = Closed(task["upto"]) if task["upto"] is not None else None
    for batch in check.read(task["path"], task["run"], (*Event._fields, "extra")):
        chosen = batch.filter(
            pc.and_(
                pc.equal(batch.column("history"), finding.history),
                pc.and_(
                    pc.equal(batch.column("island"), task["island"]), pc.less_equal(batch.column("seq"), finding.at)
                ),
            )
        )
        for event, extra in zip(ingest.to_events(chosen), chosen.column("extra").to_pylist(), strict=True):
            yield from ((said, extra) for said in (world.judge_in_order(event) if world else (event,)))
