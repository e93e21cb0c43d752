"""`diff --explain A B`: which brokers, which rules, and the note at the end.

Runs that were named by their results are asked for what they disagree on; of brokers that were named otherwise
everything is played.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection
from contextlib import ExitStack

from conformance.catalogue import rules
from conformance.diff.differences import TELLING, compare
from conformance.diff.differential import explain
from conformance.diff.files import hand_over
from conformance.diff.sides import Named, named, opened
from conformance.session.exits import GATE_CLOSED, GATE_OPEN, WRONG_USE, Refused
from reports.compatibility import markdown


def run(options: argparse.Namespace) -> int:
    """Raises Refused."""
    if options.format == "html":
        raise Refused(WRONG_USE, "--explain writes Markdown or JSON; give --format markdown or --format json.")
    sides = [named(options.before), named(options.after)]
    wanted = _wanted(options.rules, *sides)
    with ExitStack() as stack:
        before, after = (stack.enter_context(opened(side)) for side in sides)
        document = explain(before, after, wanted, lambda line: print(line, file=sys.stderr, flush=True))
    if options.format == "json":
        hand_over(json.dumps(document, indent=1, ensure_ascii=False) + "\n", options.out)
    else:
        hand_over(markdown(document), options.out)
    return GATE_CLOSED if document["disagreements"] or document["choices"] else GATE_OPEN


def _wanted(glob: str | None, before: Named, after: Named) -> Collection[str]:
    """The rules that are asked for."""
    if glob:
        chosen = [rule.id for rule in rules.select(glob) if rule.judged]
        if not chosen:
            raise Refused(WRONG_USE, f"No rule matches {glob!r}. Families are {', '.join(rules.FAMILIES)}.")
        return chosen
    if before.results is None or after.results is None:
        return [rule.id for rule in rules.CATALOGUE.values() if rule.judged]
    found = compare(before.results, after.results)
    tied = {rule for choice in found.choices for rule in (*choice.rules_before, *choice.rules_after)}
    return {change.rule for change in found.changes if change.kind in TELLING} | tied
