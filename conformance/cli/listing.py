"""`list [GLOB]`: the catalogue of rules, or one of its sets."""

from __future__ import annotations

import argparse
import textwrap

from conformance.catalogue import explain, rules, sets
from conformance.cli.parsing import completed, printed
from conformance.outcome.screen import line_width
from conformance.session.exits import GATE_OPEN, WRONG_USE, Refused
from conformance.session.options import LEVELS


def arguments(added: argparse.ArgumentParser) -> None:
    added.add_argument("rules", nargs="?", default="*", metavar="GLOB", help="only these ids, e.g. 'ACK-*'")
    completed(
        added.add_argument("--set", default="", metavar="NAME,...", help=f"only the rules of these sets: {_sets()}")
    )
    added.add_argument("--level", choices=LEVELS, default="may", help="lowest level to list")
    printed(added, "text, or a JSON list")


def run(options: argparse.Namespace) -> int:
    try:
        chosen = sets.select(options.set, options.rules, options.level)
    except sets.UnknownSet as unknown:
        raise Refused(WRONG_USE, f"--set: {unknown}.") from None
    if not chosen and options.set and rules.select(options.rules, options.level):
        raise Refused(WRONG_USE, f"No rule of --set {options.set} matches {options.rules!r}.")
    if not chosen:
        raise Refused(WRONG_USE, f"No rule matches {options.rules!r}. Families are {', '.join(rules.FAMILIES)}.")
    if options.format == "json":
        print(explain.as_json(chosen), end="")
    else:
        print("".join(map(_about, sets.named(options.set))) + explain.listing(chosen, line_width()), end="")
    return GATE_OPEN


def _about(one: sets.RuleSet) -> str:
    """What a set is, above its rules."""
    changes = "a draft, which may still change" if one.draft else "these rules, and no others from now on"
    head = f"{one.name} · {one.title}, {one.since}: {changes}"
    return "\n".join([head, *textwrap.wrap(one.about, explain.WIDTH)]) + "\n\n"


def _sets() -> str:
    """Which there are, in words."""
    return ", ".join(one.label for one in sets.SETS.values())
