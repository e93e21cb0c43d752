"""`list [GLOB]`: the catalogue of rules."""

from __future__ import annotations

import argparse

from conformance.catalogue import explain, rules
from conformance.cli.parsing import printed
from conformance.session.exits import GATE_OPEN, WRONG_USE, Refused
from conformance.session.options import LEVELS


def arguments(added: argparse.ArgumentParser) -> None:
    added.add_argument("rules", nargs="?", default="*", metavar="GLOB", help="only these ids, e.g. 'ACK-*'")
    added.add_argument("--level", choices=LEVELS, default="may", help="lowest level to list")
    printed(added, "text, or a JSON list")


def run(options: argparse.Namespace) -> int:
    chosen = rules.select(options.rules, options.level)
    if not chosen:
        raise Refused(WRONG_USE, f"No rule matches {options.rules!r}. Families are {', '.join(rules.FAMILIES)}.")
    print(explain.as_json(chosen) if options.format == "json" else explain.listing(chosen), end="")
    return GATE_OPEN
