"""Many brokers, one page: the suite on real brokers, and on the reference broker in the dialect of each.

    python -m tools.matrix --depth ci NAME=URL[,admin=URL] ...

OUT/NAME.json and OUT/reference-DIALECT.json are the results of one run each, OUT/mutant/broker.json those of a broker
that is wrong on purpose and must be caught, OUT/previous the results before these, OUT/index.html the page about all,
OUT/compare.json the rules on which a real broker and the reference broker that imitates it differ, OUT/gates.json each
real broker's gate with its deviations file and without. Both are printed. A closed gate makes the exit code 1, as do a
difference without an explanation, and a deviations file that makes no difference.

An imitation has the means that one has with a real broker: its clock is nobody's, and its management API offers what
RabbitMQ's does. A node with a consumer timeout of its own is imitated with the same. The dialect that imitates nobody
runs as it does without a URL, clock and settings included.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from conformance.diff.nodes import FORM, BadNode, Node
from conformance.oracle.verdicts import Verdict
from conformance.outcome.bare import excused, without_deviations
from conformance.outcome.deliver import previous, trusted
from conformance.outcome.results import Gate, Results, from_json
from conformance.session.exits import GATE_CLOSED, GATE_OPEN, HARNESS_ERROR
from reference_broker import ReferenceBroker
from reference_broker.dialects import DIALECTS, DOCUMENTED
from reports import html
from tools.compare import Difference, compare

MUTANT = "mutant/broker"
"""Where its results are, apart from those of brokers that are as they should be."""
SHOWN = "requeue.batch-reversed"
"""The wrong broker that stands in the matrix: what nack returns together comes back in reverse order."""


class NoResults(Exception):
    """A run ended without results; the message says which, and where its words are."""


@dataclass(frozen=True, slots=True)
class MatrixSettings:
    """What every run of the matrix has in common."""

    out: Path
    depth: str = "ci"
    seed: int = 0
    rules: str = "*"
    workers: int = 0
    together: int = 1
    mutant: str = ""

    def command(self, node: Node) -> list[str]:
        words = [
            sys.executable,
            "-m",
            "conformance.cli",
            "run",
            *filter(None, [node.url]),
            "--format",
            "json",
            "--depth",
            self.depth,
            "--seed",
            str(self.seed),
            "--rules",
            self.of(node),
        ]
        more = {
            "--broker-admin": node.admin,
            "--consumer-timeout": node.consumer_timeout,
            "--mutant": node.mutant,
            "-n": self.workers or None,
        }
        return [*words, *(str(word) for pair in more.items() if pair[1] is not None for word in pair)]

    def of(self, node: Node) -> str:
        """The rules for this node: what it is there for, unless others are asked for."""
        return self.rules if self.rules != "*" else node.rules or "*"


def examine(node: Node, settings: MatrixSettings) -> Results:
    """One run of the suite as a process of its own."""
    log = settings.out / f"{node.name}.log"
    with log.open("w", encoding="utf-8") as errors:
        run = subprocess.run(
            settings.command(node),
            stdout=subprocess.PIPE,
            stderr=errors,
            check=False,
            text=True,
            env=_environment(node),
        )
    if run.returncode not in (GATE_OPEN, GATE_CLOSED):
        raise NoResults(f"{node.name}: the run ended with exit code {run.returncode} and no verdicts; see {log}")
    results = from_json(run.stdout)
    previous(settings.out / f"{node.name}.json", results.run)
    (settings.out / f"{node.name}.json").write_text(run.stdout, encoding="utf-8")
    print(f"{node.name}: {tally(results)}", file=sys.stderr, flush=True)
    return results


def _environment(node: Node) -> dict[str, str]:
    """Where no URL is given none may be found either."""
    return {name: value for name, value in os.environ.items() if node.url or name != "AMQP_URL"}


def tally(results: Results) -> str:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in results.totals.items() if count)
    return f"gate {'open' if results.gate.open else 'closed'}, {counts}, {results.seconds:.0f} s"


@dataclass(frozen=True, slots=True)
class Twin:
    """What imitates a real broker: a dialect, with the consumer timeout that is in the real one's configuration."""

    dialect: str
    consumer_timeout: int | None = None
    rules: str | None = None

    @property
    def name(self) -> str:
        own = "" if self.consumer_timeout is None else f"-{self.consumer_timeout}ms"
        return f"reference-{self.dialect}{own}"


def imitate(twin: Twin, settings: MatrixSettings) -> Results:
    """The same on the reference broker in this dialect; where that imitates nobody, with clock and settings ours."""
    if twin == Twin(DOCUMENTED.name):
        return examine(Node(twin.name, ""), settings)
    with ReferenceBroker(
        dialect=twin.dialect,
        http_port=0,
        theirs_only=True,
        consumer_timeout=twin.consumer_timeout,
    ) as broker:
        return examine(Node(twin.name, broker.url, broker.admin_url, twin.consumer_timeout, twin.rules), settings)


@dataclass(frozen=True, slots=True)
class Matrix:
    """The results of all runs by name, the real brokers among them, and what differs."""

    runs: Mapping[str, Results]
    real: Sequence[str]
    differences: Sequence[Difference]
    mutant: Results | None = None
    """A broker that is wrong on purpose, examined like the others: does a gate close at all?"""

    @property
    def caught(self) -> int:
        """By how many rules it was found out."""
        return sum(rule.verdict == Verdict.BROKEN for rule in self.mutant.rules) if self.mutant else 0

    @property
    def gates(self) -> list[BothGates]:
        return [
            BothGates(name, self.runs[name].gate, without_deviations(self.runs[name]), excused(self.runs[name]))
            for name in self.real
        ]

    @property
    def fine(self) -> bool:
        return (
            all(results.gate.open for results in self.runs.values())
            and (self.mutant is None or self.caught > 0)
            and all(one.explained for one in self.differences)
            and all(both.consistent for both in self.gates)
        )


@dataclass(frozen=True, slots=True)
class BothGates:
    """A real broker's gate with its deviations file and without, and the rules that the file excuses."""

    broker: str
    with_deviations: Gate
    without_deviations: Gate
    excused: Sequence[str]

    @property
    def consistent(self) -> bool:
        """Does the file make the difference, if it excuses anything?"""
        return self.with_deviations.open and self.without_deviations.open is not bool(self.excused)

    def __str__(self) -> str:
        def told(gate: Gate) -> str:
            return "open" if gate.open else f"closed by {len(gate.reasons)}"

        return (
            f"{self.broker}: gate {told(self.with_deviations)} with its deviations file, "
            f"{told(self.without_deviations)} without (it excuses {', '.join(self.excused) or 'nothing'})"
        )


def run(nodes: Sequence[Node], settings: MatrixSettings) -> Matrix:
    """All runs, `together` at a time, and the differences between each real broker and its imitation."""
    with ThreadPoolExecutor(settings.together) as pool:
        real = list(zip(nodes, pool.map(lambda node: examine(node, settings), nodes), strict=True))
        twins = list(dict.fromkeys([Twin(DOCUMENTED.name), *(twin for pair in real if (twin := twin_of(*pair)))]))
        imitated = dict(zip(twins, pool.map(lambda twin: imitate(twin, settings), twins), strict=True))
    differences = [
        difference
        for node, results in real
        if (twin := twin_of(node, results)) is not None
        for difference in compare(node.name, results, imitated[twin])
    ]
    runs = {node.name: results for node, results in real} | {twin.name: imitated[twin] for twin in twins}
    return Matrix(runs, [node.name for node in nodes], differences, wrong(settings))


def wrong(settings: MatrixSettings) -> Results | None:
    """The broker that is wrong on purpose, held to all rules; where only some are asked for, it has no say."""
    if not settings.mutant or settings.rules != "*":
        return None
    (settings.out / MUTANT).parent.mkdir(exist_ok=True)
    return examine(Node(MUTANT, "", mutant=settings.mutant), settings)


def twin_of(node: Node, results: Results) -> Twin | None:
    dialect = spoken_by(results)
    return Twin(dialect, node.consumer_timeout, node.rules) if dialect else None


def spoken_by(results: Results) -> str:
    """The dialect that imitates this broker, whose name is the profile's; none where nobody imitates it."""
    dialect = DIALECTS.get(results.profile)
    return dialect.name if dialect is not None and dialect.product == results.broker.product else ""


def write(matrix: Matrix, out: Path) -> None:
    rows = [asdict(difference) for difference in matrix.differences]
    gates = {both.broker: asdict(both) for both in matrix.gates}
    for name, document in (("compare.json", rows), ("gates.json", list(gates.values()))):
        (out / name).write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    shown = {**matrix.runs, **({MUTANT: matrix.mutant} if matrix.mutant else {})}
    runs = [
        json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
        | {"gate_without_deviations": gates[name]["without_deviations"] if name in gates else None}
        for name in shown
    ]
    before = [previous(out / f"{name}.json", results.run) for name, results in shown.items()]
    (out / "index.html").write_text(html.render_many(runs, rows, trusted(), before), encoding="utf-8")


def tell(matrix: Matrix) -> None:
    for one in matrix.differences:
        print(
            f"{one.rule} on {one.broker}: {one.real}, reference broker: {one.reference}. "
            f"{one.explained or 'Not explained' + (f': {one.observed}' if one.observed else '')}"
        )
    unexplained = sum(one.explained is None for one in matrix.differences)
    print(f"{len(matrix.differences)} differences, {unexplained} of them not explained")
    for both in matrix.gates:
        print(both)
    if matrix.mutant is not None:
        print(f"{matrix.mutant.broker.name}: {matrix.caught} rules catch it")


def main(arguments: list[str] | None = None) -> int:
    settings, nodes = parse(arguments)
    settings.out.mkdir(parents=True, exist_ok=True)
    try:
        matrix = run(nodes, settings)
    except NoResults as failure:
        print(failure, file=sys.stderr)
        return HARNESS_ERROR
    write(matrix, settings.out)
    tell(matrix)
    print(f"report: {settings.out / 'index.html'}", file=sys.stderr)
    return GATE_OPEN if matrix.fine else GATE_CLOSED


def parse(arguments: list[str] | None) -> tuple[MatrixSettings, list[Node]]:
    parser = argparse.ArgumentParser(prog="python -m tools.matrix", description="Many brokers, one page.")
    parser.add_argument("brokers", nargs="*", metavar="NODE", help=FORM)
    parser.add_argument("--out", type=Path, default=Path("build/matrix"))
    parser.add_argument("--depth", default="ci")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rules", default="*", help="only these rule ids, e.g. 'ACK-*'")
    parser.add_argument("--workers", type=int, default=0, help="processes per run (default: one)")
    parser.add_argument("--together", type=int, default=2, help="runs at the same time (default: %(default)s)")
    parser.add_argument(
        "--mutant",
        default=SHOWN,
        metavar="NAME",
        help="a reference broker that is wrong like this, '' for none (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    settings = MatrixSettings(
        options.out,
        options.depth,
        options.seed,
        options.rules,
        options.workers,
        options.together,
        options.mutant,
    )
    try:
        return settings, [Node.parse(text) for text in options.brokers]
    except BadNode as bad:
        parser.error(str(bad))


if __name__ == "__main__":
    sys.exit(main())
