"""`make packages`: wheel and sdist, checked, and tried in a fresh environment of each Python that is promised.

    python -m tools.release [--python 3.12 ...]

Writes build/packages.json: what was tried where. A Python that cannot be had here is named, and fails nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance import __version__
from tools.release import pythons
from tools.release.built import ROOT, Unfit, build, check, twine
from tools.release.smoke import smoke

FOLDER = ROOT / "build" / "packages"


def tried(minor: str, wheel: Path) -> dict[str, Any]:
    """What came of one Python."""
    python = pythons.find(minor)
    if python is None:
        return {"python": minor, "where": None, "passed": None}
    start = time.monotonic()
    folder = python.root / "tmp" / "packages" if python.prefix else FOLDER / minor
    try:
        steps = list(smoke(python, wheel, folder))
    except Unfit as unfit:
        return {"python": minor, "where": str(python), "passed": False, "why": str(unfit)}
    return {
        "python": minor,
        "where": str(python),
        "passed": True,
        "steps": len(steps),
        "seconds": round(time.monotonic() - start, 1),
    }


def line(row: dict[str, Any]) -> str:
    """One Python in words."""
    if row["where"] is None:
        return f"{row['python']}: cannot be had on this machine, not tried"
    if row["passed"]:
        return f"{row['python']}: installed and tried, {row['steps']} steps in {row['seconds']} s ({row['where']})"
    return f"{row['python']}: FAILED ({row['where']})\n{row['why']}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make packages", description="Wheel and sdist, tried.")
    parser.add_argument("--python", action="append", metavar="3.N", help="only this one; may repeat")
    options = parser.parse_args(arguments)
    try:
        dist = build()
        check(dist)
        twine(dist, FOLDER)
    except Unfit as unfit:
        print(unfit, file=sys.stderr)
        return 1
    print(f"{dist.sdist.name} and {dist.wheel.name}: contents and `twine check` passed", flush=True)
    rows = []
    for minor in options.python or pythons.promised():
        rows.append(tried(minor, dist.wheel))
        print(line(rows[-1]), flush=True)
    document = {"version": __version__, "wheel": dist.wheel.name, "pythons": rows}
    (ROOT / "build" / "packages.json").write_text(json.dumps(document, indent=1) + "\n")
    return int(any(row["passed"] is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
