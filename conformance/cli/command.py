"""`amqp-conformance`: one module a verb, which says what its words are and what it does.

Only the module of the verb that is asked for is loaded. Data goes to stdout, progress and complaints to stderr.
Whatever is wrong is one paragraph and a documented exit code, never a traceback: 0 gate open, 1 gate closed, 2 wrong
use, 3 broker unreachable, 4 harness error, 130 interrupted. So `main` catches every exception that nobody expected: it
is our own fault, and Python would end with 1, which blames the broker.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

from conformance import __version__
from conformance.cli.parsing import Parser
from conformance.outcome.screen import complain
from conformance.session.exits import GATE_OPEN, HARNESS_ERROR, INTERRUPTED, MEANING, WRONG_USE, Refused

VERBS = {
    "run": "test a broker, and say whether it passes the gate",
    "hunt": "test a broker, then keep looking for faults with new seeds and growing sizes, until the time is over",
    "doctor": "say which features a broker offers, or why it cannot be used",
    "list": "list all rules",
    "explain": "explain one rule: its source, what it leaves open, how real brokers behave",
    "replay": "replay the exchange of a case on a broker: FIXED, STILL BROKEN or INCONCLUSIVE",
    "baseline": "write or update a deviations file from the results of runs",
    "diff": "compare two runs, or two brokers, as release notes",
    "broker": "start the reference broker, until interrupted",
    "report": "make the report again from results.json, or one page from several",
    "schema": "print the JSON Schema of a file that the suite writes or reads",
    "trace": "record traffic, and judge recordings and captures",
    "mutants": "list the wrong brokers, or measure which of them the suite finds",
    "clients": "find out what client libraries show to applications, and what they hide, rule by rule",
    "demo": "test a broker that is wrong on purpose, and open the report",
    "watch": "test a broker every few minutes, and keep a page about all rounds",
}
MODULES = {"list": "listing"}
"""Where it is not called like its verb."""
FULL = (errno.ENOSPC, errno.EDQUOT)


def entry() -> NoReturn:
    """The console script."""
    sys.exit(main())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _run(words)
        sys.stdout.flush()
        return code
    except Refused as refused:
        complain(refused.message)
        return refused.code
    except KeyboardInterrupt:
        complain("Interrupted.")
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return GATE_OPEN
    except Exception as fault:
        return _failed(fault)


def _run(words: list[str]) -> int:
    if "_ARGCOMPLETE" in os.environ:
        with suppress(ImportError):
            import_module("argcomplete").autocomplete(parser())
    options = parser(next((word for word in words if not word.startswith("-")), "")).parse_args(words)
    options.words = ["amqp-conformance", *words]
    code: int = options.verb(options)
    return code


def _failed(fault: Exception) -> int:
    """What went wrong that nobody expected, in a paragraph."""
    if isinstance(fault, OSError) and fault.errno in FULL:
        complain(f"The disk is full: {fault.filename or 'what was to be kept'} could not be written.")
        return WRONG_USE
    at = fault.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = f" at {at.tb_frame.f_code.co_filename}:{at.tb_lineno}" if at else ""
    complain(f"The suite itself failed, not the broker: {type(fault).__name__}: {fault}{where}. Please report it.")
    return HARNESS_ERROR


def parser(verb: str | None = None) -> argparse.ArgumentParser:
    """Of all verbs, with the words of this one, or of every one."""
    codes = "\n".join(f"  {code:<4}{meaning}" for code, meaning in MEANING.items())
    top = Parser(
        prog="amqp-conformance",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Tests AMQP 0-9-1 brokers rule by rule, and shows the evidence.",
        epilog=f"exit codes:\n{codes}",
    )
    top.add_argument("--version", action="version", version=f"amqp-conformance {__version__}")
    verbs = top.add_subparsers(required=True, metavar="VERB", parser_class=Parser)
    for name, about in VERBS.items():
        description = f"{about[:1].upper()}{about[1:]}{'' if about.endswith('?') else '.'}"
        if name == "broker":  # its words are those of the broker's own command, its help included
            added = verbs.add_parser(name, help=about, prefix_chars="\0", add_help=False)
        else:
            added = verbs.add_parser(name, help=about, description=description)
        if verb in (None, name):
            module = import_module(f"conformance.cli.{MODULES.get(name, name)}")
            module.arguments(added)
            added.set_defaults(verb=module.run)
    return top
