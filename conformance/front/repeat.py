"""Is a verdict repeatable? Runs the suite many times on each broker, half of the rounds on a crowded machine.

    python -m conformance.front.repeat --runs 10 --depth ci NAME=URL ...

A rule that got two different verdicts on one broker is printed with its tally and makes the exit code 1; rules that
only report (level observed) may vary. Everything is kept: OUT/NAME/ROUND/ is the report of one run, OUT/repeat.json
the tally.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance import rules

SPIN = "while True: pass"


@dataclass
class Tally:
    """The verdicts of one broker over its rounds, and the exit codes of its runs."""

    name: str
    exits: Counter[int] = field(default_factory=Counter)
    verdicts: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, code: int, results: dict[str, Any] | None) -> None:
        self.exits[code] += 1
        for rule in results["rules"] if results else ():
            self.verdicts.setdefault(rule["id"], Counter())[rule["verdict"]] += 1

    def unsteady(self) -> dict[str, Counter[str]]:
        """The rules whose verdict changed between rounds, but for those that only report."""
        return {
            rule: seen for rule, seen in self.verdicts.items()
            if len(seen) > 1 and rules.get(rule).level != "observed"
        }

    def row(self) -> dict[str, Any]:
        exits = {str(code): count for code, count in self.exits.items()}
        return {"broker": self.name, "exits": exits, "verdicts": self.verdicts}

    def steady(self) -> bool:
        return not self.unsteady() and len(self.exits) == 1


@contextmanager
def crowd(busy: bool) -> Iterator[None]:
    """Every core of the machine has something else to do meanwhile."""
    count = os.cpu_count() or 1
    crowd = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(count)] if busy else []
    try:
        yield
    finally:
        for process in crowd:
            process.kill()
            process.wait()


def run_once(url: str, options: argparse.Namespace, out: Path) -> tuple[int, dict[str, Any] | None]:
    """One run of the suite as a process of its own: its exit code, and its results where it made some."""
    command = [sys.executable, "-m", "conformance.cli", "run", url, "--depth", options.depth,
               "--seed", str(options.seed), "--rules", options.rules]
    out.mkdir(parents=True, exist_ok=True)
    with (out / "log.txt").open("w") as log:
        code = subprocess.run([*command, "--report", str(out)], stdout=log, stderr=log, check=False).returncode
    results = out / "results.json"
    return code, json.loads(results.read_text()) if results.exists() else None


def rounds(options: argparse.Namespace, tallies: Sequence[Tally]) -> None:
    brokers = dict(pair.split("=", 1) for pair in options.brokers)
    for number in range(options.runs):
        busy, begin = number % 2 == 1, time.monotonic()

        def play(tally: Tally, number: int = number) -> None:
            out = options.out / tally.name / f"{number:02}"
            tally.add(*run_once(brokers[tally.name], options, out))

        with crowd(busy), ThreadPoolExecutor(len(tallies)) as together:
            list(together.map(play, tallies))
        print(f"round {number + 1} of {options.runs}{', crowded' if busy else ''}: {time.monotonic() - begin:.0f} s",
              file=sys.stderr, flush=True)


def tell(tally: Tally) -> None:
    judged = sum(1 for seen in tally.verdicts.values() if set(seen) - {"planned", "not-judgeable"})
    exits = ", ".join(f"exit {code} x{count}" for code, count in sorted(tally.exits.items()))
    print(f"{tally.name}: {tally.exits.total()} runs ({exits}), {judged} rules, {len(tally.unsteady())} unsteady")
    for rule, seen in tally.unsteady().items():
        print(f"  {rule}: " + ", ".join(f"{verdict} x{count}" for verdict, count in seen.most_common()))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance.front.repeat", description="Are verdicts repeatable?")
    parser.add_argument("brokers", nargs="+", metavar="NAME=URL")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--depth", default="ci")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rules", default="*", help="only these rule ids, e.g. 'ACK-*'")
    parser.add_argument("--out", type=Path, default=Path("build/repeat"))
    options = parser.parse_args(arguments)
    if wrong := [pair for pair in options.brokers if "=" not in pair]:
        parser.error(f"a broker is named NAME=URL, not {wrong[0]!r}")
    tallies = [Tally(pair.split("=", 1)[0]) for pair in options.brokers]
    rounds(options, tallies)
    document = [tally.row() for tally in tallies]
    (options.out / "repeat.json").write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    for tally in tallies:
        tell(tally)
    return 0 if all(tally.steady() for tally in tallies) else 1


if __name__ == "__main__":
    sys.exit(main())
