"""`trace check`, `trace watch`, `trace record`: traffic that is recorded or captured, and judged offline."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from conformance.cli.parsing import Parser, port, printed
from conformance.outcome.screen import complain
from conformance.session.places import local
from conformance.trace.elsewhere import anywhere, readable, usable
from reports import objects

Verb = Callable[[argparse.Namespace], int]


def arguments(added: argparse.ArgumentParser) -> None:
    inner = added.add_subparsers(required=True, metavar="VERB", parser_class=Parser)
    added.description = None
    for name, words, verb, about in (
        ("check", _check, run_check, "judge recordings and captures offline, on this machine or a cluster"),
        ("watch", _watch, run_watch, "judge recordings as they appear in a directory, until interrupted"),
        ("record", _record, run_record, "record what passes between any client and a broker, as a proxy"),
    ):
        one = inner.add_parser(name, help=about, description=f"{about[:1].upper()}{about[1:]}.")
        words(one)
        one.set_defaults(inner=verb)


def run(options: argparse.Namespace) -> int:
    verb: Verb = options.inner
    return verb(options)


def _check(added: argparse.ArgumentParser) -> None:
    added.add_argument(
        "paths",
        nargs="+",
        type=objects.place,
        metavar="PATH",
        help="recordings and captures, or directories of them; also s3://, gs:// and az://",
    )
    where = added.add_mutually_exclusive_group()
    where.add_argument(
        "--spark",
        action="store_true",
        help="use Spark for small inputs as well (default: from a million events on)",
    )
    where.add_argument("--master", help="where Spark runs: local[N] or spark://... (default: here)")
    where.add_argument("--remote", metavar="URL", help="a Spark Connect server, sc://...")
    added.add_argument(
        "--out",
        type=anywhere,
        default=Path("checked"),
        metavar="DIR",
        help="directory for lake and pages; a later check adds to it; s3://, gs:// or az:// (default: %(default)s)",
    )
    added.add_argument(
        "--port",
        type=port,
        action="append",
        default=[],
        metavar="N",
        help="port of a broker in captures; may be repeated (default: 5672, and every connection that begins as AMQP)",
    )
    added.add_argument(
        "--profile", metavar="NAME", help="the profile to judge the brokers by (default: recorded or detected)"
    )
    added.add_argument("--deviations", metavar="FILE", help="known deviations (default: those of the profiles)")
    added.add_argument(
        "--whole",
        action="store_true",
        help="your word that captures and proxy recordings show all clients of each queue and exchange, "
        "from its declaration on",
    )
    added.add_argument("-v", "--verbose", action="store_true", help="print the exchange of each fault")
    printed(added, "print a summary, or the results of all runs")


def run_check(options: argparse.Namespace) -> int:
    inputs, out = readable(options.paths), usable("out", options.out)
    from conformance.trace.check import check
    from conformance.trace.options import CheckOptions

    return check(
        CheckOptions(
            inputs,
            out,
            options.master,
            options.remote,
            tuple(options.port),
            options.profile,
            options.deviations,
            options.format,
            tuple(options.words),
            options.whole,
            options.spark,
            options.verbose,
        )
    )


def _watch(added: argparse.ArgumentParser) -> None:
    added.add_argument(
        "inbox",
        type=local,
        metavar="DIR",
        help="directory where complete recordings appear (write them elsewhere, then rename)",
    )
    added.add_argument(
        "--out",
        type=anywhere,
        default=Path("watched"),
        metavar="DIR",
        help="directory for judgements; also s3://, gs:// or az://, with a local --checkpoint (default: %(default)s)",
    )
    added.add_argument(
        "--checkpoint",
        type=local,
        metavar="DIR",
        help="local directory that remembers what was read (default: OUT/checkpoint)",
    )
    added.add_argument("--once", action="store_true", help="end when everything that is there has been judged")
    added.add_argument(
        "--lateness",
        type=float,
        default=600.0,
        metavar="SECONDS",
        help="how long a history waits for missing events, in its own time (default: %(default)s)",
    )
    added.add_argument("--master", default="local[*]", help="where Spark runs (default: here)")
    printed(added, "print a summary at the end, or the verdict table")


def run_watch(options: argparse.Namespace) -> int:
    out = usable("out", options.out)
    from conformance.trace.watch import FollowOptions, watch

    return watch(
        FollowOptions(
            options.inbox,
            out,
            options.checkpoint,
            options.once,
            options.lateness,
            options.master,
            options.format,
        )
    )


def _record(added: argparse.ArgumentParser) -> None:
    added.add_argument("url", help="the broker: amqp or amqps URL; clients use their own login")
    added.add_argument("--listen", required=True, metavar="PORT", help="where clients connect: PORT or HOST:PORT")
    added.add_argument("--out", type=local, default=Path("recording"), metavar="DIR", help="default: %(default)s")


def run_record(options: argparse.Namespace) -> int:
    from conformance.trace.record import record

    return record(options.url, options.listen, options.out, complain)
