"""The words of verbs that take more than a few: options here, what they do elsewhere. Imports nothing heavy."""

from __future__ import annotations

import argparse
from pathlib import Path

FORMATS = ("text", "json", "markdown", "html")
CODES = "exit codes: 0 nothing differs, 1 something does, 2 a file or an option is wrong, 3 a broker is unreachable"


def diff(added: argparse.ArgumentParser) -> None:
    """The options of `diff`."""
    added.epilog = CODES
    added.add_argument("before", metavar="A", help="results.json of a run, or the directory that holds it; with "
                       "--explain also the URL of a broker, or DIALECT[+MUTANT] of the reference broker")
    added.add_argument("after", metavar="B", help="the same of the other run")
    added.add_argument("--explain", action="store_true", help="play on both brokers, and write down the shortest "
                       "exchange for each disagreement, as a compatibility note")
    added.add_argument("--rules", metavar="GLOB", help="with --explain: only these rule ids, e.g. 'ACK-*'")
    added.add_argument("--format", choices=FORMATS, default="text", help="default: %(default)s; with --explain text is "
                       "Markdown")
    added.add_argument("--out", type=Path, metavar="FILE", help="write it there (default: print it)")


def run_diff(options: argparse.Namespace) -> int:
    from conformance.front.diff import run

    return run(options)


def baseline(added: argparse.ArgumentParser) -> None:
    """The options of `baseline`."""
    added.epilog = "exit codes: 0 done, or nothing to do; 1 with --dry-run: the file would change; 2 wrong use"
    added.add_argument("results", nargs="+", type=Path, metavar="RESULTS",
                       help="results.json of one or more runs on one broker, or the directories that hold them")
    added.add_argument("--deviations", type=Path, default=Path("deviations.toml"), metavar="FILE",
                       help="the file to write or to edit (default: %(default)s)")
    added.add_argument("--owner", metavar="NAME", help="who answers for new entries (default: you)")
    added.add_argument("--expires", metavar="DATE", help="when new entries expire; renews those that have")
    added.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")


def run_baseline(options: argparse.Namespace) -> int:
    from conformance.front.baseline import run

    return run(options)
