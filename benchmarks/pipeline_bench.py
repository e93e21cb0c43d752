"""How fast the pipeline is: `python -m benchmarks.pipeline_bench`, into build/bench-pipeline.json and
docs/internals/pipeline-speed.md.

With `--events N` one large run instead: so many events generated, judged, and compared with what was planted in them.
Judged by the compiled fold where there is one (`make native`, which `make bench-pipeline` sees to), with `--plain` by
plain Python; rows of the latter say so. Goals that are missed are shown as missed; the exit code tells only whether
everything ran.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import large, relational, stages, traffic
from benchmarks.stages import Row
from conformance.oracle.monitors import Judge
from reports.judging import compiled
from reports.pipeline.session import session

RESULTS, PAGE, WORK = (
    Path("build/bench-pipeline.json"),
    Path("docs/internals/pipeline-speed.md"),
    Path("build/bench-pipeline"),
)
BEGIN, END = "<!-- figures: written by make bench-pipeline -->", "<!-- end of figures -->"
PLANTS = 6
CHECKED, SHARDED, STREAMED, BATCHES = 3, 20, 12, 3
"""Times the events of the other benches: what Spark needs to begin a job or a micro-batch is not what events cost."""
BENCHES = ("memory", "check", "peers", "shard", "capture", "stream", "growth")


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    if options.page:
        write_page(_known())
        return 0
    if options.plain:
        os.environ[compiled.PLAIN] = "1"
    if options.events:
        rows = [_row_of_large(large.run(options.events, WORK, options.cores))]
    else:
        rows = measured(options)
    if compiled.judge() is Judge:
        rows = [row._replace(name=f"{row.name}, plain") if _folds(row) else row for row in rows]
    merged = [row for row in _known() if (row["name"], row["peer"]) not in {(new.name, new.peer) for new in rows}]
    merged += [new._asdict() for new in rows]
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(merged, indent=1) + "\n", "utf-8")
    write_page(merged)
    print("\n".join(table([row._asdict() for row in rows])))
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipeline_bench", description=__doc__)
    parser.add_argument("--events", type=int, help="one large run of so many events instead of the benches")
    parser.add_argument("--size", type=int, default=200_000, help="events that the benches work on")
    parser.add_argument("--growth", type=int, default=1_000_000, help="the larger of the sizes that growth compares")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=BENCHES, default=BENCHES, help="not all benches")
    parser.add_argument("--cores", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--plain", action="store_true", help="judge by plain Python")
    parser.add_argument("--page", action="store_true", help="only write the page from the figures there are")
    return parser.parse_args(arguments)


def measured(options: argparse.Namespace) -> list[Row]:
    """All benches, in one session, one after the other."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    spark = session(WORK / "spark.log", master=f"local[{options.cores}]")
    size, rounds, cores = options.size, options.rounds, options.cores
    paths, events, planted = shards(size * CHECKED, max(2, cores))
    confirms = sum(one.rule == traffic.CONFIRM for one in planted)
    rows: list[Row] = []
    try:
        acts: dict[str, Callable[[], list[Row]]] = {
            "memory": lambda: stages.memory(spark, WORK, size),
            "check": lambda: stages.checked(spark, paths, events, cores, rounds),
            "peers": lambda: relational.compared(spark, paths, events, confirms, rounds),
            "shard": lambda: stages.sharded(spark, WORK, size * SHARDED, rounds),
            "capture": lambda: stages.captured(spark, WORK, size // 3_000, rounds),
            "stream": lambda: stages.streamed(spark, WORK, size * STREAMED, BATCHES),
            "growth": lambda: stages.growth(options.growth),
        }
        for name in options.only:
            rows += _run_and_report(name, acts[name])
    finally:
        spark.stop()
        shutil.rmtree(WORK, ignore_errors=True)
    return rows


def _run_and_report(name: str, act: Callable[[], list[Row]]) -> list[Row]:
    began = time.monotonic()
    print(f"{name} ...", end=" ", file=sys.stderr, flush=True)
    rows = act()
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return rows


def shards(events: int, number: int) -> tuple[list[Path], int, list[traffic.Planted]]:
    """So many shards of one history each."""
    paths, rows, planted = list[Path](), 0, list[traffic.Planted]()
    for at, history in enumerate(traffic.plan(events, histories=number, plants=PLANTS)):
        paths.append(WORK / f"shard-{at}.parquet")
        made, broken = traffic.write(paths[-1], [history], at)
        rows += made
        planted += broken
    return paths, rows, planted


def _folds(row: Row) -> bool:
    """Has the fold a part in this?"""
    return row.name not in {"pipeline.shard", "pipeline.capture"}


def _row_of_large(found: large.Large) -> Row:
    RESULTS.with_name("bench-pipeline-large.json").write_text(json.dumps(asdict(found), indent=1) + "\n", "utf-8")
    if not found.exact:
        raise SystemExit("what was found is not what was planted")
    rate = stages.against_goal("pipeline.check", found.events / found.cpu_seconds, 400_000, "events/CPU-s", 1)
    return rate._replace(peer=f"goal, one run of {found.events:,} events")


def _known() -> list[dict[str, Any]]:
    return list(json.loads(RESULTS.read_text("utf-8"))) if RESULTS.exists() else []


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Lines of a Markdown table."""
    lines = ["| | against | ours | theirs | unit | ratio | goal | runs |", "|---|---|---:|---:|---|---:|---:|---:|"]
    for row in rows:
        goal = ""
        if row["goal"] is not None:
            met = row["ratio"] >= row["goal"] if row["better"] == "higher" else row["ratio"] <= row["goal"]
            goal = f"{'≥' if row['better'] == 'higher' else '≤'} {row['goal']:g}{'' if met else ', missed'}"
        lines.append(
            f"| {row['name']} | {row['peer']} | {_number(row['ours'])} | {_number(row['theirs'])} | {row['unit']} | "
            f"{row['ratio']:.2f} | {goal} | {row['runs']} |"
        )
    return lines


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def write_page(rows: list[dict[str, Any]]) -> None:
    """The figures in the page, between their marks."""
    text = PAGE.read_text("utf-8") if PAGE.exists() else ""
    before, mark, rest = text.partition(BEGIN)
    if not mark:
        return
    after = rest.partition(END)[2]
    PAGE.write_text("\n".join([before + BEGIN, "", *table(rows), "", END]) + after, "utf-8")


if __name__ == "__main__":
    sys.exit(main())
