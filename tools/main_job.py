"""The main job in one go: suite, recording, the same folds again on Spark, HTML page. `make conformance` calls this.

The suite and the pipeline run as processes of their own, so that neither's runtime is inside the other and an
interrupted run leaves whatever was recorded. The exit code is the gate's; a pipeline that contradicts the live run is
a fault of ours and exits 4. What an earlier run left is removed, but for its results, with which the page compares.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

from conformance.outcome.deliver import PREVIOUS, previous
from conformance.session.exits import HARNESS_ERROR
from reports.html import history

JUDGED = (0, 1)


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    cleared(options.out)
    recording, results = options.out / "recording", options.out / "results.json"
    gate = python(
        "conformance.cli",
        "run",
        *options.url,
        "--depth",
        options.depth,
        "--recording",
        recording,
        "--report",
        options.out,
    )
    if gate not in JUDGED:
        return gate
    offline = python("tools.offline", recording, "--out", options.out / "pipeline", "--results", results)
    if (history_page := historic(options.out)) is not None:
        print(f"history: {history_page}")
    print(f"\nreport: {options.out / 'index.html'}")
    if offline == 1:
        print("The verdicts of the recording differ from the live ones. This is a fault of the suite.", file=sys.stderr)
        return HARNESS_ERROR
    return offline or gate


def cleared(out: Path) -> None:
    """Nothing of an earlier run is there any more, but for its results in `previous/`."""
    kept = previous(out / "results.json", "")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True, exist_ok=True)
    if kept is not None:
        place = out / PREVIOUS / "results.json"
        place.parent.mkdir()
        place.write_text(json.dumps(kept), encoding="utf-8")


def historic(out: Path) -> Path | None:
    """The page of times and verdicts over the runs of the lake, made of what the pipeline left."""
    summary, page = out / "pipeline" / "history.json", out / "history.html"
    if not summary.exists():
        return None
    page.write_text(history.render(json.loads(summary.read_text(encoding="utf-8"))), encoding="utf-8")
    return page


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
