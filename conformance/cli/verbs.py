"""The words of verbs that take more than a few: options here, what they do elsewhere. Imports nothing heavy."""

from __future__ import annotations

import argparse
from pathlib import Path

from conformance.session.exits import WRONG_USE, Refused
from conformance.session.options import DEPTHS, Options
from conformance.session.places import local, writable
from conformance.trace.elsewhere import anywhere, readable, usable
from reports import objects

FORMATS = ("text", "json", "markdown", "html")
LIGHT = "TAG-*,MODE-*,ACK-*,RQ-00*,CNF-00*,QOS-00*"
"""What most applications lean on: what `watch` looks at."""
EVERY = 15.0
"""Minutes."""
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
    added.add_argument("--out", type=local, metavar="FILE", help="write it there (default: print it)")


def run_diff(options: argparse.Namespace) -> int:
    from conformance.diff.compare import run

    return run(options)


def watch(added: argparse.ArgumentParser) -> None:
    """The options of `watch`."""
    added.epilog = ("exit codes: 130 interrupted, which is how it usually ends; with --rounds: 0 all gates were open, "
                    "1 one was closed, 3 the broker was not there; 2 wrong use")
    added.add_argument("url", help="amqp or amqps URL")
    added.add_argument("--every", type=float, default=EVERY, metavar="MIN", help="minutes from one round's beginning "
                       "to the next (default: %(default)g)")
    added.add_argument("--rounds", type=int, default=0, metavar="N", help="end after so many (default: never)")
    added.add_argument("--rules", default=LIGHT, metavar="GLOB", help="what is looked at (default: %(default)s)")
    added.add_argument("--depth", choices=DEPTHS, default="smoke", help="how much is played (default: %(default)s)")
    added.add_argument("--out", type=local, default=Path("watch"), metavar="DIR", help="history page, rounds, report "
                       "of the last one; may be used again (default: %(default)s)")
    for name, metavar, about in (("broker-admin", "URL", "RabbitMQ-style management API"),
                                 ("profile", "NAME|FILE", "what the broker is held to (default: detected)"),
                                 ("deviations", "NAME|FILE", "known deviations (default: the profile's own)"),
                                 ("seed", "N", "of what is generated, the same in each round (default: 0)")):
        added.add_argument(f"--{name}", metavar=metavar, help=about)
    printed(added, "a line for each round, as text or as JSON")


def run_watch_broker(options: argparse.Namespace) -> int:
    from conformance.cli.watch import Wishes, watch

    if not options.every >= 0 or options.rounds < 0:
        raise Refused(WRONG_USE, "--every and --rounds take numbers of at least 0.")
    said = {name: getattr(options, name.replace("-", "_")) for name in
            ("depth", "broker-admin", "profile", "deviations", "seed")}
    Options.checked(lambda name: [options.url] if name == "broker-url" else {**said, "rules": options.rules}.get(name))
    words = [word for name, value in said.items() if value is not None for word in (f"--{name}", str(value))]
    out = writable("out", options.out)
    return watch(Wishes(options.url, out, options.every, options.rounds, options.rules, words, options.format))


def baseline(added: argparse.ArgumentParser) -> None:
    """The options of `baseline`."""
    added.epilog = "exit codes: 0 done, or nothing to do; 1 with --dry-run: the file would change; 2 wrong use"
    added.add_argument("results", nargs="+", type=Path, metavar="RESULTS",
                       help="results.json of one or more runs on one broker, or the directories that hold them")
    added.add_argument("--deviations", type=local, default=Path("deviations.toml"), metavar="FILE",
                       help="the file to write or to edit (default: %(default)s)")
    added.add_argument("--owner", metavar="NAME", help="who answers for new entries (default: you)")
    added.add_argument("--expires", metavar="DATE", help="when new entries expire; renews those that have")
    added.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")


def run_baseline(options: argparse.Namespace) -> int:
    from conformance.cli.baseline import run

    return run(options)


def clients(added: argparse.ArgumentParser) -> None:
    """The options of `clients`."""
    added.epilog = ("exit codes: 0 done; 1 on the wire the broker broke a MUST outside its known deviations; 2 wrong "
                    "use; 3 the broker is unreachable")
    added.add_argument("url", nargs="?", help="amqp or amqps URL; default: the embedded reference broker")
    added.add_argument("--library", action="append", default=[], metavar="NAME", dest="libraries",
                       help="pika-select, pika-blocking or py-amqp; may repeat (default: all)")
    added.add_argument("--adapter", action="append", default=[], metavar="COMMAND", dest="adapters",
                       help="a library of your own, by an adapter (docs/test-a-client.md); may repeat")
    added.add_argument("--rules", default="*", metavar="GLOB", help="only the scenes of these rules, e.g. 'CNF-*'")
    added.add_argument("--depth", choices=DEPTHS, default="smoke", help="how much is played (default: %(default)s)")
    added.add_argument("--broker-admin", metavar="URL", help="RabbitMQ-style management API; unlocks policies")
    added.add_argument("--profile", metavar="NAME", help="what the broker is held to (default: detected)")
    added.add_argument("--deviations", metavar="FILE", help="known deviations (default: the profile's own)")
    added.add_argument("--out", type=local, metavar="FILE", help="write it there instead of printing it")
    added.add_argument("--format", choices=("text", "json", "markdown"), default="text",
                       help="a summary, the document (`schema clients`), or a page")


def run_clients(options: argparse.Namespace) -> int:
    from conformance.cli.clients import Wishes, run

    wishes = Wishes(options.url, options.libraries, options.adapters, options.rules, options.depth, options.profile,
                    options.broker_admin, options.deviations)
    return run(wishes, options.format, options.out)


def trace_check(added: argparse.ArgumentParser) -> None:
    """The options of `trace check`."""
    added.add_argument("paths", nargs="+", type=objects.place, metavar="PATH",
                       help="recordings and captures, or their folders; also s3://, gs:// and az://")
    where = added.add_mutually_exclusive_group()
    where.add_argument("--spark", action="store_true",
                       help="judge on Spark what fits this process as well (default: from a million events on)")
    where.add_argument("--master", help="where Spark runs: local[N] or spark://... (default: here)")
    where.add_argument("--remote", metavar="URL", help="a Spark Connect server, sc://...")
    added.add_argument("--out", type=anywhere, default=Path("checked"), metavar="DIR",
                       help="lake and pages; may be used again, and be s3://, gs:// or az:// (default: %(default)s)")
    added.add_argument("--port", type=int, action="append", default=[], metavar="N",
                       help="a port of brokers in captures; may repeat (default: 5672, and who speaks AMQP elsewhere)")
    added.add_argument("--profile", metavar="NAME", help="what the brokers are held to (default: recorded or detected)")
    added.add_argument("--deviations", metavar="FILE", help="known deviations (default: those of the profiles)")
    added.add_argument("--whole", action="store_true",
                       help="captures and proxy recordings show all clients of their queues, from their declaration on")
    added.add_argument("-v", "--verbose", action="store_true", help="print the exchanges that show what is wrong")
    printed(added, "what is printed: a summary, or the results of all runs")


def run_check(options: argparse.Namespace) -> int:
    inputs, out = readable(options.paths), usable("out", options.out)
    from conformance.trace.check import Wishes, check

    return check(Wishes(
        inputs, out, options.master, options.remote, tuple(options.port), options.profile,
        options.deviations, options.format, tuple(options.words), options.whole, options.spark,
        options.verbose,
    ))


def trace_watch(added: argparse.ArgumentParser) -> None:
    """The options of `trace watch`."""
    added.add_argument("inbox", type=local, metavar="DIR", help="where closed files of recordings appear, by rename")
    added.add_argument("--out", type=anywhere, default=Path("watched"), metavar="DIR",
                       help="also s3://, gs:// and az://, with --checkpoint here (default: %(default)s)")
    added.add_argument("--checkpoint", type=local, metavar="DIR", help="how far it is (default: OUT/checkpoint)")
    added.add_argument("--once", action="store_true", help="end when all that is there has been judged")
    added.add_argument("--lateness", type=float, default=600.0, metavar="SECONDS",
                       help="how long a history waits for missing events, in its own time (default: %(default)s)")
    added.add_argument("--master", default="local[*]", help="where Spark runs (default: here)")
    printed(added, "what is printed at the end: a summary, or the verdict table")


def run_watch(options: argparse.Namespace) -> int:
    out = usable("out", options.out)
    from conformance.trace.watch import Wishes, watch

    return watch(Wishes(
        options.inbox, out, options.checkpoint, options.once, options.lateness, options.master, options.format,
    ))


def trace_record(added: argparse.ArgumentParser) -> None:
    """The options of `trace record`."""
    added.add_argument("url", help="the broker: amqp or amqps URL; clients bring their own login")
    added.add_argument("--listen", required=True, metavar="PORT", help="where clients connect: PORT or HOST:PORT")
    added.add_argument("--out", type=local, default=Path("recording"), metavar="DIR", help="default: %(default)s")


def run_record(options: argparse.Namespace) -> int:
    from conformance.trace.record import record

    return record(options.url, options.listen, options.out, options.complain)


def demo(added: argparse.ArgumentParser) -> None:
    """The options of `demo`."""
    added.add_argument("--mutant", default="settle.crosses-channels", metavar="NAME", help="default: %(default)s")
    added.add_argument("--rules", default="ACK-*,MODE-*,TAG-*", metavar="GLOB", help="default: %(default)s")
    added.add_argument("--out", type=local, default=Path("demo"), metavar="DIR", help="default: %(default)s")
    added.add_argument("--no-open", action="store_true", help="only make the report, and print where it is")


def run_demo(options: argparse.Namespace) -> int:
    from conformance.cli.demo import Wishes, show

    return show(Wishes(options.mutant, options.rules, options.out, not options.no_open, options.words))


def completed(action: argparse.Action) -> None:
    """What a shell may complete here, where argcomplete asks for it."""
    known = {"rule": _rules, "rules": _rules, "mutant": _mutants, "profile": _profiles}
    if action.dest in known:
        action.completer = known[action.dest]  # type: ignore[attr-defined]


def _rules(**_: object) -> list[str]:
    from conformance.catalogue import rules

    return list(rules.CATALOGUE)


def _mutants(**_: object) -> list[str]:
    from reference_broker.mutants import MUTANTS

    return list(MUTANTS)


def _profiles(**_: object) -> list[str]:
    from conformance.catalogue import profiles

    return list(profiles.NAMES)


def printed(added: argparse.ArgumentParser, about: str) -> None:
    """What most verbs print: a summary, or data."""
    added.add_argument("--format", choices=("text", "json"), default="text", help=about)
