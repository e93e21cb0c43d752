"""What the suite says of one mutant, as anybody would ask it: `run --mutant NAME --report DIR`, killed at its bound.

Of the results only what is broken is kept, and no frames: what groups and scripts are made of.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.campaigns.journal import fingerprint

ROOT = Path(__file__).resolve().parents[2]
BOUND = 300.0
"""Seconds of a run."""
JUDGED = (0, 1)
"""Exit codes of a run that came to its end."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A run on one mutant. `results` is None where it did not come to its end."""

    mutant: str
    sources: str
    exit: int | None
    seconds: float
    results: dict[str, Any] | None


def kept(mutant: str, folder: Path, depth: str, seed: int) -> Kept | None:
    """What an earlier campaign has kept."""
    place = path(mutant, folder, depth, seed)
    return Kept(**json.loads(place.read_text(encoding="utf-8"))) if place.exists() else None


def played(mutant: str, folder: Path, depth: str, seed: int) -> Kept:
    """Played now, and kept before this returns."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="naming-") as report:
        code, out = _run([mutant, "--depth", depth, "--seed", str(seed), "--report", report])
    results = _read(out) if code in JUDGED else None
    made = Kept(mutant, fingerprint(), code, round(time.monotonic() - begin, 1), results)
    place = path(mutant, folder, depth, seed)
    place.parent.mkdir(parents=True, exist_ok=True)
    unfinished = place.with_suffix(".part")
    unfinished.write_text(json.dumps({name: getattr(made, name) for name in made.__slots__}) + "\n", encoding="utf-8")
    unfinished.replace(place)
    return made


def path(mutant: str, folder: Path, depth: str, seed: int) -> Path:
    return folder / f"{depth}-{seed}" / f"{mutant}.json"


def _run(arguments: list[str]) -> tuple[int | None, str]:
    """Exit code (None: it was killed) and what it printed."""
    command = [sys.executable, "-m", "conformance.cli", "run", "--format", "json", "--time-limit", "4", "--mutant"]
    process = subprocess.Popen(
        [*command, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )
    try:
        out, _ = process.communicate(timeout=BOUND)
    except BaseException as end:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if not isinstance(end, subprocess.TimeoutExpired):
            raise
        return None, ""
    return process.returncode, out


def _read(out: str) -> dict[str, Any] | None:
    try:
        results = json.loads(out)
    except ValueError:
        return None
    results["rules"] = [rule for rule in results["rules"] if rule["cases"]]
    for rule in results["rules"]:
        for case in rule["cases"]:
            case["steps"] = []
    return results if isinstance(results, dict) else None
