"""`python -m tools.offline PATH... --out DIR [--results results.json]`: Spark judges again, for the main job.

Writes the lake (`lake/`: silver, gold, verdicts and marts, see `job`), and the verdicts and marts as JSON
(`verdicts.json`, `history.json`). Given the results of the live run, the two are compared. Exit codes: 0 done, and
equal where compared; 1 they differ; 2 wrong use, unreadable input, or something is not installed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.history.recording import BadRecording
from reports import objects
from reports.lake.commits import BadLake, Lake
from reports.objects import Place, Unavailable
from reports.pipeline.inputs import Inputs, gather
from reports.pipeline.session import NotInstalled, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from reports.pipeline.verdicts import VerdictRow


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    try:
        found = gather(options.path)
        results = _results(options.results)
        started = time.monotonic()
        log = options.out / "spark.log" if isinstance(options.out, Path) else None
        with running(log, master=options.master, octets=found.octets) as spark:
            rows = _judge(spark, found, options.out, results)
    except (BadRecording, BadLake, NotInstalled, Unavailable) as problem:
        print(f"pipeline: {problem}", file=sys.stderr)
        return 2
    for torn in found.torn:
        print(f"pipeline: {torn} is torn, the run was cut short there; the line was skipped", file=sys.stderr)
    print(f"{objects.join(options.out, 'verdicts.json')}: {len(rows)} verdicts in {time.monotonic() - started:.1f} s")
    return 0 if results is None else compare(rows, results)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.offline", description="judge recordings on Spark")
    parser.add_argument("path", type=objects.place, nargs="+", help="recordings and captures: directories or files")
    parser.add_argument("--out", type=objects.place, required=True, help="where the tables go")
    parser.add_argument("--results", type=Path, help="results.json of the live run, to compare with")
    parser.add_argument("--master", default="local[*]", help="the Spark master; default: all cores of this machine")
    return parser.parse_args(arguments)


def _results(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        results: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as problem:
        raise BadRecording(f"{path}: no results.json that can be read: {problem}") from None
    return results


def _judge(spark: SparkSession, found: Inputs, out: Place, results: dict[str, Any] | None) -> list[VerdictRow]:
    """Everything from the files to the tables in `out`. What the live run knew of its broker is known here."""
    from reports.pipeline.job import Job

    job = Job(spark, Lake(objects.join(out, "lake")), tell=lambda stage, done, known: None)
    runs = job.judged(found)
    if results is not None and results["run"] in runs:
        job.excuse({results["run"]: [one["id"] for one in results["rules"] if one["verdict"] == "deviates"]})
    job.tables()
    rows = job.verdicts(runs)
    objects.write(objects.join(out, "verdicts.json"), json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    objects.write(objects.join(out, "history.json"), json.dumps(job.summary(), indent=1) + "\n")
    return rows


def compare(rows: list[VerdictRow], results: dict[str, Any]) -> int:
    """Tells whether the rows agree with the live run; the exit code."""
    from reports.pipeline.verdicts import differences

    of_run = [row for row in rows if row.run == results["run"]]
    if not of_run:
        print(f"pipeline: the recording holds no run {results['run']!r}, which the results are of", file=sys.stderr)
        return 2
    found = differences(of_run, results)
    if not found:
        print(f"The recording gives the verdicts of the live run, on all {len(results['rules'])} rules.")
        return 0
    print(f"pipeline: the recording and the live run differ on {len(found)} rules:", file=sys.stderr)
    for line in found:
        print(f"  {line}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
