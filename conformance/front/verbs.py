"""The words of verbs that take more than a few: options here, what they do elsewhere. Imports nothing heavy."""

from __future__ import annotations

import argparse
from pathlib import Path

FORMATS = ("text", "json", "markdown", "html")
CODES = "exit codes: 0 nothing differs, 1 something does, 2 a file or an option is wrong"


def diff(added: argparse.ArgumentParser) -> None:
    """The options of `diff`."""
    added.epilog = CODES
    added.add_argument("before", metavar="A", help="results.json of a run, or the directory that holds it")
    added.add_argument("after", metavar="B", help="the same of the other run")
    added.add_argument("--format", choices=FORMATS, default="text", help="default: %(default)s")
    added.add_argument("--out", type=Path, metavar="FILE", help="write it there (default: print it)")


def run_diff(options: argparse.Namespace) -> int:
    from conformance.front.diff import run

    return run(options)
