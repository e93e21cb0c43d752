"""Is the fault that a broker has the one that is named, and does its script show it? `make naming [SAMPLE=n]`.

    python -m tools.naming [--sample N] [--only GLOB] [--seed SEED] [--depth DEPTH] [--judge] [-n W]

Every mutant of the reference broker is examined by the command line, as anybody would; what breaks is grouped by its
cause (`campaigns.likeness`), and every script is played on the mutant and on the honest broker. Runs are kept,
and so is what was made of them, so an interrupted campaign carries on, and with `--judge` what was kept is grouped and
played anew without another run. The order is drawn, so what is done so far is a fair sample. The figures go to
build/naming.json, of which docs/trust.md is made.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from conformance.campaigns.journal import fingerprint
from conformance.campaigns.likeness import faults
from conformance.outcome.results import Fault, from_json
from reference_broker.mutants import MUTANTS
from tools.naming import compared, runs, scripts
from tools.naming.compared import Named
from tools.naming.scripts import Played
from tools.pages.naming import FIGURES

DONE, INTERRUPTED = 0, 130


@dataclass(frozen=True, slots=True)
class Judged:
    """What was made of the run on one mutant."""

    named: Named
    scripts: list[Played]


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    mutants, done = chosen(options.only, options.sample, options.draw), list[Judged]()
    try:
        for one in each(mutants, options):
            done.append(one)
            print(line(len(done), len(mutants), one), flush=True)
    except KeyboardInterrupt:
        print("Interrupted. What is done is kept; the same command carries on.", file=sys.stderr)
        return INTERRUPTED
    document = figures(done, options)
    if options.only == "*":
        FIGURES.parent.mkdir(exist_ok=True)
        FIGURES.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({name: of for name, of in document.items() if name not in ("naming", "scripts")}))
    for part in ("naming", "scripts"):
        print(json.dumps({name: of for name, of in document[part].items() if not isinstance(of, list)}))
    return DONE


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.naming", description="Is the right fault named?")
    parser.add_argument("--sample", type=int, metavar="N", help="only so many mutants, drawn")
    parser.add_argument("--draw", type=int, default=0, metavar="SEED", help="of the draw (default: %(default)s)")
    parser.add_argument("--only", metavar="GLOB", default="*", help="only those called so; writes no figures")
    parser.add_argument("--seed", type=int, default=0, help="of each run (default: %(default)s)")
    parser.add_argument("--depth", choices=("smoke", "ci", "deep"), default="smoke")
    parser.add_argument("--judge", action="store_true", help="make anew what is made of runs, and play none")
    parser.add_argument("-n", "--workers", type=int, default=os.cpu_count() or 1, help="so many runs at a time")
    parser.add_argument("--kept", type=Path, default=Path("build") / "naming", metavar="DIR", help="(%(default)s)")
    return parser.parse_args(arguments)


def chosen(glob: str, sample: int | None, draw: int) -> list[str]:
    """In an order that is drawn, so that the first so many are a sample."""
    names = [name for name in MUTANTS if fnmatchcase(name, glob)]
    random.Random(draw).shuffle(names)
    return names[:sample]


def each(mutants: Sequence[str], options: argparse.Namespace) -> Iterator[Judged]:
    """Runs are played so many at a time, for most of one is waiting; what is made of them is made one by one, for there
    the time counts."""
    with ThreadPoolExecutor(options.workers) as pool:
        try:
            for run in pool.map(lambda mutant: run_of(mutant, options), mutants):
                if run is not None:
                    yield judged(run, options)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def run_of(mutant: str, options: argparse.Namespace) -> runs.Kept | None:
    where = options.kept, options.depth, options.seed
    found = runs.kept(mutant, *where)
    return found if found is not None or options.judge else runs.played(mutant, *where)


def judged(run: runs.Kept, options: argparse.Namespace) -> Judged:
    """What is made of a run: kept from an earlier campaign with the same sources, or made now."""
    path = runs.path(run.mutant, options.kept, options.depth, options.seed).with_suffix(".judged.json")
    key = [run.sources, fingerprint()]
    if path.exists():
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["key"] == key:
            return _judged(run, [Fault(**fault) for fault in kept["faults"]], scripts.restored(kept["scripts"]))
    if run.results is None:
        return _judged(run, [], [])
    results = from_json(json.dumps(run.results))
    groups, played = faults(results), scripts.played(run.mutant, results)
    kept = {
        "key": key,
        "faults": [{name: getattr(one, name) for name in one.__slots__} for one in groups],
        "scripts": [scripts.plain(one) for one in played],
    }
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return _judged(run, groups, played)


def _judged(run: runs.Kept, groups: Sequence[Fault], played: Any) -> Judged:
    return Judged(compared.named(MUTANTS[run.mutant], run.results is not None, groups), list(played))


def figures(done: Sequence[Judged], options: argparse.Namespace) -> dict[str, Any]:
    return {
        "depth": options.depth,
        "seed": options.seed,
        "mutants": len(done),
        "of": len(MUTANTS),
        "naming": compared.tally([one.named for one in done]),
        "scripts": scripts.tally((one.named.mutant, one.scripts) for one in done),
    }


def line(number: int, total: int, one: Judged) -> str:
    """The progress of a campaign, one mutant a line."""
    named, wrong = one.named, [played for played in one.scripts if not played.why and not played.sound]
    parts = [
        f"{number}/{total} {named.mutant}: {named.outcome}",
        f"groups {' '.join(named.groups) or '-'}",
        *(f"{rule} falsely" for rule in named.false),
        f"as {' '.join(named.said) or '-'}",
        f"{len(one.scripts)} findings",
        *(f"{bad.case} says {bad.on_mutant}, {bad.on_honest}" for bad in wrong),
        *(f"{bad.case} has no script: {bad.why}" for bad in one.scripts if bad.why),
    ]
    return ", ".join(parts)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # nothing of ours is to outlive us
    sys.exit(main())
