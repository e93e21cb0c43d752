"""`python -m reports.pipeline RECORDING --out DIR [--results results.json]`: a recording judged on Spark.

Writes `judgements.parquet` (findings, exercises and reports of every history, one folder each), `verdicts.parquet`
and `verdicts.json`. Given the results of the live run, the two are compared. Exit codes: 0 done, and equal where
compared; 1 they differ; 2 wrong use, unreadable recording, or something is not installed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reports.pipeline.session import NotInstalled, session
from reports.recording import BadRecording, Recording

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from reports.pipeline.verdicts import Row


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    try:
        recording = Recording(options.recording)
        results = _results(options.results)
        started = time.monotonic()
        spark = session(options.out / "spark.log", master=options.master)
        try:
            rows = _judge(spark, recording, options.out)
        finally:
            spark.stop()
    except (BadRecording, NotInstalled) as problem:
        print(f"pipeline: {problem}", file=sys.stderr)
        return 2
    for torn in recording.torn:
        print(f"pipeline: {torn} is torn, the run was cut short there; the line was skipped", file=sys.stderr)
    print(f"{options.out / 'verdicts.json'}: {len(rows)} verdicts in {time.monotonic() - started:.1f} s")
    return 0 if results is None else compare(rows, results)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m reports.pipeline", description="judge a recording on Spark")
    parser.add_argument("recording", type=Path, help="a recording: directory or file")
    parser.add_argument("--out", type=Path, required=True, help="where the tables go")
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


def _judge(spark: SparkSession, recording: Recording, out: Path) -> list[Row]:
    """Everything from the recording to the tables in `out`."""
    from reports.pipeline import check, ingest, verdicts

    judgements = str(out / "judgements.parquet")
    check.check(ingest.events(spark, recording), verdicts.profile_names(recording)) \
        .write.partitionBy("what").parquet(judgements, mode="overwrite")
    rows = verdicts.table(spark.read.schema(check.DDL).parquet(judgements), verdicts.headers(recording))
    verdicts.frame(spark, rows).coalesce(1).write.parquet(str(out / "verdicts.parquet"), mode="overwrite")
    text = json.dumps([asdict(row) for row in rows], indent=1) + "\n"
    (out / "verdicts.json").write_text(text, "utf-8")
    return rows


def compare(rows: list[Row], results: dict[str, Any]) -> int:
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
