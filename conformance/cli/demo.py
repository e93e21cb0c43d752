"""`amqp-conformance demo`: a broker that is wrong on purpose, examined, and the report of it opened."""

from __future__ import annotations

import argparse
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.session.exits import GATE_CLOSED, GATE_OPEN, HARNESS_ERROR, Refused
from conformance.session.places import local
from conformance.session.running import grief
from conformance.session.running import run as run_suite


def arguments(added: argparse.ArgumentParser) -> None:
    added.add_argument("--mutant", default="settle.crosses-channels", metavar="NAME", help="default: %(default)s")
    added.add_argument("--rules", default="ACK-*,MODE-*,TAG-*", metavar="GLOB", help="default: %(default)s")
    added.add_argument("--out", type=local, default=Path("demo"), metavar="DIR", help="default: %(default)s")
    added.add_argument("--no-open", action="store_true", help="make the report, print where it is, and do not open it")


def run(options: argparse.Namespace) -> int:
    return show(DemoOptions(options.mutant, options.rules, options.out, not options.no_open, options.words))


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What the user asked for."""

    mutant: str
    rules: str
    out: Path
    opened: bool
    words: Sequence[str]


def show(wanted: DemoOptions) -> int:
    """The exit code: 0 where the broker was found wrong, as it must be."""
    print(f"Testing a broker that is wrong on purpose ({wanted.mutant}) ...", file=sys.stderr)
    outcome = run_suite(
        [
            f"--amqp-mutant={wanted.mutant}",
            f"--amqp-rules={wanted.rules}",
            "--amqp-depth=smoke",
            f"--amqp-report={wanted.out}",
        ],
        wanted.words,
    )
    if outcome.results is None:
        raise Refused(outcome.code, grief(outcome))
    if outcome.unwritten:
        raise Refused(outcome.code, outcome.unwritten)
    page = next(path for path in outcome.written if path.name == "index.html")
    print(page)
    if wanted.opened:
        webbrowser.open(page.absolute().as_uri())
    if outcome.code == GATE_OPEN:
        raise Refused(HARNESS_ERROR, f"The rules {wanted.rules} found nothing wrong with {wanted.mutant}.")
    return GATE_OPEN if outcome.code == GATE_CLOSED else outcome.code
