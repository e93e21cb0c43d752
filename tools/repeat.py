"""Measures whether verdicts repeat: runs the suite many times on each broker, in half of the rounds on a busy machine.

    python -m tools.repeat --runs 10 --depth ci NAME=URL ...
    python -m tools.repeat --page docs/steadiness.md [TALLY...]    the page, from the last runs or from these

A round is one run on every broker, all at once. If a rule got two verdicts on one broker, it is printed with its tally,
and the exit code is 1. Rules of level observed may vary. OUT/NAME/ROUND/ keeps the report of one run, OUT/repeat.json
the tally of all complete rounds. The tally is written after each round, so an interrupt loses only the current round.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools import steadiness

SPIN = "while True: pass"
INTERRUPTED = 130
Run = tuple[int, dict[str, Any] | None]
"""The exit code of a run, and its results if it wrote them."""


@dataclass
class Tally:
    """The verdicts of one broker over its rounds, and the exit codes of its runs."""

    name: str
    version: str = ""
    exits: Counter[int] = field(default_factory=Counter)
    verdicts: dict[str, Counter[str]] = field(default_factory=dict)
    events: int = 0

    def add(self, code: int, results: Mapping[str, Any] | None) -> None:
        self.exits[code] += 1
        if results is None:
            return
        self.version = str(results.get("broker", {}).get("name", "")) or self.version
        self.events += int(results.get("events", 0))
        for rule in results["rules"]:
            self.verdicts.setdefault(rule["id"], Counter())[rule["verdict"]] += 1

    def unsteady(self) -> dict[str, Counter[str]]:
        """The rules whose verdict changed between rounds, except rules of level observed."""
        return {rule: self.verdicts[rule] for rule in steadiness.unsteady(self.verdicts)}

    def row(self) -> dict[str, Any]:
        exits = {str(code): count for code, count in self.exits.items()}
        return {
            "broker": self.name,
            "version": self.version,
            "exits": exits,
            "events": self.events,
            "verdicts": self.verdicts,
        }

    def steady(self) -> bool:
        return not self.unsteady() and len(self.exits) == 1


@contextmanager
def crowd(busy: bool) -> Iterator[None]:
    """Keeps every core of the machine busy in the meantime."""
    count = os.cpu_count() or 1
    crowd = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(count)] if busy else []
    try:
        yield
    finally:
        for process in crowd:
            process.kill()
            process.wait()


def run_once(url: str, options: argparse.Namespace, out: Path) -> Run:
    """One run of the suite as a process of its own."""
    command = [
        sys.executable,
        "-m",
        "conformance.cli",
        "run",
        url,
        "--depth",
        options.depth,
        "--seed",
        str(options.seed),
        "--rules",
        options.rules,
    ]
    out.mkdir(parents=True, exist_ok=True)
    with (out / "log.txt").open("w") as log:
        code = subprocess.run([*command, "--report", str(out)], stdout=log, stderr=log, check=False).returncode
    results = out / "results.json"
    return code, json.loads(results.read_text()) if results.exists() else None


def rounds(options: argparse.Namespace, tallies: Sequence[Tally]) -> Iterator[dict[str, Any]]:
    """Plays round after round. Counts each one when all its runs are over, and yields how it was played."""
    brokers = dict(pair.split("=", 1) for pair in options.brokers)
    for number in range(options.runs):
        busy, begin = number % 2 == 1, time.monotonic()

        def play(tally: Tally, number: int = number) -> Run:
            return run_once(brokers[tally.name], options, options.out / tally.name / f"{number:02}")

        with crowd(busy), ThreadPoolExecutor(len(tallies)) as together:
            runs = list(together.map(play, tallies))
        for tally, (code, results) in zip(tallies, runs, strict=True):
            tally.add(code, results)
        yield {"crowded": busy, "seconds": round(time.monotonic() - begin)}


def tell(tally: Tally) -> None:
    judged = sum(1 for seen in tally.verdicts.values() if set(seen) - {"planned", "not-judgeable"})
    exits = ", ".join(f"exit {code} x{count}" for code, count in sorted(tally.exits.items()))
    print(f"{tally.name}: {tally.exits.total()} runs ({exits}), {judged} rules, {len(tally.unsteady())} unsteady")
    for rule, seen in tally.unsteady().items():
        print(f"  {rule}: " + ", ".join(f"{verdict} x{count}" for verdict, count in seen.most_common()))


def repeat(options: argparse.Namespace) -> int:
    """All rounds, or those that were complete at an interrupt."""
    tallies = [Tally(pair.split("=", 1)[0]) for pair in options.brokers]
    about = {"suite": steadiness.suite(), "depth": options.depth, "seed": options.seed, "cores": os.cpu_count()}
    done: list[dict[str, Any]] = []
    interrupted = False
    try:
        for one in rounds(options, tallies):
            done.append(one)
            document = {**about, "rounds": done, "brokers": [tally.row() for tally in tallies]}
            (options.out / "repeat.json").write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
            print(
                f"round {len(done)} of {options.runs}{', crowded' if one['crowded'] else ''}: {one['seconds']} s",
                file=sys.stderr,
                flush=True,
            )
    except KeyboardInterrupt:
        interrupted = True
        print(f"interrupted: the figures are from {len(done)} complete rounds", file=sys.stderr)
    for tally in tallies:
        tell(tally)
    if interrupted:
        return INTERRUPTED
    return 0 if all(tally.steady() for tally in tallies) else 1


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.repeat", description="Are verdicts repeatable?")
    parser.add_argument(
        "brokers", nargs="*", metavar="NAME=URL", help="the brokers; with --page, the tallies for the page"
    )
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--depth", default="ci")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rules", default="*", help="only these rule ids, e.g. 'ACK-*'")
    parser.add_argument("--out", type=Path, default=Path("build/repeat"))
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the page of the last runs; runs nothing")
    parser.add_argument("--note", default="", help="with --page: a sentence about the circumstances")
    options = parser.parse_args(arguments)
    if options.page is not None:
        tallies = [Path(name) for name in options.brokers] or [options.out / "repeat.json"]
        return steadiness.write(tallies, options.page, options.note)
    if not options.brokers:
        parser.error("name a broker, NAME=URL")
    if wrong := [pair for pair in options.brokers if "=" not in pair]:
        parser.error(f"a broker is named NAME=URL, not {wrong[0]!r}")
    return repeat(options)


if __name__ == "__main__":
    sys.exit(main())
