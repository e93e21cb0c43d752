"""The verb `explain RULE [RESULTS]`: prints a rule in words, and draws an exchange that breaks it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from conformance.catalogue import explain, rules
from conformance.cli.parsing import completed, printed
from conformance.outcome.screen import colored, complain, width
from conformance.session.exits import GATE_OPEN, WRONG_USE, Refused


def arguments(added: argparse.ArgumentParser) -> None:
    completed(added.add_argument("rule", help="a rule id, e.g. ACK-010"))
    added.add_argument(
        "results",
        nargs="?",
        type=Path,
        metavar="RESULTS",
        help="draw the exchange that broke the rule in this run: "
        "results.json, or its directory (default: play one on a broker that is wrong on purpose)",
    )
    added.add_argument("--no-exchange", action="store_true", help="do not play and draw an exchange")
    printed(added, "text, or one JSON object")


def run(options: argparse.Namespace) -> int:
    try:
        rule = rules.get(options.rule)
    except rules.UnknownRule as unknown:
        raise Refused(WRONG_USE, f"{str(unknown)[:1].upper()}{str(unknown)[1:]}. See: amqp-conformance list.") from None
    if options.format == "json":
        print(explain.explain_json(rule), end="")
        return GATE_OPEN
    print(explain.explain(rule, width()), end="", flush=True)
    if not options.no_exchange:
        _draw(rule.id, options.results)
    return GATE_OPEN


def _draw(rule: str, results: Path | None) -> None:
    """How the rule is broken, where that can be shown."""
    from conformance.cli.explain import example
    from conformance.diff.files import results_in

    found = example.seen(results_in(results), rule) if results else example.played(rule)
    if found is not None:
        print(f"\n{example.format_example(found, width(), color=colored(sys.stdout))}", end="")
    elif results:
        complain(f"{results} holds no exchange that breaks {rule}.")
