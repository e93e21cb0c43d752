"""A million broken inputs, and a siege: `make fuzz`, or `python -m benchmarks.fuzz`. Ends by itself within ten minutes.

Most inputs go to the pure core, in as many processes as there are processors; some thousands go over TCP and TLS to a
broker that is under siege at the same time. Prints a tally and leaves it in build/fuzz.json. Exit code 1 if the broker
crashed, hung or leaked.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.fuzz.core import Tally, work
from benchmarks.fuzz.sockets import Report, siege

INPUTS = 1_000_000
OVER_SOCKETS = 3000
CORE_SECONDS = 360.0
SIEGE_SECONDS = 30.0
LEAK_MB = 20.0
"""What the memory of a process may move by without any leak: arenas that are only partly free again."""
OUT = Path("build/fuzz.json")
WIDTH = 40


def core(inputs: int, processes: int, seconds: float, seed: int) -> Tally:
    """So many inputs that the core refuses, shared out among processes."""
    share = -(-inputs // processes)
    jobs = [(seed * 1000 + number, share, seconds) for number in range(processes)]
    total = Tally()
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for tally in pool.starmap(work, jobs):
            total.add(tally)
    return total


def figure(outcomes: Counter[str]) -> str:
    """What the broker made of the inputs, as bars."""
    rows = outcomes.most_common(20)
    most = rows[0][1] if rows else 1
    return "\n".join(f"  {name:<28} {count:>9,} {'#' * max(1, round(WIDTH * count / most))}" for name, count in rows)


def result(tally: Tally, report: Report) -> dict[str, Any]:
    return {
        "inputs": tally.refused + report.inputs,
        "crashes": tally.crashes + report.crashes,
        "hangs": tally.hangs + report.hangs,
        "leaks_mb": round(max(tally.leaks_mb, report.leaks_mb), 1),
        "sound_after_all": tally.tried - tally.refused,
        "over_sockets": report.inputs,
        "slowest_ms": round(tally.slowest * 1000, 1),
        "peak_mb": round(report.peak_mb, 1),
        "served_ms": {"usual": round(report.usual_ms, 1), "worst": round(report.worst_ms, 1)},
        "outcomes": dict(tally.outcomes.most_common()),
    }


def tell(found: dict[str, Any], tally: Tally, report: Report, seconds: float) -> None:
    print(figure(tally.outcomes))
    for example in [*tally.examples, *report.notes]:
        print(example, file=sys.stderr)
    print(
        f"{found['inputs']:,} broken inputs in {seconds:.0f} s ({found['over_sockets']:,} of them over TCP and TLS): "
        f"{found['crashes']} crashes, {found['hangs']} hangs, {found['leaks_mb']} MB leaked; the slowest took "
        f"{found['slowest_ms']} ms"
    )
    print(
        f"under siege a well-behaved client waited {found['served_ms']['usual']} ms for a message to come round, "
        f"{found['served_ms']['worst']} ms at worst; the broker had {found['peak_mb']} MB at most"
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description="Broken inputs for the reference broker.")
    parser.add_argument("--inputs", type=int, default=INPUTS, help="to be refused by the core (default: %(default)s)")
    parser.add_argument("--over-sockets", type=int, default=OVER_SOCKETS, help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FILE", help="(default: %(default)s)")
    options = parser.parse_args(argv)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(siege(Path(folder), options.over_sockets, SIEGE_SECONDS, options.seed))
    tally = core(options.inputs, options.processes, CORE_SECONDS, options.seed)
    found = result(tally, report)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=1) + "\n")
    tell(found, tally, report, time.monotonic() - begin)
    good = not found["crashes"] and not found["hangs"] and found["leaks_mb"] <= LEAK_MB
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
