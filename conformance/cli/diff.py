"""`diff A.json B.json`: what two runs disagree on, for somebody who moves from the one broker to the other.

The exit code is that of a comparison: 0 where no rule and no reading differs, 1 where one does, 2 where there is
nothing to compare. What one run was too weak to say, and what was merely seen otherwise where the texts leave it open,
is told and does not count.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from conformance.diff.differences import compare
from conformance.diff.files import formatted, hand_over, results_in
from conformance.outcome.screen import colored
from conformance.session.exits import GATE_CLOSED, GATE_OPEN, WRONG_USE, Refused
from conformance.session.places import local

FORMATS = ("text", "json", "markdown", "html")
CODES = (
    "exit codes: 0 nothing differs, 1 something differs, 2 a file or an option is wrong, 3 a broker cannot be reached"
)


def arguments(added: argparse.ArgumentParser) -> None:
    added.epilog = CODES
    added.add_argument(
        "before",
        metavar="A",
        help="results.json of a run, or the directory that holds it; with "
        "--explain also the URL of a broker, or DIALECT[+MUTANT] of the reference broker",
    )
    added.add_argument("after", metavar="B", help="the other run or broker, in the same way")
    added.add_argument(
        "--explain",
        action="store_true",
        help="play the suite on both brokers, and write a "
        "compatibility note with the shortest exchange for each difference",
    )
    added.add_argument("--rules", metavar="GLOB", help="with --explain: only these rule ids, e.g. 'ACK-*'")
    added.add_argument(
        "--format", choices=FORMATS, default="text", help="default: %(default)s; with --explain text is Markdown"
    )
    added.add_argument("--out", type=local, metavar="FILE", help="write to this file (default: print)")


def run(options: argparse.Namespace) -> int:
    """Compares two runs, or explains how two brokers differ. Raises Refused."""
    if options.explain:
        from conformance.diff.explain import run as explain

        return explain(options)
    if options.rules:
        raise Refused(WRONG_USE, "--rules needs --explain: two runs are compared in all their rules.")
    found = compare(results_in(Path(options.before)), results_in(Path(options.after)))
    document = json.loads(json.dumps(found.plain()))
    color = options.out is None and colored(sys.stdout)
    hand_over(formatted(document, options.format, color=color), options.out)
    return GATE_OPEN if found.same else GATE_CLOSED
