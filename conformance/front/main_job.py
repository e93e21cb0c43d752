"""The main job in one go: suite, recording, the same folds again on Spark, HTML page. `make conformance` calls this.

The suite and the pipeline run as processes of their own, so that neither's runtime is inside the other and an
interrupted run leaves whatever was recorded. The exit code is the gate's; a pipeline that contradicts the live run is
a fault of ours and exits 4.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from conformance.front.exits import HARNESS_ERROR

JUDGED = (0, 1)


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    recording, results = options.out / "recording", options.out / "results.json"
    gate = python("conformance.cli", "run", *options.url, "--depth", options.depth,
                  "--recording", recording, "--report", options.out)
    if gate not in JUDGED:
        return gate
    offline = python("reports.pipeline", recording, "--out", options.out / "pipeline", "--results", results)
    print(f"\nreport: {options.out / 'index.html'}")
    if offline == 1:
        print("The verdicts of the recording differ from the live ones: a fault of this suite.", file=sys.stderr)
        return HARNESS_ERROR
    return offline or gate


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make conformance", description="suite, recording, Spark pipeline, report")
    parser.add_argument("url", nargs="*", help="the broker; the embedded reference broker where none is given")
    parser.add_argument("--out", type=Path, default=Path("build/conformance"))
    parser.add_argument("--depth", default="ci")
    return parser.parse_args(arguments)


def python(module: str, *arguments: object) -> int:
    """Run one of our modules as a process and wait for it; an interrupt reaches it and us alike."""
    process = subprocess.Popen([sys.executable, "-m", module, *map(str, arguments)])
    try:
        return process.wait()
    except KeyboardInterrupt:
        return process.wait()


if __name__ == "__main__":
    sys.exit(main())
