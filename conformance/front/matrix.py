"""Many brokers, one page: the suite on real brokers, and on the reference broker in the dialect of each.

    python -m conformance.front.matrix --depth ci NAME=URL ...

OUT/NAME.json and OUT/reference-DIALECT.json are the results of one run each, OUT/index.html the page about all of
them, OUT/compare.json the rules on which a real broker and the reference broker that imitates it differ. Differences
are printed; one without an explanation makes the exit code 1, as does a closed gate.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from conformance.front.compare import Difference, compare
from conformance.front.exits import GATE_CLOSED, GATE_OPEN, HARNESS_ERROR
from conformance.results import Results, from_json
from reference_broker import ReferenceBroker
from reference_broker.dialects import DIALECTS, DOCUMENTED
from reports import html


class NoResults(Exception):
    """A run ended without results; the message says which, and where its words are."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What every run of the matrix has in common."""

    out: Path
    depth: str = "ci"
    seed: int = 0
    rules: str = "*"
    workers: int = 0
    together: int = 1

    def command(self, url: str) -> list[str]:
        words = [sys.executable, "-m", "conformance.cli", "run", url, "--format", "json", "--depth", self.depth,
                 "--seed", str(self.seed), "--rules", self.rules]
        return [*words, "-n", str(self.workers)] if self.workers else words


def examine(name: str, url: str, wishes: Wishes) -> Results:
    """One run of the suite as a process of its own."""
    log = wishes.out / f"{name}.log"
    with log.open("w", encoding="utf-8") as errors:
        run = subprocess.run(wishes.command(url), stdout=subprocess.PIPE, stderr=errors, check=False, text=True)
    if run.returncode not in (GATE_OPEN, GATE_CLOSED):
        raise NoResults(f"{name}: the run ended with exit code {run.returncode} and no verdicts; see {log}")
    (wishes.out / f"{name}.json").write_text(run.stdout, encoding="utf-8")
    results = from_json(run.stdout)
    print(f"{name}: {tally(results)}", file=sys.stderr, flush=True)
    return results


def tally(results: Results) -> str:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in results.totals.items() if count)
    return f"gate {'open' if results.gate.open else 'closed'}, {counts}, {results.seconds:.0f} s"


def imitate(dialect: str, wishes: Wishes) -> Results:
    """The same on the reference broker in this dialect."""
    with ReferenceBroker(dialect=dialect) as broker:
        return examine(reference_name(dialect), broker.url, wishes)


def reference_name(dialect: str) -> str:
    return f"reference-{dialect}"


def run(brokers: Mapping[str, str], wishes: Wishes) -> tuple[dict[str, Results], list[Difference]]:
    """All runs, `together` at a time, and the differences between each real broker and its imitation."""
    with ThreadPoolExecutor(wishes.together) as pool:
        real = dict(zip(brokers, pool.map(lambda name: examine(name, brokers[name], wishes), brokers), strict=True))
        spoken = {DOCUMENTED.name, *map(spoken_by, real.values())}
        dialects = [name for name in DIALECTS if name in spoken]
        imitated = dict(zip(dialects, pool.map(lambda name: imitate(name, wishes), dialects), strict=True))
    differences = [
        difference for name, results in real.items() if spoken_by(results) in imitated
        for difference in compare(name, results, imitated[spoken_by(results)])
    ]
    return real | {reference_name(name): results for name, results in imitated.items()}, differences


def spoken_by(results: Results) -> str:
    """The dialect that imitates this broker, whose name is the profile's; none where nobody imitates it."""
    dialect = DIALECTS.get(results.profile)
    return dialect.name if dialect is not None and dialect.product == results.broker.product else ""


def write(documents: Mapping[str, Results], differences: Sequence[Difference], out: Path) -> None:
    rows = [asdict(difference) for difference in differences]
    (out / "compare.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    runs = [json.loads((out / f"{name}.json").read_text(encoding="utf-8")) for name in documents]
    (out / "index.html").write_text(html.render_many(runs, rows), encoding="utf-8")


def tell(differences: Sequence[Difference]) -> None:
    for one in differences:
        print(f"{one.rule} on {one.broker}: {one.real}, reference broker: {one.reference}. "
              f"{one.explained or 'Not explained' + (f': {one.observed}' if one.observed else '')}")
    unexplained = sum(one.explained is None for one in differences)
    print(f"{len(differences)} differences, {unexplained} of them not explained")


def main(arguments: list[str] | None = None) -> int:
    wishes, brokers = parse(arguments)
    wishes.out.mkdir(parents=True, exist_ok=True)
    try:
        documents, differences = run(brokers, wishes)
    except NoResults as failure:
        print(failure, file=sys.stderr)
        return HARNESS_ERROR
    write(documents, differences, wishes.out)
    tell(differences)
    print(f"report: {wishes.out / 'index.html'}", file=sys.stderr)
    fine = all(results.gate.open for results in documents.values()) and all(one.explained for one in differences)
    return GATE_OPEN if fine else GATE_CLOSED


def parse(arguments: list[str] | None) -> tuple[Wishes, dict[str, str]]:
    parser = argparse.ArgumentParser(prog="python -m conformance.front.matrix", description="Many brokers, one page.")
    parser.add_argument("brokers", nargs="*", metavar="NAME=URL")
    parser.add_argument("--out", type=Path, default=Path("build/matrix"))
    parser.add_argument("--depth", default="ci")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rules", default="*", help="only these rule ids, e.g. 'ACK-*'")
    parser.add_argument("--workers", type=int, default=0, help="processes per run (default: one)")
    parser.add_argument("--together", type=int, default=2, help="runs at the same time (default: %(default)s)")
    options = parser.parse_args(arguments)
    if wrong := [pair for pair in options.brokers if "=" not in pair]:
        parser.error(f"a broker is named NAME=URL, not {wrong[0]!r}")
    wishes = Wishes(options.out, options.depth, options.seed, options.rules, options.workers, options.together)
    return wishes, dict(pair.split("=", 1) for pair in options.brokers)


if __name__ == "__main__":
    sys.exit(main())
