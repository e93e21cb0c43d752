"""`run [URL]`: the suite on a broker, and whether its gate is open; with a preset, on the two sides of an upgrade."""

from __future__ import annotations

import argparse
import sys

from conformance.cli import parsing
from conformance.outcome.results import to_json
from conformance.outcome.screen import colored, complain, width
from conformance.outcome.terminal import summary
from conformance.session.exits import WRONG_USE, Refused
from conformance.session.options import TABLE, Options
from conformance.session.places import writable

OF_EACH = ("report", "recording", "hunt", "again", "mutant", "broker-admin", "consumer-timeout")
"""Options that the two runs of a preset cannot share."""


def arguments(added: argparse.ArgumentParser) -> None:
    examination(added)
    added.add_argument("other", nargs="?", metavar="URL", help="with --preset: the broker after the upgrade")
    added.add_argument(
        "--preset",
        choices=("rabbitmq-upgrade",),
        help="rabbitmq-upgrade URL URL: test both brokers, and "
        "write what changes for your applications into --report DIR (default: upgrade)",
    )


def examination(added: argparse.ArgumentParser, *, hunts: bool = False) -> None:
    """The words of a run, or of a hunt."""
    added.add_argument("url", nargs="?", help="amqp or amqps URL [AMQP_URL]; default: the embedded reference broker")
    for option in TABLE:
        if option.hunts and (not hunts or option.name == "hunt"):
            continue
        if option.flag:
            added.add_argument(f"--{option.name}", action="store_true", help=option.help)
        elif option.many:
            added.add_argument(f"--{option.name}", action="append", default=[], metavar="URL", help=argparse.SUPPRESS)
        else:
            parsing.completed(added.add_argument(f"--{option.name}", metavar=option.metavar, help=option.help))
    if not hunts:
        added.add_argument("-n", "--workers", metavar="N", help="run in N processes, or 'auto'")
    added.add_argument("-v", "--verbose", action="store_true", help="print the exchange of each fault")
    parsing.printed(added, "print a summary, or the results document")


def run(options: argparse.Namespace) -> int:
    if options.preset:
        return upgraded(options)
    if options.other:
        raise Refused(WRONG_USE, "One run tests one broker. To compare two, use --preset rabbitmq-upgrade URL URL.")
    return examined(options, parsing.workers(options.workers))


def examined(options: argparse.Namespace, workers: str | None, *more: str, hunts: bool = False) -> int:
    """The run that these options ask for, and what is said of it."""
    urls = [*([options.url] if options.url else []), *options.broker_url]
    Options.checked(lambda name: urls if name == "broker-url" else getattr(options, name.replace("-", "_"), None))
    from conformance.session.running import grief
    from conformance.session.running import run as run_suite

    words = [f"--amqp-broker-url={url}" for url in urls]
    for option in TABLE:
        value = getattr(options, option.name.replace("-", "_"), None)
        if value and not option.many:
            words.append(f"--amqp-{option.name}" if option.flag else f"--amqp-{option.name}={value}")
    outcome = run_suite([*words, *more], options.words, workers, hunts=hunts)
    if outcome.results is None:
        complain(grief(outcome))
    elif options.format == "json":
        print(to_json(outcome.results), end="")
    else:
        print(summary(outcome.results, color=colored(sys.stdout), width=width(), verbose=options.verbose), end="")
    for path in outcome.written:
        if path.suffix == ".html":
            print(f"{'report' if path.stem == 'index' else path.stem}: {path}", file=sys.stderr)
    if outcome.unwritten:
        complain(outcome.unwritten)
    return outcome.code


def upgraded(options: argparse.Namespace) -> int:
    """Both sides of an upgrade."""
    from conformance.diff.upgrade import OUT, UpgradeOptions, upgrade

    if not (options.url and options.other) or options.broker_url or options.mutant or options.recording:
        raise Refused(WRONG_USE, f"--preset {options.preset} takes two URLs: the old broker, then the new one.")
    if options.broker_admin or options.consumer_timeout:
        raise Refused(
            WRONG_USE,
            "Each broker needs its own: put it behind the URL, as in URL,admin=URL or URL,consumer-timeout=MS.",
        )
    said = {
        option: getattr(options, option.name.replace("-", "_"), None)
        for option in TABLE
        if not option.many and option.name not in OF_EACH
    }
    Options.checked(lambda name: next((value for option, value in said.items() if option.name == name), None), {})
    words = [
        word
        for option, value in said.items()
        if value
        for word in ([f"--{option.name}"] if option.flag else [f"--{option.name}", str(value)])
    ]
    words += ["-n", options.workers] if parsing.workers(options.workers) else []
    out = writable("report", options.report or OUT)
    code = upgrade(UpgradeOptions((options.url, options.other), out, words, options.format, colored(sys.stdout)))
    print(f"report: {out / 'index.html'}", file=sys.stderr)
    return code
